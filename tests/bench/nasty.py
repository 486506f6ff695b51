#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""nasty.py SOCKET [JOBS]: the nastiest that one client can ask by each LUXI
call, with so many jobs in the queue, and for how long it delays another client
that asks for next to nothing.  The aim is 50 ms."""
import json
import multiprocessing
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import Luxi, noop  # noqa: E402

LIMIT_S = 60  # a call that takes longer is left
AIM_MS = 50
MANY = 1000000  # more is refused
MOST = 100000  # names of a query


class Call:
    """A call whose message is made beforehand."""

    def __init__(self, method, *args, name=None):
        self.name = name or method
        self.text = json.dumps({"method": method, "args": args}).encode() + \
            b"\3"


def send(path, call):
    """Seconds until the answer (or the end of our patience), its first bytes."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(LIMIT_S)
    sock.connect(path)
    begin = time.time()
    head = b""
    try:
        sock.sendall(call.text)
        while time.time() - begin < LIMIT_S:
            data = sock.recv(1 << 20)
            head = (head + data)[:100]
            if not data or data.endswith(b"\3"):
                break
    except OSError as err:
        head = str(err).encode()
    sock.close()
    return time.time() - begin, head


def ping(path, pipe):
    """Between two words from the parent: the longest time of an answer."""
    luxi = Luxi(path, LIMIT_S)
    while pipe.recv() == "begin":
        longest = 0
        pipe.send("begun")
        while not pipe.poll():
            begin = time.time()
            luxi.call("QueryConfigValues", ["cluster_name"])
            longest = max(longest, time.time() - begin)
            time.sleep(0.001)
        pipe.recv()
        pipe.send(longest)


def waiting_jobs(luxi, n):
    """n jobs that wait behind one that goes on."""
    first = luxi.call("SubmitJob", [noop(duration=3600)])
    jobs = [[noop(depends=[[first, []]])]] * n
    luxi.call("SubmitManyJobs", jobs)
    return first


def calls(first, n):
    """The nastiest of each, about jobs first to first + n."""
    last = first + n
    fields = ["id", "status", "ops", "opresult", "oplog", "summary", "reason",
              "objects", "user", "opid"]
    backtracks = ["=~", "status", "(.?){9}[yz]"]
    names = ["node1.example.com"] * MOST
    rule = [["opcode", backtracks[:1] + ["OP_ID"] + backtracks[2:]]]
    yield Call("Query", "job", ["id"], backtracks, name="Query, a regex")
    yield Call("Query", "job", ["id"], ["|"] + [
        ["=~", "status", "(?:a{1,50}b){1,50}N%d" % i] for i in range(2000)],
               name="Query, 2,000 regexes")
    yield Call("Query", "job", fields, None, name="Query, all of all jobs")
    yield Call("Query", "job", fields * 100, None, name="Query, 1,000 fields")
    yield Call("Query", "job", fields + ["archived"], ["?", "archived"],
               name="Query, archived jobs")
    yield Call("Query", "job", ["id"], ["|"] + [
        ["==", "status", "x%d" % i] for i in range(MOST)],
               name="Query, 100,000 operators")
    for what in ("node", "instance", "group", "network", "lock", "filter"):
        yield Call("Query", what, ["name", "name"], ["|"] + [
            ["==", "name", name] for name in names],
                   name=f"Query {what}, 100,000 names")
    yield Call("QueryFields", "job", ["id"] * MANY)
    yield Call("QueryFields", "instance", None, name="QueryFields, all")
    yield Call("QueryJobs", list(range(1, MOST)), ["id", "ops"])
    for what in ("Instances", "Nodes", "Groups", "Networks"):
        yield Call("Query" + what, names, ["name"], False)
    yield Call("QueryExports", names, False)
    yield Call("QueryFilters", names, ["uuid"])
    yield Call("QueryConfigValues", ["cluster_name"] * 1000)
    yield Call("QueryClusterInfo")
    yield Call("QueryTags", "cluster", "x" * MANY)
    yield Call("QueryJobWhy", last)
    yield Call("WaitForJobChange", first, ["ops"] * 50, None, None, 1)
    yield Call("WaitForJobChange", first, ["status"], names, None, 1,
               name="WaitForJobChange, long values")
    yield Call("SubmitJob", [noop(comment="x" * 4 * MANY)],
               name="SubmitJob, 4 MB")
    yield Call("SubmitJob", [noop(comment="x" * 60 * MANY)],
               name="SubmitJob, 60 MB")
    yield Call("SubmitJob", [noop()] * 1000, name="SubmitJob, 1,000 ops")
    yield Call("SubmitJobToDrainedQueue", [noop(on_nodes=names[:10000])])
    yield Call("SubmitManyJobs", [[noop(duration=3600)]] * 20000)
    yield Call("PickupJob", first)
    yield Call("PlanJobs", [[noop()]] * 20000)
    yield Call("ReplaceFilter", None, 0, rule, "PAUSE", [])
    yield Call("ReplaceFilter", None, 0, [["opcode", ["|"] + [
        ["=", "f%d" % i, "x"] for i in range(900)]]], "PAUSE", [],
               name="ReplaceFilter, 900 operators")
    yield Call("DeleteFilter", "x")
    yield Call("CancelJob", last, True)
    yield Call("ChangeJobPriority", last - 1, -20)
    yield Call("SetDrainFlag", False)
    yield Call("SetWatcherPause", None)
    yield Call("ArchiveJob", last)
    yield Call("AutoArchiveJobs", -1, 60)
    yield Call("VerifyJobHistory", True, 10)
    yield Call("ReindexJobs", True, 10)


def clean_up(luxi, first):
    for row in luxi.call("Query", "filter", ["uuid"], None)["data"]:
        luxi.call("DeleteFilter", row[0][1])
    for row in luxi.call("Query", "job", ["id"], [">=", "id", first])["data"]:
        luxi.call("CancelJob", row[0][1], True)


def main():
    path = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    here, there = multiprocessing.Pipe()
    other = multiprocessing.Process(target=ping, args=(path, there))
    other.start()
    luxi = Luxi(path, LIMIT_S)
    first = waiting_jobs(luxi, n)
    worst = 0
    here.send("begin")
    here.recv()
    time.sleep(2)
    here.send("enough")
    print(f"nothing{'':41} others wait {here.recv() * 1e3:6.1f} ms")
    for call in calls(first, n):
        if only not in call.name:
            continue
        here.send("begin")
        here.recv()
        seconds, head = send(path, call)
        here.send("enough")
        delay = here.recv() * 1e3
        worst = max(worst, delay)
        print(f"{call.name:34} {seconds * 1e3:8.0f} ms, others wait "
              f"{delay:6.1f} ms{' (!)' if delay > AIM_MS else '':4} "
              f"{head[:60].decode(errors='replace')!r}", flush=True)
    here.send("end")
    other.join()
    print(f"the longest delay: {worst:.1f} ms ({AIM_MS} ms is the aim)")
    clean_up(luxi, first)


main()
