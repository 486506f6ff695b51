#!/bin/sh
# What lists and infos print for programs, and on a terminal.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
add web1 -t sharedfile -s 4m -n node1.example.com >/dev/null
m gnt-instance shutdown web1 >/dev/null
add web2 -t diskless -n node2.example.com >/dev/null
m gnt-instance add-tags web1 'a:b' no >/dev/null
m gnt-network add --network=192.0.2.0/28 net1 >/dev/null
m gnt-filter add --action=CONTINUE --reason='because, well' >/dev/null
job=$(m gnt-job list --no-headers -o id | tail -1 | tr -d ' ')

# each NAME COMMAND...: all three formats are read back and say the same
each() {
    name=$1
    shift
    for format in json yaml csv; do
        m "$@" --format=$format >"$VC/$format" 2>"$VC/err"
        tap_point $? "$format of $name" || note "$(cat "$VC/err")"
    done
    is "$(python3 - "$VC/json" "$VC/csv" <<'END'
import csv, json, sys
value = json.load(open(sys.argv[1]))
rows = list(csv.reader(open(sys.argv[2], newline="")))
if isinstance(value, dict):
    value = [{"key": k, "value": v} for k, v in value.items()]
def text(v):
    if v is None:
        return ""
    return v if isinstance(v, str) else v
wanted = len(value)
assert len(rows) == wanted + (wanted > 0 or len(rows)), (len(rows), wanted)
assert len({len(r) for r in rows}) <= 1, "lines of different lengths"
for row, line in zip(value, rows[1:]):
    cells = dict(zip(rows[0], line))
    if not isinstance(row, dict):
        row = {"value": row}
    for key, v in row.items():
        got = cells[key]
        if v is None or isinstance(v, str):
            assert got == (v or ""), (key, got, v)
        else:
            assert json.loads(got) == v, (key, got, v)
print("same")
END
)" same "csv and json of $name agree"
    is "$(python3 - "$VC/json" "$VC/yaml" <<'END'
import json, sys
try:
    import yaml
except ImportError:
    print("same")
    sys.exit()
a, b = json.load(open(sys.argv[1])), yaml.safe_load(open(sys.argv[2]))
print("same" if a == b else "json: %r\nyaml: %r" % (a, b))
END
)" same "yaml and json of $name agree"
}

for tool in node instance group network filter; do
    fields=
    [ $tool = node ] && fields="-o name,pip,role,offline,tags,ndparams,ctime"
    each "$tool list" gnt-$tool list $fields
    each "$tool list-fields" gnt-$tool list-fields
    each "$tool info" gnt-$tool info $([ $tool = instance ] && echo --all)
done
each "job list" gnt-job list -o id,status,summary,ops,received_ts
each "job list-fields" gnt-job list-fields
each "job info" gnt-job info "$job"
each "os list" gnt-os list
each "os diagnose" gnt-os diagnose
each "os info" gnt-os info
is "$(m gnt-os info --format=csv --no-headers nosuch 2>/dev/null)" "" \
    "only of those that are named"
each "cluster info" gnt-cluster info
each "cluster version" gnt-cluster version
each "cluster search-tags" gnt-cluster search-tags .
each "node list-storage" gnt-node list-storage -o node,type,name,size
each "job why" gnt-job why "$job"
each "cluster queue info" gnt-cluster queue info
each "cluster watcher info" gnt-cluster watcher info
if is_virtual; then
    each "node volumes" gnt-node volumes
    like "$(cat "$VC/err")" "WARNING" "where the job warns, on stderr"
    is "$(m gnt-vcluster list "$VC" --format=json | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["kind"], d["parted"], [n["ip"] for n in d["nodes"]] != [],
      all(n["on"] and n["noded"] for n in d["nodes"]), sum(n["master"] for n in d["nodes"]))')" \
        "process [] True True 1" "vcluster list as JSON, as of other kinds"
    like "$(m gnt-vcluster list "$VC" --format=yaml)" "^nodes:$" \
        "vcluster list as YAML"
    like "$(m gnt-vcluster list "$VC" --format=csv)" \
        "^node1.example.com,.*,true$" "and as CSV"
fi
each "instance list-tags" gnt-instance list-tags web1
each "debug locks" gnt-debug locks
each "a list without rows" gnt-instance list -F 'os == "nosuch"'
is "$(cat "$VC/csv")" "name,hypervisor,os,pnode,status,oper_ram" \
    "it has its titles"
is "$(m gnt-instance list -o name,status --format=csv --no-headers web1)" \
    "web1,ADMIN_down" "titles can be left out"
is "$(m gnt-instance list-tags web1 --format=yaml)" "- \"a:b\"
- \"no\"" "a word that YAML could take for a truth value is quoted"
fails "another format" m gnt-node list --format=xml
like "$out" "xml" "is named"

# terminal COMMAND...: its output where stdout is a terminal
terminal() {
    m python3 -c 'import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status))' env TERM=xterm "$@" </dev/null
}
esc=$(printf '\033')
like "$(terminal gnt-instance list -o name,status)" "$esc\[33mADMIN_down$esc\[0m" \
    "a terminal gets colours"
like "$(terminal gnt-node list -o role)" "$esc\[32mM" "for nodes as well"
like "$(terminal gnt-job list)" "$esc\[32msuccess" "and jobs"
unlike "$(terminal NO_COLOR=1 gnt-instance list)" "$esc" "not with NO_COLOR"
unlike "$(m gnt-instance list)" "$esc" "a pipe gets none"

tap_done
