#!/usr/bin/python
# SPDX-License-Identifier: BSD-2-Clause
"""An instance as it shall be."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
module: instance
short_description: Instances of a cluster
description:
  - Makes, changes, starts, stops and removes instances.
  - What is not given stays as it is. In check mode the cluster plans the jobs.
options:
  name:
    description: Name of the instance.
    required: true
    type: str
  state:
    description:
      - C(present) and C(absent) say whether it is there; a new one is not started.
      - C(started) and C(stopped) make it, too, if need be.
      - C(restarted) reboots it, each time.
    choices: [present, absent, started, stopped, restarted]
    default: present
    type: str
  os:
    description: OS definition, with which a new one is installed.
    type: str
  disk_template:
    description: Where the disks of a new one lie.
    type: str
  disks:
    description:
      - The disks, each with its I(size) in MiB or with a unit, and what else the API takes.
      - Disks grow and are added; they neither shrink nor go.
    type: list
    elements: dict
  nics:
    description:
      - All NICs, each with C(ip), C(mac), C(mode), C(link), C(network), C(name).
      - C(ip=pool) and C(mac=generate) choose one, once.
    type: list
    elements: dict
  beparams:
    description: Backend parameters, as C(maxmem), C(minmem), C(memory), C(vcpus).
    type: dict
  hvparams:
    description: Parameters of the hypervisor.
    type: dict
  osparams:
    description: Parameters of the OS definition, of a new one.
    type: dict
  hypervisor:
    description: The hypervisor of a new one.
    type: str
  pnode:
    description: Primary node of a new one.
    type: str
  snode:
    description: Secondary node of a new one.
    type: str
  iallocator:
    description: The allocator that chooses the nodes of a new one; the cluster's own if neither it nor I(pnode) is given.
    type: str
  group_name:
    description: The node group that the nodes of a new one are chosen of.
    type: str
  no_install:
    description: Do not install the OS on a new one.
    type: bool
    default: false
  ip_check:
    description: Whether nobody may answer at the address of a new one.
    type: bool
    default: false
  name_check:
    description: Whether the name of a new one has to be known to the resolver.
    type: bool
    default: false
  tags:
    description: All tags.
    type: list
    elements: str
extends_documentation_fragment: [gantry.cluster.api, gantry.cluster.api.module]
"""

EXAMPLES = r"""
- gantry.cluster.instance:
    name: web1.example.com
    os: noop
    disk_template: sharedfile
    disks: [{size: 1g}]
    nics: [{}]
    state: started
"""

RETURN = r"""
steps:
  description: What was done, or would be, in words.
  type: list
  returned: always
plan:
  description: In check mode, the plan of each step.
  type: list
  returned: in check mode
object:
  description: The instance as the API shows it then; null if it is not there.
  type: dict
  returned: always
"""

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    ApiError, Step, differences, object_module, same, size_mib, tag_steps)

# What a new instance takes as it is given.
CREATION = ("disk_template", "hypervisor", "pnode", "snode", "iallocator",
            "group_name", "beparams", "hvparams", "osparams", "tags")
# The members of a NIC, and where an instance has them.
NIC = {"ip": "nic.ips", "mac": "nic.macs", "mode": "nic.modes",
       "link": "nic.links", "network": "nic.networks.names",
       "name": "nic.names"}
CHOSEN_ONCE = ("pool", "auto", "generate")


def creation(params):
    body = {"__version__": 1, "mode": "create", "name": params["name"],
            "os_type": params["os"],
            "disks": [disk_of(disk) for disk in params["disks"] or []],
            "nics": params["nics"] or [],
            "start": params["state"] in ("started", "restarted"),
            "no_install": params["no_install"],
            "ip_check": params["ip_check"],
            "name_check": params["name_check"]}
    if params["no_install"]:
        body["start"] = False
    for key in CREATION:
        if params[key] is not None:
            body[key] = params[key]
    return Step("create " + params["name"], "POST", "/2/instances", body)


def disk_of(disk):
    return dict(disk, size=size_mib(disk["size"]))


def disk_steps(path, wanted, present):
    if wanted is None:
        return []
    sizes = present["disk.sizes"]
    if len(wanted) < len(sizes):
        raise ApiError("%s has %d disks, and only %d are asked for; remove "
                       "disks by hand" % (present["name"], len(sizes),
                                          len(wanted)))
    steps = []
    for number, disk in enumerate(wanted):
        size = size_mib(disk["size"])
        if number >= len(sizes):
            steps.append(Step("add disk %d" % number, "PUT", path + "/modify",
                              {"disks": [["add", number, disk_of(disk)]]}))
        elif size > sizes[number]:
            steps.append(Step("grow disk %d" % number, "POST",
                              "%s/disk/%d/grow" % (path, number),
                              {"amount": size, "absolute": True}))
        elif size < sizes[number]:
            raise ApiError("Disk %d of %s has %d MiB, and disks do not shrink"
                           % (number, present["name"], sizes[number]))
    return steps


def nic_changes(wanted, present):
    """As a modification takes them."""
    if wanted is None:
        return []
    there = len(present["nic.macs"])
    changes = []
    for number, nic in enumerate(wanted):
        if number >= there:
            changes.append(["add", number, nic])
            continue
        changed = {}
        for key, value in nic.items():
            values = present.get(NIC.get(key, ""), [])
            now = values[number] if number < len(values) else None
            if value in CHOSEN_ONCE and now:
                continue
            if not same(value, now):
                changed[key] = value
        if changed:
            changes.append(["modify", number, changed])
    # From the end, so that the others keep their numbers.
    for number in range(there - 1, len(wanted) - 1, -1):
        changes.append(["remove", number, {}])
    return changes


def change_steps(path, params, present):
    body = {}
    beparams = differences(params["beparams"], present["beparams"])
    hvparams = differences(params["hvparams"], present["hvparams"])
    if beparams:
        body["beparams"] = beparams
    if hvparams:
        body["hvparams"] = hvparams
    if params["os"] and params["os"] != present["os"]:
        body["os_name"] = params["os"]
    nics = nic_changes(params["nics"], present)
    # Several at once are one job each: the cluster takes either one addition
    # or removal, or modifications.
    moves = [one for one in nics if one[0] != "modify"]
    modified = [one for one in nics if one[0] == "modify"]
    if modified:
        body["nics"] = modified
    steps = []
    if body:
        steps.append(Step("modify " + params["name"], "PUT", path + "/modify",
                          body))
    for one in moves:
        steps.append(Step("%s NIC %d" % (one[0], one[1]), "PUT",
                          path + "/modify", {"nics": [one]}))
    return steps + disk_steps(path, params["disks"], present)


def power_steps(path, name, state, present):
    if state == "restarted" and present["admin_state"] == "up":
        return [Step("reboot " + name, "POST", path + "/reboot")]
    if state in ("started", "restarted") and not present["oper_state"]:
        return [Step("start " + name, "PUT", path + "/startup")]
    if state == "stopped" and (present["admin_state"] == "up" or
                               present["oper_state"]):
        return [Step("stop " + name, "PUT", path + "/shutdown")]
    return []


def steps_for(_api, params, path, present):
    if params["state"] == "absent":
        return [Step("remove " + params["name"], "DELETE", path)] \
            if present else []
    if not present:
        if not params["os"] or not params["disk_template"]:
            raise ApiError("There is no instance %s; a new one needs os and "
                           "disk_template" % params["name"])
        steps = [creation(params)]
        if params["no_install"] and params["state"] in ("started",
                                                         "restarted"):
            steps.append(Step("start " + params["name"], "PUT",
                              path + "/startup"))
        return steps
    return (change_steps(path, params, present) +
            tag_steps(params["name"], path, params["tags"], present["tags"]) +
            power_steps(path, params["name"], params["state"], present))


def main():
    object_module(
        "/2/instances/", steps_for,
        state={"type": "str", "default": "present", "choices": [
            "present", "absent", "started", "stopped", "restarted"]},
        os={"type": "str"}, disk_template={"type": "str"},
        disks={"type": "list", "elements": "dict"},
        nics={"type": "list", "elements": "dict"},
        beparams={"type": "dict"}, hvparams={"type": "dict"},
        osparams={"type": "dict"}, hypervisor={"type": "str"},
        pnode={"type": "str"}, snode={"type": "str"},
        iallocator={"type": "str"}, group_name={"type": "str"},
        no_install={"type": "bool", "default": False},
        ip_check={"type": "bool", "default": False},
        name_check={"type": "bool", "default": False})



if __name__ == "__main__":
    main()
