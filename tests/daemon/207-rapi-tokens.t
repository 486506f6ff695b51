#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tokens of the remote API: their rights, scope and time, and their end; sessions
# in a cookie.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
users=$(root node1)/var/lib/ganeti/rapi/users
echo "rw2 secret read,write" >>"$users"

field() { # NAME: of the object in $out
    printf %s "$out" | python3 -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}
# by TOKEN NAME STATUS METHOD PATH [BODY [CURL-OPTION...]]
by() {
    by_token=$1
    by_name=$2
    by_status=$3
    shift 3
    rm -f "$VC/answer"
    by_method=$1
    by_path=$2
    by_body=${3-}
    shift $(($# < 3 ? $# : 3))
    if [ -n "$by_body" ]; then
        set -- -H "Content-Type: application/json" --data-binary "$by_body" "$@"
    fi
    status=$(curl -sk --max-time 30 -H "Authorization: Bearer $by_token" -o "$VC/answer" \
        -w '%{http_code}' -X "$by_method" "$@" "$api$by_path")
    out=$(cat "$VC/answer" 2>/dev/null)
    is "$status" "$by_status" "$by_name"
}

add web1.example.com -t diskless -n node2.example.com --no-start --tags shop >/dev/null
add db1.example.com -t diskless -n node2.example.com --no-start >/dev/null

# --- made ---

answers "a token" 200 POST /gantry/1/tokens \
    '{"name": "ci", "rights": ["read", "power", "tokens"], "scope": {"names": ["web*"]}, "expires_in": 3600}'
token=$(field token)
id=$(field id)
like "$token" '^gnt_[0-9a-f]{64}$' "is told once"
is "$(field user)" rw "and is of who made it"
answers "afterwards" 200 GET /gantry/1/tokens
unlike "$out" "$token|hash" "nobody tells it again"
like "$out" '"name": "ci"' "but that there is one"
answers "others do not see it" 200 GET /gantry/1/tokens "" -u rw2:secret
is "$out" "[]" "at all"
answers "nor can they end it" 404 DELETE "/gantry/1/tokens/$id" "" -u rw2:secret
bare() { # HEADER: without a password
    curl -sk --max-time 30 -o /dev/null -w '%{http_code}' -H "$1" "$api/gantry/1/tokens"
}
is "$(bare "X: y")" 401 "nobody has tokens without a password"
is "$(grep -rl "$token" "$VC"/node*/var/lib/ganeti)" "" "no node keeps it"
is "$(cat "$VC"/node*/var/log/ganeti/*.log | grep -ac "$token")" 0 "and no log has it"
for bad in '{}' '[]' '{"name": "x", "rights": []}' '{"name": "x", "rights": ["all"]}' \
    '{"name": "x", "rights": "read"}' '{"name": "", "rights": ["read"]}' \
    '{"name": "x", "rights": ["read"], "scope": []}' '{"name": "x", "rights": ["read"], "scope": {"x": []}}' \
    '{"name": "x", "rights": ["read"], "scope": {"names": [1]}}' \
    '{"name": "x", "rights": ["read"], "expires_in": 0}' '{"name": "x", "rights": ["read"], "expires_in": "1"}' \
    '{"name": "x", "rights": ["read"], "user": "root"}' '{"name": 1, "rights": ["read"]}'; do
    answers "no token: $bad" 400 POST /gantry/1/tokens "$bad"
done

# --- used ---

by "$token" "who has it reads" 200 GET /2/instances
by "$token" "and starts what is in its scope" 200 PUT /2/instances/web1.example.com/startup
job_ends "for its user" success
by "$token" "also by the short name" 200 PUT "/2/instances/web1/shutdown"
by "$token" "and nothing else" 403 PUT /2/instances/db1.example.com/startup
like "$out" 'scope' "as that is outside"
by "$token" "what is not there is not" 404 PUT /2/instances/nosuch/startup
by "$token" "he makes nothing" 403 PUT "/2/instances/web1.example.com/tags?tag=x"
like "$out" "lacks the right .*modify" "without the right"
by "$token" "nor anything of the cluster" 403 PUT "/2/tags?tag=x"
by "$token" "he may give what he has" 200 POST /gantry/1/tokens '{"name": "less", "rights": ["read"]}'
child=$(field token)
like "$out" '"names": \["web\*"\]' "in the same scope"
by "$token" "not more" 403 POST /gantry/1/tokens '{"name": "more", "rights": ["create"]}'
by "$token" "nor elsewhere" 403 POST /gantry/1/tokens \
    '{"name": "more", "rights": ["power"], "scope": {"names": ["*"]}}'
by "$child" "what was given reads" 200 GET /2/instances
by "$child" "and does not write" 403 PUT /2/instances/web1.example.com/startup
answers "by tags" 200 POST /gantry/1/tokens \
    '{"name": "t", "rights": ["power", "create"], "scope": {"tags": ["shop"]}}'
tagged=$(field token)
by "$tagged" "an instance that has one" 200 PUT /2/instances/web1.example.com/startup
by "$tagged" "not one that has none" 403 PUT /2/instances/db1.example.com/startup
create='{"__version__": 1, "mode": "create", "name": "new1.example.com", "os": "noop",
    "disk_template": "diskless", "disks": [], "nics": [], "ip_check": false, "name_check": false'
by "$tagged" "who may make tagged ones makes no others" 403 POST /2/instances "$create}"
by "$tagged" "but these" 200 POST /2/instances "$create, \"tags\": [\"shop\"]}"
want='{"os": "noop", "disk_template": "diskless", "disks": [], "nics": [], "state": "stopped"'
by "$tagged" "a wanted state is read as well" 403 PUT /gantry/1/instances/new2.example.com "$want}"
answers "who may do that, too" 200 POST /gantry/1/tokens \
    '{"name": "w", "rights": ["read", "power", "create"], "scope": {"tags": ["shop"]}}'
wanting=$(field token)
by "$wanting" "wants what is outside" 403 PUT /gantry/1/instances/new2.example.com "$want}"
by "$wanting" "in vain, also of what is there" 403 PUT /gantry/1/instances/db1.example.com \
    '{"state": "stopped", "tags": ["shop"]}'
by "$wanting" "but gets what is inside" 200 PUT \
    "/gantry/1/instances/new2.example.com?apply=1" "$want, \"tags\": [\"shop\"]}" -H 'Prefer: wait=30'
by "$wanting" "each opcode needs its right" 403 PUT /gantry/1/instances/new2.example.com \
    '{"state": "absent"}'
like "$out" "lacks the right .*destroy" "which is named"
answers "one by names" 200 POST /gantry/1/tokens \
    '{"name": "r", "rights": ["modify"], "scope": {"names": ["web*"]}}'
renaming=$(field token)
name_it() { # NAME
    echo "{\"new_name\": \"$1\", \"name_check\": false, \"ip_check\": false}"
}
by "$renaming" "gives no name outside" 403 PUT /2/instances/web1.example.com/rename \
    "$(name_it db2.example.com)"
by "$renaming" "but another one inside" 200 PUT /2/instances/web1.example.com/rename \
    "$(name_it 'web no name')"
job_ends "if it is one" error
answers "one by tags" 200 POST /gantry/1/tokens \
    '{"name": "r2", "rights": ["modify"], "scope": {"names": ["x*"], "tags": ["shop"]}}'
by "$(field token)" "gives any name, as the tag stays" 200 PUT \
    /2/instances/web1.example.com/rename "$(name_it 'no name')"
answers "by groups" 200 POST /gantry/1/tokens \
    '{"name": "g", "rights": ["power"], "scope": {"groups": ["default"]}}'
grouped=$(field token)
by "$grouped" "all that is there" 200 PUT /2/instances/db1.example.com/startup
m gnt-group add g2 >/dev/null
m gnt-group assign-nodes g2 node3.example.com >/dev/null 2>&1
answers "of who may make some there" 200 POST /gantry/1/tokens \
    '{"name": "gc", "rights": ["read", "create"], "scope": {"groups": ["g2"]}}'
making=$(field token)
create=$(printf %s "$create" | sed 's/new1/new3/')
by "$making" "who names no group makes none" 403 POST /2/instances "$create}"
by "$making" "nor does a group help" 200 POST /2/instances \
    "$create, \"group_name\": \"g2\", \"pnode\": \"node1.example.com\"}"
job_ends "where the node is in another one" error
by "$making" "the group's own node does" 200 POST /2/instances \
    "$create, \"group_name\": \"g2\", \"pnode\": \"node3.example.com\"}"
job_ends "as it is in the scope" success
answers "a token of who may only read" 200 POST /gantry/1/tokens \
    '{"name": "ro", "rights": ["cluster", "read"]}' -u ro:secret
only=$(field token)
by "$only" "does not write" 403 PUT "/2/tags?tag=x"
by "$only" "as its user may not" 200 GET "/2/query/node?fields=name"
by "gnt_$(printf %064d 0)" "one that nobody made" 401 GET /2/instances
by "x" "what is none" 401 GET /2/instances
is "$(bare "Authorization: Bearer ")" 401 "an empty one"
is "$(bare "Authorization: Bearer")" 401 "none"
is "$(bare "Cookie: gantry_session=; gantry_session=$token")" 401 "an empty cookie"

# --- its end ---

answers "for a second" 200 POST /gantry/1/tokens '{"name": "s", "rights": ["read"], "expires_in": 1}'
short=$(field token)
over() {
    [ "$(curl -sk -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $short" "$api/2/nodes")" = 401 ]
}
until_true 10 over
succeeds "then it is over" over
(curl -skN --max-time 30 -H "Authorization: Bearer $token" "$api/gantry/1/events" >"$VC/stream"; echo $? >"$VC/stream.rc") &
until_true 10 grep -q bookmark "$VC/stream"
by "$token" "it ends itself" 200 DELETE "/gantry/1/tokens/$id"
by "$token" "and is none at once" 401 GET /2/instances
until_true 10 test -s "$VC/stream.rc"
wait
is "$(cat "$VC/stream.rc")" 0 "its streams end, too"
like "$(cat "$VC/stream")" '^event: end' "and say so"
answers "one that is not there" 404 DELETE "/gantry/1/tokens/$id"
sed -i '/^ro /d' "$users"
by "$only" "without its user it is none" 401 GET /2/instances

# --- sessions ---

answers "nobody has a session without a password" 401 POST /gantry/1/session "" -u rw:wrong
login() { # BODY CURL-OPTION...
    body=$1
    shift
    curl -sk --max-time 30 -c "$VC/cookies" -o "$VC/answer" -w '%{http_code}' -X POST \
        -H 'Content-Type: application/json' --data-binary "$body" "$@" "$api/gantry/1/session"
    out=$(cat "$VC/answer")
}
is "$(login '{"user": "rw", "password": "wrong"}')" 401 "a wrong password"
is "$(login '{"user": "rw", "password": "secret"}')" 200 "a right one"
out=$(cat "$VC/answer")
csrf=$(field csrf)
like "$(cat "$VC/cookies")" '^#HttpOnly_.*TRUE.*gantry_session.gnt_' "is a cookie that no page can read"
session() { # CURL-OPTION...
    curl -sk --max-time 30 -b "$VC/cookies" -o "$VC/answer" -w '%{http_code}' "$@"
}
is "$(session "$api/gantry/1/tokens")" 200 "with which one reads"
is "$(session -X PUT "$api/2/tags?tag=page")" 403 "writes need more"
is "$(session -X PUT -H "X-Gantry-CSRF: x" "$api/2/tags?tag=page")" 403 "than any word"
is "$(session -X PUT -H "X-Gantry-CSRF: $csrf" "$api/2/tags?tag=page")" 200 "the one from the login"
is "$(session -X DELETE -H "X-Gantry-CSRF: $csrf" "$api/gantry/1/session")" 200 "it ends"
is "$(session "$api/gantry/1/tokens")" 401 "and is over"

# --- what is known of all that ---

audit() { # what the stream of audit events has
    curl -skN --max-time 3 -u rw2:secret -H 'Accept: application/x-ndjson' \
        "$api/gantry/1/events?since=1&topic=audit"
}
told() { audit >"$VC/audit"; grep -q '"logout"' "$VC/audit"; }
until_true 20 told
out=$(cat "$VC/audit")
like "$out" '"type":"token_created".*"object":\{"kind":"token","name":"ci"\},"user":"rw"' \
    "it is an event that a token is made"
like "$out" '"type":"token_removed".*"name":"ci"' "and that it is ended"
like "$out" '"type":"login",.*"user":"rw"' "and that a session begins"
like "$out" '"type":"logout",.*"user":"rw"' "and ends"
like "$out" '"name":"rw","type":"login_failed","object":\{"kind":"address","name":"127\.[0-9.]+"\}' \
    "and a wrong password, with its address"
is "$(grep -c login_failed "$VC/audit")" 1 "once a minute"
like "$out" '"type":"submit".*"object":\{"kind":"instance","name":"web1.example.com"\}.*OP_INSTANCE_STARTUP' \
    "a job says what it is about"
like "$(cat "$(root node1)/var/log/ganeti/rapi-daemon.log")" 'wrong password of 127\..*for rw;' \
    "and the log has it, too"
unlike "$out$(cat "$(root node1)/var/log/ganeti/rapi-daemon.log")" "gnt_[0-9a-f]|wrong\"" "with no secret"

# --- the next master ---

answers "one more" 200 POST /gantry/1/tokens '{"name": "n", "rights": ["read"]}'
kept=$(field token)
"$BIN/gnt-vcluster" kill "$VC" node1
succeeds "another node takes over" on node2 gnt-cluster master-failover
api_address=$("$BIN/gnt-vcluster" list "$VC" --format=json |
    python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["master"]][0])'):5080
api=https://$api_address
succeeds "with its remote API" on node2 gantry-rapi
by "$kept" "which knows the token" 200 GET /2/instances
by "$token" "and not the one that was ended" 401 GET /2/instances
tap_done
