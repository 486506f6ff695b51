# SPDX-License-Identifier: BSD-2-Clause
# What cluster.sh does with KIND=vm: tests find in virtual machines what they find in
# containers.  The files of a node are in $VC, as root() says; each node has $VC under
# the same name, with it the shared folder for instances, and our programs where this
# machine has them.  These are mounts of sshfs, whose server is at the other end of a
# command of gnt-vcluster exec.

# Whatever is read is what is there now.
vm_options=passive,allow_other,direct_io,dir_cache=no,entry_timeout=0,attr_timeout=0
vm_options=$vm_options,negative_timeout=0
vm_server=/usr/lib/openssh/sftp-server
vm_shared=/srv/ganeti/shared-file-storage

[ -x "$vm_server" ] && command -v sshfs >/dev/null && [ -w /dev/fuse ] ||
    skip_all "KIND=vm needs sshfs, $vm_server and /dev/fuse"

vm_exec() { # NODE COMMAND...
    vm_name=$1
    shift
    "$BIN/gnt-vcluster" exec "$VC" "$vm_name" -- "$@"
}

# The files of a node, for this machine; behind a link, so that the node does not find
# its own files in $VC once more.
vm_show() { # NODE
    vm_at=$VC.nodes/$1
    mkdir -p "$vm_at"
    mkfifo "$VC.nodes/pipe"
    sshfs -f -o "$vm_options,transform_symlinks,no_contain_symlinks" :/ "$vm_at" <"$VC.nodes/pipe" 2>/dev/null |
        vm_exec "$1" "$vm_server" >"$VC.nodes/pipe" 2>/dev/null &
    until_true 60 mountpoint -q "$vm_at" || return 1
    rm "$VC.nodes/pipe"
    ln -s "$vm_at" "$VC/$1.example.com"
}

# $VC for a node.
vm_share() { # NODE
    vm_exec "$1" mkdir -p "$VC" "$(dirname "$BIN")" &&
        vm_exec "$1" ln -s /opt/gantry/bin "$BIN" &&
        vm_exec "$1" modprobe fuse || return 1
    mkfifo "$VC.nodes/pipe"
    (cd "$VC" && exec "$vm_server" -e) <"$VC.nodes/pipe" 2>/dev/null |
        vm_exec "$1" sshfs -f -o "$vm_options" ":$VC" "$VC" >"$VC.nodes/pipe" 2>/dev/null &
    until_true 60 vm_exec "$1" mountpoint -q "$VC" || return 1
    rm "$VC.nodes/pipe"
    vm_exec "$1" mount --bind "$VC/shared-file-storage" "$vm_shared"
}

cluster_create() { # OPTION...
    "$BIN/gnt-vcluster" create "$VC" --kind vm --memory 1g --packages sshfs,python3 \
        --enabled-disk-templates sharedfile,file,diskless "$@" || return 1
    mkdir -p "$VC.nodes" "$VC/shared-file-storage"
    for vm_node in $("$BIN/gnt-vcluster" list "$VC" | grep -o '^node[0-9]*'); do
        vm_show "$vm_node" && vm_share "$vm_node" ||
            { echo "the files of $vm_node cannot be shared"; return 1; }
    done
    # The shared folder has another size now.
    vm_exec node1 gnt-node refresh-state
}

# The servers end with the machines, and with them the mounts.
cluster_unmount() {
    for vm_at in "$VC.nodes"/node*; do
        ! mountpoint -q "$vm_at" || umount --lazy "$vm_at"
    done
    rm -rf --one-file-system "$VC.nodes"
}
