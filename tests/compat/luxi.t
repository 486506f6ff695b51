#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What LUXI of Ganeti answers: the recorded exchanges and the inventory, asked
# of our master (test_luxi.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
for i in 1 2 3; do
    add "inst$i" -t sharedfile -s 4m -n "node$i" -B memory=64 >/dev/null
done
m gnt-instance add-tags inst2 blue >/dev/null
m gnt-instance shutdown inst3 >/dev/null
m gnt-network add --network=192.0.2.0/28 net1 >/dev/null
m gnt-network connect --nic-parameters mode=bridged,link=br0 net1 >/dev/null
m gnt-filter add --action=REJECT \
    '--predicates=[["opcode", ["=", "OP_ID", "OP_NONE_SUCH"]]]' >/dev/null
m gnt-job archive 1 2 3 >/dev/null
socket=$(root node1)/var/run/ganeti/socket/ganeti-query
test=$(dirname "$0")/test_luxi.py
python3 "$test" "$socket" >"$VC/tap"
rc=$?
sed '/^1\.\./d' "$VC/tap"
tap_n=$(grep -cE '^(not )?ok ' "$VC/tap")

# Debian's own luxid on the same configuration and jobs.
if [ -x /usr/sbin/ganeti-luxid ] && [ "$(id -u)" = 0 ]; then
    python3 "$test" "$socket" --dump "$VC/ours"
    "$BIN/gnt-vcluster" stop "$VC" node1 masterd
    mkdir -p "$(root node1)/var/run/ganeti/livelocks"
    GANETI_ROOTDIR=$(root node1) GANETI_HOSTNAME=node1.example.com \
        /usr/sbin/ganeti-luxid -f --no-user-checks --no-voting --yes-do-it \
        >"$VC/luxid" 2>&1 &
    luxid=$!
    if until_true 20 python3 "$test" "$socket" --dump "$VC/theirs"; then
        python3 "$test" "$socket" --same "$VC/ours" >"$VC/tap" || rc=1
        awk -v n="$tap_n" '/^(not )?ok /{sub(/ok [0-9]+/, "ok " ++n)} 1' "$VC/tap"
        tap_n=$((tap_n + $(grep -cE '^(not )?ok ' "$VC/tap")))
    else
        tap_point 1 "upstream's luxid starts on our configuration" || rc=1
        note "$(tail -1 "$VC/luxid")"
    fi
    kill "$luxid"
    wait "$luxid"
else
    note "upstream's luxid is not here"
fi
tap_done
exit $rc
