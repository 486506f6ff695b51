#!/bin/sh
# gnt-vcluster: make, look at, stop, start and remove clusters.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "it is gnt-vcluster that is tested"

cluster_start --nodes 3
list=$("$BIN/gnt-vcluster" list "$VC" --format=json)
is "$(echo "$list" | python3 -c '
import json, sys
d = json.load(sys.stdin)["nodes"]
print([n["name"] for n in d], [n["master"] for n in d],
      all(n["root"].endswith(n["name"]) and n["ip"].startswith("127.")
          for n in d))')" \
    "['node1.example.com', 'node2.example.com', 'node3.example.com'] [True, False, False] True" \
    "list tells names, roots, addresses and the master"

succeeds "the environment works for commands" m gnt-cluster getmaster
is "$out" node1.example.com "node1 is master"
eval "$("$BIN/gnt-vcluster" env "$VC" node2)"
is "$GANETI_HOSTNAME" node2.example.com "env exports the node's name"
is "$GANETI_ROOTDIR" "$(root node2)" "env exports the node's root"
unset GANETI_HOSTNAME GANETI_ROOTDIR

nodes=$(m gnt-node list --no-headers -o name,master_candidate)
is "$(echo "$nodes" | wc -l)" 3 "all nodes are in the cluster"
is "$(echo "$nodes" | grep -c Y)" 3 "and are candidates"

fails "a command on another node says who is master" \
    on node2 gnt-instance list
like "$out" 'node1.example.com' "by its name"

fails "create refuses a folder that is not empty" \
    "$BIN/gnt-vcluster" create "$VC"
long=/tmp/$(printf 'x%.0s' $(seq 90))
fails "create refuses a socket path that is too long" \
    "$BIN/gnt-vcluster" create "$long"
like "$out" 'path of a socket' "and says so"
is "$(ls -d "$long" 2>/dev/null)" "" "leaving nothing behind"
broken=$(mktemp -d /tmp/gvc.XXXXXX)
cp -L "$BIN/gnt" "$BIN/gantry-noded" "$broken"
ln -s gnt "$broken/gnt-vcluster"
printf '#!/bin/sh\necho no luck today >>"$GANETI_ROOTDIR/var/log/ganeti/master-daemon.log"\nexit 1\n' \
    >"$broken/gantry-masterd"
chmod 755 "$broken/gantry-masterd"
fails "create fails without a master" "$broken/gnt-vcluster" create "$broken/vc" --nodes 1
like "$out" "no luck today" "and says what the logs that it removes have"
is "$(ls -d "$broken/vc" 2>/dev/null)" "" "it leaves nothing behind"
rm -r "$broken"
fails "unknown commands are refused" "$BIN/gnt-vcluster" frobnicate "$VC"
fails "unknown nodes are refused" on node9 true
like "$out" "no node 'node9'" "by name"

succeeds "kill ends the master daemon" \
    "$BIN/gnt-vcluster" kill "$VC" node1 masterd
fails "then commands fail" m gnt-instance list
succeeds "start brings it back" "$BIN/gnt-vcluster" start "$VC" node1 masterd
succeeds "and commands work" m gnt-instance list
succeeds "stop ends a node daemon" \
    "$BIN/gnt-vcluster" stop "$VC" node3 noded
like "$("$BIN/gnt-vcluster" list "$VC")" 'node3.* (-|standby) +-  ' "which list shows"
succeeds "start without a name starts what the node needs" \
    "$BIN/gnt-vcluster" start "$VC" node3

# Commands that all kinds have.
is "$("$BIN/gnt-vcluster" ssh "$VC" node2 sh -c 'echo $GANETI_HOSTNAME')" \
    node2.example.com "ssh is a shell of the node"
add gone -t sharedfile -s 16m -n node2 >/dev/null 2>&1
setsid env GANETI_ROOTDIR="$(root node2)" sleep 300 &
script=$!
GANETI_ROOTDIR="$(root node2)" sleep 300 &
mine=$!
succeeds "the power of a node is cut" "$BIN/gnt-vcluster" crash "$VC" node2
is "$(alive "$script" && echo there),$(alive "$mine" && echo there)" ",there" \
    "and ends what it runs, but not what the user runs beside"
kill "$mine"
is "$(ls "$(root node2)"/var/run/ganeti/fake-hypervisor 2>/dev/null)" "" "its guests are gone"
like "$("$BIN/gnt-vcluster" list "$VC")" 'node2.* -  ' "and its daemons"
succeeds "it is switched on" "$BIN/gnt-vcluster" start "$VC" node2
# The master may take the node for silent for some seconds more.
missed() {
    status=$(m gnt-instance list --no-headers -o status gone)
    [ "$status" = ERROR_down ]
}
succeeds "and its guest is missed" until_true 30 missed
[ "$status" = ERROR_down ] || note "$(tail -n 3 "$(root node1)/var/log/ganeti/master-daemon.log")"
m gnt-instance remove -f gone >/dev/null 2>&1
fails "processes cannot be parted" "$BIN/gnt-vcluster" partition "$VC" node1 node2
like "$out" "make the cluster with --kind container or --kind vm" "it says what can"
succeeds "heal has nothing to do" "$BIN/gnt-vcluster" heal "$VC"
fails "there is no console" "$BIN/gnt-vcluster" console "$VC" node1
like "$out" "see its logs below" "but logs"

# A daemon that was told to end finishes what it does.
hooks=$(root node3)/etc/ganeti/hooks/node-modify-pre.d
mkdir -p "$hooks"
printf '#!/bin/sh\ntouch %s/hook\nsleep 5\n' "$VC" >"$hooks/slow"
chmod 755 "$hooks/slow"
m gnt-node modify --master-capable=yes node3 >/dev/null 2>&1 &
watch=$!
hook_runs() { [ -e "$VC/hook" ]; }
until_true 20 hook_runs
pid=$(cat "$(root node3)/var/run/ganeti/"*noded.pid)
ip=$("$BIN/gnt-vcluster" list "$VC" | grep -o '^node3.*' | grep -oE '127[0-9.]+')
kill -TERM "$pid"
while python3 -c "import socket; socket.create_connection(('$ip', 1811))" \
    2>/dev/null; do :; done
succeeds "start of a node whose old daemon still ends waits for it" \
    "$BIN/gnt-vcluster" start "$VC" node3
like "$out" "pid $pid" "and says so"
like "$("$BIN/gnt-vcluster" list "$VC")" 'node3.* [0-9]+' "a new one runs"
unlike "$(cat "$(root node3)/var/run/ganeti/"*noded.pid)" "^$pid\$" "indeed"
wait "$watch"

# What somebody else wrote into the state file must not remove a folder
# elsewhere.
evil=$(mktemp -d /tmp/vc.XXXXXX)
mkdir "$evil/precious" "$evil/vc"
for name in ../precious /precious '' ..; do
    printf '{"hypervisor":"fake","nodes":[{"name":"%s","ip":"127.9.9.9"}]}' \
        "$name" >"$evil/vc/vcluster.json"
    fails "a node named '$name' is refused" \
        "$BIN/gnt-vcluster" destroy "$evil/vc"
done
echo '{"hypervisor":"fake","nodes":[{"name":"n1.example.com","ip":"127.9.9.9"}]}' \
    >"$evil/state"
ln -s ../state "$evil/vc/link.json"
mv "$evil/vc/link.json" "$evil/vc/vcluster.json"
fails "a state file behind a link is refused" \
    "$BIN/gnt-vcluster" destroy "$evil/vc"
is "$(ls "$evil")" "precious
state
vc" "nothing was removed"
rm -r "$evil"

# A second cluster beside it.
first=$VC
cluster_start --nodes 1
second=$VC
succeeds "a second cluster lives beside the first" m gnt-node list
"$BIN/gnt-vcluster" destroy "$second"
is "$(ls -d "$second" 2>/dev/null)" "" "destroy removes the folder"
VC=$first
pids=$(cat "$VC"/*/var/run/ganeti/*.pid)
succeeds "destroy ends the first" "$BIN/gnt-vcluster" destroy "$VC"
left=0
for pid in $pids; do
    alive "$pid" && left=$((left + 1))
done
is "$left" 0 "no daemon is left"

# The command itself is killed, at different times of its work.
for mark in vcluster.json node1.example.com/var/lib/ganeti/config.data \
    node2.example.com/var/run/ganeti/ganeti-noded.pid; do
    VC=$(mktemp -d /tmp/gvc.XXXXXX)
    "$BIN/gnt-vcluster" create "$VC" --nodes 3 >/dev/null 2>&1 &
    made=$!
    begun() { [ -e "$VC/$mark" ]; }
    until_true 30 begun
    kill -9 "$made"
    wait "$made" 2>/dev/null
    # What it had started goes on for a moment.
    pids=$(cat "$VC"/*/var/run/ganeti/*.pid 2>/dev/null)
    succeeds "destroy after a create that was killed with its $mark" \
        "$BIN/gnt-vcluster" destroy "$VC"
    left=$(ls -d "$VC" 2>/dev/null)
    for pid in $pids; do alive "$pid" && left="$left $pid"; done
    is "$left$(grep -lsa "GANETI_ROOTDIR=$VC/" /proc/[0-9]*/environ)" "" "leaves nothing"
done
VC=

# The README's cluster in five minutes, as it stands there.
readme=$(mktemp -d)
sed -n '/^### A cluster in five/,/^An allocator of your own/s/^    //p' \
    "$(dirname "$0")/../../README.md" |
    sed -e '/^PATH=/d' -e "s#/tmp/vc#$readme/vc#g" \
        -e 's/^curl /curl --fail-with-body -sS /' >"$readme/commands"
succeeds "the commands of the README work" \
    env PATH="$BIN:$PATH" sh -e "$readme/commands"
places=$(echo "$out" | grep -oE '^web1 +node[0-9]' | tr -s ' ')
like "$(echo "$places" | head -1)" 'web1 node2' "an instance is on the node that is emptied"
unlike "$(echo "$places" | tail -1)" 'node2' "and leaves it"
like "$out" '"name": "node3.example.com"' "the remote API tells of the nodes"
like "$out" '^[0-9]+$' "and takes a job"
rm -rf "$readme"
tap_done
