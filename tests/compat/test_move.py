#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""move-instance between two clusters that play their parts (TAP), and what
Ganeti's own program asks of them, where that is installed.

    test_move.py BIN     BIN: the folder with move-instance
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_move import (DISKS, INSTANCE, LIMIT_S, PASSWORD, PREPARED,  # noqa: E402
                       USER, FakeCluster, failure, success)
from tap import Tap  # noqa: E402

BIN = pathlib.Path(sys.argv[1])
REFERENCE = pathlib.Path("/usr/lib/ganeti/tools/move-instance")
NAME = INSTANCE["name"]
COPIED = success([True, [True, True]])
ENV = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"],
       "no_proxy": "*",
       **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}


class Flag(threading.Event):
    """Its `hold` is a step of a story that waits for it."""

    def hold(self):
        if not self.wait(LIMIT_S):
            raise TimeoutError("nobody has set the flag")


class Clusters:
    """A source and a destination; the stories of a move that succeeds are
    replaced by those that are given."""

    def __init__(self, export=None, create=None, prepare=None, info=None,
                 shutdown=None, remove=None, startup=None, source=None,
                 dest=None,
                 instances=(NAME,)):
        self.copied = Flag()
        stories = {
            "info": info or (lambda _, name: [
                success({name: dict(INSTANCE, name=name)})]),
            "prepare": prepare or (lambda _, __: [success(PREPARED)]),
            "shutdown": shutdown or (lambda _, __: [success(None)]),
            "startup": lambda _, __: [success(None)],
            "remove": remove or (lambda _, __: [success(None)]),
            "export": export or (lambda _, __: [
                "Sending", self.copied.set, COPIED])}
        self.source = FakeCluster(stories, instances=instances,
                                  **(source or {}))
        self.dest = FakeCluster(
            {"create": create or (lambda _, __: [
                "Creating disks", DISKS, self.copied.hold, success(["n1"])]),
             "startup": startup or (lambda _, __: [success(None)])},
            **(dest or {}))

    def __enter__(self):
        folder = pathlib.Path(self.source.folder.name)
        self.password = folder / "password"
        self.password.write_text(PASSWORD + "\n", encoding="utf-8")
        return self

    def __exit__(self, *_):
        for cluster in (self.source, self.dest):
            cluster.close()

    @staticmethod
    def certificate(cluster):
        return str(pathlib.Path(cluster.folder.name) / "rapi.crt")

    def options(self, **changes):
        """The options about both clusters, one changed or left out (None)."""
        options = {
            "src-rapi-port": self.source.url.rsplit(":", 1)[1],
            "dest-rapi-port": self.dest.url.rsplit(":", 1)[1],
            "src-ca-file": self.certificate(self.source),
            "dest-ca-file": self.certificate(self.dest),
            "src-username": USER, "src-password-file": str(self.password)}
        options.update((k.replace("_", "-"), v) for k, v in changes.items())
        return [f"--{k}={v}" for k, v in options.items() if v is not None]

    def start(self, *words, program=BIN / "move-instance", instances=(NAME,),
              **changes):
        """With a process group of its own, so that it is seen what is left.
        `localhost` is the source's name, so that the two have different ones."""
        # pylint: disable-next=consider-using-with
        return subprocess.Popen(
            [str(program), *self.options(**changes), *words, "localhost",
             "127.0.0.1", *instances], env=ENV, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def move(self, *words, **changes):
        return finish(self.start(*words, **changes))


class Result:
    def __init__(self, code, out, err, left):
        self.code, self.out, self.err, self.left = code, out, err, left

    def details(self):
        return [str(self.code), *self.out.splitlines(),
                *self.err.splitlines()]


def finish(process):
    out, err = process.communicate(timeout=LIMIT_S)
    try:
        os.killpg(process.pid, 0)
        left = True
    except ProcessLookupError:
        left = False
    return Result(process.returncode, out, err, left)


def asked(cluster, method, part):
    """The bodies of such requests, in their order."""
    return [body for m, path, body in list(cluster.seen)
            if m == method and part in path]


def has_all(text, *parts):
    """Whether the parts stand there in this order."""
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def point(tap, result, name, ok):
    """Every run hides the password and leaves no process."""
    ok = ok and PASSWORD not in result.out + result.err and not result.left
    tap.point(ok, name, result.details())


# --- what goes well ---

def test_success(tap):
    with Clusters() as c:
        r = c.move("-v")
        point(tap, r, "an instance moves", r.code == 0 and r.err == "")
        point(tap, r, "and each step is told", has_all(
            r.out, "preparing the export on localhost", "creating",
            "Creating disks", "shutting down on localhost",
            "copying 2 disks, 1536 MiB", "Sending", "starting on 127.0.0.1",
            "removing it from localhost", f"{NAME}: moved to 127.0.0.1"))
        export = asked(c.source, "PUT", "/export")[0]
        point(tap, r, "the source sends to where it is awaited",
              export["destination"] == DISKS["disks"] and
              export["destination_x509_ca"] == DISKS["x509_ca"] and
              export["x509_key_name"] == PREPARED["x509_key_name"] and
              export["mode"] == "remote")
        point(tap, r, "and removes nothing before it is told to",
              not export["remove_instance"] and
              len(asked(c.source, "DELETE", NAME)) == 1)
        create = asked(c.dest, "POST", "/2/instances")[0]
        point(tap, r, "the destination gets what the source has signed",
              create["source_handshake"] == PREPARED["handshake"] and
              create["source_x509_ca"] == PREPARED["x509_ca"] and
              create["tags"] == ["a:b"] and
              [d["size"] for d in create["disks"]] == [1024, 512])
        point(tap, r, "what is secret is not told", not any(
            text in r.out for text in ("magic", "hmac", "salt", "CA of")))


def test_quiet(tap):
    with Clusters() as c:
        r = c.move("--dest-instance-name=new.example.com")
        point(tap, r, "without -v there is one line a step",
              r.code == 0 and len(r.out.splitlines()) == 7 and
              r.out.endswith("moved to 127.0.0.1 as new.example.com\n"))
        create = asked(c.dest, "POST", "/2/instances")[0]
        point(tap, r, "it may have another name there",
              create["name"] == "new.example.com" and
              create["source_instance_name"] == NAME)


def test_parallel(tap):
    names = ("a.example.com", "b.example.com", "c.example.com")
    both = {name: Flag() for name in names[:2]}

    def create(_, name):
        """The first two wait for each other, so they have to overlap."""
        if name not in both:
            return [failure("no room")]
        other = both[names[1 - names.index(name)]]
        return [both[name].set, other.hold, DISKS, success([])]

    with Clusters(create=create, instances=names,
                  export=lambda _, __: [COPIED]) as c:
        r = c.move("-p2", instances=names)
        point(tap, r, "two move at the same time, and a third one fails alone",
              r.code == 1 and all(f"{n}: moved" in r.out for n in names[:2])
              and f"{names[2]}: not moved" in r.err and "no room" in r.err
              and "2 of 3 instances have moved" in r.out)


def test_opportunistic(tap):
    attempts = []

    def create(body, _):
        attempts.append(body["opportunistic_locking"])
        if len(attempts) < 3:
            return [failure("all are locked", "temp_insufficient_resources")]
        return [DISKS, success([])]

    with Clusters(create=create, export=lambda _, __: [COPIED]) as c:
        r = c.move("-Ihail", "--opportunistic-tries=2",
                   "--opportunistic-delay=1")
        point(tap, r, "free nodes are tried first, then all",
              r.code == 0 and attempts == [True, True, False] and
              r.out.count("all are locked") == 2)


def test_trouble(tap):
    """The remote API is away for a moment, twice, and then lets nobody wait."""
    away = (502, '{"code": 502, "explain": "no master"}')
    refused = (403, '{"code": 403}')
    with Clusters(dest={"overrides": {
            ("GET", "/2/jobs/101/wait"): [away, refused, refused],
            ("GET", "/2/jobs/101"): [away]}}) as c:
        r = c.move()
        point(tap, r, "an answer that is missing ends no copy", r.code == 0)


# --- what does not ---

def test_import_fails(tap):
    with Clusters(create=lambda _, __: [
            "Choosing nodes", failure("no node has room")]) as c:
        r = c.move()
        point(tap, r, "an import that fails is told", r.code == 1 and has_all(
            r.err, f"{NAME}: not moved: job 101 (import) on 127.0.0.1 failed: "
            "no node has room"))
        point(tap, r, "and nothing is exported",
              not asked(c.source, "PUT", "/export"))


def test_import_refused(tap):
    with Clusters(create=lambda _, __: (400, json.dumps(
            {"code": 400, "message": "Bad Request",
             "explain": "no such\x1b[31m template"}))) as c:
        r = c.move()
        point(tap, r, "a creation that is refused says why, on one plain line",
              r.code == 1 and "no such?[31m template" in r.err)


def test_export_fails(tap):
    with Clusters(
            create=lambda _, __: [DISKS, c.asked_to_end,
                                  failure("nobody has connected")],
            export=lambda _, __: [failure("it does not stop")]) as c:
        c.asked_to_end = lambda: wait_for(
            c.dest, lambda: asked(c.dest, "DELETE", "/2/jobs/101"))
        r = c.move()
        point(tap, r, "an export that fails is told first", r.code == 1 and
              has_all(r.err, "job 104 (export) on localhost failed: it does "
                      "not stop", "; then job 101 (import) on 127.0.0.1 "
                      "failed: nobody has connected"))
        point(tap, r, "the instance runs again where it was",
              len(asked(c.source, "PUT", "/startup")) == 1 and
              not asked(c.source, "DELETE", NAME))
        point(tap, r, "and nobody waits for the import",
              len(asked(c.dest, "DELETE", "/2/jobs/101")) == 1)


def test_no_shutdown(tap):
    with Clusters(
            create=lambda _, __: [DISKS, c.asked_to_end,
                                  failure("nobody has connected")],
            shutdown=lambda _, __: [failure("it hangs")]) as c:
        c.asked_to_end = lambda: wait_for(
            c.dest, lambda: asked(c.dest, "DELETE", "/2/jobs/101"))
        r = c.move()
        point(tap, r, "one that does not stop is not copied", r.code == 1 and
              has_all(r.err, "job 103 (shutdown) on localhost failed: it hangs",
                      "; then job 101 (import)") and
              not asked(c.source, "PUT", "/export") and
              len(asked(c.source, "PUT", "/startup")) == 1)


def test_down(tap):
    down = dict(INSTANCE, config_state="down")
    with Clusters(info=lambda _, __: [success({NAME: down})]) as c:
        r = c.move()
        point(tap, r, "one that is down is not stopped, nor started",
              r.code == 0 and not asked(c.source, "PUT", "/shutdown") and
              not asked(c.dest, "PUT", "/startup"))


def test_no_disks(tap):
    bare = dict(INSTANCE, disks=[], disk_template="diskless")
    with Clusters(info=lambda _, __: [success({NAME: bare})]) as c:
        r = c.move()
        point(tap, r, "one without disks is not moved", r.code == 1 and
              "It has no disks" in r.err and len(c.source.jobs) == 1 and
              not c.dest.jobs)


def test_half_import(tap):
    """Ganeti's import warns of disks that have not come, and succeeds."""
    with Clusters(create=lambda _, __: [
            DISKS, c.copied.hold, "Some disks for instance web1 on node n1 were "
            "not imported successfully", success([])]) as c:
        r = c.move()
        point(tap, r, "disks that have not come are a failure", r.code == 1 and
              "disks have not come whole" in r.err)
        point(tap, r, "then nothing is started there, and nothing removed here",
              not asked(c.dest, "PUT", "/startup") and
              len(asked(c.source, "PUT", "/startup")) == 1 and
              not asked(c.source, "DELETE", NAME))


def test_no_start(tap):
    with Clusters(startup=lambda _, __: [failure("no memory")]) as c:
        r = c.move()
        point(tap, r, "one that does not start there is on both, and down here",
              r.code == 1 and has_all(r.err, "does not start it", "no memory",
                                      "it may be down on localhost") and
              not asked(c.source, "PUT", "/startup") and
              not asked(c.source, "DELETE", NAME))


def test_import_fails_last(tap):
    """The source has sent all, and the destination loses it."""
    sent = Flag()
    with Clusters(
            create=lambda _, __: [DISKS, sent.hold, c.sent_all,
                                  failure("the disk is full")],
            export=lambda _, __: [sent.set, COPIED]) as c:
        c.sent_all = lambda: c.source.job_of(104).has_ended()
        r = c.move()
        point(tap, r, "what the destination loses is there yet",
              r.code == 1 and "the disk is full" in r.err and
              not asked(c.source, "DELETE", NAME))
        point(tap, r, "and runs",
              len(asked(c.source, "PUT", "/startup")) == 1)


def test_not_removed(tap):
    with Clusters(remove=lambda _, __: [failure("a lock is held")]) as c:
        r = c.move()
        point(tap, r, "a source that is not removed is told", r.code == 1 and
              has_all(r.err, "127.0.0.1 has it, but it has to be removed from "
                      "localhost", "a lock is held") and
              not asked(c.source, "PUT", "/startup"))


def test_keep(tap):
    with Clusters() as c:
        r = c.move("--keep-source-instance")
        point(tap, r, "one that stays is stopped by its export alone",
              r.code == 0 and not asked(c.source, "PUT", "/shutdown") and
              not asked(c.source, "DELETE", NAME) and
              not asked(c.dest, "PUT", "/startup"))


def test_export_refused(tap):
    with Clusters(create=lambda _, __: [DISKS, c.refused.hold,
                                        failure("time-out")],
                  export=lambda _, __: (c.refused.set() or
                                        (503, '{"explain": "drained"}'))) as c:
        c.refused = Flag()
        r = c.move()
        point(tap, r, "an export that is not taken ends the import, too",
              r.code == 1 and has_all(r.err, "drained", "; then job 101") and
              len(asked(c.dest, "DELETE", "/2/jobs/101")) == 1)


def test_import_dies(tap):
    begun, gone = Flag(), Flag()
    with Clusters(
            create=lambda _, __: [DISKS, begun.hold, gone.set,
                                  failure("the disk is full")],
            export=lambda _, __: [begun.set, gone.hold,
                                  c.dest_has_ended,
                                  failure("connection closed")]) as c:
        c.dest_has_ended = lambda: c.dest.job_of(101).has_ended()
        r = c.move()
        point(tap, r, "when the import dies both failures are told",
              r.code == 1 and "the disk is full" in r.err and
              "connection closed" in r.err)


def test_export_waits(tap):
    """One that has not begun is canceled, before it stops the instance."""
    with Clusters(
            create=lambda _, __: [DISKS, c.export_is_there,
                                  failure("the node is gone")],
            export=lambda _, __: []) as c:
        c.export_is_there = lambda: wait_for(
            c.source, lambda: len(c.source.jobs) == 4)
        r = c.move()
        point(tap, r, "an export that has not begun is canceled",
              r.code == 1 and has_all(
                  r.err, "the node is gone", "; then job 104 (export) on "
                  "localhost failed: it was canceled"))


def test_half(tap):
    with Clusters(export=lambda _, __: [c.copied.set,
                                        success([True, [True, False]])]) as c:
        r = c.move()
        point(tap, r, "a disk that was not copied is a failure",
              r.code == 1 and "these disks were not copied: 1" in r.err)


BAD_IMPORT = {"disks": DISKS["disks"][:1], "x509_ca": "CA"}
BAD_ANSWERS = [
    ("an answer that is no instance", {"info": lambda _, __: [success([])]},
     "not understood"),
    ("a query that fails", {"info": lambda _, __: [failure("no lock")]},
     "no lock"),
    ("an export that was not prepared",
     {"prepare": lambda _, __: [success({"handshake": []})]}, "handshake"),
    ("a job that is none",
     {"prepare": lambda _, __: (200, '"../101"')}, "no job"),
    ("an import that awaits too little",
     {"create": lambda _, __: [BAD_IMPORT, failure("time-out")]}, "1 disks"),
    ("an import that ends at once",
     {"create": lambda _, __: [success([])]}, "without any data"),
    ("a log that is none",
     {"source": {"overrides": {("GET", "/2/jobs/101/wait"):
                               [{"job_info": ["running"],
                                 "log_entries": 7}]}}}, "no list"),
    ("a job that is forgotten",
     {"source": {"overrides": {("GET", "/2/jobs/101/wait"): [(404, "{}")],
                               ("GET", "/2/jobs/101"): [(404, "{}")]}}},
     "Cannot follow job 101"),
    ("no JSON",
     {"source": {"overrides": {("GET", f"/2/instances/{NAME}"):
                               [(200, "<html>")]}}}, "Cannot read"),
]


def test_bad_answers(tap):
    for name, changes, named in BAD_ANSWERS:
        with Clusters(**changes) as c:
            r = c.move()
            point(tap, r, f"{name}: told", r.code == 1 and named in r.err and
                  not asked(c.source, "PUT", "/export"))


def test_unknown(tap):
    with Clusters() as c:
        r = c.move(instances=("other.example.com",))
        point(tap, r, "an instance that is not there", r.code == 1 and
              "localhost has no such instance" in r.err)


# --- clusters ---

def test_password(tap):
    with Clusters() as c:
        c.password.write_text("wrong\n", encoding="utf-8")
        r = c.move()
        point(tap, r, "a wrong password: nothing is begun",
              r.code == 1 and f"'{USER}'" in r.err and
              "wrong" not in r.err and len(c.source.seen) == 1 and
              not c.dest.seen)
        r = c.move(src_password_file="/nowhere/password")
        point(tap, r, "a password that is not there", r.code == 1 and
              "/nowhere/password" in r.err)


def test_certificates(tap):
    with Clusters() as c:
        r = c.move(dest_ca_file=c.certificate(c.source))
        point(tap, r, "a certificate of somebody else is not taken",
              r.code == 1 and "127.0.0.1" in r.err and not c.dest.seen)
        r = c.move(src_ca_file=None, dest_ca_file=None)
        point(tap, r, "without one the system's authorities decide",
              r.code == 1 and not c.dest.seen and len(c.source.seen) == 1)


def test_unreachable(tap):
    with socket.socket() as taken, Clusters() as c:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        r = c.move(dest_rapi_port=taken.getsockname()[1])
        point(tap, r, "a cluster that is not reached: nothing is begun",
              r.code == 1 and "127.0.0.1" in r.err and
              [path for _, path, _ in c.source.seen] == ["/2/info"])


def test_placing(tap):
    with Clusters(dest={"info": {"name": "x", "default_iallocator": ""}}) as c:
        r = c.move()
        point(tap, r, "without an allocator a node has to be named",
              r.code == 1 and "--dest-primary-node" in r.err and
              not asked(c.dest, "POST", ""))
        r = c.move("--dest-primary-node=n1")
        point(tap, r, "and then it is taken", r.code == 0 and
              asked(c.dest, "POST", "")[0]["pnode"] == "n1")


def wait_for(cluster, condition):
    with cluster.changed:
        if not cluster.changed.wait_for(condition, LIMIT_S):
            raise TimeoutError("it never came to that")


def test_interrupt(tap):
    end = Flag()
    with Clusters(export=lambda _, __: [end.hold, COPIED],
                  create=lambda _, __: [DISKS, end.hold, success([])],
                  instances=(NAME, "b.example.com")) as c:
        process = c.start("-p1", instances=(NAME, "b.example.com"))
        wait_for(c.source, lambda: len(c.source.jobs) == 4)
        os.kill(process.pid, signal.SIGINT)
        r = finish(process)
        point(tap, r, "who is interrupted says which jobs go on",
              r.code == 1 and has_all(
                  r.err, f"{NAME}: not moved: Interrupted", "job 104 (export) "
                  "on localhost goes on", "job 101 (import) on 127.0.0.1 goes "
                  "on"))
        point(tap, r, "and begins no other one",
              "1 instances were not begun" in r.err and
              "0 of 2 instances have moved" in r.out)
        end.set()


# --- Ganeti's own program ---

def test_reference(tap):
    """What it asks for is what ours does, but for what is better so: a disk
    without a name is called None, an interface in a network has a mode, which
    clusters refuse, tags stay behind, the import starts the instance and the
    export removes it."""
    name = "Ganeti's program asks for the same"
    if not REFERENCE.exists():
        tap.point(True, name, skip="it is not installed")
        return
    bodies = []
    for program in (BIN / "move-instance", REFERENCE):
        with Clusters() as c:
            r = c.move("-Ihail", program=program)
            create = asked(c.dest, "POST", "/2/instances")[0]
            export = asked(c.source, "PUT", "/export")[0]
            create["disks"][1].pop("name", None)
            create["nics"] = [{k: v for k, v in nic.items() if v}
                              for nic in create["nics"][:1]]
            bodies.append(({k: v for k, v in create.items()
                            if v is not None and k not in ("tags", "start",
                                                           "name_check")},
                           {k: v for k, v in export.items()
                            if k not in ("remove_instance", "long_sleep")}))
            tap.point(r.code == 0, f"{program.parent} moves it", r.details())
    tap.point(bodies[0] == bodies[1], name,
              [json.dumps(b, sort_keys=True) for b in bodies])


def main():
    tap = Tap()
    for test in (test_success, test_quiet, test_parallel, test_opportunistic,
                 test_trouble, test_import_fails, test_import_refused,
                 test_export_fails, test_no_shutdown, test_down,
                 test_no_disks, test_half_import, test_no_start,
                 test_import_fails_last, test_not_removed, test_keep,
                 test_export_refused, test_import_dies,
                 test_export_waits, test_half, test_bad_answers, test_unknown,
                 test_password, test_certificates, test_unreachable,
                 test_placing, test_interrupt, test_reference):
        test(tap)
    return tap.end()


sys.exit(main())
