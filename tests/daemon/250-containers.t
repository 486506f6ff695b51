#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-vcluster --kind container: nodes with namespaces of their own, joined over
# SSH; power cuts, partitions, and nothing that is left of them.
KIND=container
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
[ -z "${ON_HOSTS-}" ] || skip_all "it makes hosts itself"
vc="$BIN/gnt-vcluster"
if [ "$(id -u)" != 0 ]; then
    fails "without root" "$vc" create /tmp/never --kind container
    like "$out" "containers need root" "it says that containers want it"
    tap_done
    exit 0
fi
why=$(unshare --net --mount --pid --fork true 2>&1) ||
    skip_all "namespaces cannot be had: $why"
[ -x /usr/sbin/sshd ] || skip_all "openssh-server is not installed"
interfaces() { ip -br link | wc -l; }
id_of() { sed -n 's/.*"id": *"\([0-9a-f]*\)".*/\1/p' "$VC/vcluster.json"; }
groups() { find /sys/fs/cgroup -maxdepth 6 -name "gantry-vc-$1" 2>/dev/null | wc -l; }
links=$(interfaces)

umask 077 # as some administrators have it
cluster_start --nodes 3 --memory 400m --second-network --rapi
umask 022
chmod 755 "$VC" # mktemp's
list=$("$vc" list "$VC" --format=json)
is "$(echo "$list" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["kind"], [n["ip"] for n in d["nodes"]], [n["master"] for n in d["nodes"]],
      all(n["on"] for n in d["nodes"]), d["parted"])')" \
    "container ['192.0.2.11', '192.0.2.12', '192.0.2.13'] [True, False, False] True []" \
    "list tells kind, addresses, power and the master"
is "$(m gnt-node list --no-headers -o name,pip,sip --separator=,)" \
    "node1.example.com,192.0.2.11,198.51.100.11
node2.example.com,192.0.2.12,198.51.100.12
node3.example.com,192.0.2.13,198.51.100.13" "gnt-node add has taken all in, with both addresses"
succeeds "verify is content" m gnt-cluster verify

# --- a host of its own ---
is "$(on node2 hostname)" node2.example.com "a node has a name of its own"
is "$(on node2 sh -c 'echo "${GANETI_ROOTDIR-none}"')" none "and no root folder"
is "$(on node2 sh -c 'ls /proc | grep -c "^[0-9]"' | awk '{ print $1 < 60 }')" 1 "it sees its own processes alone"
is "$(on node2 sh -c 'grep -c . /proc/net/dev')" "$(on node2 sh -c 'ls /sys/class/net | wc -l' | awk '{ print $1 + 2 }')" "and its own interfaces"
if command -v setpriv >/dev/null; then
    succeeds "others than root can enter its folders" on node2 \
        setpriv --reuid 65534 --clear-groups ls /etc/ssh /var/lib /srv/ganeti /usr/share/ganeti/os
fi
on node2 sh -c 'echo here >/etc/only-here; echo gone >/run/only-now'
is "$(cat "$(root node2)/etc/only-here")" here "its files are seen from outside"
is "$(ls /etc/only-here "$(root node1)/etc/only-here" 2>/dev/null)" "" "and are nobody else's"
limit=$(on node2 sh -c 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null')
is "$limit" $((400 * 1024 * 1024)) "its memory has a limit"
succeeds "bridges and taps work" on node2 sh -ec '
    ip link add br9 type bridge
    [ ! -e /dev/net/tun ] || { ip tuntap add tap9 mode tap; ip link set tap9 master br9 up; }'
is "$("$vc" ssh "$VC" node3 hostname)" node3.example.com "its admin can log in"
fails "a status of a command" on node2 sh -c 'exit 7'
is "$(echo in | on node2 cat)" in "and its input are passed on"
is "$(echo 'hostname; exit' | "$vc" console "$VC" node3 | grep -c '^node3')" 1 "the console leads there"

# --- an instance ---
succeeds "an instance is made" add inst1 -t sharedfile -s 16m -n node2
m gnt-instance failover -f -n node1 inst1 >/dev/null 2>&1
is "$(m gnt-instance list --no-headers -o status inst1)" running "and fails over"
m gnt-instance add --no-name-check --no-ip-check --no-nics --no-start -o noop -t file -s 16m \
    -n node2 inst2 >/dev/null 2>&1
succeeds "a disk moves, over the second network" m gnt-instance move -f -n node1 inst2
m gnt-instance remove -f inst2 >/dev/null 2>&1

# --- partitions ---
reaches() { # NODE ADDRESS
    on "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/22" 2>/dev/null
}
if [ -x /usr/sbin/nft ]; then
    succeeds "two nodes are parted" "$vc" partition "$VC" node1,node3 node2
    fails "nothing passes" reaches node3 192.0.2.12
    fails "nor back" reaches node2 192.0.2.13
    fails "nor on the second network" reaches node3 198.51.100.12
    succeeds "others reach each other" reaches node1 192.0.2.13
    is "$("$vc" list "$VC" --format=json | grep -c '"node2.example.com"')" 3 "list tells it"
    succeeds "one side is healed" "$vc" heal "$VC" node3 node2
    succeeds "and passes" reaches node3 192.0.2.12
    fails "alone" reaches node1 192.0.2.12
    succeeds "all are healed" "$vc" heal "$VC"
    succeeds "and reach each other" reaches node1 192.0.2.12
else
    fails "to part nodes" "$vc" partition "$VC" node1 node2
    like "$out" "install the package nftables" "says what it needs"
fi

# --- power cuts ---
succeeds "the master's power is cut" "$vc" crash "$VC" node1
like "$("$vc" list "$VC")" '^node1.* off ' "list tells it"
fails "no command runs there" m true
like "$out" "node1.example.com is off" "which it says"
succeeds "again: it is no error" "$vc" crash "$VC" node1
succeeds "it is switched on" "$vc" start "$VC" node1
succeeds "and is the master" m gnt-instance list
succeeds "with the remote API" m sh -c '[ -n "$(ss -Hltn "sport = 5080")" ]'
m gnt-instance start inst1 >/dev/null 2>&1
"$vc" crash "$VC" node2
"$vc" start "$VC" node2
is "$(on node2 cat /etc/only-here)" here "files outlive a power cut"
fails "what is in memory does not" on node2 cat /run/only-now
succeeds "verify is content again" m gnt-cluster verify
rm "$(root node2)"
succeeds "a start that was killed is made up for" "$vc" start "$VC" node2
is "$(cat "$(root node2)/etc/only-here")" here "its files are seen from outside again"

# --- a join that breaks off, and no ssh program ---
m gnt-node remove node3 >/dev/null 2>&1
on node3 sh -c 'rm -rf /var/lib/ganeti/*'
on node3 sh -c 'printf "#!/bin/sh\ntouch /run/joining\nsleep 60\n" >/usr/local/sbin/gnt-node
    chmod 755 /usr/local/sbin/gnt-node
    sed -i "s#PATH=#PATH=/usr/local/sbin:#" /etc/ssh/gantry_sshd_config
    kill -HUP $(ss -Hltnp "sport = 22" | sed "s/.*pid=//;s/,.*//" | head -1)'
answers() { on node3 sh -c '[ -n "$(ss -Hltn "sport = 22")" ]' && reaches node1 192.0.2.13; }
until_true 20 answers
m gnt-node add -s 198.51.100.13 node3 >"$VC/join" 2>&1 &
join=$!
begun() { on node3 test -e /run/joining; }
until_true 30 begun
# The server's process of this login ends as when the host is reset.
on node3 sh -c 'for p in $(pgrep -f "^sshd: root"); do kill -9 $p; done'
wait "$join"
is "$([ $? != 0 ] && echo fails)" fails "a join that loses its connection"
like "$(cat "$VC/join")" "SSH to node3.example.com .*, command: the connection is lost" "names the host and the step"
rm "$VC/join"
on node3 rm /usr/local/sbin/gnt-node
# LeakSanitizer and strace want the same system call.
no_leaks="env ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
if command -v strace >/dev/null; then
    succeeds "joining again" m $no_leaks strace -f -e trace=execve -o "$VC/trace" gnt-node add -s 198.51.100.13 node3
    is "$(grep -cE 'execve\("[^"]*/(ssh|scp|sftp)"' "$VC/trace")" 0 "works without any ssh program"
    head -c 100000 /dev/urandom >"$(root node1)/etc/ganeti/copied"
    m $no_leaks strace -f -e trace=execve -o "$VC/trace" gnt-cluster copyfile /etc/ganeti/copied >/dev/null 2>&1
    m $no_leaks strace -f -e trace=execve -A -o "$VC/trace" gnt-cluster command true >/dev/null 2>&1
    is "$(grep -cE 'execve\("[^"]*/(ssh|scp|sftp)"' "$VC/trace")" 0 "so do copyfile and command"
    rm "$VC/trace"
    succeeds "the copy is there" cmp "$(root node1)/etc/ganeti/copied" "$(root node3)/etc/ganeti/copied"
else
    succeeds "joining again works" m gnt-node add -s 198.51.100.13 node3
fi
like "$(ldd "$BIN/gnt")" libssh2 "it is libssh2 that does it"
is "$(m gnt-node list --no-headers -o name | tail -1)" node3.example.com "the node is there, by the name that it has in full"

# --- nothing is left ---
fails "a cluster in a folder that nodes show" "$vc" create /var/tmp/never --kind container
like "$out" "choose one like" "is refused with advice"
fails "processes cannot be given memory" "$vc" create /tmp/never --memory 1g
machine=$(cat "$VC/.machine/pid")
first=$VC
id=$(id_of)
is "$([ "$(groups "$id")" -gt 0 ] && echo some)" some "a cluster has control groups"
# Who uses it and who takes it down may be in another session than who has made it.
elsewhere() {
    sh -c 'other=/sys/fs/cgroup/memory/gantry-test-$$
    if mkdir "$other" 2>/dev/null; then
        echo $$ >"$other/cgroup.procs"
        trap "echo $$ >/sys/fs/cgroup/memory/cgroup.procs; rmdir $other" EXIT
    fi
    "$@"' sh "$@"
}
its_groups() { elsewhere "$vc" exec "$VC" node2 -- grep -E ":(memory)?:" "/proc/$1/cgroup"; }
is "$(its_groups self)" "$(its_groups 1)" "commands from any session share the limits of the node"
succeeds "destroy" elsewhere "$vc" destroy "$VC"
is "$(ls -d "$first" 2>/dev/null)" "" "removes the folder"
is "$(alive "$machine" && echo alive)" "" "no process is left"
is "$(interfaces)" "$links" "nor an interface"
is "$(groups "$id")" 0 "nor a control group"
is "$(grep -c "$first" /proc/mounts)" 0 "nor a mount"

# The command itself is killed, at different times of its work.
for mark in .machine/key .machine/pid .machine/node2/pid; do
    VC=$(mktemp -d /tmp/gvc.XXXXXX)
    "$vc" create "$VC" --kind container --nodes 3 >/dev/null 2>&1 &
    made=$!
    exists() { [ -e "$VC/$mark" ]; }
    until_true 30 exists
    kill -9 "$made"
    wait "$made" 2>/dev/null
    machine=$(cat "$VC/.machine/pid" 2>/dev/null)
    id=$(id_of)
    succeeds "destroy after a create that was killed with its $mark" "$vc" destroy "$VC"
    is "$(ls -d "$VC" 2>/dev/null)$([ -z "$machine" ] || ! alive "$machine" || echo alive)$(groups "$id")" 0 "leaves nothing"
done
VC=
tap_done
