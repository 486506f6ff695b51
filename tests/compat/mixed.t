#!/bin/sh
# Clusters of both kinds of node daemon: Debian's own (package ganeti 3.0.2) as a
# node under our master, and ours as a node under Ganeti's.  Each node is a host
# of its own (tests/lib/hosts.sh), with the paths and ports of a real one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/ganeti.sh"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_start 4

# A provider of external storage that notes what it is told.
provide() { # HOST
    on "$1" mount -t tmpfs tmpfs /srv &&
        on "$1" mkdir -p /srv/ganeti/extstorage/shelf \
            /var/log/ganeti/extstorage &&
        on "$1" sh -c '
            cd /srv/ganeti/extstorage/shelf
            cat >script
            chmod +x script
            : >parameters.list
            for name in create remove grow attach detach setinfo verify; do
                cp script $name
            done' <<'SCRIPT'
#!/bin/sh
me=${0##*/}
env | grep ^EXTP_ | sort >"/srv/$me"
volume=/srv/$VOL_NAME
case $me in
create) truncate -s "${VOL_SIZE}M" "$volume" ;;
attach) echo "$volume" ;;
remove) rm -f "$volume" ;;
esac
SCRIPT
}

# Our node daemon where the package's scripts look for Ganeti's.
use_ours() { # HOST
    cp -a /usr/share/ganeti/3.0 "$HOSTS/share" &&
        ln -sf "$BIN/gantry-noded" "$HOSTS/share/ganeti-noded" &&
        on "$1" mount --bind "$HOSTS/share" /usr/share/ganeti/3.0
}

# What Ganeti's gnt-node add tells the new node.
setup_input() { # MASTER NODE
    on "$1" python3 -c '
import glob, json, os, sys
folder = "/var/lib/ganeti/"
read = lambda name: open(folder + name).read()
ssconf = {os.path.basename(f)[7:]: read(os.path.basename(f)).strip()
          for f in glob.glob(folder + "ssconf_*")}
print(json.dumps({
    "cluster_name": ssconf["cluster_name"], "ssconf": ssconf,
    "node_daemon_certificate": read("server.pem"),
    "hmac_key": read("hmac.key"),
    "node_name": sys.argv[1], "start_node_daemon": True}))' "$2"
}

# ours COMMAND..., theirs COMMAND...: on the masters node1 and node3
ours() {
    on node1 timeout 120 "$@"
}
theirs() {
    program=$1
    shift
    on node3 timeout 120 "/usr/sbin/$program" "$@"
}

# What verify finds, but for what this machine's /proc lacks, and logins: these
# clusters see to no SSH, but Ganeti has nodes try it all the same.
errors() { # ours|theirs
    "$1" gnt-cluster verify 2>&1 | grep ERROR |
        grep -vE 'node setup error|ssh communication'
}

# begin_real: Ganeti's cluster, beside our commands
begin_real() {
    prepare node3 && prepare node4 && use_ours node4 &&
        theirs gnt-cluster init $options cluster2.example.com
}
begin_real >"$HOSTS/real.log" 2>&1 </dev/null &
real=$!

# --- our master, Debian's node daemon ---

prepare node1
prepare node2
succeeds "our cluster begins" ours gnt-cluster init $options cluster.example.com
setup_input node1 node2.example.com >"$HOSTS/input"
on node2 /usr/lib/ganeti/node-daemon-setup <"$HOSTS/input" >"$HOSTS/setup" 2>&1 ||
    note "$(cat "$HOSTS/setup")"
succeeds "Debian's node is added" \
    ours gnt-node add --no-node-setup node2.example.com
is "$(ours gnt-node list --no-headers -o name,role,dtotal,mtotal node2 |
    grep -c '?')" 0 "and shows its space and memory"
is "$(on node2 sh -c 'cmp /var/lib/ganeti/config.data - && echo same' \
    <"$(root node1)/var/lib/ganeti/config.data")" same "as a candidate it has the configuration"
succeeds "it gets the cluster's files" ours gnt-cluster redist-conf
# More than the 128 KiB that Debian's node daemon writes of an ssconf value.
long=$(printf '%0110d' 0)
many=$(seq -f "a$long-%06g" 1 1200)
succeeds "more tags than it writes" ours gnt-cluster add-tags $many
succeeds "and the cluster goes on" ours gnt-cluster add-tags one-more
is "$(on node2 sh -c 'cmp /var/lib/ganeti/config.data - && echo same' \
    <"$(root node1)/var/lib/ganeti/config.data")" same "it has the configuration"
like "$(cat "$(root node1)"/var/log/ganeti/master-daemon.log)" \
    "takes no ssconf value of 131072 bytes.*cluster_tags" "the log says what it lacks"
like "$(errors ours)" "ssconf_cluster_tags found with 2 different checksums" \
    "and so does verify"
succeeds "fewer tags" ours gnt-cluster remove-tags $many
is "$(errors ours)" "" "verify is content"
like "$(ours gnt-cluster verify 2>&1)" \
    "NOTICE.*Ganeti's node daemon.*node2.example.com" "and names who has no vote"
like "$(cat "$(root node1)"/var/log/ganeti/master-daemon.log)" \
    "node2.example.com runs Ganeti's node daemon.*Start gantry-noded there" \
    "the log says what to do"
succeeds "an OS is found on both" ours gnt-os list
like "$out" '^noop' "by its name"
fails "an OS that is not there is refused" \
    ours gnt-instance add --no-name-check --no-ip-check -o nosuch -t diskless -n node2 i1.example.com
like "$out" "OS .nosuch. not known" "by Debian's node"

succeeds "an instance without disks" \
    ours gnt-instance add $quick -t diskless -n node2 i1.example.com
succeeds "one with a disk and a NIC" ours gnt-instance add $quick -t file \
    -s 16m --net 0:mac=generate -n node2 i2.example.com
succeeds "one on shared storage" \
    ours gnt-instance add $quick -t sharedfile -s 16m -n node2 i3.example.com
is "$(ours gnt-instance list --no-headers --separator=: -o name,status,oper_ram,pnode i2)" \
    "i2.example.com:running:128:node2.example.com" "it runs there"
succeeds "it is stopped" ours gnt-instance shutdown i2
is "$(ours gnt-instance list --no-headers -o status i2)" ADMIN_down "and seen so"
succeeds "it gets a disk" ours gnt-instance modify --disk add:size=8m i2
succeeds "its disk grows" ours gnt-instance grow-disk i2 0 8m
succeeds "it is installed again" ours gnt-instance reinstall -f i2
succeeds "it starts" ours gnt-instance startup i2
succeeds "and again" ours gnt-instance reboot i2
succeeds "memory is taken from it" \
    ours gnt-instance modify -B minmem=64,maxmem=128 -m 64 i2
fails "a hypervisor's parameter that is none" \
    ours gnt-instance modify -H migration_mode=no i2
succeeds "it migrates to ours" ours gnt-instance migrate -f -n node1 i3
succeeds "and back" ours gnt-instance migrate -f -n node2 i3
succeeds "it fails over to ours" ours gnt-instance failover -f -n node1 i3
succeeds "and back" ours gnt-instance failover -f -n node2 i3
echo mixed >"$HOSTS/word"
on node2 sh -c 'dd of="$(ls /var/storage/file/i2.example.com/*.disk0)" conv=notrunc' \
    <"$HOSTS/word" 2>/dev/null
# disk NODE INSTANCE: the first word on its first disk
disk() {
    on "$1" sh -c "head -c 5 /var/storage/file/$2.example.com/*.disk0"
}
succeeds "it moves to ours" ours gnt-instance move -f -n node1 i2
is "$(disk node1 i2)" mixed "with its data"
succeeds "and back" ours gnt-instance move -f -n node2 i2
is "$(disk node2 i2)" mixed "with its data"
succeeds "it is exported to ours" ours gnt-backup export --long-sleep -n node1 i2
like "$(ours gnt-backup list --no-headers -o node,export)" \
    '^node1.example.com +i2.example.com$' "and listed"
succeeds "a copy of it comes back" ours gnt-backup import -n node2 \
    --src-node=node1 --src-dir=i2.example.com --net 0:mac=generate \
    --no-name-check --no-ip-check -t file i4.example.com
is "$(disk node2 i4)" mixed "with its data"
provide node2
ours gnt-cluster modify --enabled-disk-templates=diskless,file,sharedfile,ext \
    --ipolicy-disk-templates=diskless,file,sharedfile,ext \
    -D ext:access=userspace >/dev/null
succeeds "a disk of external storage" ours gnt-instance add $quick -t ext \
    --disk 0:size=8m,provider=shelf --no-start --no-install -n node2 i7.example.com
is "$(on node2 cat /srv/create)" "EXTP_ACCESS=userspace
EXTP_PROVIDER=shelf" "the node daemon has the template's parameters"
succeeds "it goes" ours gnt-instance remove -f i7
ours gnt-instance shutdown i1 >/dev/null
succeeds "an instance gets another name" ours gnt-instance rename i1 i5
succeeds "a job waits on Debian's node" ours gnt-debug delay -n node2 0.01
succeeds "it is a candidate no more" ours gnt-node modify -C no node2
succeeds "and is one again" ours gnt-node modify -C yes node2
on node1 sh -c 'kill "$(cat /run/ganeti/ganeti-masterd.pid)"'
succeeds "a master starts without its vote" until_true 60 ours gantry-masterd
succeeds "and serves" ours gnt-instance list
for name in i2 i3 i4 i5; do
    succeeds "$name is removed" ours gnt-instance remove -f $name
done
is "$(on node2 sh -c 'find /var/storage/file -type f')" "" "no disk is left"
is "$(errors ours)" "" "verify is content at the end"

# --- Ganeti's master, our node daemon ---

wait "$real"
is $? 0 "Ganeti's cluster begins" || note "$(cat "$HOSTS/real.log")"
succeeds "our node is added" \
    theirs gnt-node add --no-ssh-key-check node4.example.com
like "$(on node4 sh -c 'readlink /proc/$(cat /run/ganeti/ganeti-noded.pid)/exe')" \
    gantry-noded "it is ours that runs there"
is "$(theirs gnt-node list --no-headers -o name,bootid,dtotal,mtotal,mnode,ctotal node4 |
    grep -c '?')" 0 "Ganeti reads its space and memory"
is "$(errors theirs)" "" "verify is content"
succeeds "an instance with a disk" theirs gnt-instance add $quick -t file \
    -s 16m --net 0:mac=generate -n node4 i2.example.com
succeeds "one on shared storage" \
    theirs gnt-instance add $quick -t sharedfile -s 16m -n node4 i6.example.com
is "$(theirs gnt-instance list --no-headers --separator=: -o name,status,oper_ram,pnode i2)" \
    "i2.example.com:running:128:node4.example.com" "it runs there"
succeeds "it is rebooted" theirs gnt-instance reboot i2
succeeds "its disk grows" theirs gnt-instance grow-disk i2 0 8m
succeeds "it migrates to Debian's" theirs gnt-instance migrate -f -n node3 i6
succeeds "and back" theirs gnt-instance migrate -f -n node4 i6
on node4 sh -c 'dd of="$(ls /var/storage/file/i2.example.com/*.disk0)" conv=notrunc' \
    <"$HOSTS/word" 2>/dev/null
succeeds "it moves to Debian's" theirs gnt-instance move -f -n node3 i2
is "$(disk node3 i2)" mixed "with its data"
succeeds "and back" theirs gnt-instance move -f -n node4 i2
is "$(disk node4 i2)" mixed "with its data"
succeeds "it is exported" theirs gnt-backup export --long-sleep -n node4 i2
like "$(theirs gnt-backup list --no-headers -o node,export)" \
    '^node4.example.com +i2.example.com$' "and listed"
succeeds "it is stopped" theirs gnt-instance shutdown i2
succeeds "it gets another name" theirs gnt-instance rename i2 i5
succeeds "and is removed" theirs gnt-instance remove -f i5
succeeds "the other as well" theirs gnt-instance remove -f i6
job=$(theirs gnt-job list --no-headers -o id | tail -1 | tr -d ' ')
same_job() {
    on node4 cat "/var/lib/ganeti/queue/job-$job" |
        cmp -s - "$(root node3)/var/lib/ganeti/queue/job-$job"
}
until_true 60 same_job
is $? 0 "our node keeps Ganeti's queue"
tap_done
