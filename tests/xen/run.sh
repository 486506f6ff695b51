#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BUILD: the acts of xen-pvm on two real nodes of Xen, emulated by QEMU.
# Minutes long, so no part of make test: make test-xen.  It needs
# ../shared/testbed/xen-node.sh, which builds and boots the nodes, and says that
# it is skipped without.  With UP=1 nodes that are up already are used, and stay.
. "$(dirname "$0")/../lib/tap.sh"
build=${1:?usage: run.sh BUILD}
node_sh=${XEN_NODE:-$(dirname "$0")/../../../shared/testbed/xen-node.sh}
[ -x "$node_sh" ] || skip_all "there is no ../shared/testbed/xen-node.sh"
[ -x "$build/tests/hv_drive" ] || skip_all "hv_drive is not built"
# What hv_drive is linked with.
EXTRA=${EXTRA:-xen-utils-4.17,xenstore-utils,libuv1,libjansson4,libgnutls30,libssh2-1,libmicrohttpd12,socat}
export EXTRA
work=$(mktemp -d /tmp/gxen.XXXXXX)
finish() {
    [ -n "${UP-}" ] || "$node_sh" down >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
[ -n "${UP-}" ] || "$node_sh" up 2 >"$work/up" 2>&1 || {
    note "$(tail -5 "$work/up")"
    skip_all "the nodes did not start"
}
cat >"$work/pv.json" <<'END'
{"name": "pv1", "uuid": "b0a0e1f2-0000-4000-8000-000000000001",
 "hypervisor": "xen-pvm",
 "hvparams": {"kernel_path": "/mnt/guest", "initrd_path": "/mnt/guest.gz",
  "kernel_args": "console=hvc0 quiet panic=-1 mitigations=off tg.name=pv1 tg.ip=10.77.1.1/24",
  "root_path": "", "blockdev_prefix": "xvd", "cpu_mask": "0", "cpu_weight": 256,
  "reboot_behavior": "reboot", "migration_port": 8002, "xen_cmd": "xl"},
 "beparams": {"minmem": 96, "maxmem": 128, "vcpus": 1},
 "nics": [{"mac": "aa:00:00:00:00:01", "uuid": "n",
  "nicparams": {"mode": "bridged", "link": "br0"}}],
 "disks_info": [{"mode": "rw", "dev_type": "drbd", "logical_id": ["a"]}],
 "disk_paths": ["/dev/loop0"]}
END
for node in 1 2; do
    "$node_sh" put $node "$build/tests/hv_drive" "$work/pv.json" /root
done
on() { # NODE COMMAND...
    "$node_sh" ssh "$@"
}
act() { # NODE VERB [ARGUMENT]
    node=$1 verb=$2
    shift 2
    on "$node" "/root/hv_drive $verb /root/pv.json $*"
}
# The guest's counter, as its web server tells it.
tick() {
    on "$1" 'timeout 3 bash -c "exec 3<>/dev/tcp/10.77.1.1/80
        printf \"GET /tick HTTP/1.0\\r\\n\\r\\n\" >&3; tail -n 1 <&3"' |
        grep '^[0-9]'
}
is_gone() { [ "$(act "$1" info)" = "{}" ]; }
is_shut_down() { act "$1" info | grep -q '"state":1'; }

succeeds "Xen can be used" act 1 verify
succeeds "the node tells its memory" act 1 node
like "$out" '"hv_version":\[4,17\]' "and its version"
note "$out"
is "$(act 1 list)" "[]" "no instance runs"
succeeds "a guest starts" act 1 start
is "$(act 1 list)" '["pv1"]' "and is listed"
like "$(act 1 info)" '"memory":1(28|27),"vcpus":1,"state":0' "with its data"
succeeds "it is alive" until_true 120 tick 1
fails "it starts only once" act 1 start
like "$out" "already running" "as it says"
succeeds "its memory shrinks" act 1 balloon 112
shrunk() { act 1 info | grep -Eq '"memory":11[0-3],'; }
succeeds "as Xen says" until_true 60 shrunk
like "$(on 1 cat /etc/xen/pv1)" "^memory = 112$" "and its file"
succeeds "it reboots" act 1 reboot
succeeds "and is alive again" until_true 120 tick 1

succeeds "the target waits" act 2 accept 10.77.0.12
act 1 migration_info >"$work/info"
"$node_sh" put 2 "$work/info" /root/info
before=$(tick 1)
succeeds "it migrates" act 1 migrate 10.77.0.12
succeeds "the target knows it" act 2 arrived /root/info
succeeds "the source forgets it" act 1 left
is "$(act 1 list),$(act 2 list)" '[],["pv1"]' "it runs over there"
succeeds "alive" until_true 60 tick 2
after=$(tick 2)
is "$([ "${after:-0}" -gt "${before:-0}" ] && echo more)" more \
    "and was not started anew ($before, $after)"
is "$(on 1 'ls /etc/xen/pv1 2>/dev/null'),$(on 2 'ls /etc/xen/pv1')" \
    ",/etc/xen/pv1" "its file moved"

succeeds "a migration to nowhere" act 2 accept 10.77.0.12
fails "fails" act 2 migrate 10.77.0.13
succeeds "it stays" act 2 stayed
succeeds "and runs" until_true 60 tick 2

succeeds "it is asked to end" act 2 stop
succeeds "does so, and is known" until_true 120 is_shut_down 2
succeeds "and is forgotten" act 2 cleanup
is "$(act 2 info)" "{}" "then"
succeeds "it starts again" act 2 start
succeeds "and is destroyed" act 2 destroy
succeeds "at once" until_true 30 is_gone 2
act 2 cleanup
is "$(on 2 'ls /etc/xen/pv1 /var/run/ganeti/xen-hypervisor/nic 2>/dev/null')" \
    "/var/run/ganeti/xen-hypervisor/nic:" "nothing is left"
tap_done
