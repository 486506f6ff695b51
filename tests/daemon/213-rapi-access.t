#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who gets at the remote API and how: a site's own certificate, reverse proxies,
# passwords of every form, and a daemon that wants one for everything.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
home=$(root node1)
logs=$home/var/log/ganeti
users=$home/var/lib/ganeti/rapi/users
address=${api_address%:*}

# again OPTION...: another daemon in place of the one that runs
again() {
    "$BIN/gnt-vcluster" stop "$VC" node1 rapi
    GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" "$@"
}
status_of() { # CURL-OPTION...
    curl -sk --max-time 30 -o /dev/null -w '%{http_code}' "$@"
}

# --- passwords ---

hash=$(printf 'ha:Ganeti Remote API:geheim' | md5sum | cut -c1-32)
yes=$(perl -e 'print crypt("geheim", q($y$j9T$saltsaltsalt$))')
{
    echo "ha {HA1}$hash read,write"
    echo "ye {CRYPT}$yes read,write"
    echo "cl {cleartext}geheim read,write"
    echo "no {NEW}geheim read,write"
} >>"$users"
for user in ha ye cl; do
    is "$(status_of -u "$user:geheim" -X DELETE "$api/2/jobs/99999")" 200 \
        "a password of the form of $user"
    is "$(status_of -u "$user:Geheim" -X DELETE "$api/2/jobs/99999")" 401 \
        "and another one"
    is "$(status_of -u "$user:geheim" -X DELETE "$api/2/jobs/99999")" 200 \
        "which is forgiven"
done
is "$(status_of -u no:geheim -X DELETE "$api/2/jobs/99999")" 401 \
    "an unknown form is no password"
is "$(status_of -u "ha:{HA1}$hash" -X DELETE "$api/2/jobs/99999")" 401 \
    "what stands in the file is none"

# --- nothing without a password ---

again --require-authentication
ask GET /openapi.json "" -u ro:secret
is "$status" 200 "with a password there is all"
python3 - "$VC/answer" >"$VC/operations" <<'END'
import json, re, sys
for path, item in json.load(open(sys.argv[1]))["paths"].items():
    for method in item:
        print(method.upper(), re.sub(r"{(job|disk)}", "1",
                                     re.sub(r"{(?!job|disk)\w+}", "x", path)))
END
while read -r method path; do
    printf '%s %s %s\n' "$(status_of -X "$method" "$api$path")" "$method" "$path"
done <"$VC/operations" >"$VC/statuses"
is "$(grep -vc '^401 ' "$VC/statuses")" 0 "without one not a single resource"
ok_lines=$(wc -l <"$VC/statuses")
[ "$ok_lines" -gt 90 ]
tap_point $? "of $ok_lines"
grep -v '^401 ' "$VC/statuses" | sed 's/^/# /'
while read -r method path; do
    printf '%s %s %s\n' "$(status_of -H 'Cookie: a=b' -X "$method" "$api$path")" "$method" "$path"
done <"$VC/operations" >"$VC/statuses"
is "$(grep -vc '^401 ' "$VC/statuses")" 0 "nor with a cookie that is no session's"
is "$(status_of -X POST -H 'Content-Type: application/json' \
    -d '{"user":"rw","password":"secret"}' "$api/gantry/1/session")" 200 "a page may log in"
is "$(status_of -X POST -H 'Content-Type: application/json' \
    -d '{"user":"rw","password":"x"}' "$api/gantry/1/session")" 401 "with a password"
is "$(status_of "$api/2/nosuch")" 401 "nor one that there is not"
is "$(status_of -X FROB "$api/2/info")" 401 "nor a method"

# --- a certificate of the site ---

print_of() {
    echo | openssl s_client -connect "$api_address" 2>/dev/null |
        openssl x509 -noout -fingerprint 2>/dev/null
}
make() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj "/CN=$1" -keyout "$VC/$1.key" -out "$VC/$1.crt" 2>/dev/null
}
make one
make two
again -C "$VC/one.crt" -K "$VC/one.key"
is "$(print_of)" "$(openssl x509 -noout -fingerprint -in "$VC/one.crt")" \
    "a certificate and its key are taken"
cp "$VC/two.key" "$VC/one.key"
cp "$VC/two.crt" "$VC/one.crt"
is_two() { [ "$(print_of)" = "$(openssl x509 -noout -fingerprint -in "$VC/two.crt")" ]; }
until_true 20 is_two
tap_point $? "and new ones in their place"
cp "$home/var/lib/ganeti/rapi.pem" "$VC/one.crt"
kill -HUP "$(cat "$home/var/run/ganeti/ganeti-rapi.pid")"
kept() { grep -q 'keeping the old certificate' "$logs/rapi-daemon.log"; }
until_true 20 kept
is_two
tap_point $? "a key that does not fit changes nothing"
"$BIN/gnt-vcluster" stop "$VC" node1 rapi
fails "and starts nothing" on node1 "$BIN/gantry-rapi" -C "$VC/one.crt" -K "$VC/one.key"
fails "nor does a certificate without a key" on node1 "$BIN/gantry-rapi" -C "$VC/two.crt"
cat "$VC/two.crt" "$VC/two.key" >"$VC/both.pem"
again -C "$VC/both.pem"
is_two
tap_point $? "both may be in one file"

# --- behind a proxy ---

net=${address%.*}.0/24
again --no-ssl --trusted-proxy "$net" --trusted-proxy 192.0.2.1
http=http://$api_address
by() { # CURL-OPTION...: a request of the proxy
    curl -s --max-time 30 -o /dev/null -w '%{http_code}' --interface "$address" "$@"
}
last() {
    tail -1 "$logs/rapi-access.log" | cut -d' ' -f1
}
by -H 'X-Forwarded-For: 198.51.100.7' "$http/version" >/dev/null
is "$(last)" 198.51.100.7 "the client is who the proxy says"
by -H 'X-Forwarded-For: 127.0.0.1' -H 'X-Forwarded-For: 198.51.100.8' \
    "$http/version" >/dev/null
is "$(last)" 198.51.100.8 "not who he says himself"
by -H 'X-Forwarded-For: 198.51.100.9, 192.0.2.1' "$http/version" >/dev/null
is "$(last)" 198.51.100.9 "also behind two of them"
by -H 'X-Forwarded-For: x" "GET' "$http/version" >/dev/null
is "$(last)" "$address" "what is no address is none"
for _ in 1 2 3 4 5 6; do
    by -H 'X-Forwarded-For: 198.51.100.66' -u rw:wrong "$http/2/nodes" &
done >"$VC/statuses"
wait
begin=$(date +%s%N)
is "$(by -H 'X-Forwarded-For: 198.51.100.67' -u rw:secret "$http/2/nodes")" 200 \
    "who guesses slows down himself"
took=$((($(date +%s%N) - begin) / 1000000))
[ "$took" -lt 3000 ]
tap_point $? "and nobody else behind the proxy ($took ms)"
token=$(curl -s --max-time 30 -u rw:secret -H 'Content-Type: application/json' \
    -d '{"name": "ci", "rights": ["read"]}' "$http/gantry/1/tokens" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')
begin=$(date +%s%N)
for _ in 1 2 3 4 5 6; do
    by -H 'X-Forwarded-For: 198.51.100.68' -u rw:wrong "$http/2/nodes" >"$VC/guess"
    by -H 'X-Forwarded-For: 198.51.100.68' -H "Authorization: Bearer $token" "$http/2/nodes" \
        >"$VC/token"
done
is "$(cat "$VC/guess" "$VC/token")" 401200 "a token is no password"
took=$((($(date +%s%N) - begin) / 1000000))
[ "$took" -ge 3000 ]
tap_point $? "and makes no wrong one forgotten ($took ms)"
fails "a proxy that is none" on node1 "$BIN/gantry-rapi" --trusted-proxy proxy
fails "or a network" on node1 "$BIN/gantry-rapi" --trusted-proxy 10.0.0.0/33

# --- figures of the last day ---

again --samples=1
has_samples() {
    ask GET '/gantry/1/samples?name=cluster/nodes,jobs/running&since=0'
    case $out in
    *'"cluster/nodes": [3.0, '*) return 0 ;;
    esac
    return 1
}
until_true 20 has_samples
tap_point $? "figures are kept"
like "$out" '"jobs/running": \[0\.0' "of all that is asked for"
answers "their names are told" 200 GET /gantry/1/samples
like "$out" '"node/node1.example.com/memory_free"' "nodes, too"
answers "a time that is none" 400 GET '/gantry/1/samples?name=a&since=-1'
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
is_unknown() {
    ask GET "/gantry/1/samples?name=cluster/nodes&since=$(($(date +%s) - 1))"
    case $out in
    *': [null'*) return 0 ;;
    esac
    return 1
}
until_true 20 is_unknown
tap_point $? "without a master they are unknown"
"$BIN/gnt-vcluster" start "$VC" node1 masterd
is "$(cat "$logs"/rapi-*.log | grep -c -e geheim -e "$hash" -e 'j9T')" 0 "no password is in a log"
tap_done
