#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# rapi.sh BIN [INSTANCES...]: the remote API beside Debian's ganeti-rapi, if that
# is installed, at the same master (rapi.py).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIN=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 1000 10000
work=$(mktemp -d /tmp/gbench.XXXXXX)
vc=$work/vc
peer=
stop_peer() {
    [ -z "$peer" ] || kill "$peer" 2>/dev/null || true
    [ -z "$peer" ] || wait "$peer" 2>/dev/null || true
    peer=
}
trap 'stop_peer; "$BIN/gnt-vcluster" destroy "$vc" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# Theirs has a pid file and logs of its own, and all else of our master's node.
start_peer() { # PORT
    theirs=/usr/share/ganeti/3.0
    [ -f "$theirs/ganeti/server/rapi.py" ] || return 0
    twin=$work/theirs/node1.example.com
    rm -rf "$twin"
    mkdir -p "$twin/var/run/ganeti" "$twin/var/log/ganeti" "$twin/var/lib"
    ln -s "$root/var/lib/ganeti" "$twin/var/lib/ganeti"
    ln -s "$root/var/run/ganeti/socket" "$twin/var/run/ganeti/socket"
    GANETI_ROOTDIR=$twin GANETI_HOSTNAME=node1.example.com /usr/bin/python3 -c '
import sys
sys.path.insert(0, sys.argv.pop(1))
from ganeti import daemon
daemon._VerifyDaemonUser = lambda name: (True, 0, 0)
from ganeti.server import rapi
sys.exit(rapi.Main())' "$theirs" -f -b "$address" -p "$1" >"$work/peer.log" 2>&1 &
    peer=$!
    tries=0
    until curl -sk "https://$address:$1/version" >/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 0
        sleep 0.1
    done
}

for instances in "$@"; do
    "$BIN/gnt-vcluster" create "$vc" --nodes 3 --rapi --user rw:secret >"$work/out"
    grep 'is ready in' "$work/out"
    address=$(sed -n 's,^The remote API is at https://\(.*\):.*,\1,p' "$work/out")
    root=$vc/node1.example.com
    export GANETI_ROOTDIR="$root" GANETI_HOSTNAME=node1.example.com
    "$BIN/gnt-instance" add --no-name-check --no-ip-check -o noop -t sharedfile \
        -s 4m -n node2 -B memory=64 bench >/dev/null
    "$BIN/gnt-vcluster" stop "$vc" node1 masterd
    python3 "$here/many_instances.py" "$vc" bench "$instances"
    "$BIN/gnt-vcluster" start "$vc" node1 masterd
    start_peer 5081
    echo "$instances instances on 3 nodes"
    python3 "$here/rapi.py" "$instances" "$address:5080" \
        "$(cat "$root/var/run/ganeti/ganeti-rapi.pid")" \
        "$(cat "$root/var/run/ganeti/ganeti-masterd.pid")" \
        "$root/var/run/ganeti/socket/ganeti-query" ${peer:+"$address:5081" "$peer"}
    stop_peer
    "$BIN/gnt-vcluster" destroy "$vc"
done
