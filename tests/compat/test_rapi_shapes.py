#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_rapi_shapes.py HOST:PORT: the requests of gnt-cc, whose Go types are
strict, of prometheus-ganeti-exporter, which reckons with every number, of the
NetBox and LibreNMS scripts, of Terraform's provider and of Perl's clients."""
import base64
import http.client
import json
import ssl
import sys
import time

WAIT_S = 60
ADDRESS = sys.argv[1]
AUTH = "Basic " + base64.b64encode(b"rw:secret").decode()
# Takes any certificate.  One for all, as it takes long to make.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE
count = 0


def point(ok, name, what=""):
    global count
    count += 1
    print(f"{'ok' if ok else 'not ok'} {count} - {name}")
    if not ok:
        print(f"# {what}")


def ask(method, path, body=None, auth=True):
    host, port = ADDRESS.split(":")
    connection = http.client.HTTPSConnection(host, int(port), context=CONTEXT,
                                             timeout=WAIT_S)
    headers = {"Authorization": AUTH} if auth else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def get(path):
    answer, text = ask("GET", path)
    assert answer.status == 200, (path, answer.status, text)
    return json.loads(text)


def is_a(value, kind):
    """Of the type: a class, None, [type] for lists, a dictionary of members, a
    tuple of choices."""
    if isinstance(kind, tuple):
        return any(is_a(value, one) for one in kind)
    if kind is None:
        return value is None
    if isinstance(kind, list):
        return isinstance(value, list) and all(is_a(v, kind[0]) for v in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and \
            all(k in value and is_a(value[k], t) for k, t in kind.items())
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def shaped(name, value, kind):
    """Each member by itself, so that a failure names it."""
    rows = value if isinstance(value, list) else [value]
    wrong = [(key, row.get(key)) for row in rows for key, one in kind.items()
             if key not in row or not is_a(row[key], one)]
    point(rows and not wrong, name, wrong[:3])


def ended(job):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        status = get(f"/2/jobs/{job}")
        if status["status"] in ("success", "error", "canceled"):
            return status
        time.sleep(0.05)
    return {}


STAMP = ([int], None)
NODE = {
    "name": str, "role": str, "offline": bool, "drained": bool,
    "master_candidate": bool, "vm_capable": bool, "mfree": int, "mtotal": int,
    "mnode": int, "dfree": int, "dtotal": int, "ctotal": int, "cnos": int,
    "cnodes": int, "csockets": int, "pinst_cnt": int, "sinst_cnt": int,
    "pinst_list": [str], "sinst_list": [str], "group.uuid": str, "pip": str,
    "sip": str, "uuid": str, "tags": [str], "serial_no": int, "ctime": float,
    "mtime": float,
}
INSTANCE = {
    "name": str, "pnode": str, "snodes": [str], "oper_state": bool,
    "oper_ram": (int, None), "oper_vcpus": (int, None), "status": str,
    "admin_state": str, "disk_template": str, "disk_usage": int,
    "disk.sizes": [int], "disk.uuids": [str], "os": str, "uuid": str,
    "tags": [str], "network_port": (int, None), "hvparams": dict,
    "beparams": {"vcpus": int, "memory": int, "maxmem": int, "minmem": int,
                 "auto_balance": bool, "always_failover": bool},
    "custom_nicparams": [dict], "custom_beparams": dict,
    "custom_hvparams": dict, "nic.uuids": [str], "nic.macs": [str],
    "nic.modes": [str], "nic.links": [(str, None)], "nic.ips": [(str, None)],
    "nic.bridges": [(str, None)], "serial_no": int,
}
JOB = {
    "id": int, "status": str, "summary": [str], "ops": [dict],
    "opstatus": [str], "received_ts": [int], "start_ts": STAMP,
    "end_ts": STAMP,
}


def gnt_cc():
    shaped("gnt-cc: nodes", get("/2/nodes?bulk=1"), NODE)
    shaped("gnt-cc: groups", get("/2/groups?bulk=1"),
           {"name": str, "uuid": str, "node_cnt": int, "node_list": [str],
            "alloc_policy": str})
    rows = get("/2/query/instance?fields="
               "name,pnode,snodes,beparams,oper_state,hvparams")
    point(is_a(rows, {"fields": [{"name": str, "kind": str, "title": str}]}) and
          all(cell[0] == 0 for row in rows["data"] for cell in row) and
          is_a([[cell[1] for cell in row][0] for row in rows["data"]], [str]),
          "gnt-cc: the query has pairs of status and value", rows)
    for name in ("inst1", "inst2"):
        one = get(f"/2/instances/{name}.example.com")
        shaped(f"gnt-cc: {name}", one, INSTANCE)
        lengths = {len(one[k]) for k in ("nic.uuids", "nic.macs", "nic.modes",
                                         "custom_nicparams")}
        point(len(lengths) == 1, f"gnt-cc: the NICs of {name}", lengths)
    shaped("gnt-cc: jobs", get("/2/jobs?bulk=1"), JOB)
    shaped("gnt-cc: a job", get("/2/jobs/1"),
           dict(JOB, oplog=[list], opresult=list))
    for method, what in (("PUT", "shutdown"), ("PUT", "startup"),
                         ("POST", "reboot"), ("PUT", "migrate"),
                         ("PUT", "failover")):
        answer, text = ask(method, f"/2/instances/inst1.example.com/{what}",
                           "null")
        job = ended(text.strip()) if answer.status == 200 else {}
        # The fake hypervisor migrates disks that are shared alone.
        point(answer.status == 200 and text.strip().isdigit() and
              job.get("status") == "success",
              f"gnt-cc: {what} with the body null", (text, job.get("opresult")))


def exporter():
    info = get("/2/info")
    shaped("exporter: the cluster", info, {
        "name": str, "software_version": str, "master": str,
        "default_hypervisor": str, "enabled_hypervisors": [str],
        "candidate_pool_size": int})
    for node in get("/2/nodes?bulk=1"):
        # What it turns into numbers.
        for key in ("mtotal", "mfree", "mnode", "dtotal", "dfree", "ctotal",
                    "pinst_cnt", "sinst_cnt"):
            float(node[key])
    point(True, "exporter: all figures of nodes are numbers")
    instances = get("/2/instances?bulk=1")
    point(all(is_a(i["oper_ram"], int) and is_a(i["oper_vcpus"], int)
              for i in instances if i["oper_state"]),
          "exporter: and those of instances that run")
    jobs = get("/2/jobs?bulk=1")
    point(all(len(j["start_ts"]) == 2 and len(j["end_ts"]) == 2
              for j in jobs if j["status"] == "success") and
          all(j["ops"][0]["OP_ID"].startswith("OP_") for j in jobs),
          "exporter: jobs have times and opcodes")
    ids = [j["id"] for j in jobs]
    point(len(set(ids)) == len(ids), "exporter: each job is there once")


def netbox():
    for one in get("/2/instances?bulk=1"):
        point(is_a(one["beparams"], {"vcpus": int, "memory": int}) and
              one["beparams"]["memory"] == one["beparams"]["maxmem"] and
              is_a(one["disk.sizes"], [int]) and
              one["admin_state"] in ("up", "down", "offline") and
              is_a(one["pnode"], str), f"NetBox: {one['name']}", one)


def others():
    answer, text = ask("POST", "/2/instances", json.dumps({
        "__version__": 1, "mode": "create", "name": "tf.example.com",
        "os_type": "noop", "disk_template": "sharedfile", "nics": [{}],
        "disks": [{"size": "8M"}], "beparams": {"memory": "64M", "vcpus": 1},
        "ip_check": False, "name_check": False,
        "pnode": "node1.example.com"}))
    job = ended(text.strip()) if answer.status == 200 else {"opresult": text}
    point(job.get("status") == "success", "Terraform: sizes have units",
          job.get("opresult"))
    for method, path, body in (("GET", "/2/instances/none", None),
                               ("GET", "/nosuch", None),
                               ("DELETE", "/2/info", None),
                               ("POST", "/2/instances", "{"),
                               ("PUT", "/2/tags", None)):
        answer, text = ask(method, path, body, auth=path != "/2/tags")
        value = json.loads(text)
        point(value.keys() == {"code", "message", "explain"} and
              value["code"] == answer.status >= 400,
              f"Terraform: the error of {method} {path}", text)
    answer, _ = ask("PUT", "/2/tags?tag=a", auth=False)
    point(answer.getheader("WWW-Authenticate") ==
          'Basic realm="Ganeti Remote API"', "Perl: the realm",
          answer.getheaders())


gnt_cc()
exporter()
netbox()
others()
print(f"1..{count}")
