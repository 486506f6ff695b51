#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who follows the events goes on at the next master: none is lost, none is told
# twice, and where some are not known there, that is said.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
here=$(cd "$(dirname "$0")" && pwd)
rapi_cluster
acknowledged=$VC/acknowledged
submit() { # NODE N
    python3 "$here/failover_jobs.py" \
        "$(root "$1")/var/run/ganeti/socket/ganeti-query" "$acknowledged" submit "$2"
}
events() { python3 "$here/rapi_events.py" "$@"; }

events follow "$api_address" "$VC/first" 0 0 2>"$VC/first.err" &
follower=$!
until_true 20 test -e "$VC/first"
submit node1 2600 &
submitter=$!
half() { [ -e "$acknowledged" ] && [ "$(wc -l <"$acknowledged")" -ge 1300 ]; }
until_true 60 half
"$BIN/gnt-vcluster" kill "$VC" node1
wait $submitter
wait $follower
is "$?" 0 "a client followed until the master died"
succeeds "another node takes over" on node2 gnt-cluster master-failover
api_address=$("$BIN/gnt-vcluster" list "$VC" --format=json |
    python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["master"]][0])'):5080
api=https://$api_address
succeeds "its remote API begins" on node2 gantry-rapi
submit node2 2600
last=$(tail -1 "$acknowledged" | cut -d' ' -f1)
reached=$(tail -1 "$VC/first" | python3 -c 'import json, sys
print(json.loads(sys.stdin.read())["index"])')
first=$(head -1 "$VC/first" | python3 -c 'import json, sys
print(json.loads(sys.stdin.read())["index"])')
succeeds "the client goes on there" events follow "$api_address" "$VC/second" "$reached" "$last"
succeeds "another one reads all that" events follow "$api_address" "$VC/whole" \
    $((first - 1)) "$last"
events check "$acknowledged" "$VC/whole" "$VC/first" "$VC/second" >"$VC/tap"
while read -r line; do
    case $line in
    "ok "*) tap_point 0 "${line#*- }" ;;
    "not ok "*) tap_point 1 "${line#*- }" ;;
    *) echo "$line" ;;
    esac
done <"$VC/tap"

# --- a master that was not there when it happened ---

succeeds "a daemon that begins anew" "$BIN/gnt-vcluster" kill "$VC" node2 masterd
succeeds "knows nothing of before" "$BIN/gnt-vcluster" start "$VC" node2 masterd
up() { curl -sk "$api/readyz" | grep -q '"ok"'; }
until_true 30 up
out=$(timeout 5 curl -skN "$api/gantry/1/events?since=5")
like "$out" '^event: gap' "and says so"
tap_done
