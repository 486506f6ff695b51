#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Nodes that are containers, joined over SSH, with real guests of LXC, chroot and
# KVM; the master's power is cut, and it learns by itself who is master by now.
KIND=container
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/host_guests.sh"
[ -z "${ON_HOSTS-}" ] || skip_all "it makes hosts itself"
why=$(unshare --net --mount --pid --fork true 2>&1) ||
    skip_all "namespaces cannot be had: $why"
for program in /usr/sbin/sshd /usr/bin/lxc-start /usr/bin/qemu-system-x86_64 /usr/bin/socat; do
    [ -x $program ] || skip_all "$program is not installed"
done
guests=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guests"' EXIT
guests_make "$guests"
cluster_start --nodes 3 --hypervisor kvm,lxc,chroot --rapi 5099 --user me:secret:read
guests_put node1 node2 node3

is "$(m curl -sk -u me:secret https://192.0.2.11:5099/2/nodes | grep -o 'node[0-9].example.com"' | sort -u | wc -l)" \
    3 "the remote API is there, with its user"
succeeds "a container of LXC" guest_add c1 lxc -t sharedfile -n node2
up() { on node2 grep -q "up c1" /var/run/ganeti/lxc/instance/c1/console.log; }
succeeds "runs its init" until_true 20 up
is "$(on node2 sh -c 'ls /sys/class/net/br0/brif | wc -l')" 2 "its NIC is on the node's bridge"
succeeds "a chroot" guest_add h1 chroot -t sharedfile -n node3 --no-nics
succeeds "a machine of KVM" guest_add k1 kvm -t sharedfile -n node2
counts() { [ "$(guest_ticks "${1-node2}" k1)" -ge "${2-3}" ]; }
succeeds "whose guest counts" until_true 60 counts
seen=$(guest_ticks node2 k1)
succeeds "it migrates live" m gnt-instance migrate -f -n node3 k1
succeeds "and goes on counting" until_true 30 counts node3 "$((seen + 1))"
for node in node2 node3; do
    "$BIN/gnt-vcluster" kill "$VC" $node noded
    "$BIN/gnt-vcluster" start "$VC" $node noded >/dev/null
done
is "$(m gnt-instance list --no-headers -o name,hypervisor,pnode,status --separator=' ')" \
    "c1 lxc node2.example.com running
h1 chroot node3.example.com running
k1 kvm node3.example.com running" "all outlive the node daemon"

succeeds "the master's power is cut" "$BIN/gnt-vcluster" crash "$VC" node1
succeeds "another node becomes the master" on node2 gnt-cluster master-failover
succeeds "the old one comes back" "$BIN/gnt-vcluster" start "$VC" node1
knows() { [ "$(on node1 gnt-cluster getmaster)" = node2.example.com ]; }
succeeds "and learns within seconds who is master" until_true 10 knows
sound() { on node2 gnt-cluster verify >/dev/null; }
succeeds "verify is content" until_true 10 sound
is "$(on node2 gnt-instance list --no-headers -o status | sort -u)" running "the guests run on"
tap_done
