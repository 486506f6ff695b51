#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A cluster made and destroyed by hand.  The node's name is its loopback address,
# so that it resolves without anybody's help.
. "$(dirname "$0")/../lib/tap.sh"
: "${BIN:?BIN must name the folder of the programs}"
host=127.$(($$ % 200 + 20)).$(($$ / 200 % 250 + 1)).7
TOP=$(mktemp -d /tmp/gni.XXXXXX)
mkdir "$TOP/$host"
export GANETI_ROOTDIR="$TOP/$host" GANETI_HOSTNAME="$host"
PATH=$BIN:$PATH

end() { # whatever runs is ours: its pid files are below our root
    for daemon in masterd noded; do
        file=$GANETI_ROOTDIR/var/run/ganeti/ganeti-$daemon.pid
        [ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
    done
    rm -rf "$TOP"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

fails "nothing answers before" gnt-cluster info
like "$out" 'not initialized' "and it says why"
fails "an unknown hypervisor is refused" \
    gnt-cluster init --enabled-hypervisors=vax "$host"
like "$out" vax "by name"
fails "a name that does not resolve is refused" \
    gnt-cluster init --enabled-hypervisors=fake no.such.name.invalid
like "$out" 'no.such.name.invalid' "by name, too"

fails "a hypervisor that is not installed is refused" gnt-cluster init \
    --enabled-hypervisors=fake,kvm -H kvm:kvm_path=/nonexistent/kvm \
    --enabled-disk-templates=diskless --master-netdev=lo --no-ssh-init "$host"
like "$out" "Hypervisor kvm.*'/nonexistent/kvm'.* does not exist" "naming it"
is "$(find "$GANETI_ROOTDIR" -name config.data -o -name server.pem)" "" \
    "and leaves no half of a cluster"

succeeds "init makes a cluster" gnt-cluster init \
    --enabled-hypervisors=fake --enabled-disk-templates=diskless,drbd \
    --defaults bridge=br7,disksize=2g --hypervisor-defaults fake:migration_mode=live \
    --master-netdev=lo -B memory=64m,vcpus=1 -C 3 \
    --maintain-node-health=yes --uid-pool=1000-1009,2000 \
    --primary-ip-version=4 --prealloc-wipe-disks=yes \
    --use-external-mip-script=no --gluster-storage-dir=/srv/glu \
    --install-image=/srv/inst.img --zeroing-image=/srv/zero.img \
    --compression-tools=lzop,gzip --user-shutdown=yes --ssh-key-bits=4096 \
    --ssh-key-type=rsa "$host"
is "$(gnt-cluster getmaster)" "$host" "this node is its master"
like "$(cat "$GANETI_ROOTDIR/etc/hosts")" "[[:space:]]$host" "and stands in its /etc/hosts"
gnt-cluster info >"$TOP/info"
like "$(cat "$TOP/info")" 'candidate pool size: 3$' "options count"
like "$(cat "$TOP/info")" ' maxmem: 64$' "with their types"
like "$(cat "$TOP/info")" ' link: br7$' "the older words for defaults"
like "$(gnt-cluster show-ispecs-cmd)" 'std-specs .*disk-size=2048' "as well"
for line in 'maintenance of node health: True' 'uid pool: 1000-1009, 2000' \
    'preallocation wipe disks: True' 'install image: /srv/inst.img' \
    'zeroing image: /srv/zero.img' 'compression tools:' 'user shutdown: True' \
    'lvm volume group: xenvg' 'drbd usermode helper: /bin/true'; do
    like "$(cat "$TOP/info")" "$line" "info has $line"
done
is "$(gnt-job list --no-headers --separator=: -o status,summary)" \
    "success:CLUSTER_POST_INIT" "the first job has run"
succeeds "they are changed so" gnt-cluster modify --defaults hypervisor=fake,bridge=br8
like "$(gnt-cluster info)" ' link: br8$' "later"
fails "a default hypervisor" gnt-cluster modify --defaults hypervisor=kvm
like "$out" "'kvm' cannot be the default, as it is not enabled" "is enabled"
fails "nor is one enabled later that is not installed" gnt-cluster modify \
    --enabled-hypervisors=fake,kvm -H kvm:kvm_path=/nonexistent/kvm
like "$out" "'/nonexistent/kvm'.* does not exist" "naming it"
fails "a second init is refused" \
    gnt-cluster init --enabled-hypervisors=fake "$host"
succeeds "user ids come and go" gnt-cluster modify --add-uids=3000 \
    --remove-uids=1000-1009
like "$(gnt-cluster info)" 'uid pool: 2000, 3000$' "as asked"
fails "but only those that are there" gnt-cluster modify --remove-uids=1000-1009
succeeds "data collectors are switched" gnt-cluster modify \
    --enabled-data-collectors=lv=no --data-collector-interval=drbd=2.5
like "$(gnt-cluster info | grep -A1 ' lv: ')" 'active: False' "off"
like "$(gnt-cluster info | grep -A2 ' drbd: ')" 'interval: 2.500s' "and timed"

# --- another name; what resolves without help is an address ---
new=${host%.7}.8
fails "the name that it has is refused" gnt-cluster rename -f "$host"
like "$out" 'Neither the name nor the IP address' "in words"
succeeds "rename" gnt-cluster rename -f "$new"
is "$out" "Cluster renamed from '$host' to '$new'" "says what it did"
is "$(cat "$GANETI_ROOTDIR/var/lib/ganeti/ssconf_cluster_name" \
    "$GANETI_ROOTDIR/var/lib/ganeti/ssconf_master_ip")" "$new
$new" "the nodes know it"
fails "an address that somebody has is refused" gnt-cluster rename -f "$host"
like "$out" 'reachable on the network' "in words"
fails "destroy wants to hear it twice" gnt-cluster destroy
like "$out" 'yes-do-it' "and says how"
succeeds "destroy ends it" gnt-cluster destroy --ya-rly
fails "nothing answers after" gnt-cluster info
is "$(ls "$GANETI_ROOTDIR/var/run/ganeti/"*.pid 2>/dev/null)" "" \
    "no daemon is left"
is "$(ls "$GANETI_ROOTDIR/var/lib/ganeti/config.data" 2>/dev/null)" "" \
    "nor the configuration"

succeeds "a name may be given as it comes" gnt-cluster init \
    --enabled-hypervisors=fake --enabled-disk-templates=diskless \
    --master-netdev=lo --no-ssh-init LOCALHOST
like "$(gnt-cluster info)" 'Cluster name: localhost' \
    "the cluster has the one that the resolver knows"
succeeds "and ends" gnt-cluster destroy --yes-do-it
tap_done
