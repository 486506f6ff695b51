#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The disks of a running virtual machine go to another storage while it writes:
# sequence numbers on sector after sector, of which none may be missing behind the
# last one.  With LIVE_STORAGE set (make test-live-storage) also what happens when
# jobs, the master or a node daemon are killed in each step, and when the guest is
# confined.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it reads the disks' files"
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
m gnt-cluster modify -H kvm:migration_bandwidth=500 >/dev/null
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

# qmp NODE COMMAND [ARGUMENTS]: what the running machine answers
qmp() {
    qmp_node=$1
    shift
    python3 "$(dirname "$0")/qmp.py" "$(run "$qmp_node")/ctrl/vm1.qmp" "$@"
}
# uses NODE: in which folders the files are that the machine has open
uses() {
    ls -l "/proc/$(pid "$1")/fd" | grep -o '[a-z-]*file-storage/vm1' | cut -d/ -f1 | sort -u
}
# submitted ARGUMENT...: submit it; its id in $id
submitted() {
    m gnt-instance "$@" --submit vm1 >"$guest/id" 2>&1
    id=$(grep -o '[0-9]*' "$guest/id" | tail -1)
}
job_says() { m gnt-job info "$id" | grep -q "$1"; }

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
is "$(pid node1)" "$pid" "in the same process"
succeeds "with its disks it moves to the other node" m gnt-instance move -f --live -n node2 vm1
is "$(m gnt-instance list --no-headers -o pnode,status,disk_template --separator=: vm1)" \
    node2.example.com:running:file "which has it now"
succeeds "it goes on writing" writes node2
is "$(ls "$(folder file node1)" 2>/dev/null)" "" "nothing stays behind"
is "$(qmp node2 query-block-exports)" "[]" "its disks are not served any more"
is "$(find "$VC" -name keys.psk)" "" "nor is there a key for that"
unlike "$(cat "$VC"/*/var/log/ganeti/*.log "$VC"/*/var/lib/ganeti/queue/job-*)" '"token"' \
    "or in a log"

# The end, in each make test the only one.
finish() {
    m gnt-instance shutdown --timeout 0 vm1 >/dev/null
    is "$(whole "$(folder file "$1")"/*.disk0)" whole "no number is missing"
    tap_done
    exit 0
}
[ -n "${LIVE_STORAGE-}" ] || finish node2

succeeds "it moves back" m gnt-instance move -f --live -n node1 vm1
succeeds "and writes" writes node1
pid=$(pid node1)

# A job that is killed leaves it with the old disks.
submitted modify -t sharedfile --bandwidth-limit=1
until_true 60 job_says 'copying 2 disk'
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
succeeds "it goes on writing" writes node1
submitted move -f --live --bandwidth-limit=1 -n node2
until_true 60 job_says 'copying 1 disk'
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
m gnt-job wait "$id" >/dev/null 2>&1
gone() { [ -z "$(ls "$(run node2)/pid" | grep vm1)" ]; }
succeeds "a job that is killed leaves no process on the target" until_true 60 gone
is "$(m gnt-instance list --no-headers -o pnode,status --separator=: vm1)" node1.example.com:running "it stays"
succeeds "and goes on writing" writes node1

# --- a daemon dies ---
# die_at NODE TEXT TIMES DAEMON: it is killed when that goes over the machine's monitor
die_at() {
    die_node=$1
    rm -f "$guest/cut"
    python3 "$(dirname "$0")/qmp_cut.py" "$(run "$1")/ctrl/vm1.qmp" "$2" "$3" \
        "$(root node1)/var/run/ganeti/ganeti-$4.pid" >"$guest/cut" &
    die_pid=$!
    until_true 10 grep -q ready "$guest/cut"
}
# dies DAEMON: it was killed; the machine's monitor is as before
dies() {
    killed() { ! alive "$(cat "$(root node1)/var/run/ganeti/ganeti-$1.pid")"; }
    until_true 60 killed "$1"
    dies_rc=$?
    kill "$die_pid"
    wait "$die_pid" 2>/dev/null
    mv "$(run "$die_node")/ctrl/vm1.qmp.real" "$(run "$die_node")/ctrl/vm1.qmp"
    return $dies_rc
}
idle() {
    ! m gnt-job list --no-headers -o status \
        --filter 'status == "running" or status == "queued" or status == "waiting"' | grep -q .
}
# comes_back DAEMON: it is started, and what it has to do is done
comes_back() {
    "$BIN/gnt-vcluster" start "$VC" node1 "$1" >/dev/null && until_true 60 idle
}
verified() {
    m gnt-cluster verify >"$guest/verify" 2>&1
    grep -c 'ERROR.*vm1' "$guest/verify"
}
both=$(printf 'file-storage\nshared-file-storage')
pid=$(pid node1)
die_at node1 block-job-complete 1 masterd
submitted modify -t sharedfile
succeeds "the master dies when the new disks are recorded" dies masterd
is "$(uses node1)" "$both" "both have what is written"
succeeds "the next one takes over" comes_back masterd
is "$(template) $(uses node1)" "sharedfile shared-file-storage" "and the machine the recorded disks"
is "$(verified)" 0 "verify is content"
succeeds "it goes on writing" writes node1
# A migration alone is for gnt-instance migrate --cleanup to end.
for at in '"migrate"' '"status": "completed"'; do
    die_at node1 "$at" 1 masterd
    submitted migrate -f -n node2
    succeeds "the master dies in a migration ($at)" dies masterd
    like "$(qmp node1 query-status)" '"running": false' "the machine stands still"
    succeeds "the next one" comes_back masterd
    succeeds "is told to clean up" m gnt-instance migrate --cleanup -f vm1
    where=$(m gnt-instance list --no-headers -o pnode vm1)
    succeeds "it goes on" writes "${where%%.*}"
    is "$(cat "$(run node1)/pid/vm1" "$(run node2)/pid/vm1" 2>/dev/null | wc -l)" 1 "in one process"
done
is "$where" node2.example.com "where it arrived"
succeeds "it comes back" m gnt-instance migrate -f -n node1 vm1
succeeds "it goes on writing" writes node1
pid=$(pid node1)
die_at node1 block-job-complete 1 noded
m gnt-instance modify -t file vm1 >"$guest/out" 2>&1 &
waits=$!
succeeds "the node daemon dies at that moment" dies noded
"$BIN/gnt-vcluster" start "$VC" node1 noded >/dev/null
wait $waits
is "$? $(template) $(uses node1)" "0 file file-storage" "the job waits for it, and ends well"
submitted modify -t sharedfile --bandwidth-limit=1
copies() { [ "$(uses node1)" = "$both" ]; }
until_true 60 copies
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
is "$(uses node1)" "$both" "a copy is not ended by the master's death"
succeeds "the next one" comes_back masterd
is "$(template) $(uses node1) $(verified)" "file file-storage 0" "gives it up"
succeeds "it goes on writing" writes node1
is "$(pid node1)" "$pid" "in one process, all the time"

die_at node1 migrate-set-parameters 1 masterd
submitted move -f --live -n node2
succeeds "the master dies when the memory goes" dies masterd
succeeds "the next one" comes_back masterd
succeeds "lets it go on" writes node1
is "$(pid node2)" "" "and ends the process on the target"
die_at node1 migrate-continue 1 masterd
submitted move -f --live -n node2
succeeds "the master dies in the switch-over" dies masterd
like "$(qmp node1 query-status)" '"running": false' "the machine stands still"
succeeds "the next one" comes_back masterd
succeeds "lets it go on" writes node1
is "$(pid node2) $(verified)" " 0" "and verify is content"
die_at node1 '"status": "completed"' 1 masterd
submitted move -f --live -n node2
succeeds "the master dies when the machine has arrived" dies masterd
succeeds "the next one" comes_back masterd
is "$(m gnt-instance list --no-headers -o pnode vm1)" node2.example.com "records that"
succeeds "it writes" writes node2
is "$(pid node1) $(verified)" " 0" "in one process"
succeeds "and moves" m gnt-instance move -f --live -n node1 vm1
succeeds "and writes" writes node1

# --- a confined machine ---
m gnt-instance shutdown --timeout 0 vm1 >/dev/null
m gnt-instance modify -H use_chroot=true vm1 >/dev/null
m gnt-instance startup vm1 >/dev/null
succeeds "one that cannot open files writes" writes node1
for template in sharedfile file sharedfile file; do
    succeeds "its disks become $template" m gnt-instance modify -t $template vm1
    succeeds "it goes on writing" writes node1
done
is "$(qmp node1 query-fdsets | grep -o '"fd":' | wc -l)" 1 "one file was given for good"
succeeds "it moves with its disks" m gnt-instance move -f --live -n node2 vm1
succeeds "and writes" writes node2
is "$(ls -A "$(run node2)/chroot/vm1")" "" "nothing lies in its folder"
m gnt-instance shutdown --timeout 0 vm1 >/dev/null
fails "one that is down" m gnt-instance move -f --live -n node1 vm1
like "$out" 'without --live it is stopped' "says what to do"
finish node2
