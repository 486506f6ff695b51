#!/bin/sh
# doc/install.md and doc/admin.md: their commands, on three hosts.
. "$(dirname "$0")/../lib/tap.sh"
command -v qemu-system-x86_64 >/dev/null ||
    skip_all "qemu-system-x86 is not installed"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_start 3
guides=$(cd "$(dirname "$0")/../../doc" && pwd)

# What the packages bring, and a mount in place of NFS.
for host in node1 node2 node3; do
    os=$(root $host)/usr/share/ganeti/os/noop
    rm -rf "$os"
    mkdir -p "$os" "$(root $host)/usr/lib/ganeti/iallocators"
    echo 20 >"$os/ganeti_api_version"
    : >"$os/parameters.list"
    : >"$os/variants.list"
    for script in create rename import export verify; do
        printf '#!/bin/sh\n' >"$os/$script"
        chmod 755 "$os/$script"
    done
    ln -sf "$BIN/hail" "$(root $host)/usr/lib/ganeti/iallocators/hail"
    on $host getent passwd gnt-rapi >/dev/null ||
        on $host systemd-sysusers - <"$guides/../debian/gantry-node.sysusers"
done
share() {
    for host in node1 node2 node3; do
        on $host mount --bind /var/storage/shared \
            /srv/ganeti/shared-file-storage || return 1
    done
}

master=node1
place() { # INSTANCE HOST
    [ "$(on $master gnt-instance list --no-headers -o pnode "$1")" = \
        "$2.example.com" ] ||
        on $master gnt-instance migrate -f -n "$2.example.com" "$1" \
            >/dev/null 2>&1
    [ "$(on $master gnt-instance list --no-headers -o pnode "$1")" = \
        "$2.example.com" ] ||
        on $master gnt-instance failover -f -n "$2.example.com" "$1"
}

holds() { # PID FILE: whether its process runs
    [ -s "$1" ] && ! flock -n "$1" true
}
# All processes of Gantry and its guests on a host, as a power cut ends them.
lose() { # HOST
    for file in "$(root "$1")"/run/ganeti/ganeti-*.pid \
        "$(root "$1")"/run/ganeti/kvm-hypervisor/pid/*; do
        [ -s "$file" ] || continue
        kill -9 "$(cat "$file")" 2>/dev/null
        until_true 60 not_alive "$(cat "$file")" || return 1
    done
    rm -rf "$(root "$1")/run/ganeti"
    on "$1" ip address del 192.0.2.10/32 dev eth0 2>/dev/null
    return 0
}
not_alive() { # PID
    case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in
    '' | Z | X) ;;
    *) return 1 ;;
    esac
}
repair() { # HOST
    on "$1" gantry-noded || return 1
    # As its unit does at boot.
    ! on "$1" gantry-masterd --check >/dev/null 2>&1 ||
        on "$1" gantry-masterd >/dev/null 2>&1
    until_true 60 knows_master "$1"
}
knows_master() { # HOST
    [ "$(on "$1" gnt-cluster getmaster)" = "$(on $master gnt-cluster getmaster)" ]
}
note_on() { # HOST COMMAND...
    on "$@"
}
ended() { # also when the watcher has its turn
    for host in node1 node2 node3; do
        on $host gantry-watcher || return 1
    done
    for host in node1 node2 node3; do
        for daemon in masterd noded; do
            until_true 90 is_free "$(root $host)/run/ganeti/ganeti-$daemon.pid" ||
                return 1
        done
    done
}
is_free() {
    ! holds "$1"
}
noted() { # what came after the copy is gone, all else is there, and watched
    for host in node1 node2 node3; do
        on $host test ! -e /var/lib/ganeti/watcher.pause || return 1
    done
    [ -z "$(on node1 gnt-cluster list-tags)" ] &&
        [ "$(on node1 gnt-instance list --no-headers -o name | wc -l)" = 2 ] &&
        [ "$(on node1 gnt-node list --no-headers -o role | tr -d '\n')" = MCC ]
}

order() { # WORDS OF THE GUIDE
    words=$1
    case $words in
    note\ *) words="note_on ${words#note }" ;;
    esac
    succeeds "(the test: $1)" $words
}

step() { # NUMBER HOST TITLE: a block of the guide
    number=$1
    host=$2
    shift 2
    case $* in
    "The master is lost") master=$host ;;
    esac
    # Where the kernel has no such file, verify says so of all nodes.
    [ -e /proc/sysrq-trigger ] ||
        sed -i 's/^gnt-cluster verify$/& --ignore-errors=ENODESETUP/' \
            "$HOSTS/$guide/$number"
    succeeds "$guide, $*: block $number on $host" \
        on "$host" sh "$HOSTS/$guide/$number"
}

for guide in install admin; do
    mkdir "$HOSTS/$guide"
    "$(dirname "$0")/../lib/guide.py" "$guides/$guide.md" "$HOSTS/$guide" \
        >"$HOSTS/$guide/steps"
    while read -r number rest; do
        if [ "$number" = test ]; then
            order "$rest"
        else
            step "$number" $rest
        fi
    done <"$HOSTS/$guide/steps"
done
tap_done
