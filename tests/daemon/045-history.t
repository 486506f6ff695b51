#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The history of jobs: the archive, and that nobody altered it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

queue=$(root node1)/var/lib/ganeti/queue

# in_file JOB: its archive file is written some time after the archiving
in_file() {
    until_true 20 test -s "$queue/archive/0/job-$1"
}

succeeds "an empty history is fine" m gnt-job verify-history
m gnt-job autoarchive all >/dev/null
for seconds in 0.01 0.02 0.03; do
    m gnt-debug delay --reason "by hand" "$seconds" >/dev/null
done
last=$(m gnt-job list --no-headers -o id | tail -1)
first=$((last - 2))
m gnt-job archive "$first" "$((first + 1))" >/dev/null
m gnt-job autoarchive all >/dev/null
succeeds "archived jobs make a chain" m gnt-job verify-history
like "$out" "^The history is unaltered: [0-9]+ archived jobs" "which is told"
like "$(m gnt-job info "$first")" "Status: success" \
    "an archived job can be looked at"
succeeds "all is in files soon" in_file "$last"

# What somebody does to the files shows.
file=$queue/archive/0/job-$((first + 1))
cp "$file" "$VC/kept"
sed -i 's/by hand/by Eve./' "$file"
fails "altered content is found" m gnt-job verify-history
like "$out" "^Job $((first + 1)), entry [0-9]+ of the history, was altered" \
    "and named"
rm "$file"
fails "a missing one as well" m gnt-job verify-history
like "$out" "^Job $((first + 1)), .* is missing" "is told apart"
cp "$VC/kept" "$file"
succeeds "with the file back all is well" m gnt-job verify-history

# Another candidate has the same chain.
there=$(root node2)/var/lib/ganeti/queue
succeeds "the candidate has the head of the chain" until_true 20 \
    cmp -s "$queue/archive-head" "$there/archive-head"
is "$(cat "$there/archive/0/job-$last")" "$(cat "$queue/archive/0/job-$last")" \
    "and the entries"

tap_done
