#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-xen, and part of make test-vm: two virtual machines on Xen, Gantry
# installed from its packages (DEBS), joined over SSH; a paravirtual guest on a
# mirrored disk: its life, its memory, its live migration, and one that fails; what
# outlives the node daemon; a guest that is killed and the watcher; one of HVM.
VM_PACKAGES=adduser,logrotate
VM_XEN=xen
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/vms.sh"
[ -n "${DEBS-}" ] && ls "$DEBS"/gantry-node_*.deb >/dev/null 2>&1 ||
    skip_all "DEBS names no folder with packages (make test-xen)"
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }
guests=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guests"' EXIT

# It counts, for whoever asks port 80, and on its disk.
cat >"$guests/init" <<'END2'
#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /lib/*.ko; do insmod "$module"; done
# What Xen asks for is what the kernel runs.
mkdir -p /sbin /www
for what in poweroff reboot; do
    printf '#!/bin/sh\nexec /bin/busybox %s -f\n' $what >/sbin/$what
    /bin/busybox chmod 755 /sbin/$what
done
/bin/busybox ip link set eth0 up
/bin/busybox ip addr add 192.0.2.60/24 dev eth0
/bin/busybox httpd -p 80 -h /www
echo "guest is up" >/dev/console
n=0
while :; do
    n=$((n + 1))
    echo "$n" >/www/tick
    echo "$n" | /bin/busybox dd of=/dev/xvda conv=fsync 2>/dev/null || echo 0 >/www/tick
    echo "tick $n" >/dev/console
    sleep 1
done
END2
"$(dirname "$0")/../lib/guest.sh" "$guests" "$guests/init" xen-netfront xen-blkfront ||
    skip_all "no kernel or busybox for the guest"

vms_start --nodes 2 --second-network --disks 24g --debs "$DEBS" \
    --hypervisor xen-pvm,xen-hvm --enabled-disk-templates drbd,plain,diskless
lap "two nodes of Xen are up and joined"
like "$(m xl info)" "^xen_version *: 4" "Xen is below them"
succeeds "verify is content" m gnt-cluster verify
is "$(m gnt-node list --no-headers --units=m -o mtotal node2 | awk '{ print ($1 > 600) }')" \
    1 "a node tells Xen's memory, not its own domain's"
for node in node1 node2; do
    tar -cf - -C "$guests" vmlinuz initrd |
        on $node sh -ec 'mkdir -p /srv/guests; tar -xf - -C /srv/guests'
done

# The guest's counter, asked for on the node's own bridge.
tick() { # NODE
    on "$1" timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.60/80
        printf "GET /tick HTTP/1.0\r\n\r\n" >&3; tail -n 1 <&3' | grep '^[1-9]'
}
beyond() { # NODE N
    now=$(tick "$1") && [ "$now" -gt "$2" ]
}
# A node that has not answered a list in ten seconds, as on a busy machine, is not
# asked for ten more.
told() {
    status_now=$(m gnt-instance list --no-headers -o pnode,status --separator=, "$1")
    case $status_now in *,ERROR_nodedown) false ;; esac
}
status() {
    until_true 60 told "$1" >/dev/null
    echo "$status_now"
}

succeeds "a paravirtual guest on a mirrored disk" m gnt-instance add --no-name-check --no-ip-check \
    -o noop -t drbd -s 8m -n node1:node2 -B minmem=96,maxmem=128 \
    -H xen-pvm:kernel_path=/srv/guests/vmlinuz,initrd_path=/srv/guests/initrd,root_path=,blockdev_prefix=xvd,kernel_args="console=hvc0 quiet panic=-1 mitigations=off" \
    p1
succeeds "counts" until_true 180 beyond node1 3
lap "a guest"
is "$(m xl list | awk '$1 == "p1" { print $3 }')" 128 "Xen knows it, with its memory"
console() { m sh -c 'sleep 5 | timeout 10 xl console p1' | grep -a "tick [0-9]"; }
succeeds "its console tells so" until_true 60 console
like "$(m gnt-instance console --show-cmd p1)" "xl console p1" "which gnt-instance leads to"
is "$(m sh -c 'cat /proc/$(pgrep -f "xl create.*p1" | head -1)/cgroup | grep -c gantry-guests')" \
    1 "what watches it has a scope of its own"
succeeds "its memory shrinks" m gnt-instance modify --runtime-memory=112m p1
shrunk() { [ "$(m xl list | awk '$1 == "p1" { print $3 }')" -le 113 ]; }
succeeds "as Xen says" until_true 60 shrunk

seen=$(tick node1)
succeeds "the node daemon is started anew" m systemctl restart gantry-noded
succeeds "the guest has not" until_true 60 beyond node1 "$seen"
is "$(status p1)" "node1.example.com,running" "and is known"

# --- migration ---
seen=$(tick node1)
succeeds "it migrates live" m gnt-instance migrate -f p1
lap "migrated"
succeeds "and goes on counting" until_true 60 beyond node2 "$seen"
is "$(status p1)" "node2.example.com,running" "over there"
is "$(m xl list | grep -c '^p1'),$(on node2 xl list | grep -c '^p1')" 0,1 "there alone"
is "$(m sh -c 'ls /etc/xen/p1 2>/dev/null')$(on node2 ls /etc/xen/p1)" /etc/xen/p1 "its file moved"
# Nobody can listen there: another does.
m sh -c 'socat TCP-LISTEN:8002,fork,reuseaddr /dev/null >/dev/null 2>&1 &'
fails "a migration that cannot begin" m gnt-instance migrate -f p1
like "$out" "Port 8002 of this node is taken" "says why"
m sh -c 'kill $(pgrep -f "socat TCP-LISTEN:8002")'
succeeds "leaves it running" until_true 60 beyond node2 "$seen"
is "$(status p1)" "node2.example.com,running" "and known where it is"
seen=$(tick node2)
succeeds "it migrates back" m gnt-instance migrate -f p1
[ "$(status p1)" = "node1.example.com,running" ] ||
    note "$(m sh -c 'tail -n 20 /var/log/ganeti/node-daemon.log; cat /proc/net/tcp')"
succeeds "and counts on" until_true 60 beyond node1 "$seen"
lap "and back"

# --- its end ---
succeeds "it reboots" m gnt-instance reboot p1
low() { now=$(tick node1) && [ "$now" -lt "$seen" ]; }
succeeds "and begins anew" until_true 120 low
lap "rebooted"
m xl destroy p1
is "$(status p1)" "node1.example.com,ERROR_down" "a guest is killed"
succeeds "the watcher" m systemctl start gantry-watcher.service
is "$(status p1)" "node1.example.com,running" "starts it"
succeeds "it counts" until_true 120 beyond node1 1
lap "watcher"
succeeds "it is asked to end" m gnt-instance shutdown --timeout=60 p1
is "$(status p1)" "node1.example.com,ADMIN_down" "and does"
is "$(m xl list | grep -c '^p1')" 0 "Xen has forgotten it"

# Debian's QEMU for Xen cannot do VNC with a password, for want of DES.
on node2 sh -c ': >/etc/ganeti/vnc-cluster-password'
succeeds "a guest of HVM" m gnt-instance add --no-name-check --no-ip-check -o noop \
    -t diskless -n node2 --no-nics -B memory=96 --hypervisor-parameters=xen-hvm:boot_order=c h1
is "$(status h1)" "node2.example.com,running" "runs"
[ "$(status h1)" = "node2.example.com,running" ] ||
    note "$(on node2 sh -c 'tail -n 20 /var/log/xen/qemu-dm-h1.log /var/log/xen/xl-h1.log; dmesg | tail -n 20; free -m')"
is "$(on node2 xl list | grep -c '^h1')" 1 "as Xen says"
lap "a guest of HVM"
succeeds "it is ended by force" m gnt-instance shutdown --timeout=0 h1
is "$(status h1)" "node2.example.com,ADMIN_down" "at once"
succeeds "both are removed" m sh -c 'gnt-instance remove -f p1 && gnt-instance remove -f h1'
is "$(m sh -c 'ls /etc/xen/p1 /var/run/ganeti/xen-hypervisor/nic 2>/dev/null')" \
    "/var/run/ganeti/xen-hypervisor/nic:" "nothing of them is left"
succeeds "verify is content again" m gnt-cluster verify
lap "end"
first=$VC
succeeds "destroy" "$vc" destroy "$VC"
is "$(vms_processes "$first")$(ls -d "$first" 2>/dev/null)" 0 "leaves nothing"
VC=
tap_done
