#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API on master candidates: what is asked there is answered by the
# master; and one of them becomes the master, by the API.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
address() { # NODE
    "$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["name"].startswith(sys.argv[1])][0])' "$1"
}
not_there() { ! kill -0 "$1" 2>/dev/null; }
api1=$api
api2=https://$(address node2):5080
api3=https://$(address node3):5080
succeeds "a candidate may have the remote API" on node2 gantry-rapi --check
succeeds "as the master may" on node1 gantry-rapi --check
list=$(root node3)/var/lib/ganeti/ssconf_master_candidates
cp "$list" "$VC/candidates"
sed -i /node3/d "$list"
is "$(on node3 gantry-rapi --check >/dev/null 2>&1; echo $?)" 11 "another node may not"
cp "$VC/candidates" "$list"
mkdir -p "$VC/empty/none.example.com"
is "$(GANETI_ROOTDIR=$VC/empty/none.example.com GANETI_HOSTNAME=none.example.com "$BIN/gantry-rapi" --check >/dev/null 2>&1; echo $?)" \
    5 "nor one of no cluster"
succeeds "the remote API begins on a candidate" on node2 gantry-rapi --samples=1
succeeds "and on another one" on node3 gantry-rapi

pid=$(cat "$(root node3)/var/run/ganeti/ganeti-rapi.pid")
kill -9 "$pid"
until_true 10 not_there "$pid"
succeeds "where it died" on node3 gantry-watcher
succeeds "the watcher of a candidate starts it" kill -0 "$(cat "$(root node3)/var/run/ganeti/ganeti-rapi.pid")"

leader() { # API
    curl -sk --max-time 10 "$1/gantry/1/leader"
}
is "$(leader "$api1")" '{"leader": "node1.example.com", "here": true}' "the master knows itself"
is "$(leader "$api2")" '{"leader": "node1.example.com", "here": false}' "a candidate knows it"

# --- asked at a candidate ---

api=$api2
answers "a list" 200 GET /2/nodes
is "$out" "$(curl -sk "$api1/2/nodes")" "is that of the master"
answers "an object" 200 GET /2/nodes/node1.example.com
answers "what is not there" 404 GET /2/nodes/nosuch
answers "nobody writes without a password" 401 PUT "/2/tags?tag=x" "" -u rw:wrong
answers "nor without the right" 403 PUT "/2/tags?tag=x" "" -u ro:secret
answers "a write" 200 PUT "/2/tags?tag=candidate" "" -H 'Prefer: wait=20'
like "$out" '"status": "success"' "is waited for there, too"
answers "a wrong opcode" 400 POST /2/groups '{"name": 5}'
answers "a key" 200 PUT "/2/tags?tag=once" "" -H "Idempotency-Key: k"
once=$out
ask PUT "/2/tags?tag=once" "" -H "Idempotency-Key: k"
is "$out" "$once" "means the same job"
api=$api1
ask PUT "/2/tags?tag=once" "" -H "Idempotency-Key: k"
is "$out" "$once" "at the master, too"
api=$api2
answers "a token" 200 POST /gantry/1/tokens '{"name": "t", "rights": ["read"]}'
token=$(printf %s "$out" | python3 -c 'import json, sys
print(json.load(sys.stdin)["token"])')
answers "ready" 200 GET /readyz
answers "metrics" 200 GET /metrics
for i in 1 2 3 4 5 6 7 8 9 10; do
    curl -sk --max-time 20 "$api2/2/instances?bulk=1" -o /dev/null -w '%{http_code}\n' &
done >"$VC/many"
wait
is "$(grep -c '^200$' "$VC/many")" 10 "many at once"

has_samples() {
    ask GET "/gantry/1/samples?name=cluster/nodes&since=0"
    case $out in
    *'"cluster/nodes": [3.0'*) return 0 ;;
    esac
    return 1
}
until_true 20 has_samples
tap_point $? "the figures of the last day are the cluster's"

# --- who may do what is what the master's file says ---

echo "late secret read,write" >>"$(root node1)/var/lib/ganeti/rapi/users"
answers "who is only in the master's file" 401 PUT "/2/tags?tag=late" "" -u late:secret
fails "which gnt-cluster verify finds" m gnt-cluster verify
like "$out" 'rapi/users' "by its name"
succeeds "and gnt-cluster redist-conf mends" m gnt-cluster redist-conf
answers "is known at once" 200 PUT "/2/tags?tag=late" "" -u late:secret
succeeds "and verify is content" m gnt-cluster verify
sed -i '/^late /d' "$(root node1)/var/lib/ganeti/rapi/users"
succeeds "the same way" m gnt-cluster redist-conf
answers "he is nobody again" 401 PUT "/2/tags?tag=late" "" -u late:secret

# --- another master, by the API ---

(curl -skN --max-time 90 -H 'Accept: application/x-ndjson' "$api2/gantry/1/events?topic=cluster,job" >"$VC/stream") &
follower=$!
until_true 10 grep -q bookmark "$VC/stream"
answers "nobody makes another master without the right" 403 POST /gantry/1/cluster/failover "" -u ro:secret
answers "a node that is not known" 404 POST /gantry/1/cluster/failover '{"node": "nosuch"}'
answers "a body that is none" 400 POST /gantry/1/cluster/failover '{"name": "x"}'
answers "nor one of another type" 400 POST /gantry/1/cluster/failover '{"node": 1}'
api=$api1
answers "the master is the master" 400 POST /gantry/1/cluster/failover
api=$api2
(
    for i in 1 2 3 4 5 6 7 8; do
        curl -sk --max-time 20 "$api1/2/nodes?bulk=1" -o /dev/null -w '%{http_code}\n' &
    done
    wait
) >"$VC/many"
is "$(grep -c '^200$' "$VC/many")" 8 "the master answers many at once"
answers "a candidate becomes the master" 200 POST /gantry/1/cluster/failover "" --max-time 60
is "$out" '"node2.example.com"' "and says so"
told_others() { [ "$(on node3 gnt-cluster getmaster)" = node2.example.com ]; }
until_true 20 told_others
succeeds "as others do" told_others
is "$(leader "$api2")" '{"leader": "node2.example.com", "here": true}' "it knows itself"
there() { leader "$api1" | grep -q '"node2.example.com", "here": false'; }
until_true 30 there
succeeds "and the former one knows it" there
api=$api1
bulk() { ask GET "/2/nodes?bulk=1" && [ "$status" = 200 ]; }
until_true 30 bulk
for i in 1 2 3 4 5 6 7 8 9 10; do
    ask GET "/2/nodes?bulk=1"
    echo "$status"
done >"$VC/many"
is "$(grep -c '^200$' "$VC/many")" 10 "it answers lists, all of them"
served() { ask PUT "/2/tags?tag=after" "" -H 'Prefer: wait=20' && [ "$status" = 200 ]; }
until_true 30 served
is "$status" 200 "which sends what it is asked to it"
answers "its answers are" 200 GET /2/tags
answers "not kept" 200 GET /2/tags
answers "after a change" 200 PUT "/2/tags?tag=newest" "" -H 'Prefer: wait=20'
answers "they are others" 200 GET /2/tags
like "$out" newest "at once"
answers "the key is known" 200 PUT "/2/tags?tag=once" "" -H "Idempotency-Key: k"
is "$out" "$once" "with its job"
is "$(curl -sk -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$api1/2/nodes")" 200 \
    "and so is the token"
told() { tail -1 "$VC/stream" | grep -q '"type":"success"' && grep -q '"after"\|"modified"' "$VC/stream"; }
until_true 20 told
kill $follower
wait $follower 2>/dev/null
is "$(grep -c '"gap"' "$VC/stream")" 0 "who followed has missed nothing"
python3 - "$VC/stream" <<'END'
import json, sys
index = [json.loads(line)["index"] for line in open(sys.argv[1]) if '"bookmark"' not in line]
assert index == sorted(set(index)), index
END
tap_point $? "and heard nothing twice"

# --- when the master is dead ---

"$BIN/gnt-vcluster" kill "$VC" node2
python3 "$(dirname "$0")/rapi_gone.py" "${api3#https://}" 0 1 over >"$VC/over" 2>&1 &
over=$!
api=$api3
answers "without a master nothing is answered" 502 GET /2/nodes
answers "nobody is ready" 503 GET /readyz
answers "who has a password makes another one" 200 POST /gantry/1/cluster/failover "" --max-time 60
answers "which answers" 200 GET /2/nodes
is "$(leader "$api3")" '{"leader": "node3.example.com", "here": true}' "itself"
api=$api1
until_true 30 served
is "$status" 200 "and through the other candidate"
wait $over
note "$(grep '^#' "$VC/over")"
like "$(cat "$VC/over")" '^ok ' "each request was answered meanwhile"
tap_done
