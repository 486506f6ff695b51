#!/bin/sh
# When a change is safe: candidates that are away, refuse or are silent.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
vc() { "$BIN/gnt-vcluster" "$@"; }
queue() { echo "$(root "$1")/var/lib/ganeti/queue"; }
log=$(root node1)/var/log/ganeti/master-daemon.log
pid() { cat "$(root "$1")/var/run/ganeti/ganeti-noded.pid"; }
logged() { tail -n +"$((seen + 1))" "$log" | grep -q "$1"; }
mark_log() { seen=$(wc -l <"$log"); }

# node2 is away while jobs run and are archived.
m gnt-debug delay 0.01 >/dev/null
vc stop "$VC" node2 noded
mark_log
for _ in 1 2 3; do
    m gnt-debug delay 0.01 >/dev/null
done
m gnt-job archive 1 >/dev/null
noticed() { m gnt-cluster verify 2>&1 | grep -q 'NOTICE: master candidates fail.*node2'; }
succeeds "verify names who is away" until_true 20 noticed
vc start "$VC" node2 noded
caught_up() {
    [ "$(m gnt-cluster verify 2>&1 | grep -c 'candidates fail')" = 0 ]
}
until_true 20 caught_up
same() { diff -r -x journal -x lock -x 'history.db*' "$(queue node1)" "$(queue "$1")"; }
until_true 20 same node2
succeeds "its copy is ours again" same node2

# Both are away: they may have another master.  What is on its way waits, and new
# work is refused.
flight() { # starts a job that cannot be kept now
    m gnt-debug delay 0.01 >"$VC/flight" 2>&1 &
    flight=$!
}
both_away() { # HOW: by what
    flight
    succeeds "$1: the master notices" until_true 30 logged 'too many master candidates do not answer'
    fails "$1: a new job is refused" m gnt-debug delay 0.01
    like "$out" 'do not answer: node2.example.com, node3.example.com' \
        "$1: with the names of those that are missing"
    succeeds "$1: queries are answered" m gnt-node list
    succeeds "$1: what was on its way waits" kill -0 $flight
}
one_back() {
    if wait $flight; then rc=0; else rc=$?; fi
    is "$rc" 0 "$1: it is done when one answers again"
}
mark_log
vc stop "$VC" node2 noded
vc stop "$VC" node3 noded
both_away "stopped"
vc start "$VC" node2 noded
one_back "stopped"
vc start "$VC" node3 noded
until_true 20 caught_up
mark_log
kill -STOP "$(pid node2)" "$(pid node3)"
both_away "silent"
kill -CONT "$(pid node2)" "$(pid node3)"
one_back "silent"
until_true 20 caught_up
until_true 20 same node3
succeeds "all have the same then" same node3
tap_done
