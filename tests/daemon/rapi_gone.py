#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_gone.py ADDRESS PID JOB [over]: every request while the master is not
there; over: while another one becomes the master.  Prints TAP without a plan."""
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


# What is about the change itself, or goes on.
NOT_MEANWHILE = {"/gantry/1/cluster/failover", "/gantry/1/events"}


def meanwhile():
    """Each request is answered, by whichever master, or by the reason why not."""
    odd, seen = [], set()
    for method, path in operations():
        if path in NOT_MEANWHILE:
            continue
        body = BODIES.get(f"{method} {path}", b"{}")
        got, answer = h.ask(h.with_body(
            f"{method.upper()} {path}?name=x".encode(), body))
        seen.add(got)
        if got == 0 or (got >= 400 and not h.is_error(answer, got)) or \
                got == 500 and b"Traceback" in answer:
            odd.append((method, path, got, answer[-200:]))
    print("#", sorted(seen))
    h.point(not odd, "each request is answered while the master changes", odd)


def main():
    if sys.argv[4:] == ["over"]:
        meanwhile()
        return
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
