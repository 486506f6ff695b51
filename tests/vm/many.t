#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-many: clusters of very many nodes.  MANY processes (1,000), which are
# listed and verified; and MANY_HOSTS containers (100), where a command takes the
# time of the slowest, not the sum.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it makes its clusters itself"
vc="$BIN/gnt-vcluster"
many=${MANY:-1000}
hosts=${MANY_HOSTS:-100}
took() { # NAME COMMAND...: how long, in whole seconds, is $seconds
    took_name=$1
    shift
    took_begun=$(date +%s)
    succeeds "$took_name" "$@"
    seconds=$(($(date +%s) - took_begun))
    note "$seconds s"
}

VC=$(mktemp -d /tmp/gvc.XXXXXX)
took "$many nodes that are processes" "$vc" create "$VC" --nodes "$many"
is "$(m gnt-node list --no-headers -o name | wc -l)" "$many" "are in the cluster"
is "$("$vc" list "$VC" | grep -c ' up ')" "$many" "and run"
note "$(cat "$VC"/node*/var/run/ganeti/ganeti-noded.pid | while read -r pid; do
    awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null
done | awk '{ s += $1 } END { printf "%d KiB of memory a node daemon", s / NR }')"
took "verify" m gnt-cluster verify
took "destroy" "$vc" destroy "$VC"
VC=

[ "$(id -u)" = 0 ] || { tap_done; exit 0; }
KIND=container
VC=$(mktemp -d /tmp/gvc.XXXXXX)
took "$hosts nodes that are containers" "$vc" create "$VC" --kind container --nodes "$hosts"
took "a command of two seconds on all of them" m gnt-cluster command 'sleep 2; hostname'
is "$(echo "$out" | grep -cE '^node[0-9]+[.]example[.]com$')" "$hosts" "runs on each"
is "$([ "$seconds" -lt $((2 * hosts)) ] && echo less)" less "in less time than one after the other"
took "destroy" "$vc" destroy "$VC"
VC=
tap_done
