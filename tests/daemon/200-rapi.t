#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API as programs and admins see it, and each curl line of
# doc/rapi.md.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
home=$(root node1)
users=$home/var/lib/ganeti/rapi/users
logs=$home/var/log/ganeti
address=${api_address%:*}

like "$("$BIN/gnt-vcluster" env "$VC" node2)" "^export GANTRY_RAPI=$api\$" \
    "the environment names it"

# --- who may do what ---

status_of() { # CURL-OPTION...
    curl -sk --max-time 30 -o /dev/null -w '%{http_code}' "$@"
}

is "$(status_of "$api/2/nodes")" 200 "everybody may look"
is "$(status_of -X PUT "$api/2/tags?tag=a")" 401 "and nobody changes anything"
like "$(curl -sk -i -X PUT "$api/2/tags?tag=a")" \
    '^WWW-Authenticate: Basic realm="Ganeti Remote API"' "the realm is Ganeti's"
is "$(status_of -u ro:secret -X PUT "$api/2/tags?tag=a")" 403 "who may read may not write"
is "$(status_of -u ro:secret "$api/2/query/node?fields=name")" 200 "but query"
is "$(status_of -u none:secret "$api/2/query/node?fields=name")" 403 "others may not"
consoles="$api/2/instances?fields=name,console"
is "$(status_of "$consoles")" 401 "nobody asks for consoles in a list"
is "$(status_of "$api/2/instances?filter=console")" 401 "or by a filter"
is "$(status_of "$api/2/instances?fields=name&sort=console")" 401 "or an order"
is "$(status_of -u none:secret "$consoles")" 403 "without a right"
is "$(status_of -u ro:secret "$consoles")" 200 "who may read does"
is "$(status_of "$consoles")" 401 "what he was told is for nobody else"
is "$(status_of "$api/2/instances?fields=name&filter=name+!=+%22console%22")" 200 \
    "a name is no field"
token=$(curl -sk --max-time 30 -u rw:secret -H 'Content-Type: application/json' \
    -d '{"name": "ci", "rights": ["read"]}' "$api/gantry/1/tokens" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')
bearer="Authorization: Bearer $token"
is "$(status_of -H "$bearer" "$api/2/query/instance?fields=name,console")" 403 \
    "nor does a token without the right to consoles"
is "$(status_of -H "$bearer" "$api/2/query/instance?fields=name")" 200 "that may query"
is "$(status_of -H "$bearer" -X PUT -H 'Content-Type: application/json' \
    -d '{"fields": ["name"], "qfilter": ["|", ["?", "console"]]}' "$api/2/query/instance")" 403 \
    "also in the filter of a query"
is "$(status_of -u rw:secret -X PUT "$api/2/tags?tag=a")" 200 "who may write does"
is "$(status_of -u rw:wrong "$api/2/nodes")" 401 "a wrong password is never right"

hash=$(printf 'ha:Ganeti Remote API:geheim' | md5sum | cut -d' ' -f1)
echo "ha {HA1}$hash write" >>"$users"
is "$(status_of -u ha:geheim -X DELETE "$api/2/jobs/99999")" 200 \
    "a user is added to the file, and there"
echo "rw other write" >"$users.new"
mv "$users.new" "$users"
is "$(status_of -u ha:geheim -X DELETE "$api/2/jobs/99999")" 401 "or removed, and gone"
printf 'rw secret read,write\nro secret read\n' >"$users"

# --- jobs ---

answers "an instance is created" 200 POST /2/instances '{"__version__": 1,
    "mode": "create", "name": "web1.example.com", "disk_template": "sharedfile",
    "disks": [{"size": 16}], "nics": [{}], "os": "noop", "ip_check": false,
    "name_check": false, "pnode": "node1.example.com"}'
job_ends "by a job" success
answers "and listed" 200 GET /2/instances
is "$out" '[{"id": "web1.example.com", "uri": "/2/instances/web1.example.com"}]' \
    "as Ganeti lists it"
answers "a reason is given" 200 PUT \
    "/2/instances/web1.example.com/shutdown?reason=for+the+night"
job_ends "to the job" success
answers "which is shown" 200 GET "/2/jobs/$job"
like "$out" '"gnt:user", "for the night"' "with the reason"
like "$out" '"gnt:library:rlib2:instances_name_shutdown"' "and where it came from"
answers "also beside a body" 200 POST \
    "/2/instances/web1.example.com/reinstall?reason=a+new+one" '{"start": false}'
job_ends "that reinstalls" success
answers "the job" 200 GET "/2/jobs/$job"
like "$out" '"gnt:user", "a new one"' "has it"
answers "a dry run of it" 200 POST \
    "/2/instances/web1.example.com/reinstall?dry-run=1" '{"start": true}'
job_ends "is a job" success
answers "that starts nothing" 200 GET "/2/instances/web1.example.com"
like "$out" '"status": "ADMIN_down"' "at all"
answers "both forms of its parameters" 400 POST \
    "/2/instances/web1.example.com/reinstall?os=noop" '{"start": false}'
answers "an unknown parameter" 400 POST /2/groups '{"name": "g", "nosuch": 1}'
like "$out" 'Object OpGroupAdd doesn&#x27;t support the parameter' "is named"
fails "no job came of that" sh -c "curl -sk '$api/2/jobs?bulk=1' | grep GROUP_ADD"
m gnt-cluster queue drain >/dev/null
answers "a drained queue takes nothing" 500 PUT "/2/tags?tag=b"
m gnt-cluster queue undrain >/dev/null

# Who hangs up while a job runs for the answer takes the job back.
m gnt-cluster modify --max-running-jobs=1 >/dev/null
m gnt-debug delay --submit 6 >/dev/null 2>&1
curl -sk --max-time 1 "$api/2/os" >/dev/null
os_is_canceled() {
    curl -sk "$api/2/jobs?bulk=1" | python3 -c 'import json, sys
sys.exit("canceled" not in [j["status"] for j in json.load(sys.stdin)
                            if j["summary"] == ["OS_DIAGNOSE"]])'
}
until_true 10 os_is_canceled
tap_point $? "the job of a client that has gone is canceled"
m gnt-cluster modify --max-running-jobs=20 >/dev/null

# --- connections ---

is "$(curl -sk -o /dev/null -w '%{num_connects} ' "$api/version" \
    -o /dev/null "$api/version" -o /dev/null "$api/2/nodes")" "1 0 0 " \
    "a connection is kept"
fails "TLS 1.1 is not spoken" curl -sk --tls-max 1.1 --max-time 10 "$api/version"
succeeds "TLS 1.2 is" curl -sk --tls-max 1.2 --max-time 10 "$api/version"

# --- logs ---

like "$(cat "$logs/rapi-access.log")" \
    '^127[.0-9]* - rw \[[^]]*\] "POST /2/instances HTTP/1.1" 200 [0-9]+$' \
    "requests are logged in the common form"
like "$(cat "$logs/rapi-access.log")" '" 401 ' "refused ones, too"
is "$(cat "$logs"/rapi-*.log | grep -c -e secret -e geheim -e cnc6)" 0 \
    "no password is in a log"
mv "$logs/rapi-access.log" "$logs/rapi-access.log.1"
kill -HUP "$(cat "$home/var/run/ganeti/ganeti-rapi.pid")"
until_true 10 test -f "$logs/rapi-access.log"
curl -sk "$api/version" >/dev/null
like "$(cat "$logs/rapi-access.log")" 'GET /version' "SIGHUP opens the log anew"

# --- a new certificate ---

print_of() {
    echo | openssl s_client -connect "$api_address" 2>/dev/null |
        openssl x509 -noout -fingerprint
}
old=$(print_of)
m gnt-cluster renew-crypto -f --new-rapi-certificate >/dev/null 2>&1
is_new() { [ "$(print_of)" != "$old" ]; }
until_true 10 is_new
tap_point $? "a renewed certificate is taken"

# --- the master goes ---

"$BIN/gnt-vcluster" kill "$VC" node1 masterd
answers "without the master it is 502" 502 GET /2/nodes
answers "what needs no master is there" 200 GET /version
"$BIN/gnt-vcluster" start "$VC" node1 masterd
answers "and with it 200 again" 200 GET /2/nodes

# --- options ---

# again OPTION...: another daemon in place of the one that runs
again() {
    "$BIN/gnt-vcluster" stop "$VC" node1 rapi
    GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" "$@"
}
again --require-authentication
is "$(status_of "$api/2/nodes")" 401 "nobody looks, if that is said"
is "$(status_of "$api/nosuch")" 401 "not even what there is"
is "$(status_of -u ro:secret "$api/2/nodes")" 200 "but with a password"
again --no-ssl --trusted-proxy "$address"
is "$(status_of "http://$api_address/version")" 200 "plain HTTP is for proxies"
curl -s --interface "$address" -H 'X-Forwarded-For: 192.0.2.1, 192.0.2.7' \
    "http://$api_address/version" >/dev/null
curl -s -H 'X-Forwarded-For: 192.0.2.8' "http://$api_address/version" >/dev/null
like "$(tail -2 "$logs/rapi-access.log" | head -1)" '^192\.0\.2\.7 - ' \
    "the forwarded address of a proxy counts"
unlike "$(tail -1 "$logs/rapi-access.log")" '^192' "and of nobody else"
fails "a port that is none" on node1 "$BIN/gantry-rapi" -p 70000
again
fails "two do not run" on node1 "$BIN/gantry-rapi" -p 5081

# --- doc/rapi.md ---

# Each line of code is run as it stands, but for the folder: the first ones make
# the cluster that the others ask.
page=$(dirname "$0")/../../doc/rapi.md
sed -n 's/^    //p' "$page" | sed "s#/tmp/vc#$VC/page#g" >"$VC/lines"
(
    PATH=$BIN:$PATH
    # shellcheck disable=SC2329
    curl() {
        command curl --fail-with-body -s "$@"
    }
    while IFS= read -r line; do
        rc=0
        case $line in
        curl\ *) answer=$(eval "$line" 2>&1) || rc=1 ;;
        *) eval "$line" >"$VC/said" 2>&1 || rc=1 ;;
        esac
        case $line in
        *"\"create\""*) until_true 30 job_is_final "$answer" ;;
        esac
        [ $rc = 0 ] && echo "ok $line" || echo "bad $line: $answer"
    done <"$VC/lines"
    gnt-vcluster destroy "$VC/page"
) >"$VC/ran" 2>&1
is "$(grep -c '^ok ' "$VC/ran")" "$(grep -c . "$VC/lines")" \
    "all commands of doc/rapi.md work" || note "$(grep -v '^ok ' "$VC/ran")"
like "$(cat "$VC/lines")" 'gnt-vcluster create .* --rapi' "from the first one on"
tap_done
