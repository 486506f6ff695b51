#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# config.data: damaged in several ways, changed by hand, without room.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
data=$(root node1)/var/lib/ganeti
log=$(root node1)/var/log/ganeti/master-daemon.log
vc() { "$BIN/gnt-vcluster" "$@"; }
stop() { vc stop "$VC" node1 masterd; }
start() { vc start "$VC" node1 masterd; }

# change FILE PYTHON: change the document d
change() {
    python3 - "$1" "$2" <<'END'
import json, sys
name, code = sys.argv[1:]
d = json.load(open(name))
exec(code)
json.dump(d, open(name, "w"))
END
}

m gnt-cluster add-tags first

# Owners, where Debian's Ganeti has its users.
if [ "$(id -u)" -eq 0 ] && getent passwd gnt-masterd >/dev/null; then
    owner() { stat -c '%U:%G %a' "$(root "$1")/var/lib/ganeti/$2"; }
    has_job() { ls "$(root "$1")"/var/lib/ganeti/queue/job-* >/dev/null; }
    for node in node1 node2 node3; do
        until_true 30 has_job "$node"
        is "$(owner $node config.data)" "gnt-masterd:gnt-confd 640" \
            "config.data on $node belongs to whom Ganeti gives it"
        is "$(owner $node queue)" "gnt-masterd:gnt-daemons 750" \
            "so does the queue on $node"
        is "$(stat -c '%U:%G %a' "$(root $node)"/var/lib/ganeti/queue/job-* | sort -u)" \
            "gnt-masterd:gnt-daemons 640" "and its jobs"
    done
else
    tap_point 0 "owners # SKIP Ganeti's users are not here"
fi

# Damage that is still JSON: a candidate's copy is taken.
stop
change "$data/config.data" 'd["instances"] = None'
: >"$log"
succeeds "a master with a damaged configuration starts" start
is "$(m gnt-cluster list-tags)" first "with what a candidate has"
like "$(cat "$log")" '/instances: an object expected, not null' \
    "the log names the fault with its path"
like "$(cat "$log")" 'that of node[23].example.com is taken' "and whose copy it is"
succeeds "what was there is kept" grep -q '"instances": null' "$data/config.data.damaged"

# Another text that nobody wrote: the time of the file is what it was.
stop
touch -r "$data/config.data" "$VC/time"
sed -i 's/"aa:00:00"/"aa:00:01"/' "$data/config.data"
touch -r "$VC/time" "$data/config.data"
: >"$log"
succeeds "a master whose disk has changed a letter starts" start
like "$(cat "$log")" 'not what was written there' "the log says what is wrong"
succeeds "the candidate's copy has the right one" grep -q '"aa:00:00"' "$data/config.data"

# The same by hand.
stop
sed -i 's/"aa:00:00"/"aa:00:01"/' "$data/config.data"
before=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["serial_no"])' "$data/config.data")
: >"$log"
succeeds "a master whose configuration was edited starts" start
like "$(cat "$log")" "changed by hand.*serial number $before" "the log says so"
other=$(root node2)/var/lib/ganeti/config.data
until_true 20 grep -q '"aa:00:01"' "$other"
succeeds "the others get it" grep -q '"aa:00:01"' "$other"
# The text is committed as it was found; the raised number is a change of its own.
raised() {
    python3 -c 'import json,sys
sys.exit(json.load(open(sys.argv[1]))["serial_no"] != int(sys.argv[2]))' "$other" $((before + 1))
}
until_true 20 raised
succeeds "under the next serial number" raised

# Nobody has a whole one.
stop
for node in node1 node2 node3; do
    file=$(root "$node")/var/lib/ganeti/config.data
    cp "$file" "$file.kept"
    change "$file" 'd["nodegroups"] = {}'
done
fails "with all copies damaged no master starts" start
like "$out" "/group: there is no '.*' in /nodegroups" "the fault is named"
like "$out" 'node2.example.com has none that is whole' "and what the others have"
like "$out" 'put another copy in its place.*--no-voting' "and how to choose one"

# An older one is taken by somebody who says so.
for node in node2 node3; do
    file=$(root "$node")/var/lib/ganeti/config.data
    cp "$file.kept" "$file"
    change "$file" 'd["serial_no"] -= 1; d["cluster"]["tags"] = ["older"]'
done
fails "a copy that is older is not taken" start
like "$out" 'No master candidate has a whole copy that is as new' "the sentence says so"
cp "$data/config.data.kept" "$data/config.data"
succeeds "a whole one in its place is" start
is "$(m gnt-cluster list-tags)" first "nothing is lost"

# No room for it.
stop
vc stop "$VC" node1 noded
cp -a "$data" "$VC/kept"
if ! mount -t tmpfs -o size=96m none "$data" 2>/dev/null; then
    tap_point 0 "a full disk # SKIP no small file system can be mounted"
    tap_done
    exit 0
fi
end() {
    stop >/dev/null 2>&1
    vc stop "$VC" node1 noded >/dev/null 2>&1
    umount "$data" 2>/dev/null || umount -l "$data"
    cluster_end
}
trap end EXIT
cp -a "$VC/kept/." "$data"
vc start "$VC" node1
pid=$(cat "$(root node1)/var/run/ganeti/ganeti-masterd.pid")
dd if=/dev/zero of="$data/filler" bs=64k 2>/dev/null
dd if=/dev/zero of="$data/filler2" bs=1 2>/dev/null
# The log has room for some more changes; its files have not.
tries=0
full() {
    tries=$((tries + 1))
    ! m gnt-cluster add-tags "try$tries" >/dev/null 2>&1
}
until_true 20 full
tags=$(m gnt-cluster list-tags | tr '\n' ' ')
fails "a change that finds no room fails" m gnt-cluster add-tags second
like "$out" "The file system .*/var/lib/ganeti is full: .*config.data cannot be written|cannot be written: .*No space" \
    "the sentence says why"
succeeds "the daemon goes on" alive "$pid"
is "$(m gnt-cluster list-tags | tr '\n' ' ')" "$tags" "without the change"
rm "$data/filler" "$data/filler2"
until_true 20 m gnt-cluster add-tags third
is "$(m gnt-cluster list-tags | tr '\n' ' ' | sed 's/third //')" "$tags" "with room there are changes again"
like "$(cat "$log")" 'The configuration can be written again' "and the log says so"
is "$(cat "$(root node1)/var/run/ganeti/ganeti-masterd.pid")" "$pid" "it is the same daemon"

# A file system that can only be read.
stop
vc stop "$VC" node1 noded
if mount -o remount,ro "$data"; then
    fails "nothing starts where nothing can be written" start
    like "$out" "The file system .*/var/lib/ganeti can only be read" "masterd says so"
    fails "nor does the node daemon" vc start "$VC" node1 noded
    like "$out" "The file system .*/var/lib/ganeti can only be read" "which says the same"
    mount -o remount,rw "$data"
fi
succeeds "when it can be written they start" vc start "$VC" node1
tap_done
