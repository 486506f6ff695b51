# SPDX-License-Identifier: BSD-2-Clause
# A virtual cluster for one test: source it after tap.sh.  BIN is the folder of
# our programs.  Everything is gone when the test ends, however it ends.
#
# With ON_HOSTS set the nodes are hosts of their own (cluster_hosts.sh), with KIND
# set they are of that kind of gnt-vcluster's (container, vm).  What a test asks of
# virtual nodes alone stands behind is_virtual; a test that cannot run on hosts at
# all says so with vcluster_only.

: "${BIN:?BIN must name the folder of the programs}"
VC=

# Whether the nodes are folders of this machine.
is_virtual() {
    [ -z "${ON_HOSTS-}${KIND-}" ]
}

vcluster_only() { # REASON
    is_virtual || skip_all "not on hosts: $1"
}

cluster_end() {
    if [ -n "$VC" ]; then
        # A daemon that is killed, as below, says neither which lines it ran
        # (make coverage) nor what it lost (leaks.sh).
        [ -z "${COVERAGE-}${LEAK_REPORTS-}" ] ||
            timeout 60 "$BIN/gnt-vcluster" stop "$VC" >/dev/null 2>&1
        "$BIN/gnt-vcluster" destroy "$VC" >/dev/null 2>&1 || true
        cluster_unmount
        rm -rf "$VC"
    fi
}
trap cluster_end EXIT
trap 'exit 1' INT TERM HUP

# end_own PID...: those that are still what the test has started, children of it or
# daemons of nodes in $VC.  The number of one that has ended may be another's by now.
end_own() {
    for own; do
        case $(sed 's/.*) . //' "/proc/$own/stat" 2>/dev/null) in
        "$$ "*) ;;
        *) tr '\0' '\n' 2>/dev/null <"/proc/$own/environ" |
            grep -q "^GANETI_ROOTDIR=$VC/" || continue ;;
        esac
        kill "$own" 2>/dev/null
    done
}

# guest_node_end ROOT: the end of a node's daemons that the test has made beside
# those of $VC, and of the latter.  A node daemon may just be starting one that
# stands by, so that is looked for when the node daemon is gone, and no master is
# there to ask for it.
guest_node_end() {
    "$BIN/gnt-vcluster" stop "$VC" >/dev/null 2>&1
    for daemon in noded masterd; do
        guest=$(cat "$1/var/run/ganeti/ganeti-$daemon.pid" 2>/dev/null)
        [ -n "$guest" ] && end_own "$guest" && until_true 20 guest_ended
    done
}
guest_ended() { ! alive "$guest"; }

cluster_create() { # OPTION...
    "$BIN/gnt-vcluster" create "$VC" ${KIND:+--kind "$KIND"} "$@"
}
cluster_unmount() { :; } # see cluster_vm.sh

# cluster_start [OPTION...]: make it in $VC
cluster_start() {
    VC=$(mktemp -d /tmp/gvc.XXXXXX)
    if ! cluster_create "$@" >"$VC.log" 2>&1; then
        echo "Bail out! the cluster did not start"
        note "$(cat "$VC.log")"
        rm -f "$VC.log"
        exit 1
    fi
    rm -f "$VC.log"
}

# on NODE COMMAND...: run it in the node's environment
on() {
    node=$1
    shift
    case ${KIND-}$* in
    container"gnt-cluster verify"*simulate*) ;;
    container"gnt-cluster verify"*)
        # What the kernel of this machine lacks is no fault of the nodes.
        [ -e /proc/sysrq-trigger ] ||
            set -- sh -c 'said=$("$@" --ignore-errors=ENODESETUP 2>&1); status=$?
                echo "$said" | grep -v "node setup error: /proc"
                exit $status' sh "$@" ;;
    esac
    "$BIN/gnt-vcluster" exec "$VC" "$node" -- "$@"
}

# exec_on NODE COMMAND...: the same in place of this shell, so that behind "&" the
# process is the command's own
exec_on() {
    node=$1
    shift
    exec "$BIN/gnt-vcluster" exec "$VC" "$node" -- "$@"
}

# m COMMAND...: on the master node1
m() {
    on node1 "$@"
}

root() { # NODE
    echo "$VC/$1.example.com"
}

# path_on NODE PATH: what a command on the node calls it; a virtual node has the
# whole path, a host its own
path_on() {
    if is_virtual; then
        echo "$(root "$1")$2"
    else
        echo "$2"
    fi
}

# has_drbd NODE...: virtual nodes whose kernels have DRBD, as far as their files say
has_drbd() {
    for drbd_node in "$@"; do
        drbd_folder=$(root "$drbd_node")/sys/module/drbd/parameters
        mkdir -p "$drbd_folder"
        echo /bin/true >"$drbd_folder/usermode_helper"
    done
}

# add NAME OPTION...: an instance without name lookups
add() {
    name=$1
    shift
    m gnt-instance add --no-name-check --no-ip-check -o noop "$@" "$name"
}

# alive PID: a process that runs, not one that only waits to be reaped
alive() {
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
    [ -n "$state" ] && [ "$state" != Z ] && [ "$state" != X ]
}

[ "${KIND-}" != vm ] || . "$(dirname "$0")/../lib/cluster_vm.sh"
[ -z "${ON_HOSTS-}" ] || . "$(dirname "$0")/../lib/cluster_hosts.sh"
