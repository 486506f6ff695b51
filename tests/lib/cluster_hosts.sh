# SPDX-License-Identifier: BSD-2-Clause
# What cluster.sh does when ON_HOSTS is set: its nodes are hosts of their own
# (hosts.sh), made a cluster with gnt-cluster init and gnt-node add, as an admin
# does it.  The test is the same.  In place of gnt-vcluster, which tests call as
# well, there is a script in BIN that does its work on the hosts.

. "$(dirname "$0")/../lib/hosts.sh"
VC=$HOSTS # also after the test was ended: hosts.sh removes it
hosts_lib=$(cd "$(dirname "$0")/../lib" && pwd)

# For tests that make another one; at the end of a test hosts.sh would do it.
cluster_end() {
    [ -d "$VC/.machine" ] || return 0
    "$BIN/gnt-vcluster" kill "$VC"
    hosts_stop
    rm -rf "$VC/shared-file-storage"
}

# As in cluster.sh, where hosts.sh has another one.
on() {
    node=$1
    shift
    "$BIN/gnt-vcluster" exec "$VC" "$node" -- "$@"
}

# The programs as they are, but for gnt-vcluster.
hosts_bin=$BIN
replace_vcluster() {
    mkdir -p "$hosts_own/bin/.real"
    ln -s "$hosts_bin"/* "$hosts_own/bin/"
    mv "$hosts_own/bin/gnt-vcluster" "$hosts_own/bin/.real/"
    ln -s "$hosts_lib/vcluster_hosts.sh" "$hosts_own/bin/gnt-vcluster"
    BIN=$hosts_own/bin
    export BIN
}

cluster_start() {
    VC=$HOSTS
    cluster_nodes=3
    cluster_hypervisor=fake
    while [ $# -gt 0 ]; do
        case $1 in
        --nodes) cluster_nodes=$2 ;;
        --hypervisor) cluster_hypervisor=$2 ;;
        *) skip_all "not on hosts: they have no $1" ;;
        esac
        shift 2
    done
    hosts_start "$cluster_nodes"
    replace_vcluster
    if ! "$BIN/gnt-vcluster" create "$VC" "$cluster_nodes" \
        "$cluster_hypervisor" >"$VC/.machine/create" 2>&1 </dev/null; then
        echo "Bail out! the cluster did not start"
        note "$(cat "$VC/.machine/create")"
        exit 1
    fi
}
