#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""prefixes.py [SOURCE-ROOT]: the name of a public function says where the
function is.  Prints TAP.

A function that a header declares begins with the name of that header, with the
name of the source that defines it, or with a short name of its room (below).  A
plural counts as its singular: tasks_kill() is of task.h."""
import collections
import os
import re
import sys

sys.dont_write_bytecode = True
import tree  # noqa: E402


# Rooms whose names are shorter than those of their files: what several files of
# the room begin with, and the structs that a file is about.
SHORT = {
    "lib/base": "buf strv uuid",
    "lib/event": "cond https",
    "lib/json": "json",
    "lib/ssh": "ssh",
    "lib/model/filter": "regex regexes",
    "lib/model/kinds": "storage template",
    "lib/model/opcode": "op",
    "lib/model/params": "params",
    "queue": "archive chain gates job keys queue rate_limit submit",
    "queue/history": "history",
    "queue/jobs": "job",
    "queue/locks": "entry lock request",
    "masterd/jobs": "exec",
    "masterd/rpc": "node_results",
    "masterd/query": "query",
    "masterd/distribute": "distribute peer",
    "masterd/luxi": "luxi",
    "masterd/lu/frame": "lu",
    "masterd/lu/parts": "floor inst lu",
    "masterd/lu/disks": "disks helper",
    "masterd/lu/spec": "adopt booking spec",
    "masterd/lu/node": "node",
    "masterd/lu/create": "create import install receive",
    "masterd/lu/modify": "convert modify",
    "masterd/lu/replace": "replace",
    "masterd/lu/verify": "verify",
    "noded/calls": "call",
    "noded/hv/kvm": "kvm",
    "noded/hv/lxc": "lxc",
    "noded/hv/xen": "xen",
    "cli/frame": "cli tool",
    "cli/pages": "manual",
    "iallocators/model": "cluster counts hf instance policy tagset",
    "iallocators/live": "live",
    "iallocators/place": "solution",
    "iallocators/options": "tool",
    "iallocators/allocate": "hail",
    "iallocators/capacity": "capacity fit space survivals",
}

# Names that stand for themselves, by the header that declares them.
THEMSELVES = {
    # The allocating functions of libc with an x in front, as many know them.
    "lib/base/mem.h": "xalloc xcalloc xrealloc xmemdup xstrdup xstrndup "
                      "xprintf xvprintf",
    "lib/base/str.h": "bytes_hash",
    # masterd/jobs/exec gives them to the queue; the frame must not include it.
    "masterd/lu/frame/lu.h": "exec_run_op exec_check_op",
}

NOT_CODE = re.compile(r'/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"'
                      r"|'(?:\\.|[^'\\\n])+'", re.S | re.M)
BRACES = re.compile(r"\{[^{}]*\}")
PROTOTYPE = re.compile(r"(?:[a-z_]\w*[ *]+)+([a-z]\w*) ?\([^*]")
# What stands in front of a definition or a prototype and is not its type.
WORDS = re.compile(r"\b(?:WAITS|_Noreturn|STEALS)\b|__attribute__\(\(.*?\)\)(?=[;\s])",
                   re.S)


def read_code(path):
    """Without comments, macros, texts, and what stands in braces."""
    with open(path, encoding="utf-8") as file:
        text = NOT_CODE.sub("", file.read())
    while BRACES.search(text):
        text = BRACES.sub(";", text)
    return WORDS.sub("", text)


def functions(path):
    """Those that are not static, as declared or defined there."""
    for piece in read_code(path).split(";"):
        piece = " ".join(piece.split())
        match = PROTOTYPE.match(piece)
        if match and not piece.startswith(("static", "typedef", "extern")):
            yield match.group(1)


def own_name(path):
    name = os.path.splitext(os.path.basename(path))[0]
    return re.sub("_(private|internal)$", "", name)


def belongs(function, prefix):
    one = prefix[:-1] if prefix.endswith("s") else prefix
    return any(function == p or function.startswith(p + "_")
               for p in (prefix, one, one + "s"))


def check_prefixes(definitions):
    for header in tree.files(".h"):
        prefixes = [own_name(header)]
        prefixes += SHORT.get(os.path.dirname(header), "").split()
        known = THEMSELVES.get(header, "").split()
        for function in functions(header):
            sources = [own_name(path) for path in definitions[function]]
            if function not in known and not any(
                    belongs(function, prefix) for prefix in prefixes + sources):
                yield f"{header}: {function}()"


def check_definitions(definitions):
    for function, paths in sorted(definitions.items()):
        if len(paths) > 1 and function != "main":
            yield f"{function}() is in {' and in '.join(paths)}"


def check_short(used):
    """A short name belongs to one room, or to rooms that no program shares."""
    rooms = collections.defaultdict(list)
    for room, names in SHORT.items():
        for name in names.split():
            rooms[name].append(room)
            if not any(belongs(function, name) for function in used[room]):
                yield f"nothing in {room} begins with {name}_"
    for name, of_name in sorted(rooms.items()):
        tops = [room.split("/")[0] for room in of_name]
        nested = all(room.startswith(of_name[0] + "/") for room in of_name[1:])
        if name not in ("lu", ) and len(set(tops)) < len(tops) and not nested:
            yield f"{name}_ is of {' and of '.join(of_name)}"


def main():
    tree.enter()
    definitions, used = collections.defaultdict(list), {}
    for path in tree.files(".c"):
        for function in functions(path):
            if path not in definitions[function]:
                definitions[function].append(path)
    used = collections.defaultdict(set)
    for path in tree.files(".h"):
        used[os.path.dirname(path)].update(functions(path))
    points = [
        ("public functions begin with the name of their file or room",
         list(check_prefixes(definitions))),
        ("no two programs have a function of the same name",
         list(check_definitions(definitions))),
        ("a short name belongs to one room", list(check_short(used))),
    ]
    tree.report(points)


main()
