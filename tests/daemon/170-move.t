#!/bin/sh
# gnt-instance move: the disks of an instance go to another node.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

pnode() { m gnt-instance list --no-headers -o pnode "$1"; }
files() { # NODE INSTANCE
    ls "$(root "$1")/srv/ganeti/file-storage/$2" 2>/dev/null
}
disk() { # NODE INSTANCE N
    echo "$(root "$1")/srv/ganeti/file-storage/$2/"*.disk"$3"
}
transfers() {
    ls "$(root node1)/var/run/ganeti/import-export" \
        "$(root node2)/var/run/ganeti/import-export" 2>/dev/null | grep -v :
}

add web1 -t file --disk 0:size=24m --disk 1:size=4m -n node1 >/dev/null
m gnt-instance shutdown web1 >/dev/null
head -c 9000000 /dev/urandom | dd of="$(disk node1 web1 0)" conv=notrunc 2>/dev/null
printf end | dd of="$(disk node1 web1 0)" bs=1 seek=25165821 conv=notrunc 2>/dev/null
sum=$(sha256sum <"$(disk node1 web1 0)")
m gnt-instance startup web1 >/dev/null

succeeds "a running instance moves" m gnt-instance move -f -n node2 web1
like "$out" 'disk/1 finished receiving data' "and the log says how"
is "$(pnode web1)" node2.example.com "its primary is the other node"
is "$(m gnt-instance list --no-headers -o status web1)" running "where it runs"
is "$(files node2 web1 | wc -l)" 2 "both disks are there"
is "$(sha256sum <"$(disk node2 web1 0)")" "$sum" "with all their bytes"
is "$(stat -c %s "$(disk node2 web1 1)")" 4194304 "and their sizes"
[ "$(du -k "$(disk node2 web1 0)" | cut -f1)" -lt 12000 ]
tap_point $? "what was never written takes no room"
is "$(files node1 web1)" "" "nothing is left on the old node"
is "$(transfers)" "" "nor of the transfers"
fails "a move to where it is" m gnt-instance move -f -n node2 web1
like "$out" 'already on the node' "is refused"

m gnt-instance shutdown web1 >/dev/null
succeeds "one that is down moves, compressed" \
    m gnt-instance move -f -n node1 --compress=gzip-fast web1
is "$(sha256sum <"$(disk node1 web1 0)")" "$sum" "the bytes are the same"
is "$(m gnt-instance list --no-headers -o status web1)" ADMIN_down \
    "it stays down"
fails "a tool that the cluster does not list" \
    m gnt-instance move -f -n node2 --compress=rot13 web1
like "$out" 'Compression tool not allowed' "is refused"

# --- what goes wrong ---
mkdir -p "$(root node2)/srv/ganeti/file-storage/web1"
: >"$(root node2)/srv/ganeti/file-storage/web1/$(basename "$(disk node1 web1 1)")"
m gnt-instance startup web1 >/dev/null
fails "a file in the way" m gnt-instance move -f -n node2 web1
like "$out" 'exists on node node2.* already' "stops the move"
is "$(files node2 web1 | wc -l)" 1 "and stays there, for it is somebody's data"
is "$(pnode web1)" node1.example.com "the instance stays"
is "$(m gnt-instance list --no-headers -o status web1)" running "and runs"
rm -r "$(root node2)/srv/ganeti/file-storage/web1"

add shared1 -t sharedfile -s 4m -n node1 >/dev/null
fails "a disk that both nodes see" m gnt-instance move -f -n node2 shared1
like "$out" 'cannot be copied' "needs no copy"

# Killed while data are on their way: a tool that is slow makes it long.
m gnt-cluster modify --compression-tools=gzip,slowly >/dev/null
mkdir "$VC/tools"
printf '#!/bin/sh\nexec sleep 300\n' >"$VC/tools/slowly"
chmod +x "$VC/tools/slowly"
for node in node1 node2; do
    "$BIN/gnt-vcluster" stop "$VC" $node >/dev/null
    PATH="$VC/tools:$PATH" "$BIN/gnt-vcluster" start "$VC" $node >/dev/null
done
job=$(m gnt-instance move -f -n node2 --compress=slowly --submit --print-jobid web1 2>/dev/null)
sending() {
    grep -q '"connected":true' "$(root node1)"/var/run/ganeti/import-export/export*/status
}
until_true 30 sending
tap_point $? "a long transfer"
succeeds "is killed" m gnt-job cancel --kill --yes-do-it "$job"
gone() { [ -z "$(transfers)" ] && [ -z "$(files node2 web1)" ]; }
until_true 30 gone
tap_point $? "its processes and the new disks go"
is "$(pnode web1)" node1.example.com "the instance is where it was"
is "$(sha256sum <"$(disk node1 web1 0)")" "$sum" "with its data"
succeeds "it starts" m gnt-instance startup web1

# The master dies while data are on their way.
m gnt-instance move -f -n node2 --compress=slowly --submit web1 >/dev/null 2>&1
until_true 30 sending
tap_point $? "a long transfer again"
add web2 -t file -s 4m -n node2 --no-start >/dev/null
tap_point $? "meanwhile others use the nodes"
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
"$BIN/gnt-vcluster" start "$VC" node1 masterd
is "$(files node2 web1 | wc -l)" 2 "when the master dies the new disks stay"
is "$(m gnt-instance list --no-headers -o pnode web1)" node1.example.com \
    "they are not the instance's"
succeeds "it can be started" m gnt-instance startup web1
succeeds "and can be moved" m gnt-instance move -f -n node2 --compress=gzip web1
like "$out" 'Removing an unused copy of the disks on node node2' \
    "what was left is removed first"
is "$(sha256sum <"$(disk node2 web1 0)")" "$sum" "all its data are there"
is "$(files node1 web1)" "" "and on that node alone"
# What nobody asks for ends by itself, but later.
for node in node1 node2; do
    for pid in "$(root $node)"/var/run/ganeti/import-export/*/pid; do
        kill "$(cat "$pid")" 2>/dev/null
    done
done
succeeds "verify is content" m gnt-cluster verify
tap_done
