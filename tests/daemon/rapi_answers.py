#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_answers.py HOST:PORT FILE: over connections that are kept, asks again and
again, changes things, and asks again; FILE says that inst1 runs."""
import base64
import http.client
import json
import os
import ssl
import sys
import time

ROUNDS = 40
AGAIN = 3
UNTIL_S = 10


def point(ok, name):
    print(f"{'ok' if ok else 'not ok'} - {name}", flush=True)


class Api:
    def __init__(self, address):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        host, port = address.split(":")
        self.connection = http.client.HTTPSConnection(
            host, int(port), context=context, timeout=60)

    def ask(self, method, path, user=None, **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if user:
            headers["Authorization"] = \
                "Basic " + base64.b64encode(user.encode()).decode()
        self.connection.request(method, path, headers=headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer, json.loads(text) if text else None

    def get(self, path, **headers):
        """The last answer of several."""
        for _ in range(AGAIN):
            answer, value = self.ask("GET", path, **headers)
        return answer, value

    def job(self, method, path):
        """The job, ended."""
        return self.ask(method, path, user="rw:secret", Prefer="wait=60")[1]


def changes(api, other):
    """Each change is in the next answer, also for who has not made it."""
    stale = []
    for number in range(ROUNDS):
        job = api.job("PUT", f"/2/instances/inst1.example.com/tags?tag=t{number}")
        for who in (other, api):
            for path in ("/2/instances/inst1.example.com/tags",
                         "/2/instances/inst1.example.com"):
                value = who.get(path)[1]
                tags = value["tags"] if isinstance(value, dict) else value
                if f"t{number}" not in tags:
                    stale.append((number, path))
        if other.get(f"/2/jobs/{job['id']}")[1]["status"] != "success":
            stale.append((number, "job"))
    point(not stale, f"no answer is older than a change {stale[:3]}")


def jobs(api):
    """A job's states are those it has."""
    before = len(api.get("/2/jobs")[1])
    api.job("PUT", "/2/tags?tag=a")
    point(len(api.get("/2/jobs")[1]) == before + 1, "a new job is in the list")
    done = api.ask("PUT", "/2/redistribute-config", user="rw:secret")[1]
    end = time.monotonic() + UNTIL_S
    seen = set()
    while "success" not in seen and time.monotonic() < end:
        seen.add(api.get(f"/2/jobs/{done}")[1]["status"])
    point("success" in seen, "who polls a job sees its end")


def live(api, file):
    """What the master is not told of is seen soon."""
    path = "/2/instances/inst1.example.com"
    point(api.get(path)[1]["status"] == "running", "an instance runs")
    os.unlink(file)
    begin = time.monotonic()
    while api.get(path)[1]["status"] == "running" and \
            time.monotonic() < begin + UNTIL_S:
        pass
    # The answer holds for 0.1 s; the rest is for a busy machine.
    point(time.monotonic() - begin < 2, "that it died is seen soon")
    point(api.get(path)[1]["status"] == "ERROR_down", "as what it is")


def rest(api):
    tag = api.get("/2/tags")[0].getheader("ETag")
    answer, value = api.get("/2/tags", If_None_Match=tag)
    point(answer.status == 304 and value is None and
          answer.getheader("ETag") == tag, "who has it gets nothing")
    point(api.get("/2/tags", If_None_Match='"x"')[0].status == 200,
          "who has another one gets it")
    point(api.get("/2/tags", user="rw:wrong")[0].status == 401,
          "a wrong password is never right")
    point(api.get("/2/tags", user="rw:secret")[0].status in (200, 429),
          "a right one is")
    first, second = api.get("/2/nodes")[0], api.get("/2/nodes")[0]
    point(sorted(first.getheaders()) == sorted(second.getheaders()) or
          first.getheader("Date") != second.getheader("Date"),
          "the headers are the same")


def main():
    api, other = Api(sys.argv[1]), Api(sys.argv[1])
    changes(api, other)
    jobs(api)
    live(api, sys.argv[2])
    rest(api)


main()
