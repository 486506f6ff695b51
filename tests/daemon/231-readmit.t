#!/bin/sh
# gantry-watcher sets nodes offline that do not answer, and back, where the
# cluster allows it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
# Nobody listens there.
m gnt-cluster modify --node-parameters ssh_port=2 >/dev/null
add web1 -t sharedfile -s 16m -n node3.example.com >/dev/null
guest=$(root node3)/var/run/ganeti/fake-hypervisor/web1

status() {
    m gnt-cluster watcher status
}
role() {
    m gnt-node list --no-headers -o role node3
}

m gantry-watcher
"$BIN/gnt-vcluster" kill "$VC" node3
for run in 1 2 3 4; do m gantry-watcher; done
like "$(status)" "node3.example.com does not answer, and stays online: auto_offline is off" \
    "a silent node is named"
like "$(status)" "web1: its node does not answer" "so is what runs there"
succeeds "where the cluster allows it" \
    m gnt-cluster modify --auto-offline=yes --auto-readmit=yes
like "$(m gnt-cluster info)" "auto offline: True" "which it says"
succeeds "the watcher" m gantry-watcher
is "$(role)" O "sets it offline"
like "$(status)" "Submitted job [0-9]+ to set node node3.example.com offline" \
    "by a job"
is "$(m gnt-node list-tags node3)" "ganeti:watcher:offline" \
    "and marks it as its own"
m gantry-watcher
is "$(role)" O "it stays so"
like "$(status)" "node3.example.com is still silent" "while it is silent"

"$BIN/gnt-vcluster" start "$VC" node3 noded
m gnt-cluster modify --auto-readmit=no >/dev/null
m gantry-watcher
is "$(role)" O "when it answers"
like "$(status)" "auto_readmit is off" "it waits for who allows it"
m gnt-cluster modify --auto-readmit=yes >/dev/null
m gantry-watcher
is "$(role)" C "and comes back"
is "$(m gnt-node list-tags node3)" "" "without the mark"
m gantry-watcher
unlike "$(status)" "did not" "then all is well"
is "$(m gnt-instance list --no-headers -o status web1)" running \
    "and nothing happened to its instance"

# What an admin set offline.
m gnt-instance shutdown web1 >/dev/null
m gnt-node modify -O yes node3 >/dev/null
m gantry-watcher
is "$(role)" O "what an admin set offline stays so"
unlike "$(status)" "Node node3.*(offline|silent)" "and is no news"
m gnt-node modify -f -O no node3 >/dev/null
m gnt-instance startup web1 >/dev/null

# Its guest was started elsewhere meanwhile.
"$BIN/gnt-vcluster" kill "$VC" node3
for run in 1 2 3; do m gantry-watcher; done
is "$(role)" O "a node that is silent again"
succeeds "its instance" m gnt-instance failover -f --ignore-consistency \
    -n node2.example.com web1
[ -e "$guest" ]
tap_point $? "which still runs there"
"$BIN/gnt-vcluster" start "$VC" node3 noded
m gantry-watcher
is "$(role)" O "keeps the node offline"
like "$(status)" "Instances run on node node3.* web1 .of node2" "for that reason"
rm "$guest"
m gantry-watcher
is "$(role)" C "until it is ended"
tap_done
