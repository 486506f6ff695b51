#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API: exchanges with Ganeti's remote API, recorded
# (test_rapi_recorded.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
/usr/bin/python3 "$(dirname "$0")/test_rapi_recorded.py" "$api_address"
