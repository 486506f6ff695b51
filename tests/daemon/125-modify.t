#!/bin/sh
# gnt-instance modify, as an admin uses it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

# change OPTION...: of web1
change() {
    m gnt-instance modify "$@" web1
}
# shows FIELD
shows() {
    m gnt-instance list --no-headers --units m -o "$1" web1
}

add web1 -t sharedfile -s 8m -B memory=256 -n node1 --net 0:link=br0 \
    >/dev/null 2>&1

add off1 -t diskless -n node2 --no-start >/dev/null 2>&1

fails "nothing" change
like "$out" 'at least one' "is asked for"
succeeds "back-end parameters" change -B minmem=128,vcpus=2
like "$out" '^Modified instance web1$' "are reported"
like "$out" ' - be/minmem -> 128$' "one by one"
is "$(shows be/minmem,be/maxmem,be/vcpus | xargs)" "128 256 2" "and in force"
succeeds "blanks around a number" change -B "vcpus= 3 "
is "$(shows be/vcpus)" "3" "do not count"
fails "but there has to be one" change -B "vcpus= "
like "$out" "valid integer" "says why"
succeeds "no value is no" change -B auto_balance=
is "$(shows be/auto_balance)" "N" "for what is yes or no"
succeeds "one goes back to the default" change -B vcpus=default
is "$(shows be/vcpus)" "1" "of the cluster"
fails "minmem above maxmem" change -B minmem=300
like "$out" 'minmem.*300' "is refused"
fails "a global hypervisor parameter" change -H migration_mode=live
like "$out" 'are global and cannot be customized at instance level' "as well"
fails "a size outside of the policy" change -B memory=1t
like "$out" 'violates policy|Not enough memory' "for that reason"
succeeds "a dry run" change --dry-run -B memory=64
is "$(shows be/maxmem)" 256 "changes nothing"

succeeds "memory of the running instance" change -m 200
like "$out" 'runtime_memory +-> 200' "is reported"
is "$(shows oper_ram)" 200 "and there"
fails "less than minmem" change -m 64
like "$out" 'must have memory between 128 and 256' "is not forced"

succeeds "a NIC" change --net add:link=br0,mac=aa:00:00:11:22:33
like "$out" 'nic.1 +-> add:mac=aa:00:00:11:22:33,ip=None,mode=bridged,link=br0' \
    "in Ganeti's words"
fails "the same MAC again" change --net add:mac=aa:00:00:11:22:33
like "$out" 'resource_not_unique|already' "is refused"
succeeds "an address" change --net 1:ip=198.51.100.201
like "$out" 'nic.ip/1 +-> 198.51.100.201' "is reported"
is "$(shows nic.ips)" "None,198.51.100.201" "of the right one"
is "$(shows nic.macs | tr , '\n' | tail -n 1)" aa:00:00:11:22:33 \
    "whose MAC stays"
succeeds "it goes" change --net 1:remove
like "$out" 'NIC/1 +-> remove' "in Ganeti's words"
is "$(shows nic.count)" 1 "the other stays"
fails "one that is not there" change --net 7:remove
like "$out" 'wrong_input|There is no NIC 7' "cannot go"

succeeds "a disk" change --disk add:size=4m,name=data
like "$out" 'disk 1, size 4M' "is made"
like "$out" 'disk/1 +-> add:size=4,mode=rw' "and reported"
is "$(shows disk.sizes)" "8,4" "it is there"
files=$VC/shared-file-storage/web1
is "$(find "$files" -type f | wc -l)" 2 "with its file"
fails "its size" change --disk data:size=8m
like "$out" 'use grow-disk' "is not changed so"
succeeds "its mode is, by its name" change --disk data:mode=ro
like "$out" 'disk.mode/1 +-> ro' "in Ganeti's words"
fails "none goes while it runs" change --disk 0:remove
like "$out" "is marked to be up, can't remove volume from a running" \
    "without hotplug"
succeeds "the first goes" change --hotplug --disk 0:remove
like "$out" 'disk/0 +-> hotplug:done' "with it"
is "$(shows disk.sizes)" 4 "the other stays"
is "$(find "$files" -type f | wc -l)" 1 "with its file alone"
is "$(m gnt-instance info web1 | grep -c 'disk/0')" 1 "as number 0"
fails "more than fits" change --disk add:size=900t
like "$out" 'Not enough disk space|invalid size|policy' "is refused"
is "$(shows disk.count)" 1 "and leaves nothing"

for n in node1 node2; do
    echo "size_hint how large" \
        >>"$(root $n)/usr/share/ganeti/os/noop/parameters.list"
done
succeeds "parameters of the OS" change -O size_hint=5G
like "$out" 'os/size_hint +-> 5G' "are reported"
fails "an OS that is not there" change -o nosuch
succeeds "unless forced" change -o nosuch --force
succeeds "and back" change -o noop

state=$(root node1)/var/run/ganeti/fake-hypervisor/web1
# plugged KIND: how many of these the running instance has
plugged() { grep -c "^$1 " "$state"; }
before=$(plugged nic)
succeeds "hotplug" change --hotplug --net add:link=br0,name=eth9
like "$out" 'nic.1 +-> hotplug:done' "is reported"
is "$(plugged nic)" $((before + 1)) "and happens at once"
succeeds "a NIC is taken out and put in" \
    change --hotplug -f --net eth9:link=br1,name=none
like "$out" 'nic/1 +-> hotplug:done' "when it changes"
succeeds "a NIC for the next start" change --net add:link=br0
is "$(plugged nic)" $((before + 1)) "is not there yet"
succeeds "what is not there" change --hotplug --net -1:remove
like "$out" 'Could not hotplug device: .*Cannot find runtime info for nic' \
    "cannot be taken out of it"
like "$out" 'NIC/2 +-> hotplug:failed' "but goes from the configuration"
is "$(shows nic.count)" 2 "as asked"
disks=$(plugged disk)
succeeds "several at once" change --hotplug \
    --disk add:size=4m,name=one --disk add:size=4m,name=two --net 1:remove \
    -B auto_balance=no
is "$(plugged disk)" $((disks + 2)) "both disks are there"
is "$(plugged nic)" "$before" "the NIC is not"
fails "a name twice" change --disk 0:name=two
like "$out" "disk name 'two' already used" "is refused"
fails "a number as a name" change --disk 0:name=5
like "$out" 'Purely numeric disk names are not allowed' "as well"
succeeds "a disk is detached" change --hotplug --disk two:detach
like "$out" 'disk/2 +-> detach' "in Ganeti's words"
is "$(plugged disk)" $((disks + 1)) "the running instance has lost it"
is "$(find "$VC/shared-file-storage" -maxdepth 1 -type f | wc -l)" 1 \
    "its file stays, elsewhere"
succeeds "verify knows that it is detached" m gnt-cluster verify
fails "one that nobody has" change --disk attach:name=three
like "$out" 'No disk was found with this name: three' "is not attached"
fails "what is attached" change --disk attach:name=one
like "$out" 'is attached to instance web1' "is not attached again"
succeeds "it is attached again" change --hotplug --disk 1:attach,name=two
like "$out" 'disk/1 +-> attach:size=4,mode=rw' "in its new place"
like "$(shows disk.names)" "two.*one" "before the other"
is "$(find "$files" -type f | wc -l)" 3 "its file is back"
is "$(plugged disk)" $((disks + 2)) "and the running instance has it"
change --hotplug --disk one:remove >/dev/null
change --hotplug --disk two:remove >/dev/null
succeeds "a MAC is made anew" change --net 0:mac=generate
fails "it is not when it changes" change --net 0:mac=auto
like "$out" "'auto' is not a valid MAC address when modifying" "by itself"
fails "a NIC that is routed" change --net 0:mode=routed,ip=none
like "$out" 'on a routed NIC if not attached to a network' "has an address"
fails "NICs are not detached" change --net 0:detach
like "$out" 'Detach operation is not supported for NICs' "by name"
fails "two actions at once" change --net 0:add,remove
like "$out" 'Cannot do more than one' "are refused"
fails "removal with parameters" change --net 0:remove,link=br1
like "$out" 'Not accepting parameters on removal' "too"
fails "a disk that shall not be removed" change --disk no_remove
like "$out" "no_remove" "is not removed"
fails "nor does a minus add a NIC" change --net -add
like "$out" "INDEX:remove" "and it is said how one goes"
fails "a disk with no_ before its number" change --disk no_0
fails "a disk without size" change --disk add:mode=rw
like "$out" "Missing required parameter 'size'" "as well"
fails "only a detail" change -B vcpus=1 --file-driver=loop
like "$out" 'requires converting to a file-based' "is no change"
m gnt-network add --network 192.0.2.0/24 --mac-prefix aa:bb:cc net1 >/dev/null
m gnt-network connect -N mode=bridged,link=br5 net1 >/dev/null
succeeds "a NIC comes to a network" change --net 0:network=net1,ip=pool
like "$out" 'Chose IP 192.0.2.1 from network net1' "and gets an address"
like "$(shows nic.macs)" '^aa:bb:cc:' "with a MAC of it"
is "$(shows nic.links)" br5 "on its link"
fails "a link of its own" change --net 0:link=br9
like "$out" 'Not allowed to change link or mode of a NIC that is connected' \
    "is refused there"
succeeds "it leaves the network" change --net 0:network=none,ip=none
is "$(shows nic.ips)" None "without an address"
fails "a communication NIC" change -c yes
like "$out" 'network' "needs a network"
m gnt-cluster modify --instance-communication-network=talk >/dev/null
succeeds "has one" change -c yes
like "$(shows nic.names)" 'ganeti:communication:web1' "and a name"
like "$(shows nic.ips)" '169.254.0.1' "an address"
like "$(shows nic.macs)" '52:54:00:' "and a MAC of this network"
succeeds "and goes" change -c no
unlike "$(shows nic.names)" 'ganeti:communication' "without a trace"
fails "hotplug of a stopped one" m gnt-instance modify --hotplug -B vcpus=1 off1
like "$out" 'Hotplug is not possible.*probably down' "is refused"
succeeds "where possible" \
    m gnt-instance modify --hotplug-if-possible --net add:link=br0 off1
like "$out" 'Modification will take place without hotplugging' "it is not"

fails "offline while it is up" change --offline
like "$out" "is marked to be up, can't change to offline without being down first" \
    "is refused"
m gnt-instance shutdown --timeout=0 web1 >/dev/null 2>&1
free=$(m gnt-node list --no-headers --units m -o mem_free node1)
cpus=$(m gnt-node list --no-headers -o vcpus_booked node1)
succeeds "when it is down" change --offline
is "$(shows admin_state)" offline "it is offline"
is "$(m gnt-node list --no-headers --units m -o mem_free node1)" \
    $((free + 256)) "its memory is free"
is "$(m gnt-node list --no-headers -o vcpus_booked node1)" $((cpus - 1)) \
    "so are its CPUs"
is "$(shows disk.count,nic.count)" "1 1" "disks and MACs stay"
fails "it does not start" m gnt-instance startup web1
m gnt-node modify --hypervisor-state fake:mem_total=200,mem_node=0 node1 \
    >/dev/null
fails "it comes back only where there is room" change --online
like "$out" 'Not enough memory on node node1.*needed 256 MiB, available 200' \
    "and says what is missing"
m gnt-node modify --hypervisor-state fake:mem_total=2000,cpu_total=1 node1 \
    >/dev/null
for i in 1 2 3; do
    add "c$i" -t diskless -n node1 --no-start >/dev/null 2>&1
done
m gnt-cluster modify --ipolicy-vcpu-ratio 4 >/dev/null
fails "CPUs count as well" change --online
like "$out" 'Not enough CPUs on node node1' "by their ratio"
succeeds "with room it comes back" change --online --ignore-ipolicy
is "$(shows admin_state)" down "and is down"

succeeds "another primary" change --new-primary node2
is "$(shows pnode)" node2.example.com "for storage that all see"
succeeds "it starts there" m gnt-instance startup web1
fails "not while it runs" change --new-primary node1
like "$out" 'still running on' "for that reason"
succeeds "verify is content" m gnt-cluster verify
# What a creation does not say, the cluster's standard instance has.
sizes() { # NAME: disks and number of NICs
    m gnt-instance list --no-headers -o disk.sizes,nic.count "$1" | xargs
}
succeeds "standard sizes and counts" m gnt-cluster modify \
    --ipolicy-std-specs disk-size=12,disk-count=2,nic-count=3
succeeds "no word of disks" add std1 --ignore-ipolicy -n node1
is "$(sizes std1)" "12,12 3" "makes as many of that size, and NICs"
succeeds "a disk with another parameter alone" add std2 --ignore-ipolicy -n node1 --disk 0:mode=rw --no-nics
is "$(sizes std2)" "12 0" "has the standard size"
succeeds "size=auto" add std3 --ignore-ipolicy -n node1 --disk 0:size=auto --disk 1:size=20m --net 0
is "$(sizes std3)" "12,20 1" "is the standard size, beside others"
is "$(m gnt-job list --format=json -o ops | python3 -c 'import json, sys
print([op["disks"] for job in json.load(sys.stdin) for op in job["ops"]
       if op.get("instance_name") == "std1"])')" \
    "[[{}, {}]]" "the job says how many, as Ganeti's jobs do"
succeeds "a disk is only read" m gnt-instance modify --disk 0:access=r std3
is "$(m gnt-instance info -s std3 | grep -c 'access mode: ro')" 1 "in the older words"
succeeds "the standard is given up" m gnt-cluster modify --ipolicy-std-specs default
succeeds "and Ganeti's is there" m gnt-cluster show-ispecs-cmd
like "$out" 'std-specs .*disk-count=1,disk-size=1024,.*nic-count=1' "again"

tap_done
