#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""failover_rounds.py VCLUSTER FOLDER ROUNDS SEED: the master is killed, or paused
and continued later, at a random moment under load, while candidates are changed.

FOLDER is a virtual cluster of VCLUSTER's with some nodes that are no candidates.
Each round submits jobs to the master, lets another node take a candidate's place,
stops the master daemon in the middle (with its node daemon, now and then), lets a
candidate take over, and brings the former master back.  Then: one master; each
job that was acknowledged, by whichever master, is there once and as it was, and
all come to an end.  Prints what is wrong and exits with 1, or one line."""
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import FINAL, Gone, Luxi, noop  # noqa: E402

VCLUSTER, FOLDER = sys.argv[1:3]
ROUNDS, SEED = int(sys.argv[3]), int(sys.argv[4])
COMMAND_S = 60
REST_S = 60  # until a cluster that is left alone is at rest
POLL_S = 0.1


def run(*words):
    return subprocess.run([VCLUSTER, *words], capture_output=True, text=True,
                          check=False, timeout=2 * COMMAND_S)


def on(node, *command):
    return run("exec", FOLDER, node, "--", "timeout", str(COMMAND_S), *command)


def names():
    rows = json.loads(run("list", FOLDER, "--format=json").stdout)["nodes"]
    return [row["name"] for row in rows]


def socket_of(node):
    return f"{FOLDER}/{node}/var/run/ganeti/socket/ganeti-query"


def pid_of(node, daemon):
    with open(f"{FOLDER}/{node}/var/run/ganeti/ganeti-{daemon}.pid",
              encoding="ascii") as file:
        return int(file.read())


def is_master(node):
    return on(node, "gnt-cluster", "master-ping").returncode == 0


def until(what, good):
    deadline = time.monotonic() + REST_S
    while not (result := good()):
        if time.monotonic() > deadline:
            raise SystemExit(what)
        time.sleep(POLL_S)
    return result


class Loader(threading.Thread):
    """Submits until the master is gone; keeps what was acknowledged."""

    def __init__(self, name, node):
        super().__init__()
        self.name, self.acknowledged = name, {}
        self.luxi = Luxi(socket_of(node), COMMAND_S)

    def run(self):
        try:
            for n in range(100000):
                tags = [f"{self.name}.{n}.{i}" for i in range(1 + n % 5)]
                answer = self.luxi.call("SubmitManyJobs",
                                        [[noop(comment=tag)] for tag in tags])
                self.acknowledged.update(
                    (job, tag) for (good, job), tag in zip(answer, tags) if good)
        except (Gone, SystemExit, ValueError):
            pass  # a master that ends refuses, or is gone

    def end(self):
        try:
            self.luxi.sock.shutdown(2)
        except OSError:
            pass
        self.join()
        self.luxi.close()
        return self.acknowledged


def candidates(node):
    out = on(node, "gnt-node", "list", "--no-headers", "-o", "name,role").stdout
    return [line.split()[0] for line in out.splitlines() if line.split()[1:] == ["C"]]


def swap(master, rng):
    """Another node in place of a candidate; it may not end."""
    some = candidates(master)
    if not some:
        return None
    return subprocess.Popen(
        [VCLUSTER, "exec", FOLDER, master, "--", "timeout", str(COMMAND_S), "gnt-node",
         "modify", "--master-candidate=no", "--auto-promote", rng.choice(some)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def take_over(former, rng):
    """The node that has become the master; the others are asked in any order."""
    said = []

    def try_all():
        for node in rng.sample(sorted(set(NODES) - {former}), len(NODES) - 1):
            done = on(node, "gnt-cluster", "master-failover")
            said.append(f"{node}: {done.stderr.strip()}")
            if done.returncode == 0:
                return node
        return None

    try:
        return until("", try_all)
    except SystemExit:
        raise SystemExit("nobody takes over:\n" + "\n".join(said)) from None


def stop(master, how, with_node):
    daemons = ("masterd", "noded") if with_node else ("masterd",)
    pids = [pid_of(master, daemon) for daemon in daemons]
    for pid in pids:
        os.kill(pid, how)
    return pids


def bring_back(former, how, pids):
    if how == signal.SIGSTOP:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    run("start", FOLDER, former.split(".")[0], "noded")


def look(master, ever):
    luxi = Luxi(socket_of(master), COMMAND_S)
    rows = luxi.call("Query", "job", ["id", "status", "ops"], None)["data"]
    luxi.close()
    there = {row[0][1]: row[2][1][0].get("comment") for row in rows}
    tags = [tag for tag in there.values() if tag]
    if len(tags) != len(set(tags)):
        raise SystemExit("a job is there twice")
    wrong = [job for job, tag in ever.items() if there.get(job) != tag]
    if wrong:
        raise SystemExit(f"acknowledged jobs are lost or others: {wrong[:10]}")
    return all(row[1][1] in FINAL for row in rows)


def one_round(number, master, ever, rng):
    loader = Loader(f"r{number}", master)
    loader.start()
    changer = swap(master, rng) if rng.random() < 0.8 else None
    time.sleep(rng.random() ** 2 * 0.5)  # the moment: what this is about
    how = signal.SIGSTOP if rng.random() < 0.4 else signal.SIGKILL
    pids = stop(master, how, rng.random() < 0.3)
    new = take_over(master, rng)
    bring_back(master, how, pids)
    until("the former master goes on", lambda: not is_master(master))
    ever.update(loader.end())
    if changer is not None:
        changer.wait()
    if [node for node in NODES if is_master(node)] != [new]:
        raise SystemExit("there is not one master")
    until("jobs never end", lambda: look(new, ever))
    return new


def keep():
    """The folder as it is now, for whoever looks into the failure."""
    where = os.environ.get("FAILOVER_KEEP")
    if where:
        shutil.copytree(FOLDER, where, symlinks=True, dirs_exist_ok=True,
                        ignore=lambda folder, names: [
                            name for name in names if stat.S_ISSOCK(
                                os.lstat(os.path.join(folder, name)).st_mode)])


def main():
    rng = random.Random(SEED)
    ever = {}
    master = until("there is no master",
                   lambda: next((node for node in NODES if is_master(node)), None))
    for number in range(ROUNDS):
        try:
            master = one_round(number, master, ever, rng)
        except SystemExit as err:
            keep()
            raise SystemExit(f"round {number}, master {master}: {err}") from None
    print(f"{ROUNDS} rounds, {len(ever)} jobs acknowledged, none lost")


NODES = names()
main()
