#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances on storage that nodes of a virtual cluster have not: all is checked and
# planned as for any other, and the node says no.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "they have the kernel of this machine, which may lack DRBD"
cluster_start --nodes 3

all=sharedfile,file,diskless,plain,drbd,rbd,ext,blockdev,gluster
enable_all() {
    m gnt-cluster modify "--enabled-disk-templates=$all" \
        "--ipolicy-disk-templates=$all" "$@"
}
fails "volumes without a volume group" enable_all
like "$out" 'specify a volume group when enabling' "are not enabled"
fails "mirrors without DRBD" \
    enable_all --vg-name=xenvg --drbd-usermode-helper=/bin/true
like "$out" "Error checking drbd helper on node 'node1" "neither"
has_drbd node1 node2 node3
succeeds "all templates are enabled" \
    enable_all --vg-name=xenvg --drbd-usermode-helper=/bin/true

refused_by_node() {
    fails "an instance on $1" add web1 -t "$@"
    like "$out" "not supported by this node daemon|not use the machine's" "fails on the node"
}
refused_by_node plain -s 4m -n node1
refused_by_node plain --disk 0:size=4m,vg=fast -n node1
refused_by_node drbd -s 4m -n node1:node2
refused_by_node drbd --disk 0:size=4m,metavg=meta -n node2:node3
refused_by_node rbd --disk 0:size=4m -n node1
refused_by_node plain --disk 0:adopt=old -n node1
fails "a device that is not there" \
    add web1 -t blockdev --disk 0:adopt=/dev/disk/by-id/x -n node1
like "$out" 'Missing block device: /dev/disk/by-id/x' "is not adopted"

fails "a mirror on one node" add web1 -t drbd -s 4m -n node1
like "$out" 'The networked disk templates need a mirror node' "needs two"
fails "external storage of nobody" add web1 -t ext -s 4m -n node1
like "$out" "missing provider for template 'ext'" "needs a provider"
fails "a device that is not adopted" add web1 -t blockdev -s 4m -n node1
like "$out" "requires disk adoption" "is none"
fails "a device of the host" \
    add web1 -t blockdev --disk 0:adopt=/dev/disk/../sda -n node1
like "$out" 'lies outside /dev/disk/' "stays the host's"
is "$(m gnt-instance list --no-headers)" "" "nothing is left of them"
tap_done
