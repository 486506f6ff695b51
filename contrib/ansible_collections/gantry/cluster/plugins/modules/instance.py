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
  - What is not given stays as it is. The cluster finds the difference, and makes it go
    away by one job; in check mode it plans that job.
options:
  name:
    description: Name of the instance.
    required: true
    type: str
  state:
    description:
      - C(present) and C(absent) say whether it is there; a new one is not started.
      - C(started), C(stopped) and C(offline) make it, too, if need be.
      - C(restarted) reboots it, each time.
    choices: [present, absent, started, stopped, offline, restarted]
    default: present
    type: str
  os:
    description: OS definition, with which a new one is installed; one that is there is not installed again.
    type: str
  disk_template:
    description: Where the disks lie.
    type: str
  disks:
    description:
      - The disks, each with its I(size) in MiB or with a unit, and what else the API takes.
      - Disks grow and are added; they do not shrink, and go only with I(remove_disks).
    type: list
    elements: dict
  remove_disks:
    description: Whether disks behind the last of I(disks) are removed, with their data.
    type: bool
    default: false
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
    description: Parameters of the OS definition.
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
  description: What was done, or would be: the opcodes of the job.
  type: list
  returned: always
difference:
  description: What differed, each with I(what), I(from) and I(to).
  type: list
  returned: always
plan:
  description: In check mode the plan of the job, if there would be one.
  type: list
  returned: in check mode
object:
  description: The instance as the API shows it then; null if it is not there.
  type: dict
  returned: always
"""

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    Api, ApiError, Step, module_of, name_in_path)

# What the API takes as it is given, of every instance.
AS_GIVEN = ("os", "disk_template", "disks", "nics", "beparams", "hvparams",
            "osparams", "tags", "hypervisor")
# Only of a new one.
CREATION = ("pnode", "snode", "iallocator", "group_name", "no_install",
            "ip_check", "name_check")
STATES = {"present": "present", "absent": "absent", "started": "running",
          "restarted": "running", "stopped": "stopped", "offline": "offline"}


def wanted(params, present):
    """The state as the API takes it."""
    body = {"state": STATES[params["state"]]}
    if params["state"] == "absent":
        return body
    if not present:
        if not params["os"] or not params["disk_template"]:
            raise ApiError("There is no instance %s; a new one needs os and "
                           "disk_template" % params["name"])
        if params["state"] == "present":
            body["state"] = "stopped"
        body.update(disks=[], nics=[])
        body.update((key, params[key]) for key in CREATION
                    if params[key] is not None)
    body.update((key, params[key]) for key in AS_GIVEN
                if params[key] is not None)
    if params["remove_disks"]:
        body["remove"] = True
    return body


def reboots(params, present):
    return params["state"] == "restarted" and present and \
        present["admin_state"] == "up" and present["oper_state"]


def run(module):
    params = module.params
    api = Api(params)
    name = name_in_path(params["name"])
    present = api.find("/2/instances/" + name)
    answer = api.want("/gantry/1/instances/" + name, wanted(params, present),
                      None if module.check_mode else params["job_timeout"])
    result = {"changed": bool(answer["ops"]),
              "difference": answer["difference"],
              "steps": [op["OP_ID"] for op in answer["ops"]]}
    plans = [answer["plan"]] if "plan" in answer else []
    if reboots(params, present):
        step = Step("reboot", "POST", "/2/instances/%s/reboot" % name)
        result["changed"] = True
        result["steps"].append("OP_INSTANCE_REBOOT")
        if module.check_mode:
            plans.append(api.plan(step))
        else:
            api.run(step, params["job_timeout"])
    if module.check_mode:
        result["plan"] = plans
    result["object"] = api.find("/2/instances/" + name)
    module.exit_json(**result)


def main():
    module = module_of(
        state={"type": "str", "default": "present", "choices": [
            "present", "absent", "started", "stopped", "offline",
            "restarted"]},
        os={"type": "str"}, disk_template={"type": "str"},
        disks={"type": "list", "elements": "dict"},
        remove_disks={"type": "bool", "default": False},
        nics={"type": "list", "elements": "dict"},
        beparams={"type": "dict"}, hvparams={"type": "dict"},
        osparams={"type": "dict"}, hypervisor={"type": "str"},
        pnode={"type": "str"}, snode={"type": "str"},
        iallocator={"type": "str"}, group_name={"type": "str"},
        no_install={"type": "bool", "default": False},
        ip_check={"type": "bool", "default": False},
        name_check={"type": "bool", "default": False})
    try:
        run(module)
    except (ApiError, ValueError, KeyError) as err:
        module.fail_json(msg=str(err))


if __name__ == "__main__":
    main()
