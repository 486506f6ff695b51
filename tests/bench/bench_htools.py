#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Placement and planning against Debian's ganeti, in user CPU seconds of one
run each:

    bench_htools.py FOLDER-OF-PROGRAMS [LIMIT-SECONDS [NODES...]]

The clusters are made here from a fixed seed: 10 instances a node, all DRBD or
a quarter of them plain.  A run of the reference that reaches the limit is shown
as "> LIMIT", its ratio as a lower bound.  The biggest clusters are only for
placement, and not for the reference: it needs gigabytes for them."""
import json
import math
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

REFERENCE = pathlib.Path("/usr/lib/ganeti/3.0/usr/bin")
REFERENCE_HAIL = pathlib.Path("/usr/lib/ganeti/iallocators/hail")
SPEC = {"memory-size": 128, "cpu-count": 1, "disk-size": 1024,
        "disk-count": 1, "nic-count": 1, "spindle-use": 1}
MOST = {"memory-size": 65536, "cpu-count": 8, "disk-size": 1048576,
        "disk-count": 16, "nic-count": 8, "spindle-use": 12}
STANDARD = dict(SPEC, **{"memory-size": 8192, "cpu-count": 4,
                         "disk-size": 65536})
POLICY = {"minmax": [{"min": SPEC, "max": MOST}], "std": STANDARD,
          "disk-templates": ["drbd", "plain"], "vcpu-ratio": 4.0,
          "spindle-ratio": 32.0}
TOTAL_MEMORY, OWN_MEMORY, TOTAL_DISK, CPUS = 131072, 1024, 4194304, 32
META = 128
ALL_KINDS_MOST = 1000  # nodes
REFERENCE_MOST = 500


def instance(rng, template, nodes):
    size = rng.choice((10240, 20480, 40960))
    both = META if template == "drbd" else 0
    return {"memory": rng.choice((1024, 2048, 4096)),
            "vcpus": rng.choice((1, 1, 2)), "disk_template": template,
            "disks": [{"size": size, "spindles": None}], "tags": [],
            "disk_space_total": size + both, "nics": [], "spindle_use": 1,
            "admin_state": "up", "nodes": nodes}


def cluster(count, plain):
    rng = random.Random(count)
    names = [f"node{i:05}.example.com" for i in range(count)]
    free = {n: [TOTAL_MEMORY - OWN_MEMORY, TOTAL_DISK] for n in names}
    instances = {}
    for i in range(10 * count):
        template = "plain" if plain and rng.random() < .25 else "drbd"
        where = rng.sample(names, 2 if template == "drbd" else 1)
        inst = instance(rng, template, where)
        free[where[0]][0] -= inst["memory"]
        for name in where:
            free[name][1] -= inst["disk_space_total"]
        instances[f"inst{i:06}.example.com"] = inst
    nodes = {n: {"group": "uuid", "offline": False, "drained": False,
                 "vm_capable": True, "tags": [],
                 "total_memory": TOTAL_MEMORY, "reserved_memory": OWN_MEMORY,
                 "free_memory": free[n][0], "total_disk": TOTAL_DISK,
                 "free_disk": free[n][1], "total_cpus": CPUS,
                 "reserved_cpus": 1, "total_spindles": 0, "free_spindles": 0,
                 "ndparams": {"spindle_count": 1, "exclusive_storage": False,
                              "cpu_speed": 1.0}} for n in names}
    return {"version": 2, "cluster_name": "c.example.com", "cluster_tags": [],
            "enabled_hypervisors": ["xen-pvm"], "ipolicy": POLICY,
            "nodegroups": {"uuid": {"name": "default", "tags": [],
                                    "alloc_policy": "preferred",
                                    "networks": [], "ipolicy": POLICY}},
            "nodes": nodes, "instances": instances}


def spec_text(spec):
    return ",".join(str(spec[k]) for k in (
        "memory-size", "cpu-count", "disk-size", "disk-count", "nic-count",
        "spindle-use"))


def as_text(data):
    policy = "|".join((spec_text(STANDARD), spec_text(SPEC) + ";" +
                       spec_text(MOST), "drbd,plain", "4.0", "32.0"))
    lines = ["default|uuid|preferred||", ""]
    for i, (name, n) in enumerate(data["nodes"].items()):
        lines.append("|".join(map(str, (
            name, n["total_memory"], n["reserved_memory"], n["free_memory"],
            n["total_disk"], n["free_disk"], n["total_cpus"],
            "N" if i else "M", "uuid", 1, "", "N", 0, 1))))
    lines.append("")
    for name, i in data["instances"].items():
        lines.append("|".join(map(str, (
            name, i["memory"], i["disk_space_total"], i["vcpus"], "running",
            "Y", i["nodes"][0], (i["nodes"] + [""])[1], i["disk_template"],
            "", 1, "-"))))
    return "\n".join(lines + ["", "", "|" + policy, "default|" + policy]) + "\n"


def requests(data):
    new = dict(instance(random.Random(1), "drbd", []), required_nodes=2)
    del new["nodes"]
    node = next(iter(data["nodes"]))
    there = [n for n, i in data["instances"].items() if node in i["nodes"]]
    yield "allocate", dict(new, type="allocate", name="new.example.com")
    yield "multi-allocate 100", {
        "type": "multi-allocate",
        "instances": [dict(new, name=f"new{i}.example.com")
                      for i in range(100)]}
    yield "node-evacuate all", {"type": "node-evacuate", "instances": there,
                                "evac_mode": "all"}


def seconds(argv, limit):
    """User CPU seconds, and whether it came to its end: on a busy machine, too,
    it may use so many."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    most = (math.ceil(limit), math.ceil(limit))
    try:
        r = subprocess.run([str(a) for a in argv], timeout=10 * limit,
                           check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL,
                           env={"LANG": "C.UTF-8"}, preexec_fn=lambda:
                           resource.setrlimit(resource.RLIMIT_CPU, most))
        ended = r.returncode >= 0
    except subprocess.TimeoutExpired:
        ended = False
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before,
            ended)


def measure(name, ours, theirs, options, limit):
    """theirs: None when it is not to be run."""
    have, done = seconds([ours, *options], 10 * limit)
    line = f"{name:44} {'' if done else '> '}{have:8.2f}"
    if theirs and theirs.exists():
        want, ended = seconds([theirs, *options], limit)
        more = "" if ended else "> "
        line += f" {more:>2}{want:8.2f}  {more}{want / max(have, .005):.0f} x"
    print(line, flush=True)


def main():
    ours = pathlib.Path(sys.argv[1])
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    counts = [int(n) for n in sys.argv[3:]] or [20, 100, 500, 1000, 5000]
    print(f"{'':44} {'ours':>8}   {'reference':>8}  ratio")
    with tempfile.TemporaryDirectory() as folder:
        request = pathlib.Path(folder) / "request.json"
        text = pathlib.Path(folder) / "cluster"
        for count in counts:
            for plain in (False, True):
                data = cluster(count, plain)
                title = f"{count} nodes, {'mixed' if plain else 'drbd'}"
                small = count <= REFERENCE_MOST
                for kind, what in requests(data):
                    if count > ALL_KINDS_MOST and kind != "allocate":
                        continue
                    request.write_text(json.dumps(dict(data, request=what)))
                    measure(f"hail {kind}, {title}", ours / "hail",
                            REFERENCE_HAIL if small else None, [request],
                            limit)
                if count > ALL_KINDS_MOST:
                    continue
                text.write_text(as_text(data))
                for program, *options in (("hbal",), ("hspace",
                                          "--disk-template=drbd")):
                    measure(f"{program}, {title}", ours / program,
                            REFERENCE / program if small else None,
                            [*options, "-t", text], limit)


if __name__ == "__main__":
    main()
