#!/bin/sh
# Real virtual machines: QEMU with a tiny Linux, emulated where the CPU's
# acceleration is not to be had.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
[ -x /usr/bin/qemu-system-x86_64 ] || skip_all "QEMU is not installed"
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
# With the driver of the balloon.
"$(dirname "$0")/../lib/guest.sh" "$guest" "" button evdev virtio_ring virtio \
    virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_balloon || {
    [ $? = 77 ] && skip_all "no kernel or busybox for the guest"
    exit 1
}
cluster_start --nodes 2 --hypervisor kvm

status() { m gnt-instance list --no-headers -o status "$1"; }
hv="kernel_path=$guest/vmlinuz,initrd_path=$guest/initrd,kernel_args=quiet"
m gnt-cluster modify --user-shutdown=yes >/dev/null
succeeds "add starts a virtual machine" \
    add vm1 -t sharedfile -s 4m -n node1 -B minmem=64,maxmem=128 \
    -H "kvm:$hv,cpu_mask=0,migration_caps=xbzrle:auto-converge,user_shutdown=true"
is "$(m gnt-instance list --no-headers -o name,status --separator=' ' vm1)" \
    "vm1 running" "list says running"
run=$(root node1)/var/run/ganeti/kvm-hypervisor
pid=$(cat "$run/pid/vm1")
like "$(tr '\0' ' ' <"/proc/$pid/cmdline")" 'qemu-system.*-qmp unix:' \
    "a QEMU process with a QMP socket is there"
is "$(test -S "$run/ctrl/vm1.qmp" && echo socket)" socket "in its place"
cat >"$guest/console.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(60)
seen = b""
while b"guest is up" not in seen:
    seen += s.recv(4096)
print(seen.decode(errors="replace"))
END
# It may have said so before we listened: then a reboot says it again.
m gnt-instance reboot -t hard vm1 >/dev/null 2>&1
like "$(python3 "$guest/console.py" "$run/ctrl/vm1.serial" 2>&1)" \
    'guest is up' "the guest boots"

# qmp COMMAND [ARGUMENTS]: what the running machine answers
qmp_py=$(dirname "$0")/qmp.py
qmp() { python3 "$qmp_py" "$run/ctrl/vm1.qmp" "$@"; }
# devices KIND: how many of these it has
devices() {
    qmp qom-list '{"path": "/machine/peripheral"}' | grep -o "\"$1-[0-9a-f-]*" |
        wc -l
}
# has_memory MIB: as its balloon says, which takes a moment
has_memory() {
    qmp query-balloon | grep -q ": $(($1 * 1024 * 1024))}"
}
succeeds "its memory shrinks" m gnt-instance modify -m 96 vm1
succeeds "as its balloon says" until_true 60 has_memory 96
nics=$(devices nic)
succeeds "a NIC is plugged into the running machine" \
    m gnt-instance modify --hotplug --net add:link=br0 vm1
like "$out" 'hotplug:done' "as reported"
is "$(devices nic)" $((nics + 1)) "QEMU has it"
succeeds "a disk, too" m gnt-instance modify --hotplug \
    --disk add:size=2m,name=data vm1
like "$out" 'hotplug:done' "as reported"
is "$(devices disk)" 2 "QEMU has it"
like "$(qmp query-block)" "/shared-file-storage/vm1/.*disk1" "with its file"
succeeds "the first NIC goes" m gnt-instance modify --hotplug --net 0:remove vm1
like "$out" 'hotplug:done' "as reported"
is "$(devices nic)" "$nics" "QEMU has the other"
succeeds "that one changes" \
    m gnt-instance modify --hotplug -f --net 0:mac=aa:00:00:01:02:03 vm1
like "$out" 'hotplug:done' "as reported"
like "$(qmp qom-get "{\"path\": \"/machine/peripheral/$(
    qmp qom-list '{"path": "/machine/peripheral"}' |
        grep -o 'nic-[0-9a-f-]*' | head -1
)\", \"property\": \"mac\"}")" 'aa:00:00:01:02:03' "QEMU has its address"

succeeds "the console is shown" m gnt-instance console --show-cmd vm1
like "$out" 'socat STDIO,raw,echo=0,escape=0x1d UNIX-CONNECT:.*/vm1.serial' \
    "as a command"

"$BIN/gnt-vcluster" kill "$VC" node1 noded
succeeds "the node daemon can be restarted" \
    "$BIN/gnt-vcluster" start "$VC" node1 noded
is "$(status vm1)" running "and still knows the machine"

pid=$(cat "$run/pid/vm1")
succeeds "migrate to the other node" m gnt-instance migrate -f -n node2 vm1
is "$(m gnt-instance list --no-headers -o pnode,status --separator=' ' vm1)" \
    "node2.example.com running" "it runs there"
is "$(alive "$pid" && echo there)" "" "the old process is gone"
run=$(root node2)/var/run/ganeti/kvm-hypervisor
pid=$(cat "$run/pid/vm1")

is "$(devices nic) $(devices disk)" "$nics 2" "with all that was plugged"
succeeds "the balloon came along" until_true 60 has_memory 96
is "$(m gnt-instance list --no-headers -o oper_ram vm1)" 96M \
    "and as small as it was"
succeeds "it grows again" m gnt-instance modify -m 128 vm1
until_true 60 has_memory 128
m gnt-instance modify -m 80 vm1 >/dev/null
until_true 60 has_memory 80
succeeds "a ballooned one migrates back" m gnt-instance migrate -f -n node1 vm1
run=$(root node1)/var/run/ganeti/kvm-hypervisor
succeeds "and stays so" until_true 60 has_memory 80
m gnt-instance modify -m 128 vm1 >/dev/null
until_true 60 has_memory 128
succeeds "one without a balloon, too" m gnt-instance migrate -f -n node2 vm1
run=$(root node2)/var/run/ganeti/kvm-hypervisor
pid=$(cat "$run/pid/vm1")
succeeds "and has its memory" until_true 60 has_memory 128
like "$(qmp query-migrate-capabilities)" \
    '"state": true, "capability": "auto-converge"' "with the capabilities"
is "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/"$pid"/task/*/status |
    sort -u)" 0 "on its CPUs"
succeeds "the disk goes" m gnt-instance modify --hotplug --disk data:remove vm1
is "$(devices disk)" 1 "also there"

succeeds "shutdown powers it down" m gnt-instance shutdown --timeout 30 vm1
is "$(alive "$pid" && echo there)" "" "the process is gone"
is "$(status vm1)" ADMIN_down "list says so"
m gnt-instance modify -H serial_console=false,vnc_bind_address=127.0.0.1 vm1 \
    >/dev/null
m gnt-instance startup vm1 >/dev/null
succeeds "a console without a serial line" m gnt-instance console vm1
like "$out" 'Instance vm1 has VNC listening on 127.0.0.1:.* URL <vnc://' "is VNC"
like "$(qmp query-vnc)" '"enabled": true' "which QEMU has"
port=$(m gnt-instance list --no-headers -o network_port vm1)

# Passwords and certificates: whom VNC and SPICE let in.
(umask 077 && echo s3cret >"$guest/password")
mkdir "$guest/x509"
# certificate NAME OPTION...: $guest/x509/NAME-{key,cert}.pem
certificate() {
    name=$1
    shift
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 2 -subj "/CN=$name" -keyout "$guest/x509/$name-key.pem" \
        -out "$guest/x509/$name-cert.pem" "$@" >/dev/null 2>&1
}
certificate ca -addext basicConstraints=critical,CA:TRUE
certificate server -addext basicConstraints=critical,CA:FALSE \
    -CA "$guest/x509/ca-cert.pem" -CAkey "$guest/x509/ca-key.pem"
restart() { m gnt-instance reboot -t hard --shutdown-timeout=0 vm1; }
# greet PORT [TLS]: the security types that VNC offers, by number
cat >"$guest/vnc.py" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
f = s.makefile("rwb")
f.write(f.readline())
f.flush()
print(list(f.read(f.read(1)[0])))
END
fails "a CPU mask must fit the number of vCPUs" \
    m gnt-instance modify -H cpu_mask=0:0 vm1
like "$out" 'Number of vCPUs .1. does not match' "by numbers"
fails "a file that is not there is refused" \
    m gnt-instance modify -H vnc_password_file=/nonexistent/password vm1
like "$out" "vnc_password_file.*/nonexistent/password" "by name"
m gnt-instance modify -H "vnc_password_file=$guest/password" vm1 >/dev/null
succeeds "VNC with a password starts" restart
where=$(m gnt-instance list --no-headers -o pnode vm1)
is "$(on "$where" python3 "$guest/vnc.py" "$port")" "[2]" "and asks for it"
is "$(tr '\0' ' ' <"/proc/$(cat "$run/pid/vm1")/cmdline" | grep -c s3cret)" 0 \
    "which nobody reads on its command line"
m gnt-instance modify -H "vnc_tls=true,vnc_x509_path=$guest/x509" vm1 >/dev/null
succeeds "VNC with certificates starts" restart
is "$(on "$where" python3 "$guest/vnc.py" "$port")" "[19]" "and wants TLS"
spice_ca=$(root node2)/var/lib/ganeti/spice-ca.pem
m gnt-instance modify -H vnc_bind_address=default,vnc_tls=default vm1 >/dev/null
mv "$spice_ca" "$spice_ca.away"
fails "SPICE without the cluster's certificates is refused" \
    m gnt-instance modify -H spice_bind=127.0.0.1,spice_use_tls=true vm1
like "$out" 'no certificates for SPICE' "saying so"
mv "$spice_ca.away" "$spice_ca"
succeeds "SPICE with certificates is taken" m gnt-instance modify \
    -H "spice_bind=127.0.0.1,spice_use_tls=true,spice_password_file=$guest/password" vm1
succeeds "starts" restart
like "$(qmp query-spice)" "\"auth\": \"spice\".*\"tls-port\": $port" \
    "with TLS and a password"
like "$(on "$where" openssl s_client -connect "127.0.0.1:$port" </dev/null 2>&1)" \
    'CN = ganeti.example.com' "shows the certificate"
m gnt-instance modify \
    -H spice_bind=default,spice_use_tls=default,spice_password_file=default vm1 \
    >/dev/null
m gnt-instance reboot -t hard --shutdown-timeout=0 vm1 >/dev/null
succeeds "without any of them" m gnt-instance console vm1
like "$out" 'No serial shell for instance vm1' "it is said"
m gnt-instance shutdown --timeout=0 vm1 >/dev/null
m gnt-instance modify -H serial_console=default vm1 >/dev/null
fails "a kernel that is not there is refused" \
    add vm2 -t diskless -n node1 -H kvm:kernel_path=/nonexistent/vmlinuz
like "$out" '/nonexistent/vmlinuz' "by name"
fails "a machine that QEMU does not have" \
    m gnt-instance modify -H machine_version=pc-i440fx-0.1 vm1
like "$out" 'Unsupported machine version: pc-i440fx-0.1' "as well"
fails "values for a start that do not fit" \
    m gnt-instance startup -H disk_aio=native vm1
like "$out" "only supported value for 'disk_cache' is 'none'" "are refused"
is "$(status vm1)" ADMIN_down "and it stays down"
succeeds "those that do" m gnt-instance modify -H machine_version=pc,disk_aio= vm1
succeeds "startup" m gnt-instance startup vm1
cat >"$guest/off.py" <<'END'
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(1)
end = time.monotonic() + 90
while time.monotonic() < end:
    try:
        s.sendall(b"off\n")
        while s.recv(4096):
            pass
        break
    except TimeoutError:
        pass
    except OSError:
        break
END
pid=$(cat "$run/pid/vm1")
python3 "$guest/off.py" "$run/ctrl/vm1.serial"
is "$(alive "$pid" && echo there)" "" "its user shuts it down"
is "$(status vm1)" USER_down "list says who"
like "$(m gnt-instance info vm1)" 'actual state is down' "info says so"
succeeds "shutdown takes note" m gnt-instance shutdown vm1
is "$(ls "$run/ctrl")" "" "nothing is left of it"
succeeds "startup again" m gnt-instance startup --paused vm1
is "$(status vm1)" running "runs"
like "$(qmp query-status)" '"prelaunch"' "but waits for somebody at its console"
# A terminal, as socat wants one.
cat >"$guest/terminal.py" <<'END'
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", sys.argv[1]])
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGTERM))
signal.alarm(90)
seen = b""
try:
    while b"guest is up" not in seen:
        seen += os.read(fd, 4096)
except OSError:
    pass
os.kill(pid, signal.SIGTERM)
os.close(fd)
os.waitpid(pid, 0)
print(seen.decode(errors="replace"))
END
command=$(m gnt-instance console --show-cmd vm1)
seen=$(python3 "$guest/terminal.py" "$command" 2>&1)
like "$seen" 'Instance vm1 is paused, unpausing' "who lets it go on"
like "$seen" 'guest is up' "and misses nothing"
pid=$(cat "$run/pid/vm1")
succeeds "remove" m gnt-instance remove -f --shutdown-timeout 1 vm1
is "$(alive "$pid" && echo there)" "" "ends the process"

# --- a guest with an image ---
if command -v qemu-nbd >/dev/null && [ -w /dev/fuse ]; then
    succeeds "a guest with a qcow2 image" add vm2 -t sharedfile \
        --disk 0:size=8m,format=qcow2 -n node1 -B minmem=64,maxmem=64 -H "kvm:$hv"
    run=$(root node1)/var/run/ganeti/kvm-hypervisor
    pid=$(cat "$run/pid/vm2")
    like "$(tr '\0' ' ' <"/proc/$pid/cmdline")" 'format=qcow2,if=none' "opens it as one"
    image=$(echo "$VC"/shared-file-storage/vm2/*.disk0)
    succeeds "is exported while it runs" m gnt-backup export --noshutdown -n node2 vm2
    like "$out" 'Creating a snapshot of disk/0' "from a snapshot that QEMU keeps"
    unlike "$(qemu-img info -U "$image")" 'Snapshot list' "and lets go"
    is "$(status vm2)" running "it runs on"
    succeeds "it grows meanwhile" m gnt-instance grow-disk vm2 0 8m
    like "$(qemu-img info -U --output=json "$image")" '"virtual-size": 16777216' "inside"
    like "$(python3 "$qmp_py" "$run/ctrl/vm2.qmp" query-block)" \
        '"virtual-size": 16777216' "as the guest sees"
    succeeds "remove" m gnt-instance remove -f --shutdown-timeout 1 vm2
fi
tap_done
