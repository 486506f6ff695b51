#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The cluster's certificate has ended: the cluster still works, says so, and
# gnt-cluster renew-crypto makes new ones.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
command -v openssl >/dev/null || skip_all "openssl is not installed"
cluster_start --nodes 3
data() { echo "$(root "$1")/var/lib/ganeti"; }

# The certificate of a file, with the same key, as it were of long ago.
ended() { # PEM
    dir=$VC/ended
    mkdir -p "$dir"
    : >"$dir/index"
    echo 1234 >"$dir/serial"
    # It names the key in the certificates of the nodes.
    id=$(openssl x509 -in "$1" -noout -ext subjectKeyIdentifier | sed -n '$s/ *//gp')
    cat >"$dir/conf" <<EOF
[ca]
default_ca = own
[own]
database = $dir/index
serial = $dir/serial
new_certs_dir = $dir
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
basicConstraints = critical,CA:TRUE
subjectKeyIdentifier = $id
EOF
    openssl pkey -in "$1" -out "$dir/key" &&
        openssl x509 -x509toreq -in "$1" -signkey "$dir/key" -out "$dir/request" &&
        openssl ca -batch -selfsign -preserveDN -notext -config "$dir/conf" \
            -keyfile "$dir/key" -in "$dir/request" -out "$dir/crt" \
            -startdate 20200101000000Z -enddate 20250101000000Z
    cat "$dir/key" "$dir/crt"
}

"$BIN/gnt-vcluster" kill "$VC" >/dev/null
ended "$(data node1)/server.pem" >"$VC/server.pem" 2>"$VC/openssl"
like "$(openssl x509 -in "$VC/server.pem" -noout -enddate)" 2025 "the certificate has ended" ||
    note "$(cat "$VC/openssl")"
for node in node1 node2 node3; do
    cp "$VC/server.pem" "$VC/new"
    chmod 400 "$VC/new"
    mv -f "$VC/new" "$(data "$node")/server.pem"
done
succeeds "all daemons start" "$BIN/gnt-vcluster" start "$VC"
succeeds "jobs run on all nodes all the same" m gnt-debug delay \
    -n node1 -n node2 -n node3 0.01
like "$(cat "$(root node1)"/var/log/ganeti/node-daemon.log)" 'HAS ENDED' \
    "the node daemons' log says so"
fails "verify says so, too" m gnt-cluster verify
like "$out" 'server.pem.*expired' "naming the file"
succeeds "new certificates" m gnt-cluster renew-crypto -f \
    --new-cluster-certificate --new-node-certificates
succeeds "then verify is content" m gnt-cluster verify
is "$(for node in node1 node2 node3; do sha256sum <"$(data "$node")/server.pem"; done |
    sort -u | wc -l)" 1 "all nodes have the same"
unlike "$(openssl x509 -in "$(data node3)/server.pem" -noout -enddate)" 2025 \
    "that is new"
tap_done
