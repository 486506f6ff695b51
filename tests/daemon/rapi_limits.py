#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_limits.py ADDRESS PID JOB MASTER: what clients that take their time get from a
daemon that runs with the limits handshake=2, idle=2, answer=3, clients=50,
header=1K, target=512, body=2K, lists=2; MASTER is the process of its master.  Prints TAP without a plan."""
import os
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import rapi_hostile as h  # noqa: E402

# What ends after some seconds has ended by then, also on a busy machine.
SOON_S = 20
# The limit of this name.
ANSWER_S = 3


def lasts(sock, send, pause=0.2):
    """Send a byte now and then; how long until the other end hangs up."""
    begin = time.monotonic()
    sock.settimeout(pause)
    while time.monotonic() < begin + SOON_S:
        try:
            sock.sendall(send)
            if not sock.recv(65536):
                break
        except socket.timeout:
            continue
        except OSError:
            break
    return time.monotonic() - begin


def slow():
    took = lasts(socket.create_connection((h.HOST, int(h.PORT))), b"\x16")
    h.point(took < SOON_S, "a handshake of single bytes ends", took)
    with h.connect() as sock:
        sock.sendall(b"GET /2/info HTTP/1.1\r\n")
        took = lasts(sock, b"X: y\r\n")
    h.point(took < SOON_S, "headers that never end end", took)
    with h.connect() as sock:
        sock.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        first = sock.recv(65536)
        sock.sendall(b"GET /version HTTP/1.1\r\n")
        took = lasts(sock, b"X: y\r\n")
    h.point(first.startswith(b"HTTP/1.1 200") and took < SOON_S,
            "those of a second request as well", f"{first[:40]} {took}")
    with h.connect() as sock:
        sock.sendall(b"PUT /2/tags HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Length: 2000\r\n\r\n")
        took = lasts(sock, b" ")
    h.point(took < SOON_S, "and a body of single bytes", took)


def files():
    return len(os.listdir(f"/proc/{h.PID}/fd"))


def reads_slowly():
    """A long answer of which a byte is read now and then."""
    base, held = files(), []
    for _ in range(20):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(h.LIMIT_S)
        raw.connect((h.HOST, int(h.PORT)))
        sock = h.CONTEXT.wrap_socket(raw)
        sock.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        held.append(sock)
    most, begin = files(), time.monotonic()
    while files() > base + 2 and time.monotonic() < begin + SOON_S:
        for sock in held:
            try:
                sock.recv(1)
            except OSError:
                pass
        time.sleep(0.1)
    h.point(most > base + 2 >= files(), "who reads slowly is cut off",
            f"{base} files, {most}, then {files()}")
    for sock in held:
        sock.close()


def tls(name, args, text, wanted):
    """What openssl says when it is told to do this."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"{h.HOST}:{h.PORT}"] + args,
        input=text, capture_output=True, timeout=h.LIMIT_S, check=False)
    said = done.stdout + done.stderr
    h.point(wanted(said), name, said[-300:])


def old_tls():
    weak = ["-cipher", "ALL:@SECLEVEL=0"]
    for version in ("-tls1", "-tls1_1"):
        tls(f"{version} is not spoken", [version] + weak, b"",
            lambda said: b"Cipher is (NONE)" in said)
    ask = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    tls("TLS 1.2 is", ["-tls1_2", "-ign_eof"], ask,
        lambda said: b"HTTP/1.1 200" in said)
    tls("a connection is not negotiated again", ["-tls1_2"],
        b"R\n" + ask, lambda said: b"RENEGOTIATING" in said and
        b"HTTP/1.1 200" not in said)
    tls("SSL 2's hello is not answered", ["-tls1_2", "-ign_eof", "-cipher",
                                          "NULL"], ask,
        lambda said: b"HTTP/1.1 200" not in said)


def sizes():
    h.expect("headers over the limit", 431,
             h.request(b"GET /2/info", b"X: " + b"x" * 1100 + b"\r\n"))
    h.expect("an address over the limit", 414,
             h.request(b"GET /" + b"x" * 600))
    h.expect("a body over the limit", 413,
             h.with_body(b"POST /2/groups", b" " * 2049))
    h.expect("and one within", 400,
             h.with_body(b"POST /2/groups", b" " * 2048))


def crowd():
    held = [socket.create_connection((h.HOST, int(h.PORT)))
            for _ in range(60)]
    begin, got = time.monotonic(), None
    while got is None and time.monotonic() < begin + SOON_S:
        try:
            got, _ = h.ask(h.request(b"GET /version"))
        except OSError:
            time.sleep(0.1)  # it is closed while there are so many
    h.point(got == 200, "who is too many is let in when others have gone",
            f"{got} after {time.monotonic() - begin:.1f} s")
    for sock in held:
        sock.close()


def streams():
    """Who follows something may wait longer than an answer may take."""
    with h.connect() as sock:
        sock.sendall(b"GET /gantry/1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        sock.settimeout(SOON_S)
        begin, took, more = time.monotonic(), 0, b""
        try:
            # An event of the job, or a bookmark, comes after the time as well.
            while took <= 2 * ANSWER_S:
                more = sock.recv(65536)
                if not more:
                    break
                took = time.monotonic() - begin
        except OSError as e:
            more = str(e).encode()
        h.point(took > 2 * ANSWER_S and b"event: " in more,
                "a stream is no answer that takes too long",
                f"{took} s: {more[-200:]}")


def followers():
    ask = f"GET /gantry/1/jobs/{h.JOB}/log?follow=1 HTTP/1.1\r\n" \
        "Host: x\r\n\r\n"
    held, got = [], []
    for source in [None] * 21 + ["127.0.0.9"]:
        sock = h.connect(source=source)
        sock.sendall(ask.encode())
        got.append(int(sock.recv(4096).split()[1]))
        held.append(sock)
    h.point(got == [200] * 20 + [503, 200],
            "one address follows so many logs, and others theirs", got)
    for sock in held:
        sock.close()


def lists():
    """While the master stands still, lists wait for it, or for a place."""
    ask = b"GET /2/instances?bulk=1 HTTP/1.1\r\nHost: x\r\n" \
        b"Connection: close\r\n\r\n"
    os.kill(int(sys.argv[4]), signal.SIGSTOP)
    try:
        base, held = files(), []
        for _ in range(20):
            held.append(h.connect())
            held[-1].sendall(ask)
        alive = [h.ask(h.request(b"GET /version"))[0] for _ in range(5)]
        more = files() - base - len(held)
    finally:
        os.kill(int(sys.argv[4]), signal.SIGCONT)
    h.point(more <= 3, "few lists are made at the same time",
            f"{more} connections to the master")
    h.point(alive == [200] * 5, "they keep nobody waiting", alive)
    got = [h.receive(sock)[:15] for sock in held]
    h.point(got == [b"HTTP/1.1 200 OK"] * 20, "and all are made", got)


def abandoned():
    """Who goes before the master has answered makes room for others."""
    base = files()
    os.kill(int(sys.argv[4]), signal.SIGSTOP)
    try:
        for i in range(30):
            with h.connect() as sock:
                what = b"instances?bulk=1&" if i % 2 else b"info?"
                sock.sendall(b"GET /2/%sx=%d HTTP/1.1\r\nHost: x\r\n\r\n" %
                             (what, i))
        begin = time.monotonic()
        while files() > base + 2 and time.monotonic() < begin + SOON_S:
            time.sleep(0.1)
        left = files() - base
    finally:
        os.kill(int(sys.argv[4]), signal.SIGCONT)
    h.point(left <= 2, "who is gone holds no place, though the master hangs",
            f"{left} files more")


def main():
    lists()
    abandoned()
    followers()
    sizes()
    old_tls()
    slow()
    reads_slowly()
    streams()
    crowd()


main()
