#!/bin/sh
# The state of record: what nodes have and what is booked of it, without asking
# them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3

# field NODE FIELD
field() {
    m gnt-node list --no-headers --units m -o "$2" "$1"
}

like "$(field node1 hv_state)" "'mem_total': [1-9]" "the first node is recorded"
like "$(field node2 hv_state)" "'mem_total': [1-9]" "the others when they came"
like "$(field node2 disk_state)" "'disk_total': [1-9]" "their storage, too"
succeeds "refresh" m gnt-node refresh-state
like "$out" 'node2.*as recorded' "nothing is new"

succeeds "a record is set" m gnt-node modify \
    --hypervisor-state fake:mem_total=1g,mem_node=200 \
    --disk-state file//srv/ganeti/file-storage:disk_total=500,disk_overhead=0,disk_reserved=100 \
    node2
is "$(field node2 mem_free)" 824 "its free memory follows"
add web1 -t file -s 64m -B memory=256 -n node2 >/dev/null 2>&1
is "$(field node2 mem_free)" 568 "less what an instance has booked"
m gnt-instance shutdown web1 >/dev/null 2>&1
is "$(field node2 mem_free)" 568 "also of one that is down"

like "$(m gnt-cluster resources --format=json | python3 -c '
import json, sys
node = json.load(sys.stdin)["nodes"]["node2.example.com"]
print(node["memory"]["free"], *(s["free"] for s in node["storage"]
                               if s["name"] == "/srv/ganeti/file-storage"))')" '^568 336$' \
    "all of it in one place"
like "$(m gnt-cluster resources)" 'booked_max: 256' "for people, too"

fails "more memory than there is by the record" \
    add web2 -t diskless -B memory=600 -n node2
like "$out" 'insufficient_resources' "is refused"
like "$out" 'needed 600 MiB, available 568 MiB' "with the numbers"
fails "more space" add web2 -t file -s 400m -B memory=64 -n node2
like "$out" 'needed 400 MiB, available 336 MiB' "with the numbers as well"
succeeds "the allocator goes by the record" \
    add web2 -t diskless -B memory=600 -I hail
unlike "$(m gnt-instance list --no-headers -o pnode web2)" node2 "elsewhere"
fails "a migration to it" m gnt-instance migrate -f -n node2 web2
like "$out" 'needed 600 MiB, available 568 MiB' "is refused, too"

succeeds "verify goes on" m gnt-cluster verify
like "$out" 'WARNING: node node2.*mem_total: recorded 1024, the node reports' \
    "and tells the drift with both numbers"
succeeds "refresh takes the totals over" m gnt-node refresh-state node2
like "$out" 'fake mem_total: 1024 -> [0-9]+' "and shows the difference"
like "$(field node2 hv_state)" "'mem_node': 200" "not what somebody set"

succeeds "the cluster has a default" \
    m gnt-cluster modify --hypervisor-state fake:mem_hv=16
like "$(field node3 hv_state)" "'mem_hv': 16" "that nodes inherit"
fails "a wrong name is refused" \
    m gnt-cluster modify --hypervisor-state fake:memory=16
like "$out" "no value 'memory'" "by its name"

# Three nodes of 1000 MiB for instances, policy: two of them may go.
m gnt-node modify --hypervisor-state fake:mem_total=1016,mem_node=0,cpu_total=8 \
    node1 >/dev/null
for n in node2 node3; do
    m gnt-node modify --hypervisor-state \
        fake:mem_total=1016,mem_node=0,cpu_total=8 "$n" >/dev/null
done
m gnt-instance remove -f --shutdown-timeout=0 web1 >/dev/null 2>&1
m gnt-instance remove -f --shutdown-timeout=0 web2 >/dev/null 2>&1
succeeds "a policy to survive node failures" \
    m gnt-cluster modify --ipolicy-max-node-failures 2
like "$(m gnt-cluster info)" 'max-node-failures: 2$' "the cluster shows it"
is "$(m gnt-group list --no-headers -o ipolicy_extra)" \
    "{'max-node-failures': 2}" "its group has it"
unlike "$(m gnt-group list --no-headers -o ipolicy)" failures \
    "apart from what Ganeti's programs read"
succeeds "a first instance" add safe1 -t sharedfile -s 4m -B memory=500 -n node1
succeeds "a second" add safe2 -t sharedfile -s 4m -B memory=500 -n node2
fails "one that would break the promise" \
    add safe3 -t sharedfile -s 4m -B memory=400 -n node3
like "$out" 'insufficient_resources' "is refused"
like "$out" 'max-node-failures.*no place.*for .*safe' \
    "with the policy and the instances"
is "$(m gnt-instance list --no-headers -o name)" "safe1
safe2" "it leaves nothing behind"
succeeds "unless one says so" \
    add safe3 -t sharedfile -s 4m -B memory=400 -n node3 --ignore-ipolicy
succeeds "a group has its own" \
    m gnt-group modify --ipolicy-max-node-failures 0 default
like "$(m gnt-group info)" 'max-node-failures: 0$' "that is shown"
succeeds "which counts" m gnt-cluster verify
succeeds "and goes" \
    m gnt-group modify --ipolicy-max-node-failures default default
fails "verify finds it" m gnt-cluster verify
like "$out" 'ERROR: group default: .*no place .* for safe' \
    "and names the instances"
succeeds "the policy goes" \
    m gnt-cluster modify --ipolicy-max-node-failures default
succeeds "then all is well" m gnt-cluster verify

fails "promises have a limit" \
    add big -t diskless -B minmem=100,maxmem=600 -n node2 --no-start
succeeds "the ratio moves it" \
    m gnt-cluster modify --ipolicy-oversubscription-ratio 1.5
succeeds "so that maxmem may be more than there is" \
    add big -t diskless -B minmem=100,maxmem=600 -n node2 --no-start
fails "minmem may not" \
    add big2 -t diskless -B minmem=500,maxmem=600 -n node2 --no-start
like "$out" 'needed 500 MiB, available 400 MiB' "it is guaranteed"

# safe2 and big are on node2, one CPU each.
m gnt-node modify --hypervisor-state fake:cpu_total=3,cpu_node=0 node2 >/dev/null
succeeds "a ratio of CPUs" m gnt-cluster modify --ipolicy-vcpu-ratio 1
fails "more virtual CPUs than that" \
    add cpus -t diskless -B memory=64,vcpus=2 -n node2
like "$out" 'Not enough CPUs on node node2.*needed 2 virtual CPUs, available 1' \
    "are refused where the node is named, too"
m gnt-cluster modify --ipolicy-vcpu-ratio 1024 >/dev/null
succeeds "a ratio of spindles" m gnt-cluster modify --ipolicy-spindle-ratio 1
succeeds "does not matter to an instance without volumes" \
    add spin -t diskless -B memory=64 -n node2
m gnt-instance remove -f --shutdown-timeout=0 spin >/dev/null 2>&1
m gnt-cluster modify --ipolicy-spindle-ratio 1024 >/dev/null

succeeds "several bounds" m gnt-cluster modify --ipolicy-bounds-specs \
    min:memory-size=64,cpu-count=1,disk-count=0,disk-size=1,nic-count=0,spindle-use=0/max:memory-size=128,cpu-count=1,disk-count=16,disk-size=1g,nic-count=8,spindle-use=8//min:memory-size=1g,cpu-count=2,disk-count=0,disk-size=1,nic-count=0,spindle-use=0/max:memory-size=2g,cpu-count=4,disk-count=16,disk-size=1g,nic-count=8,spindle-use=8 \
    --ipolicy-std-specs memory-size=96,cpu-count=1,disk-count=1,disk-size=64m,nic-count=1,spindle-use=1
fails "between them is outside" add mid -t diskless -B memory=512 -n node1
like "$out" 'violates policy: memory-size value 512' "by its number"

succeeds "the cluster has parameters of mirrors" \
    m gnt-cluster modify -D drbd:resync-rate=2048,metavg=metas
succeeds "a group has its own" \
    m gnt-group modify -D drbd:resync-rate=4096 default
out=$(m gnt-group list --no-headers -o diskparams default)
like "$out" "'resync-rate': 4096" "which count"
like "$out" "'metavg': 'metas'" "beside those of the cluster"
like "$(m gnt-cluster info)" 'resync-rate: 2048' "that keeps its own"
fails "of a template that is none" m gnt-group modify -D tape:speed=1 default
fails "a parameter that it does not have" \
    m gnt-cluster modify -D drbd:speed=1

# The planners: what fits by the record, not what is free at the moment.
m gnt-cluster modify --ipolicy-bounds-specs \
    min:memory-size=1,cpu-count=1,disk-count=0,disk-size=1,nic-count=0,spindle-use=0/max:memory-size=2g,cpu-count=4,disk-count=16,disk-size=1g,nic-count=8,spindle-use=8 \
    --ipolicy-vcpu-ratio 64 --ipolicy-oversubscription-ratio default >/dev/null
for n in node1 node2 node3; do
    m gnt-node modify --hypervisor-state \
        fake:mem_total=1016,mem_node=0,cpu_total=8 "$n" >/dev/null
done
for i in $(m gnt-instance list --no-headers -o name); do
    m gnt-instance remove -f --shutdown-timeout=0 "$i" >/dev/null 2>&1
done

# Memory that instances share while they run, 1000 MiB a node (a virtual machine has
# some more).
size() { m gnt-instance list --no-headers -o oper_ram "$1"; }
has_size() { [ "$(size "$1")" = "$2" ]; }
m gnt-cluster modify --ipolicy-oversubscription-ratio 2 >/dev/null
succeeds "one has all" add w1 -t sharedfile -s 4m -n node1 \
    -B minmem=200,maxmem=800
is "$(size w1)" 800M "that it may have"
succeeds "another one" add w2 -t sharedfile -s 4m -n node1 \
    -B minmem=300,maxmem=800
is "$(size w2)" 300M "starts with what fits"
is "$(size w1)" 700M "and takes no more of the first than it needs"
succeeds "a third one on the other node" add w3 -t sharedfile -s 4m -n node2 \
    -B minmem=400,maxmem=900
fails "one that must not change" \
    m gnt-instance migrate -f --no-runtime-changes -n node2 w1
like "$out" 'Memory ballooning not allowed.*have 1[0-9][0-9] MiB, need 700 MiB' \
    "does not go where it does not fit"
is "$(m gnt-instance list --no-headers -o pnode,oper_ram --separator=' ' w1)" \
    "node1.example.com 700" "without changes it stays"
succeeds "with changes it goes" m gnt-instance migrate -f -n node2 w1
is "$(size w1) $(size w3)" "200M 800M" \
    "at its minimum, for which the other shrinks"
succeeds "when memory comes free, others grow" until_true 20 has_size w2 800M
m gnt-instance modify -m 400 w2 >/dev/null
succeeds "a cluster may not want that" m gnt-cluster modify --memory-growth=no
like "$(m gnt-cluster info)" 'memory growth: False' "and says so"
growths() { m gnt-job list --no-headers -o summary | grep -c GROW_INSTANCES; }
before=$(growths)
m gnt-instance remove -f --shutdown-timeout=0 w3 >/dev/null 2>&1
is "$(growths)" "$before" "then nobody does"
m gnt-instance reboot -t full --shutdown-timeout=0 w2 >/dev/null 2>&1
is "$(size w2)" 800M "a size that was set lasts until it starts again"
for i in w1 w2; do
    m gnt-instance remove -f --shutdown-timeout=0 "$i" >/dev/null 2>&1
done
m gnt-cluster modify --ipolicy-oversubscription-ratio default >/dev/null

# room OPTION...: how many instances of 300 MiB hspace finds room for
room() {
    m "$BIN/hspace" -L --machine-readable --disk-template=sharedfile \
        --no-capacity-checks --standard-alloc=4m,300m,1 "$@" 2>/dev/null |
        sed -n 's/^HTS_ALLOC_INSTANCES=//p'
}
is "$(room)" 9 "hspace counts by the record"
m gnt-cluster modify --ipolicy-max-node-failures 1 >/dev/null
is "$(room)" 6 "fewer where the policy wants room for lost nodes"
is "$(room --max-node-failures=2)" 3 "or an option does"
m gnt-cluster modify --ipolicy-max-node-failures default >/dev/null
add one -t sharedfile -s 4m -B memory=300 -n node1 --no-start >/dev/null 2>&1
add two -t sharedfile -s 4m -B memory=300 -n node1 >/dev/null 2>&1
is "$(room)" 7 "less what is booked, also by one that is down"

"$BIN/gnt-vcluster" kill "$VC" node3 >/dev/null 2>&1
like "$(field node3 name,hv_state,disk_state)" 'mem_total.*disk_total' \
    "a node that is gone is shown with its record"
succeeds "hinfo goes on" m "$BIN/hinfo" -L -p
like "$out" 'node3.example.com +1016 ' "and shows its record, too"
is "$(room)" 4 "hspace puts nothing there"
for tool in hbal hcheck hroller hsqueeze; do
    unlike "$(m "$BIN/$tool" -L 2>&1)" 'Error:' "$tool goes on as well"
done
succeeds "hinfo without a standard output" m sh -c "exec '$BIN/hinfo' -L >&-"
m gnt-cluster modify --ipolicy-max-node-failures 2 >/dev/null
fails "hcheck knows that a group has to lose nodes" m "$BIN/hcheck" -L
like "$out" 'could not lose max-node-failures nodes: 1' "and says that it cannot"
m gnt-cluster modify --ipolicy-max-node-failures default >/dev/null
fails "refresh says who did not answer" m gnt-node refresh-state node3
like "$out" 'node3.*its record stays' "and keeps the record"
tap_done
