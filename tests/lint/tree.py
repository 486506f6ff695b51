# SPDX-License-Identifier: BSD-2-Clause
"""Where the product's sources are, for the lints beside this file."""
import os
import sys

TOPS = ("lib", "queue", "masterd", "noded", "cli", "rapi", "iallocators")


def enter():
    """Go to the root of the sources: the first argument, or this tree's."""
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else
             os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def files(endings):
    """The paths of all that end so (a text or a tuple), in order."""
    for top in TOPS:
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.join(folder, name)


def report(points):
    """TAP of (name, what is wrong: lines) for each point."""
    for number, (name, wrong) in enumerate(points, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong:
            print("#", line)
    print(f"1..{len(points)}")
