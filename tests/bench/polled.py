#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""polled.py SOCKET [JOBS]: the rate of many no-op jobs submitted at once

* alone,
* while a client parses an answer of that size again and again and asks nothing:
  what such a client costs because it runs on the same machine,
* while a client asks for the states of all of them again and again,

and what masterd computes for a job.  The three take turns, and each round gives
a ratio: the speed of a shared machine changes within a minute.  What was
archived is off the disks of all nodes before the next one begins."""
import glob
import json
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
ROUNDS = 5


def parse(n):
    """Parse for ever what poll() is answered, in its rhythm."""
    rows = [[[0, i], [0, "success"]] for i in range(n)]
    text = json.dumps({"success": True, "result": {"data": rows}})
    print("ready", flush=True)
    while True:
        json.loads(text)
        time.sleep(2 * PAUSE_S)


def poll(path, first):
    """Ask for ever; the parent ends it."""
    luxi = Luxi(path, LIMIT_S)
    print("ready", flush=True)
    while True:
        luxi.call("Query", "job", ["id", "status"], [">=", "id", first])
        time.sleep(PAUSE_S)


def archive(path, luxi):
    """Put all jobs into the archive; return when their files are there."""
    luxi.call("AutoArchiveJobs", -1, 600)
    node = os.path.join(os.path.dirname(path), *[os.pardir] * 4)
    files = os.path.join(node, os.pardir, "*.example.com", "var", "lib",
                         "ganeti", "queue", "job-*")
    while glob.glob(files):
        time.sleep(PAUSE_S)


def cpu(path):
    """Seconds that masterd has computed."""
    run_dir = os.path.join(os.path.dirname(path), os.pardir)
    with open(os.path.join(run_dir, "ganeti-masterd.pid")) as f:
        pid = f.read().strip()
    with open(f"/proc/{pid}/stat") as f:
        times = f.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def submit_and_wait(path, luxi, n):
    """Jobs a second; milliseconds of masterd's a job."""
    begin, computed = time.time(), cpu(path)
    last = luxi.call("SubmitManyJobs", [[NOOP]] * n)[-1][1]
    seen = None
    while seen is None or seen[0] not in FINAL:
        seen = luxi.call("WaitForJobChange", last, ["status"], seen, None,
                         10)[0]
    while True:
        states = luxi.call("Query", "job", ["status"], [">", "id", last - n])
        if all(row[0][1] in FINAL for row in states["data"]):
            break
        time.sleep(PAUSE_S)
    return n / (time.time() - begin), (cpu(path) - computed) / n * 1e3


def run(path, luxi, n, beside):
    """As submit_and_wait(), with a client of that kind beside."""
    client = None
    if beside is not None:
        arg = n if beside == "--parse" else \
            luxi.call("SubmitJob", [NOOP]) + 1
        client = subprocess.Popen(
            [sys.executable, __file__, path, beside, str(arg)],
            stdout=subprocess.PIPE)
        client.stdout.readline()
    result = submit_and_wait(path, luxi, n)
    if client is not None:
        client.kill()
        client.wait()
    archive(path, luxi)
    return result


def main():
    path = sys.argv[1]
    if sys.argv[2:3] == ["--poll"]:
        poll(path, int(sys.argv[3]))
    if sys.argv[2:3] == ["--parse"]:
        parse(int(sys.argv[3]))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    luxi = Luxi(path, LIMIT_S)
    rounds = []
    print(f"{n} no-op jobs alone, beside a client that parses, beside one that "
          f"asks for all states every {PAUSE_S * 1e3:.0f} ms:")
    for _ in range(ROUNDS):
        rounds.append([run(path, luxi, n, beside)
                       for beside in (None, "--parse", "--poll")])
        print("  %.0f, %.0f, %.0f jobs/s;" % tuple(r[0] for r in rounds[-1]),
              "masterd computes %.3f, %.3f, %.3f ms a job" %
              tuple(r[1] for r in rounds[-1]), flush=True)
    of_alone, of_parsing = (statistics.median(r[2][0] / r[k][0] for r in rounds)
                            for k in (0, 1))
    print(f"median of the rates asked by the rates alone: {of_alone * 100:.0f} "
          f"%, by those beside the client that parses: {of_parsing * 100:.0f} % "
          "(90 % is the aim)")


main()
