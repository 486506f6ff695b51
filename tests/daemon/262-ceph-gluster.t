#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances on Ceph and Gluster, with stand-ins for their programs which refuse
# what the real ones would not understand (tests/lib/rbd, tests/lib/mount.glusterfs).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
lib=$(dirname "$0")/../lib
ceph=$VC/ceph gluster=$VC/gluster
mkdir -p "$ceph" "$gluster/vol1"
for node in node1 node2; do
    sbin=$(root $node)/usr/sbin
    mkdir -p "$sbin"
    cp "$lib/rbd" "$sbin/rbd"
    cp "$lib/mount.glusterfs" "$sbin/mount"
    echo "$ceph" >"$sbin/rbd.state"
    echo "$gluster" >"$sbin/gluster.state"
    os=$(root $node)/usr/share/ganeti/os/copy
    cp -r "$(root $node)/usr/share/ganeti/os/noop" "$os"
    printf '#!/bin/sh\nexec cat "$EXPORT_DEVICE"\n' >"$os/export"
    printf '#!/bin/sh\nexec dd of="$IMPORT_DEVICE" bs=64k conv=notrunc\n' >"$os/import"
done
all=sharedfile,file,diskless,rbd,gluster
m gnt-cluster modify "--enabled-disk-templates=$all" "--ipolicy-disk-templates=$all" >/dev/null
m gnt-cluster modify -D rbd:pool=vms -D gluster:volume=vol1,host=10.0.0.9 >/dev/null
maps() { ls "$(root "$1")/var/lib/rbd-maps" 2>/dev/null | wc -l; }
image() { echo "$ceph/vms/"*.rbd.disk"$1"; }

# --- Ceph ---
succeeds "an instance on Ceph" m gnt-instance add --no-name-check --no-ip-check -o copy \
    -t rbd --disk 0:size=16m --disk 1:size=4m,access=kernelspace -n node1 r1
is "$(stat -c %s "$(image 0)")" 16777216 "has an image in the pool"
is "$(maps node1)" 2 "its images are devices here"
head -c 1000000 /dev/urandom | dd of="$(image 0)" conv=notrunc 2>/dev/null
succeeds "it migrates" m gnt-instance migrate -f r1
is "$(maps node2)" 2 "with devices there"
succeeds "it grows" m gnt-instance grow-disk r1 0 8m
is "$(stat -c %s "$(image 0)")" 25165824 "to the size that was asked for"
sum=$(sha256sum <"$(image 0)")
succeeds "it is exported while it runs" m gnt-backup export -n node1 --noshutdown r1
like "$out" 'Creating a snapshot of disk/0' "from snapshots"
like "$(cat "$ceph/log")" 'snap create -p vms .*disk0 --snap .*disk0.snap' "of Ceph's"
folder=$(root node1)/var/lib/ganeti/export/r1
is "$(sha256sum <"$folder/$(sed -n 's/^disk0_dump = //p' "$folder/config.ini")")" "$sum" \
    "with its data"
is "$(ls "$ceph/vms" | grep -c @)" 0 "no snapshot stays"
succeeds "it is imported" m gnt-backup import --no-name-check --no-ip-check -t rbd -n node1 \
    --src-node=node1 --src-dir=r1 --net 0:mac=generate r2
is "$(sha256sum "$ceph"/vms/*.rbd.disk0 | cut -c1-64 | sort -u | wc -l)" 1 "with the same data"
succeeds "it becomes a file" m gnt-instance modify -t file r2
is "$(sha256sum <"$(echo "$(root node1)"/srv/ganeti/file-storage/r2/*.disk0)")" "$sum" \
    "with its data"
is "$(ls "$ceph/vms" | wc -l)" 2 "its images are gone"
succeeds "verify-disks is content" m gnt-cluster verify-disks
succeeds "it stops" m gnt-instance shutdown r1
is "$(maps node2)" 0 "and is no device any more"
rm "$(image 1)"
fails "one whose image is gone" m gnt-instance startup r1
like "$out" 'No such file or directory' "does not start"
succeeds "and is removed" m gnt-instance remove -f r1
is "$(ls "$ceph/vms")" "" "wholly"
is "$(maps node1) $(maps node2)" "0 0" "from all nodes"

# --- Gluster ---
succeeds "an instance on Gluster" m gnt-instance add --no-name-check --no-ip-check -o copy \
    -t gluster --disk 0:size=16m --disk 1:size=4m -n node1 g1
file=$(echo "$gluster"/vol1/ganeti/*.0)
is "$(stat -c %s "$file")" 16777216 "has a file on the volume"
like "$(cat "$gluster/log")" \
    '^mount -t glusterfs -o server-port=24007 10.0.0.9:/vol1 .*/var/run/ganeti/gluster$' \
    "which was mounted"
is "$(grep -c . "$gluster/log")" 1 "once"
head -c 1000000 /dev/urandom | dd of="$file" conv=notrunc 2>/dev/null
succeeds "it migrates" m gnt-instance migrate -f g1
is "$(grep -c . "$gluster/log")" 2 "to a node that mounts it"
succeeds "it grows" m gnt-instance grow-disk g1 0 8m
is "$(stat -c %s "$file")" 25165824 "to the size that was asked for"
sum=$(sha256sum <"$file")
m gnt-instance shutdown g1 >/dev/null
succeeds "it becomes a file" m gnt-instance modify -t sharedfile g1
is "$(sha256sum <"$(echo "$VC"/shared-file-storage/g1/*.disk0)")" "$sum" "with its data"
is "$(ls "$gluster/vol1/ganeti")" "" "nothing stays on the volume"
succeeds "it goes back" m gnt-instance modify -t gluster g1
is "$(sha256sum <"$(echo "$gluster"/vol1/ganeti/*.0)")" "$sum" "with its data"
succeeds "and is removed" m gnt-instance remove -f g1
mkdir "$gluster/vol2"
m gnt-cluster modify -D gluster:volume=vol2 >/dev/null
fails "another volume, as long as this one is mounted" m gnt-instance add --no-name-check \
    --no-ip-check -o copy -t gluster -s 4m -n node1 g2
like "$out" '10.0.0.9:/vol1 is mounted on .*/gluster in place of the volume "vol2"' "is told apart"
is "$(ls "$gluster/vol1/ganeti" "$gluster/vol2")" "$(printf '%s:\n\n%s:' "$gluster/vol1/ganeti" "$gluster/vol2")" \
    "and nothing is made on either"
m gnt-cluster modify -D gluster:volume=nosuch >/dev/null
rm "$(root node1)/proc/mounts" "$(root node1)/var/run/ganeti/gluster"
fails "a volume that there is not" m gnt-instance add --no-name-check --no-ip-check -o copy \
    -t gluster -s 4m -n node1 g2
like "$out" 'is not mounted; is the volume started' "is noticed, though mount is silent"
succeeds "verify is content" m gnt-cluster verify
tap_done
