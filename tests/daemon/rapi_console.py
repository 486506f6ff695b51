#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_console.py ADDRESS SOCKET INSTANCE [short]: listens at SOCKET as the
console of the instance would, and is the browser as well.  Prints TAP without a
plan."""
import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import threading

HOST, PORT = sys.argv[1].rsplit(":", 1)
SOCKET, INSTANCE = sys.argv[2:4]
LIMIT_S = 30
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PATH = f"/gantry/1/instances/{INSTANCE}/console"

n_points = 0


def point(good, name, why=""):
    global n_points
    n_points += 1
    print(f"{'ok' if good else 'not ok'} {n_points} - {name}", flush=True)
    if not good:
        print("#", str(why)[:500])


# --- the instance's side ---

class Guest(threading.Thread):
    """Sends back what it gets; "flood" makes it talk, "bye" makes it go."""

    def __init__(self):
        super().__init__(daemon=True)
        os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)  # of the run before
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(SOCKET)
        self.listener.listen(20)
        self.open = 0
        self.changed = threading.Condition()

    def run(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(sock,),
                             daemon=True).start()

    def count(self, by):
        with self.changed:
            self.open += by
            self.changed.notify_all()

    def serve(self, sock):
        self.count(1)
        try:
            sock.sendall(b"login: ")
            while data := sock.recv(65536):
                if data == b"bye":
                    break
                sock.sendall({b"flood": b"x" * 3000000,
                              b"deluge": b"x" * 40000000}.get(data, data))
        except OSError:
            pass
        sock.close()
        self.count(-1)

    def left(self):
        """Whether all connections have ended, sooner or later."""
        with self.changed:
            return self.changed.wait_for(lambda: self.open == 0, LIMIT_S)


# --- the browser's side ---

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE


def connect():
    return CONTEXT.wrap_socket(
        socket.create_connection((HOST, int(PORT)), timeout=LIMIT_S))


def http(line, headers=(), body=b"", user="rw:secret"):
    """Status, and body of the answer."""
    auth = base64.b64encode(user.encode()).decode()
    text = f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + \
        f"Content-Length: {len(body)}\r\n" + \
        (f"Authorization: Basic {auth}\r\n" if user else "") + \
        "".join(h + "\r\n" for h in headers) + "\r\n"
    with connect() as sock:
        sock.sendall(text.encode() + body)
        answer = b""
        while more := sock.recv(65536):
            answer += more
    head, _, rest = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), rest


def ticket(kind=b'{"kind": "serial"}', user="rw:secret"):
    status, body = http(f"POST {PATH}", ["Content-Type: application/json"],
                        kind, user)
    return json.loads(body).get("ticket") if status == 200 else status


class Websocket:
    def __init__(self, secret, key=None, headers=None):
        self.key = key or base64.b64encode(os.urandom(16)).decode()
        lines = {"Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": self.key,
                 "Sec-WebSocket-Protocol": "binary", **(headers or {})}
        self.sock = connect()
        self.sock.sendall(
            f"GET {PATH}/ws?ticket={secret} HTTP/1.1\r\nHost: x\r\n".encode() +
            b"".join(f"{k}: {v}\r\n".encode() for k, v in lines.items()
                     if v is not None) + b"\r\n")
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            more = self.sock.recv(65536)
            if not more:
                break
            self.data += more
        self.head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.status = int(self.head.split()[1])

    def take(self, n):
        while len(self.data) < n:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def frame(self):
        """Kind and data of the next frame; (None, b"") at the end."""
        try:
            first, size = self.take(2)
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            return first, self.take(size)
        except (EOFError, OSError):
            return None, b""

    def read(self, n):
        """n bytes of the console."""
        got = b""
        while len(got) < n:
            kind, data = self.frame()
            if kind != 0x82:
                return got, kind, data
            got += data
        return got, 0x82, b""

    def close_code(self):
        while True:
            kind, data = self.frame()
            if kind is None:
                return None
            if kind == 0x88:
                return struct.unpack(">H", data[:2])[0]

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            pass  # the other end has closed it; reading tells why

    def close(self):
        self.sock.close()


def framed(data, op=0x82, mask=b"abcd", masked=0x80):
    size = len(data)
    head = bytes([op, masked | size]) if size < 126 else \
        bytes([op, masked | 126]) + struct.pack(">H", size) \
        if size < 65536 else bytes([op, masked | 127]) + \
        struct.pack(">Q", size)
    return head + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(data))


def tickets(guest):
    point(ticket(user="ro:secret") == 403,
          "who may only read gets no ticket, as he could type")
    status, _ = http(f"GET /2/instances/{INSTANCE}/console", user="ro:secret")
    point(status == 200, "but hears where it is, as with Ganeti", status)
    point(ticket(user="none:secret") == 403, "who has no right gets none")
    point(ticket(user="") == 401, "nor does a stranger")
    point(ticket(b'{"kind": "tea"}') == 400, "of kinds that there are")
    status, _ = http("POST /gantry/1/instances/nosuch/console")
    point(status == 404, "for instances that there are", status)
    secret = ticket()
    point(isinstance(secret, str) and len(secret) == 32, "a ticket", secret)
    first = Websocket(secret)
    accept = base64.b64encode(hashlib.sha1(
        first.key.encode() + GUID).digest())
    point(first.status == 101 and
          b"sec-websocket-accept: " + accept.lower() in first.head.lower() and
          b"sec-websocket-protocol: binary" in first.head.lower(),
          "opens a websocket", first.head)
    second = Websocket(secret)
    point(second.status == 401, "once", second.head)
    first.read(7)
    first.close()
    point(guest.left(), "whose end is the console's")
    for name, headers in (("another version", {"Sec-WebSocket-Version": "8"}),
                          ("no key", {"Sec-WebSocket-Key": None}),
                          ("a short key", {"Sec-WebSocket-Key": "YQ=="}),
                          ("no upgrade", {"Upgrade": "h2c"}),
                          ("another protocol",
                           {"Sec-WebSocket-Protocol": "mqtt"})):
        got = Websocket(ticket(), headers=headers)
        point(got.status == 400, name + " is refused", got.head)
    status, _ = http(f"GET {PATH}/ws")
    point(status == 401, "no ticket, no console", status)


def talk(guest):
    ws = Websocket(ticket())
    got, *_ = ws.read(7)
    point(got == b"login: ", "the instance speaks first", got)
    ws.send(framed(b"hello"))
    point(ws.read(5)[0] == b"hello", "what is typed is answered")
    data = os.urandom(60000)
    ws.send(framed(data))
    point(ws.read(len(data))[0] == data, "as it is")
    ws.send(b"".join(framed(bytes([c])) for c in b"one by one"))
    point(ws.read(10)[0] == b"one by one", "in order")
    ws.send(framed(b"in ", 0x02) + framed(b"ping", 0x89) +
            framed(b"parts", 0x80))
    frames = [ws.frame() for _ in range(2)]
    while sum(len(d) for k, d in frames if k == 0x82) < 8:
        frames.append(ws.frame())
    point((0x8a, b"ping") in frames and
          b"".join(d for k, d in frames if k == 0x82) == b"in parts",
          "in pieces, with a ping between", frames)
    ws.send(framed(b"flood"))
    got, *_ = ws.read(3000000)
    point(len(got) == 3000000, "much at once", len(got))
    ws.send(framed(struct.pack(">H", 1000), 0x88))
    point(ws.close_code() == 1000, "it is closed in order")
    point(guest.left(), "on both sides")
    ws = Websocket(ticket())
    ws.send(framed(b"bye"))
    point(ws.close_code() == 1000, "also when the instance ends it")


def nonsense(guest):
    for name, data, code in (
            ("a frame without a mask", b"\x82\x01x", 1002),
            ("reserved bits", b"\xc2" + framed(b"x")[1:], 1002),
            ("an unknown kind", framed(b"x", 0x83), 1002),
            ("text", framed(b"x", 0x81), 1003),
            ("a rest without a beginning", framed(b"x", 0x80), 1002),
            ("a ping in pieces", framed(b"x", 0x09), 1002),
            ("a long ping", framed(b"x" * 126, 0x89), 1002),
            ("a length in too many bytes",
             b"\x82\xfe\x00\x01abcdx", 1002),
            ("a huge frame", b"\x82\xff\x7f" + b"\xff" * 7 + b"abcd", 1009),
            ("a frame over the limit", framed(b"x" * 65537), 1009)):
        ws = Websocket(ticket())
        ws.send(data)
        got = ws.close_code()
        point(got == code, f"{name}: {code}", got)
        ws.close()
    point(guest.left(), "and no console stays open")


def silent(guest):
    """Who reads nothing is given up, who goes is gone."""
    ws = Websocket(ticket())
    ws.read(7)
    ws.send(framed(b"deluge"))
    point(guest.left(), "who does not read loses the console")
    ws.close()
    for cut in (1, 3, 7):
        ws = Websocket(ticket())
        ws.read(7)
        ws.send(framed(b"hello")[:cut])
        ws.close()
    point(guest.left(), "who goes within a frame as well")


def revoked(guest):
    """Who gets a console by a token loses it with that."""
    body = b'{"name": "c", "rights": ["read", "console"]}'
    status, answer = http("POST /gantry/1/tokens",
                          ["Content-Type: application/json"], body)
    token = json.loads(answer)
    status, answer = http(f"POST {PATH}",
                          ["Content-Type: application/json",
                           f"Authorization: Bearer {token['token']}"],
                          b'{"kind": "serial"}', user="")
    point(status == 200, "a token is enough for a ticket", answer)
    ws = Websocket(json.loads(answer)["ticket"])
    point(ws.read(7)[0] == b"login: ", "and for a console")
    status, _ = http(f"DELETE /gantry/1/tokens/{token['id']}")
    point(status == 200 and ws.close_code() == 1011,
          "which ends when it is revoked", status)
    point(guest.left(), "on both sides")
    ws.close()


def many(guest):
    """More than a node has places for."""
    held = [Websocket(ticket()) for _ in range(18)]
    statuses = [ws.status for ws in held]
    point(statuses.count(101) == 16 and set(statuses) == {101, 500},
          "a node has places for so many", statuses)
    for ws in held:
        ws.close()
    point(guest.left(), "which are free afterwards")
    ws = Websocket(ticket())
    point(ws.status == 101, "for others", ws.head)
    ws.close()


def main():
    guest = Guest()
    guest.start()
    if sys.argv[4:] == ["short"]:
        talk(guest)
        silent(guest)
        return
    tickets(guest)
    talk(guest)
    nonsense(guest)
    silent(guest)
    revoked(guest)
    many(guest)


if __name__ == "__main__":
    main()
