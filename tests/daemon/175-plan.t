#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --plan: what commands would do, without doing it; then they do it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3

config=$(root node1)/var/lib/ganeti/config.data
# All that a plan must leave alone: configuration, jobs, disks, instances.
settled() { # config.data follows what is committed, on a busy machine not at once
    kept=$now
    now=$(cksum <"$config")
    same=$([ "$now" = "$kept" ] && echo $((same + 1)) || echo 0)
    [ "$same" -ge 10 ]
}
world() {
    same=0
    until_true 20 settled
    cat "$config"
    m gnt-job list --no-headers -o id,status,summary
    find "$VC/shared-file-storage" "$(root node2)/var/run/ganeti"
    cat "$(root node2)"/var/lib/ganeti/ssconf_*
}
planned() { # NAME COMMAND...: plan it, and nothing changes
    name=$1
    shift
    world >"$VC/before"
    succeeds "$name is planned" "$@" --plan
    world >"$VC/after"
    diff -a "$VC/before" "$VC/after" >"$VC/differ"
    is "$(cut -c 1-300 "$VC/differ")" "" "and nothing has changed"
    plan=$out
}
# does NAME COMMAND...: plan it, then do it
does() {
    planned "$@"
    succeeds "$@"
}

does "add" add web1 -t sharedfile -s 8m -I hail
like "$plan" '^ INSTANCE_CREATE\(web1\)$' "the opcode"
like "$plan" '^  with    iallocator=hail$' "its parameters"
unlike "$plan" 'with    force_variant' "but not those that are as always"
like "$plan" '^  lock    instance/web1 \(exclusive\)$' "its locks"
like "$plan" '^  write   the configuration: add instance web1, add disk disk/0; also to node2.example.com, node3.example.com' \
    "what changes"
like "$plan" '^  hooks   instance-add-pre.d on node1.example.com' "the hooks"
like "$plan" '^  call    instance_start web1 on node' "the calls"

does "tags" m gnt-instance add-tags web1 blue
does "modify" m gnt-instance modify -B vcpus=2 web1
does "shutdown" m gnt-instance shutdown web1
like "$plan" "call    instance_shutdown web1 on node" "has its call"
does "startup" m gnt-instance startup web1
does "reboot" m gnt-instance reboot web1
m gnt-instance migrate -f -n node2 web1 >/dev/null 2>&1
does "migrate" m gnt-instance migrate -f -n node1 web1
like "$plan" 'call    instance_migrate web1 on ' "has its call"
does "failover" m gnt-instance failover -f -n node2 web1
does "group add" m gnt-group add rack2
does "group modify" m gnt-group modify --alloc-policy=last_resort rack2
does "network add" m gnt-network add --network=192.0.2.0/28 net1
does "network connect" m gnt-network connect --nic-parameters mode=bridged,link=br0 net1
does "cluster modify" m gnt-cluster modify --max-running-jobs=7
does "node modify" m gnt-node modify -D yes node3
does "and back" m gnt-node modify -D no node3

# Jobs that submit others, and no question.
planned "evacuate" m gnt-node evacuate -I hail node2
like "$plan" '^Job [0-9]+, submitted by job [0-9]+:$' "the jobs of the job"
like "$plan" '^  submit  jobs [0-9]+$' "where they are submitted"
like "$plan" 'instance_migrate web1 on node2' "and what they do"
planned "remove without a question" m gnt-instance remove web1
like "$plan" 'remove instance web1' "says what goes"
planned "verify" m gnt-cluster verify
planned "many at once" m gnt-instance shutdown --all
planned "delay takes no time" m gnt-debug delay 3600

# As data.
m gnt-instance shutdown --plan --format=json web1 >"$VC/plan.json"
is "$(python3 -c 'import json, sys
job, = json.load(open(sys.argv[1]))
op, = job["ops"]
print(op["summary"], op["opcode"]["OP_ID"], [s["do"] for s in op["steps"]])' \
    "$VC/plan.json")" \
    "INSTANCE_SHUTDOWN(web1) OP_INSTANCE_SHUTDOWN ['hooks', 'write', 'call', 'call', 'write', 'hooks']" \
    "JSON"
like "$(m gnt-instance shutdown --plan --format=yaml web1)" '^- id: [0-9]+$' "YAML"

# What fails is said as the job would say it.
fails "a node in use cannot be removed" m gnt-node remove --plan node2
like "$out" '^  fails   OpPrereqError: Instance web1 is still on node' "with its class"
like "$out" '^error type: wrong_input' "and as always"
fails "an opcode that nobody knows the parameter of" \
    m gnt-instance add --plan --no-name-check --no-ip-check -o noop \
    -t sharedfile --disk 0:size=8m,mode=zz -n node1 web2
like "$out" 'OpPrereqError' "has its class, too"

# Who holds what it would wait for.
id=$(m gnt-debug delay --submit --print-jobid --no-master -n node2 60 2>/dev/null | head -1)
until_true 10 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- \
    gnt-job list --no-headers -o status $id | grep -qx running"
succeeds "beside another job" m gnt-node modify --plan -D yes node2
like "$out" "^  lock    node/node2.example.com \(exclusive\), held by job $id\$" \
    "that it would wait for"
m gnt-job cancel --kill --yes-do-it "$id" >/dev/null
m gnt-job wait "$id" >/dev/null 2>&1 # the answer does not wait for its end

# What reads files of the master does so in a plan, and shows nothing of them.
succeeds "what gives the nodes files" m gnt-cluster redist-conf --plan
like "$out" 'upload_file_single.*rapi.pem' "is planned file by file"
unlike "$out" 'BEGIN|PRIVATE' "without what is in them"

does "remove" m gnt-instance remove -f web1
succeeds "verify is content" m gnt-cluster verify
tap_done
