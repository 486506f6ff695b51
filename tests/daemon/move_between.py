#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""move_between.py SOURCE TARGET: the requests of a move between two clusters,
whose remote APIs these are (HOST:PORT, user rw:secret), right ones and wrong
ones.  The instance web1 of the source has two disks and the OS "copy"; folders
of its scripts are in the environment.  Prints TAP without a plan."""
import base64
import copy
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

SOURCE, TARGET = sys.argv[1:3]
WAIT_S = 60
FINAL = ("success", "error", "canceled")
DISKS = [{"size": 12}, {"size": 4}]


def context():
    return ssl._create_unverified_context()  # pylint: disable=protected-access


def point(good, name, *why):
    print(("ok - " if good else "not ok - ") + name, flush=True)
    if not good:
        for line in why:
            print("#", str(line).replace("\n", "\n# "), flush=True)


def ask(cluster, method, path, body=None):
    word = base64.b64encode(b"rw:secret").decode()
    request = urllib.request.Request(
        f"https://{cluster}{path}", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Basic {word}",
                 "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, context=context(),
                                    timeout=WAIT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        return {"refused": json.load(e)}


def job(cluster, number):
    return ask(cluster, "GET", f"/2/jobs/{number}")


def until(what, condition):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    print(f"Bail out! waited in vain for {what}")
    sys.exit(1)


def ended(cluster, number):
    """The job when it is final."""
    def look():
        state = job(cluster, number)
        return state if state["status"] in FINAL else None
    return until(f"job {number}", look)


def outcome(cluster, number):
    """Its status, and what it says."""
    state = ended(cluster, number)
    return state["status"], json.dumps(state["opresult"])


def prepare():
    number = ask(SOURCE, "PUT", "/2/instances/web1/prepare-export?mode=remote")
    return ended(SOURCE, number)["opresult"][0]


def creation(prepared, **other):
    body = {"__version__": 1, "mode": "remote-import", "instance_name": "moved",
            "name_check": False, "ip_check": False, "disk_template": "file",
            "os_type": "copy", "pnode": "node1", "disks": DISKS, "nics": [],
            "source_instance_name": "web1",
            "source_handshake": prepared["handshake"],
            "source_x509_ca": prepared["x509_ca"]}
    body.update(other)
    return {key: value for key, value in body.items() if value is not None}


def create(prepared, **other):
    return ask(TARGET, "POST", "/2/instances", creation(prepared, **other))


def waiting(number):
    """What the import's log says of where it waits."""
    def look():
        state = job(TARGET, number)
        if state["status"] in FINAL:
            print(f"Bail out! the import ended: {state['opresult']}")
            sys.exit(1)
        for log in state["oplog"]:
            for entry in log:
                if entry[2] == "remote-import":
                    return entry[3]
        return None
    return until("the import to listen", look)


def export(prepared, where, **other):
    body = {"mode": "remote", "destination": where["disks"],
            "destination_x509_ca": where["x509_ca"],
            "x509_key_name": prepared["x509_key_name"],
            "shutdown": True, "remove_instance": True}
    body.update(other)
    return ask(SOURCE, "PUT", "/2/instances/web1/export",
               {key: value for key, value in body.items() if value is not None})


def end_import(number):
    ask(TARGET, "DELETE", f"/2/jobs/{number}?kill=1")
    return ended(TARGET, number)["status"]


def names(cluster):
    return [i["id"] for i in ask(cluster, "GET", "/2/instances")]


def is_up():
    return ask(SOURCE, "GET", "/2/instances/web1")["status"] == "running"


def refused(number, cluster, part, name):
    status, said = outcome(cluster, number)
    point(status == "error" and part in said, name, status, said)


def check_preparation(prepared):
    status = ask(SOURCE, "PUT", "/2/instances/web1/prepare-export?mode=local")
    point(ended(SOURCE, status)["opresult"] == [None],
          "an export within the cluster needs nothing")
    point(sorted(prepared) == ["disk_sizes", "handshake", "x509_ca",
                               "x509_key_name"] and
          prepared["handshake"][0] == 0 and
          prepared["x509_ca"].startswith("X-Ganeti-Signature: "),
          "what the other cluster has to know is as Ganeti's, and sizes", prepared)


def check_creations(prepared):
    """Only a cluster with the same secret may send."""
    for missing in ("source_handshake", "source_x509_ca",
                    "source_instance_name"):
        refused(create(prepared, **{missing: None}), TARGET, missing,
                f"an import without {missing} is refused")
    refused(create(prepared, source_handshake=[0, "00", "salt"]), TARGET,
            "same domain secret", "one with a false handshake")
    refused(create(prepared, source_handshake=[1, "00", "salt"]), TARGET,
            "version 1", "one by another version")
    refused(create(prepared, source_x509_ca=prepared["x509_ca"].replace(
        "X-Ganeti-Signature: ", "X-Ganeti-Signature: 0")), TARGET,
            "same domain secret", "one with a certificate that nobody vouches for")
    refused(create(prepared, mode="create"), TARGET, "only for the mode",
            "a creation has no source")
    point(names(TARGET) == [], "nothing is left of them", names(TARGET))


def check_exports(prepared, where):
    """The source sends nowhere else."""
    elsewhere = copy.deepcopy(where)
    elsewhere["disks"][1][1] += 1
    refused(export(prepared, elsewhere), SOURCE, "disk/1",
            "an export to another port is refused")
    elsewhere = copy.deepcopy(where)
    elsewhere["disks"].reverse()
    refused(export(prepared, elsewhere), SOURCE, "disk/0",
            "one with the disks in another order")
    elsewhere = dict(where, disks=where["disks"][:1])
    refused(export(prepared, elsewhere), SOURCE, "waits for 1",
            "one to fewer disks")
    refused(export(prepared, where, x509_key_name=["x509-other", "00", "salt"]),
            SOURCE, "x509_key_name", "one with the name of another key")
    refused(export(prepared, where, destination_x509_ca=None), SOURCE,
            "destination_x509_ca", "one that expects nobody's certificate")
    refused(export(prepared, where, destination="node2"), SOURCE,
            "list of places", "one to a node")
    refused(export(prepared, where, mode="local"), SOURCE, "is a node",
            "a list of places is for other clusters")
    point(is_up(), "the instance was not touched")


def check_lost_import():
    """The import ends before anything is sent."""
    prepared = prepare()
    number = create(prepared)
    where = waiting(number)
    point(end_import(number) == "error", "an import can be ended")
    # Nobody listens there any more, so the export would try for minutes.
    sending = export(prepared, where)
    until("the export to send",
          lambda: "Sending disk/0" in json.dumps(job(SOURCE, sending)["oplog"]))
    ask(SOURCE, "DELETE", f"/2/jobs/{sending}?kill=1")
    point(ended(SOURCE, sending)["status"] == "error", "and so can the export")
    until("the instance to run", is_up)
    point(True, "the instance runs again")
    until("the import to be gone", lambda: names(TARGET) == [])
    point(True, "and nothing is left of it on the other cluster")


def check_broken_export(flag):
    """The target must not take the half for the whole."""
    prepared = prepare()
    number = create(prepared)
    where = waiting(number)
    with open(flag, "w", encoding="ascii") as file:
        file.write(os.environ["OTHER_CAME"])
    sending = export(prepared, where)
    refused(sending, SOURCE, "exit code 3", "an export script that fails ends it")
    point("no way out" in json.dumps(job(SOURCE, sending)["oplog"]),
          "and what it said is told")
    point(is_up(), "the instance runs again")
    refused(number, TARGET, "failed receiving data",
            "the import knows that it has not all")
    point(names(TARGET) == [], "nothing is left of it", names(TARGET))
    os.unlink(flag)


def check_move(prepared, number, where, compress):
    sending = export(prepared, where, compress=compress)
    status, said = outcome(SOURCE, sending)
    point((status, said) == ("success", "[[true, [true, true]]]"),
          "the source has sent all", status, said)
    status, said = outcome(TARGET, number)
    point(status == "success", "the other cluster has it", status, said)
    point(names(SOURCE) == [] and names(TARGET) == ["moved"],
          "it is there and not here", names(SOURCE), names(TARGET))


def main():
    prepared = prepare()
    check_preparation(prepared)
    check_creations(prepared)
    check_lost_import()
    check_broken_export(os.environ["BROKEN_EXPORT"])
    number = create(prepared, compress="gzip")
    where = waiting(number)
    point(len(where["disks"]) == 2, "the import says where it waits", where)
    check_exports(prepared, where)
    check_move(prepared, number, where, "gzip")


main()
