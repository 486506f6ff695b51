#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Helper machines that are real ones: a tiny Linux that is started from its disk
# installs what its node tells it, and zeroes what is free in a file system.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "instances come from loopback addresses"
PATH=$PATH:/usr/sbin:/sbin
[ -x /usr/bin/qemu-system-x86_64 ] || skip_all "QEMU is not installed"
command -v mke2fs >/dev/null || skip_all "e2fsprogs is not installed"
lib=$(dirname "$0")/../lib
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
mac=52:54:00:00:47:11
need() { # COMMAND...
    "$@" && return
    [ $? = 77 ] && skip_all "no kernel, busybox or assembler for the guest"
    exit 1
}
need "$lib/guest.sh" "$guest" "$lib/helper_init.sh" virtio_ring virtio \
    virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover \
    net_failover virtio_net
for work in install zero; do
    need "$lib/boot_disk.sh" "$guest/vmlinuz" "$guest/initrd" \
        "console=ttyS0 quiet panic=-1 work=$work mac=$mac" "$guest/$work.img"
done
chmod 755 "$guest"
chmod 644 "$guest"/*.img
cluster_start --nodes 1 --hypervisor kvm

# The guest's way to its node, in place of the bridge that is not there.
address=$(m gnt-node list --no-headers -o pip node1 | tr -d ' ')
cat >"$guest/forward" <<END
#!/usr/bin/env python3
import os, socket, threading
s = socket.create_connection(("$address", 1816), 60, ("127.254.0.1", 0))
def send():
    while data := os.read(0, 65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_RDWR)
threading.Thread(target=send, daemon=True).start()
while data := s.recv(65536):
    os.write(1, data)
END
chmod 755 "$guest/forward"
extra="-netdev user\\,id=node\\,net=169.254.0.0/16\\,restrict=on\\,\
guestfwd=tcp:169.254.169.254:80-cmd:$guest/forward \
-device virtio-net-pci\\,netdev=node\\,mac=$mac"

os=$(root node1)/srv/ganeti/os/wild
mkdir -p "$os"
cp -r "$(root node1)/usr/share/ganeti/os/noop/." "$os"
rm "$os/create"
echo 20 >"$os/ganeti_api_version"
echo 'size a parameter' >"$os/parameters.list"
cat >"$os/create_untrusted" <<'END'
#!/bin/sh
(echo installed; cat /parameters.json; echo) | dd of="$disk" conv=notrunc
END
printf '#!/bin/sh\nexit 0\n' >"$os/verify"
printf '#!/bin/sh\ncat "$EXPORT_DEVICE"\n' >"$os/export"
chmod 755 "$os/create_untrusted" "$os/verify" "$os/export"
m gnt-cluster modify --user-shutdown=yes --install-image="$guest/install.img" \
    --zeroing-image="$guest/zero.img" \
    --instance-communication-network=talk >/dev/null

# A kernel of its own is not what the helper is started from.
succeeds "an instance installs itself" \
    m gnt-instance add --no-name-check --no-ip-check -o wild -t file -s 16m \
    -n node1 -c yes --no-start -B memory=128 -O size=9G \
    -H "kvm:kernel_path=$guest/initrd,user_shutdown=true,kvm_extra=$extra" vm1
disk=$(find "$(root node1)/srv/ganeti/file-storage" -type f)
is "$(head -n 2 "$disk")" 'installed
{"size":["9G","public"]}' "as the script of its node does it"

# A file system whose free blocks have something in them.
head -c 16777216 /dev/urandom >"$disk"
mkdir "$guest/content"
echo "not free" >"$guest/content/kept"
mke2fs -q -t ext4 -O ^has_journal -E nodiscard -d "$guest/content" "$disk"
succeeds "it is exported with zeros" \
    m gnt-backup export -n node1 --zero-free-space --long-sleep \
    --zeroing-timeout-fixed=3600 vm1
dump=$(find "$(root node1)/var/lib/ganeti/export/vm1" -name '*-*' -type f)
[ "$(gzip -1c "$dump" | wc -c)" -lt 4000000 ]
tap_point $? "in what was free"
is "$(debugfs -R 'cat kept' "$dump" 2>/dev/null)" "not free" \
    "what was not is there"
is "$(m gnt-instance list --no-headers --separator=: -o status,disk.count vm1)" \
    ADMIN_down:1 "the instance is as before"
is "$(ls "$(root node1)/var/run/ganeti/kvm-hypervisor/pid")" "" \
    "no machine is left"
tap_done
