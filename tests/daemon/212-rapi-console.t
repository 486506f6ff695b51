#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The console of an instance as a websocket: tickets, what is typed and what
# comes back, nonsense, and those who go (rapi_console.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
add c1.example.com -t diskless -n node2.example.com >/dev/null
add c2.example.com -t diskless -n node2.example.com --no-start >/dev/null
answers "an instance that does not run" 503 POST \
    /gantry/1/instances/c2.example.com/console
answers "a console that nobody serves" 200 POST \
    /gantry/1/instances/c1/console '{"kind": "vnc"}'
like "$out" '"path": "/gantry/1/instances/c1.example.com/console/ws\?ticket=' \
    "has the full name in its path"
path=$(printf '%s' "$out" | sed 's/.*"path": "\([^"]*\)".*/\1/')
answers "is told when it is opened" 500 GET "$path" "" -H 'Connection: Upgrade' \
    -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
    -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
like "$out" 'Cannot connect to the console' "in words"

# browser ADDRESS [short]: points of rapi_console.py, with numbers that go on
browser() {
    browser_at=$1
    shift
    python3 "$(dirname "$0")/rapi_console.py" "$browser_at" \
        "$(root node2)/var/run/ganeti/fake-consoles/c1.example.com.serial" \
        c1.example.com "$@" >"$VC/tap"
    while read -r point; do
        case $point in
        "ok "*) tap_point 0 "${point#* - }" ;;
        "not ok "*) tap_point 1 "${point#* - }" ;;
        *) echo "$point" ;;
        esac
    done <"$VC/tap"
}
browser "$api_address"

# --- by a candidate, which sends all of it on to the master ---

succeeds "the remote API of a candidate" on node3 "$BIN/gantry-rapi"
candidate=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["name"].startswith("node3")][0])'):5080
browser "$candidate" short
is "$(grep -c ERROR "$(root node3)/var/log/ganeti/rapi-daemon.log")" 0 \
    "that daemon saw no error either"

# --- the daemon and the secrets ---

logs=$(root node1)/var/log/ganeti
is "$(grep -c 'ticket=' "$logs/rapi-access.log")" 0 "no ticket is in a log"
like "$(cat "$logs/rapi-access.log")" 'console/ws HTTP/1.1" 101 ' "but who came is"
is "$(grep -c ERROR "$logs/rapi-daemon.log")" 0 "the daemon saw no error of its own"
"$BIN/gnt-vcluster" stop "$VC" node1 rapi
GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" --require-authentication
answers "where everybody needs a password" 401 POST \
    /gantry/1/instances/c1/console '' -u nobody:x
answers "as here" 200 POST /gantry/1/instances/c1/console '{"kind": "vnc"}'
path=$(printf '%s' "$out" | sed 's/.*"path": "\([^"]*\)".*/\1/')
upgrade() { # PATH: the status of a websocket without a password
    curl -sk --max-time 30 -o "$VC/answer" -w '%{http_code}' -H 'Connection: Upgrade' \
        -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
        -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' "$api$1"
}
is "$(upgrade "$path")" 500 "a ticket is enough"
is "$(upgrade "$path")" 401 "once"
tap_done
