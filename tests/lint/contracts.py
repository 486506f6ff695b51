#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""contracts.py [SOURCE-ROOT]: every source says at its top what it is for, and
how many prototypes in headers have a contract.  Prints TAP.

A contract is a comment directly above the prototype, or above the group of
prototypes that it belongs to (no blank line between), or behind it."""
import re
import sys

sys.dont_write_bytecode = True
import tree  # noqa: E402

PROTOTYPE = re.compile(r"^[A-Za-z_][^;{}#]*\([^;{}]*\)[^;{}]*;", re.M)
# So many of a hundred have one; whoever writes more may raise it.
LEAST = 98


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
    tree.enter()
    counts = [count(path) for path in tree.files(".h")]
    all_of, good = (sum(c[i] for c in counts) for i in (0, 1))
    share = f"{good} of {all_of}, {100 * good / all_of:.1f} %; at least {LEAST} %"
    tree.report([
        ("each file says what it is for",
         [path for path in tree.files((".c", ".h")) if not opens(path)]),
        ("prototypes have contracts",
         [] if good * 100 >= LEAST * all_of else [share]),
    ])
    print("#", share)


main()
