#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Clients of the remote API that follow what changes (rapi_events.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
n1=$(root node1)
python3 "$(dirname "$0")/rapi_events.py" "$api_address" \
    "$(cat "$n1/var/run/ganeti/ganeti-rapi.pid")" \
    "$n1/var/run/ganeti/socket/ganeti-query" "$n1/var/lib/ganeti/rapi/users" >"$VC/tap"
cat "$VC/tap"
tap_n=$(grep -cE '^(not )?ok ' "$VC/tap")
is "$(grep -c ERROR "$n1/var/log/ganeti/rapi-daemon.log")" 0 "the daemon saw no error of its own"

# --- who reads too slowly ---

"$BIN/gnt-vcluster" stop "$VC" node1 rapi
GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" --limit=events=300
python3 "$(dirname "$0")/rapi_events.py" slow "$api_address" \
    "$n1/var/run/ganeti/socket/ganeti-query" >"$VC/tap"
while read -r point; do
    case $point in
    "ok "*) tap_point 0 "${point#* - }" ;;
    "not ok "*) tap_point 1 "${point#* - }" ;;
    *) echo "$point" ;;
    esac
done <"$VC/tap"

# --- reads that wait ---

index() {
    curl -sk -o /dev/null -D - "$api/2/info" | tr -d '\r' |
        sed -n 's/^X-Gantry-Index: //p'
}
now=$(index)
like "$now" '^[0-9]+$' "an answer says of which event it is"
begin=$(date +%s)
answers "who waits for something newer" 200 GET "/2/tags?index=$now&wait=1"
[ $(($(date +%s) - begin)) -ge 1 ]
tap_point $? "waits so long at most"
(curl -sk --max-time 30 "$api/2/tags?index=$now&wait=25" >"$VC/newer"; echo $? >"$VC/newer.rc") &
answers "a change" 200 PUT "/2/tags?tag=newer"
until_true 20 test -s "$VC/newer.rc"
wait
like "$(cat "$VC/newer")" '\[.*\]' "ends the wait"
[ $(($(date +%s) - begin)) -lt 20 ]
tap_point $? "at once"
answers "who knows an old index does not wait" 200 GET "/2/tags?index=1&wait=25"
answers "an index that is none" 400 GET "/2/tags?index=x"
answers "nor a negative one" 400 GET "/2/tags?index=-1"
answers "a wait that is none" 400 GET "/2/tags?index=1&wait=x"

# --- the end of the daemon ---

curl -skN --max-time 60 "$api/gantry/1/events" >"$VC/last" &
until_true 10 grep -q bookmark "$VC/last"
rapi=$(cat "$n1/var/run/ganeti/ganeti-rapi.pid")
kill "$rapi"
gone() { ! alive "$rapi"; }
until_true 20 gone
wait
like "$(tail -1 "$n1/var/log/ganeti/rapi-daemon.log")" 'ended with status 0' \
    "it ends in order while somebody follows"
tap_done
