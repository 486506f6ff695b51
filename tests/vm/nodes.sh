# SPDX-License-Identifier: BSD-2-Clause
# A cluster of virtual machines with a volume group and DRBD: source it after
# tap.sh.  gnt-vcluster makes the machines (tests/lib/vms.sh); without QEMU or an
# image the tests skip.  KEEP=1 leaves them running; CLUSTER=DIR uses those that
# an earlier test has left in DIR, and leaves them, too.
. "$(dirname "$0")/../lib/vms.sh"
[ -z "${KEEP-}${CLUSTER-}" ] || trap 'echo "# the cluster is in $VC"' EXIT
DATA=${DATA:-24g} # verify wants volume groups of 20 GiB

# vm NODE COMMAND...: a line for the shell of node NODE (a number)
vm() {
    vm_node=$1
    shift
    on "node$vm_node" sh -c "$*"
}

# vm_cluster N [OPTION...]: boot them, and give the cluster LVM and DRBD.
vm_cluster() {
    vm_n=$1
    shift
    [ -z "${CLUSTER-}" ] || {
        VC=$CLUSTER
        return 0
    }
    vms_start --nodes "$vm_n" --disks "$DATA" "$@"
    # Candidates that have just started may take their time.
    until_true 300 m gnt-cluster modify --vg-name=xenvg \
        --enabled-disk-templates=plain,drbd,file,diskless \
        --ipolicy-disk-templates=plain,drbd,file,diskless \
        --drbd-usermode-helper=/bin/true \
        --ipolicy-bounds-specs \
        min:cpu-count=1,disk-count=1,disk-size=16,memory-size=16,nic-count=0,spindle-use=1/max:cpu-count=8,disk-count=16,disk-size=1048576,memory-size=32768,nic-count=8,spindle-use=12 \
        >/dev/null 2>&1 || {
        echo "Bail out! no volumes and mirrors"
        exit 1
    }
    # What the nodes have there, for allocators.
    until_true 300 m gnt-node refresh-state
}

vm_crash() { "$vc" crash "$VC" "node$1"; }
vm_boot() { "$vc" start "$VC" "node$1"; }

# vm_pattern NODE DEVICE MIB [FIRST]: write sequence numbers on it; vm_sum: what is on it.
vm_pattern() {
    vm "$1" "seq ${4:-1} 99999999999 | head -c $(($3 * 1048576)) | dd of=$2 bs=1M iflag=fullblock oflag=direct 2>/dev/null"
}
vm_sum() { # NODE DEVICE MIB
    vm "$1" "dd if=$2 bs=1M count=$3 iflag=direct 2>/dev/null | sha256sum | cut -c1-16"
}
