#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the remote API plans: where instances would go, how many more fit, moves
# that balance; and what it finds in the history of jobs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster

# of EXPRESSION: a Python expression of the answer a
of() {
    printf '%s\n' "$out" | python3 -c "import json, sys
a = json.load(sys.stdin)
print(($1))"
}
last() {
    curl -sk "$api/2/jobs" | python3 -c 'import json, sys
print(max(j["id"] for j in json.load(sys.stdin)))'
}

for n in node1 node2 node3; do
    m gnt-node modify --hypervisor-state \
        fake:mem_total=1016,mem_node=0,cpu_total=8 "$n" >/dev/null
done
m gnt-node modify -D yes node3 >/dev/null 2>&1

# --- placement ---

before=$(last)
answers "where an instance would go" 200 POST /gantry/1/placement \
    '{"disk_template": "sharedfile", "disks": [{"size": 64}], "beparams": {"memory": 256}}'
is "$(of 'a["instances"][0]["placed"], a["instances"][0]["groups"][0]["possible"]')" \
    "(True, 2)" "is told"
like "$(of 'a["instances"][0]["groups"][0]["best"][0]')" "'nodes': \['node[12]" \
    "with nodes and scores"
answers "one that fits nowhere" 200 POST /gantry/1/placement \
    '{"beparams": {"memory": 1200}}'
is "$(of 'a["instances"][0]["placed"]')" False "has no place"
is "$(of 'sorted((r["reason"], r["count"]) for r in a["instances"][0]["groups"][0]["refused"])')" \
    "[('drained', 1), ('memory', 2)]" "for reasons"
like "$(of 'a["instances"][0]["groups"][0]["refused"]')" \
    "node1.example.com.*1200 MiB of memory needed" "node by node"
answers "several are placed together" 200 POST /gantry/1/placement \
    '{"instances": [{"beparams": {"memory": 600}}, {"beparams": {"memory": 600}}, {"beparams": {"memory": 600}}]}'
is "$(of '[i["placed"] for i in a["instances"]]')" "[True, True, False]" \
    "one after the other"
answers "an allocator that explains nothing" 400 POST /gantry/1/placement \
    '{"iallocator": "dumb"}'
answers "what an instance does not have" 400 POST /gantry/1/placement '{"nosuch": 1}'
answers "what is no instance" 400 POST /gantry/1/placement '[1]'
answers "nor a list of them" 400 POST /gantry/1/placement '{"instances": {}}'
answers "no instances" 400 POST /gantry/1/placement '{"instances": []}'
answers "who may read may ask" 200 POST /gantry/1/placement '{}' -u ro:secret
answers "others may not" 403 POST /gantry/1/placement '{}' -u none:secret
is "$(last)" "$before" "no job came of all that"

# --- capacity ---

answers "how many more fit" 200 GET /gantry/1/capacity?memory=256
mine=$(of 'a["standard"]["instances"], a["standard"]["failures"][0]["reason"], a["cluster"]["nodes"]')
is "$mine" "(6, 'FailMem', 3)" "is counted"
ask GET /gantry/1/capacity
mine=$(of 'json.dumps([a["cluster"], a["initial"], a["tiered"], a["standard"]], sort_keys=True)')
# Its recursion takes more stack with sanitizers.
out=$(ulimit -s 65536 && m hspace -L --format=json 2>/dev/null)
is "$(of 'json.dumps([a["cluster"], a["initial"], a["tiered"], a["standard"]], sort_keys=True)')" \
    "$mine" "as hspace does"
answers "of another template" 200 GET '/gantry/1/capacity?disk_template=drbd'
is "$(of 'a["standard"]["spec"]["nodes"]')" 2 "with its nodes"
answers "one that there is not" 400 GET '/gantry/1/capacity?disk_template=paper'
answers "a size that is none" 400 GET '/gantry/1/capacity?memory=-5'

# --- balance ---

m gnt-node modify -D no node3 >/dev/null 2>&1
for i in 1 2 3; do
    add "web$i.example.com" -t sharedfile -s 4m -B memory=200 -n node1 >/dev/null
done
answers "moves that balance" 200 GET /gantry/1/balance
moves=$(of '[(s["instance"], s["moves"]) for g in a["groups"] for s in g["steps"]]')
like "$moves" "web[123]" "are told"
is "$(of 'a["groups"][0]["after"] < a["groups"][0]["before"]')" True "with their gain"
is "$(m hbal -L 2>/dev/null | awk '$2 ~ /^web/ {print $2 ".example.com"}' | sort | tr '\n' ' ')" \
    "$(of '"".join(sorted(s["instance"] + " " for g in a["groups"] for s in g["steps"]))')" \
    "as hbal computes them"
answers "one at a time" 200 GET '/gantry/1/balance?max_steps=1'
is "$(of 'len(a["groups"][0]["steps"]), len(a["jobs"])')" "(1, 1)" "is one"
answers "a group that there is not" 404 GET '/gantry/1/balance?group=nosuch'
answers "who may only read does not submit them" 403 POST /gantry/1/balance "" -u ro:secret
answers "a dry run" 200 POST '/gantry/1/balance?dry-run=1'
out=$(last)
job_ends "has jobs" success
is "$(m gnt-instance list --no-headers -o pnode | sort -u)" node1.example.com \
    "that move nothing"
before=$(last)
answers "they are submitted" 200 POST '/gantry/1/balance?group=default&reason=evening'
n=$(of 'len(a["jobs"])')
is "$(of 'len(a["groups"][0]["steps"])')" "$n" "a job for each"
out=$(last)
job_ends "and done" success
answers "then there is nothing left to do" 200 GET /gantry/1/balance
is "$(of 'a["groups"][0]["steps"]')" "[]" "at all"
answers "and nothing to submit" 200 POST /gantry/1/balance
is "$(of 'a["jobs"]')" "[]" "no job"

# --- history ---

answers "the history" 200 GET /gantry/1/history
all=$(of 'len(a)')
m gnt-job autoarchive all >/dev/null
answers "has archived jobs" 200 GET /gantry/1/history
is "$(of 'len(a) >= '"$all"' and all(j["archived"] for j in a)')" True "too"
answers "by what they did and to whom" 200 GET \
    '/gantry/1/history?op=OP_INSTANCE_CREATE&object=web2.example.com'
is "$(of '[(j["summary"], j["status"]) for j in a]')" \
    "[(['INSTANCE_CREATE(web2.example.com)'], 'success')]" "is found"
answers "by the reason" 200 GET '/gantry/1/history?reason=evening&fields=id,opid'
is "$(of 'len(a) == '"$n"' and all(sorted(j) == ["id", "opid"] for j in a)')" True \
    "with the fields that are asked for"
answers "by time" 200 GET '/gantry/1/history?since=2000000000000'
is "$out" "[]" "in the future"
answers "by a filter, newest first" 200 GET \
    '/gantry/1/history?filter=status+==+"success"&sort=-id&limit=2'
is "$(of 'len(a), a[0]["id"] > a[1]["id"]')" "(2, True)" "in order"
next=$(curl -sk -o /dev/null -D - "$api/gantry/1/history?limit=3" | tr -d '\r' |
    sed -n 's/^Link: <\(.*\)>; rel="next"$/\1/Ip')
answers "in pages" 200 GET "$next"
is "$(of 'a[0]["id"], len(a)')" "(4, 3)" "of which each names the next"
answers "a time that is none" 400 GET '/gantry/1/history?since=x'
answers "whether it is as it was" 200 GET /gantry/1/history/verify
is "$(of 'a["ok"], a["running"]')" "(True, False)" "is found out"
archive=$(root node1)/var/lib/ganeti/queue/archive/0
# What is on its way to the disk may be written over the change.
altered() {
    sed -i 's/success/sucess_/' "$archive/job-2" || return
    ask GET /gantry/1/history/verify
    printf '%s\n' "$out" | grep -q '"ok": false'
}
until_true 20 altered
answers "who alters it" 200 GET /gantry/1/history/verify
like "$out" '"ok": false, "job": 2' "is found out as well"
answers "not by everybody" 401 GET /gantry/1/history/verify "" -u nobody:x
tap_done
