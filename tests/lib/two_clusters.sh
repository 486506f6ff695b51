# SPDX-License-Identifier: BSD-2-Clause
# A second virtual cluster beside the one of cluster.sh, both with a remote API:
# source it after rapi.sh.  $there_address is the other one's host and port.

two_clusters_end() {
    "$BIN/gnt-vcluster" destroy "$there" >/dev/null 2>&1
    rm -rf "$there"
    cluster_end
}

# two_clusters_start: with an OS whose scripts copy the disk
two_clusters_start() {
    rapi_cluster --nodes 2
    there=$(mktemp -d /tmp/gvc.XXXXXX)
    trap two_clusters_end EXIT
    "$BIN/gnt-vcluster" create "$there" --nodes 1 --rapi \
        --user rw:secret:read,write >"$VC/there.log" 2>&1 || {
        echo "Bail out! the other cluster did not start"
        note "$(cat "$VC/there.log")"
        exit 1
    }
    there_address=$("$BIN/gnt-vcluster" list "$there" --format=json |
        python3 -c 'import json, sys
print(json.load(sys.stdin)["nodes"][0]["ip"])'):5080
    for os_root in "$(root node1)" "$(root node2)" "$(root_there node1)"; do
        copying_os "$os_root/usr/share/ganeti/os"
    done
}

root_there() { echo "$there/$1.example.com"; }

# there COMMAND...: on the master of the other cluster
there() { "$BIN/gnt-vcluster" exec "$there" node1 -- "$@"; }

copying_os() { # FOLDER
    cp -r "$1/noop" "$1/copy"
    cat >"$1/copy/export" <<'SCRIPT'
#!/bin/sh
# Its output ends long before it fails: the other disk is there by then.
broken=$(dirname "$0")/broken
[ -e "$broken" ] && [ "$EXPORT_INDEX" = 0 ] && {
    echo 'no way out' >&2
    exec >&-
    until [ -e "$(cat "$broken")" ]; do sleep 0.05; done
    exit 3
}
stat -Lc %s "$EXPORT_DEVICE" >&"$EXP_SIZE_FD"
cat "$EXPORT_DEVICE"
SCRIPT
    cat >"$1/copy/import" <<'SCRIPT'
#!/bin/sh
[ -e "$(dirname "$0")/broken" ] && { cat >/dev/null; echo 'no way in' >&2; exit 3; }
dd of="$IMPORT_DEVICE" bs=64k conv=notrunc && : >"$(dirname "$0")/came.$IMPORT_INDEX"
SCRIPT
    printf '#!/bin/sh\necho "$OLD_INSTANCE_NAME $INSTANCE_NAME" >"%s/renamed"\n' \
        "$VC" >"$1/copy/rename"
}

# share_secret: both clusters get the same one, which is in $VC/secret
share_secret() {
    head -c 20 /dev/urandom | sha1sum | cut -c1-40 >"$VC/secret"
    m gnt-cluster renew-crypto -f --cluster-domain-secret "$VC/secret" &&
        there gnt-cluster renew-crypto -f --cluster-domain-secret "$VC/secret"
}

sum() { sha256sum <"$1" | cut -c1-64; }
disk_of() { # NODE INSTANCE N
    echo "$(root "$1")/srv/ganeti/file-storage/$2/"*.disk"$3"
}
disk_there() { # INSTANCE N
    echo "$(root_there node1)/srv/ganeti/file-storage/$1/"*.disk"$2"
}

# move_back OPTION...: by move-instance, from the other cluster to the first
move_back() {
    echo secret >"$VC/password"
    timeout 120 "$BIN/move-instance" --src-username=rw --dest-username=rw \
        --src-password-file="$VC/password" --dest-password-file="$VC/password" \
        --src-ca-file="$(root_there node1)/var/lib/ganeti/rapi.pem" \
        --dest-ca-file="$(root node1)/var/lib/ganeti/rapi.pem" \
        "${there_address%:*}" "${api_address%:*}" "$@"
}

# Keys of moves on any node.
keys_left() {
    find "$VC" "$there" -path '*/run/ganeti/crypto/x509-*' -name pem
}
