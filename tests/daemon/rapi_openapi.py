#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_openapi.py ADDRESS FILE: the description of the remote API in FILE is
whole, and each operation is there.  Prints "ok - NAME" or "not ok - NAME"."""
import http.client
import json
import re
import ssl
import sys

LIMIT_S = 30
TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}


def point(wrong, name):
    print(f"{'not ok' if wrong else 'ok'} - {name}")
    for line in list(wrong)[:5]:
        print("#", line)


def schemas(value):
    """All schemas in a value."""
    if isinstance(value, dict):
        if "schema" in value:
            yield value["schema"]
        for child in value.values():
            yield from schemas(child)
    elif isinstance(value, list):
        for child in value:
            yield from schemas(child)


def schema_faults(schema, where="schema"):
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind not in TYPES:
            yield f"{where}: type {kind}"
    for name, child in schema.get("properties", {}).items():
        yield from schema_faults(child, f"{where}.{name}")
    for name in schema.get("required", []):
        if name not in schema.get("properties", {}):
            yield f"{where}: requires {name}"


def form(document):
    operations = [(path, method, op)
                  for path, item in document["paths"].items()
                  for method, op in item.items()]
    names = [op["operationId"] for _, _, op in operations]
    point({n for n in names if names.count(n) > 1}, "names are unique")
    point([f"{path}: {sorted(given)}" for path, _, op in operations
           for given in [{p["name"] for p in op["parameters"]
                          if p["in"] == "path"}]
           if given != set(re.findall(r"{(\w+)}", path))],
          "names in paths are described")
    point([fault for schema in schemas(document)
           for fault in schema_faults(schema)], "schemas are schemas")
    point([op["operationId"] for _, _, op in operations
           if op["responses"]["default"]["$ref"] !=
           "#/components/responses/error"],
          "each operation may fail")
    return operations


def ask(address, method, path):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, context=context,
                                             timeout=LIMIT_S)
    connection.request(method.upper(), path)
    answer = connection.getresponse()
    if answer.getheader("Content-Type") != "text/event-stream":
        answer.read()
    connection.close()
    return answer.status


def main():
    address, file = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        document = json.load(text)
    point([] if document["openapi"] == "3.1.0" else ["version"],
          "it is OpenAPI 3.1")
    operations = form(document)
    wrong = []
    for path, method, op in operations:
        if path == "/2/os":
            continue  # runs a job for everybody who asks
        target = re.sub(r"{(job|disk)}", "1", path)
        target = re.sub(r"{instance}", "inst1.example.com", target)
        target = re.sub(r"{node}", "node1.example.com", target)
        target = re.sub(r"{group}", "default", target)
        target = re.sub(r"{\w+}", "nosuch", target)
        if target.endswith("/info"):
            continue  # the same
        status = ask(address, method, target)
        secure = "security" in op
        if status == 501 or (status == 401) != secure:
            wrong.append(f"{method} {target}: {status}")
    point(wrong, f"all {len(operations)} operations are there, "
                 "for whom it says")


main()
