#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API and those who mean no good: each gets a clear status or nothing,
# others are served meanwhile, and the memory stays as it was
# (rapi_hostile.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
python3 "$(dirname "$0")/rapi_hostile.py" "$api_address" \
    "$(cat "$(root node1)/var/run/ganeti/ganeti-rapi.pid")" >"$VC/tap"
cat "$VC/tap"
logs=$(root node1)/var/log/ganeti
tap_n=$(grep -cE '^(not )?ok ' "$VC/tap")
is "$(cat "$logs"/rapi-*.log | grep -c -a -e hunter2 -e aHVudGVyMg)" 0 \
    "no password is in a log"
is "$(LC_ALL=C grep -c -a '[^ -~]' "$logs/rapi-access.log")" 0 \
    "the access log has nothing but plain characters"
is "$(grep -c ERROR "$logs/rapi-daemon.log")" 0 "the daemon saw no error of its own"
tap_done
