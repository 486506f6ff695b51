#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""coverage.py BUILD: lines that the tests have run, by room and as a whole, from
a build with -Db_coverage=true whose tests have run.  Ends with 1 where fewer
lines are covered than is asked for.

A process that ends by kill -9 does not say what it ran."""
import csv
import io
import os
import subprocess
import sys

# The longest match counts; per cent.
WANTED = {"": 80, "lib/": 90, "queue/": 90, "masterd/config/": 90,
          "iallocators/": 90}


def files(build):
    """(path, lines, covered) of each source of the product."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    text = subprocess.run(
        ["gcovr", "--root", root, "--gcov-ignore-parse-errors", "--csv", "-",
         os.path.abspath(build)],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    for row in csv.DictReader(io.StringIO(text)):
        if not row["filename"].startswith(("tests/", "build")):
            yield (row["filename"], int(row["line_total"]),
                   int(row["line_covered"]))


def wanted(room):
    return WANTED[max((p for p in WANTED if (room + "/").startswith(p)),
                      key=len)]


def show(name, lines, covered, least):
    percent = 100 * covered / lines if lines else 100
    low = percent < least
    print(f"{name:24} {lines:7} lines {percent:6.1f} %"
          f"{f' (below {least})' if low else ''}")
    return low


def main():
    rooms = {}
    for path, lines, covered in files(sys.argv[1]):
        sums = rooms.setdefault(os.path.dirname(path), [0, 0])
        sums[0] += lines
        sums[1] += covered
    low = [show(room, *rooms[room], wanted(room)) for room in sorted(rooms)]
    total = [sum(sums[i] for sums in rooms.values()) for i in (0, 1)]
    low.append(show("everything", *total, WANTED[""]))
    sys.exit(any(low))


main()
