# SPDX-License-Identifier: BSD-2-Clause
# A cluster of virtual machines, whose nodes are node1.vmt to nodeN.vmt.  Source it
# after tap.sh.  KEEP=1 leaves the machines running.

: "${BIN:?BIN must name the folder of the programs}"
VM_NODES=${VM_NODES:-$(dirname "$0")/../../../shared/testbed/boot-cluster.sh}
VM_PATH=/opt/gantry/bin
[ -x "$VM_NODES" ] || skip_all "there is no script that boots nodes (VM_NODES)"
for program in qemu-system-x86_64 qemu-img scp; do
    command -v $program >/dev/null || skip_all "$program is not installed"
done
vm_dir=$(mktemp -d /tmp/vm-test.XXXXXX)
VMT_RUN=${VMT_RUN:-$vm_dir/run}
DATA=${DATA:-24G} # verify wants volume groups of 20 GiB
MEM=${MEM:-320}
SSH_TIMEOUT=${SSH_TIMEOUT:-900}
export VMT_RUN DATA MEM SSH_TIMEOUT

bail() { # REASON
    echo "Bail out! $1"
    exit 1
}

vm_end() {
    [ -n "${KEEP-}" ] || "$VM_NODES" down >/dev/null 2>&1
    [ -n "${KEEP-}" ] || rm -rf "$vm_dir"
}
trap vm_end EXIT
trap 'exit 1' INT TERM HUP

# vm NODE COMMAND...: a line for the node's shell
vm() {
    node=$1
    shift
    "$VM_NODES" ssh "$node" \
        "cd /; export PATH=$VM_PATH:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C; $*"
}
# m COMMAND...: on the master
m() {
    vm 1 "$@"
}

# The programs without what debuggers need.
vm_pack() {
    mkdir -p "$vm_dir/pack$VM_PATH"
    for program in gnt gantry-masterd gantry-noded gantry-impexp gantry-rapi hail; do
        [ -e "$BIN/$program" ] || continue
        strip -o "$vm_dir/pack$VM_PATH/$program" "$(readlink -f "$BIN/$program")"
    done
    for tool in cluster node instance backup debug job storage; do
        ln -s gnt "$vm_dir/pack$VM_PATH/gnt-$tool"
    done
    tar -czf "$vm_dir/pack.tgz" -C "$vm_dir/pack" .
}

# An OS that installs nothing, the names of the cluster, and PATH for what
# begins over SSH.
vm_script() {
    cat <<END
grep -q cluster.vmt /etc/hosts || echo 10.77.0.10 cluster.vmt >>/etc/hosts
hostname \$(hostname | cut -d. -f1).vmt
tar -xzf /root/pack.tgz -C /
mkdir -p /srv/ganeti/os/tiny
cd /srv/ganeti/os/tiny
echo 20 >ganeti_api_version
echo default >variants.list
: >parameters.list
for script in create rename export import verify; do
    printf '#!/bin/sh\nexit 0\n' >\$script
    chmod +x \$script
done
echo "PATH=$VM_PATH:/usr/sbin:/usr/bin:/sbin:/bin" >/root/.ssh/environment
echo PermitUserEnvironment yes >>/etc/ssh/sshd_config.d/vmt.conf
kill -HUP \$(cat /run/sshd.pid)
ip link show xen-br0 >/dev/null 2>&1 || ip link add xen-br0 type bridge
END
}

# vm_cluster N: boot them, and make them a cluster with LVM and DRBD.
vm_cluster() {
    vm_pack
    vm_script >"$vm_dir/prepare"
    "$VM_NODES" up "$1" >"$vm_dir/log" 2>&1 ||
        skip_all "nodes do not boot: $(tail -1 "$vm_dir/log")"
    for i in $(seq "$1"); do
        "$VM_NODES" put "$i" "$vm_dir/pack.tgz" "$vm_dir/prepare" /root/ &&
            vm "$i" sh /root/prepare || bail "node $i cannot be prepared"
    done
    m gnt-cluster init --enabled-hypervisors=fake --no-etc-hosts \
        --enabled-disk-templates=plain,drbd --vg-name=xenvg \
        --drbd-usermode-helper=/bin/true --master-netdev=eth0 cluster.vmt ||
        bail "no cluster"
    for i in $(seq 2 "$1"); do
        m gnt-node add --no-ssh-key-check "node$i.vmt" >/dev/null 2>&1 ||
            bail "node $i does not join"
    done
    m gnt-cluster modify --ipolicy-bounds-specs \
        min:cpu-count=1,disk-count=1,disk-size=16,memory-size=16,nic-count=0,spindle-use=1/max:cpu-count=8,disk-count=16,disk-size=1048576,memory-size=32768,nic-count=8,spindle-use=12
}

# vm_pattern NODE DEVICE MIB: write sequence numbers on it; vm_sum: what is on it.
vm_pattern() {
    vm "$1" "seq 1 99999999 | head -c $(($3 * 1048576)) | dd of=$2 bs=1M iflag=fullblock oflag=direct 2>/dev/null"
}
vm_sum() { # NODE DEVICE MIB
    vm "$1" "dd if=$2 bs=1M count=$3 iflag=direct 2>/dev/null | sha256sum | cut -c1-16"
}
