# SPDX-License-Identifier: BSD-2-Clause
"""Random allocator requests, each from a number, with everything that matters
to placement in them now and then.  The clusters come from the generator beside
the recorded cases, which is given as `gi`."""
import json
import random

POLICIES = [("preferred",), ("preferred", "last_resort"),
            ("preferred", "unallocable"),
            ("last_resort", "preferred", "preferred"), ("unallocable",)]
MIXES = ["drbd", "drbd", "drbd", "drbd:3,plain:1", "drbd:2,ext:1,plain:1",
         "plain", "ext", "diskless:1,sharedfile:1,rbd:1",
         "drbd:4,file:1,blockdev:1,gluster:1", "drbd:1,rbd:1"]
REQUESTS = (["allocate"] * 5 + ["multi-allocate"] * 2 + ["relocate"] * 2 +
            ["node-evacuate"] * 3 + ["change-group", "allocate-secondary"])


def policy(gi, rng):
    intervals = gi.default_minmax()
    if rng.random() < 0.2:
        intervals = [
            {"min": gi.ispec(128, 1, 1024, 1, 1, 1),
             "max": gi.ispec(rng.choice([1024, 2048, 4096]),
                             rng.choice([1, 2, 4]),
                             rng.choice([10240, 20480, 65536]),
                             rng.choice([1, 2]), 8, 2)},
            {"min": gi.ispec(2048, 2, 4096, 1, 1, 1),
             "max": gi.ispec(8192, 8, 1048576, 16, 8, 12)}]
        if rng.random() < 0.5:
            intervals.reverse()
    templates = list(gi.TEMPLATES)
    if rng.random() < 0.1:
        templates = rng.sample(templates, rng.randint(1, 8))
    return gi.ipolicy(intervals, None, templates,
                      rng.choice([4.0, 4.0, 2.0, 1.5, 8.0, 0.0]),
                      rng.choice([32.0, 32.0, 8.0, 12.5]))


def tags(rng):
    """(cluster tags, pool of instance tags, racks)"""
    cluster, pool, racks = [], [], 0
    if rng.random() < 0.25:
        cluster.append("htools:iextags:svc")
        pool = ["svc:a", "svc:b", "svcother:c", "x:y"]
    if rng.random() < 0.2:
        cluster.append("htools:nlocation:rack")
        racks = rng.choice([1, 2, 3])
    if rng.random() < 0.15:
        cluster.append("htools:desiredlocation:rack")
        pool = pool + ["rack:r0", "rack:r1"]
    if rng.random() < 0.15:
        racks = racks or 2
        cluster.append("htools:migration:rack")
        if rng.random() < 0.5:
            cluster.append("htools:allowmigration:rack:r0::rack:r1")
    return cluster, pool, racks


def cluster(gi, rng, exclusive, pool_tags):
    nodes = rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12])
    groups = min(nodes, rng.choice([1, 1, 1, 2, 2, 3]))
    cluster_tags, pool, racks = pool_tags
    cl = gi.random_cluster(
        rng, nodes, rng.choice([0, nodes, 3 * nodes, 5 * nodes, 8 * nodes]),
        groups, rng.choice(POLICIES) if groups > 1 else ("preferred",),
        mem=rng.choice([(32768,), (16384, 32768), (8192,), (32768, 65536)]),
        reserved=rng.choice([1024, 512, 0]),
        disk=rng.choice([(1048576,), (262144, 524288), (131072,)]),
        cpus=rng.choice([(8,), (4, 8), (16,), (2,)]),
        exclusive_storage=exclusive,
        total_spindles=rng.choice([0, 8, 20]) if exclusive else 0,
        offline=rng.choice([0, 0, 0, 1]) if nodes > 2 else 0,
        drained=rng.choice([0, 0, 0, 1]) if nodes > 3 else 0,
        not_vm_capable=rng.choice([0, 0, 0, 0, 1]) if nodes > 4 else 0,
        cluster_tags=cluster_tags, racks=racks, policy=policy(gi, rng),
        hypervisor=rng.choice(["xen-pvm", "xen-pvm", "kvm"]),
        missing=rng.choice([0, 0, 0, 400, 3000]),
        networks=rng.choice([(), (), (), ("net1", "net2")]),
        mix=rng.choice(MIXES), n1=rng.random() < 0.85,
        down=rng.choice([0, 0, .2]), off=rng.choice([0, 0, .1]),
        tag_pool=pool, spindles=exclusive and rng.random() < .7,
        two_disks=rng.choice([0, .2]),
        forthcoming=rng.choice([0, 0, 0, 0, .15]),
        mems=rng.choice([(512, 1024, 2048, 4096), (1024,), (256, 3000, 7000)]))
    for flag, chance in (("drained", .15), ("offline", .1)):
        if rng.random() < chance:
            name = rng.choice(list(cl.data["nodes"]))
            cl.data["nodes"][name][flag] = True
    if rng.random() < .15:
        for node in cl.data["nodes"].values():
            node["ndparams"]["spindle_count"] = rng.choice([1, 2, 3])
    return cl


def new_instance(rng, exclusive, pool):
    spec = {
        "template": rng.choice(["drbd", "drbd", "drbd", "plain", "ext",
                                "diskless", "file", "rbd", "blockdev"]),
        "mem": rng.choice([128, 512, 2048, 2048, 8192, 20000]),
        "sizes": rng.choice([(20480,), (1024,), (5000, 7000), (200000,)]),
        "vcpus": rng.choice([1, 2, 2, 4]),
        "tags": [rng.choice(pool)] if pool and rng.random() < .7 else [],
        "spindles": rng.choice([None, 1, 2]) if exclusive else None,
        "spindle_use": rng.choice([1, 1, 2, 4])}
    if rng.random() < .2:
        spec["state"] = rng.choice(["down", "offline"])
    if rng.random() < .08:
        spec["forthcoming"] = True
    return spec


def evacuation(gi, rng, data):
    mode = rng.choice(gi.EVAC_MODES)
    node = rng.choice(list(data["nodes"]))
    part = {"all": slice(0, 2), "primary-only": slice(0, 1),
            "secondary-only": slice(1, 2)}[mode]
    names = [name for name, inst in data["instances"].items()
             if node in inst["nodes"][part]]
    if rng.random() < .3:
        every = list(data["instances"])
        names = rng.sample(every, rng.randint(0, min(4, len(every))))
    return gi.req_evacuate(names, mode)


def existing_request(gi, rng, cl, kind):
    """A request about instances that exist; None if there are none."""
    instances = cl.data["instances"]
    if not instances:
        return None
    if kind == "relocate":
        name = rng.choice(list(instances))
        inst = instances[name]
        return {"type": "relocate", "name": name, "required_nodes": 1,
                "relocate_from": [inst["nodes"][-1]],
                "disk_space_total": inst["disk_space_total"]}
    if kind == "node-evacuate":
        return evacuation(gi, rng, cl.data)
    if kind == "change-group":
        some = rng.sample(list(instances), rng.randint(1, min(4, len(instances))))
        targets = rng.sample(cl.groups, rng.randint(0, len(cl.groups)))
        return gi.req_change_group(some, [rng.choice(g) for g in targets])
    plain = [name for name, inst in instances.items()
             if inst["disk_template"] == "plain"]
    return gi.req_secondary(rng.choice(plain or list(instances)))


def new_request(gi, rng, cl, spec, kind):
    group = None
    if rng.random() < .2:
        group = rng.choice([g[1] for g in cl.groups] + [cl.groups[0][0], "nope"])
    if kind == "multi-allocate":
        specs = [dict(spec, template=rng.choice([spec["template"], "plain", "drbd"]))
                 for _ in range(rng.choice([0, 1, 2, 3, 6, 10]))]
        return gi.req_multi(cl, specs, group)
    if rng.random() < .3:
        spec = dict(spec, network=rng.choice(["net1", "net2"]))
    names = list(cl.data["nodes"])
    only = None
    if rng.random() < .1:
        only = rng.sample(names, rng.randint(0, len(names)))
    return gi.req_allocate(cl, group=group, restrict=only, **spec)


def make(gi, seed):
    """(message, options)"""
    rng = random.Random(seed)
    exclusive = rng.random() < 0.12
    all_tags = tags(rng)
    cl = cluster(gi, rng, exclusive, all_tags)
    spec = new_instance(rng, exclusive, all_tags[1])
    kind = rng.choice(REQUESTS)
    request = None
    if kind not in ("allocate", "multi-allocate"):
        request = existing_request(gi, rng, cl, kind)
    if request is None:
        request = new_request(gi, rng, cl, spec, kind)
    options = [name for name, chance in (("--ignore-soft-errors", .1),
                                         ("--no-capacity-checks", .12))
               if rng.random() < chance]
    return json.dumps(cl.message(request), sort_keys=rng.random() < .9), options
