#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""contracts.py [SOURCE-ROOT]: every source says at its top what it is for, and
how many prototypes in headers have a contract.  Prints TAP.

A contract is a comment directly above the prototype, or above the group of
prototypes that it belongs to (no blank line between), or behind it."""
import os
import re
import sys

TOPS = ("lib", "queue", "masterd", "noded", "cli", "rapi", "iallocators")
PROTOTYPE = re.compile(r"^[A-Za-z_][^;{}#]*\([^;{}]*\)[^;{}]*;", re.M)
# So many of a hundred have one; whoever writes more may raise it.
LEAST = 98


def sources(ending):
    for top in TOPS:
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                if name.endswith(ending):
                    yield os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def opens(path):
    return read(path).split("\n", 2)[1].startswith("/*")


def paragraphs(text):
    """Pieces without a blank line."""
    return re.split(r"\n[ \t]*\n", text)


def count(path):
    """(prototypes, those with a contract)"""
    all_of, good = 0, 0
    for piece in paragraphs(read(path)):
        code = re.sub(r"/\*.*?\*/", "", piece, flags=re.S)
        n = len(PROTOTYPE.findall(code))
        all_of += n
        if n and "/*" in piece:
            good += n
    return all_of, good


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else
             os.path.join(os.path.dirname(__file__), "..", ".."))
    wrong = [path for path in sources((".c", ".h")) if not opens(path)]
    print(f"{'not ok' if wrong else 'ok'} 1 - each file says what it is for")
    for path in wrong:
        print("#", path)
    counts = [count(path) for path in sources(".h")]
    all_of, good = (sum(c[i] for c in counts) for i in (0, 1))
    enough = good * 100 >= LEAST * all_of
    print(f"{'ok' if enough else 'not ok'} 2 - prototypes have contracts")
    print(f"# {good} of {all_of}, {100 * good / all_of:.1f} %; "
          f"at least {LEAST} %")
    print("1..2")


main()
