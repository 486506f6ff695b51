# SPDX-License-Identifier: BSD-2-Clause
"""A master that plays back recorded answers, and the node it runs on.

Each request gets the next recorded answer, whatever it asks; what was asked is
kept for comparison afterwards.
"""
import json
import os
import socket
import subprocess
import tempfile
import threading

ETX = b"\3"
TIME_LIMIT_S = 20
SOCKET = "var/run/ganeti/socket/ganeti-query"
MASTER = "node1.example.com"


class FakeMaster:
    """Listens below a temporary root; `answers` are response objects, or
    `script` gives one for each method and arguments; None cuts the connection."""

    def __init__(self, answers, script=None):
        self.answers = list(answers)
        self.script = script
        self.requests = []
        self.folder = tempfile.TemporaryDirectory(prefix="gnt-cli.")
        self.root = os.path.join(self.folder.name, MASTER)
        path = os.path.join(self.root, SOCKET)
        data = os.path.join(self.root, "var/lib/ganeti")
        os.makedirs(os.path.dirname(path))
        os.makedirs(data)
        for key, value in (("master_node", MASTER),
                           ("cluster_name", "cluster.example.com"),
                           ("node_list", MASTER)):
            with open(os.path.join(data, "ssconf_" + key), "w",
                      encoding="utf-8") as file:
                file.write(value + "\n")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(5)
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def close(self):
        # Only shutdown wakes the thread; it must not see the number of this
        # descriptor again, as the next master's.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        self.listener.close()
        self.folder.cleanup()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,),
                             daemon=True).start()

    def _serve(self, conn):
        pending = b""
        with conn:
            while True:
                data = conn.recv(65536)
                if not data:
                    return
                pending += data
                while ETX in pending:
                    message, pending = pending.split(ETX, 1)
                    answer = self._answer(message)
                    if answer is None:
                        return
                    conn.sendall(answer + ETX)

    def _answer(self, message):
        request = json.loads(message)
        # What ours asks beyond, to name the jobs that failed.
        if request["method"] == "QueryJobs" and \
                request["args"][1] == ["summary"]:
            return json.dumps({"success": True, "result": [None]}).encode()
        self.requests.append([request["method"], request["args"]])
        if self.script:
            answer = self.script(request["method"], request["args"])
        elif self.answers:
            answer = self.answers.pop(0)
        else:
            answer = {"success": False,
                      "result": ["GenericError", ["nothing recorded"]]}
        return None if answer is None else json.dumps(answer).encode()

    def go_away(self):
        """Nobody is found at the socket any more: another node is the
        master."""
        os.unlink(os.path.join(self.root, SOCKET))
        with open(os.path.join(self.root, "var/lib/ganeti/ssconf_master_node"),
                  "w", encoding="utf-8") as file:
            file.write("node2.example.com\n")

    def environment(self):
        return dict(os.environ, GANETI_ROOTDIR=self.root,
                    GANETI_HOSTNAME=MASTER, TZ="UTC", LC_ALL="C.UTF-8")

    def run(self, argv, cwd=None):
        """Run a command on that node; it has no terminal."""
        return subprocess.run(argv, env=self.environment(), cwd=cwd, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIME_LIMIT_S, start_new_session=True,
                              check=False)


def normal(value, key=None):
    """A request without what differs from run to run."""
    if isinstance(value, dict):
        return {k: normal(v, k) for k, v in value.items()}
    if isinstance(value, list):
        if key == "reason":
            return [[source, text, 0] for source, text, _ in value]
        # Ganeti asks for states in the order of a set.
        if value[:1] == ["|"] and value[1:] and value[1][1:2] == ["status"]:
            return ["|"] + sorted(value[1:])
        return [normal(v) for v in value]
    # A time in nanoseconds, where a reason stands without its key.
    if isinstance(value, int) and value > 10**18:
        return 0
    return value
