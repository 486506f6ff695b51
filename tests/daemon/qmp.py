#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qmp.py SOCKET COMMAND [ARGUMENTS]: what a running machine answers at its
monitor, as JSON; ARGUMENTS are a JSON object."""
import json
import socket
import sys

LIMIT_S = 20


def ask(file, command, arguments):
    message = {"execute": command}
    if arguments is not None:
        message["arguments"] = arguments
    file.write(json.dumps(message) + "\n")
    file.flush()
    while True:  # events come in between
        answer = json.loads(file.readline())
        if "return" in answer or "error" in answer:
            return answer


with socket.socket(socket.AF_UNIX) as monitor:
    monitor.settimeout(LIMIT_S)
    monitor.connect(sys.argv[1])
    lines = monitor.makefile("rw")
    lines.readline()
    ask(lines, "qmp_capabilities", None)
    said = ask(lines, sys.argv[2],
               json.loads(sys.argv[3]) if len(sys.argv) > 3 else None)
    print(json.dumps(said.get("return", said)))
