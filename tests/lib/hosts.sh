# SPDX-License-Identifier: BSD-2-Clause
# Hosts for one test, as namespaces of this machine: each has a name, a network
# address, and its own /etc, /var and /run, so that daemons and commands
# run in them as on a machine of their own, without GANETI_ROOTDIR.  Source it
# after tap.sh.  Everything is gone when the test ends, however it ends: all
# processes are in one PID namespace, whose first one is ended.
#
# /var/storage/shared is the same folder on all of them.
#
# Nothing of it reaches the network of the machine.  Instead of SSH there is a
# program that runs the command in the other host.

: "${BIN:?BIN must name the folder of the programs}"
HOSTS=
hosts_unshare=
hosts_init= # the first process in there, by its number out here
HOSTS_WAIT_S=60

hosts_end() {
    if [ -n "$hosts_unshare" ]; then
        [ -z "$hosts_init" ] || kill -9 "$hosts_init" 2>/dev/null
        kill "$hosts_unshare" 2>/dev/null # takes what it started along
        wait "$hosts_unshare" 2>/dev/null
    fi
    [ -z "$HOSTS" ] || rm -rf "$HOSTS"
}
trap hosts_end EXIT
trap 'exit 1' INT TERM HUP

# All are there, or they cannot be had.
hosts_are_settled() { # NUMBER
    [ "$(ls "$HOSTS"/*/pid 2>/dev/null | wc -l)" = "$1" ] ||
        ! kill -0 "$hosts_unshare"
}

# Runs in the new namespaces, as root of them: what each host is.
write_host() {
    cat >"$HOSTS/host" <<'END'
#!/bin/sh
# host DIR NUMBER: be that host until the end
set -e
dir=$1/node$2
mkdir -p "$dir"
for part in etc var; do
    mkdir "$dir/$part" "$dir/.$part"
    mount -t overlay overlay \
        -o "lowerdir=/$part,upperdir=$dir/$part,workdir=$dir/.$part" "/$part"
done
mount -t tmpfs tmpfs /run
mkdir -p /run/lock "$dir/data" "$dir/home" /var/storage/file \
    /var/storage/shared
mount --bind "$1/shared" /var/storage/shared
mount --bind "$dir/data" /var/lib/ganeti
mount --bind "$dir/home" /root
mount -t sysfs sysfs /sys
mount --bind "$1/ssh" /usr/bin/ssh
cp "$1/hosts" /etc/hosts
rm -f /etc/default/ganeti
hostname "node$2.example.com"
ip link set lo up
ip link add br0 type bridge
echo $$ >"$dir/pid.new"
until ip address add "192.0.2.1$2/24" dev eth0 2>/dev/null; do
    sleep 0.02
done
ip link set eth0 up
# Something has to listen where the SSH daemon would.
python3 -c '
import socket
s = socket.create_server(("0.0.0.0", 22))
while True:
    s.accept()[0].close()' &
until [ -n "$(ss -Hltn 'sport = 22')" ]; do
    sleep 0.02
done
mv "$dir/pid.new" "$dir/pid"
exec sleep infinity
END
    # Skip the options, run the rest in a shell of the host.
    cat >"$HOSTS/ssh" <<END
#!/bin/sh
while [ \$# -gt 0 ]; do
    case \$1 in
    -o | -p | -l | -F) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
    esac
done
name=\${1#*@}
shift
exec "$HOSTS/on" "\${name%%.*}" sh -c "\$*"
END
    cat >"$HOSTS/on" <<END
#!/bin/sh
# on HOST COMMAND...
pid=\$(cat "$HOSTS/\$1/pid") || exit 255
shift
exec nsenter -t "\$pid" -m -n -u -- env -i HOME=/root LC_ALL=C \\
    PATH="$BIN:/usr/sbin:/usr/bin:/sbin:/bin" "\$@"
END
    chmod 755 "$HOSTS/host" "$HOSTS/ssh" "$HOSTS/on"
}

# The outermost: a switch, and the hosts at it.
write_machine() { # NUMBER
    cat >"$HOSTS/machine" <<END
#!/bin/sh
set -e
ip link set lo up
ip link add switch type bridge
ip link set switch up
for i in \$(seq $1); do
    unshare --net --mount --uts "$HOSTS/host" "$HOSTS" \$i >"$HOSTS/log\$i" 2>&1 &
    until [ -s "$HOSTS/node\$i/pid.new" ] || [ -s "$HOSTS/node\$i/pid" ]; do
        kill -0 \$! || exit 1
        sleep 0.02
    done
    ip link add port\$i type veth peer name eth0 netns \$!
    ip link set port\$i master switch up
done
# The first process has to reap those whose parents have ended.
sleep infinity &
wait
END
    chmod 755 "$HOSTS/machine"
}

# hosts_start NUMBER: node1.example.com at 192.0.2.11, and so on
hosts_start() {
    [ "$(id -u)" = 0 ] || skip_all "hosts of its own need root"
    HOSTS=$(mktemp -d /tmp/hosts.XXXXXX)
    chmod 755 "$HOSTS"
    mkdir "$HOSTS/shared"
    write_host
    write_machine "$1"
    {
        echo '127.0.0.1 localhost'
        echo '192.0.2.10 cluster.example.com'
        echo '192.0.2.20 cluster2.example.com'
        for i in $(seq "$1"); do
            echo "192.0.2.1$i node$i.example.com node$i"
        done
        for i in 1 2 3 4 5 6; do echo "192.0.2.10$i i$i.example.com i$i"; done
    } >"$HOSTS/hosts"
    unshare --net --mount --pid --fork --mount-proc --kill-child \
        "$HOSTS/machine" >"$HOSTS/log" 2>&1 </dev/null &
    hosts_unshare=$!
    until_true "$HOSTS_WAIT_S" hosts_are_settled "$1" &&
        hosts_init=$(tr -d " " <"/proc/$hosts_unshare/task/$hosts_unshare/children") ||
        skip_all "hosts cannot be had: $(cat "$HOSTS"/log* | tr '\n' ' ')"
}

# on HOST COMMAND...
on() {
    nsenter -t "$hosts_init" -m -n -p -- "$HOSTS/on" "$@"
}
