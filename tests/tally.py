#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Count what meson's logs say: each point of a TAP test, each other test as one.

tally.py FOLDER prints what failed, with what its points had to say, the tests
that took longest, and how many points were skipped, then "N passed, N failed";
exit status 1 if anything failed or nothing ran.  FOLDER has a log RING.json for
each run of tests.  A test that failed and is also in again-BUILD.json counts as
it ended there, and is named: it failed beside others and passed alone.

tally.py --failed FOLDER BUILD prints the names of the tests that failed with
that build (the rings whose names begin with it), or none of them when there are
so many that the cause is no accident."""
import json
import pathlib
import re
import sys

# Of each test that failed: so the end of a long run tells why.
REASON_LINES = 30
ACCIDENTS_MAX = 8
SLOWEST = 10
POINT = re.compile(r"^(not )?ok\b[^#\n]*(#\s*(SKIP|TODO))?", re.I | re.M)


def count(test):
    """(passed, failed, skipped) of one line of testlog.json."""
    points = POINT.findall(test.get("stdout") or "")
    skipped = sum(1 for no, _, mark in points if mark and not no)
    failed = sum(1 for no, _, mark in points if no and not mark)
    passed = len(points) - skipped - failed
    if test["result"] == "SKIP":
        return 0, 0, max(1, skipped)
    if not points:
        good = test["result"] in ("OK", "EXPECTEDFAIL")
        return int(good), int(not good), 0
    if test["result"] not in ("OK", "EXPECTEDFAIL") and failed == 0:
        failed = 1  # it crashed, or promised more points than it had
    return passed, failed, skipped


def reasons(test):
    """The points that failed, with the notes after each; or what it said."""
    lines, wanted = [], False
    for line in (test.get("stdout") or "").splitlines():
        if not line.startswith("#"):
            wanted = line.startswith("not ok") or line.startswith("Bail out")
        if wanted:
            lines.append(line)
    return lines or (test.get("stderr") or "").splitlines()


def show_slowest(times):
    """times: (seconds, name) of each test."""
    if times:
        print("the slowest:", ", ".join(
            f"{name} {seconds:.0f} s"
            for seconds, name in sorted(times, reverse=True)[:SLOWEST]))


def read(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def failed_names(folder, build):
    """The tests of a build that are worth another run, as meson wants to be
    given them: its logs have "project:suite / name"."""
    names = [test["name"].split(" / ")[-1] for log in sorted(folder.glob(build + "*.json"))
             for test in read(log) if count(test)[1]]
    return names if len(names) <= ACCIDENTS_MAX else []


def repetitions(folder):
    """{(build, name): test} of what ran again."""
    return {(log.stem[len("again-"):], test["name"]): test
            for log in folder.glob("again-*.json") for test in read(log)}


def show_failure(word, ring, test, failed):
    print(f"{word}: {ring}: {test['name']} ({failed})")
    for line in reasons(test)[:REASON_LINES]:
        print("   ", line)


def judge(ring, test, again):
    """The counts of a test, and its failure told."""
    result = count(test)
    if not result[1]:
        return result
    other = again.get((ring.split("-")[0], test["name"]))
    if other is None or count(other)[1]:
        show_failure("FAILED", ring, test, result[1])
        return result
    show_failure("failed beside others, passed alone", ring, test, result[1])
    return count(other)


def main(folder):
    totals = [0, 0, 0]
    times = []
    again = repetitions(folder)
    for mark in sorted(folder.glob("*.failed")):
        print("FAILED:", mark.read_text().strip())
        totals[1] += 1
    for log in sorted(folder.glob("*.json")):
        if log.stem.startswith("again-"):
            continue
        for test in read(log):
            times.append((test.get("duration", 0),
                          f"{log.stem}: {test['name']}"))
            result = judge(log.stem, test, again)
            totals = [a + b for a, b in zip(totals, result)]
    show_slowest(times)
    passed, failed, skipped = totals
    if skipped:
        print(f"({skipped} skipped)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if sys.argv[1] == "--failed":
    print(*failed_names(pathlib.Path(sys.argv[2]), sys.argv[3]), sep="\n",
          end="")
    sys.exit(0)
sys.exit(main(pathlib.Path(sys.argv[1])))
