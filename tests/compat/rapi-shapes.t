#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API: what programs that are not here to be tried demand of its
# answers (test_rapi_shapes.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
add inst1.example.com -t sharedfile -s 8m -n node1.example.com --net 0:link=br0 >/dev/null
add inst2.example.com -t diskless -n node2.example.com --no-start >/dev/null
m gnt-instance add-tags inst1.example.com blue >/dev/null
/usr/bin/python3 "$(dirname "$0")/test_rapi_shapes.py" "$api_address"
