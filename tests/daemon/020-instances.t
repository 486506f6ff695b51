#!/bin/sh
# An instance's life, as an admin sees it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

status() { m gnt-instance list --no-headers -o status "$1"; }

succeeds "add on a node, with two disks" \
    add web1 -t sharedfile --disk 0:size=8m --disk 1:size=4m -n node2 \
    -B memory=64,vcpus=2
like "$out" 'creating instance disks' "shows the job's log"
is "$(m gnt-instance list --no-headers --separator=: \
    -o name,hypervisor,os,pnode,status,oper_ram,disk.size/0 web1)" \
    "web1:fake:noop:node2.example.com:running:64:8" "list shows it running"
is "$(ls "$VC/shared-file-storage/web1" | wc -l)" 2 "its disks are files"
is "$(stat -c %s "$VC"/shared-file-storage/web1/*.disk0)" 8388608 \
    "of the asked size"
like "$(ls "$(root node2)/var/run/ganeti/fake-hypervisor")" web1 \
    "the hypervisor runs it"

succeeds "info tells all about it" m gnt-instance info web1
like "$out" 'Instance name: web1' "with its name"
like "$out" 'State: configured to be up, actual state is up' "and state"

succeeds "shutdown" m gnt-instance shutdown web1
is "$(status web1)" ADMIN_down "it is down"
succeeds "startup" m gnt-instance startup web1
is "$(status web1)" running "it runs"
m gnt-instance shutdown web1 >/dev/null
succeeds "startup with less memory" m gnt-instance startup -B memory=32m web1
is "$(m gnt-instance list --no-headers -o oper_ram,be/maxmem --separator=: web1)" \
    "32:64" "is for this time only"
succeeds "reboot" m gnt-instance reboot web1
succeeds "full reboot" m gnt-instance reboot -t full web1
succeeds "tags can be set" m gnt-instance add-tags web1 prod eu:west
is "$(m gnt-instance list-tags web1 | sort | tr '\n' ' ')" "eu:west prod " \
    "and read"
printf '  from \r\n\n\ta-file\t\n' >"$(root node1)/etc/tags"
succeeds "those in a file" m gnt-instance add-tags \
    "--from=$(path_on node1 /etc/tags)" web1
is "$(m gnt-instance list-tags web1 | sort | tr '\n' ' ')" \
    "a-file eu:west from prod " "have no blanks around them"
fails "but not bad ones" m gnt-instance add-tags web1 'a b'
like "$out" "a b" "by name"

succeeds "migrate keeps it running" \
    m gnt-instance migrate -f -n node1 web1
is "$(m gnt-instance list --no-headers -o pnode,status --separator=: web1)" \
    "node1.example.com:running" "over there"
succeeds "failover stops and starts it" \
    m gnt-instance failover -f -n node2 web1
is "$(m gnt-instance list --no-headers -o pnode,status --separator=: web1)" \
    "node2.example.com:running" "back here"

# What must not work.
fails "a second one of that name" add web1 -t diskless -n node1
like "$out" 'already_exists' "has its code"
like "$out" "Instance 'web1' is already in the cluster" "and sentence"
fails "an unknown node" add web2 -t diskless -n node7
like "$out" "node7" "is named"
fails "an unknown OS" m gnt-instance add --no-name-check --no-ip-check \
    -o nosuchos -t diskless -n node1 web2
like "$out" "nosuchos" "is named"
like "$out" 'unknown_entity' "with a code"
fails "too much memory" add web2 -t diskless -n node1 -B memory=900g
like "$out" 'memory' "says so"
fails "a disk of no size" add web2 -t sharedfile --disk 0:size=0 -n node1
fails "an unknown instance" m gnt-instance startup web9
like "$out" "web9" "is named"
fails "a name with a slash" add ../x -t diskless -n node1
is "$(m gnt-instance list --no-headers -o name)" web1 \
    "failed adds leave no instance"
is "$(ls "$VC/shared-file-storage")" web1 "no disks"
is "$(m gnt-debug locks --no-headers -o name,owner | grep -v ' -$' | wc -l)" 0 \
    "and no locks"

# A failing installation takes all back.
os=$(root node1)/srv/ganeti/os/broken
mkdir -p "$os"
cp -r "$(root node1)/usr/share/ganeti/os/noop/." "$os"
printf '#!/bin/sh\necho the mirror is down >&2\nexit 3\n' >"$os/create"
fails "a failing OS script fails the add" \
    m gnt-instance add --no-name-check --no-ip-check -o broken \
    -t sharedfile -s 4m -n node1 web3
like "$out" 'web3' "naming the instance"
is "$(m gnt-instance list --no-headers -o name)" web1 "it leaves no instance"
is "$(ls "$VC/shared-file-storage")" web1 "and no disks"
rm -r "$os"

succeeds "remove" m gnt-instance remove -f web1
is "$(m gnt-instance list --no-headers -o name)" "" "it is gone"
is "$(ls "$VC/shared-file-storage")" "" "with its disks"
is "$(ls "$(root node2)/var/run/ganeti/fake-hypervisor")" "" "and processes"
succeeds "verify is content" m gnt-cluster verify
tap_done
