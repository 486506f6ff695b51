#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-vcluster for tests on hosts (cluster_hosts.sh): as much of it as tests call.
# The daemons of a host are those of the pid files below it; all of the test's
# processes are in one PID namespace, so their numbers mean the same here.
set -u
# Help and what is asked of no cluster is gnt-vcluster's own.
case ${2--} in
/*) ;;
*) exec "$(dirname "$0")/.real/gnt-vcluster" "$@" ;;
esac
way=$1
dir=$2
shift 2
WAIT_S=90
nodes=$(cd "$dir" && ls -d node*.example.com)

say() {
    echo "gnt-vcluster on hosts: $*" >&2
    exit 1
}

full_name() { # NODE
    name=${1%.example.com}.example.com
    [ -d "$dir/$name" ] || say "there is no node $1"
    echo "$name"
}

# enter NODE COMMAND...: become the command on the host, in this environment
enter() {
    pid=$(cat "$dir/.machine/pid-${1%%.*}") || exit 255
    shift
    HOME=/root PATH=$(dirname "$0"):$PATH:/usr/sbin:/sbin exec nsenter -t "$pid" -m -n -u -- "$@"
}
on() {
    (enter "$@")
}

# gnt-cluster verify where the kernel has no /proc/sysrq-trigger, which it looks
# for: without what it says about that.
verify() { # NODE OPTION...
    name=$1
    shift 3
    said=$(on "$name" gnt-cluster verify --ignore-errors=ENODESETUP "$@" 2>&1)
    status=$?
    echo "$said" | grep -v 'node setup error: /proc'
    exit $status
}

# --- daemons ---

# The pid of a daemon that holds its pid file; nothing when it does not run.
pid_of() { # NODE DAEMON
    file=$dir/$1/run/ganeti/ganeti-$2.pid
    [ -s "$file" ] && ! flock -s -n "$file" true && cat "$file"
}

stop() { # SIGNAL NODE DAEMON
    pid=$(pid_of "$2" "$3")
    [ -n "$pid" ] || return 0
    kill "-$1" "$pid" 2>/dev/null
    end=$(($(date +%s) + WAIT_S))
    while [ -n "$(pid_of "$2" "$3")" ]; do
        [ "$(date +%s)" -lt "$end" ] || say "$3 of $2 does not end"
        sleep 0.02
    done
}

# A daemon that ends or begins is waited for, as the real one does it.
start() { # NODE DAEMON
    end=$(($(date +%s) + WAIT_S))
    while [ -n "$(pid_of "$1" "$2")" ]; do
        serves "$1" "$2" && return 0
        stands_by "$(pid_of "$1" "$2")" && break # it makes way
        [ "$(date +%s)" -lt "$end" ] || say "$2 of $1 does not serve"
        sleep 0.02
    done
    on "$1" "gantry-$2" || say "$2 of $1 did not start"
}

stands_by() { # PID
    tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxe --standby
}

serves() { # NODE DAEMON
    if [ "$2" = noded ]; then
        [ -n "$(on "$1" ss -Hltn 'sport = 1811')" ]
    else
        on "$1" ss -Hlx | grep -q ' /var/run/ganeti/socket/ganeti-master '
    fi
}

# Of those that say that they are the master the one that most nodes name.
master() {
    best=node1.example.com
    most=0
    for node in $nodes; do
        [ "$(named "$node")" = "$node" ] || continue
        n=0
        for other in $nodes; do
            [ "$(named "$other")" != "$node" ] || n=$((n + 2))
        done
        [ -z "$(pid_of "$node" masterd)" ] || n=$((n + 1))
        if [ "$n" -gt "$most" ]; then
            most=$n
            best=$node
        fi
    done
    echo "$best"
}
named() { # NODE
    cat "$dir/$1/var/lib/ganeti/ssconf_master_node" 2>/dev/null
}

# start_chosen [NODE [DAEMON]]
start_chosen() {
    chosen=$nodes
    [ $# = 0 ] || chosen=$(full_name "$1") || exit 1
    was=$(master)
    if [ "${2-noded}" = noded ]; then
        for node in $chosen; do
            if [ $# -lt 2 ] && [ "$node" != "$was" ] &&
                [ "$(named "$node")" = "$node" ]; then
                echo "$node is no longer the master, that is $was:" \
                    "only its node daemon is started"
            fi
            start "$node" noded
        done
    fi
    [ "${2-masterd}" = masterd ] || return 0
    [ $# = 2 ] && was=$chosen
    case " $(echo $chosen) " in
    *" $was "*) start "$was" masterd ;;
    esac
}

# stop_chosen SIGNAL [NODE [DAEMON]]
stop_chosen() {
    signal=$1
    shift
    chosen=$nodes
    [ $# = 0 ] || chosen=$(full_name "$1") || exit 1
    for daemon in masterd noded; do
        [ "${2-$daemon}" = "$daemon" ] || continue
        for node in $chosen; do stop "$signal" "$node" "$daemon"; done
    done
}

# --- what is there ---

# Is it up?
state() { # NODE DAEMON
    if [ -n "$(pid_of "$1" "$2")" ]; then echo up; else echo -; fi
}

list() {
    was=$(master)
    for node in $nodes; do
        i=${node%%.*}
        is=N
        [ "$node" != "$was" ] || is=Y
        printf '%-24s %-15s %-6s %-7s %-7s %s\n' "$node" "192.0.2.1${i#node}" \
            $is "$(state "$node" masterd)" "$(state "$node" noded)" \
            "$dir/$node"
    done
}

list_json() {
    sep=
    was=$(master)
    printf '{"nodes": ['
    for node in $nodes; do
        i=${node%%.*}
        is=false
        [ "$node" != "$was" ] || is=true
        printf '%s{"name": "%s", "root": "%s", "ip": "192.0.2.1%s", "master": %s}' \
            "$sep" "$node" "$dir/$node" "${i#node}" $is
        sep=', '
    done
    echo ']}'
}

# --- making it ---

# An OS that installs nothing, and the folders that admins would make.
furnish() { # NODE
    r=$dir/$1
    os=$r/usr/share/ganeti/os
    rm -rf "$os"
    mkdir -p "$os/noop" "$r/srv/ganeti/os" "$r/srv/ganeti/file-storage" \
        "$r/usr/local/lib/ganeti/iallocators" "$r/etc/ganeti/hooks" \
        "$r/usr/lib/ganeti/iallocators"
    ln -s "$dir/shared-file-storage" "$r/srv/ganeti/shared-file-storage"
    printf '/srv/ganeti/%s\n' file-storage shared-file-storage \
        >"$r/etc/ganeti/file-storage-paths"
    echo 20 >"$os/noop/ganeti_api_version"
    : >"$os/noop/parameters.list"
    : >"$os/noop/variants.list"
    for script in create rename verify; do
        printf '#!/bin/sh\n' >"$os/noop/$script"
    done
    printf '#!/bin/sh\nexec cat "$EXPORT_DEVICE"\n' >"$os/noop/export"
    printf '#!/bin/sh\nexec dd of="$IMPORT_DEVICE" bs=1M conv=notrunc status=none\n' \
        >"$os/noop/import"
    for script in create rename verify export import; do
        chmod 755 "$os/noop/$script"
    done
    for name in hail dumb; do
        ln -sf "$(dirname "$0")/$name" "$r/usr/lib/ganeti/iallocators/$name"
    done
}

create() { # NODES HYPERVISOR
    mkdir "$dir/shared-file-storage"
    for node in $nodes; do furnish "$node"; done
    params=
    if [ "$2" = kvm ]; then
        params="-H kvm:kvm_path=/usr/bin/qemu-system-x86_64,kernel_path=,serial_console=true"
    fi
    on node1 gnt-cluster init --no-etc-hosts --master-netdev=eth0 \
        --enabled-hypervisors="$2" $params -B memory=128 \
        --enabled-disk-templates=sharedfile,file,diskless \
        --file-storage-dir=/srv/ganeti/file-storage \
        --shared-file-storage-dir=/srv/ganeti/shared-file-storage \
        --nic-parameters=mode=bridged,link=br0 --default-iallocator=hail \
        cluster.example.com || exit 1
    # Smaller instances than options can say, which round up to 4 MiB.
    cat >"$dir/.machine/policy" <<'END'
[{"OP_ID": "OP_CLUSTER_SET_PARAMS", "ipolicy": {
    "minmax": [{
        "min": {"memory-size": 1, "disk-size": 1, "disk-count": 0,
            "cpu-count": 1, "nic-count": 0, "spindle-use": 0},
        "max": {"memory-size": 1048576, "disk-size": 1048576,
            "disk-count": 16, "cpu-count": 64, "nic-count": 8,
            "spindle-use": 64}}],
    "vcpu-ratio": 1024.0, "spindle-ratio": 1024.0,
    "std": {"memory-size": 128, "disk-size": 64, "disk-count": 1,
        "cpu-count": 1, "nic-count": 1, "spindle-use": 1}}}]
END
    on node1 gnt-debug submit-job "$dir/.machine/policy" || exit 1
    for i in $(seq 2 "$1"); do
        on node1 gnt-node add "node$i.example.com" || exit 1
    done
}

case $way in
create) create "$@" ;;
exec)
    node=$1
    shift
    [ "$1" != -- ] || shift
    node=$(full_name "$node") || exit 1
    case "$*" in
    *simulate*) ;;
    "gnt-cluster verify"*)
        [ -e /proc/sysrq-trigger ] || verify "$node" "$@" ;;
    esac
    enter "$node" "$@"
    ;;
list)
    case "$*" in
    *json*) list_json ;;
    *) list ;;
    esac
    ;;
start) start_chosen "$@" ;;
stop) stop_chosen TERM "$@" ;;
kill) stop_chosen KILL "$@" ;;
destroy) ;;
esac
