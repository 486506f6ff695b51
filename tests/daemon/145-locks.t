#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who holds what and who waits for whom: gnt-debug locks, gnt-job why.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
m gnt-cluster modify --max-running-jobs=4 >/dev/null

delay() { # OPTION...: submit one; its id
    m gnt-debug delay --submit --print-jobid "$@" 2>/dev/null | head -1
}
is_in() { # ID STATE
    m gnt-job list --no-headers -o status "$1" | grep -qx "$2"
}
becomes() { # ID STATE
    until_true 10 is_in "$1" "$2" || note "job $1 does not become $2"
}
end() { # ID...
    for id in "$@"; do
        m gnt-job cancel --kill --yes-do-it "$id" >/dev/null 2>&1
    done
}
node2=$(m gnt-node list --no-headers -o uuid node2)

# A lock: the third waits for the second, which waits for the first.
reader=$(delay --no-master -n node2 60)
becomes "$reader" running
second=$(delay --no-master -n node2 -n node3 60)
becomes "$second" waiting
third=$(delay --no-master -n node3 0.01)
becomes "$third" waiting
like "$(m gnt-debug locks -o name,mode,owner,pending)" \
    "^node/$node2 +exclusive +$reader +exclusive:$second\$" \
    "gnt-debug locks shows owners and who waits"
fails "--interval wants a number" m gnt-debug locks --interval=0
m sh -c 'gnt-debug locks --interval=1 & echo $! >"$0"; wait' "$VC/pid" \
    >"$VC/locks" 2>&1 &
until_true 10 sh -c "[ \"\$(grep -c '^Name' '$VC/locks')\" -ge 2 ]"
is "$?" 0 "--interval shows them again and again"
kill "$(cat "$VC/pid")"
wait

m gnt-job why "$third" >"$VC/why"
is "$(wc -l <"$VC/why")" 3 "the chain goes to the job that runs"
like "$(sed -n 1p "$VC/why")" \
    "^Job $third \(TEST_DELAY\([^)]*\), waiting\) waits for the lock node/node3.example.com \(exclusive\), for which job $second waits before it \(exclusive\); 1 job is before it\$" \
    "a job that has nothing yet may stand in the way"
like "$(sed -n 2p "$VC/why")" \
    "^Job $second \(TEST_DELAY\([^)]*\), waiting\) waits for the lock node/node2.example.com \(exclusive\), which job $reader has held \(exclusive\) for [0-9.]+ s\$" \
    "the holder is named, with the time"
like "$(sed -n 3p "$VC/why")" \
    "^Job $reader \(TEST_DELAY\([^)]*\), running\) runs for [0-9.]+ s\$" "and runs"

# Dependencies.
echo '[{"OP_ID": "OP_TEST_DELAY", "duration": 0.01, "on_master": false,
    "depends": [['"$third"', []]]}]' >"$VC/child"
m gnt-debug submit-job "$VC/child" >/dev/null 2>&1 &
until_true 10 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- \
    gnt-job list --no-headers -o status | grep -q queued"
child=$(m gnt-job list --no-headers -o id --filter 'status == "queued"')
m gnt-job why "$child" >"$VC/why"
like "$(sed -n 1p "$VC/why")" \
    "^Job $child \(TEST_DELAY\([^)]*\), queued\) waits for the end of job $third, on which it depends\$" \
    "a dependency is named"
is "$(wc -l <"$VC/why")" 4 "and the chain goes on behind it"

# No free place.
filler=$(delay --no-master -n node1 60)
becomes "$filler" running
late=$(delay 0.01)
m gnt-job why "$late" >"$VC/why"
like "$(sed -n 1p "$VC/why")" \
    "^Job $late \(TEST_DELAY\([^)]*\), queued\) waits for a free place: 4 jobs run, which is the limit \(max-running-jobs\), job $reader for longest\$" \
    "a job without a place"
like "$(sed -n 2p "$VC/why")" "^Job $reader " "goes on with one that has"

# A filter.
end "$filler"
becomes "$late" success
rule=$(m gnt-filter add --action=PAUSE \
    '--predicates=[["opcode", ["=", "OP_ID", "OP_TEST_DELAY"]]]')
paused=$(delay 0.01)
like "$(m gnt-job why "$paused")" \
    "^Job $paused \(TEST_DELAY\([^)]*\), queued\) is held back by the filter $rule\$" \
    "a filter is named"
m gnt-filter delete "$rule" >/dev/null
becomes "$paused" success

# The others.
like "$(m gnt-job why "$paused")" "^Job $paused \(TEST_DELAY\([^)]*\), success\) has ended\$" \
    "a job that is over"
m gnt-job archive "$paused" >/dev/null
like "$(m gnt-job why "$paused")" "has ended and is archived\$" "an archived one"
fails "an unknown one" m gnt-job why 99999
like "$out" "Job '99999' not known" "is called so"
fails "what is no number" m gnt-job why web1
end "$reader" "$second"
becomes "$third" success
wait
tap_done
