#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-changeover: a cluster of Debian's Ganeti packages on two hosts with
# systemd gets ours by the package manager, and Ganeti's back, while its instances
# run: real machines, whose processes stay the same.
. "$(dirname "$0")/../lib/tap.sh"
[ -n "${DEBS-}" ] && ls "$DEBS"/gantry-master_*.deb >/dev/null 2>&1 ||
    skip_all "DEBS names no folder with our packages (make test-changeover)"
[ -n "${GANETI_DEBS-}" ] && ls "$GANETI_DEBS"/ganeti_*.deb >/dev/null 2>&1 ||
    skip_all "GANETI_DEBS names no folder with Ganeti's packages"
command -v qemu-system-x86_64 >/dev/null || skip_all "qemu-system-x86 is not installed"
dpkg-query -W ganeti >/dev/null 2>&1 || skip_all "Ganeti is not installed"
. "$(dirname "$0")/../lib/booted.sh"

noop=/usr/share/ganeti/os/noop
key=$(mktemp -d /tmp/gkey.XXXXXX)
end() {
    booted_end
    rm -rf "$key"
}
ssh-keygen -q -t ecdsa -N '' -f "$key/key"
for n in 1 2; do
    booted_start "node$n.example.com" "192.0.2.1$n"
    trap end EXIT
    mkdir "$booted/share/ours" "$booted/share/theirs"
    cp "$DEBS"/gantry-*_*.deb "$booted/share/ours"
    rm -f "$booted"/share/ours/*-dbgsym_*
    cp "$GANETI_DEBS"/*.deb "$booted/share/theirs"
    cp "$key"/key* "$booted/share"
    booted mkdir -p /var/lib/ganeti /var/log/ganeti /run/sshd /root/.ssh $noop
    booted sh -ec "cd $noop; echo 20 >ganeti_api_version; : >parameters.list; : >variants.list
        for s in create rename import export verify; do printf '#!/bin/sh\n' >\$s; chmod 755 \$s; done"
    booted sh -ec 'rm -f /root/.ssh/*; cp /mnt/key /root/.ssh/id_ecdsa; cp /mnt/key.pub /root/.ssh/id_ecdsa.pub
        cp /mnt/key.pub /root/.ssh/authorized_keys; chmod 700 /root/.ssh; chmod 600 /root/.ssh/*
        echo "StrictHostKeyChecking no" >/root/.ssh/config
        /usr/lib/ganeti/ensure-dirs; ssh-keygen -A; /usr/sbin/sshd' >/dev/null 2>&1
done
booted_link node1.example.com node2.example.com

# hosts COMMAND...: on both; m: on the master
hosts() {
    for n in 1 2; do
        booted_use "node$n.example.com"
        booted "$@" || return 1
    done
}
m() {
    booted_use node1.example.com
    booted "$@"
}
add() { # INSTANCE NODE
    m gnt-instance add -t diskless -o noop -n "$2.example.com" \
        -B memory=128,vcpus=1 --no-name-check --no-ip-check "$1"
}
guests() { hosts sh -c 'cat /run/ganeti/kvm-hypervisor/pid/*'; }
list() { m gnt-instance list --no-headers -o name,pnode,status --separator=' '; }
answers() { m gnt-instance list >/dev/null 2>&1; }

succeeds "Ganeti makes a cluster" m gnt-cluster init --no-etc-hosts --no-ssh-init \
    --master-netdev=br0 --enabled-hypervisors=kvm --enabled-disk-templates=diskless \
    -H kvm:kvm_path=/usr/bin/qemu-system-x86_64,kernel_path=,serial_console=true \
    --nic-parameters=mode=bridged,link=br0 cluster.example.com
succeeds "of two hosts" m gnt-node add --no-ssh-key-check --no-node-setup node2.example.com
succeeds "with a machine on one" add vm1 node1
succeeds "and on the other" add vm2 node2
like "$(m gnt-cluster version)" "VCS version: .ganeti." "all by Ganeti"
pids=$(guests)
here="vm1 node1.example.com running
vm2 node2.example.com running"
is "$(list)" "$here" "they run"

m gnt-cluster queue drain
hosts systemctl stop ganeti.target ganeti.service >/dev/null 2>&1
succeeds "our packages are installed" \
    hosts sh -c 'apt-get install -y -q --no-install-recommends /mnt/ours/*.deb'
until_true 60 answers
like "$(m gnt-cluster version)" "VCS version: .gantry." "the cluster is ours"
m gnt-cluster queue undrain
is "$(list)" "$here" "with its instances"
is "$(guests)" "$pids" "whose processes are the same"
succeeds "we add one" add vm3 node2
succeeds "and stop one" m gnt-instance shutdown --timeout=1 vm1
succeeds "and start it" m gnt-instance startup vm1
here="$here
vm3 node2.example.com running"
is "$(list)" "$here" "all run"
pids=$(guests)

succeeds "the queue is drained" m gnt-cluster queue drain
succeeds "Ganeti's packages are installed" \
    hosts sh -c 'apt-get install -y -q --no-install-recommends /mnt/theirs/*.deb'
hosts sh -c '/usr/lib/ganeti/ensure-dirs; systemctl start ganeti.target ganeti.service' >/dev/null 2>&1
until_true 90 answers
like "$(m gnt-cluster version)" "VCS version: .ganeti." "the cluster is Ganeti's again"
is "$(hosts dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'gantry-*' 2>/dev/null | grep -c ' installed')" \
    0 "ours are gone"
m gnt-cluster queue undrain
is "$(list)" "$here" "with all instances"
is "$(guests)" "$pids" "whose processes are the same"
succeeds "Ganeti stops ours" m gnt-instance shutdown --timeout=1 vm3
succeeds "and starts it" m gnt-instance startup vm3
is "$(list)" "$here" "all run"
tap_done
