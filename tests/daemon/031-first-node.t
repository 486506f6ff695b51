#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The first node of a cluster on hosts of their own (hosts.sh): which addresses
# gnt-cluster init takes, and that it leaves none behind.  The second one has to
# have the name that the cluster gives it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_start 2
names=$(root node1)/etc/hosts
init() { # OPTION... NAME
    on node1 gnt-cluster init --no-etc-hosts --master-netdev=eth0 \
        --enabled-hypervisors=fake --enabled-disk-templates=diskless "$@"
}

sed 's/^192.0.2.11 /127.0.1.1 /' "$HOSTS/hosts" >"$names"
fails "a host that is at a loopback address alone" init cluster.example.com
like "$out" "'node1.example.com', resolves to a loopback address only" "is no first node"
sed 's/^192.0.2.11 /192.0.2.12 /' "$HOSTS/hosts" >"$names"
fails "nor one at an address of another" init cluster.example.com
like "$out" '192.0.2.12, which is no address of this host' "which it names"

# Debian's installer writes the first line.
{
    echo '127.0.1.1 node1.example.com node1'
    cat "$HOSTS/hosts"
    echo '192.0.2.12 taken.example.com'
} >"$names"
fails "an address that answers is not the cluster's" init taken.example.com
like "$out" "address 192.0.2.12 is in use" "and is named"
fails "nor is a device that is not there" \
    init --master-netdev=eth9 cluster.example.com
like "$out" "no network device 'eth9'" "which is named, too"
for ip in 198.51.100.11 127.0.0.1; do
    fails "a second network needs an address" init -s $ip cluster.example.com
    like "$out" "secondary address $ip is none of this host" "of this host: $ip"
done
fails "which is one" init -s node1.example.com cluster.example.com
like "$out" "'node1.example.com' is not a valid address" "in numbers"
is "$(find "$(root node1)/var/lib/ganeti" -type f)" "" "nothing was written"

addresses() { on node1 ip -o address show dev eth0; }
# A hook that holds the address back until it is about to be taken down.
hooks=$(root node1)/etc/ganeti/hooks/master-ip-turnup-pre.d
mkdir -p "$hooks"
cat >"$hooks/10-late" <<'END'
#!/bin/sh
for i in $(seq 400); do
    ! grep -rqs DEACTIVATE_MASTER_IP /var/lib/ganeti/queue || exit 0
    sleep 0.05
done
END
chmod 755 "$hooks/10-late"
fails "a cluster that cannot begin" init \
    --enabled-hypervisors=fake,kvm -H kvm:kvm_path=/nonexistent/kvm \
    cluster.example.com
like "$out" "kvm'.* does not exist" "says why"
unlike "$(addresses)" '192\.0\.2\.10/' "and leaves no address behind"
rm -r "$hooks"

succeeds "init passes over the loopback address" init cluster.example.com
is "$(cat "$(root node1)/var/lib/ganeti/ssconf_node_primary_ips")" \
    "node1.example.com 192.0.2.11" "and takes the one that others reach"
fails "a second init is refused" init cluster.example.com
like "$out" "already initialised" "for that reason"
on node2 hostname other
fails "a host of another name" on node1 gnt-node add node2.example.com
like "$out" "calls itself 'other'.*hostnamectl set-hostname node2.example.com" \
    "is told how it gets its own"
is "$(find "$(root node2)/var/lib/ganeti" -type f)" "" "and gets no secret"
on node2 hostname node2.example.com
succeeds "then it joins" on node1 gnt-node add node2.example.com
on node1 gnt-node remove node2.example.com >/dev/null 2>&1
has_address() { addresses | grep -q '192\.0\.2\.10/'; }
succeeds "the address is up" until_true 30 has_address
succeeds "destroy ends it" on node1 gnt-cluster destroy --yes-do-it
unlike "$(addresses)" '192\.0\.2\.10/' "with its address"
tap_done
