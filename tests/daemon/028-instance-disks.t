#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Disks without their instance, another name, another installation.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"

cluster_start --nodes 2

# A definition that says what it was asked for.
os=$VC/os-log
mkdir -p "$os"
for node in node1 node2; do
    folder=$(root $node)/srv/ganeti/os/noop2
    mkdir -p "$folder"
    echo 20 >"$folder/ganeti_api_version"
    for script in create rename import export verify; do
        printf '#!/bin/sh\necho "%s $INSTANCE_NAME $INSTANCE_REINSTALL $OLD_INSTANCE_NAME" >>%s\n' \
            $script "$os/calls" >"$folder/$script"
        chmod 755 "$folder/$script"
    done
    printf 'default\n' >"$folder/variants.list"
    : >"$folder/parameters.list"
done

succeeds "an instance that is down" m gnt-instance add --no-name-check \
    --no-ip-check --no-start -o noop2+default -t file --disk 0:size=8 \
    -n node1 web1.example.com
file=$(root node1)/srv/ganeti/file-storage/web1.example.com

succeeds "its disks are activated" m gnt-instance activate-disks web1
like "$out" 'node1.example.com:disk/0:/' "and told"
is "$(m gnt-instance list --no-headers -o disks_active web1 2>&1)" Y \
    "they are active on record"
succeeds "they are deactivated" m gnt-instance deactivate-disks web1

succeeds "a disk grows" m gnt-instance grow-disk web1 0 4
is "$(m gnt-instance list --no-headers --units m -o disk.size/0 web1)" 12 \
    "on record"
is "$(stat -c %s "$file"/*)" $((12 * 1024 * 1024)) "and on the disk"
succeeds "it grows to a size" m gnt-instance grow-disk --absolute web1 0 16m
is "$(stat -c %s "$file"/*)" $((16 * 1024 * 1024)) "which it has"
fails "it does not shrink" m gnt-instance grow-disk --absolute web1 0 4m
like "$out" 'smaller than current' "and says why"
fails "a disk that is not there" m gnt-instance grow-disk web1 3 4
like "$out" 'Invalid disk index' "is named"

fails "a disk that is there is not made anew" m gnt-instance recreate-disks web1
is "$(stat -c %s "$file"/*)" $((16 * 1024 * 1024)) "and keeps its data"
fails "nor with another size" m gnt-instance recreate-disks --disk 0:size=8m web1
is "$(m gnt-instance list --no-headers --units m -o disk.size/0 web1)" 16 \
    "which is not recorded"
fails "a parameter that cannot change" \
    m gnt-instance recreate-disks --disk 0:name=x web1
like "$out" 'unmodifyable parameter\(s\): name' "is named"
fails "a disk twice" \
    m gnt-instance recreate-disks --disk 0:mode=ro --disk 0:mode=rw web1
like "$out" 'specified more than once: 0' "is one too many"
fails "more nodes than it has" m gnt-instance recreate-disks -n node1:node2 web1
like "$out" 'currently has 1 nodes, but 2 replacement nodes' "are counted"
fails "both a node and an allocator" \
    m gnt-instance recreate-disks -n node1 -I hail web1
like "$out" 'At most one of either' "are too much"
rm "$file"/*
succeeds "one that was lost is" m gnt-instance recreate-disks web1
is "$(stat -c %s "$file"/*)" $((16 * 1024 * 1024)) "in its size"

rm "$file"/*
succeeds "also where an allocator says" m gnt-instance recreate-disks -I hail web1
like "$out" 'Selected nodes for instance web1.example.com via iallocator hail' \
    "which is logged"
to=$(m gnt-instance list --no-headers -o pnode web1)
rm -r "$(root "${to%%.*}")/srv/ganeti/file-storage/"web1*
succeeds "and on another node" m gnt-instance recreate-disks -n node1 web1
like "$out" 'remove any disks left on the older nodes' "with a warning"
is "$(m gnt-instance list --no-headers -o pnode web1)" node1.example.com \
    "which is the primary"
is "$(stat -c %s "$file"/*)" $((16 * 1024 * 1024)) "and has the disk"

succeeds "another name" m gnt-instance rename --no-name-check --no-ip-check -f \
    web1 web2.example.com
like "$out" "Instance 'web1' renamed to 'web2.example.com'" "is told"
is "$(ls "$(root node1)/srv/ganeti/file-storage")" web2.example.com \
    "the folder has it"
like "$(cat "$os/calls")" 'rename web2.example.com .*web1.example.com' \
    "the guest has it"
succeeds "the name that it has" m gnt-instance rename --no-name-check \
    --no-ip-check -f web2 web2.example.com
is "$(ls "$(root node1)/srv/ganeti/file-storage")" web2.example.com \
    "leaves the folder"
like "$(tail -n 1 "$os/calls")" 'rename web2.example.com .*web2.example.com' \
    "and is told to the guest again"
m gnt-instance add -t diskless -n node2 --no-install --no-start --no-name-check \
    --no-ip-check taken.example.com >/dev/null 2>&1
fails "a name that is taken" m gnt-instance rename --no-name-check \
    --no-ip-check -f web2 taken.example.com
like "$out" 'already in the cluster' "is refused"
m gnt-instance remove -f taken.example.com >/dev/null 2>&1

succeeds "it is installed again" m gnt-instance reinstall -f web2
like "$(tail -n 1 "$os/calls")" 'create web2.example.com 1' \
    "by a script that knows it"
succeeds "it starts" m gnt-instance startup web2
fails "a running one is not installed" m gnt-instance reinstall -f web2
like "$out" 'cannot reinstall' "and says why"
fails "nor renamed" m gnt-instance rename --no-name-check --no-ip-check -f \
    web2 web3.example.com
like "$out" 'cannot rename' "and says why"
succeeds "all is well" m gnt-cluster verify
# Sizes on record, and other small jobs of the cluster.
add size1 -t sharedfile -s 8m -n node1 --no-start >/dev/null 2>&1
succeeds "right sizes stay" m gnt-cluster repair-disk-sizes size1
unlike "$out" 'mismatched' "as they are"
for f in "$VC"/shared-file-storage/size1/*; do truncate -s 12M "$f"; done
succeeds "another size is seen" m gnt-cluster repair-disk-sizes
like "$out" 'Disk 0 of instance size1 has mismatched size, correcting: recorded 8, actual 12' \
    "and told"
is "$(m gnt-instance list --no-headers -o disk.sizes size1)" 12 \
    "and is on record"
fails "an unknown instance is named" m gnt-cluster repair-disk-sizes nosuch
succeeds "the address goes down" m gnt-cluster deactivate-master-ip --yes
succeeds "and up" m gnt-cluster activate-master-ip
fails "not without a yes" m gnt-cluster deactivate-master-ip
if is_virtual; then # a host would go down, and its test with it
    fails "no virtual node is powercycled" m gnt-node powercycle --yes node2
    like "$out" 'cannot be powercycled' "which the node says"
fi
fails "nor the master without force" m gnt-node powercycle --yes node1
like "$out" 'The node is the master' "which the master says"
m gnt-instance remove -f size1 >/dev/null 2>&1
# New space is wiped where the cluster wants that.
m gnt-cluster modify --prealloc-wipe-disks=yes >/dev/null
succeeds "an instance on wiped disks" \
    add wiped -t sharedfile --disk 0:size=4m --disk 1:size=8m -n node1 --no-start
like "$out" '\* wiping instance disks...$' "is said"
like "$out" '\* Wiping disk 1$' "each of them"
succeeds "a disk that grows" m gnt-instance grow-disk wiped 0 4m
like "$out" 'Wiping disk 0 \(from 4M to 8M\)' "is wiped where it is new"
succeeds "another disk" m gnt-instance modify --disk add:size=4m wiped
like "$out" 'Wiping disk 2' "as well"
m gnt-cluster modify --prealloc-wipe-disks=no >/dev/null
succeeds "without it" m gnt-instance grow-disk wiped 0 4m
unlike "$out" 'Wiping' "nothing is"
# --- an image that is there becomes a disk ---
storage=$(root node1)/srv/ganeti/file-storage
mkdir "$storage/images"
printf 'a whole system' >"$storage/images/sys"
truncate -s 3000000 "$storage/images/sys"
image() { # NAME PATH
    m gnt-instance add --no-name-check --no-ip-check --no-start -o noop \
        -t file -n node1 --disk "0:path=$2" "$1"
}
fails "no image" image sys.example.com /srv/ganeti/file-storage/images/none
like "$out" "Missing image file: .*/none" "is told"
fails "one elsewhere" image sys.example.com /etc/passwd
like "$out" "Missing image file: /etc/passwd" "is none"
fails "another spelling" image sys.example.com \
    /srv/ganeti/file-storage/images/../images/sys
like "$out" 'absolute and plain' "is refused"
succeeds "an image file" image sys.example.com /srv/ganeti/file-storage/images/sys
is "$(m gnt-instance list --no-headers --units m -o disk.sizes sys.example.com)" 3 \
    "is the disk, of its size"
is "$(head -c 14 "$storage"/sys.example.com/*.disk0)" "a whole system" \
    "with its data, and no OS over them"
is "$(ls "$storage/images")" "" "it is the instance's now"
used=/srv/ganeti/file-storage/sys.example.com/$(ls "$storage/sys.example.com")
fails "a disk of another instance" image two.example.com "$used"
like "$out" 'used by another instance' "is not taken"
succeeds "it goes with it" m gnt-instance remove -f sys.example.com

tap_done
