#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API and those who mean no good: each gets a clear status or nothing,
# others are served meanwhile, and the memory stays as it was
# (rapi_hostile.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
delay=$(m gnt-debug delay --submit --print-jobid 60 2>/dev/null | head -1)
is_running() { [ "$(job_status "$delay")" = running ]; }
until_true 10 is_running
python3 "$(dirname "$0")/rapi_hostile.py" "$api_address" \
    "$(cat "$(root node1)/var/run/ganeti/ganeti-rapi.pid")" "$delay" >"$VC/tap"
cat "$VC/tap"
tap_n=$(grep -cE '^(not )?ok ' "$VC/tap")
here=$(dirname "$0")
logs=$(root node1)/var/log/ganeti

# in_log NAME TEXT: there is such a line in the access log
in_log() {
    grep -aqF "$2" "$logs/rapi-access.log"
    tap_point $? "$1"
}

in_log "what is refused is in the access log" '"GET /2/nohost HTTP/1.1" 400 '
in_log "also what the library refuses" '"- /2/nocolon -" 400 0'
in_log "without what may be a ticket" '"- /2/huge -" 413 0'
in_log "and a line that is no request's" '"- - -" 505 0'
like "$(cat "$logs/rapi-daemon.log")" 'refused a request of 127\.' \
    "the daemon's log tells of some of them"
like "$(cat "$logs/rapi-daemon.log")" 'connections ended without a request' \
    "and of who asks for nothing"

# more SCRIPT: what it prints, with numbers that go on
more() {
    python3 "$here/$1" "$api_address" \
        "$(cat "$(root node1)/var/run/ganeti/ganeti-rapi.pid")" "$delay" \
        "$(cat "$(root node1)/var/run/ganeti/ganeti-masterd.pid")" >"$VC/more"
    tap_point $? "$1 comes to its end"
    while read -r point; do
        case $point in
        "ok "*) tap_point 0 "${point#* - }" ;;
        "not ok "*) tap_point 1 "${point#* - }" ;;
        *) echo "$point" ;;
        esac
    done <"$VC/more"
}

# again OPTION...: another daemon in place of the one that runs
again() {
    "$BIN/gnt-vcluster" stop "$VC" node1 rapi
    GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" "$@"
}

# --- small limits, and those who take their time ---

m gnt-job cancel --kill --yes-do-it "$delay" >/dev/null 2>&1
delay=$(m gnt-debug delay --submit --print-jobid 120 2>/dev/null | head -1)
until_true 10 is_running
again --limit=handshake=2 --limit=idle=2 --limit=answer=3 --limit=clients=50 \
    --limit=header=1K --limit=target=512 --limit=body=2K --limit=lists=2
more rapi_limits.py
in_log "headers that never end are in the access log" '"- /2/info -" 408 0'
in_log "and a body that does not" '"PUT /2/tags HTTP/1.1" 408 0'
fails "a limit that is none" on node1 "$BIN/gantry-rapi" --limit=body=0
fails "or has no name" on node1 "$BIN/gantry-rapi" --limit=5

# --- the master goes, while somebody waits for it and before ---

again
m gnt-job cancel --kill --yes-do-it "$delay" >/dev/null 2>&1
delay=$(m gnt-debug delay --submit --print-jobid 60 2>/dev/null | head -1)
until_true 10 is_running
curl -sk --max-time 60 -u rw:secret -o "$VC/waited" -w '%{http_code}' \
    -X GET -H 'Content-Type: application/json' --data \
    '{"fields": ["status"], "previous_job_info": ["running"], "previous_log_serial": 1000000}' \
    "$api/2/jobs/$delay/wait" >"$VC/status" &
waiting=$!
curl -sk --max-time 60 -u rw:secret -o "$VC/waited2" -w '%{http_code}' -X PUT \
    -H 'Prefer: wait=60' "$api/2/instances/nosuch/shutdown" >/dev/null
curl -sk --max-time 60 -u rw:secret -o "$VC/waited2" -w '%{http_code}' -X PUT \
    -H 'Prefer: wait=60' "$api/2/tags?tag=x" >"$VC/status2" &
waiting2=$!
is_waiting() {
    [ "$(curl -sk "$api/metrics" | sed -n 's/^gantry_rapi_requests_running //p')" -ge 2 ]
}
until_true 10 is_waiting
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
wait "$waiting" "$waiting2"
is "$(cat "$VC/status")" 502 "who waits for a job hears that the master has gone"
like "$(cat "$VC/status2")" '^(502|200)$' "also for one of his own"
more rapi_gone.py
"$BIN/gnt-vcluster" start "$VC" node1 masterd
answers "and when it is back all is well" 200 GET /2/nodes
m gnt-job cancel --kill --yes-do-it "$delay" >/dev/null 2>&1
is "$(cat "$logs"/rapi-*.log | grep -c -a -e hunter2 -e aHVudGVyMg)" 0 \
    "no password is in a log"
is "$(LC_ALL=C grep -c -a '[^ -~]' "$logs/rapi-access.log")" 0 \
    "the access log has nothing but plain characters"
is "$(grep -c ERROR "$logs/rapi-daemon.log")" 0 "the daemon saw no error of its own"
tap_done
