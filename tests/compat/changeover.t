#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of Debian's Ganeti gets our daemons, gets Ganeti's back, and ours
# again, in the steps of doc/replace-ganeti.md.  All that it has is listed the
# same each time, and it is worked with each time.  Its nodes are hosts of their
# own (tests/lib/hosts.sh), with the paths, ports and users of real ones.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/ganeti.sh"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_start 3
nodes="node1 node2 node3"
master=node1
quick="$quick --no-wait-for-sync"

# ours COMMAND..., theirs COMMAND...: on the master
ours() {
    on "$master" timeout 120 "$@"
}
theirs() {
    program=$1
    shift
    on "$master" timeout 120 "/usr/sbin/$program" "$@"
}

# --- the steps ---

gone() { # PID
    ! kill -0 "$1"
}

# Ends the daemons of a host by their pid files.
stop_daemons() { # HOST NAME...
    run=$(root "$1")/run/ganeti
    shift
    for daemon in "$@"; do
        [ -s "$run/ganeti-$daemon.pid" ] || continue
        pid=$(cat "$run/ganeti-$daemon.pid")
        kill "$pid" 2>/dev/null || continue
        until_true 60 gone "$pid" || return 1
    done
}

# The queue stops taking jobs, and has none.
drain() { # ours|theirs
    "$1" gnt-cluster queue drain &&
        [ -z "$("$1" gnt-job list --running --no-headers -o id)" ]
}

stop_theirs() {
    for node in $nodes; do
        stop_daemons "$node" luxid rapi wconfd mond kvmd confd noded metad &&
            cp -a "$(root "$node")/var/lib/ganeti" "$HOSTS/$1-$node" || return 1
    done
}

start_ours() {
    for node in $nodes; do
        on "$node" gantry-noded || return 1
    done
    ours gantry-masterd && ours gnt-cluster queue undrain
}

stop_ours() {
    stop_daemons "$master" masterd || return 1
    # The node daemons start a standby on each candidate.
    for node in $nodes; do
        stop_daemons "$node" noded masterd || return 1
    done
}
queue_is_free() {
    for node in $nodes; do
        flock -n "$(root "$node")/var/lib/ganeti/queue/lock" true || return 1
    done
}

# The nodes side by side: each start of a daemon is a second of Python.
start_theirs() {
    pids=
    for node in $nodes; do
        on "$node" sh -c '
            /usr/lib/ganeti/ensure-dirs &&
            /usr/lib/ganeti/daemon-util start-all' &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || return 1
    done
    until_true 60 theirs gnt-cluster queue undrain
}

# to_ours NAME, to_theirs: the whole change, which tells its first failure
to_ours() {
    succeeds "$1: the queue is drained" drain theirs
    succeeds "the watcher is paused" theirs gnt-cluster watcher pause 1h
    succeeds "Ganeti's daemons end" stop_theirs "$2"
    succeeds "ours start" start_ours
}
to_theirs() {
    succeeds "$1: the queue is drained" drain ours
    succeeds "our daemons end" stop_ours
    succeeds "and leave the queue to Ganeti's" queue_is_free
    succeeds "Ganeti's start" start_theirs
}

# --- what is compared ---

# list ours|theirs WORDS: one of the lists
list() {
    echo "== $2"
    case $2 in
    # Ganeti tells parameters in another order each time.
    "cluster info") "$1" gnt-cluster info | sed 's/^    - /      /' | sort ;;
    "job list "*) "$1" gnt-$2 | head -n "$n_jobs" ;;
    *) "$1" gnt-$2 ;;
    esac 2>&1
}

# lists ours|theirs: all that commands list, without what changes by itself; two
# at a time, as each of Ganeti's is half a second of Python
lists() {
    bare="--no-headers --separator=|"
    n=0
    for words in \
        "cluster info" \
        "job list $bare -o id,status,summary" \
        "job info $kept_jobs" \
        "cluster list-tags" \
        "node list $bare -o name,role,group,pip,sip,pinst_list,tags,uuid,serial_no" \
        "group list $bare -o name,uuid,alloc_policy,node_cnt,tags,ipolicy" \
        "network list $bare -o name,uuid,network,gateway,group_list,map,tags" \
        "instance list $bare -o name,uuid,pnode,status,oper_ram,os,tags,\
network_port,be/maxmem,be/vcpus,disk_template,disk.sizes,disk.uuids,nic.macs,\
nic.ips,nic.networks.names" \
        "filter list $bare -o uuid,priority,predicates,action,reason_trail" \
        "os list" \
        "backup list $bare -o node,export"; do
        n=$((n + 1))
        list "$1" "$words" >"$HOSTS/list$(printf %02d $n)" &
        [ $((n % 2)) = 1 ] || wait
    done
    wait
    cat "$HOSTS"/list??
}

# same NAME ours|theirs: it lists what was listed last
same() {
    lists "$2" >"$HOSTS/after"
    is "$(diff "$HOSTS/before" "$HOSTS/after")" "" "$1"
}

# What verify finds, but for what the hosts' /proc lacks.
errors() { # ours|theirs
    "$1" gnt-cluster verify 2>&1 | grep ERROR | grep -v 'node setup error'
}

# work ours|theirs NAME NODE OTHER: what is done each time
work() {
    succeeds "an instance is added" "$1" gnt-instance add $quick -t sharedfile \
        -s 8m --net 0:network=lan,ip=pool -n "$3" "$2"
    succeeds "it is changed" "$1" gnt-instance modify -B maxmem=160,minmem=160 "$2"
    succeeds "it fails over" "$1" gnt-instance failover -f -n "$4" "$2"
    succeeds "an older one is stopped" "$1" gnt-instance shutdown i2
    succeeds "and started" "$1" gnt-instance startup i2
    fails "the filter holds" "$1" gnt-debug delay 0.01
    is "$(errors "$1")" "" "verify is content"
}

# --- Ganeti's cluster ---

begin() {
    for node in $nodes; do
        prepare "$node" || return 1
    done
    theirs gnt-cluster init $options cluster.example.com &&
        theirs gnt-node add --no-ssh-key-check node2.example.com &&
        theirs gnt-node add --no-ssh-key-check node3.example.com
}
fill() {
    theirs gnt-group add --alloc-policy=last_resort spare &&
        theirs gnt-network add --network=198.51.100.0/24 \
            --gateway=198.51.100.1 --add-reserved-ips=198.51.100.9 lan &&
        theirs gnt-network connect -N mode=bridged,link=br0 lan default &&
        theirs gnt-instance add $quick -t file -s 16m \
            --net 0:network=lan,ip=pool -n node1 i1.example.com &&
        theirs gnt-instance add $quick -t sharedfile -s 8m \
            --net 0:mac=generate -n node2 i2.example.com &&
        theirs gnt-instance add $quick -t diskless --no-start -n node3 \
            i3.example.com &&
        theirs gnt-backup export -n node2 --long-sleep i1 &&
        theirs gnt-cluster add-tags all:of:it &&
        theirs gnt-instance add-tags i1 web &&
        theirs gnt-job archive 1 &&
        theirs gnt-filter add --priority=3 --action=REJECT \
            --predicates='[["opcode", ["=", "OP_ID", "OP_TEST_DELAY"]]]'
}
succeeds "a cluster of Ganeti's begins" begin
succeeds "and is filled" fill
# What is there now is what is there after the next change.
remember() { # ours|theirs
    kept_jobs="1 2 $("$1" gnt-job list --no-headers -o id | tail -1)"
    n_jobs=$("$1" gnt-job list --no-headers -o id | wc -l)
    lists "$1" >"$HOSTS/before"
}
remember theirs
like "$(grep -A99 '^== network' "$HOSTS/before")" '^i1.example.com.*198.51.100' \
    "and lists what it has"
fails "our node daemon does not start beside Ganeti's" on node2 gantry-noded
like "$out" 'ganeti-noded.pid is locked' "and says what is in the way"

to_ours "to Gantry" copy1
same "all is there" ours
like "$(ours gnt-cluster watcher info)" 'is paused until' "the watcher still waits"
succeeds "what nodes have is recorded" ours gnt-node refresh-state
work ours i4.example.com node1 node3
succeeds "an old one goes" ours gnt-instance remove -f i3
succeeds "another node becomes master" on node2 gnt-cluster master-failover
master=node2
is "$(errors ours)" "" "verify is content, so all reach its address"
like "$(ours gnt-job info 1)" 'Status: success' "it has the history"

remember ours
to_theirs "back to Ganeti"
same "all is there" theirs
work theirs i5.example.com node2 node1
succeeds "one of ours goes" theirs gnt-instance remove -f i4
like "$(theirs gnt-job info 1)" 'Status: success' "the history is there"

remember theirs
to_ours "to Gantry again" copy2
same "all is there" ours
work ours i6.example.com node3 node2
for name in i1 i2 i5 i6; do
    succeeds "$name is removed" ours gnt-instance remove -f $name
done
tap_done
