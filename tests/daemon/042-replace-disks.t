#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# New storage for disks, as far as nodes without DRBD let it come, or without what
# the configuration says of it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3

add web1 -t sharedfile -s 4m -n node1 >/dev/null 2>&1
add web2 -t diskless -n node1 --no-start >/dev/null 2>&1

# What the command takes.
fails "it must be said what to replace" m gnt-instance replace-disks web1
like "$out" 'One and only one of the -p, -s, -a, -n and -I' "once"
fails "and not twice" m gnt-instance replace-disks -p -n node2 web1
fails "disks are numbers" m gnt-instance replace-disks -p --disks 0,x web1
like "$out" "Invalid disk index passed to --disks: 'x'" "each of them"
fails "other templates have no mirror" m gnt-instance replace-disks -p web1
like "$out" 'error type: internal_error' "which is said in Ganeti's words"
like "$out" 'strange layout, expected one secondary but found 0' "as there"
fails "not either with another node" m gnt-instance replace-disks -n node2 web1

# With mirrors in the configuration the work reaches the node, and fails there.
there_is_none="DRBD does not answer, is its module loaded"
[ "${KIND-}" != vm ] || there_is_none="has no disk of its own here"
"$BIN/gnt-vcluster" stop "$VC" node1 masterd >/dev/null 2>&1
python3 - "$(root node1)/var/lib/ganeti/config.data" <<'E'
import json, sys
path = sys.argv[1]
config = json.load(open(path))
inst = [i for i in config["instances"].values() if i["name"] == "web2"][0]
pair = [u for u, n in sorted(config["nodes"].items(), key=lambda n: n[1]["name"])][:2]
assert inst["primary_node"] == pair[0]
def volume(kind, size):
    return {"dev_type": "plain", "logical_id": ["xenvg", "v.disk0_" + kind],
            "children": [], "size": size, "mode": "rw", "params": {}}
uuid = "2d8ba2c8-9c0f-4d5c-a3a1-5b2b1b6d6c11"
config["disks"][uuid] = {
    "uuid": uuid, "dev_type": "drbd", "logical_id": pair + [11000, 0, 0, "s"],
    "children": [volume("data", 64), volume("meta", 128)], "nodes": pair,
    "iv_name": "disk/0", "size": 64, "mode": "rw", "params": {},
    "serial_no": 1, "ctime": 1, "mtime": 1}
inst.update(disks=[uuid], disk_template="drbd")
config["serial_no"] += 100
json.dump(config, open(path, "w"))
E
succeeds "the master takes an instance with mirrors" \
    "$BIN/gnt-vcluster" start "$VC" node1 masterd
is "$(m gnt-instance list --no-headers -o snodes,disk_template web2)" \
    "node2.example.com drbd" "it has a secondary"
id() {
    python3 -c 'import json, sys
print([d["logical_id"] for d in json.load(open(sys.argv[1]))["disks"].values()
       if d["dev_type"] == "drbd"])' "$(root node1)/var/lib/ganeti/config.data"
}
before=$(id)
for how in "-p" "-s" "-n node3"; do
    # shellcheck disable=SC2086
    fails "replace-disks $how" m gnt-instance replace-disks --ignore-ipolicy $how web2
    like "$out" "$there_is_none" \
        "fails on the node, for a clear reason"
    like "$out" 'Replacing disk\(s\) 0 for instance .web2' "and not before"
done
is "$(id)" "$before" "the configuration is as it was"
fails "the faulty disks are asked for" m gnt-instance replace-disks -a web2
like "$out" 'Failed to get disk status from node node1' "on each node"
fails "the primary cannot be the secondary" \
    m gnt-instance replace-disks -n node1 web2
like "$out" 'is the primary node' "which is said"
fails "nor the secondary again" m gnt-instance replace-disks -n node2 web2
like "$out" 'already the secondary node' "which is said"
m gnt-node modify --drained yes node3 >/dev/null 2>&1
fails "nor a node that is drained" m gnt-instance replace-disks -n node3 web2
like "$out" "Can't use drained node" "which is said"
m gnt-node modify --drained no node3 >/dev/null 2>&1
succeeds "a dry run" m gnt-instance replace-disks --dry-run --ignore-ipolicy -n node3 web2

m gnt-node evacuate -f -s -n node3 node2 >"$VC/evacuate" 2>&1
unlike "$(cat "$VC/evacuate")" 'OpCodeUnknown|does not execute' \
    "evacuation of secondaries has jobs that are known"
is "$(m gnt-job list --no-headers -o status | sort -u | grep -v success | grep -v error)" "" \
    "every job is final"
tap_done
