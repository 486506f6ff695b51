#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The master dies while jobs come in; another node takes over: nothing that was
# acknowledged is lost or doubled, and the former master obeys when it is back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
here=$(cd "$(dirname "$0")" && pwd)
cluster_start --nodes 5
vc() { "$BIN/gnt-vcluster" "$@"; }
queue() { echo "$(root "$1")/var/lib/ganeti/queue"; }
socket() { echo "$(root "$1")/var/run/ganeti/socket/ganeti-query"; }
acknowledged=$VC/acknowledged
jobs_py() { # NODE pair|submit|check N
    python3 "$here/failover_jobs.py" "$(socket "$1")" "$acknowledged" "$2" "$3"
}
# The socket of a virtual machine leads nowhere from here, so there it runs there.
if [ "${KIND-}" = vm ]; then
    mkdir "$VC/lib" "$VC/daemon"
    cp "$here/failover_jobs.py" "$VC/daemon/"
    cp "$here/../lib/luxi.py" "$VC/lib/"
    jobs_py() {
        on "$1" python3 "$VC/daemon/failover_jobs.py" \
            /var/run/ganeti/socket/ganeti-query "$acknowledged" "$2" "$3"
    }
fi

fails "the master needs no failover" m gnt-cluster master-failover
like "$out" 'node1.example.com, already' "and is told so"

# One job runs, one waits for its end; then more until the master dies.
pair=$(jobs_py node1 pair 0)
slow=${pair% *}
waits=${pair#* }
status() { # NODE ID
    on "$1" gnt-job list --no-headers -o status "$2"
}
slow_is() { [ "$(status node1 "$slow")" = "$1" ]; }
until_true 20 slow_is running
jobs_py node1 submit 1000 &
submitter=$!
half() { [ "$(wc -l <"$acknowledged")" -ge 500 ]; }
until_true 60 half
vc kill "$VC" node1
if wait $submitter; then rc=0; else rc=$?; fi
is "$rc" 0 "jobs were submitted until the master died"

fails "without a master nothing answers" on node2 gnt-cluster master-ping
succeeds "another node takes over" on node2 gnt-cluster master-failover
like "$out" 'follow node2.example.com' "and says what it does"
like "$out" "Job $slow .TEST_DELAY.* was cut off" "and which job the former master left unfinished"
is "$(on node2 gnt-cluster getmaster)" node2.example.com "it is the master"
is "$(on node5 gnt-cluster getmaster)" node2.example.com "which the others know"
succeeds "and it answers" on node2 gnt-cluster master-ping
like "$(vc list "$VC")" '^node2.* Y +up ' "gnt-vcluster shows it"
like "$(vc list "$VC")" '^node1.* N +- ' "and not the former one"

succeeds "the rest of the jobs goes to it" jobs_py node2 submit 1000
succeeds "all acknowledged jobs are final, none is lost or there twice" \
    jobs_py node2 check 1000
note "$out"
is "$(status node2 "$slow")" error "what was running ended with error"
like "$(on node2 gnt-job info "$slow")" 'The master daemon ended while this opcode ran' "and says why"
is "$(status node2 "$waits")" success "what was queued ran"

# The former master is back.
fails "the former master's daemon does not start" on node1 gantry-masterd
like "$out" 'the master of the cluster is node2.example.com' "and names the master"
on node1 gantry-masterd >/dev/null 2>&1 </dev/null
is $? 11 "with Ganeti's status for: not the master"
succeeds "gnt-vcluster starts its node daemon" vc start "$VC" node1
like "$out" 'no longer the master, that is node2.example.com' "only, and says so"
knows() { [ "$(on node1 gnt-cluster getmaster)" = node2.example.com ]; }
until_true 20 knows
succeeds "it is told of the new master" knows
fails "its master daemon does not start still" on node1 gantry-masterd
like "$out" 'the master of the cluster is node2.example.com' "and says why"
on node1 gantry-masterd >/dev/null 2>&1 </dev/null
is $? 11 "with the same status"
same() {
    diff -r -x journal -x lock -x 'history.db*' "$(queue node2)" "$(queue "$1")"
}
until_true 30 same node1
succeeds "its queue is as the master's" same node1
config() { cat "$(root "$1")/var/lib/ganeti/config.data"; }
is "$(config node1)" "$(config node2)" "so is its configuration"
succeeds "verify is content" on node2 gnt-cluster verify

# And back, after all were down.
succeeds "all end" vc stop "$VC"
succeeds "all start again" vc start "$VC"
like "$(vc list "$VC")" '^node2.* Y +up ' "with the master that was one"
like "$(vc list "$VC")" '^node1.* N +(-|standby|up) +up' "and no other"
succeeds "a failover may leave offline nodes out" \
    on node1 gnt-cluster master-failover --ignore-offline-nodes
succeeds "with all jobs" jobs_py node1 check 1000
fails "the daemon of the one before it ended" on node2 gnt-cluster master-ping

# As the node daemon starts one for an order that comes late.
vc kill "$VC" node1 masterd >/dev/null
succeeds "a standby on the node of a master that died" on node1 gantry-masterd --standby
succeeds "makes way for it" vc start "$VC" node1 masterd
succeeds "and it serves" on node1 gnt-cluster master-ping
tap_done
