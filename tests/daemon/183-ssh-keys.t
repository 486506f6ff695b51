#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Root's SSH keys of the nodes, as files: made, handed out, withdrawn, renewed,
# and found by verify where they are not right.  Whether one can log in with
# them is in 184.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "hosts have no SSH"
command -v ssh-keygen >/dev/null || skip_all "openssh-client is not installed"
real=$(cksum "${HOME:-/root}"/.ssh/* 2>/dev/null)
cluster_start --nodes 3 --ssh
all="node1 node2 node3"
ssh_dir() { echo "$(root "$1")/root/.ssh"; }
lets_in() { # NODE: whom, by the names in the comments
    cut -d' ' -f3 "$(ssh_dir "$1")/authorized_keys" |
        sed 's/^root@\([^.]*\).*/\1/' | sort | tr '\n' ' '
}
all_let_in() { # NAMES WHAT
    for node in $all; do is "$(lets_in "$node")" "$1" "$2: $node"; done
}
public() { # FILE NODE...: how many different ones there are
    file=$1
    shift
    for node in "$@"; do cksum <"$(root "$node")/var/lib/ganeti/$file"; done | sort -u | wc -l
}
pairs() { # NODE: the files of keys
    (cd "$(ssh_dir "$1")" && echo id_* gantry*) | sed 's/ *gantry\*//'
}
finds() { # TEXT WHAT
    out=$(m gnt-cluster verify --error-codes 2>&1)
    like "$out" "ERROR:ENODESSH:node:$1" "$2"
}
sound() { succeeds "${1-verify is content}" m gnt-cluster verify --verify-ssh-clutter; }

# --- a new cluster ---
all_let_in "node1 node2 node3 " "all candidates may log in"
is "$(pairs node2)" "id_ecdsa id_ecdsa.pub" "each node has a pair of keys"
is "$(stat -c %a "$(ssh_dir node2)" "$(ssh_dir node2)"/id_ecdsa \
    "$(ssh_dir node2)/authorized_keys" | tr '\n' ' ')" "700 600 600 " "for root alone"
# shellcheck disable=SC2086
is "$(public ganeti_pub_keys $all)" 1 "the nodes know the same keys"
is "$(cut -d' ' -f1 "$(root node3)/var/lib/ganeti/ganeti_pub_keys" | sort)" \
    "$(m gnt-node list --no-headers -o uuid | sort)" "by their nodes' UUIDs"
is "$(grep -rls 'PRIVATE KEY' "$VC"/node*/var/log "$VC"/node*/var/lib/ganeti/queue)" "" \
    "private ones are in no log and no job"
sound
# --- roles ---
ssh-keygen -q -t ed25519 -N '' -C me@home -f "$VC/mine"
printf '# mine\nfrom="10.0.0.1" %s\n%s' "$(cat "$VC/mine.pub")" "$(cat "$VC/mine.pub")" >"$VC/lines"
cat "$VC/lines" >>"$(ssh_dir node2)/authorized_keys"
m gnt-cluster modify -C 2 >/dev/null 2>&1
m gnt-node modify -C no node3 >/dev/null 2>&1
for node in node1 node3; do
    is "$(lets_in $node)" "node1 node2 " "one that is no candidate any more may not: $node"
done
is "$(tail -c "$(wc -c <"$VC/lines")" "$(ssh_dir node2)/authorized_keys")" "$(cat "$VC/lines")" \
    "lines of others are as they were"
is "$(pairs node3)" "id_ecdsa id_ecdsa.pub" "its own keys stay"
m gnt-node modify -O yes --auto-promote node2 >/dev/null 2>&1
is "$(lets_in node1)" "node1 node3 " "one that is offline may not, who takes its place may"
sound "what is offline is no fault"
m gnt-node modify -f -O no node2 >/dev/null 2>&1
cp "$VC/lines" "$(ssh_dir node2)/authorized_keys"
finds 'node2.example.com:the SSH key of master candidate node1.example.com is missing' \
    "verify finds a key that is missing"
succeeds "redist-conf puts it back" m gnt-cluster redist-conf
m gnt-cluster modify -C 3 >/dev/null 2>&1
is "$(lets_in node1)" "node1 node2 node3 " "a larger pool lets in more"
sound

# --- faults ---
old=$(grep node3 "$(ssh_dir node1)/authorized_keys")
sed 's/AAAA.*= /AAAAE2VjZHNh /' "$(ssh_dir node1)/authorized_keys" | head -1 \
    >>"$(ssh_dir node1)/authorized_keys"
finds 'node1.example.com:authorized_keys has a key of the cluster that belongs to no' \
    "one too many"
mv "$(ssh_dir node3)/id_ecdsa" "$VC/kept"
finds 'node3.example.com:there is no SSH key id_ecdsa' "a node without"
chmod 644 "$VC/kept"
cp "$VC/kept" "$(ssh_dir node3)/id_ecdsa"
finds 'node3.example.com:the SSH key id_ecdsa .*others than root may read' \
    "one that all can read"
chmod 600 "$(ssh_dir node3)/id_ecdsa"
rm "$(root node2)/var/lib/ganeti/ganeti_pub_keys"
finds 'node2.example.com:.*ganeti_pub_keys is missing' "a list that is missing"
m gnt-cluster redist-conf >/dev/null 2>&1
sound "redist-conf mends all of that"
mv "$(ssh_dir node2)/authorized_keys" "$VC/elsewhere"
ln -s "$VC/elsewhere" "$(ssh_dir node2)/authorized_keys"
before=$(cksum <"$VC/elsewhere")
finds 'node2.example.com:.*authorized_keys is a symbolic link' "a link in its place"
succeeds "which redist-conf" m gnt-cluster redist-conf
like "$out" 'node2.example.com.*symbolic link' "names"
is "$(cksum <"$VC/elsewhere") $(readlink "$(ssh_dir node2)/authorized_keys")" \
    "$before $VC/elsewhere" "and leaves alone"
mv "$VC/elsewhere" "$(ssh_dir node2)/authorized_keys"
sound

# --- new keys ---
succeeds "all get new ones" m gnt-cluster renew-crypto -f --new-ssh-keys
all_now=$(lets_in node1)
is "$all_now" "node1 node2 node3 " "one each"
unlike "$(cat "$(ssh_dir node1)/authorized_keys")" "$(echo "$old" | cut -d' ' -f2 | cut -c60-100)" \
    "the old are let in no more"
succeeds "of another type" m gnt-cluster renew-crypto -f --new-ssh-keys --ssh-key-type=rsa
is "$(pairs node3)" "id_rsa id_rsa.pub" "those of before are gone"
like "$(m gnt-cluster info)" 'ssh_key_bits: 2048' "with as many bits as is usual"
fails "a size that there is not" m gnt-cluster renew-crypto -f --new-ssh-keys \
    --ssh-key-type=ecdsa --ssh-key-bits=2048
like "$out" '256, 384 or 521 bits' "is refused"
sound
rm "$(ssh_dir node3)/id_rsa"
mkdir "$(ssh_dir node3)/id_rsa" # nothing can take this place
touch "$(ssh_dir node3)/id_rsa/x"
fails "a node that cannot switch" m gnt-cluster renew-crypto -f --new-ssh-keys
like "$out" 'not complete: .*node3.example.com' "is named"
is "$(lets_in node1)" "node1 node1 node2 node2 node3 node3 " \
    "old and new keys are good"
finds 'node3.example.com:a renewal of SSH keys is not complete' "verify tells of it"
rm -r "$(ssh_dir node3)/id_rsa"
succeeds "again" m gnt-cluster renew-crypto -f --new-ssh-keys
is "$(lets_in node1)" "node1 node2 node3 " "completes it"
sound

# --- the end of a node and of the cluster ---
cp "$VC/mine" "$(ssh_dir node3)/id_ed25519"
cp "$VC/mine.pub" "$(ssh_dir node3)/id_ed25519.pub"
echo "$(cat "$VC/mine.pub") again" >>"$(ssh_dir node3)/authorized_keys"
m gnt-node remove node3 >/dev/null
is "$(lets_in node1)" "node1 node2 " "a node that is removed may not log in"
is "$(pairs node3)" "id_ed25519 id_ed25519.pub" "and keeps only what is its own"
is "$(cat "$(ssh_dir node3)/authorized_keys")" "$(cat "$VC/mine.pub") again" \
    "nobody of the cluster may log in there"
on node2 gnt-cluster master-failover >/dev/null 2>&1
is "$(on node2 gnt-cluster getmaster)" node2.example.com "after a failover"
succeeds "the new master hands out keys" on node2 gnt-cluster renew-crypto -f --new-ssh-keys
succeeds "and all is well" on node2 gnt-cluster verify
is "$(cksum "${HOME:-/root}"/.ssh/* 2>/dev/null)" "$real" "the machine's own keys were not touched"
tap_done
