#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-vcluster --kind vm: two virtual machines with a volume group and DRBD's
# module are joined over SSH, parted and healed; one's power is cut, and what was
# written to a mirrored disk is there on the other.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/vms.sh"

# Verify wants volume groups of 20 GiB; they take what is written.
vms_start --nodes 2 --disks 24g,512m --enabled-disk-templates file,drbd
is "$(m gnt-node list --no-headers -o name,pip --separator=,)" \
    "node1.example.com,192.0.2.11
node2.example.com,192.0.2.12" "both are nodes"
is "$(on node2 uname -n)" node2.example.com "each is a host of its own"
# They begin with the state of one machine.
chance() { on "$1" cat /proc/sys/kernel/random/uuid; }
is "$([ "$(chance node1)" = "$(chance node2)" ] && echo same)" "" "and has chance of its own"
since() { echo $(($(date +%s) - $(on "$1" date +%s))); }
is "$([ "$(since node2)" -ge -1 ] && [ "$(since node2)" -le 60 ] && echo right)" right "its clock is right"
is "$(on node2 cat /sys/class/net/eth0/address)" 52:54:00:67:00:02 "its interface has an address of its own"
is "$(on node2 cat /sys/devices/virtual/dmi/id/sys_vendor 2>/dev/null)" QEMU "with a kernel of its own"
is "$(on node2 sh -c 'vgs --noheadings -o vg_name,pv_count,lv_count | tr -s " "')" " xenvg 2 0" "its disks are a volume group"
is "$(on node2 sh -c 'lvcreate -qq -Wn -n try -L 64m xenvg && lvremove -qq -f xenvg/try && echo works')" works "that volumes can be made in"
like "$(on node2 lsmod)" '^drbd ' "it has DRBD"
succeeds "an instance is made" add inst1 -t file -s 16m -n node2
is "$(m gnt-instance list --no-headers -o status inst1)" running "and runs"

m gnt-cluster modify --vg-name=xenvg --drbd-usermode-helper=/bin/true >/dev/null
succeeds "an instance on two mirrored disks" \
    add d1 -t drbd --disk 0:size=16m --disk 1:size=8m -n node2:node1
mirror() { on "$1" grep -o 'cs:.* C' /proc/drbd; }
sound="cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C"
sound="$sound
$sound"
is "$(mirror node2)" "$sound" "which are in sync"
pattern() { on "$1" sh -c 'head -c 16777216 /dev/drbd0 | sha256sum'; }
on node2 sh -c 'seq 9999999 | head -c 16777216 | dd of=/dev/drbd0 oflag=direct bs=1M iflag=fullblock 2>/dev/null'
written=$(pattern node2)

reaches() { on "$1" ping -c 1 -W 3 "$2" >/dev/null; }
succeeds "the nodes reach each other" reaches node1 node2
"$vc" partition "$VC" node1 node2
fails "parted they do not" reaches node1 node2
is "$(on node1 hostname)" node1.example.com "we still reach both"
"$vc" heal "$VC"
succeeds "healed they do" reaches node1 node2

on node2 sh -c 'echo kept >/root/kept; sync'
succeeds "a node's power is cut" "$vc" crash "$VC" node2
like "$("$vc" list "$VC")" '^node2.* off ' "it is off"
fails "no command runs there" on node2 true
succeeds "the mirror's other side takes over" m gnt-instance failover -f --ignore-consistency d1
is "$(pattern node1)" "$written" "with what was written"
succeeds "it is switched on again" "$vc" start "$VC" node2
is "$(on node2 cat /root/kept)" kept "with its disk"
succeeds "the master sees it" m gnt-cluster command -n node2 true
m gnt-instance start inst1 >/dev/null 2>&1
# The machine has just been switched on; beside other tests the sides take their time.
whole() { said=$(m gnt-instance activate-disks d1 2>&1) && [ "$(mirror node1)" = "$sound" ]; }
succeeds "the mirrors are whole again" until_true 300 whole || note "$said; $(mirror node1)"
succeeds "verify is content" m gnt-cluster verify
console() { (echo; echo 'echo at-$(uname -n)'; sleep 3) | timeout 30 "$vc" console "$VC" node1 | grep -aq 'at-node1'; }
succeeds "there is a console" until_true 20 console
first=$VC
is "$([ "$(vms_processes "$first")" -ge 2 ] && echo some)" some "machines are processes"
succeeds "destroy" "$vc" destroy "$VC"
is "$(vms_processes "$first")" 0 "none of them is left"
is "$(ls -d "$first" 2>/dev/null)" "" "nor the folder"

# The command is killed while machines boot; where it can, that of somebody without
# rights, to whom the image has to be shown at a place of its own.
VC=$(mktemp -d /tmp/gvc.XXXXXX)
work=$(mktemp -d /tmp/gvm.XXXXXX)
trap 'cluster_end; rm -rf "$work"' EXIT
user= whose=$(id -u)
if [ "$whose" = 0 ] && chmod 755 "$work" && cp -al "$VM_CACHE"/node-* "$work" 2>/dev/null &&
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$BIN/gnt-vcluster"; then
    chown 65534:65534 "$VC" "$work"
    user="setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$VC"
    VM_CACHE=$work whose=65534
fi
$user "$vc" create "$VC" --kind vm --nodes 2 --cache "$VM_CACHE" >/dev/null 2>&1 &
made=$!
begun() { [ -S "$VC/.machine/node2/serial" ] && [ -s "$VC/.machine/node2/qemu.pid" ]; }
until_true 180 begun
is "$(find "$VC/.machine" -name qemu.pid -user "$whose" | wc -l)" 2 \
    "machines start${user:+, without any rights}"
kill -9 "$made"
wait "$made" 2>/dev/null
first=$VC
succeeds "destroy after a create that was killed" $user "$vc" destroy "$VC"
is "$(vms_processes "$first")$(ls -d "$first" 2>/dev/null)" 0 "leaves nothing"
VC=
tap_done
