#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Differences from Ganeti that a client can see, and that no other test pins:
# doc/KNOWN_DELTAS.md.  Mostly over LUXI, since commands hide some of them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
cluster_start --nodes 3
run=$(root node1)/var/run/ganeti

cat >"$VC/luxi.py" <<'END'
# luxi.py SOCKET job OPCODE | call METHOD ARGS: what came of it, on one line
import json, socket, sys
def call(method, *args):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(sys.argv[1])
    s.sendall(json.dumps({"method": method, "args": args}).encode() + b"\3")
    got = b""
    while b"\3" not in got:
        got += s.recv(65536)
    reply = json.loads(got.split(b"\3")[0])
    return reply["result"] if reply["success"] else ["error", reply["result"]]
def wait(job):
    seen = None
    while True:
        seen = call("WaitForJobChange", job, ["status", "opresult"], seen, None, 60)[0]
        if seen[0] in ("success", "error", "canceled"):
            return seen
what, text = sys.argv[2:4]
if what == "job":
    print(json.dumps(wait(call("SubmitJob", [json.loads(text)]))))
elif what == "wait":
    print(json.dumps(wait(int(text))))
else:
    print(json.dumps(call(text, *json.loads(sys.argv[4]))))
END
luxi() { python3 "$VC/luxi.py" "$run/socket/ganeti-query" "$@"; }
job() { luxi job "$1"; }
call() { luxi call "$1" "$2"; }
create() { # NAME MEMBERS
    job '{"OP_ID": "OP_INSTANCE_CREATE", "instance_name": "'"$1"'",
        "mode": "create", "os_type": "noop", "nics": [], "disks": [],
        "disk_template": "diskless", "pnode": "node1", "name_check": false,
        "ip_check": false'"${2:+, $2}"'}'
}

# Programs and files.
is "$(ls "$run/socket" | tr '\n' ' ')" \
    "ganeti-master ganeti-metad ganeti-query ganeti-wconfd gantry-log gantry-relay " \
    "two sockets serve and two refuse, there is none of confd or mond"
like "$(call QueryClusterInfo '[]')" '"vcs_version": "\(gantry\)' \
    "the version of the program is ours"
like "$(call QueryClusterInfo '[]')" '"software_version": "3.0.2"' \
    "that of the protocol is Ganeti's"
like "$(call QueryClusterInfo '[]')" \
    '"enabled_disk_templates": \["sharedfile", "file", "diskless"\]' \
    "shared files are the first template of a virtual cluster"

# How many jobs are tracked.
m gnt-cluster modify --max-tracked-jobs=1 >/dev/null
like "$(m gnt-cluster info)" 'tracked.*: 1$' "max_tracked_jobs is kept"
ids="$(m gnt-debug delay --submit --print-jobid 60 2>/dev/null | head -1) $(
    m gnt-debug delay --submit --print-jobid --no-master -n node2 60 2>/dev/null | head -1)"
# shellcheck disable=SC2086
both_run() { [ "$(m gnt-job list --no-headers -o status $ids | grep -c running)" = 2 ]; }
until_true 20 both_run
succeeds "one tracked job does not hold others up" both_run
# shellcheck disable=SC2086
m gnt-job cancel --kill --yes-do-it $ids >/dev/null 2>&1

# Opcodes and calls that are not there; Ganeti executes this one as little.
like "$(job '{"OP_ID": "OP_TEST_DUMMY"}')" \
    '"error", .*"OpCodeUnknown", \["This version does not execute' \
    "an opcode without logical unit fails when it runs"
like "$(create i1 '"source_x509_ca": "x"')" \
    "'source_x509_ca' is only for the mode remote-import" "an instance that is made has no source"

# Instances.
like "$(create localhost '"name_check": true')" '^\["success"' \
    "a name that resolves is taken"
is "$(call QueryInstances '[[], ["name"], false]')" '[["localhost"]]' \
    "by the name that it is resolved to"
like "$(create nowhere '"name_check": true')" 'resolver_error' \
    "one that does not is refused"
pip=$(m gnt-node list --no-headers -o pip node1)
like "$(create "$pip" '"name_check": true, "ip_check": true')" \
    'IP .* of instance .* already in use.*resource_not_unique' \
    "nor one whose address answers"
like "$(create i2 '"ip_check": true')" 'Cannot do IP address check without' \
    "an address is the name's"
like "$(create i2 '"nics": [{"ip": "auto"}]')" \
    'IP address set to auto but name checks have been skipped' "also of a NIC"
fails "a rename to such a name" m gnt-instance rename -f localhost "$pip"
like "$out" 'already in use' "is refused as well"
like "$(create i3 '"disk_template": "sharedfile", "ignore_ipolicy": true,
    "disks": [{"size": 900000000}]')" \
    'Not enough disk space.*insufficient_resources' \
    "a disk that does not fit is refused"
is "$(ls "$VC/shared-file-storage")" "" "before anything is made"
like "$(create i4 '"opportunistic_locking": true, "pnode": null,
    "iallocator": "hail"')" '^\["success"' \
    "opportunistic locking is accepted"
job '{"OP_ID": "OP_INSTANCE_REMOVE", "instance_name": "i4"}' >/dev/null
like "$(create i5 '"disk_template": "sharedfile", "disks": [{"size": 1}]')" \
    '^\["success"' "a disk of one MiB is within the policy"

# What a hook says reaches clients in a form that they can take apart, however
# much it is.
hooks=$(root node1)/etc/ganeti/hooks/instance-add-pre.d
mkdir -p "$hooks"
printf '#!/bin/sh\nhead -c 60000 /dev/zero | tr "\\0" "\\"\nexit 1\n' >"$hooks/10-talk"
chmod +x "$hooks/10-talk"
like "$(create i6 | cut -c1-200)" \
    '^\["error", \[\["HooksAbort", \[\[\["node1.example.com", "instance-add-pre.d/10-talk", ' \
    "failed hooks are a list"
rm "$hooks/10-talk"

# Jobs.
long=$(call SubmitJob '[[{"OP_ID": "OP_TEST_DELAY", "duration": 60},
    {"OP_ID": "OP_TEST_DELAY", "duration": 60}]]')
until_true 10 sh -c "python3 $VC/luxi.py $run/socket/ganeti-query call \
    QueryJobs '[[$long], [\"status\"]]' | grep -q running"
like "$(job '{"OP_ID": "OP_NODE_REMOVE", "node_name": "node3"}')" \
    '^\["success"' "a node is removed while another job runs"
like "$(call QueryJobs "[[$long], [\"status\"]]")" running "it still does"
like "$(call CancelJob "[$long, false]")" '^\[false' \
    "a running job cannot be canceled"
like "$(call CancelJob "[$long, true]")" '^\[true' "but killed"
like "$(luxi wait "$long")" '^\["error"' "a delay ends then"

# Commands.
is "$(m gnt-node list --format=json -o name,master_candidate | python3 -c '
import json, sys
print(json.load(sys.stdin))')" \
    "[{'name': 'node1.example.com', 'master_candidate': True}, {'name': 'node2.example.com', 'master_candidate': True}]" \
    "lists come as JSON, too"

# The node daemon.
ip=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][1]["ip"])')
like "$(curl -sS -k --max-time 10 --cert "$(root node1)/var/lib/ganeti/client.pem" \
    -X POST -d '[[["file", "/nowhere", []]], []]' "https://$ip:1811/node_info" 2>&1)" \
    '"storage_size":null,"storage_free":null' \
    "a storage that cannot be looked at has no size"

# Who may start.
"$BIN/gnt-vcluster" stop "$VC" node1 masterd
cp /bin/sleep "$VC/ganeti-luxid"
"$VC/ganeti-luxid" 600 &
luxid=$!
echo "$luxid" >"$run/ganeti-luxid.pid"
fails "no master starts beside Ganeti's" m gantry-masterd
like "$out" "ganeti-luxid of Ganeti runs here \(process $luxid\)" \
    "and says which process is in the way"
kill "$luxid"
wait "$luxid" 2>/dev/null
rm "$run/ganeti-luxid.pid"
succeeds "--no-voting starts a master without a vote" m gantry-masterd --no-voting --yes-do-it
like "$(call QueryInstances '[["i5"], ["name"], false]')" i5 \
    "the master is back with what it had"
tap_done
