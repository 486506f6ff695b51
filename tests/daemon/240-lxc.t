#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Real containers of LXC on this machine's kernel.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/container.sh"
vcluster_only "it looks into the folders of virtual nodes"
container_needs
for program in lxc-start lxc-info lxc-ls; do
    command -v $program >/dev/null || skip_all "LXC is not installed"
done
grep -q "^cgroup" /proc/mounts || skip_all "there are no control groups"
images=$(mktemp -d /tmp/gct.XXXXXX)
containers_end() {
    # A cluster that is gone with its containers running would leave them.
    for name in web1 web2 part; do
        for folder in "$VC"/node*/var/run/ganeti/lxc/instance; do
            [ ! -e "$folder/$name/config" ] || {
                lxc-stop -P "$folder" -n $name --kill
                umount "$folder/$name/rootfs"
            } >/dev/null 2>&1
        done
    done
    cluster_end
    rm -rf "$images"
}
trap containers_end EXIT
container_tree "$images/tree"
chmod 755 "$images"
mke2fs -q -F -t ext4 -d "$images/tree" "$images/whole.img" 6M
# The same as the first partition of a disk.
truncate -s 8M "$images/part.img"
python3 - "$images/part.img" <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(446)
    f.write(struct.pack("<BBBBBBBBII", 0, 0, 2, 0, 0x83, 0, 0, 0, 2048, 12288))
    f.seek(510)
    f.write(b"\x55\xaa")
END
dd if="$images/whole.img" of="$images/part.img" bs=512 seek=2048 conv=notrunc \
    status=none
cluster_start --nodes 2
m gnt-cluster modify --enabled-hypervisors=lxc,fake >/dev/null
for node in node1 node2; do
    for image in whole part; do
        container_os "$(root $node)/srv/ganeti/os/$image" \
            "$(root $node)/usr/share/ganeti/os/noop" "$images/$image.img"
    done
done

new() { # NAME OS OPTION...
    name=$1 os=$2
    shift 2
    m gnt-instance add --no-name-check --no-ip-check -o "$os" -t sharedfile \
        -s 8m -n node1 -H lxc "$@" "$name"
}
status() { m gnt-instance list --no-headers -o status "$1"; }
field() { m gnt-instance list --no-headers -o "$2" "$1" | tr -d ' '; }
run=$(root node1)/var/run/ganeti/lxc
console() { grep -q "$2" "$run/instance/$1/console.log"; }
pid() { lxc-info -P "$run/instance" -n "$1" -H -p; }
# limit NAME FILE-OF-V1 FILE-OF-V2: of its control group
limit() {
    pid=$(pid "$1")
    folder=$(sed -n "s/^[0-9]*:${2%%.*}:\(.*\)/\1/p" "/proc/$pid/cgroup")
    if [ -n "$folder" ]; then
        mount=$(sed -n "s/^cgroup \([^ ]*\) cgroup .*\<${2%%.*}\>.*/\1/p" \
            /proc/mounts | head -1)
        cat "$mount$folder/$2"
    else
        folder=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
        cat "$(sed -n 's/^cgroup2* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts |
            head -1)$folder/$3"
    fi
}
has_memory() {
    [ "$(limit web1 memory.limit_in_bytes memory.max)" = $(($1 * 1048576)) ]
}

succeeds "add starts a container" \
    new web1 whole -B minmem=64,maxmem=128 -H lxc:cpu_mask=0
is "$(status web1)" running "list says running"
succeeds "its init runs, with its host name" until_true 20 console web1 "up web1"
is "$(field web1 oper_vcpus),$(field web1 oper_ram)" "1,128M" \
    "it has the CPUs and the memory that it was given"
succeeds "the kernel limits its memory" has_memory 128
is "$(limit web1 cpuset.cpus cpuset.cpus)" 0 "and its CPUs"
succeeds "its memory shrinks" m gnt-instance modify -m 96 web1
succeeds "the limit, too" has_memory 96
is "$(field web1 oper_ram)" 96M "as list says"
is "$(stat -c %a "$run/instance/web1/config" "$run/instance/web1/console.log" |
    sort -u)" 600 "nobody else reads its files"
succeeds "its log is there" test -s \
    "$(root node1)/var/log/ganeti/lxc/web1.$(field web1 uuid).log"
like "$(ls "/proc/$(pid web1)/root/")" "ganeti-chroot" "its root is the disk"
like "$(sed -n 's/^CapBnd:[[:space:]]*//p' "/proc/$(pid web1)/status")" \
    '^[0-9a-f]*$' "it has fewer capabilities"
# sys_boot is 22, sys_admin 21, sys_module 16
is $((0x$(sed -n 's/^CapBnd:[[:space:]]*//p' "/proc/$(pid web1)/status") & \
    (1 << 22 | 1 << 21 | 1 << 16))) 0 "not those that are dropped"
unlike "$(cat "/proc/$(pid web1)/net/dev")" "eth0" \
    "the host's network is not its own"

succeeds "the console is shown" m gnt-instance console --show-cmd web1
like "$out" "lxc-console -P .*/lxc/instance -n web1" "as a command"
fails "it may not reboot" m gnt-instance reboot -t soft web1
like "$out" "SYS_BOOT capability dropped" "and says why"
fails "it cannot migrate" m gnt-instance migrate -f web1
like "$out" "lxc does not support migration" "and says so"

old=$(pid web1)
"$BIN/gnt-vcluster" kill "$VC" node1 noded
"$BIN/gnt-vcluster" start "$VC" node1 noded >/dev/null
is "$(status web1),$(pid web1)" "running,$old" \
    "it outlives the node daemon, which finds it again"

succeeds "shutdown asks it to end" m gnt-instance shutdown --timeout 60 web1
is "$(alive "$old" && echo there)$(status web1)" ADMIN_down "and it does"
is "$(ls "$run/instance")" "" "nothing of it is left"
m gnt-instance modify -H drop_capabilities=sys_module web1 >/dev/null
m gnt-instance startup web1 >/dev/null
old=$(pid web1)
succeeds "one that may reboot does" m gnt-instance reboot -t soft web1
is "$(status web1),$([ "$(pid web1)" != "$old" ] && echo new)" "running,new" \
    "it runs again"
succeeds "a hard reboot" m gnt-instance reboot -t hard --shutdown-timeout=5 web1
is "$(status web1)" running "works as well"
touch "/proc/$(pid web1)/root/deaf"
succeeds "one that does not listen" m gnt-instance shutdown --timeout 1 web1
is "$(status web1)" ADMIN_down "is ended by force"

succeeds "it starts on the other node" sh -c \
    "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-instance failover -f web1 &&
     '$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-instance startup web1"
is "$(field web1 pnode),$(status web1)" "node2.example.com,running" "and runs"
succeeds "it is removed" m gnt-instance remove -f --shutdown-timeout=1 web1
is "$(ls "$(root node2)/var/run/ganeti/lxc/instance")" "" "nothing is left"

succeeds "a disk with partitions" new part part -B memory=64
succeeds "starts from the first" until_true 20 console part "up part"
like "$(losetup --all --list --noheadings --output OFFSET,BACK-FILE)" \
    "1048576 $VC/.*/part/" "by a loop device"
succeeds "which is given back" m gnt-instance remove -f part
unlike "$(losetup --all)" "$VC/.*/part/" "when it ends"

# killed inside: the watcher's case
new web2 whole -B memory=64 >/dev/null 2>&1
kill -9 "$(pid web2)"
succeeds "one that crashed" until_true 20 sh -c \
    "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-instance list --no-headers \
        -o status web2 | grep -q ERROR_down"
succeeds "is started again" m gnt-instance startup web2
is "$(status web2)" running "and runs"
m gnt-instance shutdown --timeout 1 web2 >/dev/null
fails "a CPU that is not there" m gnt-instance modify -H cpu_mask=4000 web2
like "$out" "this node has CPUs 0 to" "is refused"
fails "a line that is none" m gnt-instance modify -H extra_config=nonsense web2
like "$out" "'nonsense' is not a line" "as well"
m gnt-instance modify -H extra_config=lxc.init.cmd=/nosuch web2 >/dev/null
fails "an init that is not there" m gnt-instance startup web2
like "$out" "Failed to (exec|start).*see .*web2" "is named, and the log"
is "$(status web2)" ERROR_down "and it does not run"
m gnt-instance modify -H extra_config=default -B vcpus=2 web2 >/dev/null
m gnt-instance modify -H cpu_mask=0 web2 >/dev/null
fails "CPUs and their number" m gnt-instance startup web2
like "$out" "doesn't match the number of CPUs" "have to agree"
m gnt-instance remove -f web2 >/dev/null
fails "without a disk" m gnt-instance add --no-name-check --no-ip-check \
    -H lxc -o whole -t diskless -n node1 web3
like "$out" "LXC cannot have diskless" "there is no container"
m gnt-instance remove -f web3 >/dev/null 2>&1
succeeds "the cluster is well" m gnt-cluster verify --no-nplus1-mem
tap_done
