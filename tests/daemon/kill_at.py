#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill_at.py WHAT DATA PIDFILE: kill -9 the process of the pid file when a
renewal of certificates is so far on the node with this data folder."""
import os
import signal
import sys
import time

LIMIT_S = 30

what, data, pidfile = sys.argv[1:]


def there(name):
    return os.path.exists(os.path.join(data, name))


def text(name):
    try:
        with open(os.path.join(data, name), encoding="ascii") as f:
            return f.read()
    except OSError:
        return ""


def switched():
    return there("trusted.pem") and not there("server.pem.new")


SEEN = {
    "staged": [lambda: there("server.pem.new")],
    "both-trusted": [
        lambda: there("trusted.pem")
        and text("ssconf_master_candidates_certs").count("=") > 3
    ],
    "switched": [lambda: there("server.pem.new"), switched],
    "forgotten": [lambda: there("trusted.pem"), lambda: not there("trusted.pem")],
}


def main():
    with open(pidfile, encoding="ascii") as f:
        pid = int(f.read())
    print("ready", flush=True)
    end = time.monotonic() + LIMIT_S
    for seen in SEEN[what]:
        while not seen():
            if time.monotonic() > end:
                sys.exit(f"{what}: not seen in {LIMIT_S} s")
    os.kill(pid, signal.SIGKILL)


main()
