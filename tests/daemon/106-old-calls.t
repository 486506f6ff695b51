#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A master dies while a node works for it.  What the node is in the middle of is
# waited for by the next one; and it begins nothing more for the old one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "kill ends the daemons of a node"
cluster_start --nodes 3
vc() { "$BIN/gnt-vcluster" "$@"; }

# An OS whose installation takes until somebody says so, for as long as the test
# may take at most.
for node in node1 node2 node3; do
    os=$(root $node)/srv/ganeti/os/slow
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    cat >"$os/create" <<END
#!/bin/sh
[ -e '$VC/slow' ] || exit 0
: >'$VC/begun'
i=0
while [ ! -e '$VC/go' ] && [ \$i -lt 1200 ]; do i=\$((i + 1)); sleep 0.1; done
: >'$VC/done'
END
    chmod +x "$os/create"
done
succeeds "an instance" m gnt-instance add --no-name-check --no-ip-check \
    -t sharedfile -s 4m -n node2 -o slow --no-start web1
add web2 -t diskless -n node2 >/dev/null 2>&1

: >"$VC/slow"
m gnt-instance reinstall --submit -f web1 >/dev/null 2>&1
begun() { [ -e "$VC/begun" ]; }
succeeds "node2 installs it" until_true 30 begun
vc kill "$VC" node1
succeeds "another master takes over" on node3 gnt-cluster master-failover
id=$(on node3 gnt-instance startup --submit web1 2>&1 | grep -Eo '[0-9]+' |
    head -1)
waits() { on node3 gnt-job info "$id" | grep -q 'Waiting for node node2'; }
succeeds "its job for that instance waits" until_true 30 waits
like "$(on node3 gnt-job info "$id")" \
    'node2.example.com, which still executes instance_os_add of a former master' \
    "and says for what"
like "$(cat "$(root node3)/var/log/ganeti/master-daemon.log")" \
    'node2.example.com still executes instance_os_add for instance web1' \
    "as does the daemon's log"
is "$(on node3 gnt-instance list --no-headers -o oper_state web1)" N \
    "it is not started meanwhile"
succeeds "a job for another instance does not wait" \
    on node3 gnt-instance reboot web2
is "$(test -e "$VC/done" && echo done)" "" "the installation still runs then"
: >"$VC/go"
succeeds "when it has ended the job goes on" on node3 gnt-job watch "$id"
is "$(test -e "$VC/done" && echo done)" done "not before"
is "$(on node3 gnt-instance list --no-headers -o oper_state web1)" Y \
    "and starts the instance"

# A guest that does not listen; node1, which is back, is to be master again.
vc start "$VC" node1 >/dev/null
caught_up() { ! on node3 gnt-cluster verify 2>&1 | grep -q 'candidates fail'; }
until_true 30 caught_up
state=$(root node2)/var/run/ganeti/fake-hypervisor/web1
echo deaf >>"$state"
on node3 gnt-instance reboot --submit -t hard --shutdown-timeout=600 web1 >/dev/null
asked() { grep -q asked "$state"; }
succeeds "a reboot waits for the guest's end" until_true 30 asked
vc kill "$VC" node3
succeeds "its master is replaced" on node1 gnt-cluster master-failover
rm -f "$state"
refused() {
    grep -q 'instance_reboot failed.*has promised term' \
        "$(root node2)/var/log/ganeti/node-daemon.log"
}
succeeds "when the guest has ended the reboot ends" until_true 30 refused
is "$(test -e "$state" && echo runs)" "" "and starts nothing"
tap_done
