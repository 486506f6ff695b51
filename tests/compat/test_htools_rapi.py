#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The planning programs on a RAPI server (TAP): what they ask, what they make
of bad answers, and random clusters against Debian's programs where those are
installed.

    test_htools_rapi.py FOLDER-OF-OUR-PROGRAMS [FIRST-SEED COUNT]
"""
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "htools"
REFERENCE = pathlib.Path("/usr/lib/ganeti/3.0/usr/bin")
PROGRAMS = ("hbal", "hcheck", "hinfo", "hroller", "hspace")
OPTIONS = {"hbal": ["-l9", "-C", "-p"], "hcheck": ["--no-simulation"],
           "hinfo": ["-v"], "hroller": ["--print-moves"],
           "hspace": ["-l5", "--machine-readable", "--disk-template=drbd"]}
SEEDS = 6
ASKED = ["/2/groups?bulk=1", "/2/nodes?bulk=1", "/2/instances?bulk=1",
         "/2/info"]
GROUPS, NODES, INSTANCES, INFO = ASKED

sys.path.insert(0, str(HERE))
from fake_rapi import CLUSTER, FakeRapi, lists  # noqa: E402
import hail_random  # noqa: E402


def run(folder, program, url, *options):
    r = subprocess.run(
        [str(folder / program), "-m", url, *options], timeout=60, check=False,
        capture_output=True, text=True,
        env={"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "no_proxy": "*"})
    return r.returncode, r.stdout, r.stderr


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def point(self, name, ok, *details):
        self.n += 1
        self.failed += not ok
        print("ok" if ok else "not ok", self.n, "-", name)
        for line in details if not ok else ():
            print("#", repr(line)[:900])


def changed(path, index, **members):
    """The answers of the small cluster, one of its objects changed."""
    answers = lists(CLUSTER, "n1.x")
    answer = answers[path]
    target = answer if index is None else answer[index]
    target.update((k.replace("_DOT_", "."), v) for k, v in members.items())
    return answers


# A change, and what the message must name.
WRONG = [
    ("a list that is none", {GROUPS: {}}, ["group"]),
    ("no JSON", {NODES: (200, "<html>")}, ["/2/nodes?bulk=1"]),
    ("an empty answer", {INFO: (200, "")}, ["/2/info"]),
    ("status 404", {INSTANCES: (404, '{"code": 404}')},
     ["/2/instances?bulk=1", "404"]),
    ("status 401", {GROUPS: (401, '{"code": 401}')}, ["401", "PASSWORD@"]),
    ("an unknown master", changed(INFO, None, master="other"), ["other"]),
    ("a node without memory", changed(NODES, 1, mtotal=None),
     ["n2.x", "mtotal"]),
    ("a node without a group", changed(NODES, 1, group_DOT_uuid=None),
     ["n2.x", "group.uuid"]),
    ("a node of an unknown group", changed(NODES, 1, group_DOT_uuid="zz"),
     ["n2.x", "zz"]),
    ("tags that are no list", changed(NODES, 2, tags="a"), ["n3.x", "tags"]),
    ("an instance on an unknown node", changed(INSTANCES, 1, pnode="zz"),
     ["b.x", "zz"]),
    ("an instance without a status", changed(INSTANCES, 2, status=None),
     ["c.x", "status"]),
    ("disks that are no list", changed(INSTANCES, 0, disk_DOT_sizes=None),
     ["a.x", "disk.sizes"]),
    ("a group without a policy", changed(GROUPS, 0, ipolicy=3),
     ["g", "ipolicy"]),
]


def check_requests(tap, ours):
    rapi = FakeRapi(lists(CLUSTER, "n1.x"))
    try:
        for program in PROGRAMS:
            rapi.asked.clear()
            outcome = run(ours, program, rapi.url, *OPTIONS[program])
            tap.point(f"{program} -m asks four times",
                      outcome[0] in (0, 1) and "Error" not in outcome[2] and
                      rapi.asked == [(path, None) for path in ASKED],
                      outcome, rapi.asked)
        rapi.asked.clear()
        run(ours, "hinfo", rapi.url.replace("//", "//me:secret@"))
        tap.point("name and password of the URL are used",
                  rapi.asked[0] == (GROUPS, "Basic bWU6c2VjcmV0"), rapi.asked)
        slow = run(ours, "hinfo", rapi.url)
        rapi.answers[NODES][0]["ndparams"] = dict(
            rapi.answers[NODES][0]["ndparams"], cpu_speed=4.0)
        tap.point("a node's cpu_speed counts",
                  slow != run(ours, "hinfo", rapi.url), slow)
        rapi.answers[GROUPS] = (403, "{}")
        rc, _, err = run(ours, "hinfo", rapi.url.replace("//", "//me:secret@"))
        tap.point("and not shown", rc == 1 and "secret" not in err, err)
    finally:
        rapi.close()


def check_errors(tap, ours):
    rapi = FakeRapi({})
    try:
        for name, answers, words in WRONG:
            rapi.answers = {**lists(CLUSTER, "n1.x"), **answers}
            rc, out, err = run(ours, "hbal", rapi.url)
            tap.point(name, rc == 1 and all(w in err for w in words) and
                      "failed to load data, aborting" in err, rc, out, err)
    finally:
        rapi.close()
    rc, _, err = run(ours, "hbal", rapi.url)
    tap.point("nobody listens", rc == 1 and rapi.url in err, err)
    rc, _, err = run(ours, "hbal", rapi.url, "-L")
    tap.point("not with -L, too", rc == 1 and "Only one of" in err, err)
    rc, _, err = run(ours, "hsqueeze", rapi.url)
    tap.point("hsqueeze has no -m", rc == 2, err)


def differential(tap, ours, first, count):
    sys.path.insert(0, str(SHARED))
    import gen_iallocator as gi  # pylint: disable=import-outside-toplevel

    rapi = FakeRapi({})
    try:
        for seed in range(first, first + count):
            rng = random.Random(seed)
            cl = hail_random.cluster(gi, rng, rng.random() < .2,
                                     hail_random.tags(rng))
            rapi.answers = lists(cl.data, rng.choice(list(cl.data["nodes"])))
            for program in PROGRAMS:
                if program == "hspace" and seed % 4:
                    continue  # Debian's takes seconds
                options = list(OPTIONS[program])
                if program in ("hbal", "hroller"):
                    options += ["-G", rng.choice(cl.groups)[1]]
                want = run(REFERENCE, program, rapi.url, *options)
                have = run(ours, program, rapi.url, *options)
                tap.point(f"{program} {' '.join(options)}, cluster {seed}",
                          want == have, want, have)
    finally:
        rapi.close()


def main():
    ours = pathlib.Path(sys.argv[1])
    first, count = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (1, SEEDS)
    if shutil.which("openssl") is None:
        print("1..0 # SKIP openssl makes the certificate")
        return 0
    tap = Tap()
    check_requests(tap, ours)
    check_errors(tap, ours)
    if (REFERENCE / "hbal").exists() and SHARED.is_dir():
        differential(tap, ours, first, count)
    else:
        print("# no programs to compare with")
    print(f"1..{tap.n}")
    return 1 if tap.failed else 0


sys.exit(main())
