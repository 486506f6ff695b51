#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The remote API: Ganeti's own QA of it (Debian's ganeti-testsuite), against a
# virtual cluster (test_rapi_qa.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
suite=/usr/share/ganeti/testsuite
[ -f "$suite/qa/qa_rapi.py" ] || skip_all "the package ganeti-testsuite is not installed"
[ -d /usr/share/ganeti/3.0/ganeti ] || skip_all "the package ganeti is not installed"
rapi_cluster
PYTHONPATH=$suite:$suite/qa:/usr/share/ganeti/3.0 PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 "$(dirname "$0")/test_rapi_qa.py" "$BIN" "$VC" "$api_address"
