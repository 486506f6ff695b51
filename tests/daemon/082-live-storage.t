#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The disks of a running virtual machine go to another storage while it writes:
# sequence numbers on sector after sector, of which none may be missing behind the
# last one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it reads the disks' files"
# On a loaded machine its guests take minutes, or stand still after a migration.
[ -n "${LIVE_STORAGE-}" ] || skip_all "it takes minutes: make test-live-storage"
[ -x /usr/bin/qemu-system-x86_64 ] || skip_all "QEMU is not installed"
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
RING=64
cat >"$guest/init" <<END
#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
for module in /lib/*.ko; do insmod "\$module"; done
echo "guest is up" >/dev/console
i=0
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
cluster_start --nodes 2 --hypervisor kvm
hv="kernel_path=$guest/vmlinuz,initrd_path=$guest/initrd,kernel_args=quiet clocksource=acpi_pm tsc=unstable"
run() { echo "$(root "$1")/var/run/ganeti/kvm-hypervisor"; }
# highest NODE: the last number on its disk, as the node has it
highest() {
    head -c $((RING * 512)) "$(root "$1")/var/run/ganeti/instance-disks/vm1:0" |
        grep -aE '^[0-9]{511}$' | sort -n | tail -1 | sed 's/^0*//'
}
goes_on() { [ "$(highest "$1")" -gt "$before" ]; }
# writes NODE: the guest goes on (it says nothing on its serial line: that may
# stand still when a migration meets it)
writes() {
    before=$(highest "$1")
    before=${before:-0}
    until_true 200 goes_on "$1" 2>/dev/null
}
pid() { cat "$(run "$1")/pid/vm1" 2>/dev/null; }
template() { m gnt-instance list --no-headers -o disk_template vm1; }
folder() { # TEMPLATE
    case $1 in
    file) echo "$(root "${2:-node1}")/srv/ganeti/file-storage/vm1" ;;
    *) echo "$VC/shared-file-storage/vm1" ;;
    esac
}
files() { ls "$(folder file node1)" "$(folder file node2)" "$(folder sharedfile)" 2>/dev/null | grep -c disk; }
# whole FILE: the ring has as many numbers, one after the other
whole() {
    head -c $((RING * 512)) "$1" | sed 's/^0*//' | sort -n |
        awk -v n=$RING 'NR > 1 && $1 != last + 1 {bad = 1} {last = $1} END {print (NR == n && !bad) ? "whole" : "torn at " last " of " NR}'
}

succeeds "a machine with two disks" add vm1 -t file --disk 0:size=64m --disk 1:size=5m \
    -n node1 -B memory=128 -H "kvm:$hv" --no-start
# Zeros would be copied in no time.
head -c 67000000 /dev/urandom | dd of="$(echo "$(folder file)"/*.disk0)" bs=1M conv=notrunc 2>/dev/null
m gnt-instance startup vm1 >/dev/null
succeeds "writes" writes node1
full() { [ "$(highest node1)" -ge $RING ]; }
until_true 200 full
pid=$(pid node1)
succeeds "its disks go to shared storage" m gnt-instance modify -t sharedfile vm1
like "$out" 'copying 2 disk.s. while the instance runs' "by its hypervisor"
is "$(template)" sharedfile "which is recorded"
is "$(pid node1)" "$pid" "it was not stopped"
succeeds "and goes on writing" writes node1
is "$(files)" 2 "the old disks are gone"
is "$(ls -l "/proc/$pid/fd" | grep -c ' [^ ]*/file-storage/vm1/')" 0 "and closed"
like "$(readlink "$(root node1)/var/run/ganeti/instance-disks/vm1:0")" shared-file-storage "the link leads to the new one"
succeeds "back, with a limit" m gnt-instance modify -t file --bandwidth-limit=200 vm1
succeeds "it goes on writing" writes node1
is "$(pid node1)" "$pid" "in the same process"

# A job that is killed leaves it with the old disks.
m gnt-instance modify -t sharedfile --bandwidth-limit=1 --submit vm1 >"$guest/id" 2>&1
id=$(grep -o '[0-9]*' "$guest/id" | tail -1)
begun() { m gnt-job info "$id" | grep -q 'copying 2 disk'; }
until_true 60 begun
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
m gnt-job wait "$id" >/dev/null 2>&1
ended() { [ "$(files)" = 2 ]; }
succeeds "a job that is killed takes its copies back" until_true 60 ended
is "$(template)" file "the disks are the old ones"
succeeds "on which it goes on writing" writes node1
is "$(pid node1)" "$pid" "in the same process"
succeeds "so that it can be done again" m gnt-instance modify -t sharedfile vm1
succeeds "it goes on writing" writes node1
succeeds "a disk that came so is unplugged" m gnt-instance modify --hotplug --disk 1:remove vm1
succeeds "it goes on writing" writes node1
succeeds "the machine migrates with the other" m gnt-instance migrate -f -n node2 vm1
succeeds "it goes on writing" writes node2
succeeds "and back to a file there" m gnt-instance modify -t file vm1
succeeds "with its disk it moves to the other node" m gnt-instance move -f --live -n node1 vm1
is "$(m gnt-instance list --no-headers -o pnode,status,disk_template --separator=: vm1)" \
    node1.example.com:running:file "which has it now"
succeeds "it goes on writing" writes node1
is "$(ls "$(folder file node2)" 2>/dev/null)" "" "nothing stays behind"
m gnt-instance move -f --live --bandwidth-limit=1 -n node2 --submit vm1 >"$guest/id" 2>&1
id=$(grep -o '[0-9]*' "$guest/id" | tail -1)
begun() { m gnt-job info "$id" | grep -q 'copying 1 disk'; }
until_true 60 begun
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
m gnt-job wait "$id" >/dev/null 2>&1
gone() { [ -z "$(ls "$(run node2)/pid" | grep vm1)" ]; }
succeeds "a job that is killed leaves no process on the target" until_true 60 gone
is "$(m gnt-instance list --no-headers -o pnode,status --separator=: vm1)" node1.example.com:running "it stays"
succeeds "and goes on writing" writes node1
succeeds "so that it can be done again" m gnt-instance move -f --live -n node2 vm1
m gnt-instance shutdown --timeout 0 vm1 >/dev/null
fails "one that is down" m gnt-instance move -f --live -n node1 vm1
like "$out" 'without --live it is stopped' "says what to do"
is "$(whole "$(folder file node2)"/*.disk0)" whole "no number is missing"
tap_done
