#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gnt-vcluster as the double of a cluster in tests of other programs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
vcluster_only "it is about virtual clusters"

# --- what is nonsense ---

# refused OPTION WORD...: nothing is made, and the error names the option
refused() {
    refused_option=$1
    shift
    out=$("$BIN/gnt-vcluster" create "$VC/none" "$@" 2>&1)
    if [ -e "$VC/none" ]; then
        tap_point 1 "$*: nothing is made"
    fi
    like "$out" "$refused_option" "$*: refused by name"
}
VC=$(mktemp -d /tmp/gvc.XXXXXX)
refused --jobs-take --jobs-take soon
refused --jobs-take --jobs-take=-1s
refused --jobs-take --jobs-take 3
refused --jobs-take --jobs-take 2000m
refused --latency --latency 5parsec
refused --latency --latency 2h
refused --fail --fail node9@3
refused --fail --fail node3
refused --fail --fail node3@never
refused --preset --preset futurama
refused --preset --preset simpsons --nodes 3
refused --record-http --record-http "$VC/no/such/folder/file"
refused --dump-fixtures --dump-fixtures /etc
refused --rapi --rapi 70000
refused --rapi --rapi=x
refused --rapi-on --rapi-on node1,node9
refused --user --user bart
refused --user --user bart:secret:sing

# --- one that is all there ---

# The block of addresses is one that nobody else has: that of the preset may be
# in use on this machine.
record=$VC/http.jsonl
fixtures=$VC/fixtures
created=$("$BIN/gnt-vcluster" create "$VC/c" --preset simpsons --rapi 5097 \
    --base-ip "127.$(($$ % 199 + 20)).$(($$ / 199 % 250)).0" \
    --user lisa:saxophone:read --jobs-take 1500ms --latency 60ms \
    --record-http "$record" --dump-fixtures "$fixtures" 2>&1)
folder=$VC
VC=$folder/c
trap 'cluster_end; rm -rf "$folder"' EXIT
like "$created" 'The remote API is at https://127\.[0-9.]*:5097$' \
    "the address is printed"
api=$(printf '%s\n' "$created" | sed -n 's/^The remote API is at //p')
# Answers are read and compared by this: EXPRESSION of d, the JSON.
value() {
    printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"
}
api_user=gnt-cc:gnt-cc
answers "its user is there" 200 GET "/2/nodes?bulk=1"
is "$(value '" ".join(sorted(n["name"] for n in d))')" "node1 node2 node3 node4 node5" \
    "the nodes have the names"
answers "and others" 200 GET "/2/query/instance?fields=name" "" -u lisa:saxophone
answers "who may not write" 403 PUT "/2/instances/homer/startup" "" -u lisa:saxophone
answers "instances" 200 GET "/2/instances?bulk=1"
is "$(value '" ".join(sorted(i["name"] for i in d))')" \
    "bart burns homer lisa marge milhouse moe smithers" "have them, too"
is "$(value 'sorted({(i["status"], i["os"], i["disk_template"]) for i in d})')" \
    "[('ADMIN_down', 'noop', 'diskless')]" "and are down"
answers "the cluster" 200 GET /2/info
is "$(value 'd["name"], d["master"], d["enabled_hypervisors"]')" \
    "('cluster', 'node1', ['fake'])" "is theirs"

# What sipgate's module for Ansible sends.
answers "as its module does" 200 PUT /2/instances/homer/startup
job_ends "homer starts" success
answers "a job" 200 GET "/2/jobs/$job"
is "$(value 'd["end_ts"][0] - d["start_ts"][0] + (d["end_ts"][1] - d["start_ts"][1]) / 1e6 >= 1.4')" \
    True "takes as long as it was told"
answers "homer" 200 GET /2/instances/homer
is "$(value 'd["status"]')" running "runs"
answers "an instance is made" 200 POST /2/instances '{"__version__": 1,
    "beparams": {"memory": 1024, "minmem": 1024, "maxmem": 1024, "vcpus": 2},
    "conflicts_check": true, "disk_template": "diskless", "disks": [{"size": 1000}],
    "group_name": null, "hypervisor": "fake", "iallocator": "hail", "ip_check": false,
    "mode": "create", "name": "new_instance", "name_check": false, "nics": [],
    "no_install": true, "os_type": "noop", "pnode": null, "snode": null, "tags": [],
    "wait_for_sync": true}'
job_ends "as sipgate's tests make it" success
answers "it is there" 200 GET /2/instances/new_instance
is "$(value '[d["beparams"][k] for k in ("vcpus", "memory", "minmem", "maxmem")] + [d["status"]]')" \
    "[2, 1024, 1024, 1024, 'ADMIN_down']" "as it was asked for"
is "$(curl -sk -o /dev/null -w '%{time_total}' "$api/version" |
    python3 -c 'print(float(input()) >= 0.06)')" True "answers take their time"

# --- the record ---

answers "a body with secrets" 400 POST /2/groups '{"no_such": {"my_password": "doughnut7"},
    "osparams_secret": {"k": "doughnut8"}}'
ask GET "/version?token=doughnut9&x=1" "" -H "Cookie: id=doughnut5"
ask POST /2/groups 'name=doughnut6'
python3 - "$record" >"$folder/tap" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
def point(ok, name):
    print("%s - %s" % ("ok" if ok else "not ok", name))
made = [l for l in lines if l["method"] == "POST" and l["target"] == "/2/instances"]
point(len(made) == 1 and made[0]["body"]["name"] == "new_instance"
      and isinstance(made[0]["answer"], int) and made[0]["user"] == "gnt-cc",
      "a request is noted with its answer")
point(all(l["ms"] >= 60 for l in lines), "and how long it took")
point(made[0]["headers"]["Content-Type"] == "application/json", "and what says how it is meant")
secret = [l for l in lines if l["status"] == 400 and l["target"] == "/2/groups"][0]
point(secret["body"] == {"no_such": {"my_password": "<redacted>"},
                         "osparams_secret": "<redacted>"}, "secrets are not")
point([l["target"] for l in lines if "x=1" in l["target"]]
      == ["/version?token=<redacted>&x=1"], "nor among arguments")
END
while read -r point; do
    case $point in
    "ok - "*) tap_point 0 "${point#ok - }" ;;
    *) tap_point 1 "${point#not ok - }" ;;
    esac
done <"$folder/tap"
is "$(wc -l <"$folder/tap")" 5 "the record was read"
is "$(grep -c -e doughnut -e saxophone -e 'Basic ' -e 'gnt-cc:' "$record")" 0 \
    "no secret is in it"
is "$(stat -c %a "$record")" 600 "and it is ours alone"

# --- fixtures ---

python3 - "$fixtures" >"$folder/tap" <<'END'
import json, os, sys
folder = sys.argv[1]
index = json.load(open(folder + "/index.json"))
def point(ok, name):
    print("%s - %s" % ("ok" if ok else "not ok", name))
def load(name):
    return json.load(open(os.path.join(folder, name)))
files = {os.path.relpath(os.path.join(f, n), folder) for f, _, names in os.walk(folder)
         for n in names}
point(files == {e["file"] for e in index} | {"index.json"}, "the index has every file")
paths = {e["path"]: e for e in index}
routes = {p for p, item in load("openapi.json")["paths"].items() if "get" in item}
missing = [p for p in routes if "{" not in p and p not in paths | {"/gantry/1/samples": 0}
           and "event-stream" not in json.dumps(load("openapi.json")["paths"][p])]
point(not missing, "no path is missing %s" % missing)
point(sum(p.startswith("/2/instances/") and p.endswith("/tags") for p in paths) == 8,
      "each object has its own")
# A job that has begun has no plan any more.
point({e["status"] for e in index if not e["path"].endswith(("/console", "/plan"))} == {200},
      "they are answers, not errors")
point([i["name"] for i in load("2/instances.bulk.json")] ==
      [i["id"] for i in load("2/instances.json")], "as they are sent")
point(all(e["type"] == "application/json" or e["file"].endswith(".txt") for e in index),
      "and are called by their type")
END
while read -r point; do
    case $point in
    "ok - "*) tap_point 0 "${point#ok - }" ;;
    *) tap_point 1 "${point#not ok - }" ;;
    esac
done <"$folder/tap"
is "$(wc -l <"$folder/tap")" 6 "the files were read"

# --- a node that fails ---

"$BIN/gnt-vcluster" destroy "$VC"
VC=$folder/d
created=$("$BIN/gnt-vcluster" create "$VC" --nodes 2 --rapi=5097 --user rw:secret --fail node2@0.5 \
    --fail node1.example.com@3600s --rapi-on candidates)
api=$(printf '%s\n' "$created" | sed -n 's/^The remote API is at //p')
second=https://$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c 'import json, sys
print(json.load(sys.stdin)["nodes"][1]["ip"])'):5097
elsewhere() {
    [ "$(curl -sk --max-time 10 "$second/gantry/1/leader")" = \
        '{"leader": "node1.example.com", "here": false}' ]
}
succeeds "the remote API is on the candidates as well" elsewhere
is_down() {
    "$BIN/gnt-vcluster" list "$VC" | grep -q '^node2.* -  *[^ ]*$'
}
until_true 20 is_down
tap_point $? "the node daemon that shall fail does"
unset api_user
answers "which others see" 200 GET /2/nodes/node2.example.com
is "$(value 'd["mfree"]')" None "they know nothing of it"
"$BIN/gnt-vcluster" start "$VC" node2 noded >/dev/null
knows() {
    ask GET /2/nodes/node2.example.com
    [ "$(value 'd["mfree"]')" != None ]
}
until_true 20 knows
tap_point $? "until it is started again"
"$BIN/gnt-vcluster" stop "$VC" node2 rapi
fails "one of them is stopped" elsewhere
"$BIN/gnt-vcluster" start "$VC" node2
succeeds "and starts with its node" elsewhere

watchers() {
    for pid in $(pgrep -x gnt-vcluster); do
        tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "create $VC " && echo "$pid"
    done
}
is "$(watchers | wc -l)" 1 "who shall kill another later waits"
"$BIN/gnt-vcluster" destroy "$VC"
none_waits() { [ -z "$(watchers)" ]; }
until_true 10 none_waits
tap_point $? "and goes with it"
tap_done
