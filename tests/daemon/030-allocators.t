#!/bin/sh
# Allocators: built in, of a site's own, and broken ones.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"

export GANTRY_IALLOCATOR_TIMEOUT_S=2
cluster_start --nodes 3
search=$(root node1)/usr/local/lib/ganeti/iallocators

allocator() { # NAME: the script from stdin
    cat >"$search/$1"
    chmod +x "$search/$1"
}

succeeds "hail places an instance" add a1 -t sharedfile -s 4m -I hail
like "$out" 'Selected nodes for instance a1 via iallocator hail: node[123]' \
    "and the log says where"
succeeds "so does dumb" add a2 -t diskless -I dumb
succeeds "and the default allocator" add a3 -t diskless

allocator third <<'E'
#!/bin/sh
# Always the third node.
cp "$1" "$(dirname "$0")/request.json"
echo '{"success": true, "info": "third", "result": ["node3.example.com"]}'
E
succeeds "a script dropped into the search path places one" \
    add b1 -t diskless -I third
is "$(m gnt-instance list --no-headers -o pnode b1)" node3.example.com \
    "where it said"
is "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(d["version"], d["request"]["type"], d["request"]["name"],
      sorted(d["nodes"]), sorted(d["instances"]))' "$search/request.json")" \
    "2 allocate b1 ['node1.example.com', 'node2.example.com', 'node3.example.com'] ['a1', 'a2', 'a3']" \
    "the request tells of the cluster"

# Each of these must fail with a sentence, and leave nothing.
refused() { # NAME WHAT REGEX
    fails "$2" add c1 -t sharedfile -s 4m -I "$1"
    like "$out" "$3" "... with a clear error"
}
refused nosuch "an allocator that is not there" 'nosuch'
refused ../hail "a name that leaves the folder" 'hail'
echo 'exit 1' | allocator failing
allocator failing <<'E'
#!/bin/sh
echo "disk quota of rack 7 is used up"
exit 5
E
refused failing "one that fails" 'rack 7'
allocator garbage <<'E'
#!/bin/sh
echo "certainly, node1"
E
refused garbage "one that prints garbage" 'garbage|JSON'
allocator wrong <<'E'
#!/bin/sh
echo '{"success": true, "info": "", "result": ["node1.example.com", "node2.example.com"]}'
E
refused wrong "one that answers too many nodes" 'wrong'
allocator unknown <<'E'
#!/bin/sh
echo '{"success": true, "info": "", "result": ["node8.example.com"]}'
E
refused unknown "one that answers an unknown node" 'node8'
allocator refusing <<'E'
#!/bin/sh
echo '{"success": false, "info": "all racks are full", "result": []}'
E
refused refusing "one that finds no place" 'all racks are full'
like "$out" 'insufficient_resources' "... and its code"
allocator keyless <<'E'
#!/bin/sh
echo '{"success": false, "info": "the rack is on fire"}'
E
refused keyless "one that fails without a result" \
    "keyless.*neither 'result' nor 'nodes'.*on fire"

# requested_macs: those of the request that was kept
requested_macs() {
    python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))["request"]
print(*(n["mac"] for i in r.get("instances", [r]) for n in i["nics"]))' \
        "$search/request.json"
}
add d1 -t diskless -I third --net 0:link=br0 --net 1:mac=aa:00:00:12:34:56 \
    >/dev/null 2>&1
is "$(requested_macs)" \
    "$(m gnt-instance list --no-headers -o nic.mac/0 d1) aa:00:00:12:34:56" \
    "an allocator sees the addresses of the NICs"
m gnt-instance remove -f d1 >/dev/null
allocator both <<'E'
#!/bin/sh
cp "$1" "$(dirname "$0")/request.json"
echo '{"success": true, "info": "", "result":
  [[["m3", ["node1.example.com"]], ["m4", ["node2.example.com"]]], []]}'
E
allocator flood <<'E'
#!/bin/sh
head -c 1000000000 /dev/zero | tr '\0' x
E
refused flood "one that prints 1 GB" 'flood|output|JSON'
allocator hanging <<'E'
#!/bin/sh
# A grandchild that holds the output, too.
sleep 1000 &
echo $! >"$(dirname "$0")/hanging.pid"
sleep 1000
E
refused hanging "one that hangs" 'time|killed|limit'
fails "its whole group is gone" alive "$(cat "$search/hanging.pid")"

# Many at once, of which one finds no place.
allocator partial <<'E'
#!/bin/sh
echo '{"success": true, "info": "", "result":
  [[["m1", ["node1.example.com"]]], [["m2", "no rack is that big"]]]}'
E
python3 - "$VC/batch.json" <<'E'
import json, sys
json.dump([{"instance_name": name, "mode": "create", "disks": [], "nics": [{}],
            "disk_template": "diskless", "os_type": "noop",
            "name_check": False, "ip_check": False}
           for name in ("m1", "m2")], open(sys.argv[1], "w"))
E
out=$(m gnt-instance batch-create -I partial "$VC/batch.json" 2>&1)
like "$out" 'm2: no rack is that big' "a batch tells who found no place, and why"
is "$(m gnt-instance list --no-headers -o pnode,status --separator=: m1)" \
    "node1.example.com:running" "the others are made"
m gnt-instance remove -f m1 >/dev/null
sed -i 's/m1/m3/; s/m2/m4/' "$VC/batch.json"
m gnt-instance batch-create -I both "$VC/batch.json" >/dev/null 2>&1
is "$(requested_macs)" "$(m gnt-instance list --no-headers -o nic.mac/0 m3 m4 |
    paste -sd ' ')" "the addresses of many are those of the request, too"
m gnt-instance remove -f m3 >/dev/null
m gnt-instance remove -f m4 >/dev/null

# The file's forms, and errors that name the instance.
like "$(m gnt-instance batch-create --help)" '"instance_name": "web1.example.com"' \
    "help shows an example of the file"
m gnt-instance batch-create --help | sed -n '/^  \[{/,/}\]$/p' |
    sed 's/"drbd"/"sharedfile"/; s/"10g"/"4m"/; s/512}/4}/; s/"1g"/"64m"/;
         s/"instance_name"/"name_check": false, "ip_check": false, &/' \
        >"$VC/example.json"
succeeds "tried without effect" \
    m gnt-instance batch-create --dry-run -I hail "$VC/example.json"
like "$out" "^web1.example.com would be created on node[1-9]" \
    "it is said where they would be"
unlike "$out" "created successfully" "and not that they are"
succeeds "which is one" m gnt-instance batch-create -I hail "$VC/example.json"
is "$(m gnt-instance list --no-headers --units m -o name,be/memory,disk.sizes \
    --separator=: web1.example.com)" "web1.example.com:64:4,4" \
    "with its sizes"
m gnt-instance remove -f --shutdown-timeout=0 web1.example.com >/dev/null
m gnt-instance remove -f --shutdown-timeout=0 web2.example.com >/dev/null
echo '{"n1": {"template": "sharedfile", "disk_size": ["4M"], "os": "noop",
    "name_check": false, "ip_check": false, "nics": [], "iallocator": null,
    "backend": {"maxmem": 64, "minmem": 64}}}' >"$VC/named.json"
succeeds "definitions may stand by name" m gnt-instance batch-create "$VC/named.json"
m gnt-instance remove -f --shutdown-timeout=0 n1 >/dev/null
echo '[{"instance_name": "n1", "disk_template": "diskless", "colour": 1}]' \
    >"$VC/wrong.json"
fails "an unknown parameter" m gnt-instance batch-create "$VC/wrong.json"
like "$out" "Instance 'n1' in the file: unknown parameter 'colour'" "has its name"
sed -i 's/"colour": 1/"mode": 7/' "$VC/wrong.json"
fails "a wrong value" m gnt-instance batch-create "$VC/wrong.json"
like "$out" "Instance 'n1'" "has the name, too"

# One that does not fit, in the middle.
python3 - "$VC/middle.json" <<'E'
import json, sys
json.dump([{"instance_name": name, "disks": [], "nics": [],
            "disk_template": "diskless", "os_type": "noop",
            "beparams": {"memory": memory},
            "name_check": False, "ip_check": False, "ignore_ipolicy": True}
           for name, memory in (("p1", 64), ("p2", 1 << 24), ("p3", 64))],
          open(sys.argv[1], "w"))
E
out=$(m gnt-instance batch-create -I hail "$VC/middle.json" 2>&1)
like "$out" 'No place was found for instance p2: ' "hail's reason names the instance"
is "$(m gnt-instance list --no-headers -o name | grep '^p' | tr '\n' ' ')" \
    "p1 p3 " "and the others are made"
m gnt-instance remove -f --shutdown-timeout=0 p1 >/dev/null
m gnt-instance remove -f --shutdown-timeout=0 p3 >/dev/null
fails "all or none" m gnt-instance batch-create --atomic -I hail "$VC/middle.json"
like "$out" 'no place for p2' "says which, too"
succeeds "a batch is explained" \
    m gnt-instance batch-create --explain -I hail "$VC/middle.json"
like "$out" 'p2' "for each"
like "$out" 'memory' "with the reason"

# A policy that forbids it.
m gnt-cluster modify --ipolicy-bounds-specs \
    min:memory-size=1,cpu-count=1,disk-count=0,disk-size=1,nic-count=0,spindle-use=0/max:memory-size=128,cpu-count=4,disk-count=16,disk-size=1g,nic-count=8,spindle-use=8 \
    --ipolicy-std-specs memory-size=64,cpu-count=1,disk-count=1,disk-size=4,nic-count=1,spindle-use=1 >/dev/null
fails "what the policy forbids" add q1 -t diskless -B memory=200 -I hail
like "$out" 'insufficient_resources' "is refused, with the code of hail"
like "$out" 'FailMem: 3; the policy of group default forbids it: .*memory-size value 200' \
    "and the policy is named"
succeeds "which an option passes over" \
    add q1 -t diskless -B memory=200 -I hail --ignore-ipolicy
m gnt-instance remove -f --shutdown-timeout=0 q1 >/dev/null

# When a creation fails later.
python3 - "$VC/middle.json" "$VC/late.json" <<'E'
import json, sys
ops = json.load(open(sys.argv[1]))
for op in ops:
    op["beparams"] = {"memory": 64}
ops[1].update(os_type="failing", disk_template="sharedfile",
              disks=[{"size": 4}])
json.dump(ops, open(sys.argv[2], "w"))
E
for n in node1 node2 node3; do
    os=$(root "$n")/srv/ganeti/os/failing
    mkdir -p "$os"
    cp -r "$(root node1)/usr/share/ganeti/os/noop/." "$os"
    printf '#!/bin/sh\nexit 3\n' >"$os/create"
done
fails "all or none, where one fails in the end" \
    m gnt-instance batch-create --atomic -I hail "$VC/late.json"
like "$out" 'Instance p[13] is removed: all or none.*p2 could not be created' \
    "takes back the others, saying why"
is "$(m gnt-instance list --no-headers -o name | grep -c '^p')" 0 "all of them"
fails "unless they are to be kept" m gnt-instance batch-create --atomic \
    --keep-others -I hail "$VC/late.json"
is "$(m gnt-instance list --no-headers -o name | grep '^p' | tr '\n' ' ')" \
    "p1 p3 " "then they stay"
m gnt-instance remove -f --shutdown-timeout=0 p1 >/dev/null
m gnt-instance remove -f --shutdown-timeout=0 p3 >/dev/null

is "$(m gnt-instance list --no-headers -o name | tr '\n' ' ')" "a1 a2 a3 b1 " \
    "no instance is left of the failed ones"
is "$(ls "$VC/shared-file-storage")" a1 "and no disk"
is "$(m gnt-debug locks --no-headers -o name,owner | grep -v ' -$' | wc -l)" 0 \
    "and no lock"
tap_done
