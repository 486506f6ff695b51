#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API: each method of Ganeti's own client library
# (test_rapi_client.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
/usr/bin/python3 "$(dirname "$0")/test_rapi_client.py" "$api_address"
