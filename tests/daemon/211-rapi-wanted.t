#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# PUT of an instance as it shall be: the difference, the plan, and jobs that make
# it so; asked again there is nothing to do.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
web=/gantry/1/instances/web1.example.com

# of EXPRESSION: a Python expression of the answer a
of() {
    printf '%s\n' "$out" | python3 -c "import json, sys
a = json.load(sys.stdin)
print(($1))"
}
difference() {
    of '[(c["what"], c["from"], c["to"]) for c in a["difference"]]'
}
last() {
    curl -sk "$api/2/jobs" | python3 -c 'import json, sys
print(max(j["id"] for j in json.load(sys.stdin)))'
}

# reached NAME BODY: the state is reached by a job, and then it is there
reached() {
    answers "$1" 200 PUT "$web?apply=1" "$2" -H 'Prefer: wait=60'
    is "$(of 'a["ended"]["status"]')" success "by a job"
    answers "and then" 200 PUT "$web?apply=1" "$2"
    is "$(of 'a["difference"], a["ops"], a.get("job")')" "([], [], None)" \
        "there is nothing to do"
}

new='{"os": "noop", "disk_template": "sharedfile", "disks": [{"size": "64M", "name": "root"}],
    "nics": [{"mac": "auto"}], "beparams": {"memory": "128M", "vcpus": "1", "auto_balance": "true"},
    "tags": ["web"], "pnode": "node2.example.com"}'
before=$(last)
answers "one that is not there" 200 PUT $web "$new"
is "$(difference)" "[('state', 'absent', 'running')]" "differs by being absent"
is "$(of 'a["exists"], [o["summary"] for j in a["plan"]["jobs"] for o in j["ops"]]')" \
    "(False, ['INSTANCE_CREATE(web1.example.com)'])" "and its plan is to make it"
is "$(last)" "$before" "of which nothing is done"
reached "it is made" "$new"
is "$(m gnt-instance list --no-headers -o name,pnode,status,be/memory,tags)" \
    "web1.example.com node2.example.com running 128M web" "as it was wanted"

other='{"state": "stopped", "disks": [{"size": 96}, {"size": 32}],
    "nics": [{}, {"mode": "routed", "ip": "192.0.2.7"}],
    "beparams": {"maxmem": 256, "vcpus": 2}, "tags": ["db", "web"]}'
answers "another state" 200 PUT $web "$other"
is "$(difference)" "[('disks/0/size', 64, 96), ('disks/1', None, {'size': 32}), ('nics/1', None, {'mode': 'routed', 'ip': '192.0.2.7'}), ('beparams/maxmem', 128, 256), ('beparams/vcpus', 1, 2), ('tags', None, ['db']), ('state', 'running', 'stopped')]" \
    "differs in these"
is "$(of '[o["summary"].split("(")[0] for j in a["plan"]["jobs"] for o in j["ops"] if not o.get("error")]')" \
    "['INSTANCE_SHUTDOWN', 'INSTANCE_SET_PARAMS', 'INSTANCE_GROW_DISK', 'TAGS_SET']" \
    "and the plan has them in order"
reached "it is reached" "$other"
reached "running again" '{"state": "running", "tags": ["db"], "nics": [{}]}'
is "$(m gnt-instance list --no-headers -o status,nic.count,tags)" "running 1 db" \
    "as it was wanted"
reached "offline" '{"state": "offline"}'
reached "and from there running" '{"state": "running"}'
reached "defaults come back" '{"beparams": {"vcpus": "default"}}'

# --- what goes wrong by itself ---

m gnt-instance shutdown --no-remember web1 >/dev/null
answers "one that should run and does not" 200 PUT $web '{"state": "running"}'
is "$(difference)" \
    "[('state', 'stopped although it should run', 'running')]" "differs"
reached "and is started" '{"state": "running"}'
answers "what nobody asks for does not matter" 200 PUT $web '{}'
is "$(difference)" "[]" "at all"

# --- what is not possible ---

before=$(last)
answers "a smaller disk" 400 PUT $web '{"disks": [{"size": 16}, {"size": 32}]}'
like "$out" 'cannot be made smaller' "is told"
answers "a disk less" 400 PUT $web '{"disks": [{"size": 96}]}'
like "$out" 'remove' "needs a word"
answers "another hypervisor" 400 PUT $web '{"hypervisor": "kvm"}'
answers "a state that is none" 400 PUT $web '{"state": "asleep"}'
answers "what an instance does not have" 400 PUT $web '{"colour": "blue"}'
for body in '[]' '"x"' '{"disks": {}}' '{"disks": [1]}' '{"disks": [{"size": []}]}' \
    '{"tags": [1]}' '{"beparams": []}' '{"beparams": {"memory": "much"}}' '{"state": 1}' \
    '{"remove": "yes"}'; do
    answers "$body" 400 PUT $web "$body"
done
answers "no body" 400 PUT $web
answers "who may only read does not want" 403 PUT $web '{}' -u ro:secret
answers "a wrong argument" 400 PUT "$web?apply=x" '{}'
is "$(last)" "$before" "no job came of all that"
answers "a secret" 200 PUT /gantry/1/instances/web2.example.com \
    '{"os": "noop", "disk_template": "diskless", "osparams_secret": {"root": "hunter2"}}'
unlike "$out" hunter2 "is not told again"

reached "a disk less, with the word" \
    '{"disks": [{"size": 96}], "remove": true, "state": "stopped"}'
reached "and it goes" '{"state": "absent"}'
is "$(m gnt-instance list --no-headers -o name)" "" "for good"
tap_done
