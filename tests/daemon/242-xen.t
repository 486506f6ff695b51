#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances of xen-pvm and xen-hvm, with a program in xl's place that keeps
# domains as files and checks the words that it is given (tests/lib/xl).  Real
# domains: tests/vm/xen.t.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "its xl keeps the domains of virtual nodes"
command -v socat >/dev/null || skip_all "socat is not installed"
command -v xl >/dev/null && skip_all "this machine has a real xl"
programs=$(mktemp -d /tmp/gxl.XXXXXX)
trap 'cluster_end; rm -rf "$programs"' EXIT
cp "$(dirname "$0")/../lib/xl" "$programs/"
PATH=$programs:$PATH
export PATH
cluster_start --nodes 2
echo "  secret " >"$programs/password"
touch "$programs/kernel" "$programs/initrd"
chmod 600 "$programs/password"
m gnt-cluster modify --user-shutdown=yes >/dev/null
m gnt-cluster modify --enabled-hypervisors=xen-pvm,xen-hvm,fake \
    -H xen-pvm:kernel_path="$programs/kernel",initrd_path="$programs/initrd" \
    -H xen-hvm:vnc_password_file="$programs/password" >/dev/null

status() { m gnt-instance list --no-headers -o status "$1"; }
field() { m gnt-instance list --no-headers -o "$2" "$1" | tr -d ' '; }
called() { cat "$(root "$1")/xl/.calls"; }
forget_calls() { : >"$(root "$1")/xl/.calls"; }
config() { cat "$(root "$1")/etc/xen/$2"; }

succeeds "add starts a domain" add web1 -t sharedfile -s 4m -n node1 \
    -H xen-pvm -B minmem=128,maxmem=256,vcpus=2 --net 0:ip=192.0.2.9
is "$(status web1),$(field web1 oper_ram),$(field web1 oper_vcpus)" \
    "running,256M,2" "list says so"
like "$(called node1)" "^create .*/etc/xen/web1 $" "by its file"
like "$(config node1 web1)" "^memory = 256$" "which has its memory"
like "$(config node1 web1)" "^disk = \['file:.*web1:0,sda,w'\]$" "its disk"
like "$(config node1 web1)" \
    "^vif = \['mac=aa:.*, ip=192.0.2.9, bridge=br0'\]$" "and its NIC"
like "$(cat "$(root node1)/var/run/ganeti/xen-hypervisor/nic/web1/0")" \
    "^IP=192.0.2.9$" "the NIC has a file for scripts"
is "$(m gnt-node list --no-headers -o mtotal,mfree,mnode,ctotal \
    --separator=, node1)" "4096,3000,512,4" "the node's data are Xen's"
succeeds "its memory shrinks" m gnt-instance modify -m 192 web1
is "$(field web1 oper_ram)" 192M "as list says"
like "$(config node1 web1)" "^memory = 192$" "and its file"
succeeds "it reboots" m gnt-instance reboot -t soft web1
like "$(called node1)" "^reboot web1 $" "from inside"
succeeds "the console is shown" m gnt-instance console --show-cmd web1
like "$out" "xl console web1" "as a command"
"$BIN/gnt-vcluster" kill "$VC" node1 noded
"$BIN/gnt-vcluster" start "$VC" node1 noded >/dev/null
is "$(status web1)" running "a new node daemon finds it"

succeeds "it migrates" m gnt-instance migrate -f web1
is "$(field web1 pnode),$(status web1)" "node2.example.com,running" \
    "to the other node"
like "$(called node1)" \
    "^migrate -s socat -b524288 - TCP:[0-9.]*:8002 # -C .*/etc/xen/web1 web1 " \
    "by socat"
is "$(ls "$(root node1)/etc/xen")$(ls \
    "$(root node1)/var/run/ganeti/xen-hypervisor/nic")" "" \
    "and leaves nothing behind"
like "$(config node2 web1)" "^memory = 192$" "its file came along"
is "$(ls "$(root node2)/var/run/ganeti/xen-hypervisor/migration")" "" \
    "the receiver is gone"
address=$(m gnt-node list --no-headers -o sip node1)
socat "TCP-LISTEN:8002,bind=$address,reuseaddr" /dev/null &
taken=$!
taken() { grep -q ":1F42 00000000:0000 0A " /proc/net/tcp; }
until_true 10 taken
fails "a migration to a port that is taken" m gnt-instance migrate -f web1
like "$out" "Port 8002 of this node is taken by another program" "says so"
kill "$taken"
is "$(field web1 pnode),$(status web1)" "node2.example.com,running" \
    "and it runs on where it was"
touch "$(root node2)/xl/.fail-migrate"
fails "a migration that fails" m gnt-instance migrate -f web1
like "$out" "migrate fails as told" "says why"
is "$(field web1 pnode),$(status web1)" "node2.example.com,running" \
    "and it runs on where it was"
rm "$(root node2)/xl/.fail-migrate"
touch "$(root node1)/xl/.fail-migrate-receive"
fails "one that fails at the end" m gnt-instance migrate -f web1
like "$(called node2)" "^rename web1--migratedaway web1 $" "gives it its name back"
is "$(status web1)" running "and it runs on"
rm "$(root node1)/xl/.fail-migrate-receive"

# As its user does it: Xen keeps the domain.
echo "9 192 2 ---s-- 3.0" >"$(root node2)/xl/web1"
is "$(status web1)" USER_down "a domain that its user has shut down"
succeeds "can be started" m gnt-instance startup web1
is "$(status web1)" running "and runs"
succeeds "shutdown" m gnt-instance shutdown --timeout 20 web1
is "$(status web1),$(ls "$(root node2)/xl"),$(ls "$(root node2)/etc/xen")" \
    "ADMIN_down,," "leaves no domain and no file"
m gnt-instance startup web1 >/dev/null
touch "$(root node2)/xl/.deaf"
succeeds "a guest that does not listen" \
    m gnt-instance shutdown --timeout 1 web1
is "$(status web1)" ADMIN_down "is destroyed"
touch "$(root node2)/xl/.fail-create"
fails "a domain that cannot be made" m gnt-instance startup web1
like "$out" "create fails as told.*moved its configuration to .*/xen/web1-20" \
    "leaves its file in the log folder"
is "$(ls "$(root node2)/etc/xen")" "" "alone"
rm "$(root node2)/xl/.fail-create"

printf 'nonsense\n' >"$(root node2)/xl/.lines"
fails "a list that cannot be read" m gnt-instance startup web1
like "$out" "Can't parse instance list, line: nonsense" "is an error"
is "$(field web1 status)" ERROR_nodedown "and nothing is said of its instances"
printf '(null)  7 0 1 --ps-d 1.0\n' >"$(root node2)/xl/.lines"
succeeds "one that is about to go" m gnt-instance startup web1
is "$(status web1)" running "is none"
rm "$(root node2)/xl/.lines"

m gnt-instance shutdown --timeout=0 web1 >/dev/null
succeeds "one that is started paused" m gnt-instance startup --paused web1
like "$(called node2)" "^create -p " "waits"
forget_calls node2
export XL_STATE="$(root node2)/xl"
succeeds "for somebody at its console" m gnt-instance console web1
like "$out" "Instance web1 is paused, unpausing" "where it is said"
like "$(called node2)" "^unpause web1 $" "that it goes on"
forget_calls node2
m gnt-instance console web1 >/dev/null
unlike "$(called node2)" "unpause" "once"
unset XL_STATE
m gnt-instance remove -f --shutdown-timeout=1 web1 >/dev/null

forget_calls node1
succeeds "a virtual machine of HVM" add hvm1 -t sharedfile -s 4m -n node1 \
    -H xen-hvm:boot_order=dc,nic_type=e1000
file=$(root node1)/etc/xen/hvm1
like "$(cat "$file")" "^vncpasswd = '  secret'$" "has the password for its screen"
is "$(stat -c %a "$file")" 600 "where nobody else reads it"
unlike "$(cat "$(root node1)"/var/log/ganeti/*.log; called node1)" "secret" \
    "nor in a log or a command"
port=$(field hvm1 network_port)
like "$(cat "$file")" "^vncdisplay = $((port - 5900))$" "and its port"
succeeds "it migrates" m gnt-instance migrate -f hvm1
like "$(config node2 hvm1)" "^vncpasswd = '  secret'$" "with it"
is "$(stat -c %a "$(root node2)/etc/xen/hvm1")" 600 "not for all either"
succeeds "shutdown presses the button" m gnt-instance shutdown --timeout 1 hvm1
like "$(called node2)" "^shutdown -F hvm1 $" "of ACPI"
succeeds "the cluster is well" m gnt-cluster verify --no-nplus1-mem
fails "a kernel that is not there" \
    m gnt-instance add --no-name-check --no-ip-check -o noop -t diskless \
    -n node1 -H xen-pvm:kernel_path=/nosuch web3
like "$out" "file '/nosuch' not found" "is named"
fails "quotes of both kinds" m gnt-cluster modify \
    -H "xen-pvm:kernel_args=a'b\"c"
rm "$programs/xl"
fails "without xl" m gnt-cluster verify --no-nplus1-mem
like "$out" "xen toolstack 'xl' is not available on this node" "verify says so"
is "$(m gnt-instance list --no-headers -o name)" hvm1 "and the rest goes on"
tap_done
