#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API: Debian's own ganeti-rapi beside ours, at the same master
# (test_rapi_peer.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
theirs=/usr/share/ganeti/3.0/ganeti/server/rapi.py
[ -f "$theirs" ] || skip_all "the package ganeti is not installed"
rapi_cluster
add inst1.example.com -t sharedfile -s 4m -n node1.example.com --net 0:link=br0 >/dev/null
add inst2.example.com -t diskless -n node2.example.com --no-start >/dev/null
m gnt-instance add-tags inst1.example.com blue >/dev/null
m gnt-network add --network=192.0.2.0/28 net1 >/dev/null
m gnt-network connect --nic-parameters mode=bridged,link=br0 net1 >/dev/null
m gnt-filter add --action=REJECT \
    '--predicates=[["opcode", ["=", "OP_ID", "OP_NONE_SUCH"]]]' >/dev/null

# Theirs has a pid file and logs of its own, and all else of our master's node.
twin=$VC/theirs/node1.example.com
mkdir -p "$twin/var/run/ganeti" "$twin/var/log/ganeti" "$twin/var/lib"
ln -s "$(root node1)/var/lib/ganeti" "$twin/var/lib/ganeti"
ln -s "$(root node1)/var/run/ganeti/socket" "$twin/var/run/ganeti/socket"
GANETI_ROOTDIR=$twin GANETI_HOSTNAME=node1.example.com /usr/bin/python3 -c '
import sys
sys.path.insert(0, "/usr/share/ganeti/3.0")
from ganeti import daemon
daemon._VerifyDaemonUser = lambda name: (True, 0, 0)
from ganeti.server import rapi
sys.exit(rapi.Main())' -f -b "${api_address%:*}" -p 5081 >"$VC/peer.log" 2>&1 &
peer=$!
if until_true 20 curl -sk "https://${api_address%:*}:5081/version"; then
    /usr/bin/python3 "$(dirname "$0")/test_rapi_peer.py" "$api_address" \
        "${api_address%:*}:5081"
else
    tap_point 1 "Debian's ganeti-rapi starts"
    note "$(tail -3 "$VC/peer.log")"
    tap_done
fi
kill "$peer"
wait "$peer" 2>/dev/null
