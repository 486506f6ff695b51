#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Node daemons of both kinds on real volumes and mirrors: Debian's (package ganeti
# 3.0.2) under our master, then ours under Ganeti's master, which takes over the same
# cluster.  What is written stays the same, and so do volumes, minors and ports.
VM_PACKAGES=ganeti,python3-cffi-backend # debootstrap knows no virtual packages
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
MIB=32
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }
vm_cluster 3 --memory 640m
lap "three nodes are up"

# ours TOOL..., theirs TOOL...: on the master
ours() { m timeout 3000 "$@"; }
theirs() {
    theirs_tool=$1
    shift
    m timeout 3000 "/usr/sbin/$theirs_tool" "$@"
}
end_of() { # NODE NAME...: of daemons; Ganeti's are scripts, which ends with their name
    end_node=$1
    shift
    for end_name in "$@"; do
        vm "$end_node" "p=\$(cat /run/ganeti/ganeti-$end_name.pid 2>/dev/null /var/run/ganeti/ganeti-$end_name.pid | head -1)
            [ -z \"\$p\" ] || kill \$p 2>/dev/null
            n=0; while [ -n \"\$p\" ] && kill -0 \$p 2>/dev/null && [ \$n -lt 600 ]; do n=\$((n + 1)); sleep 0.1; done"
    done
}
debian_node() { # NODE: Debian's node daemon in the place of ours
    end_of "$1" noded
    vm "$1" 'echo NODED_ARGS=--no-mlock >/etc/default/ganeti; /usr/lib/ganeti/ensure-dirs &&
        /usr/lib/ganeti/daemon-util start ganeti-noded'
}
our_node() { # NODE
    end_of "$1" noded
    vm "$1" gantry-noded
}
exe_of() { vm "$1" 'readlink /proc/$(cat /run/ganeti/ganeti-noded.pid)/exe'; }

quick="-o noop -B memory=32 --no-name-check --no-ip-check --no-nics"
lvs_of() { vm "$1" 'lvs --noheadings -o lv_name,lv_tags xenvg' | awk '{print $1, $2}' | sort; }
# What a mirror is on a node: minor, volumes, port.
mirror_on() { vm "$1" "drbdsetup show | grep -E 'resource|minor|disk.*/dev|_remote_host|address' | tr -s ' \t\n' ' ' | sed 's/address ipv4 [0-9.]*/address/g'"; }
sound_on() { [ "$(vm "$1" cat /proc/drbd | grep -c 'cs:Connected ro:[^ ]* ds:UpToDate/UpToDate')" = 2 ]; }
device() { vm "$1" "readlink -f /var/run/ganeti/instance-disks/$2:${3:-0}" | tail -1; } # NODE INSTANCE [DISK]
sum() { vm_sum "$1" "$(device "$1" "$2")" $MIB; }
sums() { echo "$(sum "$1" d1) $(vm_sum "$1" "$(device "$1" d1 1)" $MIB)"; } # of d1, which has two disks
# Certificates of elliptic curves are weak for Ganeti's node daemon, which counts
# their bits as RSA's, and node2 is no candidate.
errors() { "$1" gnt-cluster verify 2>&1 | grep ERROR | grep -v -i 'ssh\|weak public/private keypair\|rebuild node certificates\|Not enough master candidates'; }

# --- our master, Debian's node daemon on node2 ---

# A candidate gets the log of the cluster, which is nothing that Debian's understands.
succeeds "node2 is no candidate" ours gnt-node modify -C no node2
debian_node 2
like "$(exe_of 2)" python "Debian's node daemon runs on node2"
known() { [ "$(ours gnt-node list --no-headers -o mtotal node2 | grep -c '?')" = 0 ]; }
succeeds "our master knows it" until_true 60 known
succeeds "a mirror between ours and Debian's" ours gnt-instance add $quick -t drbd --disk 0:size=${MIB}m --disk 1:size=${MIB}m -n node1:node2 d1
succeeds "is in sync" until_true 120 sound_on 1
is "$(lvs_of 2)" "$(lvs_of 1)" "both nodes have the same volumes, with the same owner"
is "$(mirror_on 2 | tr -s ' ')" "$(mirror_on 1 | tr -s ' ')" "the same minor and port"
vm_pattern 1 "$(device 1 d1)" $MIB
vm_pattern 1 "$(device 1 d1 1)" $MIB 500
wanted=$(sums 1)
succeeds "it fails over to Debian's" ours gnt-instance failover -f d1
is "$(sums 2)" "$wanted" "with its data"
succeeds "it migrates to ours" ours gnt-instance migrate -f d1
is "$(sums 1)" "$wanted" "with its data"
lap "failover and migration"
succeeds "new storage on Debian's" ours gnt-instance replace-disks -s d1
succeeds "it migrates there" ours gnt-instance migrate -f d1
is "$(sums 2)" "$wanted" "with its data"
succeeds "new storage there, as its primary" ours gnt-instance replace-disks -p d1
is "$(sums 2)" "$wanted" "with its data"
succeeds "its secondary moves from one of ours to the other" ours gnt-instance replace-disks -n node3 d1
is "$(lvs_of 1)" "" "nothing stays behind"
succeeds "it grows" ours gnt-instance grow-disk d1 0 16m
is "$(vm 2 "blockdev --getsize64 $(device 2 d1)")" $(((MIB + 16) * 1048576)) "to its size"
succeeds "it fails over to ours" ours gnt-instance failover -f d1
is "$(sums 3)" "$wanted" "with its data"
lap "new storage"
succeeds "a volume on Debian's" ours gnt-instance add $quick -t plain -s ${MIB}m -n node2 p1
vm_pattern 2 "$(device 2 p1)" $MIB
plain=$(sum 2 p1)
succeeds "grows" ours gnt-instance grow-disk p1 0 16m
succeeds "becomes a mirror with one of ours" ours gnt-instance shutdown p1
succeeds "by a conversion" ours gnt-instance modify -t drbd -n node1 p1
succeeds "and a volume again" ours gnt-instance modify -t plain p1
succeeds "it moves to ours" ours gnt-instance move -f -n node1 p1
succeeds "and back" ours gnt-instance move -f -n node2 p1
succeeds "it starts" ours gnt-instance startup p1
is "$(sum 2 p1)" "$plain" "with its data"
is "$(errors ours)" "" "verify finds nothing wrong"
lap "volumes"

# --- Ganeti's master, our node daemons on node2 and node3 ---

before2=$(lvs_of 2; mirror_on 2)
before3=$(lvs_of 3; mirror_on 3)
drained() { ours gnt-cluster queue drain && [ -z "$(ours gnt-job list --running --no-headers -o id)" ]; }
succeeds "the queue is drained" until_true 60 drained
for n in 1 2 3; do end_of $n masterd; done
debian_node 1
our_node 2
succeeds "Ganeti's master takes the cluster over" vm 1 '/usr/lib/ganeti/daemon-util start-all'
succeeds "and serves it" until_true 120 theirs gnt-cluster queue undrain
like "$(exe_of 2) $(exe_of 3)" 'gantry-noded.*gantry-noded' "over node daemons of ours"
succeeds "it finds the disks" theirs gnt-instance activate-disks d1
is "$(lvs_of 2; mirror_on 2)$(lvs_of 3; mirror_on 3)" "$before2$before3" "which are the same volumes and minors"
is "$(sums 3)" "$wanted" "with the same data"
succeeds "the mirror fails over" theirs gnt-instance failover -f d1
is "$(sums 2)" "$wanted" "with its data"
succeeds "it migrates" theirs gnt-instance migrate -f d1
is "$(sums 3)" "$wanted" "with its data"
succeeds "new storage on the secondary" theirs gnt-instance replace-disks -s d1
succeeds "new storage on the primary" theirs gnt-instance replace-disks -p d1
is "$(sums 3)" "$wanted" "with its data"
succeeds "its secondary moves to Debian's node" theirs gnt-instance replace-disks -n node1 d1
is "$(lvs_of 2 | grep -c 'originstname[+]d1')" 0 "nothing stays behind"
succeeds "it migrates there" theirs gnt-instance migrate -f d1
is "$(sums 1)" "$wanted" "with its data"
lap "Ganeti's master has moved the mirror"
succeeds "a new mirror" theirs gnt-instance add $quick -t drbd -s ${MIB}m -n node2:node1 d2
like "$(vm 2 cat /proc/drbd; lvs_of 2)" 'originstname[+]d2' "has volumes on ours"
vm_pattern 2 "$(device 2 d2)" $MIB
new=$(sum 2 d2)
succeeds "it fails over" theirs gnt-instance failover -f d2
is "$(sum 1 d2)" "$new" "with its data"
succeeds "it grows" theirs gnt-instance grow-disk d2 0 16m
succeeds "the volume grows" theirs gnt-instance grow-disk p1 0 16m
is "$(sum 2 p1)" "$plain" "with its data"
is "$(errors theirs)" "" "Ganeti's verify finds nothing wrong"
for name in d1 d2 p1; do
    succeeds "$name goes" theirs gnt-instance remove -f --shutdown-timeout 0 $name
done
is "$(for n in 1 2 3; do lvs_of $n; vm $n 'tail -n +3 /proc/drbd'; done)" "" "no volume and no minor is left"
lap "the end"
tap_done
