#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The life of disks on LVM and DRBD between three real nodes: what is written stays
# the same through everything that the cluster does with it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
NODES=${NODES:-3}
vm_cluster "$NODES"

add="gnt-instance add -o noop -B memory=32 --no-name-check --no-ip-check --no-nics"
lvs_of() { vm "$1" "lvs --noheadings -o lv_name,lv_tags xenvg" | sed 's/ \+/ /g'; }
drbd() { vm "$1" "tail -n +3 /proc/drbd | head -1"; }
data_of() { vm 1 "lvs --noheadings -o lv_name xenvg | grep -m1 $1 | tr -d ' '"; }

# --- volumes ---
succeeds "an instance on LVM" m $add -t plain -s 64m -n node1 p1
like "$(lvs_of 1)" 'disk0 originstname[+]p1' "its volume says whose it is"
p1=$(data_of disk0)
vm_pattern 1 "/dev/xenvg/$p1" 64
sum=$(vm_sum 1 "/dev/xenvg/$p1" 64)
succeeds "it grows" m gnt-instance grow-disk p1 0 64m
is "$(vm 1 "blockdev --getsize64 /dev/xenvg/$p1")" 134217728 "to the size that was asked for"
is "$(vm_sum 1 "/dev/xenvg/$p1" 64)" "$sum" "with its data"
succeeds "it moves" m gnt-instance move -f -n node2 p1
is "$(vm_sum 2 "/dev/xenvg/$p1" 64)" "$sum" "with its data"
is "$(lvs_of 1)" "" "nothing stays behind"
succeeds "it becomes a mirror" m gnt-instance shutdown p1
succeeds "of what it has" m gnt-instance modify -t drbd -n node1 p1
succeeds "and a volume again" m gnt-instance modify -t plain p1
is "$(lvs_of 1)" "" "without a rest on the other node"
p1=$(vm 2 "lvs --noheadings -o lv_name xenvg | tr -d ' '")
is "$(vm_sum 2 "/dev/xenvg/$p1" 64)" "$sum" "and with its data"
succeeds "it goes" m gnt-instance remove -f p1
is "$(lvs_of 2)" "" "and its volumes"

# --- thin volumes ---
for i in 1 2; do
    vm "$i" "lvcreate -q -y --type thin-pool -L 512m -n pool0 xenvg" >/dev/null 2>&1
done
if vm 1 "lvs xenvg/pool0" >/dev/null 2>&1; then
    m "gnt-cluster modify -D plain:thin-pool=pool0" >/dev/null
    succeeds "an instance in a thin pool" m $add -t plain -s 256m -n node1.vmt t1
    t1=$(data_of disk0)
    is "$(vm 1 "lvs --noheadings -o pool_lv xenvg/$t1" | tr -d ' ')" pool0 "is there"
    vm_pattern 1 "/dev/xenvg/$t1" 64
    sum=$(vm_sum 1 "/dev/xenvg/$t1" 64)
    succeeds "it grows" m gnt-instance grow-disk t1 0 64m
    is "$(m "blockdev --getsize64 /dev/xenvg/$t1")" 335544320 "to the size that was asked for"
    succeeds "it is exported from a snapshot" m gnt-backup export --noshutdown -n node2.vmt t1
    is "$(vm 1 "lvs --noheadings -o lv_name xenvg" | grep -c snap)" 0 "which is gone"
    is "$(vm 2 "head -c 67108864 /var/lib/ganeti/export/t1/*[0-9a-f]-[0-9a-f]* | sha256sum" | cut -c1-64)" \
        "$(vm 1 "head -c 67108864 /dev/xenvg/$t1 | sha256sum" | cut -c1-64)" "with its data"
    succeeds "it moves" m gnt-instance move -f -n node2.vmt t1
    is "$(vm_sum 2 "/dev/xenvg/$t1" 64)" "$sum" "with its data"
    is "$(vm 2 "lvs --noheadings -o pool_lv xenvg/$t1" | tr -d ' ')" pool0 "into the pool there"
    succeeds "it goes" m gnt-instance remove -f t1
    m "gnt-cluster modify -D plain:thin-pool=default" >/dev/null
else
    note "no thin pools on these nodes (thin-provisioning-tools)"
fi
for i in 1 2; do
    vm "$i" "lvremove -q -y xenvg/pool0" >/dev/null 2>&1
done

# --- a device that is there ---
vm 1 "truncate -s 32m /root/device; losetup /dev/loop7 /root/device; mkdir -p /dev/disk/by-id; \
    ln -sf /dev/loop7 /dev/disk/by-id/site-7"
all=plain,drbd,blockdev
m "gnt-cluster modify --enabled-disk-templates=$all --ipolicy-disk-templates=$all" >/dev/null
vm_pattern 1 /dev/loop7 32
sum=$(vm_sum 1 /dev/loop7 32)
succeeds "a loop device is adopted" m $add -t blockdev \
    --disk 0:adopt=/dev/disk/by-id/site-7 --no-install -n node1.vmt b1
is "$(m "gnt-instance list --no-headers -o disk.sizes b1")" 32 "with its size"
is "$(vm_sum 1 /dev/loop7 32)" "$sum" "and its data"
succeeds "it starts and stops" m "gnt-instance startup b1 && gnt-instance shutdown b1"
succeeds "and goes" m gnt-instance remove -f b1
is "$(vm_sum 1 /dev/loop7 32)" "$sum" "but not its data"
vm 1 "rm /dev/disk/by-id/site-7; losetup -d /dev/loop7; rm /root/device"

# --- mirrors ---
succeeds "an instance on DRBD" m $add -t drbd -s 64m -n node1:node2 d1
like "$(drbd 1)" 'Connected ro:Primary/Secondary ds:UpToDate/UpToDate' "it is in sync"
unlike "$(vm 1 'cat /var/log/ganeti/*.log; cat /proc/[0-9]*/cmdline | tr "\0" " "')" \
    "$(vm 1 "drbdsetup show 0 | grep shared-secret | cut -d'\"' -f2")" "its secret is nowhere to be read"
vm_pattern 1 /dev/drbd0 64
sum=$(vm_sum 1 /dev/drbd0 64)
succeeds "it fails over" m gnt-instance failover -f d1
is "$(vm_sum 2 /dev/drbd0 64)" "$sum" "with its data"
succeeds "it migrates" m gnt-instance migrate -f d1
is "$(vm_sum 1 /dev/drbd0 64)" "$sum" "with its data"
like "$(drbd 1)" 'ro:Primary/Secondary' "and has one primary again"
succeeds "new storage on the secondary" m gnt-instance replace-disks -s d1
succeeds "new storage on the primary" m gnt-instance replace-disks -p d1
is "$(vm_sum 1 /dev/drbd0 64)" "$sum" "with its data"
succeeds "it grows" m gnt-instance grow-disk d1 0 32m
is "$(vm 1 "blockdev --getsize64 /dev/drbd0")" 100663296 "to the size that was asked for"
is "$(vm_sum 1 /dev/drbd0 64)" "$sum" "with its data"
if [ "$NODES" -ge 3 ]; then
    succeeds "another secondary" m gnt-instance replace-disks -n node3 d1
    is "$(lvs_of 2)" "" "nothing stays on the old one"
    succeeds "it fails over there" m gnt-instance failover -f d1
    is "$(vm_sum 3 /dev/drbd0 64)" "$sum" "with its data"
    succeeds "and back" m gnt-instance failover -f d1
    succeeds "it fails over to a third node" m gnt-instance failover -f -n node2 d1
    is "$(vm_sum 2 /dev/drbd0 64)" "$sum" "with its data"
    is "$(lvs_of 1)" "" "the old primary has none of it"
    succeeds "it migrates to a third node" m gnt-instance migrate -f -n node1 d1
    is "$(vm_sum 1 /dev/drbd0 64)" "$sum" "with its data"
    like "$(drbd 1)" 'Connected ro:Primary/Secondary ds:UpToDate/UpToDate' "in sync"
    is "$(lvs_of 3)" "" "the old secondary has none of it"
    other=2
else
    other=2
fi

# --- trouble ---
vm 1 "drbdsetup disconnect ipv4:192.0.2.11:11000 ipv4:192.0.2.1$other:11000"
like "$(m gnt-cluster verify-disks)" 'd1' "a mirror that is alone is found"
like "$(drbd 1)" 'Connected ro:Primary/Secondary' "and connected again"
vm "$other" "drbdsetup detach 0"
m gnt-instance activate-disks d1 >/dev/null
like "$(drbd 1)" 'ds:UpToDate/UpToDate|SyncSource' "one without its volumes gets them back"
vm_crash "$other"
fails "a failover to a node without power" m gnt-instance failover -f d1
is "$(vm_sum 1 /dev/drbd0 64)" "$sum" "loses nothing"
vm_boot "$other" >/dev/null 2>&1
succeeds "it is back" m gnt-instance activate-disks d1
in_sync() { drbd 1 | grep -q UpToDate/UpToDate; }
until_true 300 in_sync
succeeds "and can take over" m gnt-instance failover -f d1
is "$(vm_sum "$other" /dev/drbd0 64)" "$sum" "with all data"
unlike "$(m gnt-cluster verify)" ERROR "verify finds nothing wrong"
succeeds "it goes" m gnt-instance remove -f d1
is "$(lvs_of 1)$(lvs_of "$other")" "" "and its volumes"
tap_done
