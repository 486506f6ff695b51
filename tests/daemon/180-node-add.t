#!/bin/sh
# gnt-node add prepares a host over SSH: a user-run sshd on loopback stands for
# the host, with keys of this test alone.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "its host is an SSH daemon of its own"
[ -x /usr/sbin/sshd ] && command -v ssh >/dev/null ||
    skip_all "openssh-server is not installed"

ssh_end() {
    [ -z "${sshd-}" ] || kill "$sshd" 2>/dev/null
    guest_node_end "$VC/localhost"
    cluster_end
}
cluster_start --nodes 1
trap ssh_end EXIT
host=$VC/localhost # a host is called as its address is found by
keys=$VC/ssh
mkdir "$keys"
chmod 700 "$keys"
ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
cp "$keys/user.pub" "$keys/authorized"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
noded_port=$(m sh -c 'echo $GANETI_NODED_PORT')
sh "$(dirname "$0")/../lib/sshd.sh" "$keys" 127.0.0.1 "$port" "HostKey $keys/host" \
    "SetEnv GANETI_ROOTDIR=$host GANETI_HOSTNAME=localhost GANETI_NODED_PORT=$noded_port PATH=$BIN:/usr/bin:/bin:/usr/sbin:/sbin" &
sshd=$!
listens() { grep -qs 'Server listening' "$keys/log"; }
until_true 20 listens || skip_all "sshd cannot run here: $(tail -1 "$keys/log")"
mkdir -p "$host"
cat >"$(root node1)/etc/ganeti/ssh_config" <<END
IdentityFile $keys/user
IdentitiesOnly yes
UserKnownHostsFile $keys/known_hosts
StrictHostKeyChecking yes
BatchMode yes
LogLevel ERROR
END
nodes() { m gnt-node list --no-headers -o name | tr '\n' ' '; }

fails "a host whose key is not known" \
    m gnt-node add --node-parameters=ssh_port=$port localhost
like "$out" 'SSH to localhost .*, host key: .*ED25519 SHA256:.* is not known' "is not sent any secret"
is "$(ls "$host")" "" "nothing was written there"
is "$(nodes)" "node1.example.com " "it is no node"
fails "a plan prepares nobody" \
    m gnt-node add --plan --node-parameters=ssh_port=$port localhost
is "$(ls "$host")" "" "so the host stays as it is"
users=/var/lib/ganeti/rapi/users
mkdir -p "$(root node1)/var/lib/ganeti/rapi"
echo "joe secret read" >"$(root node1)$users"
# It was a node of another cluster, which had many masters.
mkdir -p "$host/var/lib/ganeti"
echo '{"term": 1000000, "master": "other.example.com"}' >"$host/var/lib/ganeti/master-term"
succeeds "a host joins" \
    m gnt-node add --no-ssh-key-check --node-parameters=ssh_port=$port localhost
is "$(nodes)" "localhost node1.example.com " "and is a node"
is "$(sha256sum <"$host/var/lib/ganeti/server.pem")" \
    "$(sha256sum <"$(root node1)/var/lib/ganeti/server.pem")" "it has the cluster's key"
is "$(stat -c %a "$host/var/lib/ganeti/server.pem")" 400 "for root alone"
is "$(cat "$host$users")" "joe secret read" "and the users of the remote API"
is "$(stat -c %a "$host$users")" 640 "for its daemon alone"
succeeds "its daemon serves" m gnt-instance add --no-name-check --no-ip-check \
    -t diskless --no-install --no-start -n localhost inst1
unlike "$(cat "$(root node1)"/var/log/ganeti/*.log)" 'PRIVATE KEY' "no log has it"
m gnt-instance remove -f inst1 >/dev/null

fails "one that is a node already" m gnt-node add --no-ssh-key-check localhost
like "$out" 'already in the cluster' "is told"
printf '[localhost]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$keys/host.pub")" >"$keys/known_hosts"
m gnt-node modify -f -O yes localhost >/dev/null
kill "$(cat "$host/var/run/ganeti/ganeti-noded.pid")"
rm "$host/var/lib/ganeti/server.pem"
succeeds "after a repair it comes again, by its own port" m gnt-node add --readd localhost
is "$(m gnt-node list --no-headers -o offline localhost)" N "and is online"

m gnt-node remove localhost >/dev/null
cp "$keys/host" "$host/var/lib/ganeti/server.pem"
fails "a host of another cluster" \
    m gnt-node add --node-parameters=ssh_port=$port localhost
like "$out" 'certificate of another cluster' "is left alone"
succeeds "unless it is forced" m gnt-node add --force-join \
    --node-parameters=ssh_port=$port localhost
is "$(nodes)" "localhost node1.example.com " "it is a node"
m gnt-node remove localhost >/dev/null
fails "without SSH the daemon has to run" \
    m gnt-node add --no-node-setup localhost
like "$out" 'localhost' "says which"
succeeds "verify is content" m gnt-cluster verify
tap_done
