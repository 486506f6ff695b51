#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a shortcut in placement gains: two builds of the same programs on the
same inputs, in CPU seconds, the best of five runs each:

    bench_accelerators.py FOLDER OTHER-FOLDER [WORD...]

OTHER-FOLDER has the programs built without the shortcut.  Printed are the
seconds of both and the second as a multiple of the first; "differs" behind
them says that the two did not answer the same.  With words only inputs whose
name has one of them are measured.  A run of the second that takes twenty times
as long is ended and shown as "> 20".

The clusters come from fixed seeds, with 10 instances a node or as many as fit.  Their kinds:

    drbd    all instances are DRBD, nodes and sizes alike (bench_htools.py)
    mixed   a quarter of them plain
    shared  half DRBD, a quarter plain, a quarter RBD
    uneven  as shared; nodes of four sizes, instances of very many
    full    as uneven, with most of the memory in use
    stuck   as full, all plain, with too little memory left to empty a node
    torn    as full, half plain and half RBD, with just so much memory left
            that a node can be emptied
    migrate half plain and half RBD, with migration tags: three kinds of nodes,
            each of which can send to its own and to the next
    tight   as torn, with migration tags and a little less memory left
    jam     as tight, with too little memory left
    empty   nodes alike, no instances
    tags    as mixed, with locations of nodes and exclusion tags
    groups  as mixed, in four groups
    parts   all DRBD, nodes with exclusive storage"""
import json
import math
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import bench_htools as base

TIMES = 5
OURS_MOST = 600  # CPU seconds
MOST_TIMES = 20
LEAST_LIMIT = 1  # CPU seconds

SHARES = {"drbd": {"drbd": 1}, "plain": {"plain": 1}, "mixed": {"drbd": 3, "plain": 1},
          "shared": {"drbd": 2, "plain": 1, "rbd": 1},
          "loose": {"plain": 1, "rbd": 1}}
KINDS = {"empty": "drbd", "stuck": "plain", "drbd": "drbd", "mixed": "mixed", "shared": "shared",
         "uneven": "shared", "full": "shared", "tags": "mixed",
         "groups": "mixed", "parts": "drbd", "torn": "loose",
         "migrate": "loose", "tight": "loose",
         "jam": "loose"}
LITTLE_MEMORY = ("full", "stuck", "torn", "tight", "jam")
MANY_SIZES = ("uneven", *LITTLE_MEMORY)
TEMPLATES = ["drbd", "plain", "rbd"]
POLICY = dict(base.POLICY, **{"disk-templates": TEMPLATES})
# MiB of a node: so that the others can be emptied
KEPT_FREE = {"stuck": 0, "torn": 8192, "tight": 5800, "jam": 5300}
KEPT_FREE_ELSE = 12288
MIGRATION = ["htools:migration:xen", "htools:allowmigration:xen:0::xen:1",
             "htools:allowmigration:xen:1::xen:2"]
CLUSTER_TAGS = {"tags": ["htools:iextags:service", "htools:nlocation:power"],
                "migrate": MIGRATION, "tight": MIGRATION,
                "jam": MIGRATION}
# and how many
NODE_TAGS = {"tags": ("power", 8), "migrate": ("xen", 3),
             "tight": ("xen", 3), "jam": ("xen", 3)}


def sizes(rng, kind):
    if kind in MANY_SIZES:
        return rng.randrange(512, 6144, 64), rng.randrange(4096, 40960, 256)
    return rng.choice((1024, 2048, 4096)), rng.choice((10240, 20480, 40960))


def instance(rng, kind, template):
    memory, disk = sizes(rng, kind)
    both = base.META if template == "drbd" else 0
    used = 0 if template == "rbd" else disk + both
    tags = ([f"service:{rng.randrange(200)}"]
            if kind == "tags" and rng.random() < .5 else [])
    return {"memory": memory, "vcpus": rng.choice((1, 1, 2)),
            "disk_template": template, "disks": [{"size": disk,
                                                  "spindles": None}],
            "tags": tags, "disk_space_total": used, "nics": [],
            "spindle_use": 1, "admin_state": "up"}


def node_tags(kind, i):
    if kind not in NODE_TAGS:
        return []
    name, count = NODE_TAGS[kind]
    return [f"{name}:{i % count}"]


def node(rng, kind, i, group):
    factor = rng.choice((1, 1, 2, 3)) if kind in MANY_SIZES else 1
    memory = factor * (40960 if kind in LITTLE_MEMORY else base.TOTAL_MEMORY)
    spindles = 40 if kind == "parts" else 0
    return {"group": group, "offline": False, "drained": False,
            "vm_capable": True,
            "tags": node_tags(kind, i),
            "total_memory": memory, "reserved_memory": base.OWN_MEMORY,
            "free_memory": memory - base.OWN_MEMORY,
            "total_disk": base.TOTAL_DISK * factor,
            "free_disk": base.TOTAL_DISK * factor,
            "total_cpus": base.CPUS * factor, "reserved_cpus": 1,
            "total_spindles": spindles, "free_spindles": spindles,
            "ndparams": {"spindle_count": max(spindles, 1), "cpu_speed": 1.0,
                         "exclusive_storage": kind == "parts"}}


def choose(rng, kind, nodes, inst):
    """Nodes of one group with memory for it."""
    drbd = inst["disk_template"] == "drbd"
    names = list(nodes)
    for _ in range(50):
        first = rng.choice(names)
        peers = [first]
        if drbd:
            second = rng.choice(names)
            peers.append(second)
            if (second == first or
                    nodes[second]["group"] != nodes[first]["group"]):
                continue
        kept = KEPT_FREE.get(kind, KEPT_FREE_ELSE)
        if nodes[first]["free_memory"] > inst["memory"] + kept:
            return peers
    return None


def cluster(kind, count):
    rng = random.Random(f"{kind} {count}")
    groups = [f"uuid{i}" for i in range(4 if kind == "groups" else 1)]
    shares = SHARES[KINDS[kind]]
    nodes = {f"node{i:05}.example.com":
             node(rng, kind, i, groups[i % len(groups)])
             for i in range(count)}
    instances = {}
    most = 25 if kind in LITTLE_MEMORY else 0 if kind == "empty" else 10
    for i in range(most * count):
        inst = instance(rng, kind, rng.choices(*zip(*shares.items()))[0])
        where = choose(rng, kind, nodes, inst)
        if where is None:
            continue
        nodes[where[0]]["free_memory"] -= inst["memory"]
        for name in where:
            nodes[name]["free_disk"] -= inst["disk_space_total"]
            if kind == "parts":
                nodes[name]["free_spindles"] -= 1
                inst["disks"][0]["spindles"] = 1
        instances[f"inst{i:06}.example.com"] = dict(inst, nodes=where)
    return {"version": 2, "cluster_name": "c.example.com",
            "cluster_tags": CLUSTER_TAGS.get(kind, []),
            "enabled_hypervisors": ["xen-pvm"], "ipolicy": POLICY,
            "nodegroups": {g: {"name": f"group{i}", "tags": [],
                               "alloc_policy": "preferred", "networks": [],
                               "ipolicy": POLICY}
                           for i, g in enumerate(groups)},
            "nodes": nodes, "instances": instances}


def as_text(data):
    policy = "|".join((base.spec_text(base.STANDARD), base.spec_text(base.SPEC)
                       + ";" + base.spec_text(base.MOST), ",".join(TEMPLATES),
                       "4.0", "32.0"))
    groups = data["nodegroups"]
    lines = [f"{g['name']}|{u}|preferred||" for u, g in groups.items()] + [""]
    for i, (name, n) in enumerate(data["nodes"].items()):
        nd = n["ndparams"]
        lines.append("|".join(map(str, (
            name, n["total_memory"], n["reserved_memory"], n["free_memory"],
            n["total_disk"], n["free_disk"], n["total_cpus"],
            "N" if i else "M", n["group"], nd["spindle_count"],
            ",".join(n["tags"]), "Y" if nd["exclusive_storage"] else "N",
            n["free_spindles"], 1))))
    lines.append("")
    for name, i in data["instances"].items():
        lines.append("|".join(map(str, (
            name, i["memory"], i["disk_space_total"], i["vcpus"], "running",
            "Y", i["nodes"][0], (i["nodes"] + [""])[1], i["disk_template"],
            ",".join(i["tags"]), 1,
            "-" if i["disks"][0]["spindles"] is None else 1))))
    return "\n".join(lines + [""] + data["cluster_tags"] + ["", "|" + policy]
                     + [f"{g['name']}|{policy}" for g in groups.values()]
                     ) + "\n"


def request(data, what):
    """A new instance, a hundred of them, a node to be emptied."""
    word, _, template = what.partition(" ")
    if word == "evacuate":
        first = next(iter(data["nodes"]))
        there = [n for n, i in data["instances"].items()
                 if first in i["nodes"]
                 and i["disk_template"] != "plain"]
        return {"type": "node-evacuate", "instances": there,
                "evac_mode": "all" if template == "drbd" else template}
    new = instance(random.Random(1), "drbd", template)
    if next(iter(data["nodes"].values()))["total_spindles"]:
        new["disks"][0]["spindles"] = 1
    new["required_nodes"] = 2 if template == "drbd" else 1
    if word == "allocate":
        return dict(new, type="allocate", name="new.example.com")
    return {"type": "multi-allocate",
            "instances": [dict(new, name=f"new{i}.example.com")
                          for i in range(100)]}


SMALL = "--tiered-alloc=65536,8192,4"
FAILURES = "--max-node-failures=1"
# kind, nodes, program, what is asked of hail or the options of the others
INPUTS = (
    ("drbd", 1000, "hail", "allocate drbd"),
    ("uneven", 400, "hail", "allocate drbd"),
    ("uneven", 400, "hail", "allocate plain"),
    ("full", 200, "hail", "allocate drbd"),
    ("full", 200, "hail", "allocate plain"),
    ("full", 60, "hail", "allocate rbd"),
    ("drbd", 200, "hail", "multi drbd"),
    ("shared", 100, "hail", "multi rbd"),
    ("full", 60, "hail", "multi plain"),
    ("migrate", 200, "hail", "allocate drbd"),
    ("migrate", 60, "hail", "multi plain"),
    ("torn", 60, "hail", "multi rbd"),
    ("tight", 60, "hail", "allocate drbd"),
    ("jam", 100, "hail", "allocate drbd"),
    ("jam", 400, "hail", "allocate drbd"),
    ("empty", 1000, "hail", "allocate plain"),
    ("empty", 200, "hail", "multi rbd"),
    ("drbd", 200, "hail", "evacuate drbd"),
    ("uneven", 200, "hail", "evacuate secondary-only"),
    ("parts", 100, "hail", "allocate drbd"),
    ("uneven", 100, "hail", "allocate drbd", FAILURES),
    ("shared", 60, "hail", "multi rbd", FAILURES),
    ("drbd", 40, "hbal"),
    ("uneven", 60, "hbal", "-l10"),
    ("tags", 40, "hbal", "-l10"),
    ("shared", 40, "hbal", "-l10", FAILURES),
    ("shared", 100, "hbal", "-l10", FAILURES),
    ("drbd", 60, "hspace", "--disk-template=drbd"),
    ("mixed", 60, "hspace", "--disk-template=drbd"),
    ("uneven", 60, "hspace", "--disk-template=drbd"),
    ("tags", 30, "hspace", "--disk-template=drbd"),
    ("drbd", 30, "hspace", "--disk-template=drbd", FAILURES),
    ("empty", 24, "hspace", "--disk-template=drbd", SMALL),
    ("empty", 40, "hspace", "--disk-template=drbd", SMALL),
    ("empty", 100, "hspace", "--disk-template=plain", SMALL),
    ("mixed", 40, "hspace", "--disk-template=plain"),
    ("mixed", 200, "hspace", "--disk-template=plain"),
    ("uneven", 12, "hspace", "--disk-template=plain"),
    ("full", 20, "hspace", "--disk-template=plain"),
    ("stuck", 100, "hspace", "--disk-template=plain"),
    ("mixed", 500, "hspace", "--disk-template=plain"),
    ("migrate", 20, "hspace", "--disk-template=plain"),
    ("torn", 20, "hspace", "--disk-template=plain"),
    ("jam", 60, "hspace", "--disk-template=plain"),
    ("groups", 12, "hspace", "--disk-template=plain", SMALL),
    ("shared", 20, "hspace", "--disk-template=rbd", SMALL),
    ("shared", 100, "hspace", "--disk-template=rbd", SMALL),
    ("uneven", 20, "hspace", "--disk-template=rbd"),
    ("uneven", 300, "hspace", "--disk-template=rbd"),
    ("migrate", 20, "hspace", "--disk-template=rbd"),
    ("uneven", 12, "hspace", "--disk-template=rbd", FAILURES),
    ("uneven", 20, "hspace", "--disk-template=rbd", FAILURES),
    ("shared", 10, "hspace", "--disk-template=rbd", SMALL, FAILURES),
    ("uneven", 400, "hcheck", "--no-simulation"),
    ("full", 200, "hcheck", "--no-simulation"),
    ("torn", 400, "hcheck", "--no-simulation"),
    ("migrate", 400, "hcheck", "--no-simulation"),
)


def name_of(item):
    return " ".join(str(x) for x in (*item[2:], item[0], item[1]))


def argv_of(item, folder):
    """The arguments behind the program; its input is written into folder."""
    kind, count, program, *more = item
    path = folder / f"{name_of(item).replace('/', '_')}"
    data = cluster(kind, count)
    if program == "hail":
        path.write_text(json.dumps(dict(data, request=request(data, more[0]))))
        return [*more[1:], str(path)]
    path.write_text(as_text(data))
    return [*more, "-t", str(path)]


def cpu_seconds():
    """Of all children so far.  User and system time together: apart, they are
    only as exact as the kernel's ticks, and many runs take few of these."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(argv, limit):
    """CPU seconds and the output, or None where the limit ended it."""
    before = cpu_seconds()
    r = subprocess.run(argv, check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, preexec_fn=lambda:
                       resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    return cpu_seconds() - before, r.stdout if r.returncode >= 0 else None


def compare(ours, other, times=TIMES):
    """The least seconds of both and what they print; the output of one that
    reaches its limit is None.  They run in turns: how busy the machine is
    changes the CPU time as well."""
    have, answer = run(ours, OURS_MOST)
    want, same = run(other, limit_for(have))
    for _ in range(times - 1):
        have = min(have, run(ours, OURS_MOST)[0])
        if same is not None:
            want = min(want, run(other, limit_for(want))[0])
    return have, answer, want, same


def limit_for(seconds):
    return math.ceil(max(LEAST_LIMIT, MOST_TIMES * seconds))


def show(item, have, answer, want, same):
    ratio = max(want, .001) / max(have, .001)
    text = f"{ratio:7.2f}" if same is not None else f"> {ratio:5.0f}"
    print(f"{name_of(item):62} {have:7.3f} {want:7.3f} {text}"
          f"{'' if same in (None, answer) else '  differs'}", flush=True)


def main():
    ours, other = (pathlib.Path(p) for p in sys.argv[1:3])
    words = sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        for item in INPUTS:
            if not words or any(w in name_of(item) for w in words):
                args = argv_of(item, pathlib.Path(folder))
                show(item, *compare([ours / item[2], *args],
                                    [other / item[2], *args]))


if __name__ == "__main__":
    main()
