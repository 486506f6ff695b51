#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the remote API has beyond Ganeti's: tags of answers, waiting for jobs,
# plans, probes, metrics, its own description.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster

header() { # NAME CURL-OPTION...
    name=$1
    shift
    curl -sk --max-time 60 -u rw:secret -o "$VC/answer" -D - "$@" | tr -d '\r' |
        sed -n "s/^$name: //Ip"
}

# --- tags of answers ---

tag=$(header ETag "$api/2/tags")
like "$tag" '^"[0-9a-f]{16}"$' "an answer has a tag"
answers "who has it gets nothing" 304 GET /2/tags "" -H "If-None-Match: $tag"
is "$out" "" "no byte of it"
answers "nor among others" 304 GET /2/tags "" -H "If-None-Match: \"a\", W/$tag"
answers "with another one it is sent" 200 GET /2/tags "" -H 'If-None-Match: "x"'
m gnt-cluster add-tags blue
answers "after a change, too" 200 GET /2/tags "" -H "If-None-Match: $tag"
is "$out" '["blue"]' "as it is now"
is "$(header ETag -X PUT "$api/2/tags?tag=red")" "" "jobs have none"

# --- waiting for jobs ---

answers "who prefers to wait" 200 PUT "/2/tags?tag=green" "" -H 'Prefer: wait=30'
like "$out" '"status": "success"' "gets the job, ended"
is "$(header Preference-Applied -X PUT -H 'Prefer: respond-async, Wait=30' \
    "$api/2/tags?tag=yellow")" "wait=30" "and hears that it was waited"
m gnt-cluster modify --max-running-jobs=1 >/dev/null
m gnt-debug delay --submit 8 >/dev/null 2>&1
answers "a job that takes longer" 202 PUT "/2/tags?tag=a" "" -H 'Prefer: wait=1'
like "$out" '^[0-9]+$' "gives its id"
is "$(header Location -X PUT -H 'Prefer: wait=1' "$api/2/tags?tag=b")" \
    "/2/jobs/$((out + 1))" "and the way to it"
held=$(m gnt-job list --no-headers -o id,status | awk '$2 == "queued" || $2 == "waiting" {print $1}' | head -1)
answers "why a job does not run" 200 GET "/gantry/1/jobs/${held:-1}/why"
like "$out" '"why": "places"' "is told"
answers "a job that is not there" 404 GET /gantry/1/jobs/99999/why
answers "policies and resources in force" 200 GET /gantry/1/resources
out=$(curl -sk "$api/2/jobs" | python3 -c 'import json, sys
print(max(j["id"] for j in json.load(sys.stdin)))')
job_ends "which ends later" success
answers "a client can ask for all that" 200 GET /2/features
like "$out" '"gantry-1"' "by its name"
m gnt-cluster modify --max-running-jobs=20 >/dev/null
answers "a wait that is none is ignored" 200 PUT "/2/tags?tag=c" "" -H 'Prefer: wait=x'
like "$out" '^[0-9]+$' "as before"

# --- plans ---

last() {
    curl -sk "$api/2/jobs" | python3 -c 'import json, sys
print(max(j["id"] for j in json.load(sys.stdin)))'
}
job_ends "all jobs have ended" success
before=$(last)
answers "a plan" 200 PUT "/2/redistribute-config?plan=1"
like "$out" '"summary": "CLUSTER_REDIST_CONF"' "says what would be done"
is "$(last)" "$before" "and nothing is"
answers "one of what has forms of its own" 200 POST \
    "/2/nodes/node1.example.com/migrate?plan=1" '{"mode": "live"}'
like "$out" '"mode": "live"' "with its body"
answers "and a reason beside it" 200 POST \
    "/2/nodes/node1.example.com/migrate?plan=1&reason=night" '{"mode": "live"}'
like "$out" '"mode": "live"' "which keeps the body"
answers "what is no job has none" 400 POST "/2/filters?plan=1" '{"action": "REJECT"}'
answers "and does nothing" 200 GET /2/filters
is "$out" "[]" "at all"
answers "nobody plans without the right" 403 PUT "/2/redistribute-config?plan=1" "" \
    -u ro:secret

# --- probes and metrics ---

answers "it is alive" 200 GET /healthz
is "$(curl -skI -o /dev/null -w '%{http_code} %{size_download}' "$api/healthz")" "200 0" \
    "also for who wants no body"
answers "and ready" 200 GET /readyz
is "$out" '{"status": "ok", "master": "node1.example.com"}' "for its master"
add inst1.example.com -t diskless -n node2.example.com >/dev/null
add inst2.example.com -t diskless -n node2.example.com --no-start >/dev/null
m gnt-node modify -O yes node3 >/dev/null 2>&1
answers "metrics" 200 GET /metrics
metrics=$out
c='cluster="cluster.example.com"'
for line in "ganeti_node_pinst_cnt{$c,node=\"node2.example.com\"} 2" \
    "ganeti_instance_oper_ram{$c,instance=\"inst1.example.com\"} 128" \
    "ganeti_instance_oper_ram{$c,instance=\"inst2.example.com\"} 0" \
    "ganeti_node_p_oper_vcpus{$c,node=\"node2.example.com\"} 1" \
    "ganeti_cluster_instance_count{$c} 2" "ganeti_cluster_node_count{$c} 3" \
    "ganeti_cluster_offline_nodes{$c} 1" \
    "ganeti_cluster_jobs{$c,job_status=\"running\"} 0" \
    'gantry_rapi_requests_running 1'; do
    printf '%s\n' "$metrics" | grep -qxF "$line"
    tap_point $? "$line"
done
like "$metrics" 'ganeti_job_run_time\{.*,job_operation="OP_INSTANCE_CREATE"\} [0-9]' \
    "jobs have their times"
like "$metrics" 'gantry_rapi_requests_total\{class="4xx"\} [1-9]' "requests are counted"
if command -v promtool >/dev/null; then
    printf '%s\n' "$metrics" >"$VC/metrics"
    # The exporter's names are not to its taste.
    is "$(promtool check metrics <"$VC/metrics" 2>&1 |
        grep -v -e '"_count" suffix' -e 'abbreviated units')" "" "promtool finds nothing"
fi

# --- lists of what is asked for ---

answers "a dry run of what has none in Ganeti" 200 POST \
    "/2/nodes/node2.example.com/modify?dry-run=1" '{"drained": true}'
job_ends "is a job" success
answers "that changes nothing" 200 GET /2/nodes/node2.example.com/role
is "$out" '"master-candidate"' "at all"

# lists NAME WANTED PATH...: the answer is that JSON
lists() {
    lists_name=$1
    lists_wanted=$2
    shift 2
    ask GET "$@"
    is "$out" "$lists_wanted" "$lists_name"
}
lists "a filter" '[{"name": "inst2.example.com"}]' \
    '/2/instances?filter=admin_state+==+"down"'
lists "a name that there is not" '[]' '/2/instances?filter=name+==+"nosuch"'
lists "one that there is" '[{"name": "inst2.example.com"}]' \
    '/2/instances?filter=name+==+"inst2.example.com"+or+name+==+"nosuch"'
lists "fields" '[{"name": "inst1.example.com", "be/memory": 128}, {"name": "inst2.example.com", "be/memory": 128}]' \
    '/2/instances?fields=name,be/memory'
lists "an order" '[{"name": "node3.example.com"}, {"name": "node2.example.com"}, {"name": "node1.example.com"}]' \
    '/2/nodes?sort=-name'
lists "an order by what is not shown" '[{"name": "node1.example.com"}, {"name": "node3.example.com"}, {"name": "node2.example.com"}]' \
    '/2/nodes?sort=pinst_cnt'
lists "a page" '[{"name": "node1.example.com"}, {"name": "node2.example.com"}]' \
    '/2/nodes?limit=2'
next=$(header Link "$api/2/nodes?limit=2&fields=name%2Crole")
is "$next" '</2/nodes?limit=2&fields=name%2Crole&after=node2.example.com>; rel="next"' \
    "names the next one"
lists "which goes on" '[{"name": "node3.example.com", "role": "O"}]' \
    "$(echo "$next" | sed 's/^<\(.*\)>.*/\1/')"
is "$(header Link "$api/2/nodes?limit=2&after=node2")" "" "and is the last"
lists "jobs have numbers" '[{"id": 2}, {"id": 3}]' '/2/jobs?limit=2&after=1'
answers "all of one page" 200 GET '/2/jobs?limit=1&bulk=1'
like "$out" '"summary": \["CLUSTER_POST_INIT' "has all fields"
answers "a field that is none" 400 GET '/2/nodes?fields=name,nosuch'
answers "a filter that is none" 400 GET '/2/nodes?filter=name+==='
answers "one of a field that cannot have it" 400 GET '/2/nodes?filter=name'
answers "a kind that there is not" 400 GET '/2/query/nosuch?fields=name'
like "$out" '"There is no kind .*nosuch' "as the master says"
answers "a dependency on nothing" 400 POST /2/groups \
    '{"name": "g9", "depends": [[-1, ["success"]]]}'
answers "fields of a job that are no names" 400 GET /2/jobs/1/wait '{"fields": [1]}'
answers "a limit that is none" 400 GET '/2/nodes?limit=0'
answers "a page in another order" 400 GET '/2/nodes?sort=role&after=x'

"$BIN/gnt-vcluster" kill "$VC" node1 masterd
answers "without a master it is alive" 200 GET /healthz
answers "and not ready" 503 GET /readyz
answers "and has no metrics" 502 GET /metrics
"$BIN/gnt-vcluster" start "$VC" node1 masterd

# --- its description ---

answers "it describes itself" 200 GET /openapi.json
python3 "$(dirname "$0")/rapi_openapi.py" "$api_address" "$VC/answer" >"$VC/tap"
while read -r point; do
    case $point in
    "ok - "*) tap_point 0 "${point#ok - }" ;;
    "not ok - "*) tap_point 1 "${point#not ok - }" ;;
    *) echo "$point" ;;
    esac
done <"$VC/tap"

# --- the same request once more ---

add again1.example.com -t diskless -n node2.example.com --no-start >/dev/null
tag=$(header ETag "$api/2/instances/again1.example.com")
change() {
    ask PUT /2/instances/again1.example.com/modify '{"beparams": {"vcpus": 2}}' \
        -H "If-Match: $tag" -H "Idempotency-Key: again" "$@"
}
change
is "$status" 200 "a change of what is as it was"
first=$out
job_ends "is made" success
change
is "$status" 200 "who repeats it need not know what it has changed"
is "$out" "$first" "and gets the same job"
m gnt-job archive "$first" >/dev/null
change -H 'Prefer: wait=20'
is "$status" 200 "also when that is archived"
like "$out" '"status": "success"' "with its end"
out=$(curl -skN --max-time 20 -H 'Accept: application/x-ndjson' \
    "$api/gantry/1/jobs/$first/log?follow=1")
like "$out" '"status":"success"' "who follows its log hears that, too"
answers "not of one that never was" 404 GET "/gantry/1/jobs/99999/log?follow=1"
tap_done
