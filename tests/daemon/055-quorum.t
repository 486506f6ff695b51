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
until_true 10 logged 'fails to keep'
like "$(m gnt-cluster verify 2>&1)" 'NOTICE: master candidates fail.*node2' \
    "and names it"
vc start "$VC" node2 noded
caught_up() {
    [ "$(m gnt-cluster verify 2>&1 | grep -c 'candidates fail')" = 0 ]
}
until_true 20 caught_up
same() { diff -r -x journal -x lock -x 'history.db*' "$(queue node1)" "$(queue "$1")"; }
until_true 20 same node2
succeeds "its copy is ours again" same node2

# The daemons of both do not run: they cannot have another master.
vc stop "$VC" node2 noded
vc stop "$VC" node3 noded
succeeds "jobs run without any candidate's daemon" m gnt-debug delay 0.01
like "$(m gnt-cluster verify 2>&1)" \
    'ERROR: cluster : more than half of the master candidates .*node2.*node3' \
    "which verify calls an error"
vc start "$VC" node2 noded
vc start "$VC" node3 noded
until_true 20 caught_up

# Both are silent: they may be on the other side, with another master.
kill -STOP "$(pid node2)" "$(pid node3)"
mark_log
m gnt-debug delay 0.01 >"$VC/flight" 2>&1 &
flight=$!
until_true 30 logged 'More than half'
fails "a new job is refused" m gnt-debug delay 0.01
like "$out" 'do not answer \(node2.example.com, node3.example.com\)' \
    "with the names of the silent"
succeeds "what was on its way waits" kill -0 $flight
kill -CONT "$(pid node2)" "$(pid node3)"
if wait $flight; then rc=0; else rc=$?; fi
is "$rc" 0 "and is done when one answers again"
until_true 20 caught_up
until_true 20 same node3
succeeds "all have the same then" same node3
tap_done
