#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""list.py SOCKET GNT-INSTANCE: how long lists of all instances take, the
answer on LUXI and the whole command; the best and the median of some runs."""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from luxi import Luxi  # pylint: disable=wrong-import-position

RUNS = 9
LISTS = {
    "recorded fields": "name,hypervisor,os,pnode,admin_state,be/maxmem",
    "default fields, with the live status":
        "name,hypervisor,os,pnode,status,oper_ram",
}


def measure(what, run):
    times = []
    for _ in range(RUNS):
        begin = time.monotonic()
        run()
        times.append((time.monotonic() - begin) * 1000)
    print(f"  {what}: best {min(times):.0f} ms, "
          f"median {statistics.median(times):.0f} ms")


def raw_query(luxi, fields):
    """The answer's bytes, without parsing them."""
    message = ('{"method": "Query", "args": ["instance", '
               f'{fields!r}, null]}}\3').replace("'", '"').encode()
    luxi.sock.sendall(message)
    data = b""
    while not data.endswith(b"\3"):
        data = luxi.sock.recv(1 << 20)


def main():
    luxi = Luxi(sys.argv[1])
    for title, fields in LISTS.items():
        print(f" {title}:")
        measure("LUXI Query",
                lambda f=fields: raw_query(luxi, f.split(",")))
        measure("gnt-instance list", lambda f=fields: subprocess.run(
            [sys.argv[2], "list", "-o", f], stdout=subprocess.DEVNULL,
            check=True))


main()
