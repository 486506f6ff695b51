#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi.py INSTANCES ADDRESS PID MASTERD-PID [PEER-ADDRESS PEER-PID]: how fast
the remote API is: small answers over kept connections, lists of everything,
jobs, and clients that follow events.  Small answers and jobs are asked for by
wrk, which is faster than the server; a figure "on one core" is what the
processor time of the server itself makes of them, as the machine is shared
with wrk and the master."""
import base64
import contextlib
import http.client
import os
import re
import selectors
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SECONDS = 5
BULK_RUNS = 5
SMALL_INSTANCES_MAX = 1000
FOLLOWERS = 1000
FOLLOWERS_PER_ADDRESS = 90
EVENT_LIMIT_S = 30
TICK = os.sysconf("SC_CLK_TCK")
AUTH = "Basic " + base64.b64encode(b"rw:secret").decode()


def cpu(pid):
    """Seconds of the processor that the process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICK


def rss(pid, what="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(what):
                return int(line.split()[1]) / 1024
    return 0.0


def context():
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def connect(address):
    host, port = address.split(":")
    return http.client.HTTPSConnection(host, int(port), context=context(),
                                       timeout=300)


def wrk(address, path, method="GET"):
    """Requests per second, and how many there were."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f'wrk.method = "{method}"\n')
        if method != "GET":
            script.write(f'wrk.headers["Authorization"] = "{AUTH}"\n')
        script.flush()
        out = subprocess.run(
            ["wrk", "-t1", "-c16", f"-d{SECONDS}s", "-s", script.name,
             f"https://{address}{path}"],
            check=True, capture_output=True, text=True).stdout
    count = re.search(r"(\d+) requests in ([\d.]+)s", out)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    if bad:
        print(f"    {bad.group(1)} of them were refused")
    return (float(re.search(r"Requests/sec: +([\d.]+)", out).group(1)),
            int(count.group(1)))


def small(name, address, pids, path, method="GET"):
    before = [cpu(pid) for pid in pids]
    rate, count = wrk(address, path, method)
    used = [cpu(pid) - old for pid, old in zip(pids, before)]
    parts = [f"{rate:.0f}/s"]
    for who, seconds in zip(("the API", "the master"), used):
        if seconds > 0:
            parts.append(f"{count / seconds:.0f}/s on one core of {who}")
    print(f"    {name}: {', '.join(parts)}")


def bulk(address, path):
    times = []
    size = 0
    for _ in range(BULK_RUNS):
        connection = connect(address)
        connection.connect()
        begin = time.monotonic()
        connection.request("GET", path)
        size = len(connection.getresponse().read())
        times.append(time.monotonic() - begin)
        connection.close()
    print(f"    {path}: best {min(times) * 1000:.0f} ms, {size / 1e6:.1f} MB")


class Follower:
    """A client that reads events."""

    def __init__(self, address, number):
        host, port = address.split(":")
        raw = socket.create_connection(
            (host, int(port)), timeout=30,
            source_address=(f"127.2.0.{1 + number // FOLLOWERS_PER_ADDRESS}", 0))
        self.sock = context().wrap_socket(raw)
        self.sock.sendall(
            b"GET /gantry/1/events?topic=job HTTP/1.1\r\nHost: x\r\n"
            b"Accept: application/x-ndjson\r\nAuthorization: " +
            AUTH.encode() + b"\r\n\r\n")
        self.sock.recv(4096)
        self.sock.setblocking(False)

    def close(self):
        self.sock.close()

    def told(self):
        """Whether an event has come."""
        try:
            return b'"index"' in self.sock.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False


def has_events(address):
    connection = connect(address)
    connection.request("GET", "/gantry/1/events?topic=job")
    status = connection.getresponse().status
    connection.close()
    return status not in (404, 501)


def peak_of_bulk(address, pid):
    """The most that the API takes while it makes a list of everything."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    connection = connect(address)
    connection.request("GET", "/2/instances?bulk=1")
    size = len(connection.getresponse().read())
    connection.close()
    return rss(pid, "VmHWM"), size


def follow(address, pid):
    if not has_events(address):
        print(f"    {FOLLOWERS} followers of events: skipped, there are no "
              "events yet")
        return
    with contextlib.ExitStack() as stack:
        poller = selectors.DefaultSelector()
        for number in range(FOLLOWERS):
            one = Follower(address, number)
            stack.callback(one.close)
            poller.register(one.sock, selectors.EVENT_READ, one)
        waiting = set(range(FOLLOWERS))
        memory = rss(pid)
        writer = connect(address)
        begin = time.monotonic()
        writer.request("PUT", "/2/tags?tag=bench&dry-run=1",
                       headers={"Authorization": AUTH})
        writer.getresponse().read()
        first = None
        seen = set()
        while len(seen) < len(waiting) and \
                time.monotonic() - begin < EVENT_LIMIT_S:
            for key, _ in poller.select(1):
                if key.data.told():
                    first = first or time.monotonic()
                    seen.add(key.data)
        took = (time.monotonic() - begin) * 1000
        print(f"    {len(seen)} of {FOLLOWERS} followers of events: the first "
              f"hears of a job after {((first or begin) - begin) * 1000:.0f} "
              f"ms, the last after {took:.0f} ms; {memory:.1f} MiB")
        peak, size = peak_of_bulk(address, pid)
        print(f"    with them and {size / 1e6:.1f} MB of all instances at "
              f"once: at most {peak:.1f} MiB")


def measure(title, address, pids, ours):
    print(f"  {title}")
    print(f"    resident: {rss(pids[0]):.1f} MiB")
    # With more, three nodes tell of thousands of instances each time.
    if int(sys.argv[1]) > SMALL_INSTANCES_MAX:
        pass
    elif shutil.which("wrk"):
        small("one instance", address, pids,
              "/2/instances/bench1.example.com")
        small("one node", address, pids, "/2/nodes/node2.example.com")
        small("the cluster", address, pids, "/2/info")
        small("jobs", address, pids, "/2/tags?tag=a&dry-run=1", "PUT")
    else:
        print("    small answers: skipped, there is no wrk")
    bulk(address, "/2/instances?bulk=1")
    bulk(address, "/2/instances")
    if ours:
        follow(address, pids[0])
    print(f"    resident at the end: {rss(pids[0]):.1f} MiB")


def main():
    address, pid, masterd = sys.argv[2:5]
    measure("gantry-rapi", address, (pid, masterd), True)
    if len(sys.argv) > 6:
        measure("ganeti-rapi of Debian", sys.argv[5], (sys.argv[6], masterd),
                False)


main()
