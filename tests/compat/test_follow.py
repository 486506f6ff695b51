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


def follow(folder, n, jobs):
    """Submit n jobs and follow them: the run, and what was asked."""
    master = FakeMaster([], script=jobs.answer)
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
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
