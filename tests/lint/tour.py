#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""tour.py [SOURCE-ROOT]: doc/tour.md is true to the code.  Prints TAP.

The tour names functions as `FILE:FUNCTION`.  Each must be defined in its file.
A numbered list is a chain of calls: each step but the first is called in the
file of an earlier step of its list, whose room is the same or may include the
step's room by the table of doc/architecture.md.  So no step goes back up."""
import os
import re
import sys

sys.dont_write_bytecode = True
import tree  # noqa: E402
import rooms as rooms_lint  # noqa: E402

TOUR = "doc/tour.md"
NAME = re.compile(r"`([a-z_0-9/.]+\.[a-z]+):([A-Za-z_0-9]+)`")
STEP = re.compile(r"^\d+\. ")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def defines(path, function):
    """Whether the file has its definition; a .def file a row of that name."""
    if not os.path.exists(path):
        return False
    if path.endswith(".def"):
        return re.search(rf"\b{function}\b", read(path)) is not None
    pattern = rf"^(?:[A-Za-z_][^;=(]*[ *])?{function}\([^;]*?\)\s*\{{"
    return re.search(pattern, read(path), re.M) is not None


def lists(text):
    """The (file, function) that each step of each numbered list begins with."""
    steps = []
    for line in text.split("\n"):
        if line == "" or line.startswith(" "):
            continue  # a list may have blank lines, and steps several lines
        if not STEP.match(line):
            if steps:
                yield steps
            steps = []
            continue
        name = NAME.match(STEP.sub("", line))
        steps.append(name.groups() if name else (line, None))
    if steps:
        yield steps


def may_call(table, caller, callee):
    above, below = (os.path.dirname(path) for path in (caller, callee))
    return above == below or (above in table and
                              rooms_lint.allows(table[above], below))


def check_list(table, steps):
    for place, (path, function) in enumerate(steps):
        if function is None:
            yield f"a step begins with no `FILE:FUNCTION`: {path}"
        elif place > 0 and defines(path, function):
            callers = [before for before, known in steps[:place] if known and
                       re.search(rf"\b{function}\b", read(before))]
            if not callers:
                yield f"no step before {path}:{function} calls it"
            elif not any(may_call(table, caller, path) for caller in callers):
                yield f"{path}:{function} is a step back up from {callers[0]}"


def main():
    tree.enter()
    text, table = read(TOUR), rooms_lint.read_table()
    names = NAME.findall(text)
    points = [
        ("functions of the tour are in the files that it names",
         [f"{path} does not define {function}()" for path, function in names
          if not defines(path, function)]),
        ("no step of the tour goes back up",
         [wrong for steps in lists(text) for wrong in check_list(table, steps)]),
        ("the tour has walks", [] if len(names) > 50 else ["too few functions"]),
    ]
    tree.report(points)


main()
