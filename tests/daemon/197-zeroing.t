#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-backup export --zero-free-space: the instance, which is down, is started
# from the cluster's zeroing image, and exported when that has shut itself down.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/http.sh"
cluster_start --nodes 2

chmod 755 "$VC" # everybody may read what becomes an image
image=$VC/zero.img
head -c 3000001 /dev/urandom >"$image"
chmod 644 "$image"
for node in node1 node2; do
    cp -r "$(root $node)/usr/share/ganeti/os/noop" \
        "$(root $node)/usr/share/ganeti/os/copy"
    printf '#!/bin/sh\ncat "$EXPORT_DEVICE"\n' \
        >"$(root $node)/usr/share/ganeti/os/copy/export"
done
disks=$(root node1)/srv/ganeti/file-storage
machine=$(root node1)/var/run/ganeti/fake-hypervisor/web1
exports=$(root node2)/var/lib/ganeti/export
export_it() { m gnt-backup export -n node2 --zero-free-space --long-sleep "$@" web1; }
state() {
    m gnt-instance list --no-headers --separator=: \
        -o status,disk.count,admin_state web1
}
n_disks() { find "$disks" -type f | wc -l; }
# The helper is there: a second disk, and a machine that has been started.
helps() { [ "$(n_disks)" = 2 ] && [ -e "$machine" ]; }
begin() { # OPTION...: an export whose helper runs
    export_it "$@" >"$VC/export.log" 2>&1 &
    job=$!
    until_true 60 helps
}

m gnt-instance add --no-name-check --no-ip-check -o copy -t file -s 4m \
    -n node1 web1 >/dev/null
own=$(find "$disks" -type f)
head -c 4194304 /dev/urandom >"$own"

# --- what is refused ---
fails "a zeroing image is needed" export_it
like "$out" 'gnt-cluster modify --zeroing-image' "and is asked for"
m gnt-cluster modify --zeroing-image="$VC/nothing"
fails "it has to be there" export_it
like "$out" "The zeroing image $VC/nothing is not there on node node1" \
    "on the node"
m gnt-cluster modify --zeroing-image=http://me:sesame4712@127.0.0.1:1/image
fails "or on a server" export_it
like "$out" 'http://127.0.0.1:1/image: .*Cannot download the image.*connect' \
    "that answers"
unlike "$out" sesame4712 "the password stays away"
m gnt-cluster modify --zeroing-image="$image"
fails "one that runs on" m gnt-backup export -n node2 --zero-free-space \
    --noshutdown web1
like "$out" 'Unless the instance is shut down' "is not zeroed"
fails "time limits alone" m gnt-backup export -n node2 --long-sleep \
    --zeroing-timeout-fixed=3 web1
like "$out" 'with --zero-free-space' "are refused"
fails "as are negative ones" export_it --zeroing-timeout-per-mib=-0.5
like "$out" 'must not be negative' "in words"
is "$(state)" "running:1:up" "the instance runs on"

# --- it is done ---
succeeds "a plan" export_it --plan
like "$out" 'blockdev_image.*node1' "has the image among its steps"
is "$(state):$(n_disks)" "running:1:up:1" "and does nothing"
begin
is "$(m gnt-instance list --no-headers -o disk.count web1 | xargs)" 2 \
    "the helper has a disk of its own"
is "$(find "$disks" -type f -size 3145728c -exec head -c 3000001 {} \; |
    cmp - "$image" && echo same)" same "with the image"
head -c 4194304 /dev/zero >"$own"
rm "$machine"
wait "$job"
is "$?" 0 "when it has shut itself down the instance is exported"
like "$(cat "$VC/export.log")" 'waiting up to 300 seconds for the helper' \
    "as the job's log says"
is "$(head -c 4194304 /dev/zero | cmp - "$exports"/web1/*-* && echo zeros)" \
    zeros "as the helper left it"
is "$(state):$(n_disks)" "running:1:up:1" "it runs as before"
m gnt-instance shutdown --timeout=0 web1 >/dev/null
begin --zeroing-timeout-fixed=20 --zeroing-timeout-per-mib=2.5
rm "$machine"
wait "$job"
is "$?" 0 "one that is down is exported"
like "$(cat "$VC/export.log")" 'waiting up to 30 seconds for the helper' \
    "for each MiB there is more time"
is "$(state):$(n_disks)" "ADMIN_down:1:down:1" "and stays down"

# --- from a server ---
http_serve "$VC"
m gnt-cluster modify --zeroing-image="$url/unsized"
fails "a server that does not say how big the image is" export_it
like "$out" "$url/unsized: .*does not say how big" "is named"
m gnt-cluster modify --zeroing-image="$url/none"
fails "one that has it not" export_it
like "$out" "$url/none: .*404" "as well"
m gnt-cluster modify --zeroing-image="$url/zero.img"
begin
is "$(find "$disks" -type f -size 3145728c -exec head -c 3000001 {} \; |
    cmp - "$image" && echo same)" same "an image is downloaded"
rm "$machine"
wait "$job"
is "$?" 0 "and does its work"
is "$(n_disks)$(ls "$(root node1)/var/run/ganeti/import-export")" 1 \
    "nothing of it is left"
m gnt-cluster modify --zeroing-image="$image"

# --- what goes wrong ---
m gnt-instance startup web1 >/dev/null
succeeds "one that does not end is ended" export_it --zeroing-timeout-fixed=1 \
    --zeroing-timeout-per-mib=0
like "$out" 'not zeroed its free space within 1 seconds' "with a warning"
is "$(state):$(n_disks)" "running:1:up:1" "the instance runs again"
begin
id=$(m gnt-job list --no-headers -o id --running | tr -d ' ')
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
wait "$job"
as_before() { [ "$(state):$(n_disks)" = running:1:up:1 ]; }
until_true 60 as_before
tap_point $? "after a killed job another one makes it run again"
m gnt-instance shutdown --timeout=0 web1 >/dev/null
begin --remove-instance
rm "$machine"
wait "$job"
is "$?" 0 "it is zeroed, exported and removed"
is "$(n_disks)$(m gnt-instance list --no-headers)" 0 "with its disks"
succeeds "verify is content" m gnt-cluster verify
tap_done
