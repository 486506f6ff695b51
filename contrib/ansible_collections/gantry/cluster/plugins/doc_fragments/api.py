# SPDX-License-Identifier: BSD-2-Clause
"""The options that all modules and the inventory share."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  api_url:
    description: Address of the remote API, as C(https://cluster.example.com:5080).
    type: str
    env: [{name: GANTRY_RAPI}]
  api_user:
    description: Name of a user of the remote API.
    type: str
    env: [{name: GANTRY_USER}]
  api_password:
    description: The user's password.
    type: str
    env: [{name: GANTRY_PASSWORD}]
  api_token:
    description: A token in place of user and password.
    type: str
    env: [{name: GANTRY_TOKEN}]
  validate_certs:
    description: Whether the certificate of the API has to be valid.
    type: bool
    default: true
"""
    MODULE = r"""
options:
  job_timeout:
    description: Seconds that a job may take.
    type: int
    default: 600
"""
