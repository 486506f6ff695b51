#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The commands beyond what recorded runs of Ganeti's show: errors of the
# connection, help, output for programs, logs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

status_of() { # COMMAND...: exit status, output in $out
    out=$("$@" 2>&1 </dev/null)
    echo $?
}

# Help and mistakes.
fails "a tool without command shows what there is" m gnt-node
like "$out" '^ evacuate +- ' "each with a sentence"
fails "an unknown command is named" m gnt-node explode
like "$out" "unknown command 'explode'" "with the list of those there are"
fails "a mistyped one, too" m gnt-node lsit
is "$out" "gnt-node: unknown command 'lsit', did you mean list?
(gnt-node --help lists the commands)" "with the nearest one alone"
succeeds "a command explains itself" m gnt-instance add --help
like "$out" '^--disk-template=TEMPLATE, -t' "option by option"
status_of m gnt-node list --nosuch >"$VC/rc"
is "$(cat "$VC/rc")" 2 "an unknown option is a usage error"
succeeds "the version names Ganeti's" m gnt-job --version
like "$out" '3\.0\.2$' "as scripts look for it"

# Questions, without somebody to answer: in a session without a terminal.
add c1 -t diskless -n node2 >"$VC/out" 2>&1
add c2 -t diskless -n node2 >"$VC/out" 2>&1
unasked() { # COMMAND...: it asks, says that it did nothing, and how to do it
    fails "$2 asks" setsid -w "$BIN/gnt-vcluster" exec "$VC" "${there:-node1}" \
        -- "$@"
    case $out in
    *"Nothing was done: there is no terminal to ask on"*"the answer is yes."*)
        tap_point 0 "and says that nobody answers: $*" ;;
    *)
        tap_point 1 "and says that nobody answers: $*"
        note "$out" ;;
    esac
}
unasked gnt-instance remove c1
unasked gnt-instance shutdown c1 c2
unasked gnt-instance startup --all
unasked gnt-instance reinstall c1
unasked gnt-instance failover c1
unasked gnt-instance migrate c1
unasked gnt-instance move -n node1 c1
unasked gnt-instance rename --no-name-check --no-ip-check c1 c3
unasked gnt-node evacuate -p node2
unasked gnt-node failover node2
unasked gnt-node migrate node2
unasked gnt-node powercycle node2
unasked gnt-node modify --offline no node2
unasked gnt-node power off node2
unasked gnt-cluster rename other.example.com
unasked gnt-cluster epo node2
unasked gnt-cluster renew-crypto --new-cluster-domain-secret
unasked gnt-cluster deactivate-master-ip
there=node2
unasked gnt-cluster master-failover --no-voting
is "$(m gnt-instance list --no-headers -o name,status | tr -s ' \n' ' ')" \
    "c1 running c2 running " "and all is as it was"
succeeds "-f answers the question about several" m gnt-instance shutdown -f c1 c2
succeeds "also in a command where it does more" m gnt-instance startup -f --all
succeeds "without a standard output nothing else takes its place" \
    m sh -c 'exec gnt-instance shutdown -f c1 c2 >&-'
succeeds "nor without any" m sh -c 'exec gnt-instance startup -f --all <&- >&- 2>&-'
if is_virtual; then # a host would go down, and its test with it
    fails "and where --yes does as well" m gnt-node powercycle -f node2
    like "$out" 'would be the whole machine' "which a virtual node can not do"
fi

# A terminal is asked, by itself and not by standard input.
cat >"$VC/ask.py" <<'END'
import os, pty, sys
pid, tty = pty.fork()
if pid == 0:
    if os.environ.get("KIND") != "vm":  # a login has one input
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while b"y/[n]" not in seen:
    seen += os.read(tty, 4096)
os.write(tty, sys.argv[1].encode() + b"\n")
try:
    while os.read(tty, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
fails "no is an answer" timeout 60 python3 "$VC/ask.py" n \
    "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-instance remove c1
succeeds "and so is yes" timeout 60 python3 "$VC/ask.py" y \
    "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-instance remove c1
is "$(m gnt-instance list --no-headers -o name)" c2 "which is done"
m gnt-instance remove -f c2 >"$VC/out" 2>&1

# Errors name what is wrong, where, and what else there would be.
culprit() { # EXPRESSION COMMAND...
    want=$1
    shift
    fails "$*" m "$@"
    like "$out" "$want" "is told what is wrong"
}
add web1 -t sharedfile -s 1m -n node2 >"$VC/out" 2>&1
m gnt-group add empty >"$VC/out" 2>&1
quick="-t diskless -n node2 --no-name-check --no-ip-check"
culprit "node group empty: there is no node" gnt-instance change-group --to empty web1
culprit "node group empty: there is no node" gnt-group evacuate --to empty default
culprit "'mem' of --backend-parameters \(-B\), did you mean 'memory'\? There are: .*maxmem, memory" \
    gnt-instance modify -B mem=64 web1
culprit "'memory' \(value 10x\): Unknown unit 'x'" gnt-instance modify -B memory=10x web1
culprit "'kernel_pth' of --hypervisor-parameters \(-H\), did you mean 'kernel_path'" \
    gnt-cluster modify -H kvm:kernel_pth=x
culprit "option --drained: 'maybe' is neither yes nor no" gnt-node modify --drained=maybe node2
culprit "memory-size is no size \(like 512m or 10g\): 'x'" \
    gnt-cluster modify --ipolicy-std-specs memory-size=x
culprit "'disksize' of --ipolicy-std-specs, did you mean 'disk-size'\\? There are: cpu" \
    gnt-cluster modify --ipolicy-std-specs disksize=5
culprit "NIC 0: parameter 'lnik' is not available.*there are:.* link, " \
    gnt-instance modify --net 0:lnik=br0 web1
# shellcheck disable=SC2086
culprit "OS 'nosuch' not known on node node2.example.com" gnt-instance add $quick -o nosuch u1
culprit "OS 'nosuch' not known on node node2.example.com" \
    gnt-instance modify --os-type nosuch web1
culprit "\(u1.invalid\) does not resolve.*with --no-name-check it need not" \
    gnt-instance add -t diskless -n node2 -o noop u1.invalid
culprit "does not resolve.*with --no-name-check it need not" \
    gnt-instance rename -f web1 u1.invalid
"$BIN/gnt-vcluster" stop "$VC" node2 noded
# shellcheck disable=SC2086
culprit "Node node2.example.com does not answer, so that OS 'noop' can" \
    gnt-instance add $quick -o noop u1
# shellcheck disable=SC2086
culprit "Node node2.example.com does not answer, so that the parameters" \
    gnt-instance add $quick --no-install u1
culprit "Node node2.example.com does not answer, so that its bridges can" \
    gnt-instance modify --net add:mode=bridged,link=br0 web1
culprit "Node node2.example.com does not answer, so it is not known whether instance web1 runs" \
    gnt-instance console web1
fails "one of the jobs of a job" m gnt-node migrate -f node2
like "$out" '^Job [0-9]+ \(INSTANCE_MIGRATE\(web1\)\) has failed' "names its instance"
like "$out" '^There was 1 error during' "and one is one"
"$BIN/gnt-vcluster" start "$VC" node2 >"$VC/out"
until_true 30 "$BIN/gnt-vcluster" exec "$VC" node1 -- gnt-cluster verify
m gnt-instance remove -f web1 >"$VC/out" 2>&1
m gnt-group remove empty >"$VC/out" 2>&1

# Output for programs.
m gnt-node list --format=json >"$VC/list"
is "$(python3 -c 'import json, sys
print([n["name"] for n in json.load(open(sys.argv[1]))])' "$VC/list")" \
    "['node1.example.com', 'node2.example.com']" "a list is JSON objects"
m gnt-cluster info --format=json >"$VC/info"
is "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["name"])' "$VC/info")" \
    cluster.example.com "and so is an info"
is "$(m env GNT_NODE_LIST="--no-headers -o name" gnt-node list node2)" \
    node2.example.com "GNT_NODE_LIST has options for gnt-node list"
is "$(m env GNT_NODE_LIST=' --no-headers  -o "name" -F "name == \"node2.example.com\""' \
    gnt-node list)" node2.example.com "with quotes and blanks as in a shell"
is "$(m env GNT_NODE_LIST= gnt-node list --no-headers -o name node2)" \
    node2.example.com "also none"
fails "a quote without an end" m env GNT_NODE_LIST="-o 'name" gnt-node list
like "$out" 'GNT_NODE_LIST: A quote has no end' "is named"
fails "an infinite number" m gnt-debug delay inf
like "$out" "Invalid duration 'inf'" "is none"
is "$(m gnt-node list node2 -o name --no-headers)" node2.example.com \
    "options may stand behind arguments"
status_of m gnt-node list -o name,nosuch >"$VC/rc"
is "$(cat "$VC/rc")" 14 "an unknown field has an exit code of its own"

m gnt-node list-storage --format=json >"$VC/storage"
is "$(python3 -c 'import json, sys
print(sorted({s["node"] for s in json.load(open(sys.argv[1]))}))' \
    "$VC/storage")" "['node1.example.com', 'node2.example.com']" \
    "a list of storages, too"
m gnt-job list-fields --format=json id >"$VC/fields"
is "$(python3 -c 'import json, sys
print([f["name"] for f in json.load(open(sys.argv[1]))])' "$VC/fields")" \
    "['id']" "and the list of the fields"
fails "an unknown job is an error" m gnt-job info 9999
like "$out" "^- Job ID 9999 not found" "with its place among others"
like "$("$BIN/gnt-vcluster" create --help)" '^--base-ip=IP' \
    "a command's help makes no cluster"

# Jobs that somebody else waits for.
id=$(m gnt-debug delay --submit --print-jobid 0.01 2>"$VC/err")
like "$id" '^[0-9]+$' "--print-jobid prints the number alone"
is "$(cat "$VC/err")" "JobID: $id" "--submit says it on stderr"
succeeds "its end can be waited for" m gnt-job wait "$id"
succeeds "from a file of opcodes" sh -c 'echo "[{\"OP_ID\":
    \"OP_TEST_DELAY\", \"duration\": 0.001}]" >"$1/ops" &&
    "$2/gnt-vcluster" exec "$1" node1 -- gnt-debug submit-job \
    --job-repeat 3 "$1/ops"' sh "$VC" "$BIN"
like "$out" '^Waiting for job [0-9]+ for file .*/ops/2 \.\.\.$' \
    "come many jobs"

# What was typed, without secrets.
m gnt-instance add -t diskless -o noop --os-parameters-secret=pw=geheim \
    --os-parameters-private pin=4711 x >"$VC/out" 2>&1
log=$(cat "$(root node1)/var/log/ganeti/commands.log")
like "$log" "gnt-instance .* 'add -t diskless" "commands are logged"
unlike "$log" 'geheim|pin=4711' "but no secrets"

# Nobody there.
status_of on node2 gnt-node list >"$VC/rc"
is "$(cat "$VC/rc")" 11 "the wrong node has an exit code of its own"
fails "and says" on node2 gnt-node list
like "$out" "connect to node 'node1.example.com'" "which node is the master"
socket=$(root node1)/var/run/ganeti/socket/ganeti-query
chmod 0 "$socket"
if [ "${KIND-}" = vm ]; then
    fails "without permission" m setpriv --reuid=65534 --regid=65534 \
        --clear-groups gnt-node list
elif [ "$(id -u)" = 0 ]; then
    # The folders on the way must be open to somebody else, and the program:
    # a build folder may be its owner's alone.
    chmod 755 "$VC" "$(root node1)"
    cp -L "$BIN/gnt-node" "$VC/gnt-node"
    fails "without permission" setpriv --reuid=65534 --regid=65534 \
        --clear-groups env GANETI_ROOTDIR="$(root node1)" \
        GANETI_HOSTNAME=node1.example.com "$VC/gnt-node" list
else
    fails "without permission" m gnt-node list
fi
like "$out" "no permission for its socket" "it says that"
chmod 600 "$socket"
"$BIN/gnt-vcluster" stop "$VC" node1 masterd
fails "without master" m gnt-node list
like "$out" 'Is gantry-masterd running' "it says what to look at"
fails "master-ping says so, too" m gnt-cluster master-ping
is "$(m gnt-cluster getmaster)" node1.example.com "getmaster needs no master"
tap_done
