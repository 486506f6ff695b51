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

# The index finds archived jobs, and is never the truth.
found() { # FILTER: the ids
    m gnt-job list --archived --no-headers -o id "$1" | awk '{printf "%s ", $1}'
}
indexed() { # the index is complete: it answers without the files
    [ "$(sqlite "SELECT count(*) FROM job WHERE archived")" -ge 3 ]
}
sqlite() {
    python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' \
        "$queue/history.db" "$1"
}
three="$first $((first + 1)) $last "
succeeds "there is an index" until_true 20 indexed
is "$(stat -c %a "$queue/history.db")" 640 "with the mode of job files"
is "$(found '"by hand" in reason')" "$three" "jobs are found by their reason"
is "$(found '"OP_TEST_DELAY" in opid and id > '"$first")" \
    "$((first + 1)) $last " "and by opcode and id"
is "$(found 'status == "error"')" "" "and by status, none here"
like "$(m gnt-job list --archived "$last")" \
    "^ *$last +success +TEST_DELAY.* Y" "and by their id"
succeeds "it can be made anew" m gnt-job reindex
like "$out" "^The history is made anew: [0-9]+ archived jobs" "which is told"
is "$(found '"by hand" in reason')" "$three" "with the same jobs"

# Junk in its place is replaced, at the next start.
master=$(cat "$(root node1)/var/run/ganeti/ganeti-masterd.pid")
"$BIN/gnt-vcluster" kill "$VC" node1 masterd >/dev/null 2>&1
gone() {
    ! alive "$master"
}
until_true 20 gone
rm -f "$queue/history.db-wal" "$queue/history.db-shm"
head -c 9000 /dev/zero | tr '\0' x >"$queue/history.db"
"$BIN/gnt-vcluster" start "$VC" node1 masterd >"$VC/started" 2>&1 ||
    note "$(cat "$VC/started")"
succeeds "after junk in its place there is a new one" until_true 20 indexed
is "$(found '"by hand" in reason')" "$three" "with the same jobs again"

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
