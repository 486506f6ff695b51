#!/bin/sh
# Opcodes for tests, and queries that run as jobs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
add web1 -t diskless -n node2 >/dev/null

# result OPCODE: what a job of this opcode answers, or its error
result() {
    echo "[$1]" >"$VC/op"
    id=$(m gnt-debug submit-job "$VC/op" 2>&1 | sed -n 's/.*[jJ]ob[s ID:]* *\([0-9][0-9]*\).*/\1/p' | head -1)
    m gnt-job list --no-headers --format=json -o opresult "$id" | tr -d '\n '
}
like "$(result '{"OP_ID": "OP_QUERY", "what": "instance", "fields": ["name", "pnode"], "use_locking": true}')" \
    '\[\[0,"web1"\],\[0,"node2.example.com"\]\]' "a query is a job"
like "$(result '{"OP_ID": "OP_QUERY", "what": "job", "fields": ["id"], "use_locking": true}')" \
    'Cannotuselockingforjobqueries' "with locks where there are some"
like "$(result '{"OP_ID": "OP_QUERY_FIELDS", "what": "group", "fields": ["name"]}')" \
    '"title":"Group"' "so are fields"
like "$(result '{"OP_ID": "OP_CLUSTER_CONFIG_QUERY", "output_fields": ["master_node", "drain_flag"]}')" \
    '\["node1.example.com",false\]' "and values of the cluster"
like "$(result '{"OP_ID": "OP_INSTANCE_CONSOLE", "instance_name": "web1"}')" \
    '"instance":"web1"' "the way to a console"
like "$(result '{"OP_ID": "OP_GROUP_VERIFY_DISKS", "group_name": "default"}')" \
    '\[\{\},\[\],\{\}\]' "the disks of a group are well"
m gnt-instance shutdown web1 >/dev/null
like "$(result '{"OP_ID": "OP_INSTANCE_CONSOLE", "instance_name": "web1"}')" \
    'isnotrunning.stateADMIN_down' "what is down has no console"
succeeds "verify-disks asks each group" m gnt-cluster verify-disks
like "$(m gnt-job list --no-headers -o summary)" 'GROUP_VERIFY_DISKS.default' \
    "by a job"

# --- the queue looked at while jobs stand still ---
succeeds "the queue is tested" m gnt-debug test-jobqueue
like "$out" 'Job queue test successful' "and is found in order"
is "$(m gnt-job list --no-headers -o status | sort | uniq -c | grep -c running)" 0 \
    "no job is left"
printf '[{"OP_ID": "OP_TEST_JQUEUE", "notify_exec": true}]' >"$VC/jq.json"
# Not within $(): that would wait for the job's end.
m gnt-debug submit-job "$VC/jq.json" >/dev/null 2>&1 &
standing() {
    m gnt-job list --running --no-headers -o id,oplog | grep "sock', 'exec'"
}
until_true 30 standing
id=$(standing | awk '{print $1}')
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
until_true 30 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-job list --no-headers -o status $id | grep -q error"
is "$(m gnt-job list --no-headers -o status "$id" | tr -d ' ')" error \
    "one that stands still can be killed"
is "$(standing)" "" "and none is left"
fails "there is no wconfd" m gnt-debug wconfd echo x
like "$out" 'There is no wconfd' "which is said"
fails "nor metad" m gnt-debug metad echo x
version=$(m gnt-node list --no-headers -o program_version node1 | tr -d ' ')
succeeds "an upgrade to what runs is none" m gnt-cluster upgrade --to "$version"
like "$out" "runs version $version already" "which is said"
slow=$(m gnt-debug delay --submit 600 2>&1 | grep -Eo '[0-9]+')
m gnt-cluster upgrade --to 9.1 >"$VC/upgrade" 2>&1 &
upgrade=$!
waits() { grep -q 'Waiting for 1 job' "$VC/upgrade"; }
until_true 30 waits
m gnt-job cancel --force --kill --yes-do-it "$slow" >/dev/null 2>&1
if wait $upgrade; then rc=0; else rc=$?; fi
is "$rc" 0 "an upgrade is prepared"
out=$(cat "$VC/upgrade")
like "$out" "node2.example.com: $version" "the versions of all nodes are named"
like "$out" 'Waiting for 1 job.s. to end' "what runs is waited for"
like "$out" 'install version 9.1 on all nodes' "and what is left is said"
fails "no new job comes in between" m gnt-debug delay 0.01
fails "it is not complete while nodes have the old version" \
    m gnt-cluster upgrade --resume
like "$out" 'An upgrade to version 9.1 was begun' "in words"
succeeds "it can be given up" m gnt-cluster upgrade --to "$version"
succeeds "then jobs run again" m gnt-debug delay 0.01
fails "it needs to know where to" m gnt-cluster upgrade
like "$out" 'Precisely one of the options' "or to resume"
succeeds "where nothing was begun" m gnt-cluster upgrade --resume

# --- secrets and delays ---
succeeds "secret parameters reach it" m gnt-debug test-osparams \
    --os-parameters-secret=pw=open4711
like "$out" 'have come: pw$' "by name"
unlike "$out" 'open4711' "without the value"
fails "there must be some" m gnt-debug test-osparams
succeeds "a delay that nobody interrupts" m gnt-debug delay --interruptible 0.01
id=$(m gnt-debug delay --interruptible --submit --print-jobid 600 2>/dev/null)
socket_of() {
    m gnt-job list --no-headers -o oplog "$1" | sed -n 's/.*\(\/tmp\/[^"'"'"']*sock\).*/\1/p'
}
until_true 30 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-job list --no-headers -o oplog $id | grep -q sock"
path=$(socket_of "$id")
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])' "$path"
succeeds "one that somebody ends" m gnt-job watch "$id"
like "$out" 'Received connection' "says so"
is "$(ls "$path" 2>/dev/null)" "" "and leaves no socket"
id=$(m gnt-debug delay --interruptible --submit --print-jobid 600 2>/dev/null)
until_true 30 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-job list --no-headers -o oplog $id | grep -q sock"
path=$(socket_of "$id")
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
fails "one that is killed ends, too" m gnt-job watch "$id"
is "$(ls "$path" 2>/dev/null)" "" "without a socket as well"
fails "a delay of nodes cannot be ended so" \
    m gnt-debug delay --interruptible --no-master -n node2 0.01
echo '[{"OP_ID": "OP_INSTANCE_STARTUP", "instance_name": "nosuch"}]' >"$VC/bad"
fails "a job that fails is told" m gnt-debug submit-job "$VC/bad"
echo '[{"OP_ID": "OP_TEST_DELAY", "duration": 0.01}]' >"$VC/good"
succeeds "jobs are timed" m gnt-debug submit-job --timing-stats --job-repeat 2 \
    --op-repeat 3 "$VC/good"
like "$(echo "$out" | tr -s '\n ' '  ')" \
    'Loading[.]+ Submitting[.]+ Executing[.]+ .*C:op 6 C:job 2 T:submit 0[.]' \
    "and counted"

tap_done
