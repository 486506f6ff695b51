# SPDX-License-Identifier: BSD-2-Clause
"""A LUXI client for tests and benches; it speaks to Ganeti's socket as well."""
import json
import socket

FINAL = ("success", "error", "canceled")


class Gone(Exception):
    """The master is not there, or went away."""


class Luxi:
    """One connection; Gone when there is none (any more)."""

    def __init__(self, path, limit_s=60):
        self.buffer = b""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(limit_s)
        try:
            self.sock.connect(path)
        except OSError as err:
            self.sock.close()
            raise Gone(str(err)) from err

    def call(self, method, *args):
        """The result; an answer that is an error ends the program."""
        request = {"method": method, "args": args, "version": 3000000}
        try:
            self.sock.sendall(json.dumps(request).encode() + b"\3")
            while b"\3" not in self.buffer:
                data = self.sock.recv(1 << 16)
                if not data:
                    raise Gone("closed")
                self.buffer += data
        except OSError as err:
            raise Gone(str(err)) from err
        text, self.buffer = self.buffer.split(b"\3", 1)
        reply = json.loads(text)
        if not reply["success"]:
            raise SystemExit(f"{method}: {reply['result']}")
        return reply["result"]

    def close(self):
        self.sock.close()


def noop(**other):
    """An opcode that does nothing on the master."""
    return {"OP_ID": "OP_TEST_DELAY", "duration": 1e-6, "on_master": True,
            "on_nodes": [], "repeat": 0, "no_locks": True, **other}
