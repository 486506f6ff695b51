#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BIN: the figures that README and the issues speak of, measured on this
# machine now.  Nothing here fails on a slow machine; it prints.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIN=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/gbench.XXXXXX)
# The files of a cluster that has been measured stay until the end: before ext4 makes
# a file it looks at each inode that was freed in the last half minute.
trap 'for vc in "$work"/vc*; do
    "$BIN/gnt-vcluster" destroy "$vc" >/dev/null 2>&1 || true
done
rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

rss() { # NODE DAEMON
    pid=$(cat "$vc/$1.example.com/var/run/ganeti/ganeti-$2.pid")
    awk '/^VmRSS/ {printf "%.1f MiB", $2 / 1024}' "/proc/$pid/status"
}

echo "== history of 100,000 archived jobs"
"$BIN/../queue/bench_history" "$work/history.db" 100000

for nodes in 1 3; do
    echo "== cluster of $nodes node(s)"
    vc=$work/vc$nodes
    "$BIN/gnt-vcluster" create "$vc" --nodes "$nodes"
    root=$vc/node1.example.com
    export GANETI_ROOTDIR="$root" GANETI_HOSTNAME=node1.example.com
    echo "resident at start: masterd $(rss node1 masterd), noded $(rss node1 noded)"
    python3 "$here/load.py" "$root/var/run/ganeti/socket/ganeti-query" \
        "$BIN/gnt-instance"
    echo "resident with $("$BIN/gnt-job" list --no-headers -o id | wc -l) live" \
        "jobs: masterd $(rss node1 masterd), noded $(rss node1 noded)"
    python3 "$here/polled.py" "$root/var/run/ganeti/socket/ganeti-query"
    if [ "$nodes" = 1 ]; then
        python3 "$here/nasty.py" "$root/var/run/ganeti/socket/ganeti-query"
    fi
    "$BIN/gnt-vcluster" stop "$vc" node1 masterd
    begin=$(date +%s%N)
    "$BIN/gnt-vcluster" start "$vc" node1 masterd
    "$BIN/gnt-cluster" getmaster >/dev/null
    echo "restart with them: $((($(date +%s%N) - begin) / 1000000)) ms," \
        "masterd $(rss node1 masterd)"
    python3 "$here/load.py" "$root/var/run/ganeti/socket/ganeti-query" \
        --waiters "$(cat "$root/var/run/ganeti/ganeti-masterd.pid")"
    "$BIN/gnt-vcluster" stop "$vc"
done

echo "== lists"
sh "$here/list.sh" "$BIN"

echo "== parallel adds"
sh "$here/parallel_adds.sh" "$BIN"

echo "== the remote API"
sh "$here/rapi.sh" "$BIN"
