#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The life of disks on LVM and DRBD between three real nodes: what is written stays
# the same through everything that the cluster does with it.
VM_PACKAGES=qemu-system-x86,busybox-static,thin-provisioning-tools # as guest.t
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
NODES=${NODES:-3}
DATA=24g,2g
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }
vm_cluster "$NODES"
lap "$NODES nodes are up"

add="gnt-instance add -o noop -B memory=32 --no-name-check --no-ip-check --no-nics"
# LVM says on the stream of its report that metadata is torn, as the power cut leaves it.
lvs_of() { vm "$1" "LVM_OUT_FD=2 LVM_REPORT_FD=1 lvs --noheadings -o lv_name,lv_tags xenvg" | sed 's/ \+/ /g'; }
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
    m gnt-cluster modify -D plain:thin-pool=pool0 >/dev/null
    succeeds "an instance in a thin pool" m $add -t plain -s 256m -n node1 t1
    t1=$(data_of disk0)
    is "$(vm 1 "lvs --noheadings -o pool_lv xenvg/$t1" | tr -d ' ')" pool0 "is there"
    vm_pattern 1 "/dev/xenvg/$t1" 64
    sum=$(vm_sum 1 "/dev/xenvg/$t1" 64)
    succeeds "it grows" m gnt-instance grow-disk t1 0 64m
    is "$(vm 1 "blockdev --getsize64 /dev/xenvg/$t1")" 335544320 "to the size that was asked for"
    succeeds "it is exported from a snapshot" m gnt-backup export --noshutdown -n node2 t1
    is "$(vm 1 "lvs --noheadings -o lv_name xenvg" | grep -c snap)" 0 "which is gone"
    is "$(vm 2 "head -c 67108864 /var/lib/ganeti/export/t1/*[0-9a-f]-[0-9a-f]* | sha256sum" | cut -c1-64)" \
        "$(vm 1 "head -c 67108864 /dev/xenvg/$t1 | sha256sum" | cut -c1-64)" "with its data"
    succeeds "it moves" m gnt-instance move -f -n node2 t1
    is "$(vm_sum 2 "/dev/xenvg/$t1" 64)" "$sum" "with its data"
    is "$(vm 2 "lvs --noheadings -o pool_lv xenvg/$t1" | tr -d ' ')" pool0 "into the pool there"
    succeeds "it goes" m gnt-instance remove -f t1
    m gnt-cluster modify -D plain:thin-pool=default >/dev/null
else
    tap_point 1 "nodes have thin pools"
fi
for i in 1 2; do
    vm "$i" "lvremove -q -y xenvg/pool0" >/dev/null 2>&1
done

# --- a device that is there ---
vm 1 "truncate -s 32m /root/device; losetup /dev/loop7 /root/device; mkdir -p /dev/disk/by-id; \
    ln -sf /dev/loop7 /dev/disk/by-id/site-7"
all=plain,drbd,blockdev
m gnt-cluster modify --enabled-disk-templates=$all --ipolicy-disk-templates=$all >/dev/null
vm_pattern 1 /dev/loop7 32
sum=$(vm_sum 1 /dev/loop7 32)
succeeds "a loop device is adopted" m $add -t blockdev \
    --disk 0:adopt=/dev/disk/by-id/site-7 --no-install -n node1 b1
is "$(m gnt-instance list --no-headers -o disk.sizes b1 | tr -d " ")" 32 "with its size"
is "$(vm_sum 1 /dev/loop7 32)" "$sum" "and its data"
succeeds "it starts" m gnt-instance startup b1
succeeds "and stops" m gnt-instance shutdown b1
succeeds "and goes" m gnt-instance remove -f b1
is "$(vm_sum 1 /dev/loop7 32)" "$sum" "but not its data"
vm 1 "rm /dev/disk/by-id/site-7; losetup -d /dev/loop7; rm /root/device"

# --- mirrors: d1 has two ---
put_patterns() {
    vm_pattern 1 /dev/drbd0 64
    vm_pattern 1 /dev/drbd1 32 500
}
sums() { echo "$(vm_sum "$1" /dev/drbd0 64) $(vm_sum "$1" /dev/drbd1 32)"; } # NODE
# What 8.4 says of all of them: so many are connected, and up to date on both sides.
in_sync() { [ "$(vm 1 cat /proc/drbd | grep -c 'cs:Connected .*UpToDate/UpToDate')" = 2 ]; }
succeeds "an instance on DRBD" m $add -t drbd --disk 0:size=64m --disk 1:size=32m -n node1:node2 d1
like "$(drbd 1)" 'Connected ro:Primary/Secondary ds:UpToDate/UpToDate' "it is in sync"
succeeds "with both disks" in_sync
unlike "$(vm 1 'cat /var/log/ganeti/*.log; cat /proc/[0-9]*/cmdline | tr "\0" " "')" \
    "$(vm 1 "drbdsetup show 0 | grep shared-secret | cut -d'\"' -f2")" "its secret is nowhere to be read"
put_patterns
sum=$(sums 1)
succeeds "it fails over" m gnt-instance failover -f d1
is "$(sums 2)" "$sum" "with its data"
succeeds "it migrates" m gnt-instance migrate -f d1
is "$(sums 1)" "$sum" "with its data"
like "$(drbd 1)" 'ro:Primary/Secondary' "and has one primary again"
succeeds "new storage on the secondary" m gnt-instance replace-disks -s d1
succeeds "new storage on the primary" m gnt-instance replace-disks -p d1
is "$(sums 1)" "$sum" "with its data"
succeeds "it grows" m gnt-instance grow-disk d1 0 32m
is "$(vm 1 "blockdev --getsize64 /dev/drbd0")" 100663296 "to the size that was asked for"
is "$(sums 1)" "$sum" "with its data"
if [ "$NODES" -ge 3 ]; then
    succeeds "another secondary" m gnt-instance replace-disks -n node3 d1
    is "$(lvs_of 2)" "" "nothing stays on the old one"
    succeeds "it fails over there" m gnt-instance failover -f d1
    is "$(sums 3)" "$sum" "with its data"
    succeeds "and back" m gnt-instance failover -f d1
    succeeds "it fails over to a third node" m gnt-instance failover -f -n node2 d1
    is "$(sums 2)" "$sum" "with its data"
    is "$(lvs_of 1)" "" "the old primary has none of it"
    succeeds "it migrates to a third node" m gnt-instance migrate -f -n node1 d1
    is "$(sums 1)" "$sum" "with its data"
    like "$(drbd 1)" 'Connected ro:Primary/Secondary ds:UpToDate/UpToDate' "in sync"
    is "$(lvs_of 3)" "" "the old secondary has none of it"
    other=2
else
    other=2
fi

# --- trouble with the connection ---
lap "trouble"
vm 1 "drbdsetup disconnect ipv4:192.0.2.11:11000 ipv4:192.0.2.1$other:11000"
like "$(m gnt-cluster verify-disks)" 'd1' "a mirror that is alone is found"
succeeds "and connected again" until_true 120 in_sync
vm "$other" "drbdsetup detach 0"
m gnt-instance activate-disks d1 >/dev/null
succeeds "one without its volumes gets them back" until_true 120 in_sync

# Both sides are written to while they are parted.
apart() { # COMMAND AND ADDRESSES: of both
    vm 1 "drbdsetup $1 ipv4:192.0.2.11:11000 ipv4:192.0.2.1$other:11000"
    vm "$other" "drbdsetup $1 ipv4:192.0.2.1$other:11000 ipv4:192.0.2.11:11000"
}
apart disconnect
vm "$other" "drbdsetup primary 0 --force && echo other | dd of=/dev/drbd0 oflag=sync 2>/dev/null; drbdsetup secondary 0"
put_patterns
fails "a split brain stays one" m gnt-instance activate-disks d1
like "$out" 'split brain' "which the error says"
like "$out" 'gnt-instance replace-disks -s' "with the next command"
like "$(m gnt-cluster verify)" 'd1.*(degraded|not healthy|faulty)' "verify names it"
is "$(sums 1)" "$sum" "the primary's data are untouched"
succeeds "who chooses the primary's" m gnt-instance replace-disks -s d1
succeeds "has them" until_true 120 in_sync
succeeds "on both" m gnt-instance failover -f d1
is "$(sums "$other")" "$sum" "sides"
succeeds "and back" m gnt-instance failover -f d1

# --- a minor in use by somebody else ---
vm "$other" 'lvcreate -q -Wn -n foreign -L 8m xenvg; lvcreate -q -Wn -n foreign_meta -L 128m xenvg
    drbdmeta --force /dev/drbd2 v08 /dev/xenvg/foreign_meta flex-external create-md
    drbdsetup new-resource foreign; drbdsetup new-minor foreign 2 0
    drbdsetup attach 2 /dev/xenvg/foreign /dev/xenvg/foreign_meta flexible
    drbdsetup primary 2 --force; echo mine | dd of=/dev/drbd2 oflag=sync' >/dev/null 2>&1
foreign=$(vm "$other" 'tail -n +3 /proc/drbd | grep "^ *2:"; head -c 4 /dev/drbd2')
fails "a minor in use by somebody else" m $add -t drbd -s 16m -n "node$other:node1" d2
like "$out" 'drbd2.*in use' "is named"
is "$(vm "$other" 'tail -n +3 /proc/drbd | grep "^ *2:"; head -c 4 /dev/drbd2')" "$foreign" "and not touched"
is "$(m gnt-instance list --no-headers -o name d2 2>/dev/null)" "" "no instance is left"
# A job that failed clears up behind its end.
no_d2() { [ "$(lvs_of 1 | grep -c d2)$(lvs_of "$other" | grep -c d2)" = 00 ]; }
succeeds "nor a volume of it" until_true 60 no_d2
like "$(m gnt-cluster verify)" 'minor 2' "verify names the minor"
vm "$other" 'drbdsetup secondary 2; drbdsetup down foreign; lvremove -qq -f xenvg/foreign xenvg/foreign_meta'

# --- parameters of running mirrors ---
shown() { vm 1 "drbdsetup show 1" | tr -s ' \t' ' '; }
m gnt-cluster modify -D drbd:resync-rate=7000,net-custom=--ping-timeout=9,disk-custom="--al-extents 257",protocol=A >/dev/null
succeeds "parameters of a running mirror change" m gnt-instance activate-disks d1
like "$(shown)" 'resync-rate 7000k' "its resync rate"
like "$(shown)" 'ping-timeout 9' "options of its connection"
like "$(shown)" 'al-extents 257' "and of its disk"
like "$(vm 1 'tail -n +3 /proc/drbd')" 'cs:Connected .* A r' "and its protocol"
m gnt-cluster modify -D drbd:resync-rate=61440,net-custom=,disk-custom=,protocol=C >/dev/null
m gnt-instance activate-disks d1 >/dev/null
like "$(vm 1 'tail -n +3 /proc/drbd')" 'cs:Connected .* C r' "and back"

# --- LVM that fails ---
lap "LVM"
vm 1 'lvcreate -q -Wn -n filler -l 100%FREE xenvg' >/dev/null
fails "a full volume group" m $add -t plain -s 64m -n node1 p2
like "$out" 'xenvg|node1' "is named"
vm 1 'lvremove -qq -f xenvg/filler'
vm 1 'printf "#!/bin/sh\nexit 0\n" >/usr/local/sbin/lvcreate; chmod +x /usr/local/sbin/lvcreate'
fails "lvcreate that makes nothing" m $add -t plain -s 64m -n node1 p2
like "$out" 'xenvg/' "is noticed, with the volume"
vm 1 'printf "#!/bin/sh\nexec sleep 1000\n" >/usr/local/sbin/lvcreate'
fails "lvcreate that hangs" m $add -t plain -s 64m -n node1 p2
like "$out" 'lvcreate.*(time|s\b)' "is named"
vm 1 'rm /usr/local/sbin/lvcreate; for p in $(pidof sleep); do kill $p; done'
is "$(m gnt-instance list --no-headers -o name p2 2>/dev/null)$(lvs_of 1 | grep -c p2)" 0 "nothing is left of it"
succeeds "then it works" m $add -t plain -s 64m -n node1 p2
succeeds "and goes" m gnt-instance remove -f p2

# --- a drive is lost ---
lap "a lost drive"
pv() { vm "$other" 'for d in /sys/block/vd*; do [ "$(cat $d/serial)" != '"$1"' ] || echo /dev/${d##*/}; done'; }
succeeds "new volumes go to the second drive" m gnt-node modify-storage --allocatable=no "node$other" lvm-pv "$(pv data0)"
succeeds "of the secondary" m gnt-instance replace-disks -s d1
like "$(vm "$other" 'lvs --noheadings -o devices xenvg')" "$(pv data1)" "they do"
m gnt-node modify-storage --allocatable=yes "node$other" lvm-pv "$(pv data0)" >/dev/null
vm "$other" "d=$(pv data1); echo 1 >\$(readlink -f /sys/block/\${d##*/}/device/..)/remove"
put_patterns
like "$(vm "$other" 'vgs --noheadings -o vg_attr xenvg')" 'wz-p' "the drive is lost"
like "$(m gnt-cluster verify 2>&1)" "node$other.*xenvg|d1" "verify names it"
succeeds "the cluster repairs it" m gnt-cluster repair-volumes
repaired() { vm "$other" 'vgs --noheadings -o vg_attr xenvg' | grep -q 'wz--' && in_sync; }
succeeds "the mirror is whole again" until_true 300 repaired
like "$(vm "$other" 'lvs --noheadings -o devices xenvg')" "$(pv data0)" "on the drive that is left"
succeeds "and can take over" m gnt-instance failover -f d1
is "$(sums "$other")" "$sum" "with all data"
succeeds "and back" m gnt-instance failover -f d1

# --- a node without power ---
lap "power"
vm_crash "$other"
fails "a failover to a node without power" m gnt-instance failover -f d1
like "$out" "node$other" "names it"
is "$(sums 1)" "$sum" "loses nothing"
vm_boot "$other" >/dev/null 2>&1
succeeds "it is back" m gnt-instance activate-disks d1
succeeds "and in sync" until_true 300 in_sync
succeeds "and can take over" m gnt-instance failover -f d1
is "$(sums "$other")" "$sum" "with all data"
unlike "$(m gnt-cluster verify)" ERROR "verify finds nothing wrong"
succeeds "it goes" m gnt-instance remove -f d1
is "$(lvs_of 1)$(lvs_of "$other")" "" "and its volumes"
lap "the end"
tap_done
