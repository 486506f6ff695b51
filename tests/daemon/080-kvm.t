#!/bin/sh
# Real virtual machines: QEMU with a tiny Linux, emulated where the CPU's
# acceleration is not to be had.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
[ -x /usr/bin/qemu-system-x86_64 ] || skip_all "QEMU is not installed"
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
"$(dirname "$0")/../lib/guest.sh" "$guest" || {
    [ $? = 77 ] && skip_all "no kernel or busybox for the guest"
    exit 1
}
cluster_start --nodes 2 --hypervisor kvm

status() { m gnt-instance list --no-headers -o status "$1"; }
hv="kernel_path=$guest/vmlinuz,initrd_path=$guest/initrd,kernel_args=quiet"
succeeds "add starts a virtual machine" \
    add vm1 -t sharedfile -s 4m -n node1 -B memory=128 -H "kvm:$hv"
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

succeeds "shutdown powers it down" m gnt-instance shutdown --timeout 30 vm1
is "$(alive "$pid" && echo there)" "" "the process is gone"
is "$(status vm1)" ADMIN_down "list says so"
fails "a kernel that is not there is refused" \
    add vm2 -t diskless -n node1 -H kvm:kernel_path=/nonexistent/vmlinuz
like "$out" '/nonexistent/vmlinuz' "by name"
succeeds "startup" m gnt-instance startup vm1
pid=$(cat "$run/pid/vm1")
succeeds "remove" m gnt-instance remove -f --shutdown-timeout 1 vm1
is "$(alive "$pid" && echo there)" "" "ends the process"
tap_done
