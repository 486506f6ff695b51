#!/bin/sh
# gantry-watcher: instances that should run, jobs, daemons, pause, its files.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
data=$(root node1)/var/lib/ganeti
uuid=$(sed 's/ .*//' "$data/ssconf_nodegroups")
for name in web1 web2; do
    add $name -t sharedfile -s 16m -n node2.example.com >/dev/null
done

lose() { # INSTANCE: its guest dies
    rm "$(root node2)/var/run/ganeti/fake-hypervisor/$1"
}
status_of() {
    m gnt-instance list --no-headers -o status "$1"
}

like "$(m gnt-cluster watcher status)" "has not run on node node1" \
    "before the first run the status says so"
lose web1
is "$(status_of web1)" ERROR_down "an instance is lost"
succeeds "the watcher runs" m gantry-watcher
is "$(status_of web1)" running "and it runs again"
is "$(m gnt-job list --no-headers -o summary | tail -1)" \
    "INSTANCE_STARTUP(web1)" "by a job"
like "$(m gnt-job list --no-headers -o ops | tail -1)" \
    "gnt:watcher.*Restarting instance web1" "whose reason names the watcher"
succeeds "the status" m gnt-cluster watcher status
like "$out" "^Node group default" "is told by group"
like "$out" "Submitted job [0-9]+ to start instance web1 \(try 1 of 5\)" \
    "and says what was done"
like "$(m gnt-cluster watcher status --format=json)" '"exit_code": *0' \
    "also for programs"
like "$(cat "$(root node1)/var/log/ganeti/watcher.log")" \
    "Submitted job [0-9]+ to start instance web1" "so does the log"
unlike "$(cat "$(root node1)/var/log/ganeti/watcher.log")" "success|running" \
    "which has submissions, not results"
is "$(cat "$data/watcher.$uuid.instance-status")" "web1 ERROR_down
web2 running" "the states that it found are in the file of the group"
is "$(cat "$(root node1)/var/run/ganeti/instance-status")" "web1 ERROR_down
web2 running" "and in that of all"
like "$(cat "$data/watcher.$uuid.data")" '"restart_count":1' \
    "the try is counted where Ganeti's watcher counts it"
m gantry-watcher
unlike "$(cat "$data/watcher.$uuid.data")" restart_count \
    "until the instance is seen running"

# The file of all.
lose web1
states=$(root node1)/var/run/ganeti/instance-status
succeeds "who locks a file that everybody reads" flock -x "$states" \
    "$BIN/gnt-vcluster" exec "$VC" node1 -- gantry-watcher
is "$(status_of web1)" running "does not keep it away"
lose web1
rm "$states"
mkdir "$states"
succeeds "a list of states that cannot be written" m gantry-watcher
like "$(m gnt-cluster watcher status)" "not written for others: .*directory" \
    "is told"
is "$(status_of web1)" running "and the rest is done"
rmdir "$states"
m gantry-watcher

# Somebody works on it, or wants it to stay away.
lose web1
m gnt-cluster watcher pause 1h >/dev/null
succeeds "during a pause it succeeds" m gantry-watcher
is "$(status_of web1)" ERROR_down "and does nothing"
like "$(m gnt-cluster watcher status)" "The watcher is paused" "as it says"
succeeds "so does the part about one group" m gantry-watcher -g "$uuid"
is "$(status_of web1)" ERROR_down "by itself"
succeeds "but once" m gantry-watcher --ignore-pause
is "$(status_of web1)" running "it works all the same"
m gnt-cluster watcher continue >/dev/null
lose web1
succeeds "who has its lock" flock -x \
    "$(root node1)/var/lock/ganeti-watcher.lock" "$BIN/gnt-vcluster" exec "$VC" node1 -- gantry-watcher
is "$(status_of web1)" ERROR_down "keeps it away"
succeeds "and the part about one group" flock -x \
    "$(root node1)/var/lock/ganeti-watcher.lock" \
    "$BIN/gnt-vcluster" exec "$VC" node1 -- gantry-watcher -g "$uuid"
is "$(status_of web1)" ERROR_down "as well"
lock=$(root node1)/var/lock/ganeti-watcher.lock
rm "$lock"
mkdir "$lock"
fails "a lock that cannot be opened is no holder" m gantry-watcher
like "$(m gnt-cluster watcher status)" "Cannot take the lock .*directory" \
    "and is told with the reason"
rmdir "$lock"
m gnt-cluster queue drain
succeeds "a drained queue is no failure" m gantry-watcher
like "$(m gnt-cluster watcher status)" "The job queue is drained" "it is told"
m gnt-cluster queue undrain

# An instance that cannot be started: five tries, then no more.
hook=$(root node1)/etc/ganeti/hooks/instance-start-pre.d/no
mkdir -p "$(dirname "$hook")"
printf '#!/bin/sh\nexit 1\n' >"$hook"
chmod 755 "$hook"
for try in 2 3 4 5; do m gantry-watcher; done
like "$(m gnt-cluster watcher status)" "to start instance web1.*failed" \
    "a start that fails is told"
m gantry-watcher
like "$(m gnt-cluster watcher status)" "web1 is down: 5 tries.*giving up" \
    "after five it gives up"
rm "$hook"
m gantry-watcher
is "$(status_of web1)" ERROR_down "and leaves it"
rm "$data/watcher.$uuid.data"
m gantry-watcher
is "$(status_of web1)" running "until its file is removed"

# Old jobs.
succeeds "with a job age of 0" m gantry-watcher --job-age 0 --no-verify-disks
like "$(m gnt-cluster watcher status)" "Archived [0-9]+ job" \
    "the jobs are archived"
unlike "$(m gnt-job list --no-headers)" INSTANCE_CREATE "and are gone"

# Daemons and scripts of the site, on each node.
mkdir -p "$(root node3)/etc/ganeti/hooks/watcher"
printf '#!/bin/sh\necho ran >%s/ran\n' "$(path_on node3 /etc)" \
    >"$(root node3)/etc/ganeti/hooks/watcher/site"
printf '#!/bin/sh\necho broken; exit 3\n' \
    >"$(root node3)/etc/ganeti/hooks/watcher/zz"
printf '#!/bin/sh\necho ran >%s/ran2\n' "$(path_on node3 /etc)" \
    >"$(root node3)/etc/ganeti/hooks/watcher/site.bak"
chmod 755 "$(root node3)"/etc/ganeti/hooks/watcher/*
"$BIN/gnt-vcluster" kill "$VC" node3 noded
succeeds "on another node" on node3 gantry-watcher
until_true 60 m gnt-instance list
is "$(m gnt-node list --no-headers -o name -F 'bootid != "?"' | grep -c node3)" 1 \
    "a dead node daemon is started"
like "$(on node3 gnt-cluster watcher status)" "Started gantry-noded" "and told"
is "$(cat "$(root node3)/etc/ran")" ran "the site's scripts run"
[ ! -e "$(root node3)/etc/ran2" ]
tap_point $? "but no backups of them" || true
like "$(on node3 gnt-cluster watcher status)" \
    "zz failed \(exit code 3\): broken" "one that fails is told"
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
lose web2
succeeds "a dead master daemon" m gantry-watcher
is "$(status_of web2)" running "is started before its instances"

# What it is told.
fails "a group on another node" on node3 gantry-watcher --node-group "$uuid"
is "$(on node3 gantry-watcher -g "$uuid"; echo $?)" 11 "has an exit code of its own"
fails "a group that is none" m gantry-watcher -g 11111111-2222-3333-4444-555555555555
fails "arguments" m gantry-watcher now
like "$out" "No arguments expected" "are refused"
lose web1
succeeds "under its name in crontabs" m ganeti-watcher --rapi-ip=127.0.0.1 \
    --wait-children
is "$(status_of web1)" running "it is the same"
tap_done
