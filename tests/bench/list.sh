#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# list.sh BIN [INSTANCES [NODES]]: how long it takes to list many instances, and
# how long snapshots of the log delay others with them and 20,000 jobs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIN=$(cd "$1" && pwd)
instances=${2:-10000} nodes=${3:-3}
work=$(mktemp -d /tmp/gbench.XXXXXX)
vc=$work/vc
trap '"$BIN/gnt-vcluster" destroy "$vc" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

"$BIN/gnt-vcluster" create "$vc" --nodes "$nodes" >/dev/null
root=$vc/node1.example.com
export GANETI_ROOTDIR="$root" GANETI_HOSTNAME=node1.example.com
"$BIN/gnt-instance" add --no-name-check --no-ip-check -o noop -t sharedfile \
    -s 4m -n node2 -B memory=64 bench >/dev/null
"$BIN/gnt-vcluster" stop "$vc" node1 masterd
python3 "$here/many_instances.py" "$vc" bench "$instances"
"$BIN/gnt-vcluster" start "$vc" node1 masterd
echo "$("$BIN/gnt-instance" list --no-headers -o name | wc -l) instances on $nodes nodes"
python3 "$here/list.py" "$root/var/run/ganeti/socket/ganeti-query" \
    "$BIN/gnt-instance"
python3 "$here/snapshots.py" "$root/var/run/ganeti/socket/ganeti-query" \
    "$root/var/lib/ganeti/consensus"
