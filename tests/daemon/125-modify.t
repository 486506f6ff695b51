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

fails "nothing" change
like "$out" 'at least one' "is asked for"
succeeds "back-end parameters" change -B minmem=128,vcpus=2
like "$out" '^Modified instance web1$' "are reported"
like "$out" ' - be/minmem -> 128$' "one by one"
is "$(shows be/minmem,be/maxmem,be/vcpus | xargs)" "128 256 2" "and in force"
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
succeeds "the first goes" change --disk 0:remove
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
fails "hotplug" change --hotplug --net add:link=br0
like "$out" 'Hotplug is not possible' "is not there"
succeeds "where possible" change --hotplug-if-possible --net add:link=br0
like "$out" 'WARNING: Hotplug is not possible' "it is at the next start"

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
is "$(shows disk.count,nic.count)" "1 2" "disks and MACs stay"
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
tap_done
