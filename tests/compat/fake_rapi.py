# SPDX-License-Identifier: BSD-2-Clause
"""A RAPI server that knows four lists, with a certificate of its own, and the
lists of a cluster that a request to an allocator describes."""
import http.server
import json
import pathlib
import ssl
import subprocess
import tempfile
import threading


class FakeRapi:
    """Serves `answers`, {path: value or (status, text)}, on a free port of this
    machine; what was asked is in `asked`."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []
        self.folder = tempfile.TemporaryDirectory(prefix="gnt-rapi.")
        pem = pathlib.Path(self.folder.name) / "rapi.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=other",
             "-keyout", pem, "-out", pem.with_suffix(".crt")],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem.with_suffix(".crt"), pem)
        rapi = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                rapi.serve(self)

            do_PUT = do_POST = do_DELETE = do_GET

            def log_message(self, format, *args):  # pylint: disable=redefined-builtin
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket,
                                                 server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(
            target=lambda: self.server.serve_forever(poll_interval=0.05),
            daemon=True)
        self.thread.start()

    def serve(self, request):
        self.asked.append((request.path, request.headers.get("Authorization")))
        answer = self.answers.get(request.path, (404, '{"code": 404}'))
        self.reply(request, answer)

    @staticmethod
    def reply(request, answer):
        """Send `answer`, a value or (status, text)."""
        if not isinstance(answer, tuple):
            answer = (200, json.dumps(answer))
        status, text = answer
        body = text.encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.folder.cleanup()


STATES = {"up": "running", "down": "ADMIN_down", "offline": "ADMIN_offline"}


def node(name, n):
    """What RAPI says about a node of an allocator's request."""
    numbers = {"mtotal": "total_memory", "mnode": "reserved_memory",
               "mfree": "free_memory", "dtotal": "total_disk",
               "dfree": "free_disk", "sptotal": "total_spindles",
               "spfree": "free_spindles", "ctotal": "total_cpus",
               "cnos": "reserved_cpus"}
    silent = n["offline"] or not n.get("vm_capable", True)
    return {"name": name, "group.uuid": n["group"],
            **{k: n[k] for k in ("offline", "drained", "vm_capable",
                                 "ndparams", "tags")},
            **{k: None if silent else n.get(v, 0)
               for k, v in numbers.items()}}


def instance(name, i):
    """And about an instance; who is up shows the memory it has."""
    beparams = {"minmem": i["memory"] // 2, "maxmem": i["memory"],
                "memory": i["memory"], "vcpus": i["vcpus"],
                "auto_balance": True, "spindle_use": i["spindle_use"]}
    return {"name": name, "pnode": i["nodes"][0], "snodes": i["nodes"][1:],
            "disk.sizes": [d["size"] for d in i["disks"]],
            "disk.spindles": [d.get("spindles") for d in i["disks"]],
            "disk_usage": i["disk_space_total"],
            "disk_template": i["disk_template"], "beparams": beparams,
            "oper_ram": i["memory"] if i["admin_state"] == "up" else None,
            "status": STATES[i["admin_state"]], "tags": i["tags"]}


def lists(data, master):
    """The four answers about the cluster of a request."""
    return {
        "/2/groups?bulk=1": [dict(g, uuid=uuid) for uuid, g in
                             data["nodegroups"].items()],
        "/2/nodes?bulk=1": [node(*item) for item in data["nodes"].items()],
        "/2/instances?bulk=1": [instance(*item) for item in
                                data["instances"].items()],
        "/2/info": {"master": master, "tags": data["cluster_tags"],
                    "ipolicy": data["ipolicy"],
                    "default_hypervisor": data["enabled_hypervisors"][0],
                    "enabled_hypervisors": data["enabled_hypervisors"]}}


# A small cluster, as in a request to an allocator.
SPEC = {"memory-size": 128, "cpu-count": 1, "disk-size": 1024, "disk-count": 1,
        "nic-count": 1, "spindle-use": 1}
POLICY = {"minmax": [{"min": SPEC, "max": SPEC}], "std": SPEC,
          "disk-templates": ["drbd"], "vcpu-ratio": 4.0, "spindle-ratio": 32.0}
NODE = {"group": "uuid-g", "offline": False, "drained": False, "tags": [],
        "vm_capable": True, "total_memory": 8192, "reserved_memory": 512,
        "free_memory": 4096, "total_disk": 100000, "free_disk": 90000,
        "total_cpus": 4, "reserved_cpus": 1,
        "ndparams": {"exclusive_storage": False, "spindle_count": 1,
                     "cpu_speed": 1.0}}
INSTANCE = {"nodes": ["n1.x", "n2.x"], "memory": 1024, "vcpus": 1,
            "spindle_use": 1, "admin_state": "up", "disk_template": "drbd",
            "disks": [{"size": 1024}], "disk_space_total": 1152, "tags": []}
CLUSTER = {
    "nodegroups": {"uuid-g": {"name": "g", "alloc_policy": "preferred",
                              "tags": [], "ipolicy": POLICY}},
    "nodes": {f"n{i}.x": NODE for i in (1, 2, 3)},
    "instances": {"a.x": INSTANCE, "b.x": INSTANCE, "c.x": INSTANCE},
    "cluster_tags": [], "ipolicy": POLICY, "enabled_hypervisors": ["fake"]}
