#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_luxi.py SOCKET: what LUXI of Ganeti 3.0.2 answers, asked of our master.
test_luxi.py SOCKET --dump FILE: all values of all objects, for
test_luxi.py SOCKET --same FILE: which says where a master has others.

Values belong to the cluster that was recorded; compared is what a client relies
on: success, the class of an error and its kind, whether the connection stays,
the types of a result and the members of its objects.  Cases:
luxi-semantics.json and luxi-inventory.json beside this file, and all queries of
../shared/cases/luxi where that is present.
"""
import glob
import json
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "..", "..", "..", "shared", "cases", "luxi")
ETX = b"\3"
LIMIT_S = 60

n_points = 0
failed = False


def point(good, name, why=""):
    global n_points, failed
    n_points += 1
    print(f"{'ok' if good else 'not ok'} {n_points} - {name}")
    if not good:
        failed = True
        for line in str(why).splitlines():
            print("#", line)


class Connection:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(path)

    def ask(self, text):
        """The answer as an object."""
        self.sock.sendall(text.encode() + ETX)
        data = b""
        while not data.endswith(ETX):
            more = self.sock.recv(1 << 16)
            if not more:
                raise EOFError("closed without an answer")
            data += more
        return json.loads(data[:-1])

    def call(self, method, *args):
        return self.ask(json.dumps({"method": method, "args": args}))

    def is_closed(self):
        """The master closes after what it cannot understand; one that has not
        answers the next request instead."""
        try:
            return not self.call("QueryConfigValues", [])["success"]
        except (EOFError, OSError):
            return True


def kind(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "text", list: "list", dict: "object",
            type(None): "null"}[type(value)]


def shape(value, depth):
    """Types, the members of objects, the first of a list, so deep."""
    if depth > 0 and isinstance(value, dict):
        return {k: shape(v, depth - 1) for k, v in sorted(value.items())}
    if depth > 0 and isinstance(value, list):
        return [shape(v, depth - 1) for v in value[:1]]
    return kind(value)


def outcome(answer, depth):
    """What is compared of an answer."""
    result = answer["result"]
    if answer["success"]:
        return shape(result, depth)
    if isinstance(result, str):
        return "not understood"
    name, args = result
    return [name, len(args)] + (args[1:] if name == "OpPrereqError" else [])


def fits(ours, theirs):
    """An empty list of one side says nothing of the other's members."""
    if isinstance(ours, list) and isinstance(theirs, list) and (
            not ours or not theirs):
        return True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            fits(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(fits, ours, theirs))
    return ours == theirs


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


def before(luxi, method, ids, args):
    """What the recorder did between two cases."""
    if method != "end":
        luxi.call(method, *args)
        return
    state = ["waiting"]
    while state[0] not in ("success", "error", "canceled"):
        state = luxi.call("WaitForJobChange", ids[args[0]], ["status"], state,
                          None, 10)["result"][0]


def check_semantics(path):
    """One after the other: later ones speak of the jobs of earlier ones.  What
    KNOWN_DELTAS.md says of a case is its "ours"."""
    ids = {}
    steady = Connection(path)
    for case in read("luxi-semantics.json"):
        for method, *args in case.get("before", []):
            before(steady, method, ids, args)
        request = case["request"]
        for word, number in ids.items():
            request = request.replace(word, str(number))
        connection = Connection(path)
        answer = connection.ask(request)
        got = outcome(answer, case["depth"])
        for word, place in case.get("jobs", {}).items():
            number = answer["result"]
            for step in place:
                number = number[step]
            ids[word] = number
        wanted = case.get("ours", case["outcome"])
        good = fits(got, wanted)
        if good and case["closed"] is not None:
            good = connection.is_closed() == case["closed"]
        connection.sock.close()
        point(good, case["name"],
              f"request: {request[:300]}\nours: {str(got)[:1500]}\n"
              f"wanted: {str(wanted)[:1500]}")


def check_fields(luxi, what, wanted):
    """wanted: [[name, title, kind]], or only names."""
    fields = luxi.call("QueryFields", what, None)["result"]["fields"]
    ours = {f["name"]: [f["title"], f["kind"]] for f in fields}
    differ = {n: ours.get(n) for n, *rest in wanted
              if n not in ours or rest and ours[n] != rest}
    more = sorted(set(ours) - {n for n, *_ in wanted})
    point(not more, f"{what} has no others", more)
    point(not differ, f"{what} has its {len(wanted)} fields", differ)
    point(all(f["doc"] for f in fields), f"each field of {what} has a text")
    answer = luxi.call("Query", what, [n for n, *_ in wanted], None)
    point(answer["success"] and all(
        len(row) == len(wanted) and all(cell[0] != 1 for cell in row)
        for row in answer["result"]["data"]),
        f"a query of {what} answers all of them", answer["result"])


# [kind, filter, the names that pass or the class of the error]
FILTERS = [
    ["instance", ["&", ["?", "disks_active"], ["=", "pnode", "node1"]],
     ["inst1"]],
    ["instance", ["|", ["==", "name", "inst1"], ["=~", "name", "3$"]],
     ["inst1", "inst3"]],
    ["instance", ["!", ["==", "pnode", "node1.example.com"]],
     ["inst2", "inst3"]],
    ["instance", ["!=", "name", "inst1"], ["inst2", "inst3"]],
    ["instance", ["<", "be/memory", 64], []],
    ["instance", ["<=", "be/memory", 64], ["inst1", "inst2", "inst3"]],
    ["instance", [">", "name", "inst2"], ["inst3"]],
    ["instance", [">=", "name", "inst2"], ["inst2", "inst3"]],
    ["instance", ["=[]", "tags", "blue"], ["inst2"]],
    ["instance", ["==", "status", "ADMIN_down"], ["inst3"]],
    ["node", ["|", ["=", "name", "node2"]], ["node2.example.com"]],
    ["instance", ["==", "be/memory", "64"], "ParameterError"],
    ["instance", ["<", "name", 5], "ParameterError"],
    ["instance", ["?", "name"], "ParameterError"],
    ["instance", ["=~", "be/memory", "6"], "ParameterError"],
    ["instance", ["?", "be/memory"], "ParameterError"],
    ["instance", ["=", "be/memory", 64.5], "not understood"],
    ["instance", ["==", "nosuch", 1], "ParameterError"],
    ["instance", ["=", "name", "nosuch"], "OpPrereqError"],
    ["instance", ["==", "name", None], "not understood"],
    ["instance", ["=~", "name", "("], "not understood"],
    ["instance", ["!"], "not understood"],
    ["instance", [], "not understood"],
]


def filtered(path, what, qfilter):
    """As the third of FILTERS, and the whole answer."""
    luxi = Connection(path)
    answer = luxi.call("Query", what, ["name"], qfilter)
    luxi.sock.close()
    result = answer["result"]
    if answer["success"]:
        return [row[0][1] for row in result["data"]], answer
    if isinstance(result, str):
        return "not understood", answer
    return result[0], answer


def check_filters(path):
    for what, qfilter, wanted in FILTERS:
        got, answer = filtered(path, what, qfilter)
        point(got == wanted, f"{what} {json.dumps(qfilter)}",
              json.dumps(answer)[:500])


def check_inventory(path):
    inventory = read("luxi-inventory.json")
    luxi = Connection(path)
    info = luxi.call("QueryClusterInfo")["result"]
    point(set(info) == set(inventory["cluster_info"]),
          f"QueryClusterInfo has its {len(inventory['cluster_info'])} members",
          sorted(set(info) ^ set(inventory["cluster_info"])))
    fields = {what: [[name] for name in names]
              for what, names in inventory["names"].items()}
    fields.update(read("fields.json"))
    for what, wanted in fields.items():
        check_fields(luxi, what, wanted)
    for method in inventory["methods"]:
        answer = Connection(path).ask(json.dumps({"method": method,
                                                  "args": [[]] * 9}))
        point("unknown method" not in str(answer["result"]),
              f"there is {method}", answer)


def recorded_queries():
    """{(method, what, fields): the recorded answer}, each once."""
    found = {}
    for name in sorted(glob.glob(os.path.join(SHARED, "*.json"))):
        with open(name, encoding="utf-8") as file:
            exchanges = json.load(file).get("exchanges", [])
        for exchange in exchanges:
            request, answer = exchange["request"], exchange.get("response")
            method = request.get("method", "")
            if not method.startswith("Query") or not answer or \
                    not answer.get("success"):
                continue
            args = request["args"]
            what = args[0] if method in ("Query", "QueryFields") else None
            fields = json.dumps(args[1] if len(args) > 1 else args)
            found.setdefault((method, what, fields),
                             (request, answer["result"],
                              os.path.basename(name)))
    return found


def check_recorded(path):
    """The same request; names that are not here make it one for all."""
    if not os.path.isdir(SHARED):
        return
    for (method, what, _), (request, theirs, name) in \
            recorded_queries().items():
        args = list(request["args"])
        if method == "Query":
            args[2] = None
        elif method in ("QueryNodes", "QueryInstances", "QueryGroups",
                        "QueryNetworks", "QueryJobs"):
            args[0] = []
        elif method == "QueryFilters":
            args[0] = None
        elif method == "QueryTags":
            args = ["cluster", ""]
        luxi = Connection(path)
        answer = luxi.call(method, *args)
        luxi.sock.close()
        good, ours = answer["success"], answer["result"]
        if good and method in ("Query", "QueryFields"):
            fields = [[(f["name"], f["title"], f["kind"])
                       for f in r["fields"]] for r in (ours, theirs)]
            good = fields[0] == fields[1]
            ours, theirs = fields
        elif good:
            ours, theirs = shape(ours, 1), shape(theirs, 1)
            good = fits(ours, theirs)
        point(good, f"{method} {what or ''} as in {name}",
              f"{json.dumps(request)[:300]}\nours: {str(ours)[:1500]}\n"
              f"theirs: {str(theirs)[:1500]}")


# --- two masters with the same configuration ---

# What cannot be the same: what KNOWN_DELTAS.md says of nodes, and who answers.
OTHER = {("node", "hv_state"), ("node", "disk_state"),
         ("cluster", "vcs_version")}
NORMAL, NO_DATA = 0, 2


def all_values(path):
    luxi = Connection(path)
    values = {"cluster": [luxi.call("QueryClusterInfo")["result"]]}
    for what in ("node", "instance", "group", "network", "job"):
        fields = luxi.call("QueryFields", what, None)["result"]["fields"]
        names = [f["name"] for f in fields]
        rows = luxi.call("Query", what, names, None)["result"]["data"]
        values[what] = [dict(zip(names, row)) for row in rows]
        values[what + " fields"] = [
            {f["name"]: [f["title"], f["kind"]] for f in fields}]
    values["filters"] = [{json.dumps(f): filtered(path, what, f)[0]
                          for what, f, _ in FILTERS}]
    return values


def unordered(value):
    """Some lists of theirs stand in the order of a set."""
    if isinstance(value, list):
        return sorted((unordered(v) for v in value), key=str)
    if value == "progress":
        return "message"  # what our own log entries are in files
    return value


def same(ours, theirs):
    """Times are read as the nearest number that fits."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) < 1e-5
    return ours == theirs


def check_archive(jobs):
    """Theirs refuses files with members that it does not know."""
    archived = [row for row in jobs if row["archived"][1]]
    point(archived and all(row["status"][0] == NORMAL for row in archived),
          "upstream's luxid reads the archived jobs")


# Of nodes, as they are at the moment: another one for each of both.
MEASURED = {"mfree", "mnode", "dfree", "spfree"}


def known(name, cell):
    """What of a cell does not depend on when it was asked for."""
    if name in MEASURED and isinstance(cell, list):
        return [cell[0], type(cell[-1]).__name__]
    return unordered(cell)


def check_same(ours, theirs):
    """Where theirs has no data of our nodes, cells say nothing."""
    for what, rows in theirs.items():
        differ = []
        for mine, row in zip(ours[what], rows):
            differ += [f"{name}: ours {mine.get(name)}, theirs {cell}"
                       for name, cell in row.items()
                       if (what, name) not in OTHER and
                       not (isinstance(cell, list) and
                            cell[:1] == [NO_DATA]) and
                       not same(known(name, mine.get(name)),
                                known(name, cell))]
        point(not differ and len(rows) == len(ours[what]) and len(rows) > 0,
              f"upstream's luxid has the same values of {what}",
              "\n".join(differ)[:3000])


def main():
    if len(sys.argv) == 4 and sys.argv[2] == "--dump":
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            json.dump(all_values(sys.argv[1]), file)
        return
    if len(sys.argv) == 4:
        with open(sys.argv[3], encoding="utf-8") as file:
            theirs = all_values(sys.argv[1])
            check_archive(theirs["job"])
            check_same(json.load(file), theirs)
        sys.exit(failed)
    check_semantics(sys.argv[1])
    check_inventory(sys.argv[1])
    check_filters(sys.argv[1])
    check_recorded(sys.argv[1])
    print(f"1..{n_points}")
    sys.exit(failed)


main()
