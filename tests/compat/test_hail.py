#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hail's answers (TAP): the cases kept here, all recorded ones where they lie
beside the checkout, and random clusters against Debian's hail where that is
installed.

    test_hail.py HAIL [FIRST-SEED COUNT]

A case is NAME.in.json with what must come out in NAME.out.json, NAME.err and
NAME.rc; NAME.args are options.  Cases in KNOWN differ on purpose, see
doc/KNOWN_DELTAS.md; what we answer instead is among the cases kept here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "htools"
REFERENCES = ["/usr/bin/hail", "/usr/lib/ganeti/iallocators/hail"]
ENVIRON = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
SEEDS = 380
KNOWN = {"chg-own-group-only", "edge-drbd-one-required",
         "groups-named-index-clash-refused", "part-multi-named",
         "multi-per-instance-group-ignored"}

sys.path.insert(0, str(HERE))
import hail_random  # noqa: E402
from tap import Tap  # noqa: E402


def run(program, options, path, env=None):
    try:
        r = subprocess.run([program, *options, str(path)], env=env or ENVIRON,
                           capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", "", ""
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def optional(path):
    return path.read_text() if path.exists() else ""


def differences(want, have):
    names = ("exit code", "stdout", "stderr")
    out = []
    for name, a, b in zip(names, want, have):
        if a != b:
            out += [f"{name} should be: {a}".strip(), f"and is: {b}".strip()]
    return out


def cases(tap, hail, folder, known):
    for path in sorted(folder.glob("*.in.json")):
        name = path.name[:-len(".in.json")]
        base = folder / name
        options = optional(base.with_name(name + ".args")).split()
        want = (int(base.with_name(name + ".rc").read_text()),
                optional(base.with_name(name + ".out.json")),
                optional(base.with_name(name + ".err")))
        if name in known:
            tap.point(True, name, skip="differs on purpose")
            continue
        details = differences(want, run(hail, options, path))
        tap.point(not details, name, details)


def without_locale(tap, hail):
    path = HERE / "hail" / "edge-non-ascii.in.json"
    want = run(hail, [], path)
    details = differences(want, run(hail, [], path, {"LC_ALL": "C"}))
    tap.point(not details, "names are the same without a locale", details)


def misfits(message, answer, explanation):
    """What in an explanation does not fit the answer."""
    out = []
    names = [g["name"] for g in message["nodegroups"].values()]
    uuids = list(message["nodegroups"])
    for inst in explanation["instances"]:
        for group in inst["groups"]:
            ranks = [b["rank"] for b in group["best"] if "rank" in b]
            taken = [b for b in group["best"] if b["verdict"] == "taken"]
            scores = [b["score"] for b in group["best"] if b.get("score")]
            chosen = inst["placed"] and group["verdict"] == "chosen"
            if ranks != list(range(1, len(ranks) + 1)):
                out.append(f"ranks {ranks}")
            if scores != sorted(scores) and "NaN" not in inst["info"]:
                out.append(f"{group['name']}: best first? {scores}")
            if message["request"]["type"] != "allocate":
                continue
            if chosen and answer["result"] != taken[0]["nodes"]:
                out.append(f"taken: {taken}")
            if chosen and taken[0].get("rank") != 1:
                out.append(f"the best is not taken: {group['best']}")
            uuid = uuids[names.index(group["name"])]
            there = [n for n in message["nodes"].values()
                     if n["group"] == uuid]
            seen = sum(r["count"] for r in group["refused"]) + group["possible"]
            if (message["request"]["required_nodes"] == 1 and seen and
                    len(there) != seen):
                out.append(f"{group['name']}: {seen} of {len(there)} nodes")
    return out


def explained(tap, hail, folder):
    """--explain changes no answer, and says the same."""
    details = []
    for path in sorted(folder.glob("*.in.json")):
        name = path.name[:-len(".in.json")]
        options = optional(path.with_name(name + ".args")).split()
        plain = run(hail, options, path)
        text = run(hail, ["--explain", *options], path)
        both = run(hail, ["--explain=json", *options], path)
        if text[:2] != plain[:2] or both[0] != plain[0]:
            details.append(f"{name}: {text} {both}")
        if plain[0] != 0:
            continue
        answer = json.loads(both[1])
        if not both[1].startswith(plain[1][:-2] + ',"explanation":'):
            details.append(f"{name}: another answer: {both[1]}")
        message = json.loads(path.read_text())
        if "nodegroups" in message:
            details += [f"{name}: {m}" for m in
                        misfits(message, answer, answer["explanation"])]
        if not text[2].endswith(answer["explanation"]["text"]):
            details.append(f"{name}: {text[2]}")
    tap.point(not details, f"explanations of {folder.name} fit", details)


def is_delta(text, reference):
    """Whether a difference of this request is one of doc/KNOWN_DELTAS.md."""
    message = json.loads(text)
    request = message["request"]
    group = request.get("group_name")
    names = [g["name"] for g in message["nodegroups"].values()]
    exclusive = [n["ndparams"]["exclusive_storage"]
                 for n in message["nodes"].values()]
    if "IntMap.!" in reference[2] or "no groups for evacuation" in reference[1]:
        return True
    if request["type"] == "multi-allocate":
        return any(exclusive) or (group is not None and group not in names)
    return group is not None and "FailN1" in reference[1]


def differential(tap, hail, reference, first, count):
    sys.path.insert(0, str(SHARED))
    import gen_iallocator as gi  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "request.json"
        for seed in range(first, first + count):
            text, options = hail_random.make(gi, seed)
            path.write_text(text)
            want = run(reference, options, path)
            details = differences(want, run(hail, options, path))
            if details and is_delta(text, want):
                tap.point(True, f"random cluster {seed}", skip="known delta")
            else:
                tap.point(not details, f"random cluster {seed}", details)


def main():
    hail = sys.argv[1]
    first, count = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (1, SEEDS)
    reference = next(filter(os.path.exists, REFERENCES), None)
    tap = Tap()
    cases(tap, hail, HERE / "hail", set())
    explained(tap, hail, HERE / "hail")
    without_locale(tap, hail)
    if (SHARED / "open" / "hail").is_dir():
        cases(tap, hail, SHARED / "open" / "hail", KNOWN)
        explained(tap, hail, SHARED / "open" / "hail")
    else:
        tap.point(True, "recorded cases", skip="they are not there")
    if reference and (SHARED / "gen_iallocator.py").exists():
        differential(tap, hail, reference, first, count)
    else:
        tap.point(True, "random clusters", skip="no hail to compare with")
    return tap.end()


sys.exit(main())
