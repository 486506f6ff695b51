#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_rapi_peer.py OURS THEIRS: what our remote API answers and what Debian's
ganeti-rapi answers, at the same master.

Requests are such that change nothing.  Status, content type and JSON have to be
the same, except where a line says which status ours has."""
import http.client
import json
import ssl
import sys

RW, RO, NONE = "cnc6c2VjcmV0", "cm86c2VjcmV0", "bm9uZTpzZWNyZXQ="
WRONG = "cnc6d3Jvbmc="
I1, N2 = "/2/instances/inst1.example.com", "/2/nodes/node2.example.com"
LIMIT_S = 60

# Live data, and lists in the order of a Python set.
UNSTABLE = ("mfree", "mnode", "dfree", "mtime", "received_ts", "start_ts",
            "end_ts")

GETS = [
    "/", "/2", "/version", "/2/info", "/2/os", "/2/tags",
    "/2/nodes", "/2/nodes?bulk=1", N2, N2 + "/role", N2 + "/tags",
    "/2/instances", "/2/instances?bulk=1", "/2/instances?bulk=0", I1,
    "/2/instances/inst2.example.com", I1 + "/tags", I1 + "/console",
    "/2/groups", "/2/groups?bulk=1", "/2/groups/default",
    "/2/groups/default/tags", "/2/networks", "/2/networks?bulk=1",
    "/2/networks/net1", "/2/networks/net1/tags", "/2/filters",
    "/2/filters?bulk=1", "/2/jobs", "/2/jobs?bulk=1", "/2/jobs/1",
    "/2/query/node?fields=name,role", "/2/query/instance?fields=name,+status",
    "/2/query/lock?fields=name", "/2/query/node/fields",
    "/2/query/instance/fields?fields=name,x", "/2/query/node?fields=nosuch",
    # What is not there, or wrong.
    "/2/", "/2/nosuch", "/2/nodes/", "/2/nodes/nosuch", "/2/nodes/a%2fb",
    "/2/instances/nosuch", "/2/groups/nosuch", "/2/networks/nosuch",
    "/2/filters/nosuch", "/2/jobs/x", "/2/instances?bulk=x",
    "/2/query/node", "/2/query/node?fields=", N2 + "/storage",
]

BODIES = [
    ("PUT", "/2/query/node", {"fields": ["name"], "qfilter": None}),
    ("PUT", "/2/query/node?fields=name", {}),
    ("PUT", "/2/query/node", {"fields": ["name"],
                              "filter": ["=", "name", "node1.example.com"]}),
    ("PUT", "/2/query/node", []),
    ("PUT", "/2/query/node", {"fields": []}),
    ("POST", "/2/info", None), ("PATCH", "/2/info", None),
    ("DELETE", "/2/nodes", None), ("DELETE", "/2/jobs/1", None),
    ("GET", "/2/jobs/1/wait", {"fields": ["id", "status"]}),
    ("GET", "/2/jobs/1/wait", {"fields": "id"}),
    ("GET", "/2/jobs/1/wait", {}),
    ("GET", "/2/jobs/1/wait", {"fields": ["id"], "previous_job_info": 1}),
    ("GET", "/2/jobs/1/wait", {"fields": ["id"], "previous_log_serial": "1"}),
    ("POST", "/2/groups", []),
    ("POST", "/2/groups", {"name": "a", "group_name": "b"}),
    ("POST", "/2/groups", {"name": "a", "nosuch": 1}),
    ("PUT", "/2/groups/default/rename", {"new_name": "x", "reason": []}),
    ("PUT", "/2/groups/default/assign-nodes", {"nodes": [], "force": True}),
    ("PUT", "/2/modify", {"compression_tools": ["x"]}),
    ("PUT", "/2/modify?compression_tools=1", None),
    ("PUT", "/2/modify", {"nosuch": 1}),
    ("PUT", N2 + "/role", "nosuch"), ("PUT", N2 + "/role", 1),
    ("PUT", N2 + "/role", None), ("PUT", N2 + "/storage/modify", None),
    ("POST", N2 + "/migrate?live=1&mode=live", None),
    ("POST", "/2/instances", None), ("POST", "/2/instances", []),
    ("POST", "/2/instances", {}), ("POST", "/2/instances", {"__version__": 2}),
    ("POST", "/2/instances", {"__version__": 1, "dry_run": True}),
    ("POST", "/2/instances-multi-alloc", {}),
    ("POST", I1 + "/reinstall?os=a", {"os": "b"}),
    ("POST", I1 + "/reinstall", {"start": 1}),
    ("PUT", I1 + "/startup?force=x", None),
    ("POST", "/2/filters", None), ("POST", "/2/filters", {"nosuch": 1}),
    ("POST", "/2/filters", {"priority": "x"}),
    ("POST", "/2/filters", {"predicates": {}}),
]

# Refusals in words of our own, with the same status.
WORDS = [
    ("POST", "/2/groups", {}), ("POST", "/2/groups", {"name": 1}),
    ("POST", I1 + "/disk/0/grow", None),
    ("POST", I1 + "/disk/0/grow", {"amount": "x"}),
    ("POST", "/2/instances", {"__version__": 1, "mode": "create"}),
    ("POST", "/2/instances-multi-alloc", {"instances": [{"os": "x"}]}),
    ("PUT", I1 + "/prepare-export", None),
    ("POST", I1 + "/reboot?type=x", None),
    ("PUT", N2 + "/storage/repair?name=x", None),
    ("POST", I1 + "/replace-disks", {"mode": "replace_auto", "disks": "x"}),
]

# Where Ganeti's stumbles (500, 502) or answers with nothing, ours says what is
# wrong: (method, path, body, status).
OURS = [
    ("GET", "/2/nodes/nosuch/role", None, 404),
    ("GET", "/2/instances/nosuch/tags", None, 404),
    ("GET", "/2/instances/nosuch/console", None, 404),
    ("DELETE", "/2/filters/nosuch", None, 404),
    ("GET", "/2/jobs/999999", None, 404),
    ("GET", "/2/jobs/99999999999999999999", None, 404),
    ("GET", "/2/jobs/999999/wait", {"fields": ["id"]}, 404),
    ("GET", "/2/jobs/1/wait", None, 400),
    ("GET", "/2/instances?lock=1", None, 400),
    ("PUT", "/2/modify", None, 400),
    ("PUT", I1 + "/modify", None, 400),
    ("POST", "/2/instances-multi-alloc", None, 400),
    ("POST", "/2/instances-multi-alloc", {"instances": 1}, 400),
    ("POST", "/2/filters", {"action": "nosuch"}, 400),
    ("GET", "/2/query/nosuch?fields=a", None, 400),
    ("GET", "/2/query/nosuch/fields", None, 400),
    ("PUT", "/2/query/node", {"fields": ["name"], "qfilter": ["x"]}, 400),
]


class Server:
    def __init__(self, address):
        self.address = address
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def ask(self, method, path, data, headers):
        connection = http.client.HTTPSConnection(
            self.address, context=self.context, timeout=LIMIT_S)
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return (answer.status, answer.getheader("Content-Type"),
                answer.getheader("WWW-Authenticate"), text)


def stable(value):
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in UNSTABLE}
    if isinstance(value, list):
        return [stable(v) for v in value]
    return value


class Peers:
    def __init__(self, ours, theirs):
        self.ours, self.theirs, self.n = Server(ours), Server(theirs), 0

    def point(self, good, name, *why):
        self.n += 1
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)
        for line in why if not good else ():
            print("#", str(line)[:500])

    def both(self, method, path, body, user=RW, kind="application/json"):
        headers, data = {}, None
        if user is not None:
            headers["Authorization"] = "Basic " + user
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body)
            headers["Content-Type"] = kind
        return (self.ours.ask(method, path, data, headers),
                self.theirs.ask(method, path, data, headers))

    def same(self, method, path, body=None, words=True, **kwargs):
        ours, theirs = self.both(method, path, body, **kwargs)
        good = ours[:3] == theirs[:3]
        if good and words:
            good = stable(json.loads(ours[3])) == stable(json.loads(theirs[3]))
        shown = "" if body is None else f" {body}"
        self.point(good, f"{method} {path}{shown}", f"ours   {ours}",
                   f"theirs {theirs}")
        return ours, theirs

    def bytes_too(self, path):
        ours, theirs = self.both("GET", path, None)
        self.point(ours[3] == theirs[3], f"each byte of {path}", ours[3],
                   theirs[3])

    def differ(self, method, path, body, status):
        ours, theirs = self.both(method, path, body)
        self.point(ours[0] == status and theirs[0] != status,
                   f"{method} {path} {body} is {status}", ours, theirs)


def main():
    peers = Peers(*sys.argv[1:])
    for path in GETS:
        peers.same("GET", path)
    for case in BODIES:
        peers.same(*case)
    for case in WORDS:
        peers.same(*case, words=False)
    for case in OURS:
        peers.differ(*case)
    for path in ("/2/nodes", I1, "/2/query/node?fields=name", "/nosuch"):
        peers.bytes_too(path)
    # Who may what.
    for user in (None, RO, NONE, WRONG, "!!", "bm9ib2R5Ong="):
        for method, path in (("GET", "/2/nodes"), ("GET", I1 + "/console"),
                             ("GET", "/2/query/node?fields=name"),
                             ("GET", "/nosuch"), ("PUT", "/2/nosuch")):
            if user != WRONG:  # a few of them, or we wait
                peers.same(method, path, user=user)
    peers.same("GET", "/2/nodes", user=WRONG)
    peers.same("GET", "/2/nodes", user="")
    # Bodies that are none.
    peers.same("PUT", "/2/query/node", b"{", words=True)
    peers.same("PUT", "/2/query/node", b"{}", kind="text/plain")
    print(f"1..{peers.n}")


main()
