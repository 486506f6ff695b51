#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""many_instances.py VCLUSTER NAME COUNT: copies of the instance NAME in a
virtual cluster whose master does not run, until there are COUNT.  They lie on
the nodes in turn, each with a disk and a NIC of its own, and run (in the fake
hypervisor) if NAME does."""
import copy
import json
import os
import shutil
import sys
import uuid


def fresh():
    return str(uuid.uuid4())


def running(vcluster, config, inst):
    """The file that says that the instance runs."""
    node = config["nodes"][inst["primary_node"]]["name"]
    return os.path.join(vcluster, node, "var/run/ganeti/fake-hypervisor",
                        inst["name"])


def clone(vcluster, config, pattern, number, node):
    """One more instance, with its disks."""
    inst = copy.deepcopy(pattern)
    name = f"bench{number}.example.com"
    inst.update(name=name, uuid=fresh(), primary_node=node, disks=[])
    for nic in inst["nics"]:
        tail = f"{number:06x}"
        nic.update(uuid=fresh(),
                   mac=f"aa:00:00:{tail[0:2]}:{tail[2:4]}:{tail[4:6]}")
    for old in pattern["disks"]:
        disk = copy.deepcopy(config["disks"][old])
        disk.update(uuid=fresh())
        disk["logical_id"][1] += f".{number}"
        config["disks"][disk["uuid"]] = disk
        inst["disks"].append(disk["uuid"])
    config["instances"][inst["uuid"]] = inst
    source = running(vcluster, config, pattern)
    target = running(vcluster, config, inst)
    if os.path.exists(source):
        os.makedirs(os.path.dirname(target), mode=0o750, exist_ok=True)
        shutil.copy(source, target)


def main():
    vcluster, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    path = os.path.join(vcluster, "node1.example.com",
                        "var/lib/ganeti/config.data")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    pattern = next(i for i in config["instances"].values()
                   if i["name"] == name)
    nodes = list(config["nodes"])
    for number in range(1, count):
        clone(vcluster, config, pattern, number, nodes[number % len(nodes)])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


main()
