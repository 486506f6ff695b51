#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""polled.py SOCKET [JOBS]: the rate of many no-op jobs submitted at once, alone,
and while a client asks for the states of all of them again and again; and what
masterd computes for a job.  The two take turns, and each round gives a ratio:
the speed of a shared machine changes within a minute.  What was archived is off
the disks of all nodes before the next one begins.

The client runs on what the cluster leaves of the machine: its own parsing of
20,000 rows takes half a core, which shall not count as the master's."""
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


def stand_back():
    """Take no processor from others.  A kernel that shares its time among
    sessions first wants that said of the session."""
    os.setsid()
    os.nice(19)
    try:
        with open("/proc/self/autogroup", "w") as f:
            f.write("19")
    except OSError:
        pass


def poll(path, first):
    """Ask for ever, with a line for each answer; the parent ends it."""
    stand_back()
    luxi = Luxi(path, LIMIT_S)
    print("ready", flush=True)
    while True:
        luxi.call("Query", "job", ["id", "status"], [">=", "id", first])
        print("answer", flush=True)
        time.sleep(PAUSE_S)


def archive(path, luxi):
    """Put all jobs into the archive; return when their files are there."""
    begin = time.time()
    archived, left = luxi.call("AutoArchiveJobs", -1, 600)
    took = time.time() - begin
    node = os.path.join(os.path.dirname(path), *[os.pardir] * 4)
    files = os.path.join(node, os.pardir, "*.example.com", "var", "lib",
                         "ganeti", "queue", "job-*")
    until = time.time() + LIMIT_S
    while glob.glob(files):
        if time.time() > until:
            sys.exit(f"{len(glob.glob(files))} files of archived jobs are "
                     f"left after {LIMIT_S} s ({archived} jobs were archived "
                     f"in {took:.1f} s, {left} were not)")
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
    while time.time() < begin + LIMIT_S:
        states = luxi.call("Query", "job", ["status"], [">", "id", last - n])
        if all(row[0][1] in FINAL for row in states["data"]):
            break
        time.sleep(PAUSE_S)
    else:
        sys.exit(f"{n} jobs are not final after {LIMIT_S} s")
    return n / (time.time() - begin), (cpu(path) - computed) / n * 1e3


def run(path, luxi, n):
    result = submit_and_wait(path, luxi, n)
    archive(path, luxi)
    return result


def run_polled(path, luxi, n):
    """As run(), and how many answers the client got a second."""
    first = luxi.call("SubmitJob", [NOOP]) + 1
    client = subprocess.Popen(
        [sys.executable, __file__, path, "--poll", str(first)],
        stdout=subprocess.PIPE)
    client.stdout.readline()
    begin = time.time()
    result = submit_and_wait(path, luxi, n)
    seconds = time.time() - begin
    client.kill()
    answers = client.communicate()[0].count(b"answer")
    archive(path, luxi)
    return result + (answers / seconds,)


def main():
    path = sys.argv[1]
    if sys.argv[2:3] == ["--poll"]:
        poll(path, int(sys.argv[3]))
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    luxi = Luxi(path, LIMIT_S)
    ratios = []
    print(f"{n} no-op jobs alone, and beside a client that asks for all states "
          f"with pauses of {PAUSE_S * 1e3:.0f} ms:")
    for _ in range(ROUNDS):
        alone = run(path, luxi, n)
        polled = run_polled(path, luxi, n)
        ratios.append(polled[0] / alone[0])
        print(f"  {alone[0]:.0f} and {polled[0]:.0f} jobs/s; masterd computes "
              f"{alone[1]:.3f} and {polled[1]:.3f} ms a job; "
              f"{polled[2]:.0f} answers/s", flush=True)
    print(f"median of the ratios: {statistics.median(ratios) * 100:.0f} % "
          "(90 % is the aim)")


main()
