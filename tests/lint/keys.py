#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""keys.py [SOURCE-ROOT]: masterd reads and sets the members of the
configuration's objects by functions (lib/model/config/config_objects.h), which
do not compile when a member is misspelt.  Prints TAP.

json_str(x, "member", ...) and its sisters are left for JSON that has no such
table.  Each name that stands for such a value is in LEFT, with the reason; a
name that is not there is a fault.  `keys.py --count` prints how many there are
for each reason."""
import collections
import re
import sys

sys.dont_write_bytecode = True
import tree  # noqa: E402

# (reason, names of values in all files, {file: names there alone})
LEFT = [
    ("a variable of a hook's environment",
     "env ret_env", {}),
    ("what a node or a transfer answered",
     "payload info report status state volume unit hv answer pv",
     {"masterd/core/ssh_keys.c": "answer",
      "masterd/quorum/": "own theirs",
      "masterd/lu/disks/lu_disks_image.c": "all",
      "masterd/lu/disks/lu_disks_sync.c": "one",
      "masterd/lu/node/node_refresh.c": "one",
      "masterd/lu/node/node_volumes.c": "a b",
      "masterd/lu/node/oob.c": "data",
      "masterd/lu/replace/instance_replace_disks_check.c": "all",
      "masterd/lu/replace/instance_replace_disks_steps.c": "all",
      "masterd/lu/verify/verify_storage.c": "list",
      "masterd/resources/resources.c": "disk"}),
    ("what a node is asked to verify", "checks", {}),
    ("an opcode in JSON: as it was submitted, or made for another job",
     "op input complete new ops job",
     {"masterd/lu/create/instance_multi.c": "given one",
      "masterd/lu/create/instance_create.c": "request"}),
    ("a disk or NIC as an opcode names it, with words that no recorded one has",
     "given wanted changes",
     {"masterd/lu/disks/lu_new_disks.c": "params",
      "masterd/lu/spec/instance_adopt.c": "disk s->disks",
      "masterd/lu/spec/instance_spec.c": "copy",
      "masterd/lu/spec/instance_spec_disks.c": "s->disks",
      "masterd/lu/spec/instance_spec_policy.c": "beparams whole",
      "masterd/lu/modify/instance_convert.c": "op->ext_params",
      "masterd/lu/modify/instance_modify.c": "m->after_hv",
      "masterd/lu/modify/instance_modify_check.c": "least op->hvparams",
      "masterd/lu/modify/instance_modify_nics.c": "base",
      "masterd/lu/cluster/cluster.c": "presets op->diskparams cluster",
      "masterd/lu/cluster/cluster_storage.c": "diskparams all",
      "masterd/lu/group/group_access.c": "filled"}),
    ("one step of a change of several devices",
     "", {"masterd/lu/modify/instance_modify_apply.c":
          "step leaving one",
          "masterd/lu/modify/instance_modify_devices.c":
          "device other devices step steps",
          "masterd/lu/modify/instance_modify_nics.c": "step"}),
    ("the description of an export, sections of an INI file",
     "sections", {"masterd/lu/create/instance_import.c":
                  "all carried section"}),
    ("an object in the form of node calls, which has more members",
     "carried", {"masterd/config/config_devices.c": "disk dynamic",
                 "masterd/lu/instance/backup_export.c": "described",
                 "masterd/lu/instance/instance_info.c": "params",
                 "masterd/lu/instance/snapshots.c": "snapshot params",
                 "masterd/lu/parts/lu_instance.c": "copy",
                 "masterd/lu/replace/instance_replace_disks_own.c": "copy"}),
    ("an answer to a client, or the message of a LUXI call",
     "row result values part message lock entry",
     {"masterd/jobs/job_plan.c": "r->op step",
      "masterd/jobs/job_plan_steps.c": "last before step arg change",
      "masterd/luxi/luxi_why.c": "step",
      "masterd/relay.c": "request->message",
      "masterd/state/events.c": "value",
      "masterd/query/query_cluster.c": "info",
      "masterd/query/query_export.c": "object"}),
    ("a token of the remote API",
     "token", {"masterd/core/tokens.c": "token value one"}),
    ("the message to an allocator, and its answer",
     "", {"masterd/allocator/": "a->request answer op inst own entry r params "
          "message request unit hv disk spindles ret data->instances"}),
]

CALL = re.compile(
    r"\bjson_(?:str|int|num|bool|get|object_get|set_str|set_int|set_bool|"
    r"object_set_new|object_set|object_del)\(")


def arguments(text, at):
    """The arguments of a call whose parenthesis is before `at`."""
    found, depth, start, quoted = [], 1, at, False
    while depth > 0:
        char = text[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if not quoted and (depth == 0 or (char == "," and depth == 1)):
            found.append(" ".join(text[start:at].split()))
            start = at + 1
        at += 1
    return found


def subject(expression):
    """The name of the value that is meant: what stands behind the last arrow or
    dot, and for a part of it the name of the whole."""
    while True:
        match = re.match(r"json_(?:array_get|get|object_get)\((.*)\)$", expression)
        if match is None:
            break
        expression = arguments(match[1] + ")", 0)[0]
    match = re.match(r"\*\(json_t \*const \*\)(\w+)$", expression)
    return match[1] if match else expression


def reason_of(path, name):
    last = re.split(r"->|\.", name)[-1]
    for reason, names, here in LEFT:
        for file, own in here.items():
            if path.startswith(file) and (
                    name in own.split() or last in own.split()):
                return reason
    for reason, names, _ in LEFT:
        if last in names.split():
            return reason
    return None


def main():
    if "--count" in sys.argv:
        sys.argv.remove("--count")
        count = True
    else:
        count = False
    tree.enter()
    faults, counts = [], collections.Counter()
    for path in tree.files((".c", ".h")):
        if not path.startswith("masterd/"):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for call in CALL.finditer(text):
            given = arguments(text, call.end())
            if len(given) < 2 or not re.fullmatch(r'"[^"]*"', given[1]):
                continue
            reason = reason_of(path, subject(given[0]))
            if reason is None:
                line = text.count("\n", 0, call.start()) + 1
                faults.append(f"{path}:{line}: {given[1]} of {given[0]}")
            counts[reason] += 1
    if count:
        for reason, number in counts.most_common():
            print(f"{number:5} {reason}")
        return
    tree.report([("members of the configuration are read by functions of their "
                  "table", faults)])


main()
