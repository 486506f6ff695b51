#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Creations place one after the other and install side by side.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 6
m gnt-cluster modify --max-running-jobs=64 >/dev/null

# An OS that says that it has begun, and ends when the test says so.
gate=$VC/gate
mkdir "$gate"
for node in node1 node2 node3 node4 node5 node6; do
    os=$(root $node)/srv/ganeti/os/gated
    mkdir -p "$os"
    cp "$(root $node)"/usr/share/ganeti/os/noop/* "$os/"
    cat >"$os/create" <<E2
#!/bin/sh
touch "$gate/\$INSTANCE_NAME"
i=0
while [ ! -e "$gate/go" ] && [ \$i -lt 1500 ]; do
    sleep 0.02
    i=\$((i + 1))
done
E2
    chmod +x "$os/create"
done

submit() { # NAME: its job
    m gnt-instance add --submit --print-jobid --no-name-check --no-ip-check \
        -o gated -t sharedfile -s 4m -I hail -B memory=64 "$1" 2>/dev/null |
        head -1
}
installs() { # NAME...: all have begun
    for name in "$@"; do
        [ -e "$gate/$name" ] || return 1
    done
}
node_of() { # NAME
    m gnt-instance list --no-headers -o pnode "$1"
}
state() { # ID
    m gnt-job list --no-headers -o status "$1"
}

# Two at once: the second is placed while the first installs.
first=$(submit web1)
until_true 20 installs web1
second=$(submit web2)
until_true 20 installs web2
is "$?" 0 "the second one installs"
is "$(state "$first")" running "while the first one does"
like "$(m gnt-job info "$second")" \
    'Selected nodes for instance web2 via iallocator hail: node[1-6]' \
    "the log says where it was placed"
[ "$(node_of web1)" != "$(node_of web2)" ]
tap_point $? "on another node"
is "$(m gnt-debug locks --no-headers -o name,mode | grep -c '^node')" 0 \
    "no lock of a node is held meanwhile"
touch "$gate/go"
succeeds "the first one ends" m gnt-job wait "$first"
succeeds "the second one ends" m gnt-job wait "$second"

# Many at once, and a node goes away in the middle.
rm -f "$gate/go"
jobs= names=
m gnt-node remove node5 >"$VC/removal" 2>&1 &
removal=$!
for i in 1 2 3 4 5 6; do
    names="$names a$i"
    jobs="$jobs $(submit "a$i")"
done
wait "$removal"
gone=$?
for i in 1 2 3 4 5 6; do
    names="$names b$i"
    jobs="$jobs $(submit "b$i")"
done
# shellcheck disable=SC2086
until_true 60 installs $names
is "$?" 0 "twelve install at the same time"
touch "$gate/go"
for job in $jobs; do
    m gnt-job wait "$job" >/dev/null 2>&1
done
is "$(m gnt-instance list --no-headers -o name | wc -l)" 14 "all are there"
if [ "$gone" = 0 ]; then
    is "$(m gnt-instance list --no-headers -o pnode | grep -c node5)" 0 \
        "none is on the node that was removed"
else
    like "$(cat "$VC/removal")" 'is still on node node5' \
        "the node that has instances was not removed"
fi
is "$(m gnt-instance list --no-headers -o nic.mac/0 | sort -u | wc -l)" 14 \
    "no address was given twice"
succeeds "the cluster is in order" m gnt-cluster verify
tap_done
