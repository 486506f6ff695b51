#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The master daemon is killed in the middle of gnt-cluster renew-crypto, later
# each time, and another candidate takes over: the cluster works, verify is
# content or names the renewal, and that can be done again.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
here=$(cd "$(dirname "$0")" && pwd)
cluster_start --nodes 4
m gnt-cluster modify -C 3 >/dev/null 2>&1
m gnt-node modify -f -C no node4 >/dev/null 2>&1
data() { echo "$(root "$1")/var/lib/ganeti"; }
temporary() { # what a renewal puts down
    find "$VC"/node* -name '*.pem.new' -o -name trusted.pem -o -name renewal
}

# Kill the master daemon of a node as soon as something is to be seen.
kill_at() { # MASTER WHAT SEEN-BY
    python3 "$here/kill_at.py" "$2" "$(data "$3")" \
        "$(root "$1")/var/run/ganeti/ganeti-masterd.pid"
}

# A renewal that is given up when the master has gone: the command would wait for
# another one.
renew() { # MASTER
    exec_on "$1" gnt-cluster renew-crypto -f --new-cluster-certificate \
        --new-node-certificates >/dev/null 2>&1 &
    client=$!
    until_true 90 one_has_ended
    end_own $client
    wait $client
}
one_has_ended() { ! alive $client || ! alive $killer; }

round() { # MASTER WHAT NEXT
    kill_at "$1" "$2" node4 >"$VC/killed" 2>&1 &
    killer=$!
    until_true 20 grep -q ready "$VC/killed"
    # A busy machine may not see the moment; so there is another renewal then.
    for try in 1 2 3 4 5; do
        alive $killer || break
        renew "$1"
    done
    if wait $killer; then rc=0; else rc=$?; fi
    is "$rc" 0 "$2: the master daemon is killed"
    [ "$rc" = 0 ] || note "$(cat "$VC/killed")"
    succeeds "$2: another node takes over" on "$3" gnt-cluster master-failover
    succeeds "$2: jobs run on all nodes" on "$3" gnt-debug delay \
        -n node1 -n node2 -n node3 -n node4 0.01
    on "$3" gnt-cluster verify --error-codes >"$VC/verify" 2>&1
    # the nodes switch at once, so some of them may not have done so yet
    is "$(grep ERROR: "$VC/verify" | grep -v \
        -e 'ERROR:ECLUSTERCERT:cluster:None:.*renewal of certificates is not complete' \
        -e 'ERROR:ECLUSTERFILECHECK:cluster:None:File .*/server.pem found with 2 ')" \
        "" "$2: verify finds nothing else"
    complete=$(grep -c 'is not complete' "$VC/verify")
    [ "$complete" -gt 0 ] || [ -z "$(temporary | grep trusted)" ]
    tap_point $? "$2: and that when old certificates are still good" ||
        note "$(temporary)" "$(cat "$VC/verify")"
    succeeds "$2: it is done again" on "$3" gnt-cluster renew-crypto -f \
        --new-cluster-certificate --new-node-certificates
    succeeds "$2: verify is content" on "$3" gnt-cluster verify
    is "$(temporary)" "" "$2: nothing is left lying about"
    is "$(for n in node1 node2 node3 node4; do sha256sum <"$(data $n)/server.pem"
    done | sort -u | wc -l)" 1 "$2: one certificate"
}

round node1 staged node2
round node2 both-trusted node3
round node3 switched node1
round node1 forgotten node2
tap_done
