#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of Debian's own Ganeti, three nodes on this machine, for comparisons
# by hand (side_by_side.py); no test of the suite uses it.
#
#   real-cluster.sh up DIR          make it; some minutes, needs root
#   real-cluster.sh on DIR NODE COMMAND...
#   real-cluster.sh down DIR        end it and remove DIR
#
# It has network, mounts and processes of its own (unshare), so nothing of it
# reaches the machine or its network, and all of it ends with one process.
# Instead of SSH, commands for other nodes run here, in their environment.
set -eu
usage="usage: $0 up|down DIR, or on DIR NODE COMMAND..."
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
way=$1
dir=$2
shift 2

inside() {
    nsenter -t "$(cat "$dir/pid")" -n -m -p -- "$@"
}

on() { # NODE COMMAND...
    node=$1.example.com
    shift
    inside env GANETI_HOSTNAME="$node" GANETI_ROOTDIR="$dir/$node" \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

make_node() { # NUMBER
    root=$dir/node$1.example.com
    mkdir -p "$root/etc/default" "$root/etc/ganeti" "$root/var/lock" \
        "$root/var/lib/ganeti/export" "$root/var/log/ganeti" \
        "$root/var/run/ganeti" "$root/srv/ganeti/file-storage" \
        "$root/srv/ganeti/shared-file-storage"
    on "node$1" /usr/lib/ganeti/ensure-dirs
    {
        echo "NODED_ARGS='--no-mlock -b 192.0.2.1$1'"
        echo "export GANETI_ROOTDIR='$root'"
        echo "export GANETI_HOSTNAME='node$1.example.com'"
    } >"$root/etc/default/ganeti"
    # Paths of disks are those of the first node, on all of them.
    printf '%s\n' "$dir/node1.example.com/srv/ganeti/file-storage" \
        "$dir/node1.example.com/srv/ganeti/shared-file-storage" \
        >"$root/etc/ganeti/file-storage-paths"
}

# Skip the options and the host, run the rest in a shell.
write_ssh() {
    cat >"$dir/ssh" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o | -p | -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
shift
exec sh -c "$*"
END
    chmod 755 "$dir/ssh"
}

write_hosts() {
    echo '127.0.0.1 localhost'
    echo '192.0.2.1 cluster.example.com'
    for i in 1 2 3; do echo "192.0.2.1$i node$i.example.com node$i"; done
}

prepare() {
    write_hosts >"$dir/hosts"
    write_ssh
    inside ip link set lo up
    for i in 1 2 3; do inside ip addr add "192.0.2.1$i/32" dev lo; done
    inside ip link add br0 type bridge
    inside mount -t sysfs sysfs /sys
    inside mount --bind "$dir/hosts" /etc/hosts
    inside mount --bind "$dir/ssh" /usr/bin/ssh
    # gnt-node powercycle writes there before it ends all processes, which
    # are those of the cluster.
    if [ -e /proc/sysrq-trigger ]; then
        inside mount --bind /dev/null /proc/sysrq-trigger
    fi
    # Something has to listen where the SSH daemons would.
    (
        exec >/dev/null 2>&1 </dev/null
        inside python3 -c '
import socket
s = socket.create_server(("0.0.0.0", 22))
while True:
    s.accept()[0].close()'
    ) &
}

up() {
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    setsid unshare --net --mount --pid --fork --mount-proc sleep infinity \
        </dev/null >/dev/null 2>&1 &
    while [ ! -s "$dir/pid" ]; do
        pgrep -P $! sleep >"$dir/pid" || true
    done
    prepare
    for i in 1 2 3; do make_node $i; done
    on node1 gnt-cluster init --no-etc-hosts --no-ssh-init \
        --master-netdev=lo --enabled-hypervisors=fake \
        --enabled-disk-templates=diskless,file,sharedfile \
        --nic-parameters=link=br0 cluster.example.com
    for i in 2 3; do
        on node1 gnt-node add --no-ssh-key-check "node$i.example.com"
    done
}

case $way in
up) up ;;
on) on "$@" ;;
down)
    kill -9 "$(cat "$dir/pid")"
    rm -rf "$dir"
    ;;
*) echo "$usage" >&2; exit 2 ;;
esac
