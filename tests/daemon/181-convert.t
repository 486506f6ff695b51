#!/bin/sh
# gnt-instance modify -t: the disks of an instance go to another storage.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
own() { echo "$(root node1)/srv/ganeti/file-storage/$1"; }
shared() { echo "$VC/shared-file-storage/$1"; }
template() { m gnt-instance list --no-headers -o disk_template "$1"; }

add web1 -t file --disk 0:size=8m,name=root --disk 1:size=4m,mode=ro -n node1 >/dev/null
fails "an instance that runs" m gnt-instance modify -t sharedfile web1
like "$out" 'cannot change disk template' "keeps its disks"
m gnt-instance shutdown web1 >/dev/null
head -c 3000000 /dev/urandom | dd of="$(echo "$(own web1)"/*.disk0)" conv=notrunc 2>/dev/null
sum=$(cat "$(own web1)"/*.disk0 "$(own web1)"/*.disk1 | sha256sum)
uuids=$(m gnt-instance list --no-headers -o disk.uuids web1)
succeeds "its disks go to shared storage" m gnt-instance modify -t sharedfile web1
like "$out" 'disk_template -> sharedfile' "which is said"
is "$(template web1)" sharedfile "and recorded"
is "$(cat "$(shared web1)"/*.disk0 "$(shared web1)"/*.disk1 | sha256sum)" "$sum" \
    "with all their data"
is "$(ls "$(own web1)" 2>/dev/null)" "" "the old ones are gone"
is "$(m gnt-instance list --no-headers --separator=: -o disk.sizes,disk.name/0 web1)" \
    "8,4:root" "sizes and names stay"
[ "$(m gnt-instance list --no-headers -o disk.uuids web1)" != "$uuids" ]
tap_point $? "they are other disks"
succeeds "it starts" m gnt-instance startup web1
succeeds "and can go where only shared disks can" \
    m gnt-instance migrate -f -n node2 web1
m gnt-instance shutdown web1 >/dev/null
m gnt-instance failover -f -n node1 web1 >/dev/null
succeeds "back, into a folder of its own" \
    m gnt-instance modify -t file --file-storage-dir=deep web1
is "$(cat "$(own deep/web1)"/*.disk0 "$(own deep/web1)"/*.disk1 | sha256sum)" \
    "$sum" "the data are the same"
is "$(ls "$(shared web1)" 2>/dev/null)" "" "shared storage is free again"

fails "to what it has" m gnt-instance modify -t file web1
like "$out" 'already has disk template file' "there is no way"
fails "nor to none" m gnt-instance modify -t diskless web1
like "$out" "Conversion to the 'diskless' disk template is not supported" "at all"
fails "to what is not enabled" m gnt-instance modify -t plain web1
like "$out" "not enabled" "neither"
fails "together with other changes" \
    m gnt-instance modify -t sharedfile --disk 0:mode=ro web1
like "$out" 'not supported at the same time' "it is too much"
m gnt-cluster modify --enabled-disk-templates=sharedfile,file,diskless,plain \
    --ipolicy-disk-templates=sharedfile,file,diskless,plain --vg-name=xenvg >/dev/null
fails "to storage that the node daemon has not" m gnt-instance modify -t plain web1
is "$(cat "$(own deep/web1)"/*.disk0 "$(own deep/web1)"/*.disk1 | sha256sum)" \
    "$sum" "the instance keeps its disks"
is "$(template web1)" file "and its template"
# Hosts have the kernel of this machine, which may lack DRBD.
is_virtual || {
    tap_done
    exit
}
has_drbd node1 node2
succeeds "mirrors are enabled" m gnt-cluster modify \
    --enabled-disk-templates=sharedfile,file,diskless,drbd \
    --ipolicy-disk-templates=sharedfile,file,diskless,drbd \
    --drbd-usermode-helper=/bin/true
fails "to mirrors where an allocator chooses" \
    m gnt-instance modify -t drbd -I hail web1
like "$out" "Can't find secondary node using iallocator hail" \
    "and finds no volume group"
fails "to mirrors on its own node" m gnt-instance modify -t drbd -n node1 web1
like "$out" 'is the same as the primary node' "which makes none"
fails "to mirrors" m gnt-instance modify -t drbd -n node2 web1
like "$out" "not supported by this node daemon|not use the machine's" "fails on the node"
like "$out" "Converting disk template from 'file' to 'drbd'" "and not before"
is "$(cat "$(own deep/web1)"/*.disk0 "$(own deep/web1)"/*.disk1 | sha256sum)" \
    "$sum" "the instance keeps its disks again"
fails "without a volume group" m gnt-cluster modify --vg-name=
like "$out" 'Cannot unset volume group' "there are no mirrors"
m gnt-cluster modify --enabled-disk-templates=sharedfile,file,diskless \
    --ipolicy-disk-templates=sharedfile,file,diskless --vg-name= >/dev/null 2>&1
succeeds "verify is content" m gnt-cluster verify
tap_done
