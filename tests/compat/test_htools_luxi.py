#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The planning programs on a master (TAP): recorded runs of Ganeti's, played
back; what they ask and print must be the same.

    test_htools_luxi.py FOLDER-OF-PROGRAMS
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "luxi"
RUNS = ("hinfo-L", "hbal-L", "hbal-L-X", "hcheck-L", "hroller-L", "hsqueeze-L")

sys.path.insert(0, str(HERE))
from fake_luxi import FakeMaster  # noqa: E402


def without_origin(value):
    """Requests without what tells version and time of the program."""
    if isinstance(value, list):
        if len(value) == 3 and isinstance(value[2], int) and value[2] > 10**15:
            value = value[:2]
        return [without_origin(v) for v in value]
    if isinstance(value, dict):
        return {k: without_origin(v) for k, v in value.items()}
    if isinstance(value, str):
        return re.sub(r"\(\w+\) version [-\w.]+", "VERSION", value)
    return value


def differences(run, ours):
    exchanges = run["exchanges"]
    master = FakeMaster([x["response"] for x in exchanges])
    try:
        argv = [str(ours / run["argv"][0]), *run["argv"][1:]]
        have = subprocess.run(
            argv, capture_output=True, timeout=60, check=False,
            env={"LANG": "C.UTF-8", "GANETI_ROOTDIR": master.root,
                 "GANETI_HOSTNAME": "node1.example.com"})
        asked = master.requests
    finally:
        master.close()
    want = [[x["request"]["method"], x["request"]["args"]] for x in exchanges]
    pairs = (("exit code", run["rc"], have.returncode),
             ("stdout", run["stdout"], have.stdout.decode()),
             ("stderr", run["stderr"], have.stderr.decode()),
             ("requests", without_origin(want), without_origin(asked)))
    return [line for name, a, b in pairs if a != b
            for line in (f"{name} should be: {a}", f"and is: {b}")]


def main():
    ours = pathlib.Path(sys.argv[1])
    if not SHARED.is_dir():
        print("1..0 # SKIP no recorded runs beside the checkout")
        return 0
    failed = 0
    for n, name in enumerate(RUNS, 1):
        run = json.loads((SHARED / (name + ".json")).read_text())
        details = differences(run, ours)
        failed += bool(details)
        print("not ok" if details else "ok", n, "-", name)
        for line in details:
            print("#", line.replace("\n", "\\n")[:900])
    print(f"1..{len(RUNS)}")
    return 1 if failed else 0


sys.exit(main())
