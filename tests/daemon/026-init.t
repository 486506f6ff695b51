#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cluster made and destroyed by hand.  The node's name is its loopback address,
# so that it resolves without anybody's help.
. "$(dirname "$0")/../lib/tap.sh"
: "${BIN:?BIN must name the folder of the programs}"
host=127.$(($$ % 200 + 20)).$(($$ / 200 % 250 + 1)).7
TOP=$(mktemp -d /tmp/gni.XXXXXX)
mkdir "$TOP/$host"
export GANETI_ROOTDIR="$TOP/$host" GANETI_HOSTNAME="$host"
PATH=$BIN:$PATH

end() { # whatever runs is ours: its pid files are below our root
    for daemon in masterd noded; do
        file=$GANETI_ROOTDIR/var/run/ganeti/ganeti-$daemon.pid
        [ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
    done
    rm -rf "$TOP"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

fails "nothing answers before" gnt-cluster info
like "$out" 'not initialized' "and it says why"
fails "an unknown hypervisor is refused" \
    gnt-cluster init --enabled-hypervisors=vax "$host"
like "$out" vax "by name"
fails "a name that does not resolve is refused" \
    gnt-cluster init --enabled-hypervisors=fake no.such.name.invalid
like "$out" 'no.such.name.invalid' "by name, too"

succeeds "init makes a cluster" gnt-cluster init \
    --enabled-hypervisors=fake --enabled-disk-templates=diskless \
    --master-netdev=lo -B memory=64m,vcpus=1 -C 3 "$host"
is "$(gnt-cluster getmaster)" "$host" "this node is its master"
gnt-cluster info >"$TOP/info"
like "$(cat "$TOP/info")" 'candidate pool size: 3$' "options count"
like "$(cat "$TOP/info")" ' maxmem: 64$' "with their types"
is "$(gnt-job list --no-headers --separator=: -o status,summary)" \
    "success:CLUSTER_POST_INIT" "the first job has run"
fails "a second init is refused" \
    gnt-cluster init --enabled-hypervisors=fake "$host"
fails "destroy wants to hear it twice" gnt-cluster destroy
like "$out" 'yes-do-it' "and says how"
succeeds "destroy ends it" gnt-cluster destroy --yes-do-it
fails "nothing answers after" gnt-cluster info
is "$(ls "$GANETI_ROOTDIR/var/run/ganeti/"*.pid 2>/dev/null)" "" \
    "no daemon is left"
is "$(ls "$GANETI_ROOTDIR/var/lib/ganeti/config.data" 2>/dev/null)" "" \
    "nor the configuration"
tap_done
