#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_rapi_qa.py BIN VCLUSTER HOST:PORT: runs the functions of Ganeti's
qa_rapi in the order of its QA, each as a point.

Its commands run on nodes of the virtual cluster in place of SSH; its client
connects to the address in place of the master's name; instances that it makes
with LVM lie in shared files."""
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import traceback

from ganeti import constants
import ganeti.rapi.client
import qa

# They import each other by two names; there shall be one of each.
for one in ("qa_error", "qa_logging", "qa_config", "qa_utils", "qa_rapi"):
    sys.modules["qa." + one] = importlib.import_module(one)
    setattr(qa, one, sys.modules["qa." + one])
qa_config, qa_rapi, qa_utils = qa.qa_config, qa.qa_rapi, qa.qa_utils

BIN, VCLUSTER, ADDRESS = sys.argv[1:4]
# Addresses are names that every resolver knows; nobody has these.
INSTANCES = ["127.254.7.1", "127.254.7.2", "127.254.7.3"]
CONFIG = {
    "name": "cluster.example.com",
    "enabled-hypervisors": "fake",
    "enabled-disk-templates": ["sharedfile", "diskless"],
    "default-iallocator": "hail",
    "os": "noop",
    "maxmem": "128M",
    "minmem": "128M",
    "disks": [{"size": "8M", "growth": "8M", "name": "disk0"}],
    "nodes": [{"primary": f"node{n}.example.com"} for n in (1, 2, 3)],
    "instances": [{"name": name} for name in INSTANCES],
    "groups": {"inexistent-groups": ["qa1", "qa2", "qa3"],
               "group-with-nodes": "default"},
    "tests": {"default": True},
    "options": {},
}
count = 0


def on_node(node, cmd, *_args, **_kwargs):
    return [os.path.join(BIN, "gnt-vcluster"), "exec", VCLUSTER, node, "--",
            "sh", "-c", cmd]


def connect():
    host, port = ADDRESS.split(":")
    qa_rapi._rapi_username, qa_rapi._rapi_password = "rw", "secret"
    qa_rapi._rapi_client = ganeti.rapi.client.GanetiRapiClient(
        host, port=int(port), username="rw", password="secret",
        curl_config_fn=ganeti.rapi.client.GenericCurlConfig())


def prepare():
    constants.DT_PLAIN = constants.DT_SHARED_FILE
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(CONFIG, file)
        file.flush()
        qa_config.Load(file.name)
    qa_config.SetExclusiveStorage(False)
    # Otherwise it removes nothing where there is no LVM.
    qa_config.IsStorageTypeSupported = lambda _: True
    qa_utils.GetSSHCommand = on_node
    ganeti.rapi.client.UsesRapiClient(connect)()


def point(name, function, *args, todo=None):
    """One function of the QA; its value.  todo: why it fails."""
    global count
    count += 1
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            value = function(*args)
    except Exception:  # pylint: disable=broad-except
        print(f"not ok {count} - {name}" + (f" # TODO {todo}" if todo else ""),
              flush=True)
        for line in (out.getvalue()[-1500:] + traceback.format_exc()).splitlines():
            print("#", line)
        return None
    print(f"ok {count} - {name}", flush=True)
    return value


def instance_tests(instance, node):
    point("an instance", qa_rapi.TestInstance, instance,
          todo="exports to other clusters come later")
    point("its console", qa_rapi.TestRapiInstanceConsole, instance)
    point("its tags", qa_rapi.TestTags, constants.TAG_INSTANCE, instance.name,
          ["x", "y"])
    point("modified", qa_rapi.TestRapiInstanceModify, instance)
    point("shut down", qa_rapi.TestRapiInstanceShutdown, instance)
    point("no console of one that is down",
          qa_rapi.TestRapiStoppedInstanceConsole, instance)
    point("renamed, and back", qa_rapi.TestRapiInstanceRenameAndBack,
          instance.name, INSTANCES[2])
    point("reinstalled", qa_rapi.TestRapiInstanceReinstall, instance)
    point("started", qa_rapi.TestRapiInstanceStartup, instance)
    point("moved by a migration", qa_rapi.TestRapiInstanceMigrate, instance)
    point("and by a failover", qa_rapi.TestRapiInstanceFailover, instance)
    point("the node", qa_rapi.TestNode, node)


def main():
    prepare()
    node = qa_config.GetMasterNode()
    point("version", qa_rapi.TestVersion)
    point("an empty cluster", qa_rapi.TestEmptyCluster)
    point("queries", qa_rapi.TestRapiQuery)
    point("tags of the cluster", qa_rapi.TestTags, constants.TAG_CLUSTER, "",
          ["a", "b"])
    point("tags of a node", qa_rapi.TestTags, constants.TAG_NODE,
          "node2.example.com", ["a", "b"])
    point("groups", qa_rapi.TestRapiNodeGroups)
    point("OS definitions", qa_rapi.GetOperatingSystems)
    for use_client in (True, False):
        instance = point(f"an instance is made ({use_client})",
                         qa_rapi.TestRapiInstanceAdd, node, use_client)
        if instance is None:
            continue
        if use_client:
            instance_tests(instance, node)
        point(f"and removed ({use_client})", qa_rapi.TestRapiInstanceRemove,
              instance, use_client)
        instance.Release()
    both = point("several at once", qa_rapi.TestRapiInstanceMultiAlloc, node)
    for instance in both or []:
        point("and removed", qa_rapi.TestRapiInstanceRemove, instance, True)
    point("filters", qa_rapi.TestFilters)
    print(f"1..{count}")


main()
