#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 and SIGSTOP of the master under load, while candidates are changed, and a
# failover each time.  FAILOVER_ROUNDS says how often (make failover-rounds: 200;
# else 2),
# FAILOVER_SEED which moments, FAILOVER_KEEP where the cluster's folder is copied to
# when a round fails.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it stops the daemons itself"
rounds=${FAILOVER_ROUNDS:-2}
seed=${FAILOVER_SEED:-$(date +%s)}
cluster_start --nodes 5
m gnt-cluster modify --candidate-pool-size=3 >/dev/null
for node in node4 node5; do
    m gnt-node modify --master-candidate=no "$node.example.com" >/dev/null
done
succeeds "$rounds rounds, seed $seed" \
    python3 "$(dirname "$0")/failover_rounds.py" "$BIN/gnt-vcluster" "$VC" "$rounds" "$seed"
note "$out"
tap_done
