#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Disks in images of the format qcow2: what is in them is what counts, wherever
# they go.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
for program in qemu-img qemu-io qemu-storage-daemon; do
    command -v "$program" >/dev/null || skip_all "no $program (qemu-utils)"
done
[ -w /dev/fuse ] || skip_all "/dev/fuse is not to be had"
img=$(mktemp /tmp/gimg.XXXXXX)
trap 'cluster_end; rm -f "$img"' EXIT
cluster_start --nodes 2

# An OS whose scripts write to its first disk, and copy disks.
for node in node1 node2; do
    os=$(root $node)/usr/share/ganeti/os/copy
    cp -r "$(root $node)/usr/share/ganeti/os/noop" "$os"
    printf '#!/bin/sh\nprintf installed | dd of="$DISK_0_PATH" bs=1 seek=1000 conv=notrunc\n' \
        >"$os/create"
    printf '#!/bin/sh\nprintf renamed | dd of="$DISK_0_PATH" bs=1 seek=2000 conv=notrunc\n' \
        >"$os/rename"
    printf '#!/bin/sh\nexec cat "$EXPORT_DEVICE"\n' >"$os/export"
    printf '#!/bin/sh\nexec dd of="$IMPORT_DEVICE" bs=64k conv=notrunc\n' >"$os/import"
done
disk() { # NODE INSTANCE N
    echo "$(root "$1")/srv/ganeti/file-storage/$2/"*.disk"$3"
}
sum() { # FILE: of what is in the image
    qemu-img convert -f qcow2 -O raw "$1" "$VC/raw" && sha256sum <"$VC/raw"
    rm -f "$VC/raw"
}
at() { # FILE OFFSET COUNT
    qemu-img convert -f qcow2 -O raw "$1" "$VC/raw" &&
        dd if="$VC/raw" bs=1 skip="$2" count="$3" 2>/dev/null
    rm -f "$VC/raw"
}
info() { qemu-img info --output=json "$1"; }
kib() { du -k "$1" | cut -f1; }
before=$(m gnt-cluster info)

# --- the parameter ---
unlike "$before" 'format' "a cluster where nobody asked has no formats"
fails "a format that there is not" m gnt-cluster modify -D file:format=vmdk
succeeds "the cluster's new files are images" m gnt-cluster modify -D file:format=qcow2
like "$(m gnt-cluster info)" 'format: qcow2' "as it says"
fails "containers cannot have them" m gnt-instance add --no-name-check --no-ip-check \
    --no-start -t file -s 8m -o copy -n node1 -H lxc web0
like "$out" "lxc cannot open disks of the format qcow2|not enabled" "and are told"

# --- an instance ---
succeeds "an instance is installed" m gnt-instance add --no-name-check --no-ip-check \
    --no-start -t file --disk 0:size=64m --disk 1:size=12m,format=raw -o copy -n node1 web1
image=$(disk node1 web1 0)
like "$(info "$image")" '"format": "qcow2"' "its disk is an image"
is "$(m gnt-instance info --static --all | grep -E '^- Instance name|format: qcow2' | tr -s ' ' | tr '\n' '|')" \
    "- Instance name: web1| format: qcow2|" "and found in what is told of the instance"
like "$(info "$image")" '"virtual-size": 67108864' "as large as was asked"
is "$(stat -c %a "$image")" 600 "for root alone"
is "$(at "$image" 1000 9)" installed "the OS script has written into it"
is "$(stat -c %s "$(disk node1 web1 1)")" 12582912 "another disk is raw as it wished"
is "$(ls "$(root node1)/var/run/ganeti/lent-disks")" "" "nothing stays lent"
succeeds "it grows" m gnt-instance grow-disk web1 0 8m
like "$(info "$image")" '"virtual-size": 75497472' "inside"
succeeds "and is as large as recorded" m gnt-cluster repair-disk-sizes web1
unlike "$out" 'mismatched|corrected' "as is checked"
sum0=$(sum "$image")
succeeds "it moves" m gnt-instance move -f -n node2 web1
image=$(disk node2 web1 0)
is "$(sum "$image")" "$sum0" "with its data"
[ "$(kib "$image")" -lt 2000 ]
tap_point $? "which are few" || note "$(kib "$image") KiB"
succeeds "a reinstallation works in it" m gnt-instance reinstall -f web1
succeeds "a renaming too" m gnt-instance rename -f --no-name-check --no-ip-check web1 web2
image=$(disk node2 web2 0)
is "$(at "$image" 1000 9) $(at "$image" 2000 7)" "installed renamed" "as its script shows"
sum0=$(sum "$image")

# --- out of it, and into it ---
succeeds "it is exported" m gnt-backup export -n node1 web2
folder=$(root node1)/var/lib/ganeti/export/web2
dump=$folder/$(sed -n 's/^disk0_dump = //p' "$folder/config.ini")
is "$(sha256sum <"$dump")" "$sum0" "as raw data"
succeeds "and imported" m gnt-backup import --no-name-check --no-ip-check -t file -n node1 \
    --src-node=node1 --src-dir=web2 --net 0:mac=generate web3
is "$(sum "$(disk node1 web3 0)")" "$sum0" "into an image"
succeeds "it is converted" m gnt-instance modify -t sharedfile web3
is "$(sha256sum <"$(echo "$VC"/shared-file-storage/web3/*.disk0)")" "$sum0" \
    "to a raw file, as shared files are not images here"
succeeds "and back" m gnt-instance modify -t file web3
is "$(sum "$(disk node1 web3 0)")" "$sum0" "with its data"
head -c 3000000 /dev/urandom >"$img"
chmod 644 "$img"
succeeds "an OS image is put into it" m gnt-instance add --no-name-check --no-ip-check \
    --no-start -t file -s 8m -n node1 -O os-image="$img" web4
is "$(at "$(disk node1 web4 0)" 0 9 | sha256sum)" "$(head -c 9 "$img" | sha256sum)" \
    "and nothing else"

# --- snapshots ---
m gnt-instance startup web3 >/dev/null
m gnt-cluster modify -D sharedfile:format=qcow2 >/dev/null
succeeds "an instance that runs is exported" m gnt-backup export -n node2 --noshutdown web3
like "$out" 'Creating a snapshot of disk/0' "from a snapshot"
folder=$(root node2)/var/lib/ganeti/export/web3
is "$(sha256sum <"$folder/$(sed -n 's/^disk0_dump = //p' "$folder/config.ini")")" "$sum0" \
    "with its data"
unlike "$(info "$(disk node1 web3 0)")" '"snapshots"' "no snapshot stays in the image"
is "$(ls "$(root node1)/var/run/ganeti/lent-disks")" "" "nor anything lent"
m gnt-instance shutdown web3 >/dev/null

# --- wipe ---
m gnt-cluster modify --prealloc-wipe-disks=yes >/dev/null
succeeds "new space is wiped" m gnt-instance grow-disk web3 0 8m
succeeds "verify is content" m gnt-cluster verify
m gnt-cluster modify -D sharedfile:format=default >/dev/null
m gnt-cluster modify -D file:format=default --prealloc-wipe-disks=no >/dev/null
is "$(m gnt-cluster info | grep -c format:)" 0 "the parameter can go"
m gnt-instance startup web3 >/dev/null
succeeds "images stay images" m gnt-instance move -f -n node2 web3
like "$(info "$(disk node2 web3 0)")" '"format": "qcow2"' "also where they move"
# As doc/replace-ganeti.md makes them raw.
m gnt-instance shutdown web3 >/dev/null
sum0=$(sum "$(disk node2 web3 0)")
succeeds "other storage" m gnt-instance modify -t sharedfile web3
succeeds "and the same again" m gnt-instance modify -t file web3
unlike "$(m gnt-instance info --static web3)" 'format:' "make them raw"
is "$(sha256sum <"$(disk node2 web3 0)")" "$sum0" "with their data"
tap_done
