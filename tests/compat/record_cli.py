#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Record what Ganeti's own commands (Debian's package) do, into cli.json.

Usage: record_cli.py [NAME...]     the cases below; all without names
A case is a command line, and answers where the usual ones do not do.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fake_luxi import FakeMaster  # noqa: E402

FOLDER = "/usr/sbin"


def field(name, kind="text", title=None):
    return {"name": name, "title": title or name.title(), "kind": kind,
            "doc": "What " + name + " says"}


JOBS = {"fields": [field("id", "number", "ID"), field("status"),
                   field("summary", "other")],
        "data": [[[0, 1], [0, "queued"], [0, ["A"]]],
                 [[0, 12], [0, "waiting"], [0, ["B", "C"]]]]}
LOCKS = {"fields": [field(n, "other") for n in ("name", "mode", "owner",
                                                "pending")],
         "data": [[[0, "cluster/BGL"], [0, "shared"], [0, ["12", "34"]],
                   [0, []]],
                  [[0, "node/x"], [0, None], [0, None],
                   [0, [["exclusive", ["15"]], ["shared", ["1", "2"]]]]]]}
NODE = [["node3.example.com", ["i1", "i10", "i4"]]]
PREREQ = ["OpPrereqError", ["bad thing", "wrong_state"]]


def failed(error):
    return [["error", ["error"], [error]]]


def jobs(*answers):
    """Results of a job that submitted others."""
    return [["success", ["success"], [{"jobs": list(answers)}]]]


DONE = [["success", ["success"], [None]]]


def disk_row(dev_type, logical_id, size=1024, **members):
    """A disk as OP_INSTANCE_QUERY_DATA tells it."""
    row = {"iv_name": "", "dev_type": dev_type,
           "logical_id": logical_id, "drbd_info": None, "pstatus": None,
           "sstatus": None, "children": [], "mode": "rw", "size": size,
           "spindles": None, "name": None, "uuid": "uuid-" + dev_type}
    row.update(members)
    return row


def volume_row(name, size, local):
    status = ["/dev/xenvg/" + name, 253, 7, None, None, False, local]
    return disk_row("plain", ["xenvg", name], size, pstatus=status,
                    sstatus=status[:6] + [1])


def mirror_row(pstatus, sstatus):
    return disk_row("drbd", ["u1", "u2", 11000, 0, 3, None], name="root",
                    spindles=2, drbd_info={
                        "primary_node": "node1", "primary_minor": 0,
                        "secondary_node": "node2", "secondary_minor": 3,
                        "port": 11000},
                    pstatus=["/dev/drbd0", 147, 0] + pstatus,
                    sstatus=["/dev/drbd3", 147, 3] + sstatus,
                    children=[volume_row("a.disk0_data", 1024, 1),
                              volume_row("a.disk0_meta", 128, 4)])


def told(disks, hv=(), snodes=("node2", "node3")):
    """The answer of a job that tells all about one instance."""
    disks = [dict(d, iv_name="disk/%d" % i) for i, d in enumerate(disks)]
    return {"QueryJobs": [["success", ["success"], [{"a": {
        "name": "a", "uuid": "uuid-a", "serial_no": 3, "ctime": 1795213230.5,
        "mtime": 1795213231.5, "config_state": "up", "run_state": "up",
        "pnode": "node1", "pnode_group_uuid": "g1",
        "pnode_group_name": "default", "snodes": list(snodes),
        "snodes_group_uuids": ["g1", "g2"][:len(snodes)],
        "snodes_group_names": ["default", "other"][:len(snodes)],
        "os": "noop", "os_instance": {}, "os_actual": {}, "nics": [],
        "network_port": 11007, "hypervisor": "kvm", "hv_instance": {},
        "hv_actual": dict(hv), "be_instance": {}, "be_actual": {"maxmem": 512},
        "disk_template": "drbd", "disks": disks}}]]]}


GOOD = [None, None, False, 1]
IN_CLUSTER = json.load(open(os.path.join(HERE, "cli_cluster.json"),
                            encoding="utf-8"))

# name: (command line, or its words where one has blanks,
#        {method: answer, or [answer, ...] in "many"})
CASES = {
    "info-mirrors": ("gnt-instance info a", told([
        mirror_row(GOOD, [None, None, True, 4]),
        mirror_row([5.25, 9, True, 3], [45.5, None, True, 1])])),
    "info-volumes": ("gnt-instance info a", told([
        volume_row("a.disk0", 1024, 1), volume_row("a.disk1", 512, 4),
        disk_row("file", ["loop", "/f/a"], pstatus=["/f/a", None, None] +
                 GOOD)], {"vnc_bind_address": ""}, ())),
    "info-vnc": ("gnt-instance info a",
                 told([], {"vnc_bind_address": "0.0.0.0"})),
    "info-vnc-address": ("gnt-instance info a",
                         told([], {"vnc_bind_address": "192.0.2.1"})),
    "info-vnc-socket": ("gnt-instance info a",
                        told([], {"vnc_bind_address": "/run/vnc"})),
    "info-cluster": ("gnt-cluster info", {"QueryClusterInfo": IN_CLUSTER}),
    "stop-submit": ("gnt-instance stop --submit --force-multiple a b", {}),
    "stop-submit-one": ("gnt-instance stop --submit a", {}),
    "stop-print-jobid": (
        "gnt-instance stop --submit --print-jobid --force-multiple a b", {}),
    "stop-unconfirmed": ("gnt-instance stop a b", {}),
    "stop-all-empty": ("gnt-instance stop --all", {"QueryInstances": []}),
    "stop-all": ("gnt-instance stop --all --force-multiple",
                 {"QueryInstances": [["a"], ["b"]]}),
    "stop-options": ("gnt-instance stop -f --timeout=5 --ignore-offline "
                     "--no-remember --dry-run a", {}),
    "start-options": ("gnt-instance start --paused -B memory=1g "
                      "-H kernel_path=/k,acpi=false --priority=low a", {}),
    "start-secondary": (
        "gnt-instance start --secondary --force-multiple node2",
        {"QueryNodes": [["node2", ["a"], ["b", "c"]]]}),
    "start-tags": ("gnt-instance start --tags --force-multiple web",
                   {"QueryInstances": [["a", ["web"]], ["b", []],
                                       ["c", ["db", "web"]]]}),
    "reboot-options": ("gnt-instance reboot --reason=because "
                       "--priority=high --ignore-secondaries "
                       "--shutdown-timeout=9 -t soft a", {}),
    "console-vnc": (
        "gnt-instance console a",
        {"QueryConfigValues": ["c1"], "QueryInstances": [[{
            "instance": "a", "kind": "vnc", "host": "192.0.2.1",
            "port": 11000, "display": 5100}, True]]}),
    "console-spice": (
        "gnt-instance console a",
        {"QueryConfigValues": ["c1"], "QueryInstances": [[{
            "instance": "a", "kind": "spice", "host": "192.0.2.1",
            "port": 11000}, True]]}),
    "console-message": (
        "gnt-instance console a",
        {"QueryConfigValues": ["c1"], "QueryInstances": [[{
            "instance": "a", "kind": "msg", "message": "none"}, True]]}),
    "console-none": (
        "gnt-instance console a",
        {"QueryConfigValues": ["c1"], "QueryInstances": [[None, True]]}),
    "modify-nics": (
        "gnt-instance modify --net add:mac=generate,ip=pool,network=net1 "
        "--net 1:add,link=br1,mode=routed,vlan=5 --net eth1:remove "
        "--net 0:ip=none,network=none,name=none --net -1:modify,link=br2 a",
        {}),
    "modify-disks": (
        "gnt-instance modify --disk add:size=10g,vg=vg1,metavg=vg2,mode=ro,"
        "name=d1,spindles=3 --disk 2:add,size=1t --disk attach:name=x "
        "--disk 1:attach,uuid=1234 --disk 0:detach --disk d1:name=none a",
        {}),
    "modify-last-devices": (
        "gnt-instance modify --net remove --disk detach --disk remove a", {}),
    "modify-two-actions": ("gnt-instance modify --net 0:remove,link=br0 a",
                           {}),
    "modify-no-size": ("gnt-instance modify --disk add:mode=rw a", {}),
    "modify-hotplug": (
        "gnt-instance modify --hotplug -f --net 0:link=br2 "
        "--no-wait-for-sync --disk add:size=1g a", {}),
    "modify-hotplug-unconfirmed": (
        "gnt-instance modify --hotplug --net 0:link=br2 a", {}),
    "modify-template": ("gnt-instance modify -t drbd -n n2 a", {}),
    "modify-ext": ("gnt-instance modify -t ext -e provider=p,x=y a", {}),
    "modify-ext-no-provider": ("gnt-instance modify -t ext -e x=y a", {}),
    "modify-ext-misfit": ("gnt-instance modify -t plain -e provider=p a", {}),
    "modify-file-misfit": (
        "gnt-instance modify -B vcpus=2 --file-driver=loop a", {}),
    "modify-default-word": (
        "gnt-instance modify -B maxmem=DEFAULT,vcpus=Default "
        "-H kernel_path=Default a", {}),
    "modify-usb": ("gnt-instance modify -H".split() +
                   ["usb_devices=tablet mouse", "a"], {}),
    "add-usb": ("gnt-instance add -t diskless -n n1 -o d --no-nics -H".split() +
                ["kvm:usb_devices=tablet mouse", "a"], {}),
    "modify-escapes": (
        r"gnt-instance modify -H kernel_args=a\,b\\,kernel_path=\/k\ a",
        {}),
    "modify-detail": ("gnt-instance modify -n n2 a", {}),
    "recreate-disks": (
        "gnt-instance recreate-disks --disk 0:spindles=4,size=3g,mode=ro "
        "-n n1:n2 a", {}),
    "recreate-disks-both": ("gnt-instance recreate-disks -n n1 -I hail a",
                            {}),
    "grow-disk-amount": ("gnt-instance grow-disk a 0 x", {}),
    "add-adopt-size": ("gnt-instance add -t plain --disk 0:adopt=lv1,size=3 "
                       "-n n1 --no-install a", {}),
    "add-bad-nic": ("gnt-instance add -t diskless -I hail -o d "
                    "--net 0:bogus=x a", {}),
    "reinstall-several": ("gnt-instance reinstall --force-multiple a b", {}),
    "reinstall-several-unconfirmed": ("gnt-instance reinstall -f a b", {}),
    "reinstall-all-unconfirmed": ("gnt-instance reinstall -f --all",
                                  {"QueryInstances": [["a"]]}),
    "reinstall-one": ("gnt-instance reinstall --force-multiple a", {}),
    "reinstall-forced": ("gnt-instance reinstall -f a", {}),
    "reinstall-unconfirmed": ("gnt-instance reinstall a", {}),
    "remove-unconfirmed": ("gnt-instance remove a", {}),
    "remove-options": ("gnt-instance remove -f --ignore-failures a", {}),
    "failover-unconfirmed": ("gnt-instance failover a", {}),
    "failover-options": ("gnt-instance failover -f --ignore-consistency "
                         "--ignore-ipolicy -n node2 a", {}),
    "migrate-options": ("gnt-instance migrate -f --non-live "
                        "--allow-failover --no-runtime-changes "
                        "--ignore-hvversions a", {}),
    "migrate-mode": ("gnt-instance migrate -f --migration-mode=live "
                     "--cleanup a", {}),
    "add-options": (
        "gnt-instance add -t plain -s 10g -o debian+default -n n1:n2 "
        "-H kvm:kernel_path=/k,acpi=true,vnc_bind_address=0.0.0.0 "
        "-B minmem=1g,maxmem=2g,vcpus=4,auto_balance=false "
        "-O a=1,b=2 --net 0:ip=1.2.3.4,link=br1 --net 1:mac=auto "
        "--no-start --no-wait-for-sync --no-conflicts-check "
        "--tags=a,b --ignore-ipolicy --force-variant -g g1 "
        "--file-driver=loop --file-storage-dir=x "
        "--opportunistic-locking web", {}),
    "add-disks": ("gnt-instance add -t file --disk 0:size=1g,mode=ro "
                  "--disk 1:size=512,spindles=2,name=x -o noop --no-nics "
                  "-I hail web", {}),
    "add-no-disk": ("gnt-instance add -t file -o noop -n n1 web", {}),
    "move-options": (
        "gnt-instance move -f -n n2 --compress=gzip --shutdown-timeout=4 "
        "--ignore-consistency --ignore-ipolicy --submit a", {}),
    "move-unconfirmed": ("gnt-instance move -n n2 a", {}),
    "export-options": (
        "gnt-backup export -n n2 --transport-compression=gzip-fast "
        "--noshutdown --shutdown-timeout=7 --remove-instance "
        "--ignore-remove-failures --zero-free-space "
        "--zeroing-timeout-fixed=3 --zeroing-timeout-per-mib=0.5 "
        "--long-sleep --priority=low a", {}),
    "export-no-node": ("gnt-backup export a", {}),
    "import-plain": ("gnt-backup import -t file -n n1 a", {}),
    "import-options": (
        "gnt-backup import -t file -n n1 --disk 0:size=1g "
        "--net 0:mac=auto -B vcpus=2 --src-node=n3 --src-dir=x "
        "--identify-defaults --compress=gzip --no-name-check "
        "--no-ip-check --ignore-ipolicy --tags=x a", {}),
    "backup-list-nodes": ("gnt-backup list -n n1 -n n2", {}),
    "backup-remove": ("gnt-backup remove --dry-run a", {}),
    "volumes": (
        "gnt-node volumes node1",
        {"QueryJobs": [["success", ["success"], [
            [["node1", "/dev/sda1", "xenvg", "a.disk0", "2048", "i1"],
             ["node1", "/dev/sdb1", "xenvg", "b", "128", "-"]]]]]}),
    "volumes-options": (
        "gnt-node volumes --no-headers --separator=: --units=m "
        "-o name,size node1 node2",
        {"QueryJobs": [["success", ["success"], [[["a", "2048"]]]]]}),
    "modify-storage": (
        "gnt-node modify-storage --allocatable=no node1 lvm-pv /dev/sda1",
        {}),
    "modify-storage-nothing": (
        "gnt-node modify-storage node1 lvm-pv /dev/sda1", {}),
    "repair-storage": (
        "gnt-node repair-storage --ignore-consistency --submit node1 "
        "lvm-vg xenvg", {}),
    "health-items": (
        "gnt-node health --oob-timeout=9 node1 node2",
        {"QueryJobs": [["success", ["success"], [
            [[[0, "node1"], [0, [["disk", "OK"], ["fan", "WARNING"]]]],
             [[0, "node2"], [2, None]]]]]]}),
    "power-status": (
        "gnt-node power status node1 node2",
        {"QueryJobs": [["success", ["success"], [
            [[[0, "node1"], [0, {"powered": True}]],
             [[0, "node2"], [0, {"powered": False}]]]]]]}),
    "power-off": (
        "gnt-node power -f --auto-promote --power-delay=0.5 off node2",
        {"QueryJobs": [["success", ["success", "success"], [
            [], [[[0, "node2"], [0, None]]]]]]}),
    "power-off-ignore": (
        "gnt-node power -f --ignore-status off node2",
        {"QueryJobs": [["success", ["success"], [
            [[[0, "node2"], [0, None]]]]]]}),
    "power-nobody": ("gnt-node power cycle", {}),
    "power-nonsense": ("gnt-node power boil node1", {}),
    "restricted-options": (
        "gnt-node restricted-command --sync -M -g g1 uptime node1 node2",
        {"Query": {"fields": [field("name"), field("offline", "bool"),
                              field("sip")],
                   "data": [[[0, "node1"], [0, False], [0, "x"]],
                            [[0, "node2"], [0, True], [0, "y"]]]},
         "QueryJobs": [["success", ["success"], [
             [[True, "up\nand more\n"]]]]]}),
    "restricted-group": (
        "gnt-node restricted-command -g g1 uptime",
        {"Query": {"fields": [field("name"), field("offline", "bool"),
                              field("sip")],
                   "data": [[[0, "node1"], [0, False], [0, "x"]]]},
         "QueryJobs": [["success", ["success"], [
             [[False, "no such thing"]]]]]}),
    "restricted-nobody": ("gnt-node restricted-command uptime", {}),
    "ext-diagnose": (
        "gnt-storage diagnose",
        {"QueryJobs": [["success", ["success"], [
            [["ceph", {"n1": [["/p/ceph", True, "",
                               [["pool", "the pool"], ["x", "y"]]]],
                       "n2": [["/p/ceph", False, "no attach", []]],
                       "n10": []},
              {"g1": False, "g2": True}]]]]]}),
    "ext-info": (
        "gnt-storage info ceph other",
        {"QueryJobs": [["success", ["success"], [
            [["ceph", {"g1": True, "g10": True, "g2": True},
              [["pool", "the pool"]]],
             ["nfs", {"g1": False}, []]]]]]}),
    "ext-info-none": (
        "gnt-storage info", {"QueryJobs": [["success", ["success"], [[]]]]}),
    "evacuate-unconfirmed": ("gnt-node evacuate node3",
                             {"QueryNodes": [[["i1"], ["i2"]]]}),
    "evacuate-none": ("gnt-node evacuate -p node3", {"QueryNodes": [[[]]]}),
    "evacuate-primary": (
        "gnt-node evacuate -f -p -I hail node3",
        {"QueryNodes": [[["i1"]]],
         "many QueryJobs": [jobs([True, 5], [True, 6]),
                            [["running"], ["queued"]], DONE, [["success"]],
                            DONE]}),
    "evacuate-errors": (
        "gnt-node evacuate -f -n node2 node3",
        {"QueryNodes": [[["i2"]]],
         "many QueryJobs": [jobs([True, 5], [True, 6], [False, "nope"]),
                            [["queued"], ["running"]], failed(PREREQ),
                            [["queued"]], DONE]}),
    "node-failover": ("gnt-node failover -f --ignore-consistency node3",
                      {"QueryNodes": NODE}),
    "node-failover-unconfirmed": ("gnt-node failover node3",
                                  {"QueryNodes": NODE}),
    "node-failover-none": ("gnt-node failover -f node3",
                           {"QueryNodes": [["node3.example.com", []]]}),
    "node-migrate": ("gnt-node migrate -f -n node1 node3",
                     {"QueryNodes": NODE,
                      "many QueryJobs": [jobs([True, 5]), [["queued"]],
                                         DONE]}),
    "node-migrate-errors": (
        "gnt-node migrate -f --non-live node3",
        {"QueryNodes": NODE,
         "many QueryJobs": [jobs([True, 5]), [["running"]],
                            failed(PREREQ)]}),
    "node-modify-options": (
        "gnt-node modify -O yes --auto-promote --submit "
        "--node-parameters oob_program=/x,spindle_count=3 "
        "--vm-capable=no -f node3", {}),
    "node-modify-nothing": ("gnt-node modify node3", {}),
    "node-powercycle": ("gnt-node powercycle --yes node3", {}),
    "node-list-globs": ("gnt-node list node1 node*", {}),
    "node-list-more": ("gnt-node list -o +uuid -F name=*\"node*\"", {}),
    "storage-options": (
        "gnt-node list-storage -o name,allocatable,size --no-headers "
        "-t file --units=g node1",
        {"QueryJobs": [["success", ["success"],
                        [[["/a", True, 2048], ["/b", False, 512]]]]]}),
    "storage-separator": (
        "gnt-node list-storage -t file --separator=, -o node,size",
        {"QueryJobs": [["success", ["success"], [[["n", 2048]]]]]}),
    "redist-conf": ("gnt-cluster redist-conf --submit", {}),
    "watcher-info": ("gnt-cluster watcher info",
                     {"QueryConfigValues": [None]}),
    "watcher-info-past": ("gnt-cluster watcher info",
                          {"QueryConfigValues": [1795213230]}),
    "watcher-info-paused": ("gnt-cluster watcher info",
                            {"QueryConfigValues": [4095213230]}),
    "queue-drain": ("gnt-cluster queue drain", {"SetDrainFlag": True}),
    "queue-set": ("gnt-cluster queue info", {"QueryConfigValues": [True]}),
    "master-ping": ("gnt-cluster master-ping", {}),
    "getmaster": ("gnt-cluster getmaster", {}),
    "cluster-modify-nothing": ("gnt-cluster modify", {}),
    "cluster-modify-escapes": (
        r"gnt-cluster modify --reserved-lvs=a\,b\\,c\d", {}),
    "cluster-modify-nothing-reserved": ("gnt-cluster modify --reserved-lvs=",
                                        {}),
    "master-failover-alias": ("gnt-cluster masterfailover x", {}),
    "network-info": (
        "gnt-network info",
        {"QueryNetworks": [
            ["net1", "10.0.0.0/18", None, None, None, None, 10059, 1,
             "X" + "." * 10059, [], [],
             ", ".join("10.0.0.%d" % i for i in range(5, 20)), 1, "uuid1"],
            ["net2", "10.1.0.0/30", None, None, None, None, 2, 2, "X..X",
             [], [], "10.1.0.0, 10.1.0.3", 1, "uuid2"]]}),
    "cluster-modify-options": (
        "gnt-cluster modify -B maxmem=1g,vcpus=2 -C 5 "
        "--enabled-hypervisors=kvm,fake -H kvm:acpi=false -N mode=routed "
        "--node-parameters spindle_count=2 -I . --mac-prefix=aa:00:01 "
        "--reserved-lvs=a,b --user-shutdown=yes "
        "--enabled-disk-templates=file --ipolicy-disk-templates=file,plain "
        "--prealloc-wipe-disks=no -D drbd:metavg=x --master-netmask=24 -f "
        "--maintain-node-health=yes --max-tracked-jobs=30", {}),
    "verify-options": (
        "gnt-cluster verify -g g1 -v --error-codes -I ENODESSH "
        "-I EINSTANCEDOWN --no-nplus1-mem",
        {"many QueryJobs": [jobs([True, 5]), [["queued"]],
                            [["success", ["success"], [True]]]]}),
    "verify-not-submitted": ("gnt-cluster verify",
                             {"QueryJobs": jobs([False, "cannot"])}),
    "verify-failed": ("gnt-cluster verify",
                      {"many QueryJobs": [jobs([True, 5]), [["queued"]],
                                          failed(PREREQ)]}),
    "redist-conf-drained": ("gnt-cluster redist-conf --yes-do-it", {}),
    "usage-units": ("gnt-node list --units=x", {}),
    "usage-value": ("gnt-node list -o", {}),
    "usage-option": ("gnt-node list --nosuch=1", {}),
    "change-group": ("gnt-instance change-group --to g2 --to g3 a", {
        "many QueryJobs": [jobs([True, 5]), [["queued"]], DONE]}),
    "batch-create-allocated": (
        "gnt-instance batch-create -I hail BATCH",
        {"many QueryJobs": [jobs([True, 5]), [["queued"]], DONE]}),
    "batch-create-failed": (
        "gnt-instance batch-create BATCH",
        {"many QueryJobs": [jobs([True, 5]), [["queued"]],
                            failed(PREREQ)]}),
    "submit-job": (
        "gnt-debug submit-job --op-repeat 2 --job-repeat 2 OPS", {}),
    "search-tags-none": ("gnt-cluster search-tags x",
                         {"QueryJobs": [["success", ["success"], [[]]]]}),
    "list-tags-none": ("gnt-cluster list-tags", {"QueryTags": []}),
    "add-tags-prio": ("gnt-node add-tags --priority=low node1 a b", {}),
    "locks": ("gnt-debug locks", {"Query": LOCKS}),
    "locks-verbose": ("gnt-debug locks -v -o name,pending",
                      {"Query": {"fields": [LOCKS["fields"][0],
                                            LOCKS["fields"][3]],
                                 "data": [[r[0], r[3]]
                                          for r in LOCKS["data"]]}}),
    "delay-options": ("gnt-debug delay --submit -r 3 -i -l --dry-run 1.5",
                      {}),
    "job-cancel-no-args": ("gnt-job cancel", {}),
    "job-cancel-both": ("gnt-job cancel --pending 3", {}),
    "job-cancel-running-only": ("gnt-job cancel -f --queued",
                                {"Query": JOBS,
                                 "CancelJob": [True, "It will be"]}),
    "job-cancel-unconfirmed": ("gnt-job cancel --waiting", {"Query": JOBS}),
    "job-cancel-kill": ("gnt-job cancel --kill --yes-do-it 3",
                        {"CancelJob": [False, "It runs"]}),
    "job-archive": ("gnt-job archive 1 2", {"ArchiveJob": False}),
    "job-archive-good": ("gnt-job archive 1", {"ArchiveJob": True}),
    "job-autoarchive-all": ("gnt-job autoarchive all",
                            {"AutoArchiveJobs": [3, 0]}),
    "job-autoarchive-age": ("gnt-job autoarchive 2d",
                            {"AutoArchiveJobs": [3, 4]}),
    "job-priority": ("gnt-job change-priority --priority=low 3 4",
                     {"ChangeJobPriority": [True, "done"]}),
    "job-priority-missing": ("gnt-job change-priority 3", {}),
    "job-list-finished": ("gnt-job list --finished", {"Query": JOBS}),
    "job-list-archived": ("gnt-job list --archived", {}),
    "job-list-ids": ("gnt-job list 3 4", {}),
    "job-list-filter": ("gnt-job list -F status==\"error\"", {}),
    "job-watch-failed": ("gnt-job watch 9", {"QueryJobs": failed(PREREQ)}),
    "job-wait-lost": ("gnt-job wait 9", {
        "WaitForJobChange": {"error": ["JobLost", ["Job 9 lost"]]}}),
    "job-wait-canceled": ("gnt-job wait 9", {
        "QueryJobs": [["canceled", ["canceled"], [None]]],
        "WaitForJobChange": [["canceled"], []]}),
    "error-hooks": ("gnt-node remove n1", {"QueryJobs": failed(
        ["HooksAbort", [[["n1", "10-x", "no way"], ["n2", "20-y", ""]]]])}),
    "error-tag": ("gnt-node remove n1", {"QueryJobs": failed(
        ["TagError", ["bad tag"]])}),
    "error-drained": ("gnt-node remove n1", {
        "SubmitJob": {"error": ["GenericError", ["Queue drained"]]}}),
    "error-exec": ("gnt-node remove n1", {"QueryJobs": failed(
        ["OpExecError", ["it broke"]])}),
    "error-resolver": ("gnt-cluster modify -C 4", {"QueryJobs": failed(
        ["ConfigurationError", ["odd"]])}),
    "usage-args": ("gnt-instance remove a b", {}),
    "usage-args-missing": ("gnt-instance remove", {}),
    "usage-no-args": ("gnt-cluster getmaster x", {}),
    "instance-list-fields-some": (
        "gnt-instance list-fields name",
        {"QueryFields": {"fields": [field("name")]}}),
    "network-add-tags": ("gnt-network add-tags net1 x", {}),
    "os-list": ("gnt-os list", {"QueryJobs": [
        ["success", ["success"],
         [[["debian", ["default", "x"]], ["noop", []]]]]]}),
    "os-diagnose-bad": ("gnt-os diagnose", {"QueryJobs": [
        ["success", ["success"],
         [[["broken", False, [], {"n1": [["/p", False, "missing file", [],
                                          [], [], True]], "n2": []},
            False, False]]]]]}),
    "iallocator-defaults": ("gnt-debug iallocator a", {}),
    "iallocator-allocate": (
        "gnt-debug iallocator --dir out -I hail -m allocate --memory 1g "
        "--disks 10g,512 -t drbd --nics aa:00:00:00:00:01/1.2.3.4/br0,"
        "aa:00:00:00:00:02//x,none/none -o noop -p 3 --tags x,y "
        "--spindle-use 2 new1", {}),
    "iallocator-multi": ("gnt-debug iallocator -m multi-allocate -t plain "
                         "--count 3 --dry-run --priority=low new", {}),
    "iallocator-evacuate": (
        "gnt-debug iallocator -m node-evacuate --evac-mode all -I hail "
        "--dir=out a b", {}),
    "iallocator-change-group": (
        "gnt-debug iallocator -m change-group --target-groups g1,g2 a b", {}),
    "iallocator-result": (
        "gnt-debug iallocator --dir=in a",
        {"QueryJobs": [["success", ["success"], ["the text"]]]}),
    "iallocator-no-argument": ("gnt-debug iallocator", {}),
    "iallocator-bad-disks": ("gnt-debug iallocator --disks=x a", {}),

}


class Script:
    """Answers by method, with sensible ones for what a case leaves open."""

    def __init__(self, special):
        self.special = dict(special)
        self.next_id = 100
        self.exchanges = []

    def result(self, method, args):
        if "many " + method in self.special:
            return self.special["many " + method].pop(0)
        if method in self.special:
            return self.special[method]
        if method == "SubmitJob":
            self.next_id += 1
            return self.next_id
        if method == "SubmitManyJobs":
            first = self.next_id + 1
            self.next_id += len(args[0])
            return [[True, first + i] for i in range(len(args[0]))]
        if method == "WaitForJobChange":
            return [["success"], []]
        if method == "QueryJobs":
            return [DONE[0][:len(args[1])] for _ in args[0]]
        if method == "QueryInstances":
            return [[name + ".example.com"] for name in args[0]]
        if method == "Query":
            return {"fields": [field(f) for f in args[1]], "data": []}
        return None

    def answer(self, method, args):
        result = self.result(method, args)
        if isinstance(result, dict) and "error" in result:
            answer = {"success": False, "result": result["error"]}
        else:
            answer = {"success": True, "result": result}
        self.exchanges.append([method, args, answer])
        return answer


def record(name):
    line, special = CASES[name]
    files = {"BATCH": "cli_batch.json", "OPS": "cli_ops.json"}
    words = [files.get(word, word) for word in
             (line.split() if isinstance(line, str) else line)]
    script = Script(special)
    master = FakeMaster([], script.answer)
    try:
        result = master.run([os.path.join(FOLDER, words[0])] + words[1:], cwd=HERE)
    finally:
        master.close()
    return {"name": name, "argv": words, "rc": result.returncode,
            "stdout": result.stdout, "stderr": result.stderr,
            "exchanges": script.exchanges}


def main():
    """Run the cases; those that are not named stay as they are."""
    path = os.path.join(HERE, "cli.json")
    with open(path, encoding="utf-8") as file:
        cases = {case["name"]: case for case in json.load(file)}
    for name in sys.argv[1:] or CASES:
        case = record(name)
        if "Traceback" in case["stderr"]:
            print("%s: %s" % (name, case["stderr"]), file=sys.stderr)
        cases[name] = case
    with open(path, "w", encoding="utf-8") as file:
        rows = [json.dumps(cases[name]) for name in CASES if name in cases]
        file.write("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
