#!/bin/sh
# The watcher waits for nobody who works on an instance, and nobody for it; and
# the master runs it itself.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
guests=$(root node2)/var/run/ganeti/fake-hypervisor
for name in web1 web2 web3; do
    add $name -t sharedfile -s 16m -n node2.example.com >/dev/null
done

# A job on web1 that does not end before `go` is there.
go=$(root node1)/etc/go
hook=$(root node1)/etc/ganeti/hooks/instance-reboot-pre.d/hold
mkdir -p "$(dirname "$hook")"
printf '#!/bin/sh\nuntil [ -e %s ]; do sleep 0.05; done\n' \
    "$(path_on node1 /etc/go)" >"$hook"
chmod 755 "$hook"
job=$(m gnt-instance reboot --submit web1 | sed 's/[^0-9].*//')
works() {
    [ "$(m gnt-job list --no-headers -o status "$job")" = running ]
}
until_true 60 works
rm "$guests/web1" "$guests/web2"
succeeds "beside a job on an instance" timeout 60 "$BIN/gnt-vcluster" exec \
    "$VC" node1 -- gantry-watcher
works
tap_point $? "which still runs" || true
is "$(m gnt-instance list --no-headers -o status web2)" running \
    "the watcher starts others"
like "$(m gnt-cluster watcher status)" \
    "web1 is down, but job $job \(INSTANCE_REBOOT\(web1\)\) works on it" \
    "and says why not this one"
succeeds "disks are verified" timeout 60 "$BIN/gnt-vcluster" exec "$VC" node1 \
    -- gnt-cluster verify-disks
works
tap_point $? "beside it, too" || true
: >"$go"
ended() {
    ! works
}
until_true 60 ended
rm "$hook"

# A start that takes long holds up only what the watcher does for this group.
rm "$go" "$guests/web3"
hook=$(root node1)/etc/ganeti/hooks/instance-start-pre.d/hold
mkdir -p "$(dirname "$hook")"
printf '#!/bin/sh\nuntil [ -e %s ]; do sleep 0.05; done\n' \
    "$(path_on node1 /etc/go)" >"$hook"
chmod 755 "$hook"
m gantry-watcher &
watcher=$!
starts() {
    m gnt-job list --no-headers -o summary,status | grep -q "STARTUP(web3).*running"
}
until_true 60 starts
tap_point $? "a watcher waits for its job" || true
succeeds "others meanwhile" timeout 60 "$BIN/gnt-vcluster" exec "$VC" node1 -- \
    gnt-instance modify -B memory=64 web2
fails "and another watcher" m gantry-watcher
like "$(m gnt-cluster watcher status)" "Another watcher works on this group" \
    "leaves the group to the first one"
: >"$go"
wait "$watcher"
is "$(m gnt-instance list --no-headers -o status web3)" running "all run"

# The timer of the master.
runs() {
    m gnt-cluster watcher status --format=json | sed -n 's/.*"begin": *\([0-9.]*\).*/\1/p' | head -1
}
newer() {
    [ "$(runs)" != "$before" ] && [ "$(m gnt-instance list --no-headers -o status web1)" = running ]
}
before=$(runs)
rm "$guests/web1"
succeeds "the master gets a timer" \
    m gnt-cluster modify --watcher-interval=1
until_true 60 newer
tap_point $? "and runs the watcher by itself" || true
like "$(m gnt-cluster info)" "watcher interval: 1" "as often as it is told"
succeeds "or never" m gnt-cluster modify --watcher-interval=0
fails "a time that is none" m gnt-cluster modify --watcher-interval=soon
succeeds "a master with a timer" m gnt-cluster modify --watcher-interval=1h
succeeds "ends at once" timeout 8 "$BIN/gnt-vcluster" stop "$VC" node1 masterd
tap_done
