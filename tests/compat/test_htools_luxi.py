#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The planning programs on a master (TAP): recorded runs of Ganeti's, played
back, what they ask and print must be the same; and what hsqueeze -X submits.

    test_htools_luxi.py FOLDER-OF-PROGRAMS
"""
import copy
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "luxi"
RUNS = ("hinfo-L", "hbal-L", "hbal-L-X", "hcheck-L", "hroller-L", "hsqueeze-L")

sys.path.insert(0, str(HERE))
from fake_luxi import FakeMaster  # noqa: E402
from fake_rapi import CLUSTER, lists  # noqa: E402


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


def rows(objects, fields):
    """Objects as RAPI has them, as rows of a LUXI query."""
    def value(o, field):
        group, _, name = field.partition("/")
        inner = {"ndp": "ndparams", "be": "beparams"}.get(group)
        return o[inner].get(name) if inner else o.get(field)
    return [[[0 if value(o, f) is not None else 2, value(o, f)]
             for f in fields] for o in objects]


def master_of(answers, job_status, refused=(), on_query=None):
    """A master with that cluster, on which all jobs end like this, but those
    of a set that it refuses."""
    paths = {"node": "/2/nodes?bulk=1", "instance": "/2/instances?bulk=1",
             "group": "/2/groups?bulk=1"}
    ids = iter(range(1, 100))

    def script(method, args):
        if method == "QueryClusterInfo":
            result = answers["/2/info"]
        elif method == "SubmitManyJobs":
            result = [[False, "no more"] if i in refused else
                      [True, next(ids)] for i, _ in enumerate(args[0])]
        elif method == "QueryJobs":
            if on_query:
                on_query()
            result = [[job_status] for _ in args[0]]
        else:
            result = {"data": rows(answers[paths[args[0]]], args[1])}
        return {"success": True, "result": result}
    return FakeMaster([], script)


def shared_cluster():
    """Three nodes with an instance each, which can be anywhere."""
    data = copy.deepcopy(CLUSTER)
    for i, instance in enumerate(data["instances"].values()):
        instance.update(nodes=[f"n{i + 1}.x"], memory=256, disk_template="ext")
    return data


def lopsided_cluster():
    """Two nodes with two instances each, and two without: two moves at once,
    then one more each."""
    data = copy.deepcopy(CLUSTER)
    full = dict(data["nodes"]["n1.x"], free_memory=3000)
    data["nodes"] = {f"n{i}.x": dict(full, free_memory=7680 if i > 2 else 1536)
                     for i in (1, 2, 3, 4)}
    data["instances"] = {
        f"{name}{n}.x": dict(data["instances"]["a.x"], nodes=[f"n{n}.x"],
                             disk_template="ext")
        for name in "abcdef" for n in (1, 2)}
    return data


def execute(ours, **how):
    """Exit code, output and sets of hbal -X; on_query gets its number."""
    running = []
    query = how.pop("on_query", None)
    master = master_of(lists(lopsided_cluster(), "n1.x"), "success",
                       on_query=query and (lambda: query(running[0].pid)),
                       **how)
    try:
        running.append(subprocess.Popen(
            [str(ours / "hbal"), "-L", "-X"], text=True,
            env=master.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE))
        out, err = running[0].communicate(timeout=60)
    finally:
        master.close()
    sets = [a for method, a in master.requests if method == "SubmitManyJobs"]
    return running[0].returncode, out, err, len(sets)


def cut_short(ours):
    """(name, wanted, had)"""
    rc, out, err, sets = execute(ours, refused=(1,))
    yield ("of a set that is partly refused what was taken is told",
           (1, 1, True, True),
           (rc, sets, "Got job IDs 1\n" in out,
            "A job is refused: no more; jobs that were submitted run on"
            in err))
    rc, _, err, sets = execute(
        ours, on_query=lambda pid: os.kill(pid, signal.SIGTERM))
    yield ("after a termination no other set begins", (1, 1, True),
           (rc, sets, "steps are left" in err))


def squeeze(ours, data, job_status="success"):
    """Exit code, standard error, and the jobs without what all say."""
    master = master_of(lists(data, "n1.x"), job_status)
    try:
        have = master.run([str(ours / "hsqueeze"), "-L", "-X"])
    finally:
        master.close()
    sets = [args[0] for method, args in master.requests
            if method == "SubmitManyJobs"]
    said = {op.pop("comment").partition(" (")[0] for jobs in sets
            for job in jobs for op in job}
    short = [[[(op["OP_ID"], op.get("instance_name") or op.get("name") or
                op.get("node_name") or op.get("node_names"),
                op.get("command", op.get("offline")))
               for op in job] for job in jobs] for jobs in sets]
    return have.returncode, have.stderr, said, short


def squeezing(ours):
    """(name, wanted, had)"""
    rc, _, said, sets = squeeze(ours, shared_cluster())
    moves, tags, power = sets[:-3], sets[-3:-1], sets[-1:]
    yield "hsqueeze -X succeeds", (0, {"condensing by 2 nodes"}), (rc, said)
    yield ("first instances leave", {"OP_INSTANCE_MIGRATE"},
           {op[0] for jobs in moves for job in jobs for op in job})
    yield ("then nodes are tagged", [[[("OP_TAGS_SET", "n3.x", None)]],
                                     [[("OP_TAGS_SET", "n2.x", None)]]], tags)
    yield ("then marked and switched off",
           [[[("OP_NODE_SET_PARAMS", "n3.x", True),
              ("OP_NODE_SET_PARAMS", "n2.x", True),
              ("OP_OOB_COMMAND", ["n3.x", "n2.x"], "power-off")]]], power)
    rc, err, _, sets = squeeze(ours, shared_cluster(), "error")
    yield ("a job that fails ends it", (1, 1, True),
           (rc, len(sets), "Job 1 ended with status 'error'" in err))
    full = shared_cluster()
    full["nodes"]["n3.x"] = dict(full["nodes"]["n3.x"], offline=True,
                                 tags=["htools:standby:auto"])
    full["instances"]["c.x"]["nodes"] = ["n1.x"]
    full["ipolicy"]["std"] = dict(full["ipolicy"]["std"],
                                  **{"memory-size": 3900})
    rc, _, said, sets = squeeze(ours, full)
    yield ("without room nodes are switched on first",
           (0, {"expanding by 1 nodes"},
            [[("OP_NODE_SET_PARAMS", "n3.x", False),
              ("OP_OOB_COMMAND", ["n3.x"], "power-on")]]),
           (rc, said, sets[0]))


def main():
    ours = pathlib.Path(sys.argv[1])
    points = [*squeezing(ours), *cut_short(ours)]
    for name in RUNS if SHARED.is_dir() else ():
        run = json.loads((SHARED / (name + ".json")).read_text())
        points.append((name, [], differences(run, ours)))
    failed = 0
    for n, (name, want, have) in enumerate(points, 1):
        failed += want != have
        print("ok" if want == have else "not ok", n, "-", name)
        if want != have:
            print("# should be", repr(want)[:900])
            print("# and is", repr(have)[:1800])
    print(f"1..{len(points)}")
    return 1 if failed else 0


sys.exit(main())
