#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A container as a real node has it: on a block device, with its NIC on a bridge.
# Acts of the class alone, in a network and a mount namespace of the test.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/container.sh"
container_needs
command -v lxc-start >/dev/null || skip_all "LXC is not installed"
grep -q "^cgroup" /proc/mounts || skip_all "there are no control groups"
[ -x "$drive" ] || skip_all "hv_drive is not built"
if [ -z "${INSIDE-}" ]; then
    why=$(unshare --net --mount true 2>&1) || skip_all "no namespaces: $why"
    INSIDE=$(mktemp -d /tmp/glx.XXXXXX)
    export INSIDE
    trap 'rm -rf "$INSIDE"' EXIT
    unshare --net --mount sh "$0"
    exit $?
fi
loop=
end() {
    "$drive" destroy "$INSIDE/web1.json" >/dev/null 2>&1
    "$drive" cleanup "$INSIDE/web1.json" >/dev/null 2>&1
    [ -z "$loop" ] || losetup --detach "$loop"
}
trap end EXIT
trap 'exit 1' INT TERM HUP
mount --make-rprivate /
mount -t tmpfs run /run
mkdir -p /run/lock /run/lxc /var/log/ganeti
mount -t tmpfs log /var/log/ganeti
# What /sys tells of networks must be of this namespace; cgroups stay.
mkdir "$INSIDE/cgroup"
mount --rbind /sys/fs/cgroup "$INSIDE/cgroup"
mount -t sysfs sys /sys
mount --rbind "$INSIDE/cgroup" /sys/fs/cgroup
umount --lazy "$INSIDE/cgroup"
ip link set lo up
ip link add br0 type bridge
ip addr add 192.0.2.1/24 dev br0
ip link set br0 up
container_tree "$INSIDE/tree"
mke2fs -q -F -t ext4 -d "$INSIDE/tree" "$INSIDE/disk.img" 6M
loop=$(losetup --find --show "$INSIDE/disk.img")
instance() { # DISK-MODE MASK
    cat >"$INSIDE/web1.json" <<END
{"name": "web1", "uuid": "u", "hypervisor": "lxc",
 "hvparams": {"cpu_mask": "$2", "num_ttys": 2, "startup_timeout": 30,
  "devices": "c 1:3 rw,c 1:5 rw,c 5:0 rw,c 136:* rw",
  "drop_capabilities": "sys_module,sys_time",
  "extra_cgroups": "", "extra_config": "lxc.net.0.ipv4.address=192.0.2.9/24"},
 "beparams": {"minmem": 32, "maxmem": 64, "vcpus": 1},
 "nics": [{"mac": "aa:00:00:00:00:01",
  "nicparams": {"mode": "bridged", "link": "br0"}}],
 "disks_info": [{"mode": "$1", "dev_type": "drbd"}], "disk_paths": ["$loop"]}
END
}

instance rw 0
succeeds "LXC can be used" act verify
fails "where it is not there" env PATH=/nosuch "$drive" verify "$INSIDE/web1.json"
like "$out" "Required commands not found: .*lxc-start.*install the package lxc" \
    "what is missing is named"
is "$(PATH=/nosuch "$drive" list "$INSIDE/web1.json")" "[]" "and nothing runs"
succeeds "a container starts from a block device" act start
is "$(act list)" '["web1"]' "and is listed"
like "$(act info)" '"memory":64,"vcpus":1,"state":0' "with its data"
is "$(find /sys/class/net/br0/brif -mindepth 1 | wc -l)" 1 \
    "its NIC is on the bridge"
pid=$(lxc-info -P /var/run/ganeti/lxc/instance -n web1 -H -p)
like "$(nsenter --target "$pid" --net ip link)" "aa:00:00:00:00:01" \
    "with its address"
answers() { ping -c 1 -W 1 192.0.2.9; }
command -v ping >/dev/null || answers() {
    nsenter --target "$pid" --net ip addr | grep -q 192.0.2.9/24
}
succeeds "and is reached" until_true 10 answers
fails "it starts only once" act start
like "$out" "already running" "as it says"
succeeds "its memory grows" act balloon 80
like "$(act info)" '"memory":80,' "as the kernel says"
succeeds "and shrinks" act balloon 48
like "$(act info)" '"memory":48,' "as well"
succeeds "it reboots" act reboot
succeeds "it is asked to end" act stop
succeeds "and ends" until_true 20 is_down
rootfs=/var/run/ganeti/lxc/instance/web1/rootfs
(cd $rootfs && exec sleep 300) &
user=$!
until_true 10 sh -c "readlink /proc/$user/cwd | grep -q rootfs"
fails "a disk that somebody uses is not free" act cleanup
like "$out" "Cannot unmount $rootfs: .*busy.*used by processes: $user \\((sh|sleep)\\)" \
    "and it says who does"
kill $user
succeeds "when nobody does" act cleanup
unlike "$(cat /proc/mounts)" "$loop " "its disk is free again"
instance ro 0
succeeds "one with a disk that is read-only" act start
pid=$(lxc-info -P /var/run/ganeti/lxc/instance -n web1 -H -p)
like "$(sed -n 's/^[^ ]* \/ //p' "/proc/$pid/mounts")" "^ext4 ro" "cannot write it"
fails "memory below what it uses" act balloon 0
succeeds "it is ended by force" act destroy
act cleanup
is "$(ls /var/run/ganeti/lxc/instance)" "" "nothing is left"
tap_done
