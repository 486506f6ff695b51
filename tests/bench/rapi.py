#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi.py INSTANCES ADDRESS PID MASTERD-PID SOCKET [PEER-ADDRESS PEER-PID]: how
fast the remote API is: small answers over kept connections, lists of everything,
jobs, and clients that follow events; SOCKET is the master's.  Small answers and
jobs are asked for by wrk, which is faster than the server; a figure "on one core"
is what the processor time of the server itself makes of them, as the machine is
shared with wrk and the master.

Followers read nothing while they are told: when an event came is what the kernel
has noted of it, so that a thousand clients do not take the processor from the
server.  It counts from the moment at which the master has answered that the job
is durable."""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import Luxi, noop  # noqa: E402

SECONDS = 5
BULK_RUNS = 5
SMALL_INSTANCES_MAX = 1000
FOLLOWERS = 1000
FOLLOWERS_PER_ADDRESS = 90
EVENT_LIMIT_S = 30
# The API gives memory back every 5 s.
SETTLE_S = 7
EVENT_ROUNDS = 10
# SO_TIMESTAMPNS, which Python has no name for.
TIMESTAMPS = 35
# Jobs are submitted by so many clients at once, which wait for the disks.
WRITERS = 64
# Takes any certificate.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE
TICK = os.sysconf("SC_CLK_TCK")
AUTH = "Basic " + base64.b64encode(b"rw:secret").decode()


def cpu(pid):
    """Seconds of the processor that the process has used, and its children that
    have ended: Debian's makes one for each connection."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / TICK


def rss(pid, what="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(what):
                return int(line.split()[1]) / 1024
    return 0.0


def connect(address):
    host, port = address.split(":")
    return http.client.HTTPSConnection(host, int(port), context=CONTEXT,
                                       timeout=300)


def wrk(address, path, method="GET"):
    """Requests per second, and how many there were."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f'wrk.method = "{method}"\n')
        if method != "GET":
            script.write(f'wrk.headers["Authorization"] = "{AUTH}"\n')
        script.flush()
        out = subprocess.run(
            ["wrk", "-t1", f"-c{16 if method == 'GET' else WRITERS}",
             f"-d{SECONDS}s", "-s", script.name,
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


def bulk(address, path, pids):
    times = []
    size = 0
    before = [cpu(pid) for pid in pids]
    for _ in range(BULK_RUNS):
        connection = connect(address)
        connection.connect()
        begin = time.monotonic()
        connection.request("GET", path)
        size = len(connection.getresponse().read())
        times.append(time.monotonic() - begin)
        connection.close()
    used = [(cpu(pid) - old) * 1000 / BULK_RUNS
            for pid, old in zip(pids, before)]
    print(f"    {path}: best {min(times) * 1000:.0f} ms, {size / 1e6:.1f} MB; of "
          f"the processor {used[0]:.0f} ms in the API, {used[1]:.0f} ms in the "
          "master")


class Follower:
    """A client of events, which can tell when its bytes came."""

    def __init__(self, address, number):
        host, port = address.split(":")
        self.raw = socket.create_connection(
            (host, int(port)), timeout=30,
            source_address=(f"127.2.0.{1 + number // FOLLOWERS_PER_ADDRESS}", 0))
        self.raw.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
        self.received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = CONTEXT.wrap_bio(self.received, sent)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.raw.sendall(sent.read())
                self.received.write(self.raw.recv(65536))
        self.tls.write(
            b"GET /gantry/1/events?topic=job HTTP/1.1\r\nHost: x\r\n"
            b"Accept: application/x-ndjson\r\nAuthorization: " +
            AUTH.encode() + b"\r\n\r\n")
        self.raw.sendall(sent.read())
        text = b""
        while b"bookmark" not in text:
            self.received.write(self.raw.recv(65536))
            text += self.plain()
        self.raw.setblocking(False)

    def close(self):
        self.raw.close()

    def plain(self):
        text = b""
        try:
            while more := self.tls.read(65536):
                text += more
        except ssl.SSLWantReadError:
            pass
        return text

    def told(self):
        """When the event of a job came that is queued; None: not yet."""
        when = None
        while True:
            try:
                data, notes, _, _ = self.raw.recvmsg(65536, 512)
            except BlockingIOError:
                return when
            self.received.write(data)
            if b'"queued"' not in self.plain():
                continue
            for _, kind, value in notes:
                if kind == TIMESTAMPS:
                    seconds, ns = struct.unpack("qq", value)
                    when = seconds + ns / 1e9


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


def filter_call(address, method, path, body=None):
    writer = connect(address)
    writer.request(method, path, body, {
        "Authorization": AUTH, "Content-Type": "application/json"})
    text = writer.getresponse().read()
    writer.close()
    return json.loads(text)


@contextlib.contextmanager
def held_back(address, luxi, opcode):
    """Jobs of this opcode are only queued, and canceled in the end."""
    rule = filter_call(address, "POST", "/2/filters", json.dumps(
        {"action": "PAUSE",
         "predicates": [["opcode", ["=", "OP_ID", opcode]]]}))
    first = luxi.call("SubmitJob", [noop()])
    yield
    for job in range(first, luxi.call("SubmitJob", [noop()]) + 1):
        luxi.call("CancelJob", job)
    filter_call(address, "DELETE", f"/2/filters/{rule}")


def middle(values):
    return 1000 * sorted(values)[len(values) // 2]


def rounds(followers, luxi, pid):
    first, half, last = [], [], []
    before = cpu(pid)
    for _ in range(EVENT_ROUNDS):
        for one in followers:
            one.told()
        luxi.call("SubmitJob", [noop()])
        durable = time.time()
        waiting, times = list(followers), []
        while waiting and time.time() < durable + EVENT_LIMIT_S:
            # Nobody is looked at before all should have been told.
            time.sleep(0.5)
            came = [(one, one.told()) for one in waiting]
            times += [when - durable for _, when in came if when]
            waiting = [one for one, when in came if not when]
        times.sort()
        first.append(times[0])
        half.append(times[len(times) // 2])
        last.append(times[-1])
        if waiting:
            print(f"    {len(waiting)} followers were not told")
    used = (cpu(pid) - before) / EVENT_ROUNDS * 1000
    print(f"    {len(followers)} followers of events hear of a durable job: the "
          f"first after {middle(first):.1f} ms, half of them after "
          f"{middle(half):.1f} ms, the last after {middle(last):.1f} ms (at "
          f"worst {1000 * max(last):.1f}); {used:.0f} ms of the processor")


def follow(address, pid, luxi):
    if not has_events(address):
        print(f"    {FOLLOWERS} followers of events: skipped, there are no "
              "events yet")
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(held_back(address, luxi, "OP_TEST_DELAY"))
        followers = []
        for number in range(FOLLOWERS):
            followers.append(Follower(address, number))
            stack.callback(followers[-1].close)
            if number == 0:
                # What happened to thousands of jobs before is told first.
                time.sleep(SETTLE_S)
                rounds(followers, luxi, pid)
        print(f"    with {FOLLOWERS} followers: {rss(pid):.1f} MiB")
        rounds(followers, luxi, pid)
        peak, size = peak_of_bulk(address, pid)
        print(f"    with them and {size / 1e6:.1f} MB of all instances at "
              f"once: at most {peak:.1f} MiB")


def measure(title, address, pids, luxi, ours):
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
        small("jobs that run", address, pids, "/2/tags?tag=a&dry-run=1",
              "PUT")
        with held_back(sys.argv[2], luxi, "OP_TAGS_SET"):
            small("jobs that are submitted", address, pids,
                  "/2/tags?tag=a&dry-run=1", "PUT")
    else:
        print("    small answers: skipped, there is no wrk")
    bulk(address, "/2/instances?bulk=1", pids)
    bulk(address, "/2/instances", pids)
    if ours:
        follow(address, pids[0], luxi)
    time.sleep(SETTLE_S)
    print(f"    resident at the end: {rss(pids[0]):.1f} MiB")


def main():
    address, pid, masterd = sys.argv[2:5]
    luxi = Luxi(sys.argv[5])
    measure("gantry-rapi", address, (pid, masterd), luxi, True)
    if len(sys.argv) > 7:
        measure("ganeti-rapi of Debian", sys.argv[6], (sys.argv[7], masterd),
                luxi, False)


main()
