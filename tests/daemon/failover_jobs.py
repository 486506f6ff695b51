#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""failover_jobs.py SOCKET FILE pair 0 | submit N | check N

pair: a job that runs for long and one that waits for its failure; prints their
ids.  submit: no-op jobs until N are acknowledged in FILE (lines "id tag") or the
master is gone, which is no error.  check: wait until all jobs are final; each
acknowledged one is there once and as it was, N of them; prints what is wrong and
exits with 1, or one line."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import FINAL, Gone, Luxi, noop  # noqa: E402

SOCKET, FILE, WHAT, N = *sys.argv[1:4], int(sys.argv[4])
ENDED = "The master daemon ended while this opcode ran"
LIMIT_S = 60
BATCH = 10


def acknowledged():
    if not os.path.exists(FILE):
        return {}
    with open(FILE, encoding="ascii") as file:
        return {int(job): tag for job, tag in map(str.split, file)}


def pair(luxi):
    op = noop(comment="slow")
    slow = luxi.call("SubmitJob", [{**op, "duration": 600}])
    waits = luxi.call("SubmitJob", [{**op, "comment": "waits",
                                     "depends": [[slow, ["error"]]]}])
    print(slow, waits)


def submit(luxi):
    """One by one and several at once, in turn."""
    had = len(acknowledged())
    with open(FILE, "a", encoding="ascii", buffering=1) as file:
        while had < N:
            tags = [f"{os.getpid()}.{had + i}"
                    for i in range(min(N - had, BATCH if had % 3 else 1))]
            answer = luxi.call("SubmitManyJobs", [[noop(comment=tag)] for tag in tags])
            for (good, job), tag in zip(answer, tags):
                if not good:
                    raise SystemExit(job)
                print(job, tag, file=file)
            had += len(tags)


def wait_until_final(luxi):
    deadline = time.monotonic() + LIMIT_S
    while True:
        rows = luxi.call("Query", "job", ["id", "status"], None)["data"]
        left = [row[0][1] for row in rows if row[1][1] not in FINAL]
        if not left:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"jobs never end: {left[:10]}")
        luxi.call("WaitForJobChange", left[0], ["status"], ["none"], None, 1)


def check(luxi):
    wait_until_final(luxi)
    wanted = acknowledged()
    if len(wanted) != N:
        raise SystemExit(f"{len(wanted)} jobs were acknowledged, not {N}")
    rows = luxi.call("Query", "job", ["id", "ops", "status", "opresult"],
                     None)["data"]
    found = {row[0][1]: [cell[1] for cell in row[1:]] for row in rows}
    if len(found) != len(rows):
        raise SystemExit("an id is there twice")
    lost = wanted.keys() - found.keys()
    if lost:
        raise SystemExit(f"acknowledged jobs are lost: {sorted(lost)[:10]}")
    ids = {}
    for job, (ops, _, _) in found.items():
        tag = ops[0].get("comment")
        if ops[0]["OP_ID"] == "OP_TEST_DELAY" and ids.setdefault(tag, job) != job:
            raise SystemExit(f"job {ids[tag]} is there again as job {job}")
    ended = {status: 0 for status in FINAL}
    for job, tag in wanted.items():
        ops, status, result = found[job]
        if ops[0].get("comment") != tag:
            raise SystemExit(f"job {job} is another one than acknowledged")
        if status == "error" and ENDED not in json.dumps(result):
            raise SystemExit(f"job {job}: {json.dumps(result)}")
        ended[status] += 1
    if ended["canceled"]:
        raise SystemExit(f"{ended['canceled']} jobs are canceled")
    print(f"{N} jobs acknowledged: {ended['success']} success, "
          f"{ended['error']} error")


def main():
    try:
        {"pair": pair, "submit": submit, "check": check}[WHAT](Luxi(SOCKET, LIMIT_S))
    except Gone:
        if WHAT != "submit":
            raise


main()
