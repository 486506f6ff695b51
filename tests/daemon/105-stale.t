#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who may not become master: with old data, without a majority, as one of two at
# a time.  And a master that was paused while another took over does nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 5
vc() { "$BIN/gnt-vcluster" "$@"; }
pid() { cat "$(root "$1")/var/run/ganeti/ganeti-$2.pid"; }
tags() { on "$1" gnt-cluster list-tags | grep -c '^stale:'; }
changes() { # FROM TO: that many changes of the configuration
    for i in $(seq "$1" "$2"); do
        m gnt-cluster add-tags "stale:$i" || return 1
    done
}

# All five vote: who is away counts from now on.
vote() { grep -q 'has 5 voters' "$(root node1)/var/log/ganeti/master-daemon.log"; }
until_true 30 vote

# node5 is away while the configuration changes, and then only a node that has not
# seen the changes either is left beside it: one that went before, as otherwise
# that one could have something newer.
vc stop "$VC" node4
vc stop "$VC" node5
succeeds "100 changes" changes 1 100
vc kill "$VC" node1
vc kill "$VC" node2
vc kill "$VC" node3
vc start "$VC" node5 >/dev/null
vc start "$VC" node4 >/dev/null
fails "a stale candidate does not become master" \
    on node5 gnt-cluster master-failover
like "$out" 'do not answer: node1.example.com, node2.example.com, node3.example.com' \
    "and names those that are missing"
fails "its master daemon does not start" on node5 gantry-masterd
like "$out" 'the master of the cluster is node1.example.com' "and says whose"

# With one that has them it takes them over.
vc start "$VC" node2 >/dev/null
succeeds "with one that has newer data it becomes master" \
    on node5 gnt-cluster master-failover
is "$(tags node5)" 100 "nothing is lost"

# A master that is paused; another takes over.
vc start "$VC" node1 >/dev/null
vc start "$VC" node3 >/dev/null
knows() { [ "$(on "$1" gnt-cluster getmaster)" = "$2.example.com" ]; }
until_true 20 knows node1 node5
until_true 20 knows node3 node5
paused=$(pid node5 masterd)
kill -STOP "$paused"
vc stop "$VC" node5 noded
succeeds "a paused master is replaced" on node2 gnt-cluster master-failover
kill -CONT "$paused"
timeout 20 "$BIN/gnt-vcluster" exec "$VC" node5 -- gnt-cluster add-tags late \
    >/dev/null 2>&1 && late=yes || late=no
is "$late" no "it acknowledges nothing when it goes on"
gone() { ! alive "$paused"; }
until_true 30 gone
succeeds "it ends" gone
like "$(tail -5 "$(root node5)/var/log/ganeti/master-daemon.log")" \
    'ends at once with status 11' "as one that was replaced"
vc start "$VC" node5 noded >/dev/null
is "$(tags node2)" 100 "the new one has everything"
unlike "$(on node2 gnt-cluster list-tags)" late "and nothing else"

# Two at once.
masters() {
    n=0
    for node in node1 node2 node3 node4 node5; do
        on $node gnt-cluster master-ping && n=$((n + 1))
    done 2>/dev/null
    echo $n
}
until_true 20 knows node5 node2
on node3 gnt-cluster master-failover >"$VC/3" 2>&1 &
one=$!
on node4 gnt-cluster master-failover >"$VC/4" 2>&1 &
other=$!
won=0
if wait $one; then won=$((won + 1)); fi
if wait $other; then won=$((won + 1)); fi
note "$won of two failovers at once won"
# One after the other is no harm: then the second stopped the first.
[ "$(masters)" -le 1 ] && rc=0 || rc=1
is "$rc" 0 "after two failovers at once there are not two masters"
if [ "$(masters)" = 0 ]; then
    on node3 gnt-cluster master-failover >/dev/null 2>&1 || true
fi
is "$(masters)" 1 "there is one then"
is "$(tags "$(vc list "$VC" | sed -n 's/\..* Y .*//p')")" 100 "which has all"
cluster_end

# Two nodes, and one is down.
cluster_start --nodes 2
vc kill "$VC" node1
fails "one of two does not take over alone" on node2 gnt-cluster master-failover
like "$out" 'node1.example.com.*gnt-cluster recover --drop' "and says how it would"
fails "--no-voting wants a yes" on node2 gnt-cluster master-failover --no-voting
succeeds "--no-voting does" \
    on node2 gnt-cluster master-failover --no-voting --yes-do-it
succeeds "and it serves" on node2 gnt-debug delay 0.01
tap_done
