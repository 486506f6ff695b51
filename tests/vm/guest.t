#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A real guest on two mirrored disks, placed by hail, that writes all the time: live
# migration, new storage, the primary's power cut, failover, the node back, an
# evacuation.  Then the same guest on a volume.  Of the sequence numbers that it
# writes none may be missing behind the last one, and of those that were on the disk
# when the power was cut none may be gone.
VM_PACKAGES=qemu-system-x86,busybox-static,thin-provisioning-tools
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
RING=64
MIB=32
begun=$(date +%s)
lap() { note "$(($(date +%s) - begun)) s: $*"; }
cat >"$guest/init" <<END
#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
for module in /lib/*.ko; do insmod "\$module"; done
# It goes on where it was.
i=\$(busybox dd if=/dev/vda bs=512 count=$RING 2>/dev/null | busybox tr -d '\\000' |
    busybox grep -E '^[0-9]+\$' | busybox sort -n | busybox tail -n 1 | busybox sed 's/^0*//')
i=\$((\${i:-0} + 1))
while :; do
    printf '%0511d\n' \$i | busybox dd of=/dev/vda bs=512 seek=\$((i % $RING)) conv=notrunc,fsync 2>/dev/null
    i=\$((i + 1))
done
END
"$(dirname "$0")/../lib/guest.sh" "$guest" "$guest/init" virtio_ring virtio \
    virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk || {
    [ $? = 77 ] && skip_all "no kernel or busybox for the guest"
    exit 1
}
# hail keeps 4 GiB of a node with KVM for the node, as Ganeti's does.
vm_cluster 3 --memory 4800m --hypervisor kvm
for n in 1 2 3; do
    vm $n 'modprobe kvm_amd 2>/dev/null || modprobe kvm_intel 2>/dev/null; mkdir -p /srv/guests'
    tar -cf - -C "$guest" vmlinuz initrd | on node$n tar -xf - -C /srv/guests
done
lap "three nodes are up"
hv="kernel_path=/srv/guests/vmlinuz,initrd_path=/srv/guests/initrd,kernel_args=quiet clocksource=acpi_pm tsc=unstable"

# --- what is asked ---

field() { m gnt-instance list --no-headers -o "$1" g | tr -d ' '; }
number() { echo "$1" | sed 's/^node\([0-9]\).*/\1/'; }
primary() { number "$(field pnode)"; }
secondary() { number "$(field snodes)"; }
device() { echo "/var/run/ganeti/instance-disks/g:0"; } # a link on the primary
ring() { vm "$1" "dd if=$(device) bs=512 count=$RING iflag=direct 2>/dev/null"; }
highest() { # NODE
    highest_got=$(ring "$1" | grep -aE '^[0-9]{511}$' | sort -n | tail -1 | sed 's/^0*//')
    echo "${highest_got:-0}"
}
goes_on() { [ "$(highest "$1")" -gt "$before" ]; }
writes() { # NODE
    before=$(highest "$1")
    until_true 300 goes_on "$1"
}
# Whether the ring has as many numbers, one after the other.
whole() { # NODE
    ring "$1" | sed 's/^0*//' | sort -n | awk -v n=$RING '
        NR > 1 && $1 != last + 1 {bad = 1} {last = $1}
        END {print (NR == n && !bad) ? "whole" : "torn at " last " of " NR}'
}
# What lies behind the ring stays as it was, and so does all of the second disk.
second() { echo "/var/run/ganeti/instance-disks/g:1"; }
put_pattern() {
    vm "$1" "seq 1 9999999 | head -c $(((MIB - 1) * 1048576)) | dd of=$(device) bs=1M seek=1 iflag=fullblock oflag=direct 2>/dev/null"
    vm_pattern "$1" "$(second)" $MIB 500
}
pattern() {
    vm "$1" "{ dd if=$(device) bs=1M skip=1 count=$((MIB - 1)) iflag=direct
        dd if=$(second) bs=1M count=$MIB iflag=direct; } 2>/dev/null | sha256sum" | cut -c1-16
}
add_guest() { # OPTION...
    m gnt-instance add --no-name-check --no-ip-check --no-nics -o noop -B memory=96 \
        --disk 0:size=${MIB}m --disk 1:size=${MIB}m -H "kvm:$hv" --no-start "$@" g
}
full() { [ "$(highest "$1")" -ge $RING ]; }
begin_guest() { # the pattern, then the guest
    m gnt-instance activate-disks g >/dev/null
    put_pattern "$(primary)"
    wanted=$(pattern "$(primary)")
    succeeds "it starts" m gnt-instance startup g
    succeeds "and writes" until_true 600 full "$(primary)"
}
cut_power() { # of the primary
    lost=$(primary)
    seen=$(highest "$lost")
    "$vc" crash "$VC" "node$lost"
}
in_sync() {
    m gnt-instance activate-disks g >/dev/null 2>&1
    [ "$(vm "$(primary)" cat /proc/drbd | grep -c 'cs:Connected .*UpToDate/UpToDate')" = 2 ]
}
sound() { m gnt-cluster verify >"$guest/said" 2>&1; }
verified() {
    succeeds "verify is content" until_true 60 sound
    grep ERROR "$guest/said" | while read -r line; do note "$line"; done
}

# --- on a mirror ---

succeeds "a guest on a mirrored disk is placed by hail" add_guest -t drbd -I hail
begin_guest
lap "it runs on node$(primary), mirrored on node$(secondary)"
from=$(primary) to=$(secondary)
succeeds "it migrates live" m gnt-instance migrate -f g
is "$(primary)" "$to" "to its other node"
succeeds "and goes on writing" writes "$to"
succeeds "it migrates back" m gnt-instance migrate -f g
succeeds "and goes on writing" writes "$from"
lap "migrated there and back"
# The other side is lost while the memory is copied, slowly: what the guest writes
# from then on is on the source alone.  A pause of ten seconds lets the copy end,
# however much the guest writes.
m gnt-cluster modify -H kvm:migration_bandwidth=1,migration_downtime=10000 >/dev/null
m gnt-instance migrate -f g >"$guest/cut" 2>&1 &
migration=$!
sends() { vm "$from" "ss -tn state established | grep -q :8102"; }
succeeds "it begins to migrate" until_true 120 sends
vm "$from" 'set -- $(drbdsetup show | sed -n "s/.*address[^0-9]*ipv4 \\([^;]*\\);/ipv4:\\1/p"); drbdsetup disconnect --force "$2" "$1"' >/dev/null # the peer is shown first
like "$(vm "$from" cat /proc/drbd)" 'cs:StandAlone' "its mirror is cut off meanwhile"
wait "$migration"
is "$?" 1 "a migration whose mirror is cut off fails"
like "$(cat "$guest/cut")" 'gnt-instance activate-disks' "and says what to do"
is "$(primary)" "$from" "it is where it was"
succeeds "and goes on writing" writes "$from"
succeeds "the mirror is whole again" until_true 300 in_sync
m gnt-cluster modify -H kvm:migration_bandwidth=1000,migration_downtime=30 >/dev/null
lap "a migration that was cut off"
third=$((6 - from - to))
succeeds "its mirror moves to the third node while it runs" m gnt-instance replace-disks -n node$third g
succeeds "and it goes on writing" writes "$from"
is "$(vm "$to" "lvs --noheadings xenvg" | wc -l)" 0 "the old node has none of it"
lap "new secondary"
# The master's own power cut is the subject of life.t.
[ "$from" != 1 ] || succeeds "it leaves the master" m gnt-instance migrate -f g
cut_power >/dev/null
tap_point $? "the primary's power is cut"
fails "a failover without more" m gnt-instance failover -f g
like "$out" "node$lost" "names the node"
succeeds "a failover that was told" m gnt-instance failover -f --ignore-consistency g
now=$(primary)
succeeds "it goes on writing" writes "$now"
[ "$(highest "$now")" -ge "$seen" ]
tap_point $? "behind what was on the disk" || note "$(highest "$now"), and $seen were seen"
is "$(pattern "$now")" "$wanted" "the pattern is intact"
lap "failed over"
succeeds "the node is back" vm_boot "$lost"
succeeds "and in sync" until_true 300 in_sync
vm $lost 'modprobe kvm_amd 2>/dev/null || modprobe kvm_intel 2>/dev/null; true'
lap "in sync"
succeeds "the node is emptied" m gnt-node evacuate -f -s -I hail node$lost
[ "$(secondary)" != "$lost" ]
tap_point $? "its mirror is elsewhere"
succeeds "and the other, of the primary" m gnt-node evacuate -f -p -I hail node$now
[ "$(primary)" != "$now" ]
tap_point $? "it runs elsewhere"
succeeds "and goes on writing" writes "$(primary)"
lap "evacuated"
verified
is "$(pattern "$(primary)")" "$wanted" "the pattern is intact"
succeeds "it is stopped" m gnt-instance shutdown --timeout 0 g
m gnt-instance activate-disks g >/dev/null
is "$(whole "$(primary)")" whole "no number is missing"
last=$(highest "$(primary)")
succeeds "the other side" m gnt-instance failover -f g
m gnt-instance activate-disks g >/dev/null
is "$(whole "$(primary)") $(highest "$(primary)") $(pattern "$(primary)")" \
    "whole $last $wanted" "has the same"
succeeds "it goes" m gnt-instance remove -f g
is "$(for n in 1 2 3; do vm $n 'lvs --noheadings xenvg'; done)" "" "and its volumes"
lap "removed"

# --- on a volume ---

succeeds "a guest on a volume is placed by hail" add_guest -t plain -I hail
begin_guest
from=$(primary)
to=$((from == 2 ? 3 : 2))
succeeds "it moves live, with its disk" m gnt-instance move -f --live -n node$to g
succeeds "and goes on writing" writes $to
[ "$from" = 1 ] && from=$((5 - to))
succeeds "and again" m gnt-instance move -f --live -n node$from g
succeeds "and goes on writing" writes "$from"
is "$(pattern "$from")" "$wanted" "the pattern is intact"
lap "moved"
succeeds "its node's power is cut" cut_power
like "$(m gnt-instance list --no-headers -o status g)" 'ERROR_nodedown' "it is down"
succeeds "the node is back" vm_boot "$lost"
vm "$lost" 'modprobe kvm_amd 2>/dev/null || modprobe kvm_intel 2>/dev/null; true'
m gnt-instance activate-disks g >/dev/null
[ "$(highest "$lost")" -ge "$seen" ]
tap_point $? "what was on the disk is there"
is "$(pattern "$lost")" "$wanted" "the pattern is intact"
succeeds "it starts again" m gnt-instance startup g
verified
succeeds "it goes" m gnt-instance remove -f --shutdown-timeout 0 g
is "$(for n in 1 2 3; do vm $n 'lvs --noheadings xenvg'; done)" "" "and its volume"
lap "the end"
tap_done
