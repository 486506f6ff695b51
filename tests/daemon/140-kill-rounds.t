#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of the master daemon at random moments under load, on one node and on
# three.  KILL_ROUNDS says how often (make kill-rounds: 10,000), KILL_SEED which
# moments.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it starts the daemons itself, with a root"
rounds=${KILL_ROUNDS:-200}
seed=${KILL_SEED:-$(date +%s)}
here=$(cd "$(dirname "$0")" && pwd)

for nodes in 1 3; do
    cluster_start --nodes "$nodes"
    "$BIN/gnt-vcluster" stop "$VC" node1 masterd
    part=$((nodes == 1 ? rounds * 7 / 10 : rounds - rounds * 7 / 10))
    succeeds "$part kills of the master of $nodes node(s), seed $seed" \
        python3 "$here/kill_rounds.py" "$(root node1)" node1.example.com \
        "$BIN/gantry-masterd" "$part" "$seed"
    note "$out"
    "$BIN/gnt-vcluster" start "$VC" node1 masterd
    succeeds "verify is content" m gnt-cluster verify
    cluster_end
    VC=
done
tap_done
