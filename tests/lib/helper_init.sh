#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What runs in a helper machine of the tests (guest.sh), as the kernel's command
# line says: work=zero overwrites the free space of the file system on the
# second disk; work=install asks the node for the script create_untrusted and
# runs it with that disk as $disk.  Then the machine ends.
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /lib/*.ko; do insmod "$module"; done
busybox --install -s /bin
disk=/dev/vdb
export disk

zero() {
    mount -t ext4 "$disk" /mnt || return
    dd if=/dev/zero of=/mnt/zeros bs=64k 2>/dev/null # until nothing is free
    sync # what is removed before it is written never gets to the disk
    rm /mnt/zeros
    umount /mnt
}

install() {
    for nic in /sys/class/net/*; do
        [ "$(cat "$nic/address")" = "$mac" ] || continue
        ip address add 169.254.0.1/16 dev "${nic##*/}"
        ip link set "${nic##*/}" up
    done
    for script in parameters.json scripts/create_untrusted; do
        wget -q -O "/${script##*/}" \
            "http://169.254.169.254/ganeti/latest/os/$script" || return
    done
    sh /create_untrusted
}

"$work"
echo "$work: $?" >/dev/console
sync
poweroff -f
