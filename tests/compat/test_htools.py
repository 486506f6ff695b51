#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The planning programs on text files (TAP): the recorded cases where they lie
beside the checkout, and random clusters against Debian's programs where those
are installed.

    test_htools.py FOLDER-OF-OUR-PROGRAMS [FIRST-SEED COUNT]

A case is NAME.cmd (a JSON list) with NAME.out, NAME.err and NAME.rc."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "htools"
REFERENCE = pathlib.Path("/usr/lib/ganeti/3.0/usr/bin")
ENVIRON = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
SEEDS = 120
PROGRAMS = ("hbal", "hcheck", "hinfo", "hroller", "hspace", "hsqueeze")
# The reference counts instances twice, see doc/KNOWN_DELTAS.md; the text about
# the missing file is another.
KNOWN = ("hbal-ialloc-source", "hinfo-ialloc-source",
         "hspace-ialloc-source-kvm", "hspace-missing-file", "hail-bad-option",
         "hail-missing-file", "hail-version")
HBAL_FLAGS = ["--no-disk-moves", "--no-instance-moves", "--ignore-soft-errors",
              "-E", "--restricted-migration", "--ignore-dynu"]

NODE_FIELDS = ("+fqdn,idx,plist,slist,ptags,amem,hi_spindles,"
               "inst_spindles")

HROLLER_FLAGS = ["--offline-maintenance", "--skip-non-redundant",
                 "--ignore-non-redundant", "--one-step-only", "--print-moves",
                 "--no-headers", "--force", "-v"]

# An instance that moves to twice the same node.
ON_ONE_NODE = re.compile(r"^  (\S+) (\S+) \2$", re.M)

HSPACE_FLAGS = ["--independent-groups", "--accept-existing-errors",
                "--no-capacity-checks", "-v", "-vv", "--spindle-use=2",
                "--max-cpu=3", "--min-disk=0.1",
                "--standard-alloc=20g,2g,2", "--tiered-alloc=50g,8g,4,2"]

sys.path.insert(0, str(HERE))
import hail_random  # noqa: E402


def run(argv):
    try:
        r = subprocess.run(argv, env=ENVIRON, capture_output=True, timeout=60,
                           check=False)
    except subprocess.TimeoutExpired:
        return "timeout", "", ""
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def scripts(tap, ours, path, groups):
    """hbal -C FILE writes what the reference writes."""
    written = []
    for program in (REFERENCE / "hbal", ours / "hbal"):
        script = path.with_name("script")
        outcome = run([str(program), "-l9", "-G", groups[0][1], f"-C{script}",
                       "-t", str(path)])
        written.append((*outcome, optional(script)))
        script.unlink(missing_ok=True)
    tap.compare("hbal -C into a file", *written)


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def compare(self, name, want, have):
        ok = want == have
        self.n += 1
        self.failed += not ok
        print("ok" if ok else "not ok", self.n, "-", name)
        for part, a, b in zip(("exit code", "stdout", "stderr", "saved"), want,
                                  have):
            if a != b:
                print(f"# {part} should be:", repr(a)[:300])
                print("# and is:", repr(b)[:300])

    def skip(self, name, why):
        self.n += 1
        print("ok", self.n, "-", name, "# SKIP", why)


def optional(path):
    return path.read_text() if path.exists() else ""


def states(program, paths):
    """What -S wrote.  The reference has hail's new instance first, we last."""
    saved = {p.suffix: p.read_text() for p in paths}
    if program == "hail":
        saved = {k: sorted(v.split("\n")) for k, v in saved.items()}
    return saved


def cases(tap, ours, folder):
    for path in sorted(folder.glob("*.cmd")):
        name = path.name[:-len(".cmd")]
        argv = json.loads(path.read_text())
        base = folder / name
        if argv[0] not in (*PROGRAMS, "hail"):
            continue
        if name in KNOWN:
            tap.skip(name, "differs on purpose")
            continue
        names = {"@DATA@": f"{base}.data", "@AUX@": f"{base}.aux"}
        with tempfile.TemporaryDirectory() as save:
            names["@SAVE@"] = save + "/state"
            for short, full in names.items():
                argv = [a.replace(short, full) for a in argv]
            rc, out, err = run([str(ours / argv[0]), *argv[1:]])
            err = err.replace(names["@SAVE@"], "@SAVE@")
            saved = states(argv[0], pathlib.Path(save).glob("state.*"))
        want = (int(optional(folder / (name + ".rc"))),
                optional(folder / (name + ".out")),
                optional(folder / (name + ".err")),
                states(argv[0], folder.glob(name + ".save.*")))
        tap.compare(name, want, (rc, out, err, saved))


def random_options(rng, program, data, groups):
    options = []
    if program == "hbal":
        options = ["-C", "-l", str(rng.choice([3, 6, 30])), "-G",
                   rng.choice(groups)[1]]
        options += [o for o in HBAL_FLAGS if rng.random() < .08]
        options += ["-p" + rng.choice(["", "name,umem,nope", NODE_FIELDS])] * (
            rng.random() < .3)
        options += ["--print-instances"] * (rng.random() < .3)
    elif program == "hcheck":
        options = ["-l", "5"]
        options += ["--machine-readable"] * (rng.random() < .5)
        options += ["--no-simulation"] * (rng.random() < .1)
    elif program == "hroller":
        options = [o for o in HROLLER_FLAGS if rng.random() < .2]
        if rng.random() < .3:
            options += ["-G", rng.choice(groups)[rng.randint(0, 1)]]
        elif rng.random() < .4:
            options += ["--full-evacuation", "--force"]
    elif program == "hspace":
        options = ["-l", str(rng.choice([4, 12, 40])), "--disk-template",
                   rng.choice(["drbd", "plain", "ext", "file"])]
        options += [o for o in HSPACE_FLAGS if rng.random() < .15]
        options += ["--machine-readable"] * (rng.random() < .7)
    else:
        options = ["-v"] * rng.randint(0, 3)
    if rng.random() < .1 and program != "hsqueeze":
        options += ["-O", rng.choice(list(data["nodes"])).split(".")[0]]
    return options


def same_options(tap, ours):
    """Each option of the reference is there, with its letter and value."""
    for program in PROGRAMS:
        want, have = (set(run([str(folder / program), "--help-completion"])[1]
                          .splitlines()) for folder in (REFERENCE, ours))
        tap.compare(f"options of {program}", (sorted(want - have),), ([],))
        shown = run([str(ours / program), "--help"])[1]
        lacking = [line for line in sorted(have)
                   if line.split()[0].split(",")[-1] not in shown]
        tap.compare(f"{program} --help shows them", ([],), (lacking,))
    for program, argv in (("hinfo", ["--exec"]), ("hbal", ["-l", "x"]),
                          ("hbal", ["--priority=x"]), ("hbal", ["-g"]),
                          ("hspace", ["--disk-template=x"]),
                          ("hspace", ["--spindle-use=-1"]),
                          ("hbal", ["--max-cpu=0"]), ("hbal", ["--mond=x"]),
                          ("hcheck", ["argument"])):
        codes = [run([str(folder / program), *argv])[0]
                 for folder in (REFERENCE, ours)]
        tap.compare(f"exit code of {program} {' '.join(argv)}", codes[:1],
                    codes[1:])


def space_as_json(tap, ours):
    """hspace's two forms for programs say the same."""
    for more in ([], ["--disk-template=plain", "--tiered-alloc=8g,2g,2"]):
        argv = [str(ours / "hspace"), "--simulate=p,4,400g,24g,8",
                "--simulate=p,2,200g,16g,4", *more]
        lines = run([*argv, "--machine-readable"])[1].splitlines()
        flat = {key: value.strip("'") for key, value in
                (line.split("=", 1) for line in lines)}
        code, text, _ = run([*argv, "--format=json"])
        got = json.loads(text)
        tiered, standard = got["tiered"], got["standard"]
        sizes = " ".join("{memory},{disk},{vcpus},{spindles}={count}"
                         .format(**size) for size in tiered["sizes"])
        fails = {"HTS_ALLOC_%s_CNT" % f["reason"].upper(): str(f["count"])
                 for f in standard["failures"]}
        ours_flat = {
            "HTS_CLUSTER_NODES": str(got["cluster"]["nodes"]),
            "HTS_CLUSTER_VCPU": str(got["cluster"]["vcpus"]),
            "HTS_INI_MEM_AVAIL":
                str(got["initial"]["memory"]["available"]),
            "HTS_TSPEC_INI_DSK": str(tiered["spec"]["disk"]),
            "HTS_TSPEC_INI_DISK_TEMPLATE": tiered["spec"]["disk_template"],
            "HTS_TSPEC": sizes,
            "HTS_TRL_MNODE_DSK_AVAIL":
                str(tiered["final"]["disk"]["largest_on_a_node"]),
            "HTS_TRL_SCORE": "%.8f" % tiered["final"]["score"],
            "HTS_KM_POOL_MEM": str(tiered["usage"]["pool"]["memory"]),
            "HTS_KM_UNAV_CPU": str(tiered["usage"]["unavailable"]["cpus"]),
            "HTS_SPEC_RQN": str(standard["spec"]["nodes"]),
            "HTS_ALLOC_INSTANCES": str(standard["instances"]),
            "HTS_FIN_CPU_EFF":
                "%.8f" % standard["final"]["vcpus"]["efficiency"],
            **fails}
        wanted = {key: flat.get(key) for key in ours_flat}
        tap.compare(f"hspace --format=json {' '.join(more)}",
                    (0, wanted), (code, ours_flat))
    tap.compare("a format that is none", (1, ""),
                run([str(ours / "hspace"), "--format=xml"])[:2])


def descriptions(tap, ours):
    """Clusters and sizes on the command line, also those that are none."""
    rest = ["-l1", "--disk-template=plain", "--machine-readable"]
    for spec in ("l,1,1g,1g,1", "p,x,1g,1g,1", "p,1x,1g,1g,1", "p,0x2,1g,1g,1",
                 "p,1,1q,1g,1", "p,1, 1g,1g,1", "p,1,1.5g,1g,1", "p,1,1g,z,1",
                 "p,1,1g,1g,1,1,x", "p,1,1g,1g", "p,1 ,1g,1g,1", ""):
        argv = [f"--simulate={spec}", *rest]
        tap.compare(f"hspace --simulate={spec}",
                    *(run([str(folder / "hspace"), *argv])
                      for folder in (REFERENCE, ours)))
    for size in ("1g,1q,1", "1g,1g,1,x", "1,2,3,4,5", "1g,1g,1x", "1.5g,1,1"):
        argv = ["--simulate=p,1,9g,9g,1", f"--tiered-alloc={size}", *rest]
        tap.compare(f"hspace --tiered-alloc={size}",
                    *(run([str(folder / "hspace"), *argv])
                      for folder in (REFERENCE, ours)))
    argv = ["--simulate=p,2,400g,24g,8", "--simulate=a,1,100g,8g,2", "-p",
            *rest]
    tap.compare("the last group described is the first",
                *(run([str(folder / "hspace"), *argv])
                  for folder in (REFERENCE, ours)))


def mond_data(rng, path, data):
    """Reports of monitoring daemons; sometimes a node has none."""
    every = {n: rng.choice([0.0, 0.25, 1.5, 3.0]) for n in data["nodes"]}
    path.write_text(json.dumps([
        {"node": node, "reports": [] if rng.random() < .02 else [
            {"name": "cpu-avg-load", "version": "B", "format_version": 1,
             "timestamp": 1, "category": None, "kind": 0,
             "data": {"cpu_number": 1, "cpus": [load], "cpu_total": load}},
            {"name": "xen-cpu-avg-load", "version": "B", "format_version": 1,
             "timestamp": 1, "category": None, "kind": 0,
             "data": {i: load / 3 for i in data["instances"]}}]}
        for node, load in every.items()]))
    return ["--mond=yes", f"--mond-data={path}"]


def differential(tap, ours, first, count, programs):
    sys.path.insert(0, str(SHARED))
    import gen_iallocator as gi  # pylint: disable=import-outside-toplevel
    import gen_text as gt  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data"
        for seed in range(first, first + count):
            rng = random.Random(seed)
            cl = hail_random.cluster(gi, rng, rng.random() < .1,
                                     hail_random.tags(rng))
            fixed = [n for n in cl.data["instances"] if rng.random() < .05]
            speeds = {n: rng.choice([1.0, 1.5, .7]) for n in cl.data["nodes"]}
            path.write_text(gt.text(
                cl, no_auto=fixed, speeds=speeds if rng.random() < .2 else {},
                short=rng.random() < .1, policies=rng.random() < .9))
            if seed % 5 == 0:
                scripts(tap, ours, path, cl.groups)
            for program in programs:
                options = random_options(rng, program, cl.data, cl.groups)
                name = f"{program} {' '.join(options)}, cluster {seed}"
                argv = [*options, "-t", str(path)]
                if program in ("hbal", "hinfo") and rng.random() < .15:
                    name += ", with load"
                    argv += mond_data(rng, path.with_name("mond"), cl.data)
                    argv += ["--mond-xen"] * (program == "hbal" and
                                              rng.random() < .3)
                want = run([str(REFERENCE / program), *argv])
                if ON_ONE_NODE.search(want[1]):
                    tap.skip(name, "the reference mixes up nodes")
                    continue
                tap.compare(name, want, run([str(ours / program), *argv]))


def main():
    ours = pathlib.Path(sys.argv[1])
    # hspace takes too long for every day: minutes where much fits.
    if len(sys.argv) > 3:
        first, count, programs = *map(int, sys.argv[2:4]), PROGRAMS
    else:
        first, count, programs = 1, SEEDS, [p for p in PROGRAMS if p != "hspace"]
    tap = Tap()
    if (SHARED / "open" / "text").is_dir():
        cases(tap, ours, SHARED / "open" / "text")
    else:
        tap.skip("recorded cases", "they are not there")
    space_as_json(tap, ours)
    if os.access(REFERENCE / "hbal", os.X_OK):
        same_options(tap, ours)
        descriptions(tap, ours)
    if os.access(REFERENCE / "hbal", os.X_OK) and SHARED.is_dir():
        differential(tap, ours, first, count, programs)
    else:
        tap.skip("random clusters", "no programs to compare with")
    print(f"1..{tap.n}")
    return 1 if tap.failed else 0


sys.exit(main())
