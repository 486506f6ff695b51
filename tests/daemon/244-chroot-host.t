#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A chroot as a real node has it: below /var/run, which is a link to /run, with
# file systems that its script mounts.  Acts of the class alone, in a mount
# namespace of the test.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/container.sh"
container_needs
[ "$(readlink -f /var/run)" = /run ] || skip_all "/var/run is no link to /run"
[ -x "$drive" ] || skip_all "hv_drive is not built"
if [ -z "${INSIDE-}" ]; then
    why=$(unshare --mount true 2>&1) || skip_all "no namespaces: $why"
    INSIDE=$(mktemp -d /tmp/gch.XXXXXX)
    export INSIDE
    trap 'rm -rf "$INSIDE"' EXIT
    unshare --mount sh "$0"
    exit $?
fi
loop=
end() {
    [ -z "$loop" ] || losetup --detach "$loop"
    act destroy >/dev/null 2>&1
    act cleanup >/dev/null 2>&1
}
trap end EXIT
trap 'exit 1' INT TERM HUP
mount --make-rprivate /
mount -t tmpfs run /run
mkdir -p /run/lock
container_tree "$INSIDE/tree"
sed -i 's#^start)#&\n    mount -t proc proc /proc#' "$INSIDE/tree/ganeti-chroot"
for disk in disk other; do
    mke2fs -q -F -t ext4 -d "$INSIDE/tree" "$INSIDE/$disk.img" 6M
done
instance() { # DISK
    cat >"$INSIDE/web1.json" <<END
{"name": "web1", "uuid": "u", "hypervisor": "chroot",
 "hvparams": {"init_script": "/ganeti-chroot"},
 "beparams": {"minmem": 32, "maxmem": 64, "vcpus": 1}, "nics": [],
 "disks_info": [{"mode": "rw", "dev_type": "file"}],
 "disk_paths": ["$INSIDE/$1.img"]}
END
}
above=/var/run/ganeti/chroot-hypervisor
mounted() { sed -n "s#^\([^ ]*\) /run/ganeti/chroot-hypervisor/web1.*#&#p" /proc/mounts; }

instance disk
succeeds "chroots can be used" act verify
succeeds "one starts" act start
like "$(mounted)" "^proc .*/web1/proc " "its script has mounted /proc"
succeeds "it is told to end" act stop
succeeds "and ends" until_true 20 is_down
succeeds "what is mounted is unmounted" act cleanup
is "$(mounted)$(ls $above)" "" "all of it"

# Something that no process is: a loop device on a file in there.
act start
act stop
until_true 20 is_down
truncate -s 64k "$above/web1/held"
loop=$(losetup --find --show "$above/web1/held")
fails "what cannot be unmounted" act cleanup
like "$out" "Cannot unmount $above/web1: .*busy" "is named"
instance other
fails "and no other disk is taken for it" act start
like "$out" "Instead of $INSIDE/other.img, /dev/loop.* is mounted there: Cannot unmount" \
    "as it says"
instance disk
succeeds "the disk itself starts again" act start
succeeds "and stops" act stop
until_true 20 is_down
losetup --detach "$loop"
loop=
instance other
succeeds "what another disk has left is unmounted first" act start
device=$(mounted | sed -n 's# .*/web1 .*##p')
is "$(losetup --noheadings --output BACK-FILE "$device")" "$INSIDE/other.img" \
    "and the right one is there"
act stop
until_true 20 is_down
act cleanup
is "$(mounted)$(ls $above)" "" "in the end nothing is"
tap_done
