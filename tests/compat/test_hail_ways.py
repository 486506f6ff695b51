#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The master daemon's own hail, asked by text and by a call (TAP): both give the
same answer about each cluster that a recorded message describes, where a
configuration can say that, and it is the recorded one; and about random
clusters where their generator lies beside the checkout.

    test_hail_ways.py HAIL_WAYS [FIRST-SEED COUNT]"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "htools"
SEEDS = 200
# Recorded with options that change the answer; about forthcoming instances, or
# one of DRBD on one node, which a message of the master does not have; and what
# differs on purpose (test_hail.py, doc/KNOWN_DELTAS.md).
UNLIKE = {"alloc-ignore-soft", "alloc-n1-broken-nocap",
          "alloc-offline-secondary-nocap", "alloc-plain-single-node-nocap",
          "restrict-option-overrides", "edge-forthcoming", "evac-forthcoming",
          "edge-drbd-no-secondary", "chg-own-group-only",
          "groups-all-unallocable", "groups-named-index-clash-refused",
          "multi-per-instance-group-ignored", "part-mixed-groups-not-dedicated",
          "part-multi-named"}

sys.path.insert(0, str(HERE))
import hail_random  # noqa: E402
from tap import Tap  # noqa: E402


def ask(program, paths):
    """[(outcome, text)] for each file"""
    r = subprocess.run([program, *map(str, paths)], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, timeout=250, check=False,
                       cwd=HERE.parent.parent)
    return [line.split("\t", 1) for line in r.stdout.decode().splitlines()]


def recorded(path):
    """The answer that was recorded, or None where there is none."""
    try:
        answer = json.loads(
            path.with_name(path.name.replace(".in.", ".out.")).read_text())
    except (OSError, ValueError):
        return None
    return answer if "result" in answer else None


def cases(tap, program, folder):
    """Each recorded case; some are no messages of a master."""
    paths = sorted(folder.glob("*.in.json"))
    outcomes = ask(program, paths)
    tap.point(len(outcomes) == len(paths), f"all of {folder.name} are asked")
    for path, (outcome, text) in zip(paths, outcomes):
        name = path.name[:-len(".in.json")]
        if outcome == "none":
            tap.point(True, name, skip="no configuration says this")
            continue
        tap.point(outcome == "same", f"{name}: both ways agree", [text])
        want = recorded(path)
        if outcome == "same" and want and name not in UNLIKE:
            have = json.loads(text)
            tap.point(have == want, f"{name}: as recorded",
                      [f"should be {want}", f"is {have}"])


def clusters(tap, program, first, count):
    sys.path.insert(0, str(SHARED))
    import gen_iallocator as gi  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for seed in range(first, first + count):
            text, _ = hail_random.make(gi, seed)
            paths.append(pathlib.Path(folder) / f"{seed}.json")
            paths[-1].write_text(text)
        outcomes = ask(program, paths)
        differ = [f"{path.name}: {text}"
                  for path, (outcome, text) in zip(paths, outcomes)
                  if outcome == "differs"]
        asked = sum(outcome == "same" for outcome, _ in outcomes)
        tap.point(len(outcomes) == count and not differ,
                  f"both ways agree about random clusters {first} to "
                  f"{first + count - 1}", differ)
        tap.point(asked > count // 2, "most of these can be configured",
                  [f"{asked} of {count}"])


def main():
    program = sys.argv[1]
    first, count = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (1, SEEDS)
    tap = Tap(width=1000)
    cases(tap, program, HERE / "hail")
    if (SHARED / "open" / "hail").is_dir():
        cases(tap, program, SHARED / "open" / "hail")
    else:
        tap.point(True, "recorded cases", skip="they are not there")
    if (SHARED / "gen_iallocator.py").exists():
        clusters(tap, program, first, count)
    else:
        tap.point(True, "random clusters", skip="there is no generator")
    return tap.end()


sys.exit(main())
