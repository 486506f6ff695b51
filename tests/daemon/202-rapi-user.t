#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# On a host the remote API runs as a user of its own, who can do all that it has
# to, and nothing else.
ON_HOSTS=1
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
getent passwd gnt-rapi >/dev/null || skip_all "there is no user gnt-rapi"
cluster_start --nodes 2
data=/var/lib/ganeti
logs=/var/log/ganeti

put_users() { # NODE TEXT
    on "$1" sh -c 'mkdir -p -m 750 $1/rapi && chown gnt-rapi $1/rapi &&
        printf "%s\n" "$2" >$1/rapi/users && chown gnt-rapi $1/rapi/users &&
        chmod 600 $1/rapi/users' sh "$data" "$2"
}
put_users node1 "rw secret read,write"
succeeds "it starts as root" m "$BIN/gantry-rapi"
pid=$(m cat /var/run/ganeti/ganeti-rapi.pid)
is "$(stat -c %U "/proc/$pid")" gnt-rapi "and becomes gnt-rapi"
is "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status")" 0000000000000000 \
    "without capabilities"
fails "it cannot read the cluster's key" \
    m setpriv --reuid gnt-rapi --regid gnt-rapi --init-groups cat "$data/server.pem"
fails "nor the configuration's secrets" \
    m setpriv --reuid gnt-rapi --regid gnt-rapi --init-groups cat "$data/hmac.key"
api() { # CURL-OPTION...
    m curl -sk --max-time 30 -u rw:secret "$@"
}
like "$(api https://127.0.0.1:5080/2/nodes)" 'node2' "it reaches the master"
like "$(api -X PUT 'https://127.0.0.1:5080/2/tags?tag=a')" '^[0-9]+$' "also for jobs"
put_users node1 "rw other read,write"
like "$(api -X PUT 'https://127.0.0.1:5080/2/tags?tag=b')" Unauthorized \
    "changed users are read"
put_users node1 "rw secret read,write"

m mv "$logs/rapi-access.log" "$logs/rapi-access.log.1"
m kill -HUP "$pid"
until_true 10 m test -f "$logs/rapi-access.log"
tap_point $? "SIGHUP opens a new log"

print_of() {
    m sh -c 'echo | openssl s_client -connect 127.0.0.1:5080 2>/dev/null |
        openssl x509 -noout -fingerprint'
}
old=$(print_of)
m gnt-cluster renew-crypto -f --new-rapi-certificate >/dev/null 2>&1
is "$(m stat -c %U "$data/rapi.pem")" gnt-rapi "a renewed certificate is its own"
is_new() { [ "$(print_of)" != "$old" ]; }
until_true 20 is_new
tap_point $? "which it takes by itself"

succeeds "redist-conf gives all nodes the users" m gnt-cluster redist-conf
is "$(on node2 cat "$data/rapi/users")" "rw secret read,write" "as they are"
is "$(on node2 stat -c '%U %a' "$data/rapi/users")" "gnt-rapi 640" "and theirs who may read"

m kill "$pid"
gone() { ! alive "$pid"; }
until_true 10 gone
is "$(m ls /var/run/ganeti | grep rapi)" "" "its pid file goes with it"
tap_done
