#!/usr/bin/python
# SPDX-License-Identifier: BSD-2-Clause
"""A token as it shall be."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

DOCUMENTATION = r"""
module: token
short_description: Tokens of the remote API
description:
  - Makes and revokes tokens of the user who runs it.
  - The secret is shown once, when the token is made; a token that is there with other rights is made anew.
options:
  name:
    description: Name of the token.
    required: true
    type: str
  state:
    description: Whether it is there.
    choices: [present, absent]
    default: present
    type: str
  rights:
    description: What it is good for.
    type: list
    elements: str
    choices: [read, power, create, modify, destroy, migrate, node, cluster, console, tokens]
  scope:
    description: Which objects it is for, as lists of C(groups), C(tags) and C(names).
    type: dict
  expires:
    description: When it ends, in seconds since 1970.
    type: float
extends_documentation_fragment: [gantry.cluster.api]
"""

EXAMPLES = r"""
- gantry.cluster.token:
    name: backup
    rights: [read]
  register: backup
  no_log: true
"""

RETURN = r"""
token:
  description: The secret, of a new token.
  type: str
  returned: when it was made
object:
  description: The token as the API shows it, without its secret; null if there is none.
  type: dict
  returned: always
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gantry.cluster.plugins.module_utils.api import (
    NAME, OPTIONS, STATE, Api, ApiError, name_in_path)

PATH = "/gantry/1/tokens"
# The API is told in how many seconds a token ends, and counts from its own now.
SLACK_S = 60


def find(api, name):
    try:
        tokens = api.get(PATH)
    except ApiError as err:
        if err.status == 404:
            raise ApiError("This cluster's API has no tokens")
        raise
    for token in tokens:
        if token["name"] == name and not token.get("session"):
            return token
    return None


def fits(params, token):
    return (params["rights"] is None or
            sorted(params["rights"]) == sorted(token["rights"])) and \
        (params["scope"] is None or params["scope"] == token.get("scope")) and \
        (params["expires"] is None or
         abs(params["expires"] - (token.get("expires") or 0)) < SLACK_S)


def work(module, api):
    params = module.params
    old = find(api, params["name"])
    wanted = params["state"] == "present"
    if (old is None) != wanted and (not wanted or fits(params, old)):
        module.exit_json(changed=False, object=old)
    if wanted and not params["rights"]:
        raise ApiError("A new token needs rights")
    if module.check_mode:
        module.exit_json(changed=True, object=old)
    if old is not None:
        api.request("DELETE", PATH + "/" + name_in_path(str(
            old.get("id", old["name"]))))
    if not wanted:
        module.exit_json(changed=True, object=None)
    body = {key: params[key] for key in ("name", "rights", "scope")
            if params[key] is not None}
    if params["expires"] is not None:
        body["expires_in"] = int(params["expires"] - time.time())
    made = api.request("POST", PATH, body)
    secret = made.pop("token", None)
    module.exit_json(changed=True, object=made, token=secret)


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec=dict(
        OPTIONS,
        rights={"type": "list", "elements": "str", "choices": [
            "read", "power", "create", "modify", "destroy", "migrate", "node",
            "cluster", "console", "tokens"]},
        scope={"type": "dict"}, expires={"type": "float"},
        **dict(NAME, **STATE)))
    try:
        work(module, Api(module.params))
    except (ApiError, KeyError) as err:
        module.fail_json(msg=str(err))


if __name__ == "__main__":
    main()
