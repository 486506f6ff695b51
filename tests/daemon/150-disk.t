#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The disk of the job queue: damaged files, and no space left.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 1
queue=$(root node1)/var/lib/ganeti/queue
log=$(root node1)/var/log/ganeti/master-daemon.log
vc() { "$BIN/gnt-vcluster" "$@"; }

# Damaged files.
for _ in 1 2 3 4; do m gnt-debug delay -l 0.001; done >/dev/null
last=$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')
vc stop "$VC" node1 masterd
: >"$queue/job-$last"
printf '{"id": %s, "ops": [' "$((last - 1))" >"$queue/job-$((last - 1))"
echo '[1, 2]' >"$queue/job-$((last - 2))"
vc start "$VC" node1 masterd
is "$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')" $((last - 3)) \
    "the other jobs are there"
for id in $last $((last - 1)) $((last - 2)); do
    succeeds "the file of job $id is put aside" test -e "$queue/job-$id.corrupt"
    succeeds "the log names it" grep -q "job-$id.corrupt" "$log"
done
out=$(m gnt-cluster verify)
like "$out" "WARNING: cluster : the job file job-$last.corrupt" "verify names it, too"
is "$(echo "$out" | grep -c 'was put aside')" 3 "and the others"
rm "$queue"/job-*.corrupt
unlike "$(m gnt-cluster verify)" 'put aside' "until they are removed"
id=$(m gnt-debug delay --submit --print-jobid 0.001 2>/dev/null | head -1)
succeeds "ids are not given again" test "$id" -gt "$last"

# Numbers that nobody counted up to, and files that are none.
vc stop "$VC" node1 masterd
highest=$(cat "$queue/serial")
echo 99999999999 >"$queue/serial"
for id in 9223372036854775806 99999999999999999999; do
    echo '{"id": 1, "ops": []}' >"$queue/job-$id"
done
mkfifo "$queue/job-$((highest + 1))"
ln -s /etc/passwd "$queue/job-$((highest + 2))"
mkdir -p "$queue/archive/99999999999999999999"
succeeds "the master starts on absurd numbers, a pipe and a link" \
    vc start "$VC" node1 masterd
for id in 9223372036854775806 99999999999999999999 $((highest + 1)) \
    $((highest + 2)); do
    succeeds "job-$id is put aside" test -e "$queue/job-$id.corrupt" -o \
        -p "$queue/job-$id.corrupt"
    succeeds "the log names job-$id" grep -q "job-$id.corrupt" "$log"
done
succeeds "the log names the serial" grep -q 'serial says 99999999999' "$log"
m gnt-debug delay -l 0.001 >/dev/null
is "$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')" 100000000000 \
    "ids go on behind it"
succeeds "the history is complete" m gnt-job list --archived
vc stop "$VC" node1 masterd
echo 99999999999999999999 >"$queue/serial"
mv "$queue/version" "$queue/version.was"
mkfifo "$queue/version"
fails "a pipe in the place of the version is not waited for" \
    vc start "$VC" node1 masterd
like "$out" 'version is no regular file' "what it is is said"
mv "$queue/version.was" "$queue/version"
succeeds "and the master starts without it" vc start "$VC" node1 masterd
succeeds "the serial that is no number is named" grep -q 'serial is damaged' "$log"
rm -rf "$queue"/job-*.corrupt "$queue/archive/99999999999999999999"

# No space left.
vc stop "$VC" node1 masterd
if ! mount -t tmpfs -o size=72m none "$queue" 2>/dev/null; then
    tap_point 0 "a full disk # SKIP no small file system can be mounted"
    tap_done
    exit 0
fi
end() {
    vc stop "$VC" node1 masterd >/dev/null 2>&1
    umount "$queue" 2>/dev/null || umount -l "$queue"
    cluster_end
}
trap end EXIT
vc start "$VC" node1 masterd
succeeds "a job runs on a small disk" m gnt-debug delay -l 0.001
long=$(m gnt-debug delay --submit --print-jobid 3600 2>/dev/null | head -1)
dd if=/dev/zero of="$queue/filler" bs=64k 2>/dev/null
refused() { ! m gnt-debug delay -l 0.001 >"$VC/out" 2>&1; }
until_true 20 refused
like "$(cat "$VC/out")" 'takes no new jobs, because its files cannot be written.*No space left' \
    "a full disk refuses jobs and says why"
succeeds "the master still answers" m gnt-job list
is "$(m gnt-job list --no-headers -o status "$long")" running "jobs that run go on"
m gnt-job cancel --kill --yes-do-it "$long" >/dev/null
until_true 20 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- \
    gnt-job list --no-headers -o status $long | grep -q error"
is "$(m gnt-job list --no-headers -o status "$long")" error "and end, in the journal"
rm "$queue/filler"
until_true 20 m gnt-debug delay -l 0.001
succeeds "when there is space jobs are taken again" m gnt-debug delay -l 0.001
vc stop "$VC" node1 masterd
vc start "$VC" node1 masterd
is "$(m gnt-job list --no-headers -o status "$long")" error "nothing was lost"
tap_done
