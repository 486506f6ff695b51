#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# How fast disks are copied: gnt-instance move, gnt-backup export and the wiping of a
# new disk, beside dd and socat (with TLS, as between nodes) on the same data in the
# same run. Each is done ROUNDS times, in turns, and the best counts, as the machine
# may be busy. Says by how many per cent of the best of the two others it is as fast.
#   BIN=build/bin tests/bench/copies.sh [MIB]
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
mib=${1:-512}
ROUNDS=${ROUNDS:-3}
cluster_start --nodes 2 >/dev/null
data=$VC/data

now() { date +%s%N; }
timed() { # NAME COMMAND...: the best time of each name, in ns
    name=$1
    shift
    begin=$(now)
    "$@" >"$VC/out" 2>&1 || { cat "$VC/out"; exit 1; }
    took=$(($(now) - begin))
    best=$(cat "$VC/best.$name" 2>/dev/null || echo $took)
    [ "$took" -gt "$best" ] || echo $took >"$VC/best.$name"
}
speed() { echo $((mib * 1000000000 / $(cat "$VC/best.$1"))); }

dd if=/dev/urandom of="$data" bs=1M count="$mib" 2>/dev/null
m gnt-cluster modify --enabled-disk-templates=file,sharedfile,diskless \
    --ipolicy-disk-templates=file,sharedfile,diskless --ipolicy-bounds-specs \
    min:disk-size=1,max:disk-size=100000 >/dev/null 2>&1
m gnt-instance add --no-name-check --no-ip-check -t file -s "${mib}m" -n node1 --no-start \
    -o noop web1 >"$VC/out" 2>&1 || cat "$VC/out"
disk() { echo "$(root "$1")/srv/ganeti/file-storage/web1/"*.disk0; }
dd if="$data" of="$(disk node1)" bs=1M conv=notrunc 2>/dev/null
for node in node1 node2; do # disks are copied as they are
    rm -f "$(root $node)/usr/share/ganeti/os/noop/export" "$(root $node)/usr/share/ganeti/os/noop/import"
done
pem=$(root node1)/var/lib/ganeti/server.pem

with_dd() { dd if="$1" of="$VC/copy" bs=1M conv=fsync; }
with_socat() {
    rm -f "$VC/copy"
    socat -b 262144 -u OPENSSL-LISTEN:17391,reuseaddr,bind=127.0.0.1,cert="$pem",verify=0 \
        OPEN:"$VC/copy",creat &
    listener=$!
    until socat -b 262144 -u OPEN:"$1" OPENSSL:127.0.0.1:17391,verify=0 2>/dev/null; do
        kill -0 $listener || return 1
    done
    wait $listener
    sync "$VC/copy"
}
zeros_with_dd() { dd if=/dev/zero of="$VC/copy" bs=1M count="$mib" conv=fsync; }
here=node1 there=node2
sync
for _ in $(seq "$ROUNDS"); do
    timed dd with_dd "$(disk $here)"
    timed socat with_socat "$(disk $here)"
    rm -f "$VC/copy"
    timed export m gnt-backup export -n $there web1
    cmp "$data" "$(root $there)/var/lib/ganeti/export/web1/"*[0-9a-f]-[0-9a-f]* || exit 1
    m gnt-backup remove web1 >/dev/null
    timed move m gnt-instance move -f -n $there web1
    cmp "$data" "$(disk $there)" || exit 1
    old=$here here=$there there=$old
    timed zeros zeros_with_dd
    rm -f "$VC/copy"
done
m gnt-cluster modify --prealloc-wipe-disks=yes >/dev/null
timed wipe m gnt-instance add --no-name-check --no-ip-check -t file -s "${mib}m" -n node1 \
    --no-start --no-install -o noop web2
for name in dd socat zeros move export wipe; do
    echo "$name: $(speed $name) MiB/s"
done
least=$(speed dd)
[ "$(speed socat)" -ge "$least" ] || least=$(speed socat)
for name in move export; do
    echo "$name: $(($(speed $name) * 100 / least)) % of the slower of dd and socat"
done
echo "wipe: $(($(speed wipe) * 100 / $(speed zeros))) % of dd"
