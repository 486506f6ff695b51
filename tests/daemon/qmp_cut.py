#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""qmp_cut.py SOCKET TEXT TIMES PIDFILE: stand between a node daemon and the
monitor of a machine. When a line in either direction has TEXT for the so-manieth
time, kill -9 the process of the pid file, and lose the line. Everything else goes
through, until the process that started this one is gone."""
import os
import signal
import socket
import sys
import threading

path, text, times, pidfile = sys.argv[1:]
left = int(times)
lock = threading.Lock()


def is_cut(line):
    global left
    if text.encode() not in line:
        return False
    with lock:
        left -= 1
        if left != 0:
            return False
    with open(pidfile, encoding="ascii") as f:
        os.kill(int(f.read()), signal.SIGKILL)
    return True


def forward(a, b):
    try:
        for line in a.makefile("rb"):
            if is_cut(line):
                break
            b.sendall(line)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    parent = os.getppid()
    real = path + ".real"
    os.rename(path, real)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(8)
    server.settimeout(1)
    print("ready", flush=True)
    while os.getppid() == parent:
        try:
            client, _ = server.accept()
        except socket.timeout:
            continue
        client.settimeout(None)
        machine = socket.socket(socket.AF_UNIX)
        try:
            machine.connect(real)
        except OSError:
            client.close()
            continue
        for a, b in ((client, machine), (machine, client)):
            threading.Thread(target=forward, args=(a, b), daemon=True).start()


main()
