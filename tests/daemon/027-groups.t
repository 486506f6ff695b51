#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Node groups and networks, from the command line.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"

cluster_start --nodes 3

succeeds "a group is added" m gnt-group add --alloc-policy=last_resort \
    --node-parameters spindle_count=3 g2
is "$(m gnt-group list --no-headers --separator=: -o name,alloc_policy g2)" \
    "g2:last_resort" "with its policy"
succeeds "a node goes there" m gnt-group assign-nodes g2 node3
is "$(m gnt-node list --no-headers -o group node3)" "g2" "and is in it"
succeeds "a parameter changes" m gnt-group modify \
    --node-parameters cpu_speed=2 g2
like "$out" "ndparams -> {'spindle_count': 3, 'cpu_speed': 2}" "and is told"
fails "nothing to change is an error" m gnt-group modify g2
like "$out" 'at least one' "that says so"
fails "a group with nodes stays" m gnt-group remove g2
like "$out" 'not empty.*node3' "and says why"
succeeds "it gets another name" m gnt-group rename g2 g3

succeeds "a network is added" m gnt-network add --network=203.0.113.0/24 \
    --gateway=203.0.113.1 --tags=a,b net1
succeeds "it is connected to all groups" m gnt-network connect \
    -N mode=bridged,link=br0 net1
like "$(m gnt-network list --no-headers -o group_list net1)" \
    'default .bridged, br0, .,g3 .bridged, br0, .' "both of them"
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
succeeds "and removed" m gnt-network remove net1

succeeds "the node comes back" m gnt-group assign-nodes default node3
succeeds "an empty group goes" m gnt-group remove g3
succeeds "all is well" m gnt-cluster verify
tap_done
