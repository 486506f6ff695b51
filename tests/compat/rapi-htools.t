#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Planners that read the cluster from the remote API, ours and Debian's.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
for i in 1 2 3 4 5; do
    add "inst$i.example.com" -t sharedfile -s 8m -n node1.example.com >/dev/null
done
m gnt-instance add-tags inst2.example.com htools:iextags:x >/dev/null

for folder in "$BIN" /usr/bin; do
    if [ ! -x "$folder/hbal" ]; then
        note "no hbal in $folder"
        continue
    fi
    succeeds "$folder/hbal -m plans" "$folder/hbal" -m "$api"
    like "$out" '^Loaded 3 nodes, 5 instances' "for all that there is"
    like "$out" '^ +1\. .* node1 +=> node[23] ' "moves away from the full node"
    succeeds "$folder/hspace -m counts" "$folder/hspace" -m "$api"
    like "$out" 'cluster has 3 nodes' "all nodes"
    succeeds "$folder/hinfo -m shows" "$folder/hinfo" -m "$api"
done
tap_done
