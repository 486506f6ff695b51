#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Writes through the remote API that happen once, only if nothing has changed, or
# only as planned; and logs of jobs as they are written.
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

# --- under a key ---

key() { # KEY
    echo "Idempotency-Key: $1"
}
answers "who submits under a key" 200 PUT "/2/tags?tag=blue" "" -H "$(key a)"
first=$out
job_ends "gets a job" success
answers "and again" 200 PUT "/2/tags?tag=blue" "" -H "$(key a)"
is "$out" "$first" "the same one"
answers "for another request it is refused" 422 PUT "/2/tags?tag=red" "" -H "$(key a)"
answers "with another body, too" 200 POST /2/groups '{"name": "g1"}' -H "$(key b)"
group=$out
answers "it is as well" 422 POST /2/groups '{"name": "g2"}' -H "$(key b)"
answers "the same body is the same job" 200 POST /2/groups '{"name": "g1"}' -H "$(key b)"
is "$out" "$group" "once more"
out=$group
job_ends "which has made one group" success
echo "rw2 secret read,write" >>"$(root node1)/var/lib/ganeti/rapi/users"
answers "the key of another user" 200 PUT "/2/tags?tag=blue" "" -u rw2:secret -H "$(key a)"
if [ "$out" = "$first" ]; then rc=1; else rc=0; fi
tap_point $rc "is another key"
answers "a job that was refused" 400 POST /2/groups '{"nosuch": 1}' -H "$(key c)"
answers "leaves no key" 200 POST /2/groups '{"name": "g3"}' -H "$(key c)"
answers "a key of what submits no job" 400 POST /2/filters '{"action": "REJECT"}' -H "$(key d)"
answers "an empty key" 400 PUT "/2/tags?tag=x" "" -H "Idempotency-Key;"
answers "a long key" 400 PUT "/2/tags?tag=x" "" \
    -H "$(key "$(printf %300s x | tr ' ' x)")"
answers "nobody has a key without the right" 403 PUT "/2/tags?tag=x" "" -u ro:secret -H "$(key e)"
for i in 1 2 3 4 5 6 7 8; do
    curl -sk --max-time 30 -u rw:secret -o "$VC/same.$i" -w '%{http_code}\n' -X PUT \
        -H "$(key crowd)" "$api/2/tags?tag=crowd" >"$VC/status.$i" &
done
wait
is "$(cat "$VC"/status.? | grep -cvE '^(200|409)$')" 0 "many at once are answered or told to wait"
is "$(cat "$VC"/same.? | grep -E '^[0-9]+$' | sort -u | wc -l)" 1 "and are one job"

# --- only if nothing has changed ---

add inst1.example.com -t diskless -n node2.example.com --no-start >/dev/null
i=/2/instances/inst1.example.com
tag=$(header ETag "$api$i")
like "$tag" '^"[0-9]+-[0-9a-f]{16}"$' "an object's tag begins with its serial number"
answers "who has seen it as it is" 200 PUT "$i/modify" '{"beparams": {"maxmem": 256}}' \
    -H 'Prefer: wait=20' -H "If-Match: $tag"
answers "may write; then no more" 412 PUT "$i/startup" "" -H "If-Match: $tag"
like "$out" 'It has changed since' "and is told why"
answers "anything that is there" 200 PUT "$i/tags?tag=two" "" -H 'Prefer: wait=20' -H 'If-Match: *'
answers "what is not there" 404 PUT /2/instances/nosuch/startup "" -H 'If-Match: *'
answers "a list's tag" 412 POST /2/groups '{"name": "g4"}' -H 'If-Match: "0"'
tag=$(header ETag "$api/2/groups")
answers "as it is" 200 POST /2/groups '{"name": "g4"}' -H "If-Match: $tag" -H 'Prefer: wait=20'
answers "a tag that is none" 412 DELETE "$i" "" -H 'If-Match: x'

# --- only as planned ---

answers "a plan" 200 PUT "$i/modify?plan=1" '{"beparams": {"vcpus": 2}}'
plan=$(printf %s "$out" | python3 -c 'import json, sys
print(json.load(sys.stdin)["plan"])')
like "$plan" '^[0-9a-f]{32}$' "has a name"
is "$(header Gantry-Plan -X PUT -H 'Content-Type: application/json' -d '{"beparams": {"vcpus": 2}}' \
    "$api$i/modify?plan=1")" "$plan" "which is the same again"
answers "something else" 200 PUT "/2/tags?tag=else" "" -H 'Prefer: wait=20'
answers "another request is none of it" 409 PUT "$i/modify" '{"beparams": {"vcpus": 3}}' \
    -H "Gantry-Plan: $plan"
answers "what changes something else" 200 PUT "$i/tags?tag=three" "" -H 'Prefer: wait=20'
answers "makes the plan void" 409 PUT "$i/modify" '{"beparams": {"vcpus": 2}}' \
    -H "Gantry-Plan: $plan"
plan=$(header Gantry-Plan -X PUT -H 'Content-Type: application/json' -d '{"beparams": {"vcpus": 2}}' \
    "$api$i/modify?plan=1")
answers "a new one" 200 PUT "$i/modify" '{"beparams": {"vcpus": 2}}' -H "Gantry-Plan: $plan" \
    -H 'Prefer: wait=20'
like "$out" '"status": "success"' "is done"

# --- jobs that run, and wait ---

out=$(m gnt-debug delay --submit --print-jobid 20 2>/dev/null | head -1)
slow=$out
is_running() { [ "$(job_status "$slow")" = running ]; }
until_true 10 is_running
answers "the plan of a job that runs" 409 GET "/gantry/1/jobs/$slow/plan"
is "$(curl -sk -o /dev/null -w '%{http_code}' "$api/gantry/1/jobs/$slow/plan")" 401 \
    "for nobody without a right"
(curl -skN --max-time 60 -H 'Accept: application/x-ndjson' \
    "$api/gantry/1/jobs/$slow/log?follow=1" >"$VC/followed") &
until_true 10 test -s "$VC/followed"
m gnt-job cancel --kill --yes-do-it "$slow" >/dev/null 2>&1
wait
like "$(tail -1 "$VC/followed")" '"status":"(canceled|error)"' "a log is followed to the job's end"
answers "another job" 200 PUT "$i/startup"
started=$out
job_ends "an instance starts" success
answers "the log of a job" 200 GET "/gantry/1/jobs/$started/log"
python3 -c 'import json, sys
for e in json.loads(sys.argv[1]): assert set(e) == {"serial", "time", "type", "message"}' "$out"
tap_point $? "has entries"
out=$(curl -skN --max-time 20 "$api/gantry/1/jobs/$started/log?follow=1")
like "$out" '^event: status' "a job that has ended is told at once"
answers "one that is not there is not followed" 404 GET "/gantry/1/jobs/99999/log?follow=1"
answers "the log of no job" 404 GET /gantry/1/jobs/99999/log
answers "an entry that is none" 400 GET "/gantry/1/jobs/$started/log?since=x"
answers "the plan of no job" 404 GET /gantry/1/jobs/99999/plan

# --- the next master ---

"$BIN/gnt-vcluster" kill "$VC" node1
succeeds "another node takes over" on node2 gnt-cluster master-failover
api_address=$("$BIN/gnt-vcluster" list "$VC" --format=json |
    python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["master"]][0])'):5080
api=https://$api_address
succeeds "with its remote API" on node2 gantry-rapi
answers "a key is known there" 200 PUT "/2/tags?tag=blue" "" -H "$(key a)"
is "$out" "$first" "with its job"
answers "for this request alone" 422 PUT "/2/tags?tag=red" "" -H "$(key a)"
tap_done
