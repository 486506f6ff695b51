#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""load.py SOCKET [GNT-INSTANCE]: job latency and throughput over any LUXI socket
(Ganeti's own as well), and the latency of adding an instance.

The no-op is OP_TEST_DELAY of 1e-6 s on the master; every job goes through all
its states, each durable before it is seen."""
import json
import socket
import statistics
import subprocess
import sys
import time

FINAL = ("success", "error", "canceled")
NOOP = {"OP_ID": "OP_TEST_DELAY", "duration": 1e-6, "on_master": True,
        "on_nodes": [], "repeat": 0, "no_locks": True}


class Luxi:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(path)
        self.buffer = b""

    def call(self, method, *args):
        request = {"method": method, "args": args, "version": 3000000}
        self.sock.sendall(json.dumps(request).encode() + b"\3")
        while b"\3" not in self.buffer:
            data = self.sock.recv(1 << 16)
            if not data:
                raise SystemExit("the master closed the connection")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\3", 1)
        reply = json.loads(text)
        if not reply["success"]:
            raise SystemExit(reply["result"])
        return reply["result"]


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
    begin = time.time()
    ids = [row[1] for row in luxi.call("SubmitManyJobs", [[NOOP]] * n)]
    submitted = time.time() - begin
    while True:
        rows = luxi.call("Query", "job", ["status"], [">=", "id", min(ids)])
        states = [row[0][1] for row in rows["data"]]
        if sum(s in FINAL for s in states) >= n:
            break
        time.sleep(0.01)
    seconds = time.time() - begin
    bad = sum(s != "success" for s in states)
    print(f"{n} no-op jobs: {n / seconds:.0f} jobs/s "
          f"(submitted in {submitted:.2f} s, all final in {seconds:.2f} s, "
          f"{bad} not successful)")


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


def main():
    luxi = Luxi(sys.argv[1])
    latency(luxi, 50)
    for n in (200, 2000):
        throughput(luxi, n)
    if len(sys.argv) > 2:
        add(sys.argv[2], 10)


main()
