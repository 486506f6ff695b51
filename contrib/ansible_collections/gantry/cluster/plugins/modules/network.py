#!/usr/bin/python
# SPDX-License-Identifier: BSD-2-Clause
"""A network as it shall be."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
module: network
short_description: Networks of a cluster
description:
  - Makes, changes and removes networks, and connects them to node groups.
  - What is not given stays as it is.
options:
  name:
    description: Name of the network.
    required: true
    type: str
  state:
    description: Whether it is there.
    choices: [present, absent]
    default: present
    type: str
  network:
    description: IPv4 addresses, as C(192.0.2.0/24); of a new one.
    type: str
  gateway:
    description: IPv4 gateway.
    type: str
  network6:
    description: IPv6 addresses.
    type: str
  gateway6:
    description: IPv6 gateway.
    type: str
  mac_prefix:
    description: The first three bytes of MAC addresses.
    type: str
  groups:
    description: Node groups that it is connected to, each with C(name), C(mode) and C(link); others are disconnected.
    type: list
    elements: dict
  conflicts_check:
    description: Whether addresses of instances are checked when it is connected.
    type: bool
    default: true
  tags:
    description: All tags.
    type: list
    elements: str
extends_documentation_fragment: [gantry.cluster.api, gantry.cluster.api.module]
"""

EXAMPLES = r"""
- gantry.cluster.network:
    name: front
    network: 192.0.2.0/24
    gateway: 192.0.2.1
    groups: [{name: default, mode: bridged, link: br0}]
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
  description: The network as the API shows it then; null if it is not there.
  type: dict
  returned: always
"""

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    STATE, ApiError, Step, differences, object_module, tag_steps)

PLAIN = ("gateway", "network6", "gateway6", "mac_prefix")


def group_steps(params, path, connected):
    """connected: [[name, mode, link, ...], ...], as the API has them."""
    if params["groups"] is None:
        return []
    steps, wanted = [], {}
    for group in params["groups"]:
        wanted[group["name"]] = (group.get("mode", "bridged"),
                                 str(group.get("link", "br0")))
    there = {row[0]: (row[1], row[2]) for row in connected}
    for name in sorted(there):
        if there[name] != wanted.get(name):
            steps.append(Step("disconnect %s from %s" % (params["name"], name),
                              "PUT", path + "/disconnect",
                              {"group_name": name}))
    for name in sorted(wanted):
        if there.get(name) != wanted[name]:
            mode, link = wanted[name]
            steps.append(Step("connect %s to %s" % (params["name"], name),
                              "PUT", path + "/connect",
                              {"group_name": name, "network_mode": mode,
                               "network_link": link,
                               "conflicts_check": params["conflicts_check"]}))
    return steps


def removal(params, path, network):
    if not network:
        return []
    return [Step("disconnect %s from %s" % (params["name"], row[0]), "PUT",
                 path + "/disconnect", {"group_name": row[0]})
            for row in network["group_list"]] + \
        [Step("remove " + params["name"], "DELETE", path)]


def steps_for(_api, params, path, network):
    if params["state"] == "absent":
        return removal(params, path, network)
    given = {key: params[key] for key in PLAIN if params[key] is not None}
    if not network:
        if not params["network"]:
            raise ApiError("There is no network %s; a new one needs network, "
                           "its addresses" % params["name"])
        body = dict(given, network_name=params["name"],
                    network=params["network"], tags=params["tags"] or [])
        return [Step("create " + params["name"], "POST", "/2/networks",
                     body)] + group_steps(params, path, [])
    if params["network"] not in (None, network["network"]):
        raise ApiError("The network %s has the addresses %s, which do not "
                       "change" % (params["name"], network["network"]))
    changed = differences(given, network)
    steps = [Step("modify " + params["name"], "PUT", path + "/modify",
                  changed)] if changed else []
    return steps + group_steps(params, path, network["group_list"]) + \
        tag_steps(params["name"], path, params["tags"], network["tags"])


def main():
    object_module("/2/networks/", steps_for,
                  network={"type": "str"}, gateway={"type": "str"},
                  network6={"type": "str"}, gateway6={"type": "str"},
                  mac_prefix={"type": "str"},
                  groups={"type": "list", "elements": "dict"},
                  conflicts_check={"type": "bool", "default": True}, **STATE)



if __name__ == "__main__":
    main()
