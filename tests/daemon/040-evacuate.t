#!/bin/sh
# The main job: bulk creation, drain, evacuation.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3

add web1 -t sharedfile -s 64m -I hail >/dev/null 2>&1
for i in 1 2 3; do add "own$i" -t sharedfile -s 4m -n node3; done >/dev/null 2>&1
add down1 -t sharedfile -s 4m -n node3 --no-start >/dev/null 2>&1

batch=$VC/batch.json
python3 - "$batch" <<'E'
import json, sys
json.dump([{"instance_name": "bulk%d" % i, "mode": "create",
            "disk_template": "sharedfile", "disks": [{"size": 4}],
            "nics": [{}], "os_type": "noop", "name_check": False,
            "ip_check": False, "beparams": {"memory": 64}}
           for i in range(1, 11)], open(sys.argv[1], "w"))
E
succeeds "batch-create makes ten from a file" \
    m gnt-instance batch-create "$batch"
is "$(m gnt-instance list --no-headers -o name | grep -c bulk)" 10 "all ten"
is "$(m gnt-instance list --no-headers -o name,status | grep -c running)" 14 \
    "they run"

succeeds "drain" m gnt-node modify --drained yes node3.example.com
is "$(m gnt-node list --no-headers -o role node3)" D "the node is drained"
succeeds "add goes elsewhere" add web2 -t diskless -I hail
unlike "$(m gnt-instance list --no-headers -o pnode web2)" node3 "not to it"
fails "and not there when told so" add web3 -t diskless -n node3
like "$out" 'drained' "for that reason"

succeeds "a new secondary is for secondaries, whatever else is said" \
    m gnt-node evacuate -f -p -I hail -n node1 node2
like "$out" 'evacuating secondary instances only' "which is told"
succeeds "evacuate" m gnt-node evacuate -f -p node3.example.com
is "$(m gnt-instance list --no-headers -o pnode | grep -c node3)" 0 \
    "no instance has it as primary"
is "$(m gnt-node list --no-headers -o pinst_cnt node3)" 0 "the node agrees"
is "$(m gnt-instance list --no-headers -o name,status | grep -c running)" 15 \
    "what ran runs"
is "$(m gnt-instance list --no-headers -o status down1)" ADMIN_down \
    "what was down is down"
is "$(ls "$(root node3)/var/run/ganeti/fake-hypervisor")" "" \
    "nothing runs there"
is "$(m gnt-job list --no-headers -o status | sort -u | grep -v success | grep -v error)" "" \
    "every job is final"
succeeds "verify is content" m gnt-cluster verify
succeeds "undrain" m gnt-node modify --drained no node3
succeeds "the node can be removed when it is empty" m gnt-node remove node3
is "$(m gnt-node list --no-headers -o name | wc -l)" 2 "it is gone"
fails "not with instances on it" m gnt-node remove node2
tap_done
