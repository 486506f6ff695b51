#!/bin/sh
# gnt-cluster verify: faults that are brought about on real nodes are found, each
# by its code; those that only a broken node daemon would show are in
# tests/sim/test_verify.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
command -v openssl >/dev/null || skip_all "openssl is not installed"
cluster_start --nodes 3
data() { echo "$(root "$1")/var/lib/ganeti"; }
verify() { m gnt-cluster verify --error-codes "$@" 2>&1 </dev/null; }
running() { echo "$(root "$1")/var/run/ganeti/fake-hypervisor"; }

# finds LINE WHAT [CODES]: verify ends with 1 and has an ERROR like that, and
# nothing else is wrong but what has these codes
finds() {
    out=$(verify)
    status=$?
    like "$out" "  - ERROR:$1" "$2"
    is "$status" 1 "which is a failure"
    codes=$(echo "$out" | sed -n 's/.*  - ERROR:\(E[A-Z]*\):.*/\1/p' | sort -u | tr '\n' ' ')
    is "$codes" "${3-}${1%%:*} " "and the only one"
}
# warns LINE WHAT
warns() {
    out=$(verify)
    status=$?
    like "$out" "  - WARNING:$1" "$2"
    is "$status" 0 "which is no failure"
}

add web1 -t sharedfile -s 8m -n node1 >/dev/null 2>&1
add web2 -t file -s 8m -n node2 >/dev/null 2>&1
succeeds "all is well" verify
unlike "$out" 'ERROR|WARNING' "nothing is found"

# --- disks that are no more ---
lost="$(root node2)/srv/ganeti/file-storage/web9"
mkdir -p "$lost" && : >"$lost/lost"
warns 'ENODEORPHANFILE:node:node2.example.com:file /srv/ganeti/file-storage/web9/lost is no instance' \
    "a file of an interrupted job"
rm -r "$lost"

# --- files ---
cp "$(data node2)/hmac.key" "$VC/kept"
rm "$(data node2)/hmac.key"
finds 'ECLUSTERFILECHECK:cluster:None:File .*hmac.key is missing from node\(s\) node2' \
    "a missing file"
echo other >"$(data node2)/hmac.key"
finds 'ECLUSTERFILECHECK:cluster:None:File .*hmac.key found with 2 different checksums .*node1.example.com, node3.example.com' \
    "another content"
m gnt-cluster redist-conf >/dev/null 2>&1
rm "$(data node3)/ssconf_master_node"
finds 'ECLUSTERFILECHECK:cluster:None:File .*ssconf_master_node is missing' \
    "an ssconf file as well"
m gnt-cluster redist-conf >/dev/null 2>&1
mkdir -p "$(data node1)/rapi"
echo x >"$(data node1)/rapi/users"
finds 'ECLUSTERFILECHECK:cluster:None:File .*rapi/users is optional' \
    "one that all or none have"
rm -r "$(data node1)/rapi"
m gnt-node modify -f -C no node3 >/dev/null 2>&1
finds 'ECLUSTERCFG:cluster:None:Not enough master candidates: actual 2, target 3' \
    "a candidate too few"
m gnt-cluster modify -C 2 >/dev/null 2>&1
cp "$(data node1)/config.data" "$(data node3)/config.data"
finds 'ECLUSTERFILECHECK:cluster:None:File .*config.data should not exist on node\(s\) node3' \
    "a configuration where none should be"
rm "$(data node3)/config.data"

# --- certificates ---
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$VC/key.pem" \
    -out "$VC/cert.pem" -days 3 -subj /CN=mine >/dev/null 2>&1
cat "$VC/key.pem" "$VC/cert.pem" >"$VC/short.pem"
m gnt-cluster renew-crypto -f --rapi-certificate="$VC/short.pem" >/dev/null 2>&1
finds 'ECLUSTERCERT:cluster:None:Certificate .*rapi.pem expires in about' \
    "a certificate that is about to expire"
m gnt-cluster renew-crypto -f --new-rapi-certificate >/dev/null 2>&1
cp "$(data node2)/client.pem" "$VC/client.pem"
cp "$(data node3)/client.pem" "$(data node2)/client.pem"
finds "ECLUSTERCLIENTCERT:cluster:None:The client certificate of master candidate 'node2" \
    "a node with another certificate"
cp "$(data node1)/client.pem" "$(data node3)/client.pem.kept"
cp "$VC/client.pem" "$(data node2)/client.pem"
rm "$(data node3)/client.pem.kept"

# --- nodes ---
mkdir -p "$(root node3)/srv/ganeti/os/extra"
cp -r "$(root node3)/usr/share/ganeti/os/noop/." "$(root node3)/srv/ganeti/os/extra"
finds 'ENODEOS:node:node3.example.com:Extra OS extra' "an OS on one node only"
rm "$(root node3)/srv/ganeti/os/extra/create"
finds 'ENODEOS:node:node3.example.com:Invalid OS extra' "an invalid OS"
rm -r "$(root node3)/srv/ganeti/os/extra"
rm -r "$(root node3)/srv/ganeti/file-storage"
finds 'ENODEFILESTORAGEPATHUNUSABLE:node:node3' "a folder for disks that is gone"
mkdir "$(root node3)/srv/ganeti/file-storage"
mv "$(root node3)/srv/ganeti/shared-file-storage" "$VC/aside"
finds 'ENODESHAREDFILESTORAGEPATHUNUSABLE:node:node3' "a shared one"
mv "$VC/aside" "$(root node3)/srv/ganeti/shared-file-storage"
for node in node1 node2 node3; do
    echo /bin >>"$(root $node)/etc/ganeti/file-storage-paths"
done
finds 'ENODEFILESTORAGEPATHS:node:node1.example.com:Found forbidden file storage paths: /bin' \
    "a folder that disks must not be in"
for node in node1 node2 node3; do
    sed -i '/^.bin$/d' "$(root $node)/etc/ganeti/file-storage-paths"
done
m gnt-group modify --node-parameters=oob_program=/etc/ganeti/oob default >/dev/null 2>&1
finds 'ENODEOOBPATH:node:node1' "a power helper that is not there"
m gnt-group modify --node-parameters=oob_program=default default >/dev/null 2>&1
m gnt-cluster modify --use-external-mip-script=yes >/dev/null 2>&1
finds 'ENODEUSERSCRIPTS:node:node2' "a script that is not there" \
    'ECLUSTERFILECHECK '
m gnt-cluster modify --use-external-mip-script=no >/dev/null 2>&1
m gnt-cluster modify --vg-name=xenvg >/dev/null 2>&1
finds 'ENODELVM:node:node2' "no volume group"
m gnt-cluster modify --vg-name= >/dev/null 2>&1
m gnt-cluster modify --enabled-disk-templates=sharedfile,file,diskless,gluster \
    --ipolicy-disk-templates=sharedfile,file,diskless,gluster >/dev/null 2>&1
finds 'ENODEGLUSTERSTORAGEPATHUNUSABLE:node:node2' "no Gluster"
m gnt-cluster modify --ipolicy-disk-templates=sharedfile,file,diskless \
    --enabled-disk-templates=sharedfile,file,diskless >/dev/null 2>&1
hooks=$(root node2)/etc/ganeti/hooks/cluster-verify-post.d
mkdir -p "$hooks"
printf '#!/bin/sh\necho the room is hot\nexit 1\n' >"$hooks/10heat"
chmod 755 "$hooks/10heat"
finds 'ENODEHOOKS:node:node2.example.com:Script .*10heat failed' "a hook that fails"
like "$out" '      the room is hot' "with what it says"
rm "$hooks/10heat"

# --- instances ---
: >"$(running node3)/stranger"
finds 'ENODEORPHANINSTANCE:node:node3.example.com:node is running unknown instance stranger' \
    "an instance that nobody knows"
mv "$(running node3)/stranger" "$(running node3)/web2"
finds 'EINSTANCEWRONGNODE:instance:web2:instance should not run on node node3' \
    "one on a wrong node"
rm "$(running node3)/web2"
mv "$(running node2)/web2" "$VC/web2"
finds 'EINSTANCEDOWN:instance:web2:instance not running on its primary node node2' \
    "one that does not run"
mv "$VC/web2" "$(running node2)/web2"
disk=$(ls "$(root node2)"/srv/ganeti/file-storage/web2/*)
mv "$disk" "$VC/disk"
finds 'EINSTANCEFAULTYDISK:instance:web2:couldn.t retrieve status for disk/0 on node2' \
    "a disk that is gone"
mv "$VC/disk" "$disk"
m gnt-cluster add-tags htools:iextags:dns >/dev/null 2>&1
m gnt-instance add-tags web1 dns:a >/dev/null 2>&1
add web3 -t diskless -n node1 >/dev/null 2>&1
m gnt-instance add-tags web3 dns:a >/dev/null 2>&1
warns 'EEXTAGS:node:node1.example.com:.*dns:a' "tags that exclude each other"
m gnt-instance remove -f web3 >/dev/null 2>&1
m gnt-group modify --ipolicy-disk-templates=sharedfile default >/dev/null 2>&1
warns 'EINSTANCEPOLICY:instance:web2:' "an instance outside of the policy"
m gnt-group modify --ipolicy-disk-templates=default default >/dev/null 2>&1 ||
    m gnt-group modify --ipolicy-disk-templates=sharedfile,file,diskless default >/dev/null 2>&1
m gnt-node modify -f -O yes node2 --auto-promote >/dev/null 2>&1
finds 'EINSTANCEBADNODE:instance:web2:.*offline node node2' "one on a node that is offline"
like "$out" 'NOTICE: 1 offline node' "which is noted"
m gnt-node add --readd node2 >/dev/null 2>&1

# --- nodes that are away ---
"$BIN/gnt-vcluster" kill "$VC" node2 >/dev/null
out=$(verify)
like "$out" 'ERROR:ENODERPC:node:node2.example.com:while contacting node' "a node that does not answer"
like "$out" "ERROR:ENODENET:node:node3.example.com:tcp communication with node 'node2" \
    "which the others cannot reach either"
like "$out" 'ERROR:ENODERPC:node:node2.example.com:instance web2, connection to primary' \
    "and its instances are named"
"$BIN/gnt-vcluster" start "$VC" node2 >/dev/null 2>&1

# --- the configuration, changed by hand ---
# With the note that such a configuration was written here: a master that ran
# with it goes on with it.
edit() { # PYTHON: a statement about the configuration c
    "$BIN/gnt-vcluster" stop "$VC" node1 masterd >/dev/null
    for node in node1 node2 node3; do
        [ ! -e "$(data $node)/config.data" ] || python3 - "$(data $node)/config.data" "$1" <<'END'
import hashlib, json, os, sys
c = json.load(open(sys.argv[1]))
nodes = {n["name"].split(".")[0]: n for n in c["nodes"].values()}
instances = {i["name"]: i for i in c["instances"].values()}
exec(sys.argv[2])
text = json.dumps(c)
with open(sys.argv[1], "w") as file:
    file.write(text)
with open(os.path.dirname(sys.argv[1]) + "/config-digest", "w") as file:
    print(c["serial_no"], os.stat(sys.argv[1]).st_mtime_ns,
          hashlib.sha256(text.encode()).hexdigest(), file=file)
END
    done
    "$BIN/gnt-vcluster" start "$VC" node1 masterd >/dev/null 2>&1
}
until_true 20 sh -c "$BIN/gnt-vcluster exec $VC node1 -- gnt-cluster verify"
cp "$(data node1)/config.data" "$VC/config"
edit 'instances["web2"]["primary_node"] = "0" * 8 + "-0000-0000-0000-" + "0" * 12'
out=$(verify)
like "$out" 'ERROR:ECLUSTERDANGLINGINST:node:None:.*web2' "an instance on no node"
home=$(python3 -c 'import json, sys
print([i["primary_node"] for i in json.load(open(sys.argv[1]))["instances"].values()
       if i["name"] == "web2"][0])' "$VC/config")
edit 'instances["web2"]["primary_node"] = "'"$home"'"'
edit 'nodes["node3"]["group"] = "0" * 8 + "-0000-0000-0000-" + "0" * 12'
out=$(verify)
like "$out" 'ERROR:ECLUSTERDANGLINGNODES:node:None:.*node3.example.com \(\)' "a node of no group"
edit 'nodes["node3"]["group"] = nodes["node1"]["group"]'
# The master has just been started: a candidate may not have its copies yet.
until_true 20 sh -c "$BIN/gnt-vcluster exec $VC node1 -- gnt-cluster verify"
succeeds "all is well again" verify

# --- options ---
mv "$(running node2)/web2" "$VC/web2"
succeeds "an error can be ignored" verify --ignore-errors=EINSTANCEDOWN
like "$out" 'WARNING:EINSTANCEDOWN:' "it is a warning then"
fails "only one that there is" verify --ignore-errors=ENOSUCH
succeeds "another group" m gnt-group add empty
succeeds "is looked at alone" verify --node-group=empty
like "$out" 'Empty node group' "and is empty"
unlike "$out" 'EINSTANCEDOWN|Verifying cluster config' "nothing else is looked at"
fails "the group with the fault" verify -g default
fails "a group that is none" verify -g nosuch
mv "$VC/web2" "$(running node2)/web2"
fails "errors can be simulated" verify --debug-simulate-errors
echo "$out" | sed -n 's/.*  - [A-Z]*:\(E[A-Z0-9]*\):.*/\1/p' | sort -u >"$VC/codes"
# What Ganeti 3.0.2 says there, with an instance of one shared file.
missing=
for code in ECLUSTERCERT ECLUSTERDANGLINGINST ECLUSTERDANGLINGNODES \
    ECLUSTERFILECHECK EEXTAGS EINSTANCEBADNODE EINSTANCEFAULTYDISK \
    EINSTANCELAYOUT EINSTANCEPOLICY ENODEFILECHECK ENODEFILESTORAGEPATHS \
    ENODEFILESTORAGEPATHUNUSABLE ENODEHOOKS ENODEHV ENODENET ENODEOS ENODERPC \
    ENODESETUP ENODESHAREDFILESTORAGEPATHUNUSABLE ENODESSH ENODETIME \
    ENODEUSERSCRIPTS ENODEVERSION; do
    grep -qx "$code" "$VC/codes" || missing="$missing $code"
done
is "$missing" "" "all that Ganeti simulates"
unlike "$out" '\(null\)' "all with their texts"
succeeds "-v says more" verify -v
like "$out" 'Verifying node node1.example.com \(master\)' "the nodes"
like "$out" 'Verifying instance web1' "the instances"
tap_done
