#!/bin/sh
# gnt-cluster renew-crypto: new certificates and secrets on all nodes, which go
# on working, also when a step fails on one of them or it was off.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
command -v curl >/dev/null && command -v openssl >/dev/null ||
    skip_all "curl or openssl is not installed"
cluster_start --nodes 4
all="node1 node2 node3 node4"
# node4 is no candidate
m gnt-node modify -f -C no node4 >/dev/null 2>&1
m gnt-cluster modify -C 3 >/dev/null 2>&1
ip=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][1]["ip"])')

data() { echo "$(root "$1")/var/lib/ganeti"; }
sums() { # FILE NODE...: its digests on these nodes, each once
    file=$1
    shift
    for node in "$@"; do sha256sum <"$(data "$node")/$file"; done 2>/dev/null | sort -u
}
differ() { # A B NAME
    [ "$1" != "$2" ]
    tap_point $? "$3" || note "both are $1"
}
renew() { m gnt-cluster renew-crypto -f "$@"; }
works() { # WHEN: a job asks every node, LUXI answers, all is well
    succeeds "$1 jobs run on all nodes" m gnt-debug delay \
        -n node1 -n node2 -n node3 -n node4 0.01
    succeeds "$1 verify is content" m gnt-cluster verify
}
keep_old() { # what the master shows and trusts now
    cp "$(data node1)/client.pem" "$VC/old-client.pem"
    cp "$(data node1)/server.pem" "$VC/old-server.pem"
}
version() { # CLIENT-PEM CA: what node2 says to that client
    curl -sS --max-time 10 -X POST -d '[]' --cert "$1" --cacert "$2" \
        --resolve "ganeti.example.com:1811:$ip" \
        https://ganeti.example.com:1811/version 2>&1
}
temporary() { # what a renewal puts down
    find "$VC"/node* -name '*.pem.new' -o -name trusted.pem -o -name renewal
}

# --- each of them ---
shared() { # FILE OPTION...: a new FILE comes to all nodes
    name=$1
    shift
    old=$(sums "$name" node1)
    succeeds "renew-crypto $1 makes a new $name" renew "$@"
    # shellcheck disable=SC2086
    is "$(sums "$name" $all | wc -l)" 1 "on all nodes the same"
    differ "$(sums "$name" node1)" "$old" "another than before"
}
shared rapi.pem --new-rapi-certificate
like "$out" 'started anew' "the remote API has to read it"
shared hmac.key --new-confd-hmac-key
shared cluster-domain-secret --new-cluster-domain-secret
shared spice.pem --new-spice-certificate
# shellcheck disable=SC2086
is "$(sums spice-ca.pem $all | wc -l)" 1 "its authority comes along"
like "$(openssl verify -CAfile "$(data node2)/spice-ca.pem" \
    "$(data node2)/spice.pem")" OK "and has signed it"
unlike "$(cat "$(data node2)/spice-ca.pem")" 'PRIVATE KEY' "without a key"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$VC/key.pem" \
    -out "$VC/cert.pem" -days 9 -subj /CN=mine >/dev/null 2>&1
cat "$VC/key.pem" "$VC/cert.pem" >"$VC/mine.pem"
echo "a secret of my own" >"$VC/secret"
shared rapi.pem --rapi-certificate="$VC/mine.pem"
is "$(sums rapi.pem node3)" "$(sha256sum <"$VC/mine.pem")" "the one that was given"
shared cluster-domain-secret --cluster-domain-secret="$VC/secret"
shared spice.pem --spice-certificate="$VC/mine.pem" --spice-ca-certificate="$VC/cert.pem"
is "$(sums spice-ca.pem node3)" "$(sha256sum <"$VC/cert.pem")" "with the authority given"
echo spoilt >"$(data node3)/hmac.key"
succeeds "a node has lost one" m gnt-cluster redist-conf
# shellcheck disable=SC2086
is "$(sums hmac.key $all | wc -l)" 1 "redist-conf gives it"
works "afterwards"

# shellcheck disable=SC2086
before=$(sums client.pem $all)
server=$(sums server.pem node1)
succeeds "new node certificates" renew --new-node-certificates
# shellcheck disable=SC2086
is "$(printf '%s\n' "$before" "$(sums client.pem $all)" | sort -u | wc -l)" 8 \
    "are others than before"
is "$(sums server.pem node1)" "$server" "the cluster's stays"
works "with them"
keep_old
is "$(version "$VC/old-client.pem" "$VC/old-server.pem")" '[true,3000000]' \
    "the master is let in by its certificate"
succeeds "a new cluster certificate" renew --new-cluster-certificate
# shellcheck disable=SC2086
is "$(sums server.pem $all | wc -l)" 1 "is the same on all nodes"
differ "$(sums server.pem node1)" "$server" "and another than before"
is "$(version "$(data node1)/client.pem" "$(data node1)/server.pem")" \
    '[true,3000000]' "the new ones are good"
unlike "$(version "$VC/old-client.pem" "$(data node1)/server.pem")" true \
    "the old one of the master is not"
unlike "$(version "$(data node1)/client.pem" "$VC/old-server.pem")" true \
    "and nobody shows the old one of the cluster"
works "with it"
is "$(temporary)" "" "nothing is left lying about"
"$BIN/gnt-vcluster" kill "$VC" >/dev/null
"$BIN/gnt-vcluster" start "$VC" >/dev/null 2>&1
works "after a start of all daemons"

# --- what does not fit ---
fails "two sources" renew --new-rapi-certificate --rapi-certificate="$VC/mine.pem"
fails "half of what SPICE needs" renew --spice-certificate="$VC/mine.pem"
fails "a certificate without its key" renew --rapi-certificate="$VC/cert.pem"
like "$out" 'cert.pem' "names the file"
succeeds "SSH keys are left alone" renew --new-ssh-keys
like "$out" 'not to modify the SSH setup' "where that is so configured"
exec 9>"$(root node1)/var/lock/ganeti-renewal.lock"
flock -n 9
fails "no two at once" renew --new-rapi-certificate
like "$out" 'Another renew-crypto' "it says so"
exec 9>&-
fails "a no is a no" m gnt-cluster renew-crypto --new-cluster-certificate

# --- a node that fails before the switch: all is taken back ---
keep_old
server=$(sums server.pem node1)
mkdir "$(data node3)/trusted.pem"
fails "a node cannot take the new certificate" renew --new-cluster-certificate
like "$out" 'as they were.*node3' "it is named, and what happened to the others"
rmdir "$(data node3)/trusted.pem"
# shellcheck disable=SC2086
is "$(sums server.pem $all)" "$server" "all have the certificate of before"
is "$(temporary)" "" "and nothing else"
works "after that"

# --- one that fails in the switch: both are good until it is completed ---
keep_old
mkdir "$(data node4)/aside"
mv "$(data node4)/client.pem" "$(data node4)/aside"
mkdir "$(data node4)/client.pem" # so that a rename must fail
fails "a node fails in the switch" renew --new-cluster-certificate
like "$out" 'not complete.*node4' "it is named"
rmdir "$(data node4)/client.pem"
mv "$(data node4)/aside/client.pem" "$(data node4)"
rmdir "$(data node4)/aside"
is "$(version "$VC/old-client.pem" "$(data node1)/server.pem")" \
    '[true,3000000]' "the old certificate of the master is still good"
succeeds "half way jobs run on all nodes" m gnt-debug delay \
    -n node1 -n node2 -n node3 -n node4 0.01
fails "verify is not content" m gnt-cluster verify --error-codes
is "$(echo "$out" | grep -c ERROR:)" 1 "for one reason"
like "$out" 'ERROR:ECLUSTERCERT:cluster:None:.*not complete' "which it names"
"$BIN/gnt-vcluster" kill "$VC" >/dev/null
"$BIN/gnt-vcluster" start "$VC" >/dev/null 2>&1
succeeds "also after a start of all daemons" m gnt-debug delay \
    -n node1 -n node2 -n node3 -n node4 0.01
succeeds "it is done again" renew --new-cluster-certificate
unlike "$(version "$VC/old-client.pem" "$(data node1)/server.pem")" true \
    "the old certificate is not good any more"
is "$(temporary)" "" "all are done"
works "after that"

# --- nodes that are off ---
server=$(sums server.pem node1)
"$BIN/gnt-vcluster" kill "$VC" node3 >/dev/null
fails "a node is down" renew --new-cluster-certificate
like "$out" 'Node node3.example.com does not answer.*offline' "says what to do"
is "$(sums server.pem node1)" "$server" "nothing has changed"
m gnt-node modify -f -O yes --auto-promote node3 >/dev/null 2>&1
succeeds "it is marked offline" renew --new-cluster-certificate
like "$out" 'node3.example.com.*readd' "says how it comes back"
"$BIN/gnt-vcluster" start "$VC" node3 >/dev/null 2>&1
fails "as it is it is no help" m gnt-node modify -f -O no node3
succeeds "it comes back" m gnt-node add --readd node3
is "$(sums server.pem node1 node3 | wc -l)" 1 "with the new certificate"
works "then"

# --- secrets stay secret ---
is "$(find "$VC"/node*/var/lib/ganeti \( -name '*.pem' -o -name hmac.key -o \
    -name cluster-domain-secret \) -perm /007)" "" "nobody else may read one"
hidden=$(cat "$(data node1)/hmac.key")
is "$(grep -rlE "PRIVATE KEY|a secret of my own|$hidden" "$VC"/node*/var/log \
    "$VC"/node*/var/lib/ganeti/queue "$VC"/node*/var/lib/ganeti/config.data)" "" \
    "none is in a log, a job or the configuration"
tap_done
