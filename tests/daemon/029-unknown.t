#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names that are not known, of every kind, in every command: each fails, and says
# which name it is, in the same words.  "ghost" is not there, "web1" and "node1"
# are.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
add web1 -t sharedfile -s 1m -n node2 >"$VC/out" 2>&1
echo '[]' >"$VC/none.json"

# WHAT|COMMAND: node, inst, group, net, rule, job: it is not known, by that name;
# field: exit code 14; tag, use, param: as Ganeti says it; else an expression for
# the output.  An option of a command stands before the arguments that need it.
cat >"$VC/table" <<'END'
inst|gnt-backup export -n node1 ghost
node|gnt-backup export -n ghost web1
node|gnt-backup import -n ghost --no-name-check --no-ip-check --src-node node1 --src-dir web1 -t sharedfile new
node|gnt-backup import -n node1 --no-name-check --no-ip-check --src-node ghost --src-dir web1 -t sharedfile new
node|gnt-backup list -n ghost
field|gnt-backup list -o ghost
field|gnt-backup list-fields ghost
Export 'ghost' not known|gnt-backup remove ghost
param|gnt-cluster modify -B ghost=1
param|gnt-cluster modify -N ghost=1
param|gnt-cluster modify -H fake:ghost=1
param|gnt-cluster modify -D drbd:ghost=1
param|gnt-cluster modify --node-parameters ghost=1
Hypervisor 'ghost' not known \(there are chroot, fake|gnt-cluster modify -H ghost:a=b
Disk template 'ghost' not known \(there are .*drbd|gnt-cluster modify -D ghost:a=b
Allocator 'ghost' not known|gnt-cluster modify --default-iallocator ghost
with "ghost"|gnt-cluster modify --enabled-hypervisors fake,ghost
with "ghost"|gnt-cluster modify --enabled-disk-templates sharedfile,ghost
'ghost'|gnt-cluster modify --ipolicy-disk-templates ghost
tag|gnt-cluster remove-tags ghost
node|gnt-cluster command -n ghost true
node|gnt-cluster command -n node1 -n ghost true
group|gnt-cluster command -g ghost true
node|gnt-cluster recover --yes-do-it --drop ghost
node|gnt-cluster copyfile -n ghost /etc/hosts
group|gnt-cluster copyfile -g ghost /etc/hosts
node|gnt-cluster epo ghost
node|gnt-cluster epo node2 ghost
group|gnt-cluster epo --groups ghost
inst|gnt-cluster repair-disk-sizes ghost
group|gnt-cluster verify --node-group ghost
group|gnt-cluster verify-disks --node-group ghost
Command 'ghost' is not valid|gnt-cluster queue ghost
Command 'ghost' is not valid|gnt-cluster watcher ghost
node|gnt-debug delay -n ghost 0.1
inst|gnt-debug iallocator --dir in --mode relocate ghost
inst|gnt-debug iallocator --dir in --mode change-group ghost
group|gnt-debug iallocator --dir in --mode change-group --target-groups ghost web1
inst|gnt-debug iallocator --dir in --mode node-evacuate ghost
field|gnt-debug locks -o ghost
'?ghost'?|gnt-debug submit-job ghost
rule|gnt-filter info ghost
rule|gnt-filter info 00000000-0000-0000-0000-000000000000
rule|gnt-filter delete ghost
rule|gnt-filter list ghost
field|gnt-filter list -o ghost
field|gnt-filter list-fields ghost
not 'ghost'|gnt-filter replace ghost
ghost|gnt-filter add --action ghost
group|gnt-group add-tags ghost t
group|gnt-group list-tags ghost
group|gnt-group remove-tags ghost t
tag|gnt-group remove-tags default ghost
group|gnt-group assign-nodes ghost node1
node|gnt-group assign-nodes default ghost
group|gnt-group evacuate ghost
group|gnt-group evacuate --to ghost default
group|gnt-group info ghost
group|gnt-group list ghost
group|gnt-group list default ghost
field|gnt-group list -o ghost
field|gnt-group list-fields ghost
group|gnt-group modify --alloc-policy preferred ghost
ghost|gnt-group modify --alloc-policy ghost default
param|gnt-group modify --node-parameters ghost=1 default
param|gnt-group add --node-parameters ghost=1 new
'ghost'|gnt-group modify --ipolicy-disk-templates ghost default
group|gnt-group remove ghost
group|gnt-group rename ghost ghost2
group|gnt-group show-ispecs-cmd ghost
node|gnt-instance add -t diskless -o noop -n ghost --no-name-check --no-ip-check new
node|gnt-instance add -t sharedfile -s 1m -o noop -n node1:ghost --no-name-check --no-ip-check new
'ghost'|gnt-instance add -t diskless -o noop -I ghost --no-name-check --no-ip-check new
group|gnt-instance add -t diskless -o noop -I hail -g ghost --no-name-check --no-ip-check new
ghost|gnt-instance add -t diskless -o ghost -n node1 --no-name-check --no-ip-check new
ghost|gnt-instance add -t diskless -o noop+ghost -n node1 --no-name-check --no-ip-check new
use|gnt-instance add -t ghost -o noop -n node1 --no-name-check --no-ip-check new
ghost|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check -H ghost new
Hypervisor 'ghost' not known|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check -H ghost:a=b new
param|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check -H fake:ghost=b new
param|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check -B ghost=1 new
ghost|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check -O ghost=1 new
net|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check --net 0:network=ghost new
param|gnt-instance add -t diskless -o noop -n node1 --no-name-check --no-ip-check --net 0:ghost=1 new
'ghost'|gnt-instance add -t sharedfile -o noop -n node1 --no-name-check --no-ip-check --disk 0:size=1m,ghost=1 new
\(ghost.nowhere.invalid\) does not resolve|gnt-instance add -t diskless -o noop -n node1 --no-ip-check ghost.nowhere.invalid
ghost.json|gnt-instance batch-create /nowhere/ghost.json
inst|gnt-instance activate-disks ghost
inst|gnt-instance deactivate-disks ghost
inst|gnt-instance add-tags ghost t
inst|gnt-instance list-tags ghost
inst|gnt-instance remove-tags ghost t
tag|gnt-instance remove-tags web1 ghost
inst|gnt-instance change-group ghost
group|gnt-instance change-group --to ghost web1
inst|gnt-instance console ghost
inst|gnt-instance failover ghost
inst|gnt-instance failover -f ghost
node|gnt-instance failover -f -n ghost web1
'ghost'|gnt-instance failover -f -I ghost web1
inst|gnt-instance grow-disk ghost 0 1m
Invalid disk index 7|gnt-instance grow-disk web1 7 1m
'ghost' is no number|gnt-instance grow-disk web1 ghost 1m
inst|gnt-instance info ghost
inst|gnt-instance info web1 ghost
inst|gnt-instance info --static ghost
inst|gnt-instance list ghost
inst|gnt-instance list web1 ghost
field|gnt-instance list -o ghost
field|gnt-instance list-fields ghost
inst|gnt-instance migrate ghost
inst|gnt-instance migrate -f ghost
node|gnt-instance migrate -f -n ghost web1
'ghost'|gnt-instance migrate -f -I ghost web1
inst|gnt-instance modify -B memory=64 ghost
param|gnt-instance modify -B ghost=64 web1
param|gnt-instance modify -H ghost=64 web1
ghost|gnt-instance modify --os-type ghost web1
ghost|gnt-instance modify -O ghost=1 web1
disk 7|gnt-instance modify --disk 7:mode=ro web1
identifier ghost|gnt-instance modify --disk ghost:mode=ro web1
NIC 7|gnt-instance modify --net 7:ip=10.0.0.1 web1
identifier ghost|gnt-instance modify --net ghost:ip=10.0.0.1 web1
net|gnt-instance modify --net 0:network=ghost web1
use|gnt-instance modify -t ghost web1
node|gnt-instance modify --new-primary ghost web1
node|gnt-instance move -f -n ghost web1
inst|gnt-instance move -f -n node1 ghost
inst|gnt-instance reboot ghost
inst|gnt-instance reboot web1 ghost
node|gnt-instance reboot --node ghost
node|gnt-instance shutdown --primary ghost
node|gnt-instance startup --secondary ghost
does not match any instances|gnt-instance reboot --tags ghost
does not match any instances|gnt-instance reboot --node-tags ghost
inst|gnt-instance recreate-disks ghost
node|gnt-instance recreate-disks -n ghost web1
inst|gnt-instance reinstall ghost
inst|gnt-instance reinstall -f ghost
node|gnt-instance reinstall --node ghost
inst|gnt-instance remove ghost
inst|gnt-instance remove -f ghost
inst|gnt-instance rename --no-name-check --no-ip-check -f ghost ghost2
ghost2.nowhere.invalid\) does not resolve|gnt-instance rename -f web1 ghost2.nowhere.invalid
inst|gnt-instance replace-disks -p ghost
node|gnt-instance replace-disks -n ghost web1
inst|gnt-instance shutdown ghost
inst|gnt-instance shutdown web1 ghost
inst|gnt-instance startup ghost
job|gnt-job archive 99999
Invalid job ID 'ghost'|gnt-job archive ghost
Invalid time specification 'ghost'|gnt-job autoarchive ghost
Job 99999 not found in queue|gnt-job cancel 99999
Invalid job ID 'ghost'|gnt-job cancel ghost
Job 99999 not found in queue|gnt-job change-priority --priority high 99999
use|gnt-job change-priority --priority ghost 1
job|gnt-job info 99999
job|gnt-job info --format=json 99999
Invalid job ID 'ghost'|gnt-job info ghost
job|gnt-job list 99999
job|gnt-job list 1 99999
job|gnt-job list 1 1 99999
Invalid job ID 'ghost'|gnt-job list ghost
field|gnt-job list -o ghost
field|gnt-job list-fields ghost
99999|gnt-job wait 99999
Invalid job ID 'ghost'|gnt-job wait ghost
99999|gnt-job watch 99999
Invalid job ID 'ghost'|gnt-job watch ghost
job|gnt-job why 99999
Invalid job ID 'ghost'|gnt-job why ghost
net|gnt-network add-tags ghost t
net|gnt-network list-tags ghost
net|gnt-network remove-tags ghost t
net|gnt-network connect ghost
net|gnt-network connect ghost default
group|gnt-network connect netw ghost
net|gnt-network disconnect ghost
net|gnt-network disconnect ghost default
group|gnt-network disconnect netw ghost
net|gnt-network info ghost
net|gnt-network list ghost
field|gnt-network list -o ghost
field|gnt-network list-fields ghost
net|gnt-network modify --gateway 1.2.3.4 ghost
net|gnt-network remove ghost
net|gnt-network rename ghost ghost2
node|gnt-node add --readd ghost
group|gnt-node add --no-node-setup -g ghost localhost
node|gnt-node add-tags ghost t
node|gnt-node list-tags ghost
node|gnt-node remove-tags ghost t
node|gnt-node evacuate -f ghost
node|gnt-node evacuate -f -p ghost
node|gnt-node evacuate -f -s ghost
node|gnt-node evacuate -f -n ghost node1
'ghost'|gnt-node evacuate -f -I ghost node2
node|gnt-node failover -f ghost
'ghost'|gnt-node failover -f -I ghost node2
node|gnt-node health ghost
node|gnt-node info ghost
node|gnt-node info node1 ghost
node|gnt-node list ghost
node|gnt-node list node1 ghost
field|gnt-node list -o ghost
node|gnt-node list-drbd ghost
field|gnt-node list-fields ghost
node|gnt-node list-storage ghost
use|gnt-node list-storage --storage-type ghost
node|gnt-node migrate -f ghost
node|gnt-node migrate -f -n ghost node2
'ghost'|gnt-node migrate -f -I ghost node2
node|gnt-node modify --drained yes ghost
param|gnt-node modify --node-parameters ghost=1 node2
'ghost'|gnt-node modify --hypervisor-state ghost:mem_total=1 node2
node|gnt-node modify-storage --allocatable yes ghost lvm-pv x
ghost|gnt-node modify-storage --allocatable yes node1 ghost x
node|gnt-node power status ghost
node|gnt-node power -f on ghost
subcommand ghost|gnt-node power ghost node1
node|gnt-node powercycle --yes ghost
node|gnt-node refresh-state ghost
node|gnt-node remove ghost
node|gnt-node repair-storage ghost lvm-vg x
ghost|gnt-node repair-storage node1 ghost x
node|gnt-node restricted-command x ghost
node|gnt-node restricted-command x node1 ghost
group|gnt-node restricted-command -g ghost x
'ghost'|gnt-node restricted-command ghost node1
node|gnt-node volumes ghost
OS 'ghost' not known|gnt-os info ghost
OS 'noop\+ghost' not known|gnt-os info noop+ghost
OS 'ghost' not known|gnt-os info --format=json ghost
OS 'noop\+ghost' not known|gnt-os info --format=json noop+ghost
Hypervisor 'ghost' not known|gnt-os modify -H ghost:a=1 noop
provider 'ghost' not known|gnt-storage info ghost
provider 'ghost' not known|gnt-storage info --format=json ghost
END

# Commands without names of things that are there, or that are about new ones.
cat >"$VC/nameless" <<'END'
gnt-cluster activate-master-ip add-tags deactivate-master-ip destroy getmaster
gnt-cluster info init list-tags master-failover master-ping redist-conf rename
gnt-cluster renew-crypto repair-volumes resources sanitize-config search-tags show-ispecs-cmd
gnt-cluster upgrade version
gnt-debug metad test-jobqueue test-osparams wconfd
gnt-job reindex verify-history
gnt-network add
gnt-node join
gnt-os diagnose list
gnt-storage diagnose
END

in_words() { # WHAT: the expression for it
    case $1 in
    node) echo "Node 'ghost' not known" ;;
    inst) echo "Instance 'ghost' not known" ;;
    group) echo "Node group 'ghost' not known" ;;
    net) echo "Network 'ghost' not known" ;;
    rule) echo "Filter rule '(ghost|0{8}-.*)' not known" ;;
    job) echo "Job '99999' not known" ;;
    tag) echo "Tag\(s\) 'ghost' not found" ;;
    param) echo "[Uu]nknown parameter 'ghost'" ;;
    use) echo "invalid choice: 'ghost'" ;;
    field) echo "unknown fields ghost" ;;
    *) echo "$1" ;;
    esac
}

m gnt-network add --network 192.0.2.0/24 netw >"$VC/out" 2>&1
while IFS='|' read -r what command; do
    # shellcheck disable=SC2086
    out=$("$BIN/gnt-vcluster" exec "$VC" node1 -- $command 2>&1 </dev/null)
    rc=$?
    if [ "$rc" = 0 ] || { [ "$what" = field ] && [ "$rc" != 14 ]; }; then
        tap_point 1 "$command"
        note "it ends with $rc:"
        note "$out"
    else
        like "$out" "$(in_words "$what")" "$command"
    fi
done <"$VC/table"
is "$(m gnt-instance list --no-headers -o name,status | tr -s ' ')" \
    "web1 running" "nothing was done"

# Every command is in the table, or known to need no name.
for tool in "$BIN"/gnt-*; do
    tool=${tool##*/}
    [ "$tool" = gnt-vcluster ] && continue
    for name in $("$BIN/$tool" --help |
        sed -n 's/^ \([a-z][a-z-]*\) *- .*/\1/p'); do
        grep -Eq "\\|$tool $name( |\$)" "$VC/table" ||
            sed -n "s/^$tool //p" "$VC/nameless" | tr ' ' '\n' |
            grep -qx -e "$name" || echo "$tool $name"
    done
done >"$VC/missing"
is "$(cat "$VC/missing")" "" "the table has all commands"
tap_done
