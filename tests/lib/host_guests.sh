# SPDX-License-Identifier: BSD-2-Clause
# Real guests on nodes that are hosts: of LXC, chroot and KVM.  Source it after
# cluster.sh.  What they are made of is in /srv/guests on each node; nothing of the
# nodes is looked at but by commands, so it is the same in containers and machines.
. "$(dirname "$0")/../lib/container.sh"

# guests_make FOLDER: a disk for LXC and chroot, kernel and initramfs for KVM, whose
# guest counts seconds on its console
guests_make() {
    container_needs
    guests_dir=$1
    container_tree "$guests_dir/tree"
    mke2fs -q -F -t ext4 -d "$guests_dir/tree" "$guests_dir/whole.img" 6M >/dev/null 2>&1
    cat >"$guests_dir/init" <<'END'
#!/bin/sh
mount -t devtmpfs dev /dev
n=0
while :; do
    n=$((n + 1))
    echo "tick $n" >/dev/console
    sleep 1
done
END
    "$(dirname "$0")/../lib/guest.sh" "$guests_dir" "$guests_dir/init" ||
        skip_all "no kernel or busybox for the guest"
    rm -rf "$guests_dir/tree"
}

# guests_put NODE...: the OS "whole", that puts the disk on the first one
guests_put() {
    for guests_node in "$@"; do
        tar -cf - -C "$guests_dir" whole.img vmlinuz initrd |
            on "$guests_node" sh -ec '
                mkdir -p /srv/guests /srv/ganeti/os
                tar -xf - -C /srv/guests
                cp -r /usr/share/ganeti/os/noop /srv/ganeti/os/whole
                cd /srv/ganeti/os/whole
                printf "#!/bin/sh\ndd if=/srv/guests/whole.img of=\"\$DISK_0_PATH\" conv=notrunc status=none\n" >create
                chmod 755 create'
    done
}

guests_kvm="kernel_path=/srv/guests/vmlinuz,initrd_path=/srv/guests/initrd,kernel_args=quiet"

# guest_add NAME HYPERVISOR OPTION...
guest_add() {
    guest_name=$1 guest_hv=$2
    shift 2
    [ "$guest_hv" != kvm ] || set -- "$@" -H "kvm:$guests_kvm" -B memory=96
    [ "$guest_hv" = kvm ] || set -- "$@" -H "$guest_hv" -B memory=32
    m gnt-instance add --no-name-check --no-ip-check -o whole -s 8m "$@" "$guest_name"
}

# guest_ticks NODE NAME: how far its kvm guest has counted
guest_ticks() {
    on "$1" sh -c "timeout 20 socat -u UNIX-CONNECT:/var/run/ganeti/kvm-hypervisor/ctrl/$2.serial - |
        sed -un '/tick/{s/.*tick \([0-9]*\).*/\1/p;q}'"
}
