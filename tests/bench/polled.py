#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""polled.py SOCKET [JOBS]: the rate of many no-op jobs submitted at once while
another client asks for the states of all of them again and again, in relation to
the rate without it, alternating, three times each."""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import FINAL, Luxi, noop  # noqa: E402

NOOP = noop()
LIMIT_S = 120
PAUSE_S = 0.02
ROUNDS = 3


def poll(path, first):
    """Ask for ever; the parent ends it."""
    luxi = Luxi(path, LIMIT_S)
    print("ready", flush=True)
    while True:
        luxi.call("Query", "job", ["id", "status"], [">=", "id", first])
        time.sleep(PAUSE_S)


def run(path, luxi, n, polled):
    """Jobs a second."""
    poller = None
    if polled:
        first = luxi.call("SubmitJob", [NOOP]) + 1
        poller = subprocess.Popen(
            [sys.executable, __file__, path, "--poll", str(first)],
            stdout=subprocess.PIPE)
        poller.stdout.readline()
    begin = time.time()
    last = luxi.call("SubmitManyJobs", [[NOOP]] * n)[-1][1]
    seen = None
    while seen is None or seen[0] not in FINAL:
        seen = luxi.call("WaitForJobChange", last, ["status"], seen, None,
                         10)[0]
    while True:
        states = luxi.call("Query", "job", ["status"], [">", "id", last - n])
        if all(row[0][1] in FINAL for row in states["data"]):
            break
        time.sleep(0.05)
    rate = n / (time.time() - begin)
    if poller is not None:
        poller.kill()
        poller.wait()
    luxi.call("AutoArchiveJobs", -1, 600)
    return rate


def main():
    path = sys.argv[1]
    if sys.argv[2:3] == ["--poll"]:
        poll(path, int(sys.argv[3]))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    luxi = Luxi(path, LIMIT_S)
    rates = {False: [], True: []}
    for _ in range(ROUNDS):
        for polled in (False, True):
            rates[polled].append(run(path, luxi, n, polled))
    alone, polled = (statistics.median(rates[k]) for k in (False, True))
    print(f"{n} no-op jobs: {alone:.0f} jobs/s, {polled:.0f} while a client "
          f"asks for all states every {PAUSE_S * 1e3:.0f} ms: "
          f"{polled / alone * 100:.0f} % (90 % is the aim)")


main()
