# SPDX-License-Identifier: BSD-2-Clause
# Hosts for one test, as namespaces of this machine.  Each has a name, a network
# address, and its own /etc, /root, /run, /srv, /usr and /var, so that daemons and
# commands run in it as on a machine of their own, without GANETI_ROOTDIR.
# Source it after tap.sh.
#
# The test is run once more, in a PID, a network and a mount namespace that the
# hosts are in as well.  So it sees the processes of the hosts by their numbers,
# their files below $HOSTS/NAME, and reaches their addresses.  When it ends,
# however it ends, the kernel ends all processes in there, and nothing reaches the
# network or the files of this machine.
#
# The folders are those of this machine, with changes that only the host has
# (overlays).  /var/storage/shared is the same on all hosts.  Each has an SSH
# server that lets in root of the others, who know its host key: see ssh_files.
# The programs ssh and scp, which Ganeti calls, go there without SSH.

: "${BIN:?BIN must name the folder of the programs}"
HOSTS_WAIT_S=60
HOSTS_MAX=9 # as many addresses as 192.0.2.1? has, but for the cluster's

# Run the test again in namespaces of its own, and remove what it leaves.
hosts_run_inside() { # TEST ARGUMENT...
    [ "$(id -u)" = 0 ] || skip_all "hosts of its own need root"
    hosts_spaces="--net --mount --pid --fork --mount-proc --kill-child"
    hosts_why=$(unshare $hosts_spaces true 2>&1) ||
        skip_all "hosts cannot be had: $hosts_why"
    HOSTS=$(mktemp -d /tmp/hosts.XXXXXX)
    hosts_unshare= # takes all in there along; it heeds no other signal
    trap '[ -z "$hosts_unshare" ] || kill -9 "$hosts_unshare" 2>/dev/null
        wait; rm -rf "$HOSTS"' EXIT
    trap 'exit 1' INT TERM HUP
    chmod 755 "$HOSTS"
    # The first process in there has to reap those whose parents have ended.
    HOSTS=$HOSTS unshare $hosts_spaces sh -c '"$@"; exit $?' init sh "$@" \
        </dev/null &
    hosts_unshare=$!
    wait "$hosts_unshare"
    exit $?
}
[ -n "${HOSTS-}" ] || hosts_run_inside "$0" "$@"
hosts_own=$HOSTS/.machine # what is no host's

# Runs in the new namespaces of a host, as root: what the host is.
write_host() {
    cat >"$hosts_own/host" <<'END'
#!/bin/sh
# host TOP NUMBER: be that host until the end
set -e
name=node$2.example.com
dir=$1/$name
for part in etc root run srv usr var; do
    mount --rbind "$dir/$part" "/$part"
done
mount -t sysfs sysfs /sys
hostname "$name"
ip link set lo up
for bridge in br0 br1 br5 br7 br9; do
    ip link add $bridge type bridge
done
ip link add eth0 type veth peer name "port$2" netns 1
nsenter -t 1 -n ip link set "port$2" master switch up
ip address add "192.0.2.1$2/24" dev eth0
ip link set eth0 up
mkdir -p /run/sshd
/usr/sbin/sshd -D -f /etc/ssh/test_sshd_config &
until [ -n "$(ss -Hltn 'sport = 22')" ]; do
    sleep 0.02
done
echo $$ >"$1/.machine/new$2"
mv "$1/.machine/new$2" "$1/.machine/pid-node$2"
exec sleep infinity
END
    # Skip the options, run the rest in a shell of the host.
    cat >"$hosts_own/ssh" <<END
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
case \$name in 192.0.2.1?) name=node\${name#192.0.2.1} ;; esac
shift
exec "$hosts_own/on" "\${name%%.*}" sh -c "\$*"
END
    # scp OPTION... FILE HOST:PATH, with the mode of the file.
    cat >"$hosts_own/scp" <<END
#!/bin/sh
while [ \$# -gt 2 ]; do shift; done
name=\${2%%:*}
name=\${name#*@}
case \$name in 192.0.2.1?) name=node\${name#192.0.2.1} ;; esac
exec "$hosts_own/on" "\${name%%.*}" install -m "\$(stat -c %a "\$1")" \\
    /dev/stdin "\${2#*:}" <"\$1"
END
    cat >"$hosts_own/on" <<END
#!/bin/sh
# on HOST COMMAND...
pid=\$(cat "$hosts_own/pid-\$1") || exit 255
shift
exec nsenter -t "\$pid" -m -n -u -- env HOME=/root LC_ALL=C \\
    PATH="$BIN:/usr/sbin:/usr/bin:/sbin:/bin" "\$@"
END
    for tool in lvm drbdsetup drbdadm; do
        printf '#!/bin/sh\nexit 5\n' >"$hosts_own/$tool"
        chmod 755 "$hosts_own/$tool"
    done
    chmod 755 "$hosts_own/host" "$hosts_own/ssh" "$hosts_own/scp" \
        "$hosts_own/on"
}

# The folders of a host: this machine's, without what a cluster had in them.
make_folders() { # NUMBER
    dir=$HOSTS/node$1.example.com
    own=$hosts_own/node$1
    for part in etc root srv usr var; do
        mkdir -p "$dir/$part" "$own/$part" "$own/.$part"
        mount -t overlay overlay -o \
            "lowerdir=/$part,upperdir=$own/$part,workdir=$own/.$part" \
            "$dir/$part" || return 1
    done
    mkdir "$dir/run"
    mount -t tmpfs tmpfs "$dir/run" || return 1
    rm -rf "$dir/etc/default/ganeti" "$dir/root/.ssh" "$dir/srv/ganeti" \
        "$dir/var/lib/ganeti" "$dir/var/log/ganeti" "$dir/var/run" \
        "$dir/var/lock"
    # What the shell of whoever runs the test begins with, here begins each command
    # over SSH.
    (cd "$dir/root" && rm -f .bashrc .bash_profile .bash_login .profile .zshenv)
    # Relative, so that they lead to the same folder from outside.
    ln -s ../run "$dir/var/run"
    ln -s ../run/lock "$dir/var/lock"
    mkdir -p "$dir/run/lock" "$dir/srv/ganeti" "$dir/var/lib/ganeti" \
        "$dir/var/log/ganeti" "$dir/var/storage/file" \
        "$dir/var/storage/shared"
    mount --bind "$HOSTS/shared" "$dir/var/storage/shared"
    replace "$dir/etc" "$HOSTS/hosts"
    replace "$dir/usr/bin" "$hosts_own/ssh" "$hosts_own/scp"
    # Nothing of a test changes the volumes of this machine.
    for tool in lvm drbdsetup drbdadm; do
        [ ! -e "$dir/usr/sbin/$tool" ] ||
            replace "$dir/usr/sbin" "$hosts_own/$tool"
    done
}

# What a host needs so that others log in to it, and it to others: a host key;
# the key of whoever runs the test, with which nodes are added; the host keys of
# all.  The cluster gives its own keys to its nodes, besides these.
ssh_files() { # NUMBER
    folder=$HOSTS/node$1.example.com/etc/ssh
    mkdir -p "$folder" "$HOSTS/node$1.example.com/root/.ssh"
    rm -f "$folder"/ssh_host_*
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$folder/ssh_host_ed25519_key"
    # Ganeti asks for one of this type.
    [ -e "$hosts_own/rsa" ] || ssh-keygen -q -t rsa -N '' -C '' -f "$hosts_own/rsa"
    cp "$hosts_own/rsa" "$folder/ssh_host_rsa_key"
    cp "$hosts_own/rsa.pub" "$folder/ssh_host_rsa_key.pub"
    [ -e "$hosts_own/key" ] ||
        ssh-keygen -q -t ed25519 -N '' -C test -f "$hosts_own/key"
    cp "$hosts_own/key" "$folder/test_key"
    cp "$hosts_own/key.pub" "$folder/test_authorized"
    echo "node$1.example.com $(cat "$folder/ssh_host_ed25519_key.pub")" \
        >>"$hosts_own/known_hosts"
    ssh_config "$HOSTS/node$1.example.com"
}

ssh_config() { # FOLDER
    cat >"$1/root/.ssh/config" <<END
IdentityFile /etc/ssh/test_key
UserKnownHostsFile /etc/ssh/test_known_hosts
END
    # What the test says to its daemons, those that begin over SSH hear as well.
    environment=$(env | grep -E '^(ASAN_OPTIONS|UBSAN_OPTIONS|LEAK_REPORTS|COVERAGE)=' | tr '\n' ' ')
    cat >"$1/etc/ssh/test_sshd_config" <<END
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/test_authorized
Subsystem sftp internal-sftp
SetEnv PATH=$BIN:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C $environment
MaxStartups 100
PermitRootLogin yes
PidFile none
StrictModes no
UseDNS no
UsePAM no
END
}

# A link in the place of a file would lead out of the host.
replace() { # FOLDER FILE...
    folder=$1
    shift
    cp --remove-destination "$@" "$folder"
}

write_names() { # NUMBER
    echo '127.0.0.1 localhost'
    echo '192.0.2.10 cluster.example.com'
    echo '192.0.2.20 cluster2.example.com'
    for i in $(seq "$1"); do
        echo "192.0.2.1$i node$i.example.com node$i"
    done
    for i in 1 2 3 4 5 6; do echo "192.0.2.10$i i$i.example.com i$i"; done
}

# A switch, with the address of the test itself, and the hosts at it.
make_machine() { # NUMBER
    # What the test mounts below a host's folder is in the host, too.
    mount --make-rshared / || return 1
    # What gnt-node powercycle writes there would reset this machine.
    if [ -e /proc/sysrq-trigger ]; then
        mount --bind /dev/null /proc/sysrq-trigger || return 1
    fi
    ip link set lo up &&
        ip link add switch type bridge &&
        ip address add 192.0.2.1/24 dev switch &&
        ip link set switch up || return 1
    for i in $(seq "$1"); do
        make_folders "$i" && ssh_files "$i" || return 1
    done
    for i in $(seq "$1"); do
        cp "$hosts_own/known_hosts" \
            "$HOSTS/node$i.example.com/etc/ssh/test_known_hosts"
        # No child of the test, which may wait for all of its own.
        (unshare --net --mount --propagation slave --uts "$hosts_own/host" \
            "$HOSTS" "$i" >"$hosts_own/log$i" 2>&1 </dev/null &)
    done
    mount --bind "$HOSTS/hosts" /etc/hosts
}

# All are there.
hosts_are_settled() { # NUMBER
    [ "$(ls "$hosts_own"/pid-* 2>/dev/null | wc -l)" = "$1" ]
}

# hosts_start NUMBER: node1.example.com at 192.0.2.11, and so on
hosts_start() {
    [ -x /usr/sbin/sshd ] || skip_all "openssh-server is not installed"
    [ "$1" -le "$HOSTS_MAX" ] || skip_all "there are only $HOSTS_MAX hosts"
    mkdir "$HOSTS/shared" "$hosts_own"
    write_host
    write_names "$1" >"$HOSTS/hosts"
    make_machine "$1" >"$hosts_own/log" 2>&1 &&
        until_true "$HOSTS_WAIT_S" hosts_are_settled "$1" ||
        skip_all "hosts cannot be had: $(cat "$hosts_own"/log* | tr '\n' ' ')"
}

# Ends the hosts, so that others can be started; what else runs in them has been
# ended before.
hosts_stop() {
    for file in "$hosts_own"/pid-*; do
        pid=$(cat "$file")
        # Those that the host's first process started, and itself.
        kill -9 $(cat "/proc/$pid/task/$pid/children") "$pid"
    done
    for part in "$HOSTS"/node*/*; do
        ! mountpoint -q "$part" || umount -l -R "$part" || return 1
    done
    umount /etc/hosts
    ip link delete switch
    rm -rf "$hosts_own" "$HOSTS/shared" "$HOSTS"/node*
}

# on HOST COMMAND...
on() {
    "$hosts_own/on" "$@"
}

# Where the files of a host are.
root() { # HOST
    echo "$HOSTS/$1.example.com"
}
