#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_hostile.py ADDRESS PID JOB: bad requests to the remote API whose process
is PID; the job JOB runs for a minute.  Prints TAP without a plan."""
import base64
import json
import os
import re
import resource
import socket
import ssl
import sys
import threading
import time

HOST, PORT = sys.argv[1].rsplit(":", 1)
PID, JOB = sys.argv[2:4]
LIMIT_S = 30
AUTH = b"Authorization: Basic " + base64.b64encode(b"rw:secret") + b"\r\n"
# What the daemon may grow by.  Sanitizers keep what was freed for a while.
GROWTH_KIB = (400 if "LEAK_REPORTS" in os.environ else 40) * 1024

n_points = 0


def point(good, name, why=""):
    global n_points
    n_points += 1
    print(f"{'ok' if good else 'not ok'} {n_points} - {name}", flush=True)
    if not good:
        print("#", str(why)[:500])


# Takes any certificate.  One for all, as it takes long to make.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE


def connect(limit_s=LIMIT_S, source=None):
    raw = socket.create_connection((HOST, int(PORT)), timeout=limit_s,
                                   source_address=(source, 0) if source
                                   else None)
    return CONTEXT.wrap_socket(raw)


def receive(sock):
    data = b""
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                break
            data += more
    except (ssl.SSLError, ConnectionError, socket.timeout):
        pass
    return data


def ask(data):
    """The status (0: none) and all that came."""
    with connect() as sock:
        try:
            sock.sendall(data)
        except (ssl.SSLError, ConnectionError):
            pass
        answer = receive(sock)
    match = re.match(rb"HTTP/1\.[01] (\d+) ", answer)
    return int(match[1]) if match else 0, answer


def is_error(answer, status):
    """A body as all errors have it."""
    try:
        body = json.loads(answer.split(b"\r\n\r\n", 1)[1])
    except (IndexError, ValueError):
        return False
    return sorted(body) == ["code", "explain", "message"] and \
        body["code"] == status and b"\r\nServer: Ganeti 3." in answer


def request(line, headers=b"", body=b"", auth=True):
    return (line + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
            (AUTH if auth else b"") + headers + b"\r\n" + body)


def with_body(line, body, kind=b"application/json", **kwargs):
    return request(line, b"Content-Type: %s\r\nContent-Length: %d\r\n" %
                   (kind, len(body)), body, **kwargs)


def expect(name, status, data, in_json=True):
    got, answer = ask(data)
    point(got == status and (not in_json or is_error(answer, status)), name,
          f"{got}: {answer[:300]!r}")


def memory_kib():
    with open(f"/proc/{PID}/status", encoding="ascii") as text:
        return int(re.search(r"VmRSS:\s+(\d+)", text.read())[1])


def smuggling():
    both = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    expect("a length and chunks", 400,
           request(b"PUT /2/tags", both, b"0\r\n\r\n"))
    expect("two lengths", 400, request(
        b"PUT /2/tags", b"Content-Length: 0\r\nContent-Length: 5\r\n",
        b"GET /"))
    expect("chunks alone", 411, request(
        b"PUT /2/tags", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"))
    expect("an encoding that is none", 400, request(
        b"PUT /2/tags", b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"))
    expect("a folded header", 400,
           request(b"GET /2/info", b"X: a\r\n b: c\r\n"))
    expect("two hosts", 400, request(b"GET /2/info", b"Host: y\r\n"))
    expect("a NUL in the path", 400, request(b"GET /2/info%00"))
    expect("no host", 400, b"GET /2/nohost HTTP/1.1\r\n\r\n")
    expect("no colon", 400, request(b"GET /2/nocolon", b"nothing\r\n"),
           in_json=False)
    expect("HTTP/2.0", 505, b"GET /2/info HTTP/2.0\r\nHost: x\r\n\r\n",
           in_json=False)


def too_much():
    expect("a long address", 414, request(b"GET /" + b"x" * 9000))
    expect("long headers", 431,
           request(b"GET /2/info", b"X: " + b"x" * 17000 + b"\r\n"))
    got, _ = ask(request(b"GET /2/info", b"X: " + b"x" * 1000000 + b"\r\n"))
    point(got in (0, 431), "endless headers", got)
    got, _ = ask(request(b"GET /2/info",
                         b"".join(b"X%d: y\r\n" % i for i in range(3000))))
    point(got in (0, 431), "many headers", got)
    expect("a body over the limit is not read", 413,
           request(b"POST /2/groups", b"Content-Length: 10485761\r\n"))
    expect("nor a huge one", 413, request(
        b"POST /2/huge?ticket=hunter2",
        b"Content-Length: 99999999999999999999\r\n"),
        in_json=False)
    expect("a negative one", 400,
           request(b"POST /2/groups", b"Content-Length: -1\r\n"),
           in_json=False)
    expect("10 MiB of nothing", 400,
           with_body(b"POST /2/groups", b" " * (10 << 20)))
    expect("10 MiB of numbers", 400,
           with_body(b"POST /2/groups", b"[" + b"0," * ((5 << 20) - 1)))
    expect("10 MiB of brackets", 400,
           with_body(b"POST /2/groups", b"[" * (10 << 20)))
    expect("deep JSON", 400, with_body(
        b"POST /2/groups", b'{"a":' * 5000 + b"1" + b"}" * 5000))
    expect("10,000 arguments", 414, request(
        b"PUT /2/tags?" + b"&".join(b"tag=%d" % i for i in range(10000))),
        in_json=False)


def wrong_types():
    values = (b"0", b"1.5", b"true", b'"x"', b"[]", b'{"a":{}}', b"[[]]",
              b"1e400", b"99999999999999999999999", b'"\\u0000"',
              b'"\\ud800"')
    paths = (b"POST /2/instances", b"POST /2/groups", b"PUT /2/modify",
             b"POST /2/filters", b"PUT /2/nodes/node1.example.com/role",
             b"PUT /2/query/node", b"POST /2/instances-multi-alloc",
             b"POST /2/instances/x/replace-disks",
             b"PUT /2/instances/x/modify", b"POST /2/instances/x/reinstall",
             b"POST /2/nodes/x/migrate", b"GET /2/jobs/1/wait")
    odd = []
    for path in paths:
        for value in values:
            got, answer = ask(with_body(path, value))
            # What a reinstallation does not know it ignores, as Ganeti's.
            if got != 400 and not (path.endswith(b"reinstall") and
                                   value.startswith(b"{")):
                odd.append((path, value, got, answer[-200:]))
    point(not odd, "bodies of wrong types are 400", odd[:3])
    odd = []
    members = (b"name", b"group_name", b"alloc_policy", b"ndparams",
               b"ipolicy", b"depends", b"priority", b"comment", b"OP_ID",
               b"reason", b"__proto__", b"a\\u0000b")
    for member in members:
        for value in values:
            body = b'{"%s": %s, "nosuch": 1}' % (member, value)
            got, answer = ask(with_body(b"POST /2/groups", body))
            if got != 400 or not is_error(answer, 400):
                odd.append((body, got))
    point(not odd, "and so are members of wrong types", odd[:3])


def odd_requests():
    expect("an unknown method", 501, request(b"FROB /2/info"))
    expect("a path above", 404, request(b"GET /2/../../etc/passwd"))
    expect("an absolute target", 404, request(b"GET https://x/2/info"))
    expect("a star", 404, request(b"OPTIONS *"))
    expect("a quote", 404, request(b'GET /"onclick='))
    expect("a tag", 404, request(b"GET /<script>"))
    got, answer = ask(request(b"PUT /2/<b>"))
    point(b"<b>" not in answer.split(b"\r\n\r\n", 1)[-1],
          "comes back escaped", answer)
    got, _ = ask(b"\x16\x03\x01" + b"\0" * 500)
    point(got in (0, 400), "TLS in TLS", got)
    got, _ = ask(b"GET /2/info\r\n\r\n")
    point(got in (0, 400), "HTTP/0.9", got)


def guessing():
    """Wrong passwords from many connections at once gain nothing."""
    wrong = b"Authorization: Basic " + base64.b64encode(b"rw:hunter2") + b"\r\n"
    statuses, begin = [], time.monotonic()

    def guess():
        statuses.append(ask(request(b"GET /2/nodes", wrong, auth=False))[0])
    for _ in range(4):
        guess()
    threads = [threading.Thread(target=guess) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - begin
    tried = statuses.count(401)
    point(set(statuses) == {401, 429}, "who guesses is sent away", statuses)
    for name in (b"nobody:x", b"rw:", b":", b"rw", b"\xff\xfe:x",
                 b"rw:secret\0"):
        header = b"Authorization: Basic " + base64.b64encode(name) + b"\r\n"
        got, _ = ask(request(b"GET /2/nodes", header, auth=False))
        point(got in (401, 429), f"nor as {name!r}", got)
    point(tried <= 20 and took >= 2, "after few attempts",
          f"{tried} in {took:.1f} s")
    got, _ = ask(request(b"GET /2/nodes", auth=False))
    point(got == 200, "without a password he is served", got)


def silent_and_slow():
    """Connections that say nothing, or stop in the middle."""
    idle = [socket.create_connection((HOST, int(PORT)), timeout=LIMIT_S)
            for _ in range(30)]
    half = [connect() for _ in range(20)]
    for sock in half:
        sock.sendall(b"PUT /2/tags HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Length: 10000000\r\n\r\nx")
    got, _ = ask(request(b"GET /2/nodes"))
    point(got == 200, "others are served meanwhile", got)
    got, answer = ask(with_body(b"POST /2/groups", b" " * 9000000))
    point(got == 503 and is_error(answer, 503),
          "bodies have a limit together", got)
    for sock in half:
        sock.close()
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        got, _ = ask(with_body(b"POST /2/groups", b" " * 9000000))
        if got != 503:
            break
    point(got == 400, "which ends with them", got)
    begin = time.monotonic()
    ended = all(receive_raw(sock) for sock in idle)
    point(ended and time.monotonic() - begin < LIMIT_S,
          "silent connections are closed")


def receive_raw(sock):
    """Whether the other end has closed it."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionError:
        pass
    except socket.timeout:
        return False
    sock.close()
    return True


def never_reads():
    """Clients that ask for much and read nothing."""
    held = []
    for _ in range(20):
        sock = connect()
        sock.sendall(b"GET /2/query/instance/fields HTTP/1.1\r\nHost: x\r\n"
                     b"\r\n" * 100)
        held.append(sock)
    got, _ = ask(request(b"GET /2/nodes"))
    point(got == 200, "who never reads keeps nobody out", got)
    for sock in held:
        sock.close()


def is_served(name):
    """Somebody else gets an answer, sooner or later."""
    limit, got = time.monotonic() + LIMIT_S, 0
    while got != 200 and time.monotonic() < limit:
        try:
            got, _ = ask(request(b"GET /2/nodes"))
        except OSError:
            pass
    point(got == 200, name, got)


def crowd():
    """More connections than an address may have."""
    held = []
    for _ in range(300):
        try:
            held.append(socket.create_connection((HOST, int(PORT)),
                                                 timeout=LIMIT_S))
        except OSError:
            break
    for sock in held:
        sock.close()
    is_served("a crowd that leaves leaves room")


def many(n=5000):
    """Thousands of connections from many addresses, which say nothing."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (
        resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    before, held = memory_kib(), []
    for i in range(n):
        sock = socket.socket()
        sock.setblocking(False)
        sock.bind((f"127.9.{10 + i // 100}.1", 0))
        sock.connect_ex((HOST, int(PORT)))
        held.append(sock)
    is_served(f"{n} silent connections end, and others are served")
    point(memory_kib() - before < GROWTH_KIB, "within the memory",
          f"{before} KiB, then {memory_kib()}")
    for sock in held:
        sock.close()


def waiters():
    """Many who wait for a job."""
    body = json.dumps({"fields": ["status"], "previous_job_info": ["running"],
                       "previous_log_serial": 1000000}).encode()
    held = []
    for i in range(300):
        sock = connect(source=f"127.9.9.{1 + i % 4}")
        sock.sendall(with_body(b"GET /2/jobs/%s/wait" % JOB.encode(), body))
        held.append(sock)
    begin = time.monotonic()
    got, _ = ask(request(b"GET /2/nodes"))
    took = time.monotonic() - begin
    point(got == 200 and took < 5, "who waits for jobs keeps nobody out",
          f"{got} after {took:.1f} s")
    answers = [receive(sock) for sock in held]
    point(all(b" 200 " in a[:20] for a in answers), "and is answered",
          answers[0])
    for sock in held:
        sock.close()


def main():
    ask(request(b"GET /2/nodes"))
    waiters()
    smuggling()
    too_much()
    wrong_types()
    odd_requests()
    silent_and_slow()
    never_reads()
    crowd()
    many()
    before = memory_kib()
    for _ in range(3):
        ask(with_body(b"POST /2/groups", b"[" + b"0," * ((5 << 20) - 1)))
        silent = [connect() for _ in range(50)]
        for sock in silent:
            sock.close()
        never_reads()
    point(memory_kib() - before < GROWTH_KIB, "the memory stays",
          f"{before} KiB, then {memory_kib()}")
    guessing()


if __name__ == "__main__":
    main()
