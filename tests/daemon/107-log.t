#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The replicated log under real processes: candidates change while jobs come in
# and the master dies; a disk that was put back to an older image is told apart;
# a candidate takes over by itself where the cluster wants that; and the cluster
# goes on without candidates that are lost.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
here=$(cd "$(dirname "$0")" && pwd)
cluster_start --nodes 5
vc() { "$BIN/gnt-vcluster" "$@"; }
socket() { echo "$(root "$1")/var/run/ganeti/socket/ganeti-query"; }
pid() { cat "$(root "$1")/var/run/ganeti/ganeti-$2.pid"; }
acknowledged=$VC/acknowledged
jobs_py() { # NODE submit|check N
    python3 "$here/failover_jobs.py" "$(socket "$1")" "$acknowledged" "$2" "$3"
}
log_of() { echo "$(root "$1")/var/lib/ganeti/consensus"; }
server_of() { od -An -tx1 "$(log_of "$1")/server"; }
candidates() { on "$1" gnt-node list --no-headers -o name -F master_candidate | tr '\n' ' '; }

# --- candidates change while jobs come in, and the master dies ---

jobs_py node1 submit 1000 &
submitter=$!
some() { [ "$(wc -l <"$acknowledged")" -ge "$1" ]; }
until_true 60 some 200
succeeds "a candidate is demoted while jobs come in" \
    m gnt-node modify --master-candidate=no --auto-promote node2.example.com
succeeds "another one, too" m gnt-node modify --master-candidate=no --auto-promote node3.example.com
succeeds "and the first is promoted again" \
    m gnt-node modify --master-candidate=yes node2.example.com
until_true 60 some 600
vc kill "$VC" node1
wait $submitter
for node in node2 node4 node5; do
    out=$(on $node gnt-cluster master-failover 2>&1) && break
done
master=$node
like "$out" 'follow node' "a candidate takes over"
succeeds "the rest of the jobs goes to it" jobs_py "$master" submit 1000
succeeds "all acknowledged jobs are final, none is lost or there twice" \
    jobs_py "$master" check 1000

# --- an older image of a disk ---

config_of() { echo "$(root "$1")/var/lib/ganeti/config.data"; }
same_config() { cmp -s "$(config_of "$master")" "$(config_of "$1")"; }
vc start "$VC" node1 >/dev/null
back() { [ -f "$(log_of node1)/server" ] && same_config node1; }
until_true 60 back
other=node5
[ "$master" = node5 ] && other=node4
succeeds "a candidate is there" \
    on "$master" gnt-node modify --master-candidate=yes "$other.example.com"
has_log() { [ -f "$(log_of "$other")/server" ]; }
until_true 30 has_log
on "$master" gnt-cluster add-tags before
vc stop "$VC" "$other"
cp -a "$(log_of "$other")" "$VC/image"
vc start "$VC" "$other" >/dev/null
until_true 30 has_log
on "$master" gnt-cluster add-tags after1
on "$master" gnt-cluster add-tags after2
until_true 30 same_config "$other"
vc stop "$VC" "$other"
was=$(server_of "$other")
rm -rf "$(log_of "$other")"
cp -a "$VC/image" "$(log_of "$other")"
is "$(server_of "$other")" "$was" "the image is of the same server"
vc start "$VC" "$other" >/dev/null
renewed() {
    now=$(server_of "$other" 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$was" ]
}
until_true 60 renewed
succeeds "it takes part as a new server" renewed
like "$(cat "$(root "$other")"/var/log/ganeti/master-daemon.log)" \
    'put back to an older image' "and its log says why"
until_true 30 same_config "$other"
succeeds "it has everything" same_config "$other"

# --- by itself ---

succeeds "the cluster wants failover by itself" \
    on "$master" gnt-cluster modify --master-failover=automatic
like "$(on "$master" gnt-cluster info)" 'master failover: automatic' "and shows that"
is "$(on "$master" gnt-job list --no-headers -o status -F 'status != "success" and status != "error"')" "" "nothing runs"
old=$master
vc kill "$VC" "$old"
new_master() {
    for node in node1 node2 node4 node5; do
        [ "$node" = "$old" ] && continue
        on "$node" gnt-cluster master-ping && master=$node && return
    done
    return 1
} 2>/dev/null
until_true 60 new_master
unlike "$master" "^$old\$" "a candidate took over without an order"
like "$(on "$master" gnt-cluster list-tags)" after2 "with everything"
succeeds "and it goes on" on "$master" gnt-cluster add-tags later
vc start "$VC" "$old" >/dev/null
knows() { [ "$(on "$old" gnt-cluster getmaster)" = "$master.example.com" ]; }
until_true 30 knows
succeeds "the former one knows it" knows
succeeds "failover is manual again" \
    on "$master" gnt-cluster modify --master-failover=manual
cluster_end

# --- without those that are lost ---

cluster_start --nodes 3
m gnt-cluster add-tags kept
until_true 20 test -f "$(log_of node2)/server"
until_true 20 test -f "$(log_of node3)/server"
three() { grep -q 'has 3 voters' "$(root node1)/var/log/ganeti/master-daemon.log"; }
until_true 20 three
vc kill "$VC" node2
vc kill "$VC" node3
# Whoever asks learns it after an election's time.
refused() { ! timeout 20 "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-cluster add-tags refused; }
until_true 20 refused
out=$(m gnt-cluster add-tags refused 2>&1)
like "$out" 'node2.example.com, node3.example.com.*gnt-cluster recover --drop' \
    "without a majority a change is refused, and the way out is named"
succeeds "queries are answered" m gnt-node list
fails "recover wants names" m gnt-cluster recover --yes-do-it
like "$out" '--drop NODE' "and says so"
fails "it does not go on without an answer" m gnt-cluster recover --drop node2.example.com --drop node3.example.com
vc start "$VC" node3 >/dev/null
fails "a node that answers is not lost" \
    m gnt-cluster recover --yes-do-it --drop node2.example.com --drop node3.example.com
like "$out" 'node3.example.com answers' "and is named"
vc kill "$VC" node3
fails "who is silent has to be named" \
    m gnt-cluster recover --yes-do-it --drop node2.example.com
like "$out" 'node3.example.com does not answer either' "each of them"
succeeds "a refusal leaves the master as it was" m gnt-node list
# It has a majority once more, and does not know yet that this one is gone.
vc start "$VC" node3 >/dev/null
works() { timeout 20 "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-cluster add-tags kept2; }
succeeds "with one of them changes can be made" until_true 60 works
vc kill "$VC" node3
succeeds "without both the cluster goes on" \
    m gnt-cluster recover --yes-do-it --drop node2.example.com --drop node3.example.com
like "$(m gnt-cluster list-tags)" kept "with what it had"
succeeds "and takes changes" m gnt-cluster add-tags alone
was=$(server_of node2)
vc start "$VC" node2 >/dev/null
vc start "$VC" node3 >/dev/null
joined() {
    [ "$(server_of node2)" != "$was" ] &&
        [ "$(grep -c 'has 3 voters' "$(root node1)/var/log/ganeti/master-daemon.log")" = 2 ]
}
until_true 60 joined
succeeds "those that come back take part as new ones" joined
vc kill "$VC" node1
succeeds "and can take over" on node2 gnt-cluster master-failover
like "$(on node2 gnt-cluster list-tags)" alone "with everything"
tap_done
