#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# parallel_adds.sh BIN [NODES [ADDS]]: how long many creations with an
# allocator take at once, in relation to one alone.  The OS script sleeps 2 s.
set -eu
BIN=$(cd "$1" && pwd)
nodes=${2:-20} adds=${3:-50}
work=$(mktemp -d /tmp/gbench.XXXXXX)
vc=$work/vc
trap '"$BIN/gnt-vcluster" destroy "$vc" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

"$BIN/gnt-vcluster" create "$vc" --nodes "$nodes" >/dev/null
for root in "$vc"/node*; do
    [ -d "$root/srv/ganeti" ] || continue
    os=$root/srv/ganeti/os/sleepy
    mkdir -p "$os"
    cp "$root"/usr/share/ganeti/os/noop/* "$os/"
    printf '#!/bin/sh\nexec sleep 2\n' >"$os/create"
done
export GANETI_ROOTDIR="$vc/node1.example.com" GANETI_HOSTNAME=node1.example.com
"$BIN/gnt-cluster" modify --max-running-jobs=64 >/dev/null

add() { # NAME
    "$BIN/gnt-instance" add --no-name-check --no-ip-check -o sleepy \
        -t sharedfile -s 4m -I hail -B memory=64 "$1" >/dev/null
}
now() {
    date +%s.%N
}

begin=$(now)
add alone
one=$(echo "$(now) $begin" | awk '{print $1 - $2}')
pids=
begin=$(now)
for i in $(seq "$adds"); do
    add "web$i" &
    pids="$pids $!"
done
"$BIN/gnt-node" remove "node$((nodes / 2))" >"$work/removal" 2>&1 || true
failed=0
for pid in $pids; do
    wait "$pid" || failed=$((failed + 1))
done
many=$(echo "$(now) $begin" | awk '{print $1 - $2}')
echo "$one $many" | awk -v n="$adds" -v f="$failed" -v nodes="$nodes" '{
    printf "one add on %d nodes: %.2f s; %d at once: %.2f s (%.2f times as long), %d failed\n",
        nodes, $1, n, $2, $2 / $1, f}'
