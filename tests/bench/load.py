#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""load.py SOCKET [GNT-INSTANCE]: job latency and throughput over any LUXI socket
(Ganeti's own as well), and the latency of adding an instance.

The no-op is OP_TEST_DELAY of 1e-6 s on the master; every job goes through all
its states, each durable before it is seen."""
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import FINAL, Luxi, noop  # noqa: E402

NOOP = noop()
LIMIT_S = 120


def wait(luxi, job):
    seen = None
    while True:
        seen = luxi.call("WaitForJobChange", job, ["status"], seen, None, 10)[0]
        if seen[0] in FINAL:
            return seen[0]


def milliseconds(values):
    values = sorted(values)
    return (f"p50 {statistics.median(values) * 1e3:.2f} ms, "
            f"p90 {values[int(len(values) * .9) - 1] * 1e3:.2f} ms")


def latency(luxi, n):
    submit, whole = [], []
    for _ in range(n):
        begin = time.time()
        job = luxi.call("SubmitJob", [NOOP])
        submit.append(time.time() - begin)
        assert wait(luxi, job) == "success"
        whole.append(time.time() - begin)
    print(f"no-op job, submit alone:      {milliseconds(submit)}")
    print(f"no-op job, submit to success: {milliseconds(whole)}")


def throughput(luxi, n):
    """Jobs a second, all through one SubmitManyJobs."""
    begin = time.time()
    ids = [row[1] for row in luxi.call("SubmitManyJobs", [[NOOP]] * n)]
    submitted = time.time() - begin
    while True:
        # The last ones are final last: do not load the master by looking.
        wait(luxi, ids[-1])
        rows = luxi.call("Query", "job", ["status"], [">=", "id", min(ids)])
        states = [row[0][1] for row in rows["data"]]
        if sum(s in FINAL for s in states) >= n:
            break
    seconds = time.time() - begin
    bad = sum(s != "success" for s in states)
    print(f"{n} no-op jobs: {n / seconds:.0f} jobs/s "
          f"(submitted in {submitted:.2f} s, all final in {seconds:.2f} s, "
          f"{bad} not successful)")
    return n / seconds


def dependents(luxi, n):
    """From the end of a job to the start of one that was submitted later and
    depends on it, by the master's own clock."""
    gaps = []
    for _ in range(n):
        parent = luxi.call("SubmitJob", [dict(NOOP, duration=0.05)])
        child = luxi.call("SubmitJob", [dict(NOOP, depends=[[parent, []]])])
        wait(luxi, child)
        end = luxi.call("QueryJobs", [parent], ["end_ts"])[0][0]
        start = luxi.call("QueryJobs", [child], ["start_ts"])[0][0]
        gaps.append(start[0] - end[0] + (start[1] - end[1]) / 1e6)
    print(f"end of a job to start of its dependent: {milliseconds(gaps)}")


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise SystemExit(f"no {key} of {pid}")


def waiters(path, pid, n):
    """Memory and threads of the master with n clients that wait."""
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    luxi = Luxi(path, LIMIT_S)
    job = luxi.call("SubmitJob", [dict(NOOP, duration=600)])
    while luxi.call("QueryJobs", [job], ["status"])[0][0] != "running":
        time.sleep(0.01)
    before = status(pid, "VmRSS"), status(pid, "Threads")
    request = json.dumps({"method": "WaitForJobChange", "args": [
        job, ["status"], ["running"], None, 60]}).encode() + b"\3"
    clients = []
    for _ in range(n):
        clients.append(socket.socket(socket.AF_UNIX))
        clients[-1].connect(path)
        clients[-1].sendall(request)
    luxi.call("QueryConfigValues", ["cluster_name"])  # it has read them all
    after = status(pid, "VmRSS"), status(pid, "Threads")
    print(f"{n} clients in WaitForJobChange: "
          f"{(after[0] - before[0]) / 1024:.1f} MiB and "
          f"{after[1] - before[1]} threads more")
    begin = time.time()
    luxi.call("CancelJob", job, True)
    for client in clients:
        client.settimeout(30)
        client.recv(1 << 16)
    print(f"all of them are told of a change in "
          f"{(time.time() - begin) * 1e3:.0f} ms")


def add(program, n):
    times = []
    for i in range(n):
        begin = time.time()
        subprocess.run([program, "add", "-t", "diskless", "-o", "noop", "-n",
                        "node1.example.com", "--no-name-check",
                        "--no-ip-check", "-B", "memory=16", f"bench{i}"],
                       check=True, stdout=subprocess.DEVNULL)
        times.append(time.time() - begin)
    print(f"gnt-instance add (diskless, started): {milliseconds(times)}")


# Of Ganeti 3.0.2 on the same kind of machine, in jobs a second.
RECORDED = {1: 4.3, 3: 1.35}


def main():
    path = sys.argv[1]
    if len(sys.argv) > 3 and sys.argv[2] == "--waiters":
        waiters(path, int(sys.argv[3]), 5000)
        return
    luxi = Luxi(path, LIMIT_S)
    nodes = len(luxi.call("QueryNodes", [], ["name"], False))
    latency(luxi, 50)
    dependents(luxi, 20)
    few, many = throughput(luxi, 500), throughput(luxi, 20000)
    print(f"the rate of 20,000 is {many / few:.2f} of that of 500")
    if nodes in RECORDED:
        print(f"Ganeti 3.0.2 (recorded): {RECORDED[nodes]} jobs/s, "
              f"ratio {few / RECORDED[nodes]:.0f}")
    if len(sys.argv) > 2:
        add(sys.argv[2], 10)


if __name__ == "__main__":
    main()
