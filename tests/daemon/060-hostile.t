#!/bin/sh
# What comes from outside: strangers at the node daemon, garbage at the master.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
cluster_start --nodes 3
ip=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][1]["ip"])')
certs=$(root node1)/var/lib/ganeti

call() { # CURL-OPTION...: the body of node2's answer, or curl's error
    curl -sS -k --max-time 10 -X POST -d '[]' "$@" "https://$ip:1811/version" 2>&1
}

is "$(call --cert "$certs/client.pem")" '[true,3000000]' \
    "the master's certificate is let in"
unlike "$(call)" 'true' "no certificate is not"
# A stranger with a certificate of its own making.
stranger=$VC/stranger
mkdir "$stranger"
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$stranger/key.pem" -out "$stranger/cert.pem" -days 1 \
        -subj /CN=node1.example.com >/dev/null 2>&1
    unlike "$(call --cert "$stranger/cert.pem" --key "$stranger/key.pem")" \
        'true' "a foreign certificate is not"
fi
# A node that is removed: its certificate was good before.
old=$(root node3)/var/lib/ganeti/client.pem
cp "$old" "$stranger/node3.pem"
is "$(call --cert "$stranger/node3.pem")" '[true,3000000]' \
    "a candidate is let in"
m gnt-node remove node3 >/dev/null 2>&1
until_true 10 sh -c "! curl -sS -k --max-time 5 -X POST -d '[]' \
    --cert $stranger/node3.pem https://$ip:1811/version | grep -q true"
unlike "$(call --cert "$stranger/node3.pem")" 'true' "a removed node is not"
like "$(curl -sS -k --max-time 10 -X POST -d '[]' --cert "$certs/client.pem" \
    -o /dev/null -w '%{http_code}' "https://$ip:1811/no_such_call" 2>&1)" \
    404 "an unknown call is 404"
like "$(curl -sS -k --max-time 10 -X POST -d '{' --cert "$certs/client.pem" \
    -o /dev/null -w '%{http_code}' "https://$ip:1811/version" 2>&1)" \
    400 "bad JSON is 400"
is "$(curl -sS -k --max-time 10 -X PUT -d '[]' --cert "$certs/client.pem" \
    "https://$ip:1811/version" 2>&1)" '[true,3000000]' "PUT works too"

# The master's socket.
cat >"$VC/luxi.py" <<'END'
import json, socket, sys
def talk(data, path=sys.argv[1]):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(path)
    try:
        s.sendall(data + b"\3")
        got = b""
        while b"\3" not in got:
            d = s.recv(65536)
            if not d:
                break
            got += d
    except (BrokenPipeError, ConnectionResetError):
        return None
    return json.loads(got.split(b"\3")[0]) if b"\3" in got else None
def call(method, *args):
    return talk(json.dumps({"method": method, "args": args}).encode())
def refused(name, reply):
    good = reply is None or reply["success"] is False
    print(("" if good else "not ") + "ok", name, str(reply)[:150])
refused("garbage", talk(b"hello"))
refused("half JSON", talk(b'{"method": "QueryClusterInfo", "args": ['))
refused("JSON 100,000 deep", talk(b"[" * 100000 + b"]" * 100000))
refused("deep inside args",
        talk(b'{"method": "Query", "args": ' + b"[" * 100000 + b"]" * 100000 + b"}"))
refused("an unknown method", call("MakeTea"))
refused("no method", talk(b'{"args": []}'))
refused("args of a wrong kind", talk(b'{"method": "QueryJobs", "args": 5}'))
refused("too few args", call("Query"))
refused("wrong types", call("SubmitJob", "ops"))
refused("an opcode without id", call("SubmitJob", [{}]))
refused("an unknown opcode", call("SubmitJob", [{"OP_ID": "OP_DANCE"}]))
refused("a parameter of a wrong type",
        call("SubmitJob", [{"OP_ID": "OP_TEST_DELAY", "duration": "long"}]))
refused("an unknown parameter",
        call("SubmitJob", [{"OP_ID": "OP_TEST_DELAY", "duration": 1, "x": 1}]))
refused("bad UTF-8", talk(b'{"method": "\xff", "args": []}'))
refused("duplicate keys", talk(b'{"method": "A", "method": "B", "args": []}'))
refused("a number out of range", talk(b'{"method": "QueryJobs", "args": [[1e999], ["id"]]}'))
refused("a message over the limit", talk(b'"' + b"x" * (70 << 20)))
refused("a job that is not there", call("WaitForJobChange", 999999, ["status"], None, None, 1))
good = call("QueryClusterInfo")
print("ok" if good and good["success"] else "not ok", "and then it still answers")
END
python3 "$VC/luxi.py" "$(root node1)/var/run/ganeti/socket/ganeti-query" >"$VC/out" 2>&1
while IFS= read -r line; do
    case $line in
    ok*) tap_point 0 "${line#ok }" ;;
    *) tap_point 1 "$line" ;;
    esac
done <"$VC/out"
is "$(python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"{\"method\": \"QueryConfigValues\", \"args\": [[\"cluster_name\"]]}\3")
print(json.loads(s.recv(65536).split(b"\3")[0])["result"])
' "$(root node1)/var/run/ganeti/socket/ganeti-master")" "['cluster.example.com']" \
    "the other socket answers too"
succeeds "commands still work" m gnt-node list

# Secrets stay secret: their files, and every log and job file.
is "$(find "$VC"/*.com/var/lib/ganeti -name '*.pem' -perm /007 | wc -l)" 0 \
    "no key can be read by others"
secret=$(cat "$certs/cluster-domain-secret")
is "$(grep -rlF "$secret" "$VC"/*/var/log "$VC"/*/var/lib/ganeti/queue | wc -l)" \
    0 "the cluster's secret is in no log and no job"
tap_done
