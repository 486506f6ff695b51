#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Metrics of a node, on an address of their own and only if that is given.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "the node daemon is started with another option"
cluster_start --nodes 2
ip=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if not n["master"]][0])')
at=http://$ip:9716
add web1.example.com -t diskless -B memory=200 -n node2 >/dev/null
fails "nobody may look" curl -s --max-time 5 "$at/metrics"

# again OPTION...: another daemon in place of the one that runs, as soon as that
# has left its port
again() {
    "$BIN/gnt-vcluster" stop "$VC" node2 noded >/dev/null
    until_true 20 on node2 "$BIN/gantry-noded" "$@" 2>/dev/null
}
again --metrics-address="$ip"
tap_point $? "unless an address is given"
m gnt-cluster verify >/dev/null 2>&1
metrics=$(curl -s --max-time 10 "$at/metrics")
for line in 'gantry_node_instances 1' \
    'gantry_instance_memory_mib{instance="web1.example.com"} 200' \
    'gantry_instance_vcpus{instance="web1.example.com"} 1' \
    'gantry_node_calls_running 0' 'gantry_node_consoles_open 0'; do
    printf '%s\n' "$metrics" | grep -qxF "$line"
    tap_point $? "$line"
done
like "$metrics" '^gantry_node_memory_mib [1-9]' "the host has memory"
like "$metrics" '^gantry_node_calls_total\{procedure="node_verify"\} [1-9]' "calls are counted"
like "$metrics" '^gantry_node_calls_seconds_total\{procedure="node_verify"\} [0-9.e-]+$' \
    "and how long they took"
if command -v promtool >/dev/null; then
    printf '%s\n' "$metrics" >"$VC/metrics"
    succeeds "promtool finds nothing" sh -c "promtool check metrics <'$VC/metrics'"
fi
status_of() { # CURL-OPTION...
    curl -s --max-time 10 -o /dev/null -w '%{http_code}' "$@"
}
is "$(status_of "$at/node_info")" 404 "nothing else is there"
is "$(status_of -X DELETE "$at/metrics")" 405 "nor to be done"
is "$(status_of -d '["x"]' "$at/instance_shutdown")" 413 "by anybody"
is "$(status_of -H "X: $(head -c 9000 /dev/zero | tr '\0' x)" "$at/metrics")" 431 \
    "headers have a limit"
again --metrics-address="$ip:9799"
tap_point $? "another port"
is "$(status_of "http://$ip:9799/metrics")" 200 "is taken"
"$BIN/gnt-vcluster" stop "$VC" node2 noded >/dev/null
fails "an address that is none" on node2 "$BIN/gantry-noded" --metrics-address=nowhere
fails "a port that is none" on node2 "$BIN/gantry-noded" --metrics-address="$ip:0"
tap_done
