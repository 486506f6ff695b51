#!/bin/sh
# Why an allocator takes a node: gnt-instance add --explain, gnt-debug
# iallocator; and max-node-failures seen by hail.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3

for n in node1 node2 node3; do
    m gnt-node modify --hypervisor-state \
        fake:mem_total=1016,mem_node=0,cpu_total=8 "$n" >/dev/null
done
m gnt-node modify -D yes node3 >/dev/null 2>&1
new="-t diskless -B memory=256 -I hail"

succeeds "an explanation" add web1 $new --explain
like "$out" 'Instance web1.* \(diskless, 256 MiB of memory' "what is asked for"
like "$out" 'the best of 2 possible nodes' "how many would do"
like "$out" '1\. node[12].* taken' "which is the best"
like "$out" 'no candidates, drained: 1' "who was not asked"
is "$(m gnt-instance list --no-headers -o name)" "" "nothing was created"
succeeds "the same for programs" add web1 $new --explain --format=json
is "$(printf "%s\n" "$out" | python3 -c '
import json, sys
text = sys.stdin.read()
group = json.loads(text[text.index("{"):])["instances"][0]["groups"][0]
print(group["verdict"], group["possible"], group["best"][0]["rank"],
      [r["reason"] for r in group["refused"]])')" \
    "chosen 2 1 ['drained']" "is JSON"
succeeds "one that fits nowhere" \
    add web1 -t diskless -B memory=1200 -I hail --explain
like "$out" 'no place' "has an explanation, too"
like "$out" 'refused as primary, memory: 2' "with the reason"
like "$out" '1200 MiB of memory needed, 1016 MiB free' "and the numbers"
fails "a node that is given" \
    add web1 -t diskless -B memory=64 -n node1 --explain
like "$out" 'nothing to explain' "needs none"
fails "other allocators" add web1 -t diskless -B memory=64 -I dumb --explain
like "$out" "iallocator 'dumb' explains nothing" "have none"

add web1 $new >/dev/null 2>&1
succeeds "what an allocator is told" m gnt-debug iallocator web1
like "$out" '"type": *"relocate"' "of the instance"
succeeds "what it answers" m gnt-debug iallocator --dir=out -I hail \
    -m allocate -t diskless --disks 1 -o noop web2
like "$out" '"success": *true.*"result": *\["node[12]' "is its own text"
succeeds "for many" m gnt-debug iallocator --dir=out -I hail \
    -m multi-allocate --count 3 -t diskless -o noop web
like "$out" '"web0".*"web1".*"web2"' "with numbered names"
succeeds "an evacuation explained" m gnt-debug iallocator --dir=out -I hail \
    -m node-evacuate --explain web1
like "$out" 'to-be-left: 1' "leaves the node"
fails "a name that is taken" m gnt-debug iallocator -m allocate -t diskless \
    -o noop web1
like "$out" "already in the cluster" "is refused"
fails "an answer without an allocator" m gnt-debug iallocator --dir=out \
    -m relocate web1
like "$out" "Missing allocator name" "is asked of nobody"

# Two nodes that are used, with 1016 MiB each; one of them may go.
succeeds "a policy to survive node failures" \
    m gnt-cluster modify --ipolicy-max-node-failures 1
succeeds "a first one that is shared" \
    add safe1 -t sharedfile -s 4m -B memory=500 -I hail
fails "one that would break the promise" \
    add safe2 -t sharedfile -s 4m -B memory=400 -I hail
like "$out" "Can't compute nodes using iallocator 'hail'.*FailN1" \
    "is refused by the allocator"
like "$out" 'max-node-failures would not hold: 2' "by name"
succeeds "which says so" \
    add safe2 -t sharedfile -s 4m -B memory=400 -I hail --explain
like "$out" 'refused as primary, max-node-failures: 2' "by its name"
like "$out" 'max-node-failures 1 would not hold: without node' "and which node"
succeeds "one of which less is guaranteed" \
    add safe2 -t sharedfile -s 4m -B maxmem=400,minmem=200 -I hail
tap_done
