#!/bin/sh
# Debian's own, unmodified Ganeti commands (package ganeti 3.0.2) drive our
# daemons in a virtual cluster.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
[ -x /usr/sbin/gnt-cluster ] && [ -d /usr/share/ganeti ] ||
    skip_all "the package ganeti is not installed"
cluster_start --nodes 3

worked=0
tried=0
theirs() { # NAME COMMAND...: their command on the master must succeed
    name=$1
    program=$2
    shift 2
    tried=$((tried + 1))
    succeeds "upstream $name" on node1 timeout 120 "/usr/sbin/$program" "$@" &&
        worked=$((worked + 1))
}
quick="--no-name-check --no-ip-check"

theirs "cluster info" gnt-cluster info
like "$out" 'Cluster name: cluster.example.com' "names the cluster"
theirs "cluster getmaster" gnt-cluster getmaster
theirs "cluster version" gnt-cluster version
theirs "node list" gnt-node list
like "$out" 'node3.example.com' "names the nodes"
# shellcheck disable=SC2086
theirs "instance add with hail" gnt-instance add -t diskless -I hail -o noop $quick web1
# shellcheck disable=SC2086
theirs "instance add on shared storage" gnt-instance add -t sharedfile -s 8m -n node2.example.com -o noop $quick web2
theirs "instance list" gnt-instance list
like "$out" 'web1 .*running' "shows what runs"
theirs "instance info" gnt-instance info web2
theirs "instance shutdown" gnt-instance shutdown web1
is "$(m gnt-instance list --no-headers -o status web1)" ADMIN_down \
    "our list agrees"
theirs "instance startup" gnt-instance startup web1
theirs "instance reboot" gnt-instance reboot web1
theirs "instance migrate" gnt-instance migrate -f -n node3.example.com web2
theirs "instance failover" gnt-instance failover -f -n node1.example.com web2
theirs "instance add-tags" gnt-instance add-tags web1 a b
theirs "instance list-tags" gnt-instance list-tags web1
is "$out" "a
b" "which shows them"
theirs "instance list by a filter" gnt-instance list -o name,tags -F '"a" in tags'
like "$out" web1 "finds it"
theirs "node modify" gnt-node modify -D yes node3.example.com
theirs "node evacuate" gnt-node evacuate -f -p -I hail node3.example.com
theirs "node list of fields" gnt-node list -o name,role,pinst_list,uuid
theirs "node modify back" gnt-node modify -D no node3.example.com
theirs "node info" gnt-node info node1.example.com
theirs "group list" gnt-group list
theirs "os list" gnt-os list
is "$(echo "$out" | tail -1)" noop "shows the OS"
theirs "os diagnose" gnt-os diagnose
theirs "debug delay" gnt-debug delay 0.01
theirs "debug delay on nodes" gnt-debug delay --no-master -n node2.example.com 0.01
theirs "debug locks" gnt-debug locks
theirs "job list" gnt-job list
like "$out" 'success +CLUSTER_POST_INIT' "shows the first job"
last=$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')
theirs "job info" gnt-job info "$last"
theirs "job wait" gnt-job wait "$last"
theirs "job archive" gnt-job archive "$last"
theirs "job autoarchive" gnt-job autoarchive all
theirs "cluster verify" gnt-cluster verify
theirs "cluster modify" gnt-cluster modify --max-running-jobs 10
theirs "cluster queue info" gnt-cluster queue info
theirs "cluster queue drain" gnt-cluster queue drain
fails "a drained queue takes no job" on node1 /usr/sbin/gnt-debug delay 0.01
theirs "cluster queue undrain" gnt-cluster queue undrain
theirs "filter add" gnt-filter add --action='RATE_LIMIT 3' --reason=why \
    '--predicates=[["jobid", [">", "id", "watermark"]]]'
rule=$out
theirs "filter list" gnt-filter list
like "$out" "$rule .*'RATE_LIMIT', 3" "shows it"
theirs "filter info" gnt-filter info "$rule"
is "$out" "$(m gnt-filter info "$rule")" "ours says the same"
theirs "filter replace" gnt-filter replace --priority=4 --action=PAUSE "$rule"
theirs "filter delete" gnt-filter delete "$rule"
theirs "cluster redist-conf" gnt-cluster redist-conf
theirs "cluster add-tags" gnt-cluster add-tags prod
theirs "cluster search-tags" gnt-cluster search-tags prod
theirs "instance remove" gnt-instance remove -f web1
# shellcheck disable=SC2086
fails "an error is theirs" on node1 /usr/sbin/gnt-instance add -t diskless -o noop -n node1.example.com $quick web2
like "$out" 'already_exists' "with its code"

# Their allocator understands our request.
if [ -x /usr/lib/ganeti/iallocators/hail ] || [ -x /usr/bin/hail ]; then
    hail=/usr/lib/ganeti/iallocators/hail
    [ -x "$hail" ] || hail=/usr/bin/hail
    theirs=$(root node1)/usr/local/lib/ganeti/iallocators/theirs
    printf '#!/bin/sh\nexec %s "$@"\n' "$hail" >"$theirs"
    chmod +x "$theirs"
    succeeds "upstream hail as an external allocator" \
        add web3 -t sharedfile -s 4m -I theirs
    like "$out" 'Selected nodes for instance web3 via iallocator theirs' \
        "places an instance"
fi
note "upstream cli: $worked of $tried"
is "$worked" "$tried" "all of upstream's commands worked"
tap_done
