#!/usr/bin/python
# SPDX-License-Identifier: BSD-2-Clause
"""A node as it shall be."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
module: node
short_description: Nodes of a cluster
description:
  - Changes a node's flags, group, parameters and tags. C(gnt-node add) makes nodes.
  - What is not given stays as it is.
options:
  name:
    description: Name of the node.
    required: true
    type: str
  offline:
    description: Whether it is marked as offline.
    type: bool
  drained:
    description: Whether it gets no new instances.
    type: bool
  master_candidate:
    description: Whether it is a candidate.
    type: bool
  master_capable:
    description: Whether it may become a candidate.
    type: bool
  vm_capable:
    description: Whether it may have instances.
    type: bool
  auto_promote:
    description: Whether another node becomes a candidate in its place.
    type: bool
    default: false
  force:
    description: Whether the cluster does it against its own objections.
    type: bool
    default: false
  group:
    description: The node group that it is in.
    type: str
  ndparams:
    description: Node parameters.
    type: dict
  tags:
    description: All tags.
    type: list
    elements: str
extends_documentation_fragment: [gantry.cluster.api, gantry.cluster.api.module]
"""

EXAMPLES = r"""
- gantry.cluster.node:
    name: node2.example.com
    drained: true
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
  description: The node as the API shows it then.
  type: dict
  returned: always
"""

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    ApiError, Step, differences, name_in_path, object_module, tag_steps)

FLAGS = ("offline", "drained", "master_candidate", "master_capable",
         "vm_capable")


def steps_for(api, params, path, node):
    if node is None:
        raise ApiError("There is no node %s; gnt-node add makes nodes"
                       % params["name"])
    body = differences({flag: params[flag] for flag in FLAGS
                        if params[flag] is not None}, node)
    ndparams = differences(params["ndparams"], node["ndparams"])
    if ndparams:
        body["ndparams"] = ndparams
    steps = []
    if body:
        steps.append(Step("modify " + params["name"], "POST",
                          path + "/modify",
                          dict(body, auto_promote=params["auto_promote"],
                               force=params["force"])))
    if params["group"]:
        where = "/2/groups/" + name_in_path(params["group"])
        group = api.get(where)
        if node["group.uuid"] != group["uuid"]:
            steps.append(Step("move %s to group %s"
                              % (params["name"], params["group"]), "PUT",
                              where + "/assign-nodes",
                              {"nodes": [params["name"]],
                               "force": params["force"]}))
    return steps + tag_steps(params["name"], path, params["tags"],
                             node["tags"])


def main():
    flags = {flag: {"type": "bool"} for flag in FLAGS}
    object_module("/2/nodes/", steps_for,
                  auto_promote={"type": "bool", "default": False},
                  force={"type": "bool", "default": False},
                  group={"type": "str"}, ndparams={"type": "dict"}, **flags)



if __name__ == "__main__":
    main()
