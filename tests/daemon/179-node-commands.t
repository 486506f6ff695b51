#!/bin/sh
# gnt-node health, power, restricted-command, volumes, storage; gnt-storage.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
n2=node2.example.com

# --- out of band ---
fails "nodes without a helper" m gnt-node health
like "$out" "^$n2 +\(unavail\)" "are told apart"
helper=$(root node1)/etc/ganeti/oob
cat >"$helper" <<END
#!/bin/sh
echo "\$1 \$2" >>"$VC/oob.log"
case "\$1 \$2" in
health*node3*) echo 'no sensor' >&2; exit 1 ;;
health*) echo '[["disk", "OK"], ["fan", "WARNING"]]' ;;
power-status*node3*) echo 'nonsense' ;;
power-status*) echo '{"powered": true}' ;;
esac
END
chmod 755 "$helper"
m gnt-group modify --node-parameters oob_program=/etc/ganeti/oob default >/dev/null
fails "one node cannot say" m gnt-node health
is "$(m gnt-node health --format=json | tr -d ' \n' | grep -o '"status":"[a-z()]*"' | sort | uniq -c | tr -s ' ')" \
    ' 1 "status":"(nodata)"
 2 "status":"normal"' "programs read it"
like "$(m gnt-node health --plan)" OOB_COMMAND "which can be planned"
like "$out" "^$n2 +disk=OK" "the others tell"
like "$out" "^ +fan=WARNING" "item by item"
like "$out" "Item 'fan' on node '$n2' has status 'WARNING'" "what is wrong is noted"
like "$out" 'no sensor' "so is why one did not answer"
like "$out" '^node3.example.com +\(nodata\)' "which has no data"
succeeds "power status" m gnt-node power status $n2
like "$out" "^$n2 +powered" "is shown"
fails "an answer that makes no sense" m gnt-node power status node3
like "$out" 'Payload .* is not valid' "is none"
fails "the master is not powered off" m gnt-node power -f off node1
like "$out" 'master' "by itself"
fails "nor power cycled" m gnt-node power -f --ignore-status cycle node1
like "$out" "Operating on the master node node1.example.com is not allowed .*run '/etc/ganeti/oob power-cycle" "unless by hand"
succeeds "another one is" m gnt-node power -f --auto-promote off $n2
like "$out" "^$n2 +invoked" "switched off"
like "$(cat "$VC/oob.log")" "^power-off $n2\$" "by the helper"
is "$(m gnt-node list --no-headers --separator=: -o offline,powered $n2)" "Y:N" \
    "it is offline and unpowered"
succeeds "and on again" m gnt-node power on $n2
is "$(m gnt-node list --no-headers -o powered $n2)" "Y" "which is recorded"
m gnt-node modify -f -O no $n2 >/dev/null

# --- restricted commands ---
for node in node1 node2 node3; do
    folder=$(root $node)/etc/ganeti/restricted-commands
    mkdir -p "$folder"
    printf '#!/bin/sh\necho "%s $# $(pwd)"\necho two\n' $node >"$folder/hello"
    printf '#!/bin/sh\necho no; exit 3\n' >"$folder/bad"
    chmod 755 "$folder" "$folder/hello" "$folder/bad"
done
succeeds "a command on some nodes" m gnt-node restricted-command hello node1 node3
like "$out" '^Node: node3.example.com' "says where"
like "$out" '^node3 0 /$' "and what it said, without arguments"
succeeds "on a group, each line with its node" \
    m gnt-node restricted-command -M -g default hello
like "$out" "^$n2: two\$" "is shown"
fails "one that fails" m gnt-node restricted-command bad $n2
like "$out" 'exited with exit code 3' "says so"
fails "one that is not there" m gnt-node restricted-command ../hooks/x $n2
like "$out" "failed: Executing command '../hooks/x' failed" "is refused without a reason"
chmod 775 "$(root node2)/etc/ganeti/restricted-commands/hello"
fails "one that others may write to" m gnt-node restricted-command hello $n2
like "$out" "Executing command 'hello' failed" "too"
m gnt-node modify -O yes node2 >/dev/null
fails "for nodes that are all offline" m gnt-node restricted-command hello $n2
unlike "$out" '^node[13] ' "it does not run on the others instead"
fails "a node goes online only by force" m gnt-node modify -O no node2
is "$(m gnt-node list --no-headers -o offline node2)" Y "or when asked"
m gnt-node modify -f -O no node2 >/dev/null

# --- storage ---
succeeds "volumes" m gnt-node volumes --separator=: -o node,name
like "$(m gnt-node volumes --plan)" NODE_QUERYVOLS "planned as well"
like "$out" '^Node:Name' "are listed"
fails "what is not LVM" m gnt-node repair-storage node2 file /x
like "$out" "can not be repaired" "is not repaired"
fails "nor modified" m gnt-node modify-storage --allocatable=no node2 file /x
like "$out" "can not be modified" "and says so"
fails "LVM that no template uses" m gnt-node repair-storage node2 lvm-vg xenvg
like "$out" "not used by any enabled disk template" "is no storage here"
m gnt-cluster modify --enabled-disk-templates=sharedfile,file,diskless,plain \
    --vg-name=xenvg >/dev/null 2>&1
if is_virtual; then
    fails "LVM" m gnt-node repair-storage node2 lvm-vg xenvg
    like "$out" "does not use the machine's" \
        "is the machine's, says the node daemon"
    fails "also the physical volumes" \
        m gnt-node modify-storage --allocatable=no node2 lvm-pv /dev/x
    like "$out" "does not use the machine's" "are"
fi
is "$(m gnt-node list-drbd node2)" "Node Minor Instance Disk Role PeerNode" \
    "no DRBD is in use"

fails "no provider" m gnt-storage diagnose
for node in node1 node2 node3; do
    folder=$(root $node)/usr/share/ganeti/extstorage/ceph
    mkdir -p "$folder"
    for script in create attach detach remove grow setinfo verify; do
        printf '#!/bin/sh\n' >"$folder/$script"
        chmod 755 "$folder/$script"
    done
    echo "pool  where to put it" >"$folder/parameters.list"
done
is "$(m gnt-node list-drbd --format=json node2)" '[]' "nor for programs"
like "$(m gnt-storage info --plan)" EXT_STORAGE_DIAGNOSE "a look that is planned"
like "$(m gnt-storage info --format=json)" '"nodegroup_status"' "for programs"
succeeds "a provider" m gnt-storage info
like "$out" '^      pool: where to put it' "with its parameters"
rm "$(root node3)/usr/share/ganeti/extstorage/ceph/attach"
succeeds "one that a node does not have whole" m gnt-storage diagnose
like "$out" 'Node: node3.example.com, status: invalid - .*attach.* is missing' "is shown"
like "$out" 'For nodegroup: default --> invalid' "and its group is not served"
tap_done
