# SPDX-License-Identifier: BSD-2-Clause
"""The instances of a cluster as hosts."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
name: instances
short_description: Instances of a Gantry or Ganeti cluster
description:
  - Each instance is a host, in a group C(tag_<tag>) for each of its tags and in C(status_<status>).
  - C(gantry) of a host has what the API says of it; the first address of a NIC is its C(ansible_host).
options:
  plugin:
    description: Name of the plugin.
    required: true
    choices: [gantry.cluster.instances]
extends_documentation_fragment: [gantry.cluster.api, constructed]
"""

EXAMPLES = r"""
plugin: gantry.cluster.instances
api_url: https://cluster.example.com:5080
keyed_groups:
  - {key: gantry.pnode, prefix: node}
"""

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    Api, ApiError, OPTIONS)


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Hosts and their groups."""

    NAME = "gantry.cluster.instances"

    def verify_file(self, path):
        return super(InventoryModule, self).verify_file(path) and \
            path.endswith(("gantry.yml", "gantry.yaml"))

    def add(self, instance):
        """One host."""
        name = self.inventory.add_host(instance["name"])
        self.inventory.set_variable(name, "gantry", instance)
        addresses = [ip for ip in instance["nic.ips"] if ip]
        if addresses:
            self.inventory.set_variable(name, "ansible_host", addresses[0])
        groups = ["tag_" + tag for tag in instance["tags"]] + \
            ["status_" + instance["status"]]
        for group in groups:
            # Tags have characters that groups have not.
            clean = self._sanitize_group_name(group)
            self.inventory.add_group(clean)
            self.inventory.add_child(clean, name)
        strict = self.get_option("strict")
        values = self.inventory.get_host(name).get_vars()
        self._set_composite_vars(self.get_option("compose"), values, name,
                                 strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), values,
                                          name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"),
                                       values, name, strict=strict)

    def parse(self, inventory, loader, path, cache=True):
        super(InventoryModule, self).parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            api = Api({name: self.get_option(name) for name in OPTIONS})
            instances = api.get("/2/instances", [("bulk", "1")])
        except ApiError as err:
            raise AnsibleParserError(str(err))
        for instance in instances:
            self.add(instance)
