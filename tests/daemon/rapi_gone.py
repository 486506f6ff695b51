#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_gone.py ADDRESS PID JOB: every request while the master is not there.
Prints TAP without a plan."""
import json
import re
import sys

sys.dont_write_bytecode = True
import rapi_hostile as h  # noqa: E402

# What needs no master.
ALONE = {"/", "/2", "/healthz", "/openapi.json", "/version", "/2/features",
         "/gantry/1/samples"}
# Bodies of requests that have one of a form of their own.
BODIES = {
    "put /2/nodes/x/role": b'"drained"',
    "post /2/instances": b'{"__version__": 1, "mode": "create", "nics": [],'
                         b' "disks": [], "disk_template": "diskless",'
                         b' "instance_name": "x", "os_type": "noop"}',
    "post /2/instances-multi-alloc": b'{"instances": []}',
}


def operations():
    _, answer = h.ask(h.request(b"GET /openapi.json"))
    paths = json.loads(answer.split(b"\r\n\r\n", 1)[1])["paths"]
    for path, item in paths.items():
        for method in item:
            yield (method, re.sub(r"{(job|disk)}", "1",
                                  re.sub(r"{(?!job|disk)\w+}", "x", path)))


def main():
    odd, bare, n = [], [], 0
    for method, path in operations():
        if path in ALONE:
            continue
        n += 1
        body = BODIES.get(f"{method} {path}", b"{}")
        line = f"{method.upper()} {path}?fields=name&output_fields=name&" \
            "name=x&storage_type=file&tag=a&topic=job"
        got, answer = h.ask(h.with_body(line.encode(), body))
        # A console needs a ticket first.
        if path.endswith("/console/ws") and got == 401:
            continue
        # Nobody has a session here, so there is none to be ended.
        if (method, path, got) == ("delete", "/gantry/1/session", 404):
            continue
        # 400: what is wrong by itself is told before anybody is asked.
        if got not in (400, 502, 503):
            odd.append((method, path, got, answer[-200:]))
        if not h.is_error(answer, got):
            bare.append((method, path, answer[-200:]))
    h.point(not odd, f"without the master {n} requests say so", odd)
    h.point(not bare, "in words", bare)


main()
