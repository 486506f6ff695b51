#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""kill_rounds.py ROOT NODE MASTERD ROUNDS SEED: kill -9 of a master daemon at
random moments under load.

Each round starts the daemon, submits jobs from several connections, one by one
and many at once, kills the daemon, starts it again and looks: each job that was
acknowledged is there once, and none stays unfinished.  Now and then the queue is
archived, by a daemon that may be killed while it does so.  Prints what is wrong
and exits with 1, or one line."""
import glob
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
from luxi import FINAL, Gone, Luxi, noop  # noqa: E402

ROOT, NODE, MASTERD = sys.argv[1:4]
ROUNDS, SEED = int(sys.argv[4]), int(sys.argv[5])
SOCKET = ROOT + "/var/run/ganeti/socket/ganeti-query"
QUEUE = ROOT + "/var/lib/ganeti/queue"
LIMIT_S = 30  # for what should take milliseconds
LOADERS = 2
ARCHIVE_EVERY = 5


def start():
    env = dict(os.environ, GANETI_ROOTDIR=ROOT, GANETI_HOSTNAME=NODE)
    with open(ROOT + "/masterd.err", "ab") as log:
        daemon = subprocess.Popen([MASTERD, "-f"], env=env, stdout=log,
                                  stderr=log)
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and daemon.poll() is None:
        try:
            return daemon, Luxi(SOCKET, LIMIT_S)
        except Gone:
            time.sleep(0.002)
    daemon.kill()
    raise SystemExit(f"the master daemon does not start: {daemon.wait()}, see "
                     f"{ROOT}/masterd.err")


def end(daemon, how):
    daemon.send_signal(how)
    try:
        daemon.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        raise SystemExit("the master daemon does not end") from None


class Loader(threading.Thread):
    """Submits until the daemon is gone; keeps what was acknowledged."""

    def __init__(self, name, seed):
        super().__init__(name=name)
        self.random = random.Random(seed)
        self.acknowledged = {}  # id -> tag
        self.failure = None

    def submit(self, luxi, n):
        if self.random.random() < 0.5:
            tag = f"{self.name}.{n}"
            self.acknowledged[luxi.call("SubmitJob", [noop(comment=tag)])] = tag
            return
        tags = [f"{self.name}.{n}.{i}"
                for i in range(self.random.randrange(1, 20))]
        answer = luxi.call("SubmitManyJobs", [[noop(comment=tag)] for tag in tags])
        for (good, job), tag in zip(answer, tags):
            if not good:
                raise SystemExit(job)
            self.acknowledged[job] = tag

    def run(self):
        try:
            luxi = Luxi(SOCKET, LIMIT_S)
            for n in range(1000000):
                self.submit(luxi, n)
        except Gone:
            pass
        except BaseException as err:  # a thread's exit code gets lost
            self.failure = repr(err)


def unfinished(luxi):
    rows = luxi.call("Query", "job", ["id", "status"], None)["data"]
    return [row[0][1] for row in rows if row[1][1] not in FINAL]


def wait_until_final(luxi):
    deadline = time.monotonic() + LIMIT_S
    while left := unfinished(luxi):
        if time.monotonic() > deadline:
            raise SystemExit(f"jobs never end: {left[:10]}")
        luxi.call("WaitForJobChange", left[0], ["status"], ["none"], None, 1)


def archived():
    return {int(name.rsplit("-", 1)[1]) for name in
            glob.glob(QUEUE + "/archive/*/job-*")}


def check(luxi, acknowledged, new):
    """acknowledged: of jobs that nobody began to archive, new: by this round."""
    rows = luxi.call("Query", "job", ["id"], None)["data"]
    lost = acknowledged.keys() - {row[0][1] for row in rows}
    if lost:
        raise SystemExit(f"acknowledged jobs are lost: {sorted(lost)[:10]}")
    rows = luxi.call("Query", "job", ["id", "ops"],
                     [">=", "id", min(new, default=1)])["data"]
    tags = {row[0][1]: row[1][1][0].get("comment") for row in rows
            if row[1][1][0].get("comment")}
    if len(tags) != len(set(tags.values())):
        raise SystemExit("a job is there twice")
    for job, tag in new.items():
        if job in acknowledged and tags[job] != tag:
            raise SystemExit(f"job {job} is another one than acknowledged")


def check_all(ever):
    """After an orderly end everything is in its file."""
    daemon, luxi = start()
    live = {row[0][1] for row in luxi.call("Query", "job", ["id"], None)["data"]}
    luxi.close()
    end(daemon, signal.SIGTERM)
    lost = ever.keys() - live - archived()
    if lost:
        raise SystemExit(f"acknowledged jobs are lost: {sorted(lost)[:10]}")


def load(daemon, number, rng):
    loaders = [Loader(f"r{number}.{i}", rng.random()) for i in range(LOADERS)]
    for loader in loaders:
        loader.start()
    time.sleep(rng.random() ** 2 * 0.1)  # the moment: what this is about
    end(daemon, signal.SIGKILL)
    acknowledged = {}
    for loader in loaders:
        loader.join()
        if loader.failure:
            raise SystemExit(loader.failure)
        double = acknowledged.keys() & loader.acknowledged.keys()
        if double:
            raise SystemExit(f"ids were given twice: {sorted(double)[:10]}")
        acknowledged.update(loader.acknowledged)
    return acknowledged


def archive(luxi):
    try:
        luxi.call("AutoArchiveJobs", -1, 60)
    except Gone:
        pass


def one_round(number, daemon, luxi, rng, archiving):
    """Kill the daemon; another one, and what the first acknowledged."""
    if archiving:
        thread = threading.Thread(target=archive, args=(luxi,))
        thread.start()
    new = load(daemon, number, rng)
    if archiving:
        thread.join()
    luxi.close()
    return (*start(), new)


def main():
    rng = random.Random(SEED)
    ever, recent = {}, {}  # recent: nobody began to archive them
    daemon, luxi = start()
    for number in range(ROUNDS):
        archiving = number % ARCHIVE_EVERY == ARCHIVE_EVERY - 1
        daemon, luxi, new = one_round(number, daemon, luxi, rng, archiving)
        if ever.keys() & new.keys():
            raise SystemExit("an id was given again after a crash")
        ever.update(new)
        recent = {} if archiving else {**recent, **new}
        wait_until_final(luxi)
        check(luxi, recent, new)
        if rng.random() < 0.05:
            luxi.close()
            end(daemon, signal.SIGTERM)
            daemon, luxi = start()
    luxi.close()
    end(daemon, signal.SIGTERM)
    check_all(ever)
    print(f"{ROUNDS} rounds, {len(ever)} jobs acknowledged, none lost")


main()
