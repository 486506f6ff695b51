#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances that are chroots: real ones, on this machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/container.sh"
vcluster_only "it looks into the folders of virtual nodes"
container_needs
images=$(mktemp -d /tmp/gcr.XXXXXX)
chroots_end() {
    for folder in "$VC"/node*/var/run/ganeti/chroot-hypervisor/*; do
        [ ! -s "$folder/pid" ] || kill -9 "$(cat "$folder/pid")" 2>/dev/null
        until_true 5 umount "$folder"
    done
    cluster_end
    rm -rf "$images"
}
trap chroots_end EXIT
container_tree "$images/tree"
chmod 755 "$images"
mke2fs -q -F -t ext4 -d "$images/tree" "$images/disk.img" 6M
touch "$images/tree/broken"
mke2fs -q -F -t ext4 -d "$images/tree" "$images/broken.img" 6M
cluster_start --nodes 2
m gnt-cluster modify --enabled-hypervisors=chroot,fake >/dev/null
for node in node1 node2; do
    for os in disk broken; do
        container_os "$(root $node)/srv/ganeti/os/$os" \
            "$(root $node)/usr/share/ganeti/os/noop" "$images/$os.img"
    done
done

new() { # NAME OS OPTION...
    name=$1 os=$2
    shift 2
    m gnt-instance add --no-name-check --no-ip-check -o "$os" -t sharedfile \
        -s 8m -n node1 -H chroot "$@" "$name"
}
status() { m gnt-instance list --no-headers -o status "$1"; }
run=$(root node1)/var/run/ganeti/chroot-hypervisor
# The process that the script has started, as the host numbers it.
guest() { cat "$run/web1/pid" 2>/dev/null; }

succeeds "add starts a chroot" new web1 disk
is "$(status web1)" running "list says running"
is "$(cat "$run/web1/log")" started "its script was told to start"
guest=$(guest)
is "$(readlink "/proc/$guest/root")" "$run/web1" "its process is inside"
unlike "$(tr '\0' '\n' <"/proc/$guest/environ")" "GANETI" \
    "and knows nothing of the node daemon"
succeeds "the console is shown" m gnt-instance console --show-cmd web1
like "$out" "chroot $run/web1" "as a command"
fails "there is no reboot from inside" m gnt-instance reboot -t soft web1
like "$out" "doesn't implement the reboot" "and it says so"
fails "and no migration" m gnt-instance migrate -f web1
like "$out" "chroot does not support migration" "as it says"
"$BIN/gnt-vcluster" kill "$VC" node1 noded
"$BIN/gnt-vcluster" start "$VC" node1 noded >/dev/null
is "$(status web1),$(alive "$guest" && echo there)" "running,there" \
    "it outlives the node daemon"

succeeds "shutdown" m gnt-instance shutdown --timeout 30 web1
is "$(alive "$guest" && echo there)$(status web1)" ADMIN_down "ends it"
is "$(ls "$run")" "" "nothing is mounted any more"
unlike "$(losetup --all)" "$VC" "and no loop device is taken"
succeeds "a hard reboot" m gnt-instance reboot -t hard web1
succeeds "of one that was down" m gnt-instance startup web1
touch "$run/web1/deaf"
guest=$(guest)
kill -STOP "$guest"
succeeds "one that does not listen" m gnt-instance shutdown --timeout 1 web1
is "$(alive "$guest" && echo there)$(status web1)" ADMIN_down "is killed"
m gnt-instance startup web1 >/dev/null
kill -9 "$(guest)"
crashed() { [ "$(status web1)" = ERROR_down ]; }
succeeds "one that crashed is seen" until_true 10 crashed
succeeds "and started again" m gnt-instance startup web1
is "$(status web1)" running "and runs"
succeeds "it fails over" m gnt-instance failover -f web1
run=$(root node2)/var/run/ganeti/chroot-hypervisor
is "$(status web1),$(readlink "/proc/$(guest)/root")" "running,$run/web1" \
    "to the other node"
is "$(ls "$(root node1)/var/run/ganeti/chroot-hypervisor")" "" \
    "and has left the first"
succeeds "it is removed" m gnt-instance remove -f web1
is "$(ls "$run")" "" "and nothing is left"

run=$(root node1)/var/run/ganeti/chroot-hypervisor
fails "a script that fails" new web2 broken
like "$out" "chroot start script: /ganeti-chroot exited with exit code 3" \
    "is named"
is "$(ls "$run")" "" "and nothing stays mounted"
m gnt-instance modify -H init_script=/sbin/nosuch web2 >/dev/null
fails "one that is not there" m gnt-instance startup web2
like "$out" "nosuch" "as well"
fails "a path that is none" m gnt-instance modify -H init_script=a/b web2
m gnt-instance remove -f web2 >/dev/null
succeeds "the cluster is well" m gnt-cluster verify --no-nplus1-mem
tap_done
