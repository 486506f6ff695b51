# SPDX-License-Identifier: BSD-2-Clause
"""Two clusters, as their remote APIs look to who moves an instance from one to
the other.

A job is played by a `story`, a list of steps: a text is a message of its log,
a dict the content of its "remote-import" entry, a function is called when the
step's turn comes, an Ending ends the job.  A job whose story is empty is queued
for ever.  What only follows when something else has happened waits for it in a
function; nothing sleeps."""
import base64
import json
import threading
import urllib.parse

from fake_rapi import FakeRapi

LIMIT_S = 60  # of all that is waited for
USER, PASSWORD = "mover", "not to be seen"
ENDED = ("success", "error", "canceled")

DISKS = {"disks": [["10.0.0.2", 11001, "magic1", "hmac-1", "salt-1"],
                   ["10.0.0.2", 11002, "magic2", "hmac-2", "salt-2"]],
         "x509_ca": "CA of the destination"}
PREPARED = {"handshake": ["2.0", "hmac-h", "salt-h"],
            "x509_key_name": ["key-1", "hmac-k", "salt-k"],
            "x509_ca": "CA of the source"}

# What OP_INSTANCE_QUERY_DATA says of an instance, without what a move has no
# use for.
INSTANCE = {
    "name": "web1.example.com", "config_state": "up", "run_state": None,
    "pnode": "node1.example.com", "snodes": ["node2.example.com"],
    "os": "debootstrap+default", "hypervisor": "kvm", "disk_template": "drbd",
    "network_port": 11000,
    "disks": [{"iv_name": "disk/0", "dev_type": "drbd", "mode": "rw",
               "size": 1024, "spindles": None, "name": "root", "uuid": "u0",
               "children": [{"size": 1024}, {"size": 128}]},
              {"iv_name": "disk/1", "dev_type": "drbd", "mode": "ro",
               "size": 512, "spindles": None, "name": None, "uuid": "u1",
               "children": []}],
    "nics": [[None, "u2", None, "aa:00:00:01:02:03", "bridged", "br0", "",
              None, None],
             ["lan", "u3", "192.0.2.7", "aa:00:00:01:02:04", "routed", "10",
              "", "net1", {"name": "net1"}]],
    "hv_instance": {"kernel_path": "/boot/vmlinuz"},
    "hv_actual": {"kernel_path": "/boot/vmlinuz", "acpi": True},
    "be_instance": {"maxmem": 512},
    "be_actual": {"maxmem": 512, "minmem": 256, "vcpus": 1},
    "os_instance": {"dhcp": "yes"}, "os_actual": {"dhcp": "yes", "x": "y"}}


class Ending:
    """The last step of a story."""

    def __init__(self, status, result):
        self.status, self.result = status, result


def success(result):
    return Ending("success", [result])


def failure(text, ecode=None):
    error = ["OpPrereqError", [text, ecode]] if ecode else \
        ["OpExecError", [text]]
    return Ending("error", [error])


class Job:
    """A job on its way; `changed` is its cluster's condition."""

    def __init__(self, number, changed, story):
        self.number, self.changed = number, changed
        self.status, self.result, self.log = "queued", [None], []
        self.thread = threading.Thread(target=self.play, args=(story,),
                                       daemon=True)
        self.thread.start()

    def play(self, story):
        for step in story:
            if self.status in ENDED:
                return
            self.change(status="running")
            if callable(step):
                step()
            elif isinstance(step, Ending):
                self.end(step)
            else:
                kind = "message" if isinstance(step, str) else "remote-import"
                self.change(entry=(kind, step))

    def change(self, status=None, entry=None):
        with self.changed:
            if self.status in ENDED:
                return
            self.status = status or self.status
            if entry:
                self.log.append([len(self.log) + 1, [1700000000, 5], *entry])
            self.changed.notify_all()

    def end(self, ending):
        with self.changed:
            if self.status not in ENDED:
                self.status, self.result = ending.status, ending.result
            self.changed.notify_all()

    def has_ended(self):
        with self.changed:
            return self.changed.wait_for(lambda: self.status in ENDED, LIMIT_S)

    def fields(self, names):
        values = {"id": self.number, "status": self.status,
                  "opresult": self.result, "opstatus": [self.status],
                  "oplog": [self.log], "ops": [{}], "summary": ["JOB"],
                  "received_ts": [1, 2], "start_ts": [1, 2],
                  "end_ts": [1, 2] if self.status in ENDED else None}
        return [values.get(name) for name in names]

    def wait(self, body):
        """The answer to /wait: what is new, in at most ten seconds."""
        known, serial = body["previous_job_info"], body["previous_log_serial"]

        def news():
            return (self.fields(body["fields"]),
                    [e for e in self.log if e[0] > (serial or -1)])

        with self.changed:
            self.changed.wait_for(
                lambda: news()[0] != known or news()[1] or
                self.status in ENDED, timeout=10)
            info, entries = news()
        if info == known and not entries and self.status not in ENDED:
            return None
        return {"job_info": info, "log_entries": entries}


class FakeCluster(FakeRapi):
    """`stories` says how jobs go: {kind: function of the request's body and
    the instance's name that gives the story}; kinds: info, prepare, create,
    export, shutdown, startup, remove.  `seen` has what was asked: (method, path, body); an
    answer of `overrides`, {(method, path): [answer, ...]}, is given once."""

    def __init__(self, stories, info=None, instances=(), overrides=None):
        self.stories, self.instances = stories, instances
        self.info = info if info is not None else {
            "name": "cluster", "default_iallocator": "hail"}
        self.overrides = overrides or {}
        self.changed = threading.Condition()
        self.jobs, self.seen = [], []
        super().__init__({})

    def submit(self, kind, body, name):
        with self.changed:
            story = self.stories[kind](body, name)
            if isinstance(story, tuple):  # the request is refused
                return story
            self.jobs.append(Job(len(self.jobs) + 101, self.changed, story))
            self.changed.notify_all()
            return str(self.jobs[-1].number)

    def job_of(self, number):
        return self.jobs[number - 101]

    def allowed(self, request):
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return request.headers.get("Authorization") == "Basic " + wanted

    def serve(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        raw = request.rfile.read(length)
        body = json.loads(raw) if raw else None
        url = urllib.parse.urlsplit(request.path)
        with self.changed:
            self.seen.append((request.command, request.path, body))
            self.changed.notify_all()
        if not self.allowed(request):
            return self.reply(request, (401, '{"code": 401, "message": '
                                             '"Unauthorized"}'))
        override = self.overrides.get((request.command, url.path))
        if override:
            return self.reply(request, override.pop(0))
        return self.reply(request, self.answer(
            request.command, url.path.strip("/").split("/"), body))

    def answer(self, method, parts, body):
        match (method, *parts):
            case ("GET", "version"):
                return 2
            case ("GET", "2", "features"):
                return ["instance-create-reqv1", "instance-reinstall-reqv1"]
            case ("GET", "2", "info"):
                return self.info
            case ("GET", "2", "instances", name) if name in self.instances:
                return {"name": name, "tags": ["a:b"], "status": "running"}
            case ("GET", "2", "instances", name, "info"):
                return self.submit("info", body, name)
            case ("PUT", "2", "instances", name, "prepare-export"):
                return self.submit("prepare", body, name)
            case ("PUT", "2", "instances", name, "export"):
                return self.submit("export", body, name)
            case ("PUT", "2", "instances", name, "shutdown" | "startup" as kind):
                return self.submit(kind, body, name)
            case ("DELETE", "2", "instances", name):
                return self.submit("remove", body, name)
            case ("POST", "2", "instances"):
                return self.submit("create", body, body["name"])
            case (method, "2", "jobs", number, *rest):
                return self.job_answer(method, int(number), rest, body)
        return (404, '{"code": 404, "message": "Not Found", '
                     '"explain": "Nothing here"}')

    def job_answer(self, method, number, rest, body):
        job = self.job_of(number)
        if method == "DELETE":  # as a master: what runs goes on
            if job.status != "queued":
                return [False, f"Job {number} is running"]
            job.end(Ending("canceled", [None]))
            return [True, f"Job {number} canceled"]
        if rest == ["wait"]:
            return job.wait(body)
        names = ["id", "ops", "status", "summary", "opstatus", "received_ts",
                 "start_ts", "end_ts", "oplog", "opresult"]
        with self.changed:
            return dict(zip(names, job.fields(names)))
