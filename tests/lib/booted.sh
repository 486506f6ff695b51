# SPDX-License-Identifier: BSD-2-Clause
# Machines for one test on which systemd runs, from the packages of this one:
# namespaces (mounts, PIDs, network, name, cgroups), all folders as overlays in
# memory. Source it after tap.sh. They end with the test, however that ends, and
# reach no network and no file of this machine.

BOOTED_WAIT_S=60
booted=
booted_all= # NAME=PID=FOLDER of each

booted_end() {
    for booted_one in $booted_all; do
        booted_one=${booted_one#*=}
        kill -9 "${booted_one%%=*}" 2>/dev/null
    done
    wait
    for booted_one in $booted_all; do rm -rf "${booted_one##*=}"; done
}

booted_init() {
    cat >"$booted/boot" <<'END'
#!/bin/sh
# boot TOP NAME ADDRESS: be that machine
set -e
top=$1
mount --make-rprivate /
mount -t tmpfs tmpfs "$top/m"
mkdir "$top/m/upper" "$top/m/work" "$top/m/root"
mount -t overlay overlay \
    -o "lowerdir=/,upperdir=$top/m/upper,workdir=$top/m/work" "$top/m/root"
root=$top/m/root
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --rbind "$top/share" "$root/mnt"
# Nothing of a test resets this machine.
[ ! -e "$root/proc/sysrq-trigger" ] ||
    mount --bind /dev/null "$root/proc/sysrq-trigger"
if [ -d /sys/fs/cgroup/systemd ]; then
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
else
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
units=$root/etc/systemd/system
rm -rf "$units" "$root/var/lib/ganeti" "$root/var/log/ganeti" "$root/srv/ganeti"
mkdir -p "$units"
ln -s /lib/systemd/system/multi-user.target "$units/default.target"
for unit in systemd-udevd systemd-networkd systemd-resolved systemd-logind \
    getty@tty1 cron networking; do
    ln -s /dev/null "$units/$unit.service"
done
rm -f "$root/etc/hosts" "$root/etc/hostname"
# It keeps packages from starting what they bring.
rm -f "$root/usr/sbin/policy-rc.d"
echo "$2" >"$root/etc/hostname"
hostname "$2"
printf '127.0.0.1 localhost\n192.0.2.10 cluster.example.com\n' >"$root/etc/hosts"
for n in 1 2 3; do
    echo "192.0.2.1$n node$n.example.com node$n" >>"$root/etc/hosts"
done
ip link set lo up
ip link add br0 type bridge
ip address add "$3/24" dev br0
ip link set br0 up
mkdir -p "$root/before"
cd "$root"
pivot_root . before
umount -l /before
export container=test
exec /lib/systemd/systemd --log-target=journal >/dev/null 2>&1
END
}

# booted_start NAME [ADDRESS]: what is in $booted/share is /mnt there
booted_start() {
    [ "$(id -u)" = 0 ] || skip_all "a machine of its own needs root"
    [ -x /lib/systemd/systemd ] || skip_all "systemd is not installed"
    booted=$(mktemp -d /tmp/booted.XXXXXX)
    booted_pid=
    trap booted_end EXIT
    trap 'exit 1' INT TERM HUP
    mkdir "$booted/m" "$booted/share"
    booted_init
    unshare -m -u -i -n -p -C --fork --kill-child sh "$booted/boot" "$booted" \
        "$1" "${2-192.0.2.11}" >"$booted/log" 2>&1 </dev/null &
    booted_pid=$!
    booted_all="$booted_all $1=$booted_pid=$booted"
    until_true "$BOOTED_WAIT_S" booted_is_up ||
        skip_all "systemd does not run in namespaces here: $(tail -n 3 "$booted/log" | tr '\n' ' ')"
}

booted_is_up() {
    case $(booted systemctl is-system-running 2>/dev/null) in
    running | degraded) ;;
    *) return 1 ;;
    esac
}

# booted_use NAME: what follows is about this machine
booted_use() {
    for booted_one in $booted_all; do
        [ "${booted_one%%=*}" = "$1" ] || continue
        booted=${booted_one##*=}
        booted_one=${booted_one#*=}
        booted_pid=${booted_one%%=*}
    done
}

# booted_link NAME NAME: their bridges are one network
booted_link() {
    booted_use "$1"
    booted_first=$(booted_init_pid)
    booted_use "$2"
    booted_second=$(booted_init_pid)
    ip link add "to-${2%%.*}" netns "$booted_first" type veth \
        peer name "to-${1%%.*}" netns "$booted_second"
    booted ip link set "to-${1%%.*}" master br0 up
    booted_use "$1"
    booted ip link set "to-${2%%.*}" master br0 up
}

booted_init_pid() {
    tr -d ' ' <"/proc/$booted_pid/task/$booted_pid/children"
}

# booted COMMAND...: run it there
booted() {
    booted_init_pid=$(booted_init_pid)
    [ -n "$booted_init_pid" ] || return 255
    nsenter -t "$booted_init_pid" -m -p -u -n -C -i -- env -i HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
