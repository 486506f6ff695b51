#!/bin/sh
# Debian's own, unmodified Ganeti commands (package ganeti 3.0.2) drive our
# daemons in a virtual cluster, and ours print what theirs print.  The table of
# results is doc/compat.md: COMPAT_PAGE=FILE writes it anew.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
[ -x /usr/sbin/gnt-cluster ] && [ -d /usr/share/ganeti ] ||
    skip_all "the package ganeti is not installed"
page=$(cd "$(dirname "$0")/../.." && pwd)/doc/compat.md
cluster_start --nodes 3
results=$VC/results
: >"$results"

worked=0
tried=0

# result WORD COMMAND...: a line of the page, without what is new in each run
result() {
    word=$1
    shift
    echo "$*" | sed -E -e "s#$VC#DIR#g" -e 's/[0-9a-f]{8}-[0-9a-f-]{27}/UUID/g' \
        -e 's/127(\.[0-9]+){3}/ADDRESS/g' \
        -e 's/^(gnt-job .*) [0-9]+$/\1 ID/' -e 's/\|/\\|/g' \
        -e "s/.*/| \`&\` | $word |/" >>"$results"
}

# theirs PROGRAM ARGUMENT...: their command on the master must succeed
theirs() {
    tried=$((tried + 1))
    tap_rc=
    succeeds "upstream $*" on node1 timeout 120 "/usr/sbin/$@"
    if [ -z "$tap_rc" ]; then
        worked=$((worked + 1))
        result works "$@"
    else
        result fails "$@"
    fi
}

# on_both PROGRAM ARGUMENT...: $theirs_rc, $ours_rc and what they print
on_both() {
    # Some of theirs print in the order of a Python set.
    on node1 env PYTHONHASHSEED=3 timeout 120 "/usr/sbin/$@" >"$VC/theirs" 2>"$VC/err" </dev/null
    theirs_rc=$?
    on node1 timeout 120 "$@" >"$VC/ours" 2>/dev/null </dev/null
    ours_rc=$?
    out=$(cat "$VC/theirs")
}

# same PROGRAM ARGUMENT...: and ours prints the same on the same cluster
same() {
    tried=$((tried + 1))
    on_both "$@"
    if [ $theirs_rc = $ours_rc ] && [ $theirs_rc = 0 ] &&
        cmp -s "$VC/theirs" "$VC/ours"; then
        tap_point 0 "the same: $*"
        worked=$((worked + 1))
        result "works, same output" "$@"
    else
        tap_point 1 "the same: $*"
        note "status of theirs $theirs_rc, of ours $ours_rc"
        note "$(cat "$VC/err"; diff "$VC/theirs" "$VC/ours")"
        result fails "$@"
    fi
}

# more PROGRAM ARGUMENT...: and ours prints all of that, and lines of our own
more() {
    theirs "$@"
    on_both "$@"
    names() { cut -d' ' -f1 "$VC/$1" | LC_ALL=C sort; }
    names theirs >"$VC/theirs.names"
    is "$(names ours | LC_ALL=C comm -13 - "$VC/theirs.names")" "" "ours has all of: $*"
}

# alike PROGRAM ARGUMENT...: theirs and ours fail with the same status, and the
# same on stdout
alike() {
    tried=$((tried + 1))
    on_both "$@"
    if [ $theirs_rc = $ours_rc ] && [ $theirs_rc != 0 ] &&
        cmp -s "$VC/theirs" "$VC/ours"; then
        tap_point 0 "fail alike: $*"
        worked=$((worked + 1))
        result "fails alike" "$@"
    else
        tap_point 1 "fail alike: $*"
        note "status of theirs $theirs_rc, of ours $ours_rc"
        note "$(cat "$VC/err"; diff "$VC/theirs" "$VC/ours")"
        result fails "$@"
    fi
}

# delta REGEX PROGRAM ARGUMENT...: what is not served is refused in words; it
# stands in doc/KNOWN_DELTAS.md
delta() {
    regex=$1
    shift
    tried=$((tried + 1))
    fails "refused: $*" on node1 timeout 120 "/usr/sbin/$@"
    like "$out" "$regex" "and says why"
    result "not served" "$@"
}

quick="--no-name-check --no-ip-check"
n1=node1.example.com
n2=node2.example.com
n3=node3.example.com

# --- the cluster ---
same gnt-cluster info
like "$out" 'Cluster name: cluster.example.com' "names the cluster"
same gnt-cluster getmaster
theirs gnt-cluster version
theirs gnt-cluster master-ping
theirs gnt-cluster modify --max-running-jobs 10
theirs gnt-cluster modify --max-tracked-jobs 30
theirs gnt-cluster modify --candidate-pool-size 3
theirs gnt-cluster modify -B vcpus=1,maxmem=128
theirs gnt-cluster modify -H fake:migration_mode=live
theirs gnt-cluster modify --nic-parameters=link=br1
theirs gnt-cluster modify --node-parameters=spindle_count=2
theirs gnt-cluster modify --ipolicy-vcpu-ratio=5
theirs gnt-cluster modify --ipolicy-std-specs=cpu-count=1,disk-count=1,disk-size=128,memory-size=128,nic-count=1,spindle-use=1
theirs gnt-cluster modify --default-iallocator=hail
theirs gnt-cluster modify --maintain-node-health=no
theirs gnt-cluster modify --prealloc-wipe-disks=no
theirs gnt-cluster modify --reserved-lvs=
theirs gnt-cluster modify --disk-parameters=drbd:resync-rate=1024
theirs gnt-cluster modify --use-external-mip-script=no
theirs gnt-cluster modify --uid-pool=1000-1009,2000
theirs gnt-cluster modify --add-uids=3000-3001 --remove-uids=1000-1009
theirs gnt-cluster modify --enabled-data-collectors=lv=false
same gnt-cluster info
theirs gnt-cluster queue info
theirs gnt-cluster queue drain
fails "a drained queue takes no job" on node1 /usr/sbin/gnt-debug delay 0.01
theirs gnt-cluster queue undrain
theirs gnt-cluster watcher pause 1h
same gnt-cluster watcher info
theirs gnt-cluster watcher continue
same gnt-cluster watcher info
theirs gnt-cluster redist-conf
theirs gnt-cluster add-tags prod blue
same gnt-cluster list-tags
same gnt-cluster search-tags '^pr'
theirs gnt-cluster remove-tags blue

# --- nodes ---
theirs gnt-node list
like "$out" 'node3.example.com' "names the nodes"
same gnt-node list -o name,pip,sip,role,master,offline,drained,vm_capable,group,uuid,serial_no
same gnt-node list --no-headers --separator=: -o name,pinst_cnt,sinst_cnt
same gnt-node list -o name,mtotal,dtotal --units=m
same gnt-node list -o +tags,ctime -o name,tags,ctime,mtime $n2
same gnt-node list -o name -F 'master_candidate and not offline'
same gnt-node list -v -o name,powered,hv_state
more gnt-node list-fields
same gnt-node list-fields name role
same gnt-node info $n1
same gnt-node info
theirs gnt-node modify -D yes $n3
theirs gnt-node modify -D no $n3
theirs gnt-node modify -C no $n3
theirs gnt-node modify -C yes --auto-promote $n3
theirs gnt-node modify --node-parameters=spindle_count=4 $n3
theirs gnt-node modify --vm-capable=yes $n3
same gnt-node info $n3
theirs gnt-node add-tags $n2 rack1 fast
same gnt-node list-tags $n2
theirs gnt-node remove-tags $n2 fast
same gnt-node list-storage -t file -o node,type,name,size,allocatable
same gnt-node list-storage -t sharedfile -o node,name $n1
theirs gnt-node volumes
theirs gnt-node volumes --no-headers --separator=: --units=m -o name,size,instance $n1
helper=$(root node1)/etc/ganeti/oob
cat >"$helper" <<'END'
#!/bin/sh
case "$1" in
health) echo '[["disk", "OK"], ["fan", "OK"]]' ;;
power-status) echo '{"powered": true}' ;;
esac
END
chmod 755 "$helper"
theirs gnt-group modify --node-parameters=oob_program=/etc/ganeti/oob default
same gnt-node health
same gnt-node health --no-headers --separator=: --oob-timeout=9 $n2
same gnt-node power status
theirs gnt-node power -f off $n3
theirs gnt-node power --power-delay=0 on $n3
theirs gnt-node power -f --ignore-status cycle $n3
theirs gnt-node modify -f -O no -C yes $n3
theirs gnt-group modify --node-parameters=oob_program=default default
mkdir -p "$(root node2)/etc/ganeti/restricted-commands"
printf '#!/bin/sh\necho hello\n' >"$(root node2)/etc/ganeti/restricted-commands/hello"
chmod 755 "$(root node2)/etc/ganeti/restricted-commands" \
    "$(root node2)/etc/ganeti/restricted-commands/hello"
same gnt-node restricted-command hello $n2
same gnt-node restricted-command -M --sync hello $n2
for node in node1 node2 node3; do
    folder=$(root $node)/usr/share/ganeti/extstorage/shared
    mkdir -p "$folder"
    for script in create attach detach remove grow setinfo verify; do
        printf '#!/bin/sh\n' >"$folder/$script"
        chmod 755 "$folder/$script"
    done
    echo "pool where to put it" >"$folder/parameters.list"
done
same gnt-storage diagnose
same gnt-storage info
same gnt-storage info shared

# --- instances ---
# shellcheck disable=SC2086
{
    theirs gnt-instance add -t diskless -I hail -o noop $quick web1
    theirs gnt-instance add -t sharedfile -s 8m -n $n2 -o noop $quick web2
    theirs gnt-instance add -t file --disk 0:size=4m --disk 1:size=4m,mode=ro -n $n1 -B vcpus=2 --net 0:mac=aa:00:00:11:22:33 --tags=x,y --no-start -o noop $quick db1
    theirs gnt-instance add -t diskless -n $n1 --no-nics --no-install --submit -o noop $quick sub1
}
m gnt-job watch "$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')" \
    >/dev/null
printf '[{"instance_name": "bulk1", "disk_template": "diskless", "os_type": "noop", "mode": "create", "name_check": false, "ip_check": false, "hypervisor": "fake", "disks": [], "nics": [{}], "pnode": "%s"}]' $n3 >"$VC/bulk.json"
theirs gnt-instance batch-create "$VC/bulk.json"
theirs gnt-instance list
like "$out" 'web1 .*running' "shows what runs"
same gnt-instance list
same gnt-instance list -o name,status,oper_state,admin_state,pnode,snodes,disk_template,os,tags
same gnt-instance list -o name,be/vcpus,be/maxmem,nic.macs,disk.sizes,network_port,uuid
same gnt-instance list --no-headers --separator='|' -o name,disk_usage,oper_ram
same gnt-instance list --units=m -o name,disk_usage,be/memory
same gnt-instance list -o name,tags -F '"x" in tags'
same gnt-instance list -o name 'web*'
same gnt-instance list -o name web2
same gnt-instance list -o name,pnode 'pnode == "node1.example.com"'
same gnt-instance list -o name,hvparams,nic.count,disk.count
same gnt-instance list-fields
same gnt-instance info -s web2
same gnt-instance info db1
same gnt-instance info --all
same gnt-instance info web2 db1
theirs gnt-instance modify -B vcpus=1 db1
theirs gnt-instance modify --net 0:link=br7 db1
theirs gnt-instance modify --net add:mac=generate db1
theirs gnt-instance modify --net -1:remove db1
theirs gnt-instance modify --disk 1:mode=rw db1
theirs gnt-instance modify --disk add:size=4m,name=third db1
theirs gnt-instance modify --disk -1:remove db1
theirs gnt-instance modify --os-type=noop db1
theirs gnt-instance modify --offline db1
theirs gnt-instance modify --online db1
same gnt-instance info db1
theirs gnt-instance activate-disks db1
theirs gnt-instance deactivate-disks db1
theirs gnt-instance grow-disk db1 0 4m
theirs gnt-instance grow-disk --absolute db1 0 12m
rm -f "$(root node1)"/srv/ganeti/file-storage/db1/*disk1
theirs gnt-instance recreate-disks --disk 1 db1
theirs gnt-instance reinstall -f db1
theirs gnt-instance reinstall -f -o noop db1
theirs gnt-instance rename -f --no-name-check --no-ip-check db1 db2
theirs gnt-instance startup db2
theirs gnt-instance shutdown --timeout=1 db2
theirs gnt-instance shutdown web1
is "$(m gnt-instance list --no-headers -o status web1)" ADMIN_down \
    "our list agrees"
theirs gnt-instance startup --no-remember web1
theirs gnt-instance startup --dry-run web1
theirs gnt-instance reboot web1
theirs gnt-instance reboot -t hard web1
theirs gnt-instance shutdown -f --force-multiple --node $n3
theirs gnt-instance startup -f --force-multiple --primary $n3
theirs gnt-instance migrate -f -n $n3 web2
theirs gnt-instance migrate -f -n $n2 --non-live web2
theirs gnt-instance failover -f -n $n1 web2
theirs gnt-instance add-tags web1 a b
same gnt-instance list-tags web1
is "$out" "a
b" "which shows them"
theirs gnt-instance remove-tags web1 b
theirs gnt-instance list -o name,tags -F '"a" in tags'
like "$out" web1 "finds it"

theirs gnt-instance shutdown db2
theirs gnt-instance modify -t sharedfile db2
theirs gnt-instance modify -t file --file-driver=loop --file-storage-dir=deep db2
theirs gnt-backup export -n $n3 db2
same gnt-backup list
like "$out" 'node3.example.com +db2' "shows it"
same gnt-backup list -n $n3 --no-headers --separator=: -o node,export
theirs gnt-backup import -t file -n $n1 --src-node=$n3 --src-dir=db2 --net 0:mac=generate --identify-defaults $quick db3
same gnt-instance info db3
theirs gnt-backup export -n $n2 --transport-compression=gzip-fast --remove-instance --ignore-remove-failures db3
theirs gnt-backup import -t file -n $n1 --compress=gzip $quick db3
theirs gnt-backup export -n $n2 --shutdown-timeout=5 --long-sleep db3
theirs gnt-backup remove db3
# Nothing in a cluster of files ends by itself: the helper is given no time.
chmod 755 "$VC"
head -c 100000 /dev/zero >"$VC/zero.img"
theirs gnt-cluster modify --zeroing-image="$VC/zero.img"
theirs gnt-backup export -n $n3 --zero-free-space --zeroing-timeout-fixed=0 --zeroing-timeout-per-mib=0.0001 --long-sleep db2
theirs gnt-backup remove db2
theirs gnt-instance remove -f db3
theirs gnt-instance move -f -n $n2 db2
theirs gnt-instance move -f -n $n1 --compress=gzip --shutdown-timeout=0 --ignore-consistency --ignore-ipolicy db2

# --- nodes with instances ---
theirs gnt-instance startup --force-multiple --all
theirs gnt-node migrate -f -n $n2 $n3
theirs gnt-node failover -f $n2
theirs gnt-node evacuate -f -p -I hail $n3
theirs gnt-node list -o name,role,pinst_list,uuid
same gnt-node list -o name,pinst_list,sinst_list,pinst_cnt

# --- groups ---
theirs gnt-group add --alloc-policy=last_resort rack2
same gnt-group list
same gnt-group list -o name,node_cnt,node_list,alloc_policy,uuid
same gnt-group list --no-headers --separator=, -o name,pinst_cnt
more gnt-group list-fields
theirs gnt-group modify --alloc-policy=preferred rack2
theirs gnt-group modify --node-parameters=spindle_count=3 rack2
theirs gnt-group modify --ipolicy-spindle-ratio=8 rack2
theirs gnt-group assign-nodes -f rack2 $n3
same gnt-group info rack2
same gnt-group info
theirs gnt-group add-tags rack2 cold
same gnt-group list-tags rack2
theirs gnt-group remove-tags rack2 cold
theirs gnt-group rename rack2 rack3
theirs gnt-group assign-nodes -f default $n3
theirs gnt-group remove rack3

# --- networks ---
theirs gnt-network add --network=192.0.2.0/28 --gateway=192.0.2.1 --add-reserved-ips=192.0.2.2 net1
same gnt-network list
same gnt-network list -o name,network,gateway,free_count,reserved_count,map
same gnt-network list-fields
theirs gnt-network connect -N mode=bridged,link=br0 net1 default
same gnt-network info net1
theirs gnt-instance modify --net add:network=net1,ip=192.0.2.9 web1
same gnt-network list
same gnt-instance info web1
theirs gnt-instance modify --net -1:remove web1
theirs gnt-network modify --add-reserved-ips=192.0.2.5 net1
theirs gnt-network modify --mac-prefix=aa:00:55 net1
theirs gnt-network add-tags net1 lan
same gnt-network list-tags net1
theirs gnt-network remove-tags net1 lan
same gnt-network info
theirs gnt-network disconnect net1 default
theirs gnt-network connect net1
theirs gnt-network disconnect net1
theirs gnt-network remove net1

# --- operating systems ---
same gnt-os list
is "$(echo "$out" | tail -1)" noop "shows the OS"
theirs gnt-os diagnose
same gnt-os info
theirs gnt-os info noop
theirs gnt-os modify --hidden=yes noop
same gnt-os list
theirs gnt-os modify --hidden=no --blacklisted=no noop
theirs gnt-os modify -O size=1,colour=red --os-parameters-private=pw=x later
theirs gnt-os modify -H fake:migration_mode=live later
same gnt-cluster info
theirs gnt-os modify -O size=default,colour=default later
for node in node1 node2 node3; do
    os=$(root $node)/srv/ganeti/os/param
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    printf '%s a parameter\n' size pw key >"$os/parameters.list"
    printf 'small\nbig\n' >"$os/variants.list"
done
theirs gnt-os modify -O size=3 --os-parameters-private=pw=x param
theirs gnt-os modify -O size=5 -H fake:migration_mode=live param+big
same gnt-os info
theirs gnt-os info noop param+big other
same gnt-os diagnose
# shellcheck disable=SC2086
theirs gnt-instance add -t diskless -n $n2 -o param+big -O size=4 --os-parameters-private=pw=y --os-parameters-secret=key=z --no-start $quick par1
theirs gnt-instance modify -O size=default --os-parameters-private=pw=default par1
same gnt-instance info par1
theirs gnt-instance remove -f par1

# --- jobs ---
theirs gnt-debug delay 0.01
theirs gnt-debug delay --no-master -n $n2 0.01
theirs gnt-debug delay --repeat 2 0.01
theirs gnt-debug delay --interruptible 0.01
theirs gnt-debug test-osparams --os-parameters-secret=a=b
theirs gnt-debug test-jobqueue
like "$out" 'Job queue test successful' "the queue is as it expects"
for daemon in wconfd metad; do
    fails "there is no $daemon" on node1 timeout 60 /usr/sbin/gnt-debug $daemon echo x
    like "$out" 'Nothing is served here' "which is said at once"
done
same gnt-debug locks
theirs gnt-debug locks -o name,mode,pending
echo '[{"OP_ID": "OP_TEST_DELAY", "duration": 0.01}]' >"$VC/ops.json"
theirs gnt-debug submit-job "$VC/ops.json"
theirs gnt-debug submit-job --job-repeat 2 "$VC/ops.json"
theirs gnt-debug iallocator --dir=in -m allocate -t diskless -o noop new1
same gnt-debug iallocator --dir=out -I hail -m allocate -t diskless -o noop new1
same gnt-debug iallocator --dir=out -I hail -m multi-allocate --count 3 -t diskless -o noop new
same gnt-job list
like "$out" 'success +CLUSTER_POST_INIT' "shows the first job"
same gnt-job list --finished --no-headers -o id,status,summary,priority
same gnt-job list --error -o id,status
same gnt-job list -o id,received_ts,start_ts,end_ts,opstatus
more gnt-job list-fields
last=$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')
same gnt-job list -o id,summary "$last"
same gnt-job info "$last"
theirs gnt-job wait "$last"
same gnt-job watch "$last"
job=$(m gnt-debug delay --submit --print-jobid 60 2>/dev/null)
theirs gnt-job change-priority --priority=high "$job"
theirs gnt-job cancel --force --kill --yes-do-it "$job"
theirs gnt-job archive "$last"
theirs gnt-job autoarchive all

# --- filters ---
theirs gnt-filter add --action='RATE_LIMIT 3' --reason=why --predicates='[["jobid", [">", "id", "watermark"]]]'
rule=$out
same gnt-filter list
like "$out" "$rule .*'RATE_LIMIT', 3" "shows it"
same gnt-filter list -o uuid,action
same gnt-filter list-fields
same gnt-filter info "$rule"
theirs gnt-filter replace --priority=4 --action=PAUSE "$rule"
theirs gnt-filter delete "$rule"

# --- another name (an address, which resolves without help) ---
ip=$(cat "$(root node1)/var/lib/ganeti/ssconf_master_ip")
other=${ip%.*}.99
theirs gnt-cluster rename -f "$other"
is "$(cat "$(root node3)/var/lib/ganeti/ssconf_cluster_name")" "$other" \
    "all nodes know it"

# --- all is well ---
theirs gnt-cluster verify
theirs gnt-cluster verify --error-codes
theirs gnt-cluster verify --node-group=default
theirs gnt-cluster verify-disks
same gnt-instance list -o name,status,pnode
same gnt-backup list-fields
theirs gnt-instance console --show-cmd web2
same gnt-cluster show-ispecs-cmd
same gnt-group show-ispecs-cmd
same gnt-group show-ispecs-cmd --include-defaults default

theirs gnt-cluster repair-disk-sizes
for command in "gnt-instance change-group -I hail web2" \
    "gnt-group evacuate default"; do
    # shellcheck disable=SC2086
    fails "nowhere to go: $command" on node1 /usr/sbin/$command
    like "$out" 'no possible target groups' "and says so"
done

# --- not served yet ---
none="does not execute OP_"
delta "confd" gnt-node list-drbd node1

theirs gnt-instance remove -f web1
theirs gnt-instance remove -f --ignore-failures sub1
theirs gnt-instance remove -f --shutdown-timeout=0 bulk1

# shellcheck disable=SC2086
fails "an error is theirs" on node1 /usr/sbin/gnt-instance add -t diskless -o noop -n $n1 $quick web2
like "$out" 'already_exists' "with its code"

# --- lists, filters and units once more, and what is typed wrongly ---
same gnt-instance list 'web*' '*1'
same gnt-instance list 'zz*'
same gnt-instance list -o name,disk.size/0,disk.size/5,be/maxmem --units=m
same gnt-instance list -o name,disk.size/0,be/maxmem --units=g
same gnt-instance list -o name,disk.size/0,be/maxmem --units=t
same gnt-instance list -o name,disk.size/0,be/maxmem --units=h --separator=:
same gnt-instance list -o name,hvparams,beparams,custom_beparams,nic.count,admin_up,disk_template,nic.vlans
same gnt-instance list -o name,snodes,console,network_port -v
same gnt-instance list -o name -F 'pnode == "node1"'
same gnt-instance list -o name -F 'name =~ m/^WEB/i'
same gnt-instance list -o name -F 'name =* "web*"'
same gnt-instance list -o name -F 'name !* "web*"'
same gnt-instance list -o name -F 'not name =~ m/1/'
alike gnt-instance list -o name -F 'not (name =~ m,1,)'
same gnt-instance list -o name -F 'name =~ m/\d/'
alike gnt-instance list -o name -F 'be/vcpus<2and admin_up'
same gnt-instance list -o name -F '"x" not in tags'
same gnt-instance list -o name -F 'admin_up or be/vcpus >= 2'
same gnt-instance list-fields --no-headers --separator=: name
same gnt-node list 'node[13]*'
same gnt-node list -o name,ndp/oob_program,ndp/spindle_count,custom_ndparams -v
same gnt-node list -o name,ctotal,csockets,cnos --separator=+
same gnt-node list -o name -F 'pinst_cnt >= 0 and not offline'
same gnt-group list -o name,ipolicy,custom_ipolicy,diskparams,tags
same gnt-group list -o name -F 'node_cnt > 1'
same gnt-group modify default
same gnt-job list -o id -F 'status == "success" and id < 3'
same gnt-job list --finished 1 2
same gnt-job list --error -F 'id < 5'
theirs gnt-job list 0
same gnt-job info 1 3
alike gnt-cluster search-tags zzz
alike gnt-instance list nosuch
alike gnt-instance list -o name,zzz
alike gnt-instance list -o name --units=z
alike gnt-instance list -o name -F 'be/maxmem >='
alike gnt-instance list -o name -F 'nosuch == 5'
alike gnt-instance list -o name -F 'be/maxmem == "x"'
alike gnt-instance list -o name -F name
alike gnt-instance list -o name -F web1 web2
alike gnt-instance list --bogus
alike gnt-instance list-fields name zzz
alike gnt-instance list-tags nosuch
alike gnt-instance list-tags
alike gnt-instance info
alike gnt-instance info nosuch
alike gnt-instance info --all web1
alike gnt-instance console nosuch
alike gnt-instance startup
alike gnt-instance startup nosuch
alike gnt-instance shutdown --tags nosuch
alike gnt-instance reboot -t bogus web1
alike gnt-instance remove nosuch
alike gnt-instance remove web1
alike gnt-instance modify web1
alike gnt-instance modify -B bogus=1 web1
alike gnt-instance modify -B maxmem=zz web1
alike gnt-instance add
alike gnt-instance add -o noop -t bogus -n node1 new1
alike gnt-instance add -o noop -t plain --disk x:size=10 -n node1 new1
alike gnt-instance grow-disk web1 x 10
alike gnt-instance add-tags web1
alike gnt-instance remove-tags web1 nosuch
alike gnt-node list nosuch
theirs gnt-node info nosuch
alike gnt-node list-storage --storage-type=bogus
alike gnt-node modify node1
alike gnt-node modify -O maybe node1
alike gnt-node remove $n1
alike gnt-node add $n1
alike gnt-node evacuate -f -p -s $n1
alike gnt-node migrate -f nosuch
alike gnt-group list nosuch
alike gnt-group rename nosuch x
alike gnt-group add default
alike gnt-network list nosuch
alike gnt-network add net2
alike gnt-network modify nosuch
alike gnt-network disconnect nosuch
alike gnt-job list x
alike gnt-job info x
alike gnt-job wait 99999
alike gnt-job cancel 99999
alike gnt-job cancel
alike gnt-job archive 99999
alike gnt-job autoarchive x
alike gnt-job change-priority 1
alike gnt-cluster getmaster x
alike gnt-cluster queue bogus
alike gnt-cluster watcher pause zz
alike gnt-cluster search-tags '('
alike gnt-cluster modify
alike gnt-cluster modify -B zz=1
alike gnt-cluster modify --maintain-node-health=maybe
alike gnt-os modify nosuch
alike gnt-debug delay x

# Their allocator understands our request.
if [ -x /usr/lib/ganeti/iallocators/hail ] || [ -x /usr/bin/hail ]; then
    hail=/usr/lib/ganeti/iallocators/hail
    [ -x "$hail" ] || hail=/usr/bin/hail
    script=$(root node1)/usr/local/lib/ganeti/iallocators/theirs
    printf '#!/bin/sh\nexec %s "$@"\n' "$hail" >"$script"
    chmod +x "$script"
    succeeds "upstream hail as an external allocator" \
        add web3 -t sharedfile -s 4m -I theirs
    like "$out" 'Selected nodes for instance web3 via iallocator theirs' \
        "places an instance"
fi

# Their planners look at our cluster.
socket=$(root node1)/var/run/ganeti/socket/ganeti-query
for tool in hinfo hbal hspace; do
    [ -x /usr/bin/$tool ] || continue
    tried=$((tried + 1))
    tap_rc=
    succeeds "upstream $tool -L" on node1 timeout 60 /usr/bin/$tool -L"$socket"
    if [ -z "$tap_rc" ]; then
        worked=$((worked + 1))
        result works "$tool -L"
    else
        result fails "$tool -L"
    fi
done

# --- the page ---
print_page() {
    cat <<'END'
# Ganeti's own commands on our daemons

Debian's package ganeti 3.0.2, unmodified, on a virtual cluster of three nodes.
"Same output" means that our command prints the same to the last character on
the same cluster; commands that "fail alike" have the same status and output.
What is not served has its reason in [KNOWN_DELTAS.md](KNOWN_DELTAS.md).
`make compat-page` writes this page from a run of `tests/compat/upstream-cli.t`,
and the test fails when it is out of date.

## Mixed clusters

`tests/compat/mixed.t` puts Debian's node daemon under our master, and ours under
Ganeti's. In both directions nodes are added, instances of the templates diskless,
file and sharedfile are made, started, stopped, rebooted, changed, grown, renamed,
migrated, failed over, moved with their data and exported, also between nodes of
different kinds, and verify is content.

* Ours under Ganeti's master: put `gantry-noded` where `ganeti-noded` was (it takes
  `NODED_ARGS`); `gnt-node add` does the rest. As a candidate it keeps the queue.
* Ganeti's under our master: run its `node-daemon-setup` on the host with the
  cluster's secrets, then `gnt-node add --no-node-setup`. It has no vote on who is
  master and no copy of the job queue ([design/failover.md](design/failover.md)), so
  keep enough candidates of ours. Keys and certificates are not renewed there.

## Commands

END
    echo "$worked of $tried command lines work."
    echo
    echo "| command | result |"
    echo "| --- | --- |"
    cat "$results"
}
print_page >"$VC/page"
[ -z "${COMPAT_PAGE-}" ] || cp "$VC/page" "$COMPAT_PAGE"
is "$(diff "$page" "$VC/page")" "" "doc/compat.md is current (make compat-page)"

note "upstream cli: $worked of $tried"
refused=$(grep -c '| not served |' "$results")
is "$worked" "$((tried - refused))" "all of upstream's commands worked"
tap_done
