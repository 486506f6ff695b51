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
m gnt-job cancel --kill --yes-do-it "$delay" >/dev/null 2>&1
logs=$(root node1)/var/log/ganeti
tap_n=$(grep -cE '^(not )?ok ' "$VC/tap")
is "$(cat "$logs"/rapi-*.log | grep -c -a -e hunter2 -e aHVudGVyMg)" 0 \
    "no password is in a log"
is "$(LC_ALL=C grep -c -a '[^ -~]' "$logs/rapi-access.log")" 0 \
    "the access log has nothing but plain characters"
is "$(grep -c ERROR "$logs/rapi-daemon.log")" 0 "the daemon saw no error of its own"
tap_done
