#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How our commands follow many jobs, against a master that plays them.

Usage: test_follow.py BIN     BIN: the folder with gnt-*
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_luxi import FakeMaster  # noqa: E402
from tap import Tap  # noqa: E402

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli_ops.json")


class Jobs:
    """All have ended with success; those in `archived` are not in the queue."""

    def __init__(self, archived=()):
        self.archived = archived

    def answer(self, method, args):
        if method == "SubmitManyJobs":
            result = [[True, i + 1] for i in range(len(args[0]))]
        elif method == "WaitForJobChange":
            if int(args[0]) in self.archived:
                return {"success": False,
                        "result": ["JobLost", ["not in the queue"]]}
            result = [["success"], []]
        else:
            cells = {"status": "success", "opstatus": ["success"],
                     "opresult": [None]}
            result = [[cells[field] for field in args[1]] for _ in args[0]]
        return {"success": True, "result": result}


class CutJobs(Jobs):
    """The same from a master whose daemon is started anew: while each job is
    waited for, and before it is told how it ended, the connection is cut."""

    def __init__(self):
        super().__init__()
        self.cut = set()

    def answer(self, method, args):
        what = (method, str(args[0]))
        if method in ("WaitForJobChange", "QueryJobs") and \
                what not in self.cut:
            self.cut.add(what)
            return None
        return super().answer(method, args)


class LeavingJobs(Jobs):
    """The same, until another node is the master."""

    def __init__(self):
        super().__init__()
        self.master = None

    def answer(self, method, args):
        if method != "WaitForJobChange":
            return super().answer(method, args)
        self.master.go_away()
        return None


class Busy:
    """One job that waits, then runs, and has written into its log: it is
    answered for when what is known of it is not so any more."""

    def __init__(self):
        self.states = ["waiting", "running", "success"]
        self.waits = 0

    def wait(self, known, serial):
        self.waits += 1
        if self.states[0] != "success" and known == self.states[:1] and \
                serial is not None and serial >= 7:
            self.states.pop(0)
        elif self.waits > 20:
            self.states = ["success"]
        return [self.states[:1], [[7, [1, 0], "message", "a line"]]]

    def answer(self, method, args):
        if method == "WaitForJobChange":
            result = self.wait(args[2], args[3]) if args[0] == 5 else \
                [["success"], []]
        elif method == "Query" and args[0] == "job":
            cells = {"id": 5, "summary": ["TEST_DELAY"],
                     "status": self.states[0]}
            rows = [[[0, cells[field]] for field in args[1]]]
            result = {"fields": [], "data":
                      [] if self.states[0] == "success" else rows}
        elif method == "Query":
            result = {"fields": [], "data": []}
        elif method == "QueryClusterInfo":
            result = {"vcs_version": "(gantry) 0.0.1"}
        elif method == "QueryJobs":
            result = [["success", ["success"], [True]]]
        else:
            result = 6
        return {"success": True, "result": result}


def upgrade(folder, jobs):
    """Prepare an upgrade, for which all jobs have to end."""
    master = FakeMaster([], script=jobs.answer)
    try:
        return master.run([os.path.join(folder, "gnt-cluster"), "upgrade",
                           "--to", "9.9"])
    finally:
        master.close()


def follow(folder, n, jobs):
    """Submit n jobs and follow them: the run, and what was asked."""
    master = FakeMaster([], script=jobs.answer)
    jobs.master = master
    try:
        run = master.run([os.path.join(folder, "gnt-debug"), "submit-job"] +
                         [FILE] * n)
        return run, master.requests
    finally:
        master.close()


def main():
    folder = os.path.abspath(sys.argv[1])
    tap = Tap()
    run, _ = follow(folder, 3, Jobs(archived=(2,)))
    tap.point(run.returncode == 0,
              "a job that was archived meanwhile has not failed",
              (run.stdout + run.stderr).split("\n"))
    run, asked = follow(folder, 60, Jobs())
    tap.point(run.returncode == 0, "many jobs are followed",
              run.stderr.split("\n"))
    tap.point(max(len(args[0]) for method, args in asked
                  if method == "QueryJobs") <= 25,
              "and few of them asked at a time")
    run, asked = follow(folder, 2, CutJobs())
    tap.point(run.returncode == 0,
              "who waits for jobs survives a restart of the master daemon",
              run.stderr.split("\n"))
    tap.point(len([1 for method, _ in asked
                   if method == "SubmitManyJobs"]) == 1,
              "and submits nothing again")
    run, _ = follow(folder, 2, LeavingJobs())
    tap.point(run.returncode == 11 and "gnt-job watch 1" in run.stderr and
              "node2.example.com" in run.stderr,
              "a job whose master is another node now is named",
              run.stderr.split("\n"))
    tap.point("has failed" not in run.stderr,
              "and not called one that has failed", run.stderr.split("\n"))
    busy = Busy()
    run = upgrade(folder, busy)
    tap.point(run.returncode == 0, "an upgrade waits until no job is left",
              (run.stdout + run.stderr).split("\n"))
    tap.point(busy.waits <= 3,
              "and asks about a job when it has changed, not all the time",
              [str(busy.waits)])
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
