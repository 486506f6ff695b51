#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# adds.sh BIN [NODES [INSTANCES]]: how long an instance add takes, with hail and
# with a node that is named, on so many real node daemons (VCLUSTER_NODES_MAX at
# most) with so many instances that do not run.  The difference is the share of
# the allocation.
set -eu
BIN=$(cd "$1" && pwd)
nodes=${2:-20} instances=${3:-200}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/gbench.XXXXXX)
vc=$work/vc
trap '"$BIN/gnt-vcluster" destroy "$vc" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

"$BIN/gnt-vcluster" create "$vc" --nodes "$nodes" >/dev/null
export GANETI_ROOTDIR="$vc/node1.example.com" GANETI_HOSTNAME=node1.example.com
add() { # NAME OPTION...
    name=$1
    shift
    "$BIN/gnt-instance" add --no-name-check --no-ip-check -o noop \
        -t sharedfile -s 4m -B memory=64 --no-start "$@" "$name" >/dev/null
}
now() {
    date +%s.%N
}
timed() { # WORD NAME OPTION...
    word=$1
    shift
    begin=$(now)
    add "$@"
    echo "$word $(now) $begin" | awk '{printf "%s %.3f\n", $1, $2 - $3}'
}

add base -n node1
"$BIN/gnt-vcluster" stop "$vc" node1 masterd >/dev/null
python3 "$here/many_instances.py" "$vc" base "$instances" >/dev/null
"$BIN/gnt-vcluster" start "$vc" node1 masterd >/dev/null
# The first ones wait for what a new master does on all nodes.
for i in 0 1 2 3 4 5; do
    timed hail "hail$i" -I hail
    timed named "named$i" -n node1
done | tail -n 10 >"$work/times"
for word in hail named; do
    grep "^$word" "$work/times" | sort -n -k 2 | awk -v n="$nodes" \
        -v i="$instances" '{t[NR] = $2} END {
        printf "an add, %d nodes, %d instances, %s: median %.3f s, %.3f to %.3f\n",
            n, i, $1, t[int((NR + 1) / 2)], t[1], t[NR]}'
done
