#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A volume group that loses a physical volume is repaired by the watcher, where the
# cluster allows it, once.  LVM is a stand-in on each node.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "nodes have stand-ins for LVM"
cluster_start --nodes 2

# vgs says what the file has; vgreduce makes the group whole.
for node in node1 node2; do
    bin=$(root $node)/usr/sbin
    mkdir -p "$bin"
    printf '#!/bin/sh\ncat %s/vgs.out\n' "$bin" >"$bin/vgs"
    printf '#!/bin/sh\necho %s\n' "'{\"report\":[{\"lv\":[]}]}'" >"$bin/lvs"
    printf '#!/bin/sh\necho "$@" >>%s/did\nsed -i s/wz-pn-/wz--n-/ %s/vgs.out\n' "$bin" "$bin" >"$bin/vgreduce"
    chmod +x "$bin"/vgs "$bin"/lvs "$bin"/vgreduce
done
group() { # NODE ATTRIBUTES
    echo '{"report":[{"vg":[{"vg_name":"xenvg","vg_size":"34359738368","vg_free":"34359738368","vg_attr":"'"$2"'"}]}]}' \
        >"$(root "$1")/usr/sbin/vgs.out"
}
did() { cat "$(root node2)/usr/sbin/did" 2>/dev/null; }
status() { m gnt-cluster watcher status; }

group node1 wz--n-
group node2 wz-pn-
succeeds "a cluster with volumes" m gnt-cluster modify --vg-name=xenvg --enabled-disk-templates=plain,file,sharedfile,diskless
m gantry-watcher
is "$(did)" "" "the watcher repairs nothing by itself"
succeeds "where it may" m gnt-cluster modify --auto-repair-volumes=yes
like "$(m gnt-cluster info)" "auto repair volumes: True" "which the cluster says"
m gantry-watcher
m gantry-watcher
is "$(did)" "" "what was broken before is left alone"
like "$(status)" "node2.example.com misses physical volumes" "and told"
group node2 wz--n-
m gantry-watcher
group node2 wz-pn-
m gantry-watcher
like "$(status)" "repairs volumes and mirrors" "what breaks is repaired"
until_true 30 test -s "$(root node2)/usr/sbin/did"
is "$(did)" "--removemissing xenvg" "by a job"
like "$(cat "$(root node1)"/var/log/ganeti/*.log)" 'storage-repair node=node2.example.com lost=.*xenvg' "with a line for monitoring"
# A job that has waited for a node since the run before.
queued() { m gnt-job list --no-headers -o status,summary | grep -Ec "^(queued|waiting|running) .*$1"; }
delays() { [ "$(queued TEST_DELAY)" = 1 ]; }
m gnt-debug delay -n node2.example.com --no-master --submit 10 >/dev/null
until_true 30 delays
m gnt-cluster repair-volumes >/dev/null &
first=$!
waits() { [ "$(queued REPAIR_VOLUMES)" = 1 ]; }
until_true 30 waits
succeeds "while one waits for a node" m gantry-watcher
is "$(queued REPAIR_VOLUMES)" 1 "there is no second one"
like "$(status)" "not looked at: job [0-9]+ does so" "as is told"
wait "$first"
group node1 wz-pn-
group node2 wz-pn-
succeeds "of two broken nodes" m gnt-cluster repair-volumes
is "$(did)" "--removemissing xenvg" "none is repaired"
group node1 wz--n-
succeeds "one of them alone" m gnt-cluster repair-volumes
is "$(did | wc -l)" 2 "is, by the command"
tap_done
