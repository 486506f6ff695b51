#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Count what meson's logs say: each point of a TAP test, each other test as one.

Prints what failed, with what its points had to say, the tests that took longest,
and how many points were skipped, then "N passed, N failed"; exit status 1 if
anything failed or nothing ran."""
import json
import pathlib
import re
import sys

# Of each test that failed: so the end of a long run tells why.
REASON_LINES = 30
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


def main():
    totals = [0, 0, 0]
    times = []
    for log in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        if log.suffix == ".failed":
            print("FAILED:", log.read_text().strip())
            totals[1] += 1
            continue
        for line in log.read_text().splitlines():
            test = json.loads(line)
            times.append((test.get("duration", 0),
                          f"{log.stem}: {test['name']}"))
            result = count(test)
            totals = [a + b for a, b in zip(totals, result)]
            if result[1]:
                print(f"FAILED: {log.stem}: {test['name']} ({result[1]})")
                for line in reasons(test)[:REASON_LINES]:
                    print("   ", line)
    show_slowest(times)
    passed, failed, skipped = totals
    if skipped:
        print(f"({skipped} skipped)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
