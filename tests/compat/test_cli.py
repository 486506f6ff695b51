#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our commands against recorded runs of Ganeti's: the same command line gives
the same requests, and with the same answers the same output and exit code.

Usage: test_cli.py BIN [NAME...]     BIN: the folder with gnt-*
Cases: compat/cli.json beside this file, and all of ../shared/cases/luxi where
that is there.
"""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_luxi import FakeMaster, normal  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "..", "..", "..", "shared", "cases")

# Recorded runs that we do not repeat, and why.
NOT_COMPARED = {
    "node-add-node2": "prepares the node over SSH",
    "node-add-node3": "prepares the node over SSH",
    "cluster-copyfile": "copies to nodes that are not there",
    "node-list-drbd": "reads the configuration, which is not there",
    "debug-test-jobqueue": "ours tests the queue by jobs of its own",
    "job-archive": "ours asks for the reason, and says it",
    "job-wait-lost": "ours looks among the archived jobs, too",
    "add-no-disk": "ours leaves the disks to the master",
    "failover-options": "ours takes -f as the answer to all its questions",
}
# Where Ganeti's ends with 0 for a name that is not known.
OWN_CODE = {"ext-info": 1}
# The words of these errors are those of a library of Ganeti's.
OWN_STDERR = {"instance-list-badfilter", "iallocator-debug", "add-no-disk",
              "job-cancel-no-args", "usage-no-args", "iallocator-bad-disks",
              "ext-info", "modify-bad-boolean", "instance-modify-bad-be"}

# What ours says where nobody can be asked; Ganeti's say nothing.
UNASKED = ("Nothing was done: there is no terminal to ask on, and the "
           "question is\n")

# Ganeti prints the members of some sets, in any order.
UNORDERED = {"info-cluster"}


def comparable(name, text):
    """Output without where this machine keeps things."""
    lines = [line for line in text.split("\n")
             if " search path: " not in line]
    for many, one in ((" were 1 errors", " was 1 error"),
                      ("1 job(s) ", "1 job "), (" 1 instance(s)", " 1 instance"),
                      ("1 error(s)", "1 error")):
        lines = [line.replace(many, one) for line in lines]
    lines = [line.replace("error(s)", "errors").replace("job(s)", "jobs")
             .replace("instance(s)", "instances") for line in lines]
    if name in UNORDERED:
        lines = sorted(line.replace("- ", "  ") for line in lines)
    return "\n".join(lines)


def recorded(path):
    """A case of the shared folder in our form."""
    with open(path, encoding="utf-8") as file:
        case = json.load(file)
    argv = case.get("argv") or [""]
    # Ganeti also submits no jobs at all; that is not worth a request.
    exchanges = [[x["request"]["method"], x["request"]["args"],
                  x["response"]]
                 for x in case["exchanges"]
                 if "/usr/sbin/gnt-" in x.get("client", "") and
                 (x["request"]["method"], x["request"]["args"]) !=
                 ("SubmitManyJobs", [[]])]
    return {"name": case["name"], "argv": argv, "rc": case["rc"],
            "stdout": case["stdout"], "stderr": case["stderr"],
            "exchanges": exchanges, "cwd": SHARED}


def all_cases():
    with open(os.path.join(HERE, "cli.json"), encoding="utf-8") as file:
        cases = json.load(file)
    names = {case["name"] for case in cases}
    for path in sorted(glob.glob(os.path.join(SHARED, "luxi", "*.json"))):
        case = recorded(path)
        if case["name"] not in names:
            cases.append(case)
    return [case for case in cases if case["argv"][0].startswith("gnt-")]


def is_served(folder, case):
    program = os.path.join(folder, case["argv"][0])
    if not os.path.exists(program):
        return False
    master = FakeMaster([])
    try:
        return master.run([program, case["argv"][1],
                           "--help"]).returncode == 0
    finally:
        master.close()


def as_ganetis(request):
    """What of a request of ours is not Ganeti's: it leaves the NICs to the
    master, where Ganeti's asks for one, asks for our fields as well, and a
    reinstallation has time limits of its own."""
    if request[0] == "QueryFields" and request[1][2:] == [True]:
        return [request[0], request[1][:2]]
    if request[0] == "SubmitJob":
        for op in request[1][0]:
            if op["OP_ID"] == "OP_INSTANCE_CREATE" and op["nics"] is None:
                op["nics"] = [{}]
    if request[0] == "SubmitManyJobs":
        for op in [op for job in request[1][0] for op in job]:
            if op["OP_ID"] == "OP_INSTANCE_REINSTALL":
                op.pop("helper_startup_timeout", None)
                op.pop("helper_shutdown_timeout", None)
    return request


def differences(folder, case):
    master = FakeMaster([x[2] for x in case["exchanges"]])
    try:
        result = master.run([os.path.join(folder, case["argv"][0])] +
                            case["argv"][1:],
                            cwd=case.get("cwd", HERE))
        asked = [as_ganetis(normal(r)) for r in master.requests]
    finally:
        master.close()
    wanted = [normal(x[:2]) for x in case["exchanges"]]
    problems = []
    for i in range(max(len(asked), len(wanted))):
        ours = asked[i] if i < len(asked) else None
        theirs = wanted[i] if i < len(wanted) else None
        if ours != theirs:
            problems.append("request %d: %s\n  instead of: %s" %
                            (i, json.dumps(ours), json.dumps(theirs)))
    for what, ours, theirs in (
            ("exit code", result.returncode,
             OWN_CODE.get(case["name"], case["rc"])),
            ("stdout", comparable(case["name"], result.stdout),
             comparable(case["name"], case["stdout"])),
            ("stderr", result.stderr, case["stderr"])):
        if what == "stderr" and case["name"] in OWN_STDERR:
            continue
        if what == "stderr" and case["name"].endswith("-unconfirmed"):
            if ours.startswith(UNASKED):
                continue
        if ours != theirs:
            problems.append("%s: %r\n  instead of: %r" % (what, ours, theirs))
    return problems


def main():
    folder, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    cases = [c for c in all_cases() if not wanted or c["name"] in wanted]
    failed = 0
    print("TAP version 13\n1..%d" % len(cases))
    for number, case in enumerate(cases, 1):
        name = case["name"]
        if name in NOT_COMPARED:
            print("ok %d - %s # SKIP %s" % (number, name, NOT_COMPARED[name]))
            continue
        if not is_served(folder, case):
            print("ok %d - %s # SKIP not served yet" % (number, name))
            continue
        problems = differences(folder, case)
        print("%s %d - %s" % ("not ok" if problems else "ok", number, name))
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))
        failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
