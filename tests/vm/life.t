#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-vm: three virtual machines with systemd, Gantry installed from its
# packages (DEBS), joined by gnt-node add over SSH; guests of KVM, LXC and chroot;
# live migration; a guest that dies, restart and upgrade of the node daemon, the
# power cut of the master, and its failover; nodes come back.
VM_PACKAGES=qemu-system-x86,lxc,busybox-static,adduser,logrotate
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/vms.sh"
. "$(dirname "$0")/../lib/host_guests.sh"
[ -n "${DEBS-}" ] && ls "$DEBS"/gantry-node_*.deb >/dev/null 2>&1 ||
    skip_all "DEBS names no folder with packages (make test-vm)"
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }
guests=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guests"' EXIT
guests_make "$guests"
next=$guests/next
mkdir "$next"
# The same as of a later version.
for deb in "$DEBS"/gantry-*_*.deb; do
    case $deb in *-dbgsym_*) continue ;; esac
    dpkg-deb -R "$deb" "$guests/tree"
    sed -i 's/0\.2\.0/&+next/g' "$guests/tree/DEBIAN/control"
    dpkg-deb -b --root-owner-group -Znone "$guests/tree" "$next" >/dev/null
    rm -r "$guests/tree"
done

vms_start --nodes 3 --second-network --memory 640m --disks 24g --debs "$DEBS" \
    --hypervisor kvm,lxc,chroot --enabled-disk-templates drbd,plain,file,diskless
lap "three nodes are up and joined"
is "$(m gnt-node list --no-headers -o name,sip,master_candidate --separator=,)" \
    "node1.example.com,198.51.100.11,Y
node2.example.com,198.51.100.12,Y
node3.example.com,198.51.100.13,Y" "three nodes with secondary addresses"
is "$(on node3 dpkg-query -W -f '${Package} ${db:Status-Status}\n' gantry-node gantry-master)" \
    "gantry-master installed
gantry-node installed" "from the packages"
is "$(on node3 systemctl is-active gantry-noded),$(m systemctl is-active gantry-masterd)" \
    active,active "whose daemons are systemd's"
succeeds "verify is content" m gnt-cluster verify
guests_put node1 node2 node3
lap "verified"

# --- guests ---
succeeds "a container of LXC on a logical volume" guest_add c1 lxc -t plain -n node2
is "$(on node2 sh -c 'cat /sys/fs/cgroup$(sed s/^0::// \
    /proc/$(lxc-info -P /var/run/ganeti/lxc/instance -n c1 -H -p)/cgroup)/memory.max')" \
    $((32 * 1024 * 1024)) "whose memory has a limit, by cgroup v2"
succeeds "a chroot" guest_add h1 chroot -t file -n node3 --no-nics
succeeds "a machine of KVM on a mirrored disk" guest_add k1 kvm -t drbd -n node2:node3
counts() { # NODE N
    [ "$(guest_ticks "$1" k1)" -ge "$2" ]
}
succeeds "whose guest counts" until_true 120 counts node2 3
lap "guests"
seen=$(guest_ticks node2 k1)
succeeds "it migrates live" m gnt-instance migrate -f k1
succeeds "and goes on counting" until_true 60 counts node3 "$((seen + 1))"
lap "migrated"
running="c1 lxc node2.example.com running
h1 chroot node3.example.com running
k1 kvm node3.example.com running"
guests_run() { m gnt-instance list --no-headers -o name,hypervisor,pnode,status --separator=' '; }
is "$(guests_run)" "$running" "all run"
is "$(on node3 sh -c 'cat /proc/$(cat /var/run/ganeti/kvm-hypervisor/pid/k1)/cgroup | grep -c gantry-guests')" \
    1 "the machine has a scope of its own"
is "$(on node3 sh -c 'cat /proc/$(cat /var/run/ganeti/chroot-hypervisor/h1/pid)/cgroup | grep -c gantry-guests')" \
    1 "so has the chroot"
on node1 sh -c 'echo x >/etc/copied'
succeeds "a file is copied to all" m gnt-cluster copyfile /etc/copied
is "$(on node3 cat /etc/copied)" x "over SSH"
succeeds "a command runs on all" m gnt-cluster command hostname

# --- what systemd keeps from daemons, and what it does for them ---
for unit in masterd rapi; do
    like "$(m systemd-analyze --no-pager security gantry-$unit)" \
        "Overall exposure level.*(OK|MEDIUM)" "gantry-$unit is confined"
done
like "$(m systemctl show -p StatusText,Type gantry-masterd)" "Type=notify" \
    "the master daemon tells that it is ready"

# --- the node daemon ends and comes back ---
pids() { on "$1" sh -c 'cat /var/run/ganeti/kvm-hypervisor/pid/* /var/run/ganeti/chroot-hypervisor/*/pid 2>/dev/null
    lxc-info -P /var/run/ganeti/lxc/instance -n c1 -H -p 2>/dev/null'; }
before=$(pids node2) before3=$(pids node3)
daemon() { on node3 systemctl show -P MainPID gantry-noded; }
on node3 sh -c 'mkdir -p /run/systemd/system/gantry-noded.service.d
    printf "[Service]\nWatchdogSec=8\n" >/run/systemd/system/gantry-noded.service.d/dog.conf
    systemctl daemon-reload; systemctl restart gantry-noded'
hung=$(daemon)
succeeds "a node daemon hangs" on node3 kill -STOP "$hung"
replaced() { [ "$(daemon)" != "$hung" ] && [ "$(on node3 systemctl is-active gantry-noded)" = active ]; }
succeeds "systemd notices and starts another" until_true 90 replaced
on node3 sh -c 'rm -r /run/systemd/system/gantry-noded.service.d; systemctl daemon-reload'
is "$(pids node3)" "$before3" "its guests have not noticed"
for node in node2 node3; do
    succeeds "a restart of the node daemon of $node" on $node systemctl restart gantry-noded
done
is "$(pids node2)" "$before" "the container has not ended"
is "$(pids node3)" "$before3" "nor have machine and chroot"
is "$(guests_run)" "$running" "all are known to run"
upgrade() { # NODE
    tar -cf - -C "$next" . | on "$1" sh -c 'mkdir /root/next && tar -xf - -C /root/next &&
        dpkg -i /root/next/*.deb'
}
upgrade node2 >"$guests/upgrade" 2>&1 &
beside=$!
succeeds "the packages of node3 are upgraded" upgrade node3
wait "$beside" || cat "$guests/upgrade" >&2
is "$(grep -c '^Setting up gantry-' "$guests/upgrade")" "$(find "$next" -name '*.deb' | wc -l)" \
    "those of node2 at the same time"
succeeds "those of the master after them" upgrade node1
like "$(on node3 dpkg-query -W -f '${Version}' gantry-node)" next "to a later version"
is "$(on node3 systemctl is-active gantry-noded)" active "the node daemon is there again"
is "$(pids node2),$(pids node3)" "$before,$before3" "and the same guests"
answers() { m gnt-instance list >/dev/null 2>&1; }
succeeds "so is the new master daemon" until_true 60 answers
is "$(guests_run)" "$running" "which knows all guests"
lap "restarts and upgrades"

# --- a guest dies ---
on node3 sh -c 'kill -9 $(cat /var/run/ganeti/kvm-hypervisor/pid/k1)'
succeeds "a guest was killed: the watcher" m systemctl start gantry-watcher.service
is "$(m gnt-instance list --no-headers -o status k1)" running "starts it"
lap "watcher"

# --- a node leaves ---
succeeds "the chroot is stopped" m gnt-instance shutdown --timeout=5 h1
succeeds "and removed" m gnt-instance remove -f h1
succeeds "the machine gets another secondary node" m gnt-instance migrate -f k1
succeeds "on the master" m gnt-instance replace-disks -n node1 k1
succeeds "a node leaves" m gnt-node remove node3
on node3 sh -c 'rm -rf /var/lib/ganeti/*'
succeeds "and joins again over SSH" m gnt-node add -s 198.51.100.13 node3
lap "joined again"

# --- the master is lost ---
succeeds "the master's power is cut" "$vc" crash "$VC" node1
succeeds "another node becomes the master" on node2 gnt-cluster master-failover
is "$(on node3 gnt-cluster getmaster)" node2.example.com "which all know"
is "$(on node2 gnt-instance list --no-headers -o status c1 k1 | sort -u)" running "its guests run on"
lap "failover"
succeeds "the old master comes back" "$vc" start "$VC" node1
knows() { [ "$(on node1 gnt-cluster getmaster)" = node2.example.com ]; }
succeeds "and learns within seconds who is master" until_true 15 knows
is "$(on node1 systemctl is-active gantry-noded)" active "its node daemon has started by itself"
in_sync() { on node2 gnt-instance activate-disks k1 >/dev/null; }
succeeds "the mirror is whole again" until_true 30 in_sync
sound() { on node2 gnt-cluster verify >"$guests/said" 2>&1; }
succeeds "verify is content" until_true 30 sound
grep ERROR "$guests/said" | while read -r line; do note "$line"; done
lap "back"
first=$VC
succeeds "destroy" "$vc" destroy "$VC"
is "$(vms_processes "$first")$(ls -d "$first" 2>/dev/null)" 0 "leaves nothing"
VC=
tap_done
