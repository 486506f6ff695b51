#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_rapi_client.py ADDRESS: each method of Ganeti's own client library
(Debian's python3-ganeti-rapi) against our remote API.

A virtual cluster of three nodes, with the user rw:secret.  Of a method that
submits a job, the job must end as it should."""
import sys

sys.dont_write_bytecode = True
try:
    import pycurl
    from ganeti.rapi import client
except ImportError:
    print("1..0 # SKIP the package python3-ganeti-rapi is not installed")
    sys.exit(0)

LIMIT_S = 60
NODES = [f"node{i}.example.com" for i in (1, 2, 3)]
I1, I2, I3, I4, I5 = (f"rapi{i}.example.com" for i in (1, 2, 3, 4, 5))
QUICK = {"os": "noop", "ip_check": False, "name_check": False,
         "beparams": {"maxmem": 128, "minmem": 128}}

n_points = 0
called = set()


def point(good, name, why=""):
    global n_points
    n_points += 1
    print(f"{'ok' if good else 'not ok'} {n_points} - {name}", flush=True)
    if not good:
        for line in str(why).splitlines():
            print("#", line)


class Caller:
    """Calls methods, and notes which."""

    def __init__(self, address):
        def configure(curl, logger=None):
            curl.setopt(pycurl.SSL_VERIFYPEER, 0)
            curl.setopt(pycurl.SSL_VERIFYHOST, 0)
        host, port = address.rsplit(":", 1)
        self.client = client.GanetiRapiClient(
            host, port=int(port), username="rw", password="secret",
            curl_config_fn=configure)

    def __getattr__(self, name):
        called.add(name)
        return getattr(self.client, name)


rapi = Caller(sys.argv[1])


def gives(name, wanted, method, *args, **kwargs):
    """The method returns what wanted says: a value, or a test of it."""
    try:
        got = getattr(rapi, method)(*args, **kwargs)
    except client.GanetiApiError as err:
        point(False, name, f"{method}: {err}")
        return None
    point(wanted(got) if callable(wanted) else got == wanted, name,
          f"{method}: {got!r}"[:2000])
    return got


def job(name, method, *args, ends="success", **kwargs):
    """The method submits a job, which ends so; its results."""
    try:
        number = getattr(rapi, method)(*args, **kwargs)
        if not isinstance(number, int):
            point(False, name, f"{method}: no job id: {number!r}")
            return None
        rapi.WaitForJobCompletion(number, period=0.05,
                                  retries=int(LIMIT_S / 0.05))
        status = rapi.GetJobStatus(number)
    except client.GanetiApiError as err:
        point(False, name, f"{method}: {err}")
        return None
    point(status["status"] == ends, name,
          f"{method}: {status['status']}: {status['opresult']}")
    return status["opresult"]


def refused(name, code, method, *args, **kwargs):
    try:
        got = getattr(rapi, method)(*args, **kwargs)
    except client.GanetiApiError as err:
        point(err.code == code, name, f"{err.code}: {err}")
        return
    point(False, name, f"{method}: {got!r}")


def follow(listed):
    """All jobs of a result end well."""
    for good, number in listed or []:
        if not good or not rapi.WaitForJobCompletion(
                number, period=0.05, retries=int(LIMIT_S / 0.05)):
            return False
    return bool(listed)


def has(*members):
    return lambda got: all(m in got for m in members)


def about_cluster():
    gives("the version", 2, "GetVersion")
    gives("the features", lambda f: client.INST_CREATE_REQV1 in f
          and client.NODE_EVAC_RES1 in f, "GetFeatures")
    gives("the cluster", has("name", "master", "software_version", "ipolicy"),
          "GetInfo")
    gives("OS definitions", lambda names: "noop" in names,
          "GetOperatingSystems")
    job("the configuration goes to all", "RedistributeConfig", reason="a test")
    job("the cluster is modified", "ModifyCluster", candidate_pool_size=3)
    refused("a forbidden parameter", 403, "ModifyCluster",
            compression_tools=["x"])
    job("tags are added", "AddClusterTags", ["a", "b"])
    gives("and are there", lambda t: sorted(t) == ["a", "b"], "GetClusterTags")
    job("and deleted", "DeleteClusterTags", ["a", "b"])


def about_nodes():
    gives("names of nodes", NODES, "GetNodes")
    gives("all of them", lambda n: [x["name"] for x in n] == NODES
          and all(x["role"] for x in n), "GetNodes", bulk=True)
    gives("one of them", has("name", "sip", "secondary_ip", "mfree"),
          "GetNode", NODES[0])
    refused("a node that is not there", 404, "GetNode", "nosuch")
    gives("its role", "master", "GetNodeRole", NODES[0])
    job("a role is changed", "SetNodeRole", NODES[2], "offline", force=True)
    gives("and is there", "offline", "GetNodeRole", NODES[2])
    job("and back", "SetNodeRole", NODES[2], "regular", auto_promote=True)
    refused("a role that is none", 400, "SetNodeRole", NODES[2], "nosuch")
    job("a node is modified", "ModifyNode", NODES[1], drained=False)
    job("tags of a node", "AddNodeTags", NODES[1], ["t"])
    gives("are there", ["t"], "GetNodeTags", NODES[1])
    job("and go", "DeleteNodeTags", NODES[1], ["t"])
    job("its storage", "GetNodeStorageUnits", NODES[1], "file",
        "name,size,used,free")
    job("a volume cannot be changed", "ModifyNodeStorageUnits", NODES[1],
        "lvm-pv", "/dev/sdz", allocatable=True, ends="error")
    job("nor repaired", "RepairNodeStorageUnits", NODES[1], "lvm-vg", "xenvg",
        ends="error")


def about_instances():
    job("an instance is made", "CreateInstance", "create", I1, "sharedfile",
        [{"size": 8}], [{}], pnode=NODES[0], **QUICK)
    job("a dry run makes none", "CreateInstance", "create", I3, "diskless", [],
        [], pnode=NODES[0], dry_run=True, **QUICK)
    made = job("two at once", "InstancesMultiAlloc",
               [rapi.client.InstanceAllocation("create", name, "diskless", [],
                                               [{}], **QUICK)
                for name in (I4, I5)], iallocator="hail")
    called.add("InstanceAllocation")
    point(made and follow(made[0]["jobs"]), "and their jobs end", made)
    refused("an unknown parameter", 400, "CreateInstance", "create", I3,
            "diskless", [], [], nosuch=1)
    gives("names of instances", [I1, I4, I5], "GetInstances")
    gives("all of them", lambda l: [x["name"] for x in l] == [I1, I4, I5]
          and all(x["beparams"]["memory"] == 128 for x in l),
          "GetInstances", bulk=True)
    gives("one of them", lambda i: i["oper_state"] is True
          and i["disk.sizes"] == [8], "GetInstance", I1)
    refused("one that is not there", 404, "GetInstance", "nosuch")
    told = job("all about it", "GetInstanceInfo", I1)
    point(told and I1 in told[0], "is the job's result", told)
    job("without asking nodes", "GetInstanceInfo", I1, static=True)
    gives("its console", has("kind", "instance"), "GetInstanceConsole", I1)


def about_its_life():
    job("it stops", "ShutdownInstance", I1, timeout=1)
    refused("no console then", 503, "GetInstanceConsole", I1)
    job("its disks are activated", "ActivateInstanceDisks", I1)
    job("and deactivated", "DeactivateInstanceDisks", I1, force=True)
    job("and made again", "RecreateInstanceDisks", I1, ends="error")
    job("it starts", "StartupInstance", I1)
    job("a dry run stops nothing", "ShutdownInstance", I1, dry_run=True)
    job("it reboots", "RebootInstance", I1, reboot_type="hard")
    job("a disk grows", "GrowInstanceDisk", I1, 0, 4)
    job("it is modified", "ModifyInstance", I1,
        hvparams={}, beparams={"maxmem": 256})
    job("it is reinstalled", "ReinstallInstance", I1, os="noop",
        no_startup=True)
    job("it fails over", "FailoverInstance", I1, target_node=NODES[1])
    job("it starts there", "StartupInstance", I1)
    job("it migrates", "MigrateInstance", I1, mode="live",
        target_node=NODES[2])
    job("disks of no mirror are not replaced", "ReplaceInstanceDisks", I1,
        mode="replace_auto", disks=[0], iallocator="hail", ends="error")
    job("tags of an instance", "AddInstanceTags", I1, ["x", "y"])
    gives("are there", lambda t: sorted(t) == ["x", "y"], "GetInstanceTags",
          I1)
    job("and go", "DeleteInstanceTags", I1, ["x", "y"])
    job("an export is prepared", "PrepareExport", I1, "local")
    job("it stops for its export and its name", "ShutdownInstance", I1)
    job("it is exported", "ExportInstance", I1, "local", NODES[0],
        shutdown=True)
    job("it gets another name", "RenameInstance", I1, I2, ip_check=False,
        name_check=False)
    gives("that it has", lambda i: i["name"] == I2, "GetInstance", I2)


def about_moves():
    job("a node is migrated", "MigrateNode", NODES[0], mode="live")
    job("a node is evacuated", "EvacuateNode", NODES[1], iallocator="hail",
        mode="primary-only", dry_run=True)
    job("it goes", "DeleteInstance", I2, shutdown_timeout=1)
    for name in (I4, I5):
        job("and the others", "DeleteInstance", name)
    gives("none is left", [], "GetInstances")


def about_groups():
    job("a group is made", "CreateGroup", "g1", alloc_policy="preferred")
    gives("names of groups", ["default", "g1"], "GetGroups")
    gives("all of them", lambda l: {g["name"] for g in l} == {"default", "g1"},
          "GetGroups", bulk=True)
    gives("one of them", has("name", "node_list", "custom_ipolicy"),
          "GetGroup", "g1")
    job("it is modified", "ModifyGroup", "g1", alloc_policy="unallocable")
    job("it is renamed", "RenameGroup", "g1", "g2")
    job("a node moves there", "AssignGroupNodes", "g2", [NODES[2]], force=True)
    job("and back", "AssignGroupNodes", "default", [NODES[2]])
    job("tags of a group", "AddGroupTags", "g2", ["t"])
    gives("are there", ["t"], "GetGroupTags", "g2")
    job("and go", "DeleteGroupTags", "g2", ["t"])
    job("it is deleted", "DeleteGroup", "g2")
    refused("and gone", 404, "GetGroup", "g2")


def about_networks():
    job("a network is made", "CreateNetwork", "n1", "192.0.2.0/24",
        gateway="192.0.2.1", tags="t0")
    gives("names of networks", ["n1"], "GetNetworks")
    gives("all of them", lambda l: l[0]["gateway"] == "192.0.2.1",
          "GetNetworks", bulk=True)
    gives("one of them", has("map", "free_count"), "GetNetwork", "n1")
    job("it is connected", "ConnectNetwork", "n1", "default", "bridged", "br0")
    job("and disconnected", "DisconnectNetwork", "n1", "default")
    job("it is modified", "ModifyNetwork", "n1",
        add_reserved_ips=["192.0.2.9"])
    job("tags of a network", "AddNetworkTags", "n1", ["t"])
    gives("are there", lambda t: sorted(t) == ["t", "t0"], "GetNetworkTags",
          "n1")
    job("and go", "DeleteNetworkTags", "n1", ["t"])
    job("it is deleted", "DeleteNetwork", "n1")


def about_queries():
    gives("a query", lambda r: [row[0][1] for row in r["data"]] == NODES[:1],
          "Query", "node", ["name"], ["=", "name", NODES[0]])
    gives("fields of queries", lambda r: r["fields"][0]["name"] == "name",
          "QueryFields", "node", ["name"])
    uuid = gives("a filter is added", lambda u: len(u) == 36, "AddFilter", 5,
                 [["jobid", ["<", "id", 1]]], "REJECT")
    gives("names of filters", [uuid], "GetFilters")
    gives("all of them", lambda l: l[0]["uuid"] == uuid, "GetFilters",
          bulk=True)
    gives("one of them", lambda f: f["action"] == "REJECT", "GetFilter", uuid)
    gives("it is replaced", uuid, "ReplaceFilter", uuid, 6,
          [["jobid", ["<", "id", 1]]], "ACCEPT")
    gives("it is deleted", None, "DeleteFilter", uuid)
    refused("and gone", 404, "GetFilter", uuid)


def about_jobs():
    gives("ids of jobs", lambda ids: 1 in ids, "GetJobs")
    gives("all of them", lambda l: has("ops", "summary", "end_ts")(l[0]),
          "GetJobs", bulk=True)
    gives("one of them", has("oplog", "opresult"), "GetJobStatus", 1)
    refused("one that is not there", 404, "GetJobStatus", 999999)
    gives("a change of one", lambda c: c["job_info"] == ["success"],
          "WaitForJobChange", 1, ["status"], None, None)
    gives("an ended one is not canceled", lambda r: r[0] is False, "CancelJob",
          1)


def main():
    about_cluster()
    about_nodes()
    about_instances()
    about_its_life()
    about_moves()
    about_groups()
    about_networks()
    about_queries()
    about_jobs()
    job("a virtual node is not cycled", "PowercycleNode", NODES[2], force=True,
        ends="error")
    methods = {name for name in dir(client.GanetiRapiClient)
               if name[0].isupper()}
    left = sorted(m for m in methods - called
                  if callable(getattr(client.GanetiRapiClient, m)))
    point(not left, f"all {len(methods)} methods were called", left)
    print(f"1..{n_points}")


main()
