#!/usr/bin/python
# SPDX-License-Identifier: BSD-2-Clause
"""A node group as it shall be."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
module: group
short_description: Node groups of a cluster
description:
  - Makes, changes and removes node groups. What is not given stays as it is.
options:
  name:
    description: Name of the group.
    required: true
    type: str
  state:
    description: Whether it is there.
    choices: [present, absent]
    default: present
    type: str
  alloc_policy:
    description: Whether allocators choose it.
    choices: [preferred, last_resort, unallocable]
    type: str
  ndparams:
    description: Node parameters.
    type: dict
  ipolicy:
    description: Members of the instance policy.
    type: dict
  diskparams:
    description: Disk parameters, by template.
    type: dict
  tags:
    description: All tags.
    type: list
    elements: str
extends_documentation_fragment: [gantry.cluster.api, gantry.cluster.api.module]
"""

EXAMPLES = r"""
- gantry.cluster.group:
    name: rack2
    alloc_policy: last_resort
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
  description: The group as the API shows it then; null if it is not there.
  type: dict
  returned: always
"""

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    STATE, Step, differences, object_module, tag_steps)

# What is compared, and how a change calls it.
DICTS = {"ndparams": "custom_ndparams", "ipolicy": "custom_ipolicy",
         "diskparams": "custom_diskparams"}


def new_steps(params, path):
    body = {key: params[key] for key in ["alloc_policy"] + list(DICTS)
            if params[key] is not None}
    return [Step("create " + params["name"], "POST", "/2/groups",
                 dict(body, group_name=params["name"]))] + \
        tag_steps(params["name"], path, params["tags"] or None, [])


def steps_for(_api, params, path, group):
    if params["state"] == "absent":
        return [Step("remove " + params["name"], "DELETE", path)] \
            if group else []
    if not group:
        return new_steps(params, path)
    body = {}
    if params["alloc_policy"] not in (None, group["alloc_policy"]):
        body["alloc_policy"] = params["alloc_policy"]
    for key, name in DICTS.items():
        changed = differences(params[key], group[key])
        if changed:
            body[name] = changed
    steps = [Step("modify " + params["name"], "PUT", path + "/modify", body)] \
        if body else []
    return steps + tag_steps(params["name"], path, params["tags"],
                             group["tags"])


def main():
    object_module("/2/groups/", steps_for,
                  alloc_policy={"type": "str", "choices": [
                      "preferred", "last_resort", "unallocable"]},
                  ndparams={"type": "dict"}, ipolicy={"type": "dict"},
                  diskparams={"type": "dict"}, **STATE)



if __name__ == "__main__":
    main()
