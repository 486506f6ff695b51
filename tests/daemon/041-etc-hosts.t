#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cluster that keeps /etc/hosts has nodes in it that come, and not those that have
# gone.  The files are below the roots of the nodes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
hosts() { echo "$(root "$1")/etc/hosts"; }
machine=$(sha256sum </etc/hosts)

mkdir -p "$(dirname "$(hosts node1)")"
printf '%s\n' '127.0.0.1 localhost node3.example.com' '192.0.2.9 printer # node3' \
    '192.0.2.3 node3.example.com node3' >"$(hosts node1)"
succeeds "redist-conf" m gnt-cluster redist-conf
fails "does not give it" test -e "$(hosts node2)"
succeeds "unless the cluster keeps it" m gnt-cluster modify --modify-etc-hosts=yes
succeeds "then redist-conf" m gnt-cluster redist-conf
is "$(cat "$(hosts node2)")" "$(cat "$(hosts node1)")" "gives it"
succeeds "verify is content" m gnt-cluster verify
echo 192.0.2.8 other >>"$(hosts node2)"
fails "but compares it" m gnt-cluster verify
like "$out" '/etc/hosts.*different' "by its name"

succeeds "a node is removed" m gnt-node remove node3
is "$(cat "$(hosts node1)")" "127.0.0.1 localhost
192.0.2.9 printer # node3" "it stands there no more"
is "$(cat "$(hosts node2)")" "$(cat "$(hosts node1)")" "on the others either"
is "$(sha256sum </etc/hosts)" "$machine" "the machine's file is as it was"
tap_done
