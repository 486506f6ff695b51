#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""snapshots.py SOCKET FOLDER [JOBS [ROUNDS]]: for how long the log's snapshots
delay a client that asks for next to nothing, with so many jobs in the queue.
FOLDER is that of the master's part of the log.  The aim is 50 ms in the median
of the rounds; in each, jobs go on until a snapshot was taken, which is due after
some 15,000.  The queue takes 100,000 jobs, all rounds together.  How long
the machine itself kept a process waiting is told beside it (nasty.py)."""
import os
import statistics
import sys

from nasty import LIMIT_S, Luxi, Watch, measured, noop, nothing, small_call

AT_ONCE = 100  # jobs of one submission
BULKS_MAX = 200  # of a round


def wait(luxi, job):
    seen = None
    while seen is None or seen[0] not in ("success", "error", "canceled"):
        seen = luxi.call("WaitForJobChange", job, ["status"], seen, None, 10)[0]


def submit(luxi, n):
    """That many jobs; the last one's number."""
    good, job = luxi.call("SubmitManyJobs", [[noop()]] * n)[-1]
    if not good:
        raise SystemExit(f"no job: {job}")
    return job


def work(luxi, file):
    """Jobs until there was a snapshot; whether there was one."""
    last = os.stat(file).st_ino
    for _ in range(BULKS_MAX):
        wait(luxi, submit(luxi, AT_ONCE))
        if os.stat(file).st_ino != last:
            return True
    return False


def main():
    path, file = sys.argv[1], os.path.join(sys.argv[2], "snapshot")
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    luxi = Luxi(path, LIMIT_S)
    other = Watch(small_call, path)
    cores = [Watch(nothing, core) for core in sorted(os.sched_getaffinity(0))]
    for _ in range(jobs // 1000):
        wait(luxi, submit(luxi, 1000))
    rows = [measured(other, cores, lambda: work(luxi, file))
            for _ in range(rounds)]
    for watch in [other] + cores:
        watch.end()
    delays = [row[0] for row in rows]
    print(f"{sum(row[2] for row in rows)} snapshots with {jobs} jobs: another "
          f"client waited {statistics.median(delays):.1f} ms at most (median of "
          f"{rounds} rounds, worst {max(delays):.1f}), the machine itself "
          f"{max(row[1] for row in rows):.1f}")


if __name__ == "__main__":
    main()
