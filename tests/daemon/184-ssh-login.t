#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Nodes log in to each other with the keys that they were given: each node has
# an SSH daemon on its loopback address, run by this test.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "hosts have no SSH"
[ -x /usr/sbin/sshd ] && command -v ssh >/dev/null ||
    skip_all "openssh-server is not installed"
daemons=
login_end() {
    # shellcheck disable=SC2086
    end_own $daemons
    cluster_end
    rm -rf "$work"
}
work=$(mktemp -d /tmp/gssh.XXXXXX)
mkdir "$work/bin"
# One node's keys wait for us, when we say so.
cat >"$work/bin/ssh-keygen" <<END
#!/bin/sh
case \$* in *node2*)
    [ ! -e "$work/hold" ] || { touch "$work/waits" && read -r _ <"$work/go"; } ;;
esac
exec $(command -v ssh-keygen) "\$@"
END
chmod 755 "$work/bin/ssh-keygen"
PATH=$work/bin:$PATH
export PATH
cluster_start --nodes 3 --ssh
trap login_end EXIT
all="node1 node2 node3"
ip() { "$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["name"].startswith(sys.argv[1])][0])' "$1"; }
free_port() { python3 -c '
import socket, sys
s = socket.socket()
s.bind((sys.argv[1], 0))
print(s.getsockname()[1])' "$1"; }
for node in $all; do
    root=$(root "$node")
    address=$(ip "$node")
    port=$(free_port "$address")
    mkdir -p "$root/etc/ssh"
    ssh-keygen -q -t ed25519 -N '' -f "$root/etc/ssh/ssh_host_ed25519_key"
    printf 'Host %s.example.com\n  HostName %s\n  Port %s\n  User %s\n' \
        "$node" "$address" "$port" "$(id -un)" >>"$VC/ssh_config"
    sh "$(dirname "$0")/../lib/sshd.sh" "$work/$node" "$address" "$port" \
        "HostKey $root/etc/ssh/ssh_host_ed25519_key" \
        "AuthorizedKeysFile $root/root/.ssh/authorized_keys" \
        "SetEnv LOGGED_IN_AT=$node" &
    daemons="$daemons $!"
done
listen() {
    for node in $all; do
        grep -qs 'Server listening' "$work/$node/log" || return 1
    done
}
until_true 20 listen || skip_all "sshd cannot run here: $(tail -1 "$work/node1/log")"
for node in $all; do cp "$VC/ssh_config" "$(root "$node")/etc/ganeti/ssh_config"; done

# login FROM TO [KEY]: where we are then, with the files of FROM alone
login() {
    key=$(ls "$(root "$1")"/root/.ssh/id_*[a-z0-9] | grep -v pub)
    ssh -F "$(root "$1")/etc/ganeti/ssh_config" -o IdentityFile="${3:-$key}" \
        -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes \
        -o UserKnownHostsFile=/dev/null -o HostKeyAlias=cluster.example.com \
        -o GlobalKnownHostsFile="$(root "$1")/var/lib/ganeti/known_hosts" \
        "$2.example.com" 'echo $LOGGED_IN_AT' 2>&1 </dev/null
}
reach() { # FROM TO
    is "$(login "$1" "$2")" "$2" "$1 reaches $2"
}
ring() { # each reaches the next
    reach node1 node2
    reach node2 node3
    reach node3 node1
}

like "$(login node1 node2)" 'Host key verification failed|No .*host key is known' \
    "a host whose key is not known is not trusted"
out=$(m gnt-cluster verify --error-codes 2>&1)
like "$out" "ENODESSH:node:node1.example.com:ssh communication with node 'node2" "verify says so"
succeeds "the nodes tell each other their host keys" m gnt-cluster redist-conf
for a in $all; do
    for b in $all; do reach "$a" "$b"; done
done
succeeds "verify logs in as well" m gnt-cluster verify

cp "$(root node3)/root/.ssh/id_ecdsa" "$VC/stolen"
m gnt-cluster modify -C 2 >/dev/null 2>&1
m gnt-node modify -C no node3 >/dev/null 2>&1
like "$(login node3 node1)" 'Permission denied' "who is no candidate may not log in"
reach node1 node3
m gnt-cluster modify -C 3 >/dev/null 2>&1
reach node3 node1

# A master that dies in the middle of a renewal, when node2 has no new key yet.
touch "$work/hold"
mkfifo "$work/go"
exec_on node1 gnt-cluster renew-crypto -f --new-ssh-keys >/dev/null 2>&1 &
client=$!
staged() { [ -s "$(root "$1")/root/.ssh/gantry_next.pub" ]; }
waiting() { staged node1 && staged node3 && [ -e "$work/waits" ]; }
until_true 20 waiting
tap_point $? "two of three nodes have a new key"
kill -9 "$(cat "$(root node1)/var/run/ganeti/ganeti-masterd.pid")"
end_own "$client" # it would wait for another master
wait "$client"
rm "$work/hold"
echo >"$work/go"
ring
"$BIN/gnt-vcluster" start "$VC" node1 masterd >/dev/null
both() { [ "$(grep -c gantry "$(root node2)/root/.ssh/authorized_keys")" -ge 5 ]; }
until_true 20 both
tap_point $? "the next master lets in old and new keys"
ring
out=$(m gnt-cluster verify --error-codes 2>&1)
like "$out" 'ENODESSH:node:node1.example.com:a renewal of SSH keys is not complete' "verify tells of it"
succeeds "a whole one" m gnt-cluster renew-crypto -f --new-ssh-keys
ring
like "$(login node3 node1 "$VC/stolen")" 'Permission denied' "an old key is worth nothing"
succeeds "verify is content" m gnt-cluster verify

cp "$(root node3)/root/.ssh/id_ecdsa" "$VC/stolen"
cp "$(root node3)/var/lib/ganeti/known_hosts" "$VC/hosts"
m gnt-node remove node3 >/dev/null
cp "$VC/hosts" "$(root node3)/var/lib/ganeti/known_hosts"
like "$(login node3 node1 "$VC/stolen")" 'Permission denied' "a node that was removed may not log in"
like "$(login node1 node3)" 'Permission denied|Host key verification' "nor is it reached"
reach node2 node1
tap_done
