#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""limits.py [SOURCE-ROOT]: the constants that doc/limits.md names have the
values that it says; prints TAP."""
import os
import re
import sys

UNITS = {"": 1, "s": 1, "ms": 0.001, "KiB": 1 << 10, "MiB": 1 << 20,
         "GiB": 1 << 30}
ROW = re.compile(r"^\| `([A-Z0-9_]+)` \| ([0-9.]+) ?([A-Za-z]*) \| `([^`]+)` "
                 r"\| (.+) \| (.+) \|$")


def rows(root):
    """The rows of all tables: (constant, value, unit, file)."""
    with open(os.path.join(root, "doc/limits.md"), encoding="utf-8") as doc:
        for line in doc:
            if not line.startswith("| ") or line.startswith("| constant |") \
                    or line.startswith("| --- |"):
                continue
            match = ROW.match(line)
            yield match.groups()[:4] if match else (line.strip(),) + 3 * (None,)


def expression(text, name):
    """The text of a macro, with others of the file put in."""
    match = re.search(rf"^#define {name} +(.+?)(?: */\*.*)?$", text, re.M)
    if match is None:
        return None
    return re.sub(r"\b([A-Z][A-Z0-9_]{2,})\b",
                  lambda m: m[1] if m[1] == "INT64_C"
                  else f"({expression(text, m[1])})", match[1])


def value(text, name):
    """The number that a macro stands for, in seconds if it is a time."""
    code = expression(text, name)
    if code is None:
        return None
    code = re.sub(r"\((size_t|int64_t)\)|INT64_C|(?<=\d)[uUlL]+", "", code)
    if not re.fullmatch(r"[0-9.+*()<> -]+", code):
        return None
    # pylint: disable-next=eval-used
    number = eval(code)  # digits and operators alone
    scale = {"US": 1e-6, "MS": 1e-3}.get(name.rsplit("_", 1)[-1], 1)
    return number * scale


def complaint(root, name, number, unit, path):
    """What is wrong with a row, None if nothing is."""
    if number is None:
        return f"not a row as the others: {name}"
    if unit not in UNITS:
        return f"{name}: unit {unit}"
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            real = value(file.read(), name)
    except FileNotFoundError:
        return f"{name}: there is no {path}"
    if real is None:
        return f"{path} has no number named {name}"
    if abs(real - float(number) * UNITS[unit]) > 1e-6 * abs(real):
        return f"{name} is {real:.10g} in {path}, not {number} {unit}"
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    all_rows = list(rows(root))
    wrong = [c for c in (complaint(root, *r) for r in all_rows) if c]
    print("ok 1" if not wrong else "not ok 1",
          "- limits have the values that the document says")
    for text in wrong:
        print("#", text)
    print("ok 2" if len(all_rows) > 50 else "not ok 2", "- there are many")
    print("1..2")


main()
