#!/bin/sh
# gnt-backup: instances into files on a node, and new ones from them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

# An OS whose scripts copy the whole disk, and say what they were told.
for node in node1 node2; do
    os=$(root $node)/usr/share/ganeti/os/copy
    cp -r "$(root $node)/usr/share/ganeti/os/noop" "$os"
    printf 'a secret\nb another\n' >"$os/parameters.list"
    cat >"$os/export" <<'SCRIPT'
#!/bin/sh
[ -e "$(dirname "$0")/broken" ] && { echo 'no way out' >&2; head -c 300000 /dev/zero; exit 3; }
[ -e "$(dirname "$0")/slow" ] && sleep 300
stat -Lc %s "$EXPORT_DEVICE" >&"$EXP_SIZE_FD"
[ -e "$(dirname "$0")/lost" ] && kill -PIPE $$
cat "$EXPORT_DEVICE"
SCRIPT
    cat >"$os/import" <<'SCRIPT'
#!/bin/sh
[ -e "$(dirname "$0")/deaf" ] && { echo 'cannot hear' >&2; exit 4; }
[ -e "$(dirname "$0")/hasty" ] && exit 0
exec dd of="$IMPORT_DEVICE" bs=64k conv=notrunc
SCRIPT
    printf '#!/bin/sh\necho "$OLD_INSTANCE_NAME $INSTANCE_NAME" >"%s/renamed"\n' \
        "$VC" >"$os/rename"
done
oses() { echo "$(root "$1")/usr/share/ganeti/os/copy/$2"; }

disk() { # NODE INSTANCE N
    echo "$(root "$1")/srv/ganeti/file-storage/$2/"*.disk"$3"
}
exports() { echo "$(root "$1")/var/lib/ganeti/export"; }
status() { m gnt-instance list --no-headers -o status "$1"; }
sum() { sha256sum <"$1" | cut -c1-64; }

m gnt-instance add --no-name-check --no-ip-check -o copy -t file \
    --disk 0:size=12m,name=root --disk 1:size=4m -n node1 -B vcpus=2,memory=96 \
    -O b=none --net 0:mac=aa:00:00:01:02:03,link=br7 --tags=blue,red web1 >/dev/null
head -c 5000000 /dev/urandom | dd of="$(disk node1 web1 0)" conv=notrunc 2>/dev/null
printf tail | dd of="$(disk node1 web1 1)" bs=1 seek=4194300 conv=notrunc 2>/dev/null
sum0=$(sum "$(disk node1 web1 0)")
sum1=$(sum "$(disk node1 web1 1)")

fails "an instance that runs" m gnt-backup export -n node2 web1
like "$out" 'long-sleep' "has to be allowed to sleep"
is "$(status web1)" running "and was not touched"
succeeds "it is exported" m gnt-backup export -n node2 --long-sleep web1
like "$out" 'Finalizing export on node2' "to a node"
is "$(status web1)" running "and runs again"
is "$(m gnt-backup list --no-headers --separator=:)" \
    "node2.example.com:web1" "list shows the export"
config=$(exports node2)/web1/config.ini
is "$(stat -c %a "$config")" 600 "its description is for root alone"
is "$(sed -n '/^\[instance\]/,/^$/p' "$config" |
    sed -E 's/(_dump = ).*/\1UUID/' | tr '\n' ' ')" \
    "[instance] name = web1 maxmem = 96 minmem = 96 memory = 96 vcpus = 2 \
disk_template = file hypervisor = fake tags = blue red \
nic0_mac = aa:00:00:01:02:03 nic0_ip = None nic0_network = None nic0_name = None \
nic0_link = br7 nic0_mode = bridged nic0_vlan =  nic_count = 1 \
disk0_ivname = disk/0 disk0_dump = UUID disk0_size = 12 disk0_name = root \
disk1_ivname = disk/1 disk1_dump = UUID disk1_size = 4 disk1_name = None \
disk_count = 2  " "and has Ganeti's names"
dump=$(exports node2)/web1/$(sed -n 's/^disk0_dump = //p' "$config")
is "$(sum "$dump")" "$sum0" "the data are all there"

: >"$(oses node2 hasty)"
for tool in none gzip; do
    fails "an import script that does not read all, compression $tool" m gnt-backup import --no-name-check \
        --no-ip-check -t file -n node2 --src-dir=web1 --net 0:mac=generate --compress=$tool web3
    like "$out" 'script of the operating system ended before it had read all' "is told"
done
rm "$(oses node2 hasty)"

# --- compressed files ---
succeeds "a compressed export, slowly" m gnt-backup export -n node2 --long-sleep \
    --dump-compression=gzip-fast --bandwidth-limit=100 web1
dump=$(exports node2)/web1/$(sed -n 's/^disk0_dump = //p' "$config")
like "$(grep compression "$config")" 'compression = gzip-fast' "its description says so"
is "$(gzip -dc <"$dump" | sha256sum | cut -c1-64)" "$sum0" "the file is compressed"
[ "$(stat -c %s "$dump")" -lt 6000000 ]
tap_point $? "and small" || note "$(stat -c %s "$dump") bytes"
fails "by a tool that the cluster does not have" \
    m gnt-backup export -n node2 --long-sleep --dump-compression=xz web1
like "$out" 'Compression tool not allowed' "there is none"

# --- import ---
succeeds "as another instance on another node" \
    m gnt-backup import --no-name-check --no-ip-check -t file -n node1 \
    --src-node=node2 --src-dir=web1 --net 0:mac=generate --compress=gzip web2
like "$out" 'running the instance OS import scripts' "by the import script"
is "$(cat "$VC/renamed")" "web1 web2" "it is told its new name"
is "$(sum "$(disk node1 web2 0)") $(sum "$(disk node1 web2 1)")" \
    "$sum0 $sum1" "its disks have the data"
is "$(m gnt-instance list --no-headers --separator=: \
    -o be/vcpus,be/maxmem,tags,os,disk.sizes,status web2)" \
    "2:96:blue,red:copy:12,4:ADMIN_down" "and the parameters are the exported ones"
like "$(m gnt-instance info -s web2)" ' b: none' "also one whose value is this word"
m gnt-instance remove -f web1 >/dev/null
succeeds "by the same name, from wherever it is" \
    m gnt-backup import --no-name-check --no-ip-check -t file -n node2 \
    -B memory=64 --identify-defaults web1
is "$(m gnt-instance list --no-headers --separator=: -o nic.macs,nic.links,be/maxmem,disk.name/0 web1)" \
    "aa:00:00:01:02:03:br7:64:root" "it has the address that it had, and what was said"
is "$(sum "$(disk node2 web1 0)")" "$sum0" "and its data"
like "$(m gnt-instance info -s web1)" 'always_failover: default' \
    "defaults are identified"

# --- what goes wrong ---
fails "an import with fewer disks than the export has" m gnt-backup import \
    --no-name-check --no-ip-check -t file -n node2 --src-dir=web1 --disk 0:size=12m web3
like "$out" 'has 1 disk.*export of web1 has 2' "is refused, with both numbers"
: >"$(oses node2 deaf)"
fails "an import script that fails" m gnt-backup import --no-name-check \
    --no-ip-check -t file -n node2 --src-dir=web1 --net 0:mac=generate web3
like "$out" 'cannot hear' "says why"
rm "$(oses node2 deaf)"
fails "leaves no instance" m gnt-instance info -s web3
is "$(ls -d "$(root node2)/srv/ganeti/file-storage/web3" 2>/dev/null)" "" \
    "and no disks"
: >"$(oses node2 broken)"
m gnt-instance startup web1 >/dev/null
fails "an export script that fails" m gnt-backup export -n node1 --long-sleep web1
like "$out" 'no way out' "says why"
rm "$(oses node2 broken)"
is "$(ls "$(exports node1)")" "" "and leaves nothing"
is "$(status web1)" running "the instance runs again"
is "$(gzip -dc <"$dump" | sha256sum | cut -c1-64)" "$sum0" "the older export stays"
: >"$(oses node2 lost)"
fails "an export script that ends by a signal" m gnt-backup export -n node1 --long-sleep web1
like "$out" 'ended by signal 13' "ends the export"
rm "$(oses node2 lost)"
fails "no snapshot, no live export" m gnt-backup export -n node1 --noshutdown web1
like "$out" 'live export' "says why"
fails "an export that is not there" m gnt-backup import --no-name-check \
    --no-ip-check -t file -n node1 nothing
like "$out" 'No export found' "is told"
fails "a folder outside" m gnt-backup import --no-name-check --no-ip-check \
    -t file -n node1 --src-node=node2 --src-dir=/var/lib/ganeti/export/../queue web4
like "$out" 'not a path below the exports' "is none"

: >"$(oses node2 slow)"
job=$(m gnt-backup export -n node1 --long-sleep --submit --print-jobid web1 2>/dev/null | head -1)
busy() { ls "$(root node2)"/var/run/ganeti/import-export | grep -q export; }
until_true 30 busy
tap_point $? "an export that takes long"
m gnt-job cancel --kill --yes-do-it "$job" >/dev/null
gone() {
    [ -z "$(ls "$(root node2)/var/run/ganeti/import-export" "$(exports node1)" |
        grep -v :)" ] && [ "$(status web1)" = running ]
}
until_true 30 gone
tap_point $? "when it is killed nothing is left, and the instance runs"
rm "$(oses node2 slow)"

# --- an OS with fewer scripts ---
each() { # COMMAND...: with the folder of the OS on each node
    for node in node1 node2; do
        "$@" "$(root $node)/usr/share/ganeti/os/copy"
    done
}
hide() { mv "$2/$1" "$2/.$1"; }
bring() { mv "$2/.$1" "$2/$1"; }
each hide export
fails "without an export script" m gnt-backup export -n node1 --long-sleep web1
like "$out" "OS 'copy' has no export script" "an instance is not exported"
is "$(status web1)" running "and not stopped for it"
each hide import
each hide rename
sum0=$(sum "$(disk node2 web1 0)")
succeeds "with neither import nor export" \
    m gnt-backup export -n node1 --long-sleep web1
is "$(m gnt-backup list --no-headers -n node1 --separator=:)" \
    "node1.example.com:web1" "its disks are exported as they are"
long=$(head -c 200000 /dev/zero | tr '\0' x)
cat >"$VC/long" <<END
[{"OP_ID": "OP_CLUSTER_SET_PARAMS", "osparams": {"copy": {"a": "$long"}}}]
END
m gnt-debug submit-job "$VC/long" >/dev/null
succeeds "and imported" m gnt-backup import --no-name-check --no-ip-check \
    -t file -n node1 --src-node=node1 --src-dir=web1 --net 0:mac=generate web5
is "$(sum "$(disk node1 web5 0)")" "$sum0" "with all data"
like "$out" 'WARNING.*no rename script' "its name stays the old one inside"
fails "without a rename script" \
    m gnt-instance rename -f --no-name-check --no-ip-check web5 web6
like "$out" "OS 'copy' has no rename script" "an instance keeps its name"
each bring import
each bring export
succeeds "a value longer than an environment takes" \
    m gnt-backup export -n node1 web5
is "$(sum "$(exports node1)/web5/$(sed -n 's/^disk0_dump = //p' "$(exports node1)/web5/config.ini")")" \
    "$sum0" "is no obstacle"
m gnt-os modify -O a=default copy >/dev/null
for_kvm() { echo kvm >"$1/hypervisors"; }
each for_kvm
fails "an OS for another hypervisor" \
    m gnt-instance add --no-name-check --no-ip-check -o copy -t diskless -n node1 web7
like "$out" 'is not for the hypervisor fake, only for: kvm' "is refused"
m gnt-instance remove -f web5 >/dev/null
m gnt-backup remove web5 >/dev/null
each bring rename

# --- names ---
m gnt-instance add --no-name-check --no-ip-check -t diskless --no-install -n node1 \
    --no-start web1.new >/dev/null
m gnt-backup export -n node1 --noshutdown web1.new >/dev/null
m gnt-backup export -n node1 --long-sleep web1 >/dev/null
like "$(m gnt-backup list --no-headers -n node1 --separator=:)" "web1.new" \
    "an export stays whose name is that of an unfinished one"
m gnt-backup remove web1.new >/dev/null
m gnt-instance remove -f web1.new >/dev/null
mkdir "$(exports node1)/web1+new" "$(exports node2)/web1+new"
unlike "$(m gnt-backup list --no-headers)" "new" "what is left of one is none"
m gnt-backup remove web1 >/dev/null
is "$(ls "$(exports node1)" "$(exports node2)" | grep web1)" "" "and is removed with it"

# --- the end ---
m gnt-instance shutdown web1 >/dev/null
succeeds "export and remove" \
    m gnt-backup export -n node1 --remove-instance --transport-compression=gzip-slow web1
fails "the instance is gone" m gnt-instance info -s web1
is "$(m gnt-backup list --no-headers --separator=:)" "node1.example.com:web1" \
    "only the newest export is kept"
is "$(m gnt-backup list --no-headers -n node2)" "" "list knows nodes"
succeeds "remove" m gnt-backup remove web1
is "$(m gnt-backup list --no-headers)" "" "it is gone"
succeeds "verify is content" m gnt-cluster verify
tap_done
