#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The collection for Ansible: check mode plans, the first run does it, the second
# one changes nothing; the inventory has groups by tags.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
command -v ansible-playbook >/dev/null || skip_all "ansible-core is not installed"
rapi_cluster
ANSIBLE_COLLECTIONS_PATH=$(cd "$(dirname "$0")/../../contrib" && pwd)
GANTRY_RAPI=$api GANTRY_USER=rw GANTRY_PASSWORD=secret
ANSIBLE_HOME=$VC/ansible ANSIBLE_LOCAL_TEMP=$VC/ansible ANSIBLE_NOCOLOR=1
ANSIBLE_REMOTE_TEMP=$VC/ansible
# Nothing is compiled into the sources.
PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
export ANSIBLE_COLLECTIONS_PATH GANTRY_RAPI GANTRY_USER GANTRY_PASSWORD \
    ANSIBLE_HOME ANSIBLE_LOCAL_TEMP ANSIBLE_REMOTE_TEMP ANSIBLE_NOCOLOR \
    PYTHONDONTWRITEBYTECODE LC_ALL
# What Debian's package warns of is not of interest here.
ANSIBLE_DEPRECATION_WARNINGS=False ANSIBLE_LOCALHOST_WARNING=False
ANSIBLE_INVENTORY_UNPARSED_WARNING=False
export ANSIBLE_DEPRECATION_WARNINGS ANSIBLE_LOCALHOST_WARNING \
    ANSIBLE_INVENTORY_UNPARSED_WARNING

play() { # FILE OPTION...
    play_file=$1
    shift
    ANSIBLE_STDOUT_CALLBACK=default ansible-playbook -i localhost, -c local \
        -e ansible_python_interpreter=/usr/bin/python3 "$@" "$play_file" \
        >"$VC/play" 2>&1
}

# counts NAME FILE "changed failed" OPTION...
counts() {
    counts_name=$1 counts_file=$2 counts_wanted=$3
    shift 3
    play "$counts_file" "$@"
    got=$(sed -n 's/^localhost .* changed=\([0-9]*\) .* failed=\([0-9]*\) .*/\1 \2/p' "$VC/play")
    is "$got" "$counts_wanted" "$counts_name" || note "$(cat "$VC/play")"
}

cat >"$VC/site.yml" <<'END'
- hosts: all
  gather_facts: false
  module_defaults:
    group/gantry.cluster.all: {validate_certs: false}
  tasks:
    - gantry.cluster.group: {name: rack2, alloc_policy: last_resort,
                             ndparams: {spindle_count: 2}, tags: [cold]}
    - gantry.cluster.node: {name: node3.example.com, drained: true, tags: [old]}
    - gantry.cluster.network: {name: front, network: 192.0.2.0/28, gateway: 192.0.2.1,
                               groups: [{name: default, mode: bridged, link: br0}],
                               tags: [public]}
    - gantry.cluster.instance:
        name: web1.example.com
        os: noop
        disk_template: sharedfile
        disks: [{size: 16m}]
        nics: [{network: front, ip: pool}]
        beparams: {maxmem: 64m, minmem: 64, vcpus: "1"}
        pnode: node1.example.com
        tags: [web, blue]
        state: started
END
jobs() {
    curl -sk "$api/2/jobs" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'
}
before=$(jobs)
counts "check mode says what would change" "$VC/site.yml" "4 0" --check
is "$(jobs)" "$before" "and submits nothing"
counts "the first run does it" "$VC/site.yml" "4 0"
counts "the second one changes nothing" "$VC/site.yml" "0 0"
after=$(jobs)
counts "nor would it" "$VC/site.yml" "0 0" --check
is "$(jobs)" "$after" "and there was no job for that"
answers "the instance" 200 GET /2/instances/web1.example.com
is "$(printf '%s' "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["status"], d["disk.sizes"], d["nic.ips"], d["beparams"]["maxmem"], sorted(d["tags"]))')" \
    "running [16] ['192.0.2.2'] 64 ['blue', 'web']" "is as it shall be"

# --- changes ---

sed -e 's/size: 16m/size: 24m/' -e 's/vcpus: "1"/vcpus: 2/' -e 's/tags: \[web, blue\]/tags: [web]/' \
    -e 's/state: started/state: stopped/' -e 's/drained: true/drained: false/' \
    -e 's/last_resort/preferred/' -e 's/gateway: 192.0.2.1/gateway: 192.0.2.14/' \
    -e 's/{network: front, ip: pool}/{network: front, ip: pool, name: eth}/' \
    "$VC/site.yml" >"$VC/other.yml"
counts "check mode plans changes" "$VC/other.yml" "4 0" --check
counts "they are made" "$VC/other.yml" "4 0"
answers "those of the instance" 200 GET "/2/jobs?sort=-id&limit=1&fields=summary"
like "$out" 'INSTANCE_SHUTDOWN.*INSTANCE_SET_PARAMS.*INSTANCE_GROW_DISK.*TAGS_DEL' "by one job"
counts "once" "$VC/other.yml" "0 0"
answers "the instance" 200 GET /2/instances/web1.example.com
is "$(printf '%s' "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["status"], d["disk.sizes"], d["nic.names"], d["beparams"]["vcpus"], d["tags"])')" \
    "ADMIN_down [24] ['eth'] 2 ['web']" "has changed"

cat >"$VC/plan.yml" <<'END'
- hosts: all
  gather_facts: false
  tasks:
    - gantry.cluster.instance: {name: web1.example.com, state: started, validate_certs: false}
      register: it
    - debug: {msg: "opcode {{ it.plan[0] | to_json }}"}
END
play "$VC/plan.yml" --check
like "$(cat "$VC/play")" 'opcode .*INSTANCE_STARTUP' "the plan is the cluster's"
cat >"$VC/bad.yml" <<'END'
- hosts: all
  gather_facts: false
  module_defaults:
    group/gantry.cluster.all: {validate_certs: false}
  tasks:
    - gantry.cluster.instance: {name: web1.example.com, disks: [{size: 8m}]}
END
counts "what cannot be is refused" "$VC/bad.yml" "0 1"
like "$(cat "$VC/play")" 'cannot be made smaller' "with its reason"
GANTRY_PASSWORD=doughnut counts "a wrong password is, too" "$VC/other.yml" "0 1"
is "$(grep -c doughnut "$VC/play")" 0 "and is not shown"

# --- inventory ---

printf 'plugin: gantry.cluster.instances\nvalidate_certs: false\nkeyed_groups:\n- {key: gantry.pnode, prefix: node}\n' \
    >"$VC/gantry.yml"
out=$(ansible-inventory -i "$VC/gantry.yml" --list 2>&1)
is "$(printf '%s' "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["tag_web"]["hosts"], d["status_ADMIN_down"]["hosts"], d["node_node1_example_com"]["hosts"],
      d["_meta"]["hostvars"]["web1.example.com"]["ansible_host"])')" \
    "['web1.example.com'] ['web1.example.com'] ['web1.example.com'] 192.0.2.2" \
    "the inventory has groups by tags"

# --- tokens, where there are any ---

if [ "$(curl -sk -u rw:secret -o /dev/null -w '%{http_code}' "$api/gantry/1/tokens")" = 200 ]; then
    cat >"$VC/token.yml" <<'END'
- hosts: all
  gather_facts: false
  module_defaults:
    group/gantry.cluster.all: {validate_certs: false}
  tasks:
    - gantry.cluster.token: {name: backup, rights: [read], expires: EXPIRES}
END
    sed -i "s/EXPIRES/$(($(date +%s) + 86400))/" "$VC/token.yml"
    counts "a token is made" "$VC/token.yml" "1 0"
    counts "once" "$VC/token.yml" "0 0"
    sed 's/rights: .*/state: absent}/' "$VC/token.yml" >"$VC/no-token.yml"
    counts "and revoked" "$VC/no-token.yml" "1 0"
    counts "once" "$VC/no-token.yml" "0 0"
else
    note "this API has no tokens"
fi

# --- the end ---

cat >"$VC/end.yml" <<'END'
- hosts: all
  gather_facts: false
  module_defaults:
    group/gantry.cluster.all: {validate_certs: false}
  tasks:
    - gantry.cluster.instance: {name: web1.example.com, state: absent}
    - gantry.cluster.network: {name: front, state: absent}
    - gantry.cluster.group: {name: rack2, state: absent}
END
counts "all is removed" "$VC/end.yml" "3 0"
counts "once" "$VC/end.yml" "0 0"
tap_done
