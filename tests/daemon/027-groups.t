#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Node groups and networks, from the command line.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"

cluster_start --nodes 4

succeeds "a group is added" m gnt-group add --alloc-policy=last_resort \
    --node-parameters spindle_count=3 g2
is "$(m gnt-group list --no-headers --separator=: -o name,alloc_policy g2)" \
    "g2:last_resort" "with its policy"
succeeds "a node goes there" m gnt-group assign-nodes g2 node3 node4
is "$(m gnt-node list --no-headers -o group node3)" "g2" "and is in it"
succeeds "a parameter changes" m gnt-group modify \
    --node-parameters cpu_speed=2 g2
like "$out" "ndparams -> {'spindle_count': 3, 'cpu_speed': 2}" "and is told"
succeeds "a speed need not be whole" m gnt-group modify \
    --node-parameters cpu_speed=2.5 g2
like "$out" "'cpu_speed': 2.5" "and is kept"
m gnt-cluster modify --node-parameters cpu_speed=1.5
is "$(m gnt-group list --no-headers -o ndp/cpu_speed default)" 1.5 \
    "also on the cluster"
succeeds "nothing to change changes nothing" m gnt-group modify g2
is "$out" "" "as with Ganeti"
fails "a group with nodes stays" m gnt-group remove g2
like "$out" 'not empty.*node3' "and says why"
succeeds "it gets another name" m gnt-group rename g2 g3

succeeds "a network is added" m gnt-network add --network=203.0.113.0/24 \
    --gateway=203.0.113.1 --tags=a,b net1
succeeds "it is connected to all groups" m gnt-network connect \
    -N mode=bridged,link=br0 net1
like "$(m gnt-network list --no-headers -o group_list net1)" \
    'default .bridged, br0, .,[ ]?g3 .bridged, br0, .' "both of them"
succeeds "an address is reserved" m gnt-network modify \
    --add-reserved-ips=203.0.113.77 net1
succeeds "info shows all of it" m gnt-network info net1
like "$out" 'Free: 252 .98.44%.' "how much is free"
like "$out" '203.0.113.0, 203.0.113.1, 203.0.113.77, 203.0.113.255' \
    "which addresses nobody gets"
like "$out" 'default .mode:bridged link:br0 vlan:.' "where it is connected"
fails "a connected network stays" m gnt-network remove net1
like "$out" 'still connected' "and says why"
succeeds "it is disconnected" m gnt-network disconnect net1
succeeds "without a link it has the cluster's" m gnt-network connect net1 g3
like "$(m gnt-network list --no-headers -o group_list net1)" \
    'g3 .bridged, [a-z0-9-]+, .' "like NICs without a network"
m gnt-network disconnect net1 >/dev/null
succeeds "tags are searched with Perl's expressions" \
    m gnt-cluster search-tags '(?i)^A$'
is "$out" '/network/net1 a' "as with Ganeti"
fails "a broken one is told" m gnt-cluster search-tags '[a'
like "$out" 'Invalid search pattern' "in words"
succeeds "and removed" m gnt-network remove net1

succeeds "instances may talk to their nodes" \
    m gnt-cluster modify --instance-communication-network=talk
like "$out" "Changing instance communication network to 'talk'" "is said"
like "$(m gnt-network list --no-headers talk)" \
    '^talk +169.254.0.0/16 .*52:54:00 +.*routed, communication_rt.*routed' \
    "over a network that all groups have"
succeeds "a new group" m gnt-group add g4
like "$(m gnt-network list --no-headers -o group_list talk)" \
    'g4 .routed, communication_rt, .' "has it, too"
like "$(m gnt-cluster info)" 'instance communication network: talk' "it is shown"
m gnt-network add --network=203.0.113.0/24 other
succeeds "another network takes its place" \
    m gnt-cluster modify --instance-communication-network=other
like "$out" "WARNING: Network 'other' has the MAC prefix None" "with warnings"
like "$out" "'talk' should be removed manually" "and what is left to do"
succeeds "none does" m gnt-cluster modify --instance-communication-network=
like "$out" 'Disabling instance communication network' "which is said"
for network in talk other; do
    m gnt-network disconnect $network
    m gnt-network remove $network
done >/dev/null
m gnt-group remove g4

# Instances go from group to group.
add web1 -t sharedfile -s 4m -n node1 >/dev/null 2>&1
add web2 -t sharedfile -s 4m -n node2 --no-start >/dev/null 2>&1
succeeds "an instance changes its group" \
    m gnt-instance change-group -I hail --to g3 web1
like "$out" "Instance 'web1' changed group successfully" "and is told so"
is "$(m gnt-instance list --no-headers -o pnode.group,status web1)" \
    "g3 running" "it runs there"
fails "not to the group that it is in" \
    m gnt-instance change-group -I hail --to g3 web1
like "$out" "are used by the instance 'web1'" "which is said"
succeeds "a group is emptied" m gnt-group evacuate -I hail --sequential g3
like "$out" 'All instances evacuated successfully' "and is told so"
is "$(m gnt-instance list --no-headers -o pnode.group web1)" default \
    "it went to the other one"
succeeds "the other way, with failovers only" \
    m gnt-group evacuate -I hail --force-failover --to g3 default
is "$(m gnt-instance list --no-headers -o pnode.group | sort -u)" g3 \
    "all are there"
is "$(m gnt-instance list --no-headers -o status web1 web2 | sort | tr '\n' ' ')" \
    "ADMIN_down running " "as they were"
fails "a group is no target of its own" \
    m gnt-group evacuate -I hail --to g3 g3
like "$out" 'not be used as a target' "which is said"
m gnt-instance remove -f web1 >/dev/null 2>&1
m gnt-instance remove -f web2 >/dev/null 2>&1

succeeds "the node comes back" m gnt-group assign-nodes default node3 node4
succeeds "an empty group goes" m gnt-group remove g3
fails "with one group there is no other" m gnt-group evacuate -I hail default
like "$out" 'There are no possible target groups' "which is said"
succeeds "all is well" m gnt-cluster verify

# What verify says of instances and OS definitions.
add web3 -t sharedfile -s 4m -n node2 >/dev/null 2>&1
disk=$(echo "$VC"/shared-file-storage/web3/*.disk0)
mv "$disk" "$VC/away"
mkdir "$(root node2)/srv/ganeti/os/odd" "$(root node1)/srv/ganeti/os/both" \
    "$(root node2)/srv/ganeti/os/both"
m gnt-group modify --ipolicy-bounds-specs=min:disk-size=8,cpu-count=1,disk-count=0,memory-size=1,nic-count=0,spindle-use=0/max:disk-size=99,cpu-count=8,disk-count=16,memory-size=32768,nic-count=8,spindle-use=12 default >/dev/null
fails "a missing disk is found" m gnt-cluster verify --error-codes
like "$out" 'ERROR:EINSTANCEFAULTYDISK:instance:web3:.*disk/0 on node2' \
    "and named"
like "$out" 'WARNING:EINSTANCEPOLICY:instance:web3:disk-size/0 value 4 is not in range' \
    "so is who breaks the policy"
like "$out" 'ERROR:ENODEOS:node:node2.example.com:Extra OS odd not present on reference node' \
    "and an OS that others do not have"
like "$out" 'ERROR:ENODEOS:node:node1.example.com:Invalid OS both' \
    "or that is not whole"
mv "$VC/away" "$disk"
tap_done
