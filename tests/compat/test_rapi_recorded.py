#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_rapi_recorded.py ADDRESS: exchanges with the remote API of Ganeti 3.0.2,
asked again of ours.
test_rapi_recorded.py --cut FOLDER: makes rapi.json of recordings.

rapi.json has them in the order in which they were recorded.  Values belong to
the cluster of then; compared is what a client relies on: the status, the words
of an error, the types and members of an answer, and of a job its opcodes with
their parameters and who is named in their reasons.  Where ours differs on
purpose, OURS says how.  The cluster has three nodes and the user rw:secret."""
import base64
import email.utils
import glob
import http.client
import json
import os
import ssl
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "rapi.json")
LIMIT_S = 60
FINAL = ("success", "error", "canceled")
# What is made before: the recorded cluster had it, and it is not recorded how.
BEFORE = [
    ("POST", "/2/instances",
     {"__version__": 1, "mode": "create", "instance_name": "inst6.example.com",
      "disk_template": "diskless", "disks": [], "nics": [{"link": "br0"}],
      "os_type": "noop", "pnode": "node3.example.com", "ip_check": False,
      "name_check": False, "beparams": {"memory": 64}}),
    ("PUT", "/2/tags?tag=owner:me", None),
    ("PUT", "/2/nodes/node2.example.com/tags?tag=nt", None),
    ("POST", "/2/networks", {"network_name": "rn1",
                             "network": "203.0.113.0/24"}),
    ("PUT", "/2/networks/rn1/connect",
     {"group_name": "default", "network_mode": "bridged",
      "network_link": "br0"}),
    ("PUT", "/2/filters/529c1617-fa11-4ac2-8685-6e2a14216583",
     {"priority": 5, "predicates": [["jobid", ["<", "id", 1]]],
      "action": "REJECT"}),
]
# {what: {...}}: where an answer of ours is another one, and in what.
OURS = {
    "GET /2/query/os?fields=name,valid":
        {"error": "Query of &#x27;os&#x27; is not supported here: submit the "
                  "opcode OP_QUERY"},
    # Ganeti took an empty list of nodes for all of them.
    "job 2415": {"differs": ["nodes"]},
    "job 2417": {"ends": "success"},
    # Two of its jobs changed the configuration at the same time.
    "job 2424": {"ends": "success"},
    # The logical unit changed the opcode that it was given.
    "job 2429": {"differs": ["master_candidate"]},
    # So the only group was one that takes no instances.
    "job 2431": {"ends": "success", "differs": ["instances"]},
}

# Members that are new each time, and those that Ganeti's master fills in when
# the job runs.
VOLATILE = ("reason", "uuid", "ctime", "mtime", "serial_no", "watermark",
            "debug_level", "admin_state_source", "beparams",
            "osparams_private", "osparams_secret", "helper_startup_timeout",
            "helper_shutdown_timeout", "file_driver", "pnode", "name_check")


# --- the file ---

def shape(value):
    """The types of a value: what stands for it in rapi.json."""
    if isinstance(value, dict):
        return {k: [] if k == "ops" else shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value[:1]]
    return type(value).__name__


def job_shape(job):
    """What is compared of a job."""
    return {"status": job["status"], "members": sorted(job),
            "ops": [{k: v for k, v in op.items()
                     if k not in VOLATILE and not k.endswith("_uuid")
                     and not k.endswith("_uuids")} for op in job["ops"]],
            "reasons": [[r[0] for r in op["reason"]] for op in job["ops"]]}


def is_job(path):
    return path.startswith("/2/jobs/") and path.count("/") == 3


def cut(exchange):
    result = {"method": exchange["method"], "path": exchange["path"],
              "status": exchange["status"]}
    if exchange["request_body"] is not None:
        result["body"] = exchange["request_body"]
    headers = exchange["request_headers"]
    if "Authorization" in headers:
        result["user"] = base64.b64decode(
            headers["Authorization"].split()[1]).decode()
    response = exchange["response"]
    if exchange["status"] != 200:
        result["error"] = response["message"]
    elif exchange["method"] == "GET" and is_job(exchange["path"]):
        result["job"] = job_shape(response)
    elif isinstance(response, int) and exchange["path"] != "/version":
        result["id"] = response
    else:
        result["shape"] = shape(response)
    return result


def make_cut(folder):
    exchanges = []
    for file in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(file, encoding="utf-8") as text:
            for i, exchange in enumerate(json.load(text)):
                date = email.utils.parsedate_to_datetime(
                    exchange["response_headers"]["Date"]).timestamp()
                exchanges.append((date, file, i, exchange))
    exchanges.sort(key=lambda e: e[:3])
    print("[")
    print(",\n".join(json.dumps(cut(e[3])) for e in exchanges))
    print("]")


# --- asking ---

class Api:
    def __init__(self, address):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.connection = http.client.HTTPSConnection(
            address, context=context, timeout=LIMIT_S)

    def ask(self, method, path, body=None, user="rw:secret"):
        """(status, answer)"""
        headers = {}
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(
                user.encode()).decode()
        data = None
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def ended(self, number):
        """The job, when it has ended."""
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            status, job = self.ask("GET", f"/2/jobs/{number}")
            if status != 200 or job["status"] in FINAL:
                return status, job
            self.ask("GET", f"/2/jobs/{number}/wait",
                     {"fields": ["status"],
                      "previous_job_info": [job["status"]],
                      "previous_log_serial": None})
        return status, job


# --- comparing ---

def compare(wanted, got, where):
    """How the types of an answer differ, as lines.  Null stands for a value of
    any type: whether there is one depends on the cluster."""
    if wanted == "NoneType" or got is None:
        return []
    if isinstance(wanted, dict) and isinstance(got, dict):
        lines = [f"{where}: no {k}" for k in wanted if k not in got]
        for k in wanted:
            if k in got:
                lines += compare(wanted[k], got[k], f"{where}.{k}")
        return lines
    if isinstance(wanted, list) and isinstance(got, list):
        if not wanted or not got:
            return []
        return compare(wanted[0], got[0], f"{where}[0]")
    name = type(got).__name__
    if name == wanted or {name, wanted} == {"int", "float"}:
        return []
    return [f"{where}: {name}, not {wanted}"]


def compare_job(wanted, got):
    lines = []
    if got["status"] != wanted["status"]:
        lines.append(f"status: {got['status']}, not {wanted['status']}: "
                     f"{got['opresult']}")
    if sorted(got) != wanted["members"]:
        lines.append(f"members: {sorted(got)}")
    now = job_shape(got)
    if now["reasons"] != wanted["reasons"]:
        lines.append(f"reasons: {now['reasons']}, not {wanted['reasons']}")
    if len(now["ops"]) != len(wanted["ops"]):
        return lines + [f"{len(now['ops'])} opcodes"]
    for old, new in zip(wanted["ops"], now["ops"]):
        lines += [f"{k}: {new.get(k)!r}, not {old[k]!r}" for k in old
                  if new.get(k) != old[k]]
    return lines


class Replay:
    def __init__(self, api):
        self.api, self.n, self.ids = api, 0, {}

    def point(self, name, lines):
        self.n += 1
        print(f"{'not ok' if lines else 'ok'} {self.n} - {name}", flush=True)
        for line in lines:
            print("#", line[:500])

    def job(self, case, ours):
        old = int(case["path"].rsplit("/", 1)[1])
        if old not in self.ids:
            return ["its job was not submitted"]
        status, job = self.api.ended(self.ids[old])
        if status != 200:
            return [f"status {status}: {job}"]
        wanted = dict(case["job"])
        wanted["status"] = ours.get("ends", wanted["status"])
        lines = compare_job(wanted, job)
        return [l for l in lines if l.split(":")[0] not in
                ours.get("differs", ())]

    def other(self, case, ours):
        body = case.get("body")
        if isinstance(body, dict) and body.get("mode") == "create":
            body = dict(body, name_check=False)  # there is no such name here
        status, answer = self.api.ask(case["method"], case["path"], body,
                                      case.get("user"))
        wanted = ours.get("status", case["status"])
        if status != wanted:
            return [f"status {status}, not {wanted}: {answer}"]
        if "id" in case and status == 200:
            if not isinstance(answer, int):
                return [f"no id: {answer}"]
            self.ids[case["id"]] = answer
            return []
        if status != 200:
            good = ours.get("error", case.get("error"))
            return [] if answer["message"] == good and \
                sorted(answer) == ["code", "explain", "message"] else \
                [f"{answer}, not {good}"]
        return compare(case["shape"], answer, "answer")

    def run(self, case):
        name = f"{case['method']} {case['path']}"
        ours = OURS.get(name, {})
        if "job" in case:
            old = int(case["path"].rsplit("/", 1)[1])
            ours = OURS.get(f"job {old}", {})
            self.point(f"job {old} {case['job']['ops'][0]['OP_ID']}",
                       self.job(case, ours))
        else:
            self.point(name, self.other(case, ours))


def main():
    if sys.argv[1] == "--cut":
        make_cut(sys.argv[2])
        return
    api = Api(sys.argv[1])
    for method, path, body in BEFORE:
        _, number = api.ask(method, path, body)
        job = api.ended(number)[1] if isinstance(number, int) else number
        if isinstance(job, dict) and job.get("status") != "success":
            print(f"Bail out! {path}: {job}")
            sys.exit(1)
    replay = Replay(api)
    with open(CASES, encoding="utf-8") as text:
        for case in json.load(text):
            replay.run(case)
    print(f"1..{replay.n}")


main()
