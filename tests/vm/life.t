#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-vm: three virtual machines as nodes, joined by gnt-node add over SSH;
# instances; the power cut of the master, and its failover; nodes come back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/vms.sh"
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }

vms_start --nodes 3 --second-network
lap "three nodes are up and joined"
is "$(m gnt-node list --no-headers -o name,sip,master_candidate --separator=,)" \
    "node1.example.com,198.51.100.11,Y
node2.example.com,198.51.100.12,Y
node3.example.com,198.51.100.13,Y" "three nodes with secondary addresses"
succeeds "verify is content" m gnt-cluster verify
for i in 1 2 3; do
    succeeds "an instance on node$i" add "inst$i" -t file -s 32m -n "node$i"
done
succeeds "one without disks" add inst4 -t diskless --no-install -n node1
succeeds "an instance moves to another node" m gnt-instance move -f -n node2 inst3
is "$(m gnt-instance list --no-headers -o pnode,status inst3 --separator=,)" "node2.example.com,running" "and runs there"
on node1 sh -c 'echo x >/etc/copied'
succeeds "a file is copied to all" m gnt-cluster copyfile /etc/copied
is "$(on node3 cat /etc/copied)" x "over SSH"
succeeds "a command runs on all" m gnt-cluster command hostname
lap "instances"

succeeds "a node leaves" m gnt-node remove node3
on node3 sh -c 'rm -rf /var/lib/ganeti/*'
succeeds "and joins again over SSH" m gnt-node add -s 198.51.100.13 node3
lap "joined again"

succeeds "the master's power is cut" "$vc" crash "$VC" node1
succeeds "another node becomes the master" on node2 gnt-cluster master-failover
is "$(on node3 gnt-cluster getmaster)" node2.example.com "which all know"
succeeds "instances are seen" on node2 gnt-instance list
lap "failover"
succeeds "the old master comes back" "$vc" start "$VC" node1
is "$(on node1 gnt-cluster getmaster)" node2.example.com "and learns who is"
on node2 gnt-instance start inst1 >/dev/null 2>&1
on node2 gnt-instance start inst4 >/dev/null 2>&1
# Its copy of the configuration follows a moment later.
succeeds "verify is content" until_true 60 on node2 gnt-cluster verify
lap "back"
first=$VC
succeeds "destroy" "$vc" destroy "$VC"
is "$(vms_processes "$first")$(ls -d "$first" 2>/dev/null)" 0 "leaves nothing"
VC=
tap_done
