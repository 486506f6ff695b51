#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-filter: rules that pause, limit and reject jobs, and let them go.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

delay() { # OPTION...: submit one; its id
    m gnt-debug delay --submit --print-jobid "$@" 2>/dev/null | head -1
}
state() { # ID
    m gnt-job list --no-headers -o status "$1"
}
becomes() { # ID STATE NAME
    until_true 10 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- \
        gnt-job list --no-headers -o status $1 | grep -qx $2"
    is "$(state "$1")" "$2" "$3"
}
all_delays='--predicates=[["opcode", ["=", "OP_ID", "OP_TEST_DELAY"]]]'

is "$(m gnt-filter list)" "UUID Watermark Priority Predicates Action ReasonTrail" \
    "there is no rule at first"

# Pause.
rule=$(m gnt-filter add --reason=maintenance --priority=10 "$all_delays" --action=PAUSE)
like "$rule" '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "add prints the rule's UUID"
paused=$(delay 0.01)
succeeds "other jobs run" m gnt-cluster verify-disks
is "$(state "$paused")" queued "a paused job stays queued"
like "$(m gnt-filter info "$rule")" "^  Action: PAUSE\$" "info shows the action"
like "$(m gnt-filter info)" "^  Predicates: \[\['opcode', \['==', 'OP_ID', 'OP_TEST_DELAY'\]\]\]\$" \
    "and the predicates in Ganeti's form"
like "$(m gnt-filter list --no-headers -o reason_trail)" \
    "^\[\['gnt:user', 'maintenance', [0-9]+\], \['luxid', '', [0-9]+\]\]" "the reason is kept"

# A rule of a smaller number goes first.
accept=$(m gnt-filter add --priority=5 --action=ACCEPT \
    '--predicates=[["reason", ["=~", "reason", "pink"]]]')
succeeds "a job with the right reason passes" m gnt-debug delay --reason="pink bunny" 0.01
is "$(state "$paused")" queued "the others do not"

# A restart keeps both the rules and what they hold.
m gnt-job list >/dev/null
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
"$BIN/gnt-vcluster" start "$VC" node1
until_true 20 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-job list >'$VC/out' 2>&1"
is "$(state "$paused")" queued "a paused job is paused after a crash"
is "$(on node2 grep -c "$rule" "$(root node2)/var/lib/ganeti/config.data")" 1 \
    "candidates have the rule"

# Replace: rate limit.
succeeds "replace" m gnt-filter replace --action="RATE_LIMIT 1" "$all_delays" "$rule"
becomes "$paused" success "a job runs when its rule goes"
first=$(delay 30) second=$(delay 0.01)
becomes "$first" running "the limit lets one job run"
succeeds "others run beside it" m gnt-cluster add-tags beside
is "$(state "$second")" queued "the second one waits"
m gnt-job cancel --kill --yes-do-it "$first" >/dev/null
becomes "$second" success "and runs when the first has ended"

# Reject.
m gnt-filter replace --action=PAUSE "$all_delays" "$rule" >/dev/null
waiting=$(delay 0.01)
m gnt-filter replace --action=REJECT "$all_delays" "$rule" >/dev/null
becomes "$waiting" canceled "a rejecting rule cancels queued jobs"
fails "and new ones" m gnt-debug delay 0.01
like "$out" "^Job [0-9]+ was canceled: Rejected by the filter rule $rule" \
    "saying which rule it is"
m gnt-filter replace --action=REJECT --reason="no delays today" "$all_delays" "$rule" >/dev/null
like "$(m gnt-debug delay 0.01 2>&1)" "filter rule $rule: no delays today" "and why"
last=$(m gnt-job list --no-headers -o id | tail -1)
like "$(m gnt-job why "$last")" "has ended: Rejected by .*: no delays today" "why knows it"
like "$(m gnt-job info "$last")" "Rejected by the filter rule $rule" "and so does info"
m gnt-job archive "$last"
like "$(m gnt-job why "$last")" "archived: Rejected by .*: no delays today" \
    "also of an archived job"
m gnt-cluster queue drain
fails "a drained queue takes none" m gnt-cluster add-tags drained
like "$out" "gnt-cluster queue undrain" "and says what lifts that"
m gnt-cluster queue undrain

# Mistakes.
fails "an unknown action is refused" m gnt-filter add --action=JUMP
fails "so is an unknown predicate" m gnt-filter add --action=PAUSE '--predicates=[["x", ["=", "y", 1]]]'
fails "and what is no JSON" m gnt-filter add --action=PAUSE --predicates=x
fails "and a UUID that is none" m gnt-filter replace --action=PAUSE rule1
fails "delete of what is not there" m gnt-filter delete 00000000-0000-0000-0000-000000000000
like "$(m gnt-filter delete 00000000-0000-0000-0000-000000000000 2>&1)" \
    "Filter rule '0{8}-0{4}-0{4}-0{4}-0{12}' not known" "says so"

succeeds "delete" m gnt-filter delete "$rule"
m gnt-filter delete "$accept"

# Jobs that ask for it themselves.
first=$(delay --reason=rate-limit:1:night 30) second=$(delay --reason=rate-limit:1:night 0.01)
becomes "$first" running "the first of a bucket runs"
like "$(m gnt-job why "$second")" \
    "reason rate-limit:1:night, which lets 1 job run at once, job $first for" \
    "the second is told why it waits"
m gnt-job cancel --kill --yes-do-it "$first" >/dev/null
becomes "$second" success "and runs afterwards"
succeeds "without rules all jobs run" m gnt-debug delay 0.01
tap_done
