#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Nodes and hosts reached by SSH, and what can go wrong there: each node has an SSH
# server on its loopback address, run by this test.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "hosts have SSH servers of their own"
[ -x /usr/sbin/sshd ] && command -v ssh-keygen >/dev/null ||
    skip_all "openssh-server is not installed"
[ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null ||
    skip_all "an SSH server with files of its own needs root"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
work=$(mktemp -d /tmp/gssh.XXXXXX)
pids=
ssh_end() {
    # shellcheck disable=SC2046,SC2086
    end_own $pids $(cat "$VC"/*/var/run/ganeti/ganeti-noded.pid 2>/dev/null)
    guest_node_end "$VC/localhost"
    umount "$VC"/localhost "$VC"/node3.example.com/small 2>/dev/null
    cluster_end
    rm -rf "$work"
}
cluster_start --nodes 3 --ssh
trap ssh_end EXIT
HOME=$work/home # whoever runs the commands has no keys
mkdir -p "$HOME/.ssh"
export HOME
unset SSH_AUTH_SOCK
# OpenSSH's programs must not be needed.
mkdir "$work/bin"
for program in ssh scp sftp; do
    printf '#!/bin/sh\necho "$0" >>%s/programs\nexit 1\n' "$work" >"$work/bin/$program"
    chmod 755 "$work/bin/$program"
done
PATH=$work/bin:$PATH

ip() { "$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["name"].startswith(sys.argv[1])][0])' "$1"; }
free_port() { python3 -c '
import socket, sys
s = socket.socket()
s.bind((sys.argv[1], 0))
print(s.getsockname()[1])' "$1"; }
listens() { grep -qs 'Server listening' "$1/log"; }
# sshd FOLDER ADDRESS PORT LINE...: its pid is $started
sshd() {
    rm -f "$1/log"
    sh "$lib/sshd.sh" "$@" &
    started=$!
    pids="$pids $started"
    until_true 20 listens "$1" || skip_all "sshd cannot run here: $(cat "$1/log")"
}
gone() { ! alive "$1"; }
stop() { # PID
    kill "$1"
    until_true 20 gone "$1"
}
# A server that accepts and says nothing.
silent() { # ADDRESS PORT
    python3 -c '
import signal, socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=64)
print("listening", flush=True)
signal.pause()' "$@" >"$work/silent" &
    started=$!
    pids="$pids $started"
    until_true 20 grep -q listening "$work/silent"
}

# --- nodes ---
for node in node1 node2 node3; do
    eval "ip_$node=$(ip $node)"
    eval "port_$node=$(free_port "$(ip $node)")"
    eval "printf 'Host %s.example.com\n  HostName %s\n  Port %s\n' $node \$ip_$node \$port_$node" \
        >>"$work/ssh_config"
    mkdir -p "$(root $node)/etc/ssh"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$(root $node)/etc/ssh/ssh_host_ed25519_key"
done
printf 'Host *\n  ConnectTimeout 4\n' >>"$work/ssh_config"
start_node() { # NODE
    eval "sshd $work/$1 \$ip_$1 \$port_$1 \
        'HostKey $(root "$1")/etc/ssh/ssh_host_ed25519_key' \
        'AuthorizedKeysFile $(root "$1")/root/.ssh/authorized_keys' \
        'MaxStartups 100' 'SetEnv AT=$1'"
    eval "sshd_$1=$started"
}
for node in node1 node2 node3; do
    start_node $node
    cp "$work/ssh_config" "$(root $node)/etc/ganeti/ssh_config"
done
command_on() { # NODES... -- COMMAND
    options=
    while [ "$1" != -- ]; do
        options="$options -n $1"
        shift
    done
    shift
    m gnt-cluster command $options "$@"
}
out=$(m gnt-cluster command true 2>&1)
like "$out" "SSH to node2.example.com \($ip_node2 port $port_node2\), host key: .* is not known" "nobody knows the nodes yet"
succeeds "they tell each other" m gnt-cluster redist-conf
succeeds "a command runs there" m gnt-cluster command -M 'echo at $AT'
# The profile of whoever runs this may say something, too, in each login.
is "$(echo "$out" | grep -E '^-+$|: at |^return')" "------------------------------------------------
node2.example.com: at node2
return code = 0
------------------------------------------------
node3.example.com: at node3
return code = 0
------------------------------------------------
node1.example.com: at node1
return code = 0" "on the nodes, by SSH"
meet='touch '$work'/here.$AT; for i in $(seq 300); do [ -e '$work'/here.node2 ] && [ -e '$work'/here.node3 ] && exit 0; sleep 0.05; done; exit 1'
out=$(command_on node2 node3 -- "$meet")
is "$(echo "$out" | grep -c 'return code = 0')" 2 "nodes do not wait for each other"
out=$(m gnt-cluster command 'test $AT != node1 || ls '$work'/done.node2 '$work'/done.node3; sleep 0.1; touch '$work'/done.$AT')
is "$(echo "$out" | grep -c 'return code = 0')" 3 "but the master for all"

file=$(root node1)/etc/ganeti/site.conf
head -c 3000000 /dev/urandom >"$file"
chmod 640 "$file"
succeeds "a file is copied" m gnt-cluster copyfile "$file"
is "$out" "" "without a word"
for node in node2 node3; do
    copy=$(root $node)/etc/ganeti/site.conf
    succeeds "$node has it" cmp "$file" "$copy"
    is "$(stat -c %a.%Y "$copy")" "640.$(stat -c %Y "$file")" "with mode and time"
done
succeeds "somebody at a terminal" python3 "$lib/terminal.py" -- \
    "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-cluster copyfile "$file"
like "$out" "2 of 2 nodes, 5 of 5 MiB" "sees how far it is"

# --- one of them is in trouble, the others are not ---
stop "$sshd_node2"
out=$(command_on node2 node3 -- echo fine)
like "$out" "SSH to node2.example.com .*, connect: [Cc]onnection refused" "a node that refuses is named"
like "$out" "return code = 255" "as with ssh"
like "$out" "^fine" "the other one has run it"
silent "$ip_node2" "$port_node2"
out=$(command_on node2 node3 -- echo fine)
like "$out" "SSH to node2.example.com .*, key exchange: the host does not answer in time" "so is one that is silent"
like "$out" "^fine" "the other one does not mind"
succeeds "a copy to it" m gnt-cluster copyfile "$file"
like "$out" "to node node2.example.com:[0-9]+ failed: SSH to node2.example.com .*, key exchange: " "fails alone"
out=$(m gnt-cluster verify --error-codes 2>&1)
like "$out" "ENODESSH:node:node1.example.com:ssh communication with node 'node2.*key exchange: the host does not answer" "verify tells of it"
stop "$started"

# A server that shows another key than the node has told.
right=$(root node2)/etc/ssh/ssh_host_ed25519_key
ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/wrong"
cp "$right" "$work/right"
cp "$work/wrong" "$right"
start_node node2
out=$(command_on node2 node3 -- echo fine)
like "$out" "SSH to node2.example.com .*, host key: the host's key is wrong: it is ED25519 SHA256:.* but $(root node1)/var/lib/ganeti/known_hosts has another one for cluster.example.com in line 1" "a wrong key is told, with the line of the right one"
like "$out" "^fine" "the other one is not concerned"
stop "$sshd_node2"
cp "$work/right" "$right"
start_node node2

out=$(command_on node2 node3 -- 'echo begun; [ $AT != node2 ] || kill -9 $PPID; echo fine')
like "$out" "SSH to node2.example.com .*, command: the connection is lost" "a lost connection is told"
like "$out" "^fine" "the other one goes on"
succeeds "the next command" m gnt-cluster command true
is "$(echo "$out" | grep -c 'return code = 0')" 3 "runs everywhere"

mkdir "$(root node1)/small" "$(root node2)/small" "$(root node3)/small"
# A server sees what was mounted before it began.
stop "$sshd_node3"
mount -t tmpfs -o size=1m tmpfs "$(root node3)/small"
start_node node3
cp "$file" "$(root node1)/small/x"
echo before >"$(root node3)/small/x"
succeeds "a copy to a full disk" m gnt-cluster copyfile "$(root node1)/small/x"
like "$out" "to node node3.example.com:[0-9]+ failed: SSH to node3.example.com .*, copy: .*/small/x: there is no space left" "names node, step and file"
is "$(cat "$(root node3)/small/x")" before "what was there stays"
is "$(ls -A "$(root node3)/small")" x "and nothing else"
succeeds "the other one has it" cmp "$file" "$(root node2)/small/x"
stop "$sshd_node3"
umount "$(root node3)/small"
start_node node3
succeeds "with room" m gnt-cluster copyfile "$(root node1)/small/x"
succeeds "it arrives" cmp "$file" "$(root node3)/small/x"
succeeds "verify is content" m gnt-cluster verify

m gnt-cluster renew-crypto -f --new-ssh-keys --ssh-key-type=rsa >/dev/null 2>&1
out=$(command_on node2 -- echo in)
like "$out" "^in$|RSA keys work with old SSH servers alone. .*--ssh-key-type=ecdsa" "RSA keys work, or it says what to do"
m gnt-cluster renew-crypto -f --new-ssh-keys --ssh-key-type=ecdsa >/dev/null 2>&1
succeeds "others do" m gnt-cluster verify

# --- a host becomes a node ---
host=$VC/localhost
keys=$work/localhost
known=$work/known
port=$(free_port 127.0.0.1)
environment="GANETI_ROOTDIR=$host GANETI_HOSTNAME=localhost GANETI_NODED_PORT=$(m sh -c 'echo $GANETI_NODED_PORT')"
host_starts() { # LINE...
    sshd "$keys" 127.0.0.1 "$port" \
        "SetEnv $environment PATH=$work/path:$BIN:/usr/bin:/bin:/usr/sbin:/sbin" "$@"
    host_pid=$started
}
printf 'UserKnownHostsFile %s\nConnectTimeout 4\n' "$known" >"$(root node1)/etc/ganeti/ssh_config"
add="gnt-node add --node-parameters=ssh_port=$port localhost"
at_terminal() { # QUESTION=ANSWER... COMMAND
    for last; do :; done
    n=$#
    while [ "$n" -gt 1 ]; do
        set -- "$@" "$1"
        shift
        n=$((n - 1))
    done
    shift
    python3 "$lib/terminal.py" "$@" -- "$BIN/gnt-vcluster" exec "$VC" node1 -- $last
}
mkdir -p "$host" "$work/path"

silent 127.0.0.1 "$port"
fails "a host that is silent" m $add
like "$out" "SSH to localhost .*, key exchange: the host does not answer in time" "is named with the step"
stop "$started"
host_starts "PasswordAuthentication yes"
fails "a host that nobody knows" at_terminal "yes/no=no" "$add"
like "$out" "ED25519 SHA256:.*" "is shown by its key"
like "$out" "is not known" "and left alone"
is "$(cat "$known" 2>/dev/null; ls "$host")" "" "nothing is noted, here or there"
fails "a wrong password" at_terminal "yes/no=yes" "Password=x" "Password=y" "Password=z" "$add"
like "$out" "login: the host does not let root in .*tried: a password" "opens nothing"
like "$(cat "$known")" '^\[localhost\]:[0-9]+ ssh-ed25519 ' "but the host is known now"
unlike "$out" 's3 cret' "no secret is shown"

mv "$known" "$known.good"
echo "[localhost]:$port $(cat "$work/wrong.pub")" >"$known"
fails "a host with another key" m $add
like "$out" "SSH to localhost .*, host key: the host's key is wrong: .*$known has another one for \[localhost\]:$port in line 1" "gets no secret"
mv "$known.good" "$known"
is "$(ls "$host")" "" "nor anything else"

# The connection is lost while the host is being prepared.
cat >"$work/path/gnt-node" <<END
#!/bin/sh
kill -9 \$PPID
END
chmod 755 "$work/path/gnt-node"
fails "a join that loses its connection" at_terminal "Password=s3 cret" "$add"
like "$out" "SSH to localhost .*, command: the connection is lost" "is told"
printf '#!/bin/sh\nexit 127\n' >"$work/path/gnt-node"
fails "a host without our programs" at_terminal "Password=s3 cret" "$add"
like "$out" "There is no gnt-node on localhost: Gantry has to be installed there" "is told apart"
rm "$work/path/gnt-node"
stop "$host_pid"
mount -t tmpfs -o size=16k tmpfs "$host"
host_starts "PasswordAuthentication yes"
fails "a host without room" at_terminal "Password=s3 cret" "$add"
like "$out" '"gnt-node join" failed on localhost' "says so"
like "$out" 'No space left' "in its own words"
stop "$host_pid"
umount "$host"
host_starts "KbdInteractiveAuthentication yes" "UsePAM yes"
printf '#!/bin/sh\n%s/gnt-node "$@"\nkill -9 $PPID\n' "$BIN" >"$work/path/gnt-node"
chmod 755 "$work/path/gnt-node"
fails "one that was prepared when the connection is lost" at_terminal "Password=s3 cret" "$add"
like "$out" "the connection is lost" "is told as well"
is "$(m gnt-node list --no-headers -o name | grep -c localhost)" 0 "it is no node yet"
rm "$work/path/gnt-node"
succeeds "it joins by a password that it asks for" at_terminal "Password=s3 cret" "$add"
is "$(m gnt-node list --no-headers -o offline localhost)" N "and is a node"
is "$(sha256sum <"$host/var/lib/ganeti/server.pem")" \
    "$(sha256sum <"$(root node1)/var/lib/ganeti/server.pem")" "with the cluster's key"
unlike "$out" 's3 cret' "the password is not shown"
is "$(grep -lE 's3 cret|PRIVATE KEY' "$(root node1)"/var/log/ganeti/*.log)" "" "nor in a log"
[ ! -e "$work/programs" ]
tap_point $? "no program of OpenSSH was run"
tap_done
