#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_events.py ADDRESS PID SOCKET USERS | rapi_events.py follow ADDRESS
FILE SINCE JOB | rapi_events.py check JOBS WHOLE FILE... | rapi_events.py slow
ADDRESS SOCKET

Who follows the events of the remote API whose process is PID; SOCKET is the
master's, USERS the users file.  Prints TAP without a plan."""
import base64
import json
import os
import re
import signal
import socket
import ssl
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import Luxi, noop  # noqa: E402

LIMIT_S = 30
# 64 MiB, and what sanitizers add.
MEMORY_KIB = (64 if "LEAK_REPORTS" not in os.environ else 1024) * 1024
STREAMS = 1000
# A stream without events says something every 10 s.
GONE_S = 8
# Takes any certificate.  One for all, as it takes long to make.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE

n_points = 0


def point(good, name, why=""):
    global n_points
    n_points += 1
    print(f"{'ok' if good else 'not ok'} {n_points} - {name}", flush=True)
    if not good:
        print("#", str(why)[:500])


class Stream:
    """A request whose answer goes on, taken out of its chunks."""

    def __init__(self, address, target, headers=(), user=None, source=None,
                 limit_s=LIMIT_S, room=None):
        host, port = address.rsplit(":", 1)
        raw = socket.socket()
        raw.settimeout(limit_s)
        if room:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            # With long segments the kernel keeps megabytes for the sender.
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        if source:
            raw.bind((source, 0))
        raw.connect((host, int(port)))
        self.sock = CONTEXT.wrap_socket(raw)
        lines = [f"GET {target} HTTP/1.1", "Host: x", *headers]
        if user:
            word = base64.b64encode(user.encode()).decode()
            lines.append(f"Authorization: Basic {word}")
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.raw, self.text, self.ended = b"", b"", False
        while b"\r\n\r\n" not in self.raw:
            if not self.more():
                break
        head, _, self.raw = self.raw.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split()[1]) if self.head else 0
        self.lines = "ndjson" in self.head
        if self.status == 200:
            self.unchunk()

    def more(self):
        try:
            data = self.sock.recv(65536)
        except (ConnectionError, ssl.SSLError, TimeoutError):
            data = b""
        self.raw += data
        return bool(data)

    def unchunk(self):
        while True:
            size, found, rest = self.raw.partition(b"\r\n")
            if not found:
                return
            size = int(size, 16)
            if size == 0:
                self.ended = True
                return
            if len(rest) < size + 2:
                return
            self.text += rest[:size]
            self.raw = rest[size + 2:]

    def next(self):
        """The next event, or None at the end."""
        mark = b"\n" if self.lines else b"\n\n"
        while mark not in self.text:
            if self.ended or not self.more():
                return None
            self.unchunk()
        block, _, self.text = self.text.partition(mark)
        if self.lines:
            return json.loads(block)
        parts = dict(line.split(": ", 1) for line in block.decode().split("\n"))
        event = json.loads(parts["data"])
        assert parts["event"] == event["topic"]
        assert int(parts["id"]) == event["index"]
        return event

    def until(self, wanted):
        """All events up to the first that is wanted."""
        got = []
        while True:
            event = self.next()
            if event is None:
                return got
            got.append(event)
            if wanted(event):
                return got

    def close(self):
        self.sock.close()


def is_end_of(job):
    return lambda e: e["topic"] == "job" and e["name"] == str(job) and \
        e["type"] in ("success", "error", "canceled")


def basics(address, luxi):
    s = Stream(address, "/gantry/1/events")
    point(s.status == 200 and "text/event-stream" in s.head,
          "events are sent by the server", s.head)
    first = s.next()
    point(first["topic"] == "bookmark", "the first thing said is where it is",
          first)
    job = luxi.call("SubmitJob", [noop()])
    got = s.until(is_end_of(job))
    point([e["type"] for e in got if e["topic"] == "job"][0] == "queued" and
          got[-1]["type"] == "success", "a job is followed to its end", got)
    point(all(b["index"] > a["index"] for a, b in zip(got, got[1:])),
          "indexes go up", got)
    point(not [e for e in got if e["topic"] == "audit"],
          "who did it is not told to everybody", got)
    late = time.time() - got[-1]["time"]
    print(f"# the job's end was told {1000 * late:.1f} ms after it")
    middle = got[0]["index"]
    again = Stream(address, "/gantry/1/events", [f"Last-Event-ID: {middle}"])
    point(again.until(is_end_of(job)) == got[1:],
          "who comes back gets what he has missed")
    again = Stream(address, f"/gantry/1/events?since={middle}",
                   ["Accept: application/x-ndjson"])
    point("application/x-ndjson" in again.head and
          again.until(is_end_of(job)) == got[1:], "also as lines of JSON",
          again.head)
    old = Stream(address, "/gantry/1/events?since=1")
    gap = old.next()
    point(gap["topic"] == "gap", "what is not kept any more is a gap", gap)
    rest = old.until(is_end_of(job))
    point(rest[0]["index"] > gap["index"] and rest[-1] == got[-1],
          "behind which it goes on")
    far = Stream(address, f"/gantry/1/events?since={2 ** 62}")
    gap = far.next()
    point(gap["topic"] == "gap" and gap["index"] >= got[-1]["index"],
          "and so is what nobody has told yet", gap)
    for one in (s, again, old, far):
        one.close()


def topics(address, luxi):
    s = Stream(address, "/gantry/1/events?topic=cluster,job:999999&topic=audit",
               user="rw:secret")
    s.next()
    job = luxi.call("SubmitJob", [{"OP_ID": "OP_TAGS_SET", "kind": "cluster",
                                   "name": None, "tags": ["told"]}])
    got = s.until(lambda e: e["topic"] == "cluster")
    point([e["topic"] for e in got] == ["audit", "cluster"] and
          got[0]["job"] == job and got[0]["opcode"] == "OP_TAGS_SET",
          "only what was asked for is told", got)
    s.close()
    for name, target, user, status in (
            ("an unknown topic", "topic=x", None, 400),
            ("no topic at all", "topic=,", None, 400),
            ("many topics", "topic=" + ",".join(["job"] * 65), None, 400),
            ("an index that is none", "since=x", None, 400),
            ("a negative one", "since=-1", None, 400),
            ("one that is too long", "since=" + "9" * 30, None, 400),
            ("audit for nobody", "topic=audit", None, 401),
            ("audit without a right", "topic=audit", "none:secret", 403),
            ("audit with a wrong password", "topic=audit", "rw:x", 401)):
        s = Stream(address, f"/gantry/1/events?{target}", user=user)
        point(s.status == status, name, s.head)
        s.close()


def bookmarks(address):
    s = Stream(address, "/gantry/1/events?topic=job:999999")
    first, begin = s.next(), time.monotonic()
    second = s.next()
    took = time.monotonic() - begin
    point(first["topic"] == second["topic"] == "bookmark" and 8 < took < 15,
          "a stream without events says where it is", took)
    s.close()


def revoked(address, pid, users):
    s = Stream(address, "/gantry/1/events?topic=audit", user="ro:secret")
    s.next()
    with open(users, encoding="ascii") as file:
        before = file.read()
    with open(users, "w", encoding="ascii") as file:
        file.write(re.sub("(?m)^ro .*\n", "", before))
    os.kill(pid, signal.SIGHUP)
    last = s.until(lambda e: e["topic"] == "end")
    point(last and last[-1]["topic"] == "end" and s.next() is None,
          "who has no right any more is sent away", last)
    with open(users, "w", encoding="ascii") as file:
        file.write(before)
    os.kill(pid, signal.SIGHUP)


def memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as text:
        return int(re.search(r"VmRSS:\s+(\d+)", text.read())[1])


def opened(address, source):
    """A stream; places of those who have gone are free after a while."""
    limit = time.monotonic() + LIMIT_S
    while True:
        s = Stream(address, "/gantry/1/events?topic=job", source=source)
        if s.status == 200 or time.monotonic() > limit:
            return s
        s.close()
        time.sleep(0.2)


def streams_of(address):
    """How many there are."""
    with urllib.request.urlopen(f"https://{address}/metrics", context=CONTEXT,
                                timeout=LIMIT_S) as answer:
        return int(re.search(rb"(?m)^gantry_rapi_streams (\d+)",
                             answer.read())[1])


def many(address, pid, luxi):
    before = memory_kib(pid)
    all_of = [opened(address, f"127.9.8.{1 + i // 90}")
              for i in range(STREAMS)]
    point(all(s.status == 200 and s.next() for s in all_of),
          f"{STREAMS} clients follow")
    more = Stream(address, "/gantry/1/events", source="127.9.8.200")
    point(more.status == 503, "one more is refused", more.head)
    more.close()
    job = luxi.call("SubmitJob", [noop()])
    begin = time.monotonic()
    point(all(s.until(is_end_of(job))[-1]["type"] == "success"
              for s in all_of), "each of them is told")
    took = time.monotonic() - begin
    with_all = memory_kib(pid)
    print(f"# {took:.2f} s for all; {before} KiB before, {with_all} with them")
    point(with_all < MEMORY_KIB, "in 64 MiB", with_all)
    for s in all_of:
        s.close()
    # Sooner than anything is sent to them.
    limit, left = time.monotonic() + GONE_S, STREAMS
    while left > 0 and time.monotonic() < limit:
        left = streams_of(address)
    point(left == 0, "who goes leaves room at once", left)


def follow(address, file, since, last):
    """Write down what is told until the connection is lost or the job `last`
    has ended; since 0: from now on."""
    s = Stream(address, "/gantry/1/events" + (f"?since={since}" if since else ""),
               ["Accept: application/x-ndjson"], user="rw:secret", limit_s=120)
    ended = is_end_of(last)
    with open(file, "w", encoding="utf-8", buffering=1) as out:
        while (event := s.next()) is not None:
            if event["topic"] != "bookmark":
                print(json.dumps(event), file=out)
            if ended(event):
                break


def told(*files):
    for name in files:
        with open(name, encoding="utf-8") as file:
            yield from map(json.loads, file)


def check(jobs, whole, *files):
    """What was told in `files`, one after the other, is what the new master has
    (`whole`), and all jobs of the file `jobs` are in there."""
    got, all_of = list(told(*files)), list(told(whole))
    key = [(e["index"], e["topic"], e.get("name"), e.get("type")) for e in got]
    want = [(e["index"], e["topic"], e.get("name"), e.get("type")) for e in all_of
            if got[0]["index"] <= e["index"] <= got[-1]["index"]]
    print(f"# {len(key)} events")
    point(len(key) >= 10000, "10,000 events were told", len(key))
    point(not [k for k in key if k[1] == "gap"], "without a gap")
    point(all(b[0] > a[0] for a, b in zip(key, key[1:])), "none twice")
    point(key == want, "none is lost, and none was told that was none",
          set(want) ^ set(key))
    with open(jobs, encoding="ascii") as file:
        ids = {line.split()[0] for line in file}
    point(ids <= {k[2] for k in key if k[1] == "job" and k[3] == "queued"},
          "each job that was acknowledged was told")
    ends = [k[2] for k in key if k[1] == "job" and
            k[3] in ("success", "error")]
    point(ids <= set(ends) and len(ends) == len(set(ends)),
          "and its end, once")


def never_read(address, pid, luxi):
    """Clients that ask for all events and read none."""
    before = memory_kib(pid)
    held = [Stream(address, "/gantry/1/events?since=1",
                   source=f"127.9.7.{1 + i % 4}") for i in range(100)]
    for _ in range(4):
        answer = luxi.call("SubmitManyJobs", [[noop()] for _ in range(100)])
    s = Stream(address, "/gantry/1/events?since=1")
    got = s.until(is_end_of(answer[-1][1]))
    point(got[-1]["type"] == "success",
          "who never reads keeps nobody from his events")
    grown = memory_kib(pid) - before
    # Sanitizers keep what was freed for a while.
    most = 24 * 1024 * (8 if os.environ.get("LEAK_REPORTS") else 1)
    point(grown < most, "nor takes memory for what he does not read",
          f"{grown} KiB")
    for one in held + [s]:
        one.close()


def slow(address, path):
    """Who does not read while more happens than is kept is told so, and cut
    off; who reads is not."""
    luxi = Luxi(path)
    s = Stream(address, "/gantry/1/events?topic=job", source="127.9.6.1",
               room=4096)
    s.next()
    quick = Stream(address, "/gantry/1/events?topic=job", source="127.9.6.2")
    told = [quick.next()]
    limit = time.monotonic() + LIMIT_S
    for _ in range(10):
        last = luxi.call("SubmitManyJobs", [[noop() for _ in range(100)]])
        told += quick.until(is_end_of(last[-1][1]))
        if time.monotonic() > limit:
            break
    point(told[-1]["topic"] == "job" and
          not [e for e in told if e["topic"] == "gap"],
          "who reads misses nothing", told[-1])
    got = s.until(lambda e: e["topic"] == "gap")
    point(got[-1]["topic"] == "gap" and "slowly" in got[-1]["why"],
          "who does not is told that he missed some", got[-1])
    point(len(got) < len(told) and got[-1]["index"] > got[-2]["index"] and
          s.next() is None, "and cut off", len(got))
    again = Stream(address,
                   f"/gantry/1/events?topic=job&since={got[-1]['index']}")
    rest = again.until(is_end_of(last[-1][1]))
    point(rest[-1] == told[-1] and rest[0]["index"] > got[-1]["index"],
          "behind which he goes on when he comes back", rest[:1])
    for one in (s, quick, again):
        one.close()


def main():
    if sys.argv[1] == "slow":
        slow(*sys.argv[2:])
        return
    if sys.argv[1] == "follow":
        follow(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        return
    if sys.argv[1] == "check":
        check(*sys.argv[2:])
        return
    address, pid, luxi, users = sys.argv[1], int(sys.argv[2]), \
        Luxi(sys.argv[3]), sys.argv[4]
    basics(address, luxi)
    topics(address, luxi)
    bookmarks(address)
    revoked(address, pid, users)
    many(address, pid, luxi)
    never_read(address, pid, luxi)


if __name__ == "__main__":
    main()
