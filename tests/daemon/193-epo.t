#!/bin/sh
# gnt-cluster epo: instances go down in order, then the nodes, by a helper that
# only notes what it is told; and all comes back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
told=$VC/told
: >"$told"
for node in node1 node2 node3; do
    helper=$(root $node)/etc/ganeti/oob
    printf '#!/bin/sh\necho "$1 $2" >>%s\n' "$told" >"$helper"
    chmod 755 "$helper"
done
powered() { m gnt-node list --no-headers -o powered "$@" | tr -d ' \n'; }
status() { m gnt-instance list --no-headers -o status "$@" | tr -d ' \n'; }

add web1 -t diskless -n node1 >/dev/null 2>&1
add web2 -t diskless -n node2 >/dev/null 2>&1
add web3 -t diskless -n node3 >/dev/null 2>&1
add stopped -t diskless -n node3 >/dev/null 2>&1
add absent -t diskless -n node3 --no-start >/dev/null 2>&1
m gnt-instance shutdown stopped >/dev/null 2>&1
m gnt-instance modify --offline absent >/dev/null 2>&1
paused() { m gnt-cluster watcher info; }
succeeds "without helpers only instances are stopped" m gnt-cluster epo -f node3
like "$out" 'node3.example.com does not support out-of-band' "and it says so"
like "$(status web3)" 'down' "they are down"
like "$(paused)" 'is paused until' "the watcher is paused"
m gantry-watcher >/dev/null 2>&1
like "$(status web3)" 'down' "the watcher starts none"
succeeds "they come back" m gnt-cluster epo -f --on node3
is "$(status web3)" running "and run"
is "$(status stopped absent)" ADMIN_downADMIN_offline "one that was stopped stays so"
like "$(paused)" 'is not paused' "and the watcher goes on"
m gnt-instance remove -f stopped >/dev/null 2>&1
m gnt-instance remove -f absent >/dev/null 2>&1
m gnt-group modify --node-parameters=oob_program=/etc/ganeti/oob default >/dev/null 2>&1

fails "the master stays on" m gnt-cluster epo -f node1
like "$out" 'is the master node' "unless all shall go"
fails "so it is with all nodes" m gnt-cluster epo -f
fails "groups or all" m gnt-cluster epo -f --groups --all
like "$out" 'Only one of' "not both"
fails "names or all" m gnt-cluster epo -f --all node2
fails "a no is a no" m gnt-cluster epo node2
fails "a node that is none" m gnt-cluster epo -f nosuch
is "$(cat "$told")$(status web2)" running "nothing has happened"

succeeds "one node goes off" m gnt-cluster epo -f --power-delay=0 node2
is "$(cat "$told")" "power-off node2.example.com" "by its helper"
is "$(powered node2)" N "it is noted as off"
like "$(paused)" 'is not paused' "for the others the watcher goes on"
is "$(m gnt-instance list --no-headers -o admin_state web2)" up "its instance shall run"
unlike "$(status web2)" '^running$' "but does not"
is "$(status web1)$(status web3)" runningrunning "the others do"
succeeds "again there is nothing to do" m gnt-cluster epo -f node2
like "$out" 'already in desired power state' "for the node"
: >"$told"
succeeds "it comes on" m gnt-cluster epo -f --on --power-delay=0 node2
is "$(cat "$told")" "power-on node2.example.com" "by its helper"
is "$(powered node2)$(status web2)" Yrunning "with its instance"

: >"$told"
m gnt-cluster watcher pause 2h >/dev/null
own=$(paused)
succeeds "all go off" m gnt-cluster epo -f --all --power-delay=0
is "$(sort "$told" | cut -d. -f1 | tr '\n' ' ')" \
    "power-off node2 power-off node3 " "but the master"
like "$out" 'The master node node1.example.com stays on' "which says so"
unlike "$(m gnt-instance list --no-headers -o status)" running "no instance runs"
like "$(paused)" 'is paused until' "the watcher is paused"
is "$([ "$(paused)" = "$own" ] || echo longer)" longer "for longer than before"
succeeds "and on" m gnt-cluster epo -f --on --all --power-delay=0
is "$(m gnt-instance list --no-headers -o status | sort -u)" running "all instances run"
is "$(paused)" "$own" "the pause that there was is there again"
m gnt-cluster watcher pause 9d >/dev/null
own=$(paused)
m gnt-group add --node-parameters=oob_program=/etc/ganeti/oob empty >/dev/null 2>&1
fails "a group without nodes" m gnt-cluster epo -f --groups empty
like "$out" 'no nodes in the groups' "is not all of them"
m gnt-group assign-nodes -f empty node3 >/dev/null 2>&1
: >"$told"
succeeds "a group goes off" m gnt-cluster epo -f --groups --power-delay=0 empty
is "$(cat "$told")" "power-off node3.example.com" "its nodes alone"
is "$(paused)" "$own" "a longer pause stays"
tap_done
