#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""doc/seeds.md is complete and true: a row for each requirement of the seeds,
in their order, and the files and tests that it names exist."""
import glob
import os
import re
import sys

ROWS = 448
STATES = {"works", "as 3.0.2", "not yet", "nothing to do"}
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def facts():
    """{"suite.fact"} of all unit and simulation tests."""
    found = set()
    for path in glob.glob("tests/unit/*.c") + glob.glob("tests/sim/*.c"):
        for suite, fact in re.findall(r"^Test\((\w+),\s*(\w+)", read(path), re.M):
            found.add(f"{suite}.{fact}")
    return found


def table():
    """[number, requirement, state, where, test] of each row."""
    for line in read("doc/seeds.md").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells[0].isdigit():
            yield cells


def check_test(text, known):
    """What is wrong with the column of tests."""
    for number, point in re.findall(r'(\d{3}) "([^"]*)"', text):
        files = glob.glob(f"tests/daemon/{number}-*.t")
        if not any(point in read(file) for file in files):
            yield f'no point "{point}" in tests/daemon/{number}'
    for name in re.findall(r"`([^`]*)`", text):
        if "/" in name:
            if not os.path.exists(name):
                yield f"no file {name}"
        elif name not in known:
            yield f"no test {name}"


def check_row(cells, known):
    _, _, state, where, test = cells
    if state not in STATES:
        yield f"unknown state {state}"
    for path in re.findall(r"`([^`]*)`", where):
        if not os.path.exists(path):
            yield f"no file {path}"
    if state == "works" and (where == "-" or test == "-"):
        yield "what works has a place and a test"
    yield from check_test(test, known)


def main():
    known, wrong = facts(), []
    rows = list(table())
    numbers = [int(cells[0]) for cells in rows if len(cells) == 5]
    for cells in rows:
        if len(cells) != 5:
            wrong.append(f"row {cells[0]}: it has {len(cells)} columns, not 5")
            continue
        wrong += [f"row {cells[0]}: {text}" for text in check_row(cells, known)]
    complete = numbers == list(range(1, ROWS + 1))
    print("1..2")
    print("ok 1" if complete else "not ok 1", "- each requirement has its row, in order")
    print("not ok 2" if wrong else "ok 2", "- its files and tests exist")
    for line in wrong:
        print("#", line)
    return 1 if wrong or not complete else 0


sys.exit(main())
