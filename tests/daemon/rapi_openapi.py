#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rapi_openapi.py ADDRESS FILE: the description of the remote API in FILE is
whole, and each operation is there.  Prints "ok - NAME" or "not ok - NAME"."""
import base64
import http.client
import json
import re
import ssl
import sys

LIMIT_S = 30
# Takes any certificate.  One for all, as it takes long to make.
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE
AUTH = {"Authorization": "Basic " + base64.b64encode(b"rw:secret").decode()}
TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}


def point(wrong, name):
    wrong = list(wrong)
    print(f"{'not ok' if wrong else 'ok'} - {name}")
    for line in wrong[:5]:
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


def strange(where, value, known, needed=()):
    for name in value:
        if name not in known:
            yield f"{where}: {name}"
    for name in needed:
        if name not in value:
            yield f"{where}: no {name}"


def refs(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for child in value.values():
            yield from refs(child)
    elif isinstance(value, list):
        for child in value:
            yield from refs(child)


def resolve(document, ref):
    value = document
    for part in ref.removeprefix("#/").split("/"):
        value = value.get(part, {})
    return value


def answer_faults(document, where, answer):
    answer = resolve(document, answer["$ref"]) if "$ref" in answer else answer
    yield from strange(where, answer, {"description", "headers", "content",
                                       "links"}, ["description"])
    for media in answer.get("content", {}).values():
        yield from strange(where, media, {"schema", "example", "examples",
                                          "encoding"})


def operation_faults(document, where, op):
    """What the specification does not know, and what it misses."""
    yield from strange(where, op, {
        "tags", "summary", "description", "externalDocs", "operationId",
        "parameters", "requestBody", "responses", "callbacks", "deprecated",
        "security", "servers"}, ["responses"])
    seen = set()
    for one in op["parameters"]:
        yield from strange(where, one, {
            "name", "in", "description", "required", "deprecated", "schema",
            "style", "explode", "example"}, ["name", "in", "schema"])
        if one["in"] not in ("path", "query", "header", "cookie") or \
                (one["in"] == "path" and one["required"] is not True) or \
                (one["in"], one["name"]) in seen:
            yield f"{where}: parameter {one['name']}"
        seen.add((one["in"], one["name"]))
    if "requestBody" in op:
        yield from strange(where, op["requestBody"],
                           {"description", "content", "required"}, ["content"])
    for status, answer in op["responses"].items():
        if not re.fullmatch("default|[1-5][0-9X]{2}", status):
            yield f"{where}: status {status}"
        yield from answer_faults(document, where, answer)
    for one in op.get("security", []):
        yield from strange(where, one,
                           document["components"]["securitySchemes"])


def valid(document, operations):
    point(strange("document", document, {
        "openapi", "info", "jsonSchemaDialect", "servers", "paths", "webhooks",
        "components", "security", "tags", "externalDocs"},
                  ["openapi", "info", "paths"]), "it has what it may have")
    point(strange("info", document["info"], {
        "title", "summary", "description", "termsOfService", "contact",
        "license", "version"}, ["title", "version"]), "and says whose it is")
    point([fault for path, method, op in operations
           for fault in operation_faults(document, f"{method} {path}", op)],
          "its operations are operations")
    point([ref for ref in refs(document) if not resolve(document, ref)],
          "what it refers to is there")


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


def ask(address, method, path, headers=()):
    """Status and type of the answer."""
    connection = http.client.HTTPSConnection(address, context=CONTEXT,
                                             timeout=LIMIT_S)
    connection.request(method.upper(), path, headers=dict(headers))
    answer = connection.getresponse()
    kind = answer.getheader("Content-Type")
    if kind != "text/event-stream":
        answer.read()
    connection.close()
    return answer.status, kind.split(";")[0]


def kinds(document, op, status):
    answer = op["responses"].get(str(status), op["responses"]["default"])
    if "$ref" in answer:
        answer = resolve(document, answer["$ref"])
    return answer.get("content", {})


def main():
    address, file = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        document = json.load(text)
    point([] if document["openapi"] == "3.1.0" else ["version"],
          "it is OpenAPI 3.1")
    operations = form(document)
    valid(document, operations)
    wrong, odd = [], []
    for path, method, op in operations:
        target = re.sub(r"{(job|disk)}", "1", path)
        target = re.sub(r"{instance}", "inst1.example.com", target)
        target = re.sub(r"{node}", "node1.example.com", target)
        target = re.sub(r"{group}", "default", target)
        target = re.sub(r"{\w+}", "nosuch", target)
        status, kind = ask(address, method, target)
        secure = "security" in op
        if status == 501 or (status == 401) != secure:
            wrong.append(f"{method} {target}: {status}")
        if kind not in kinds(document, op, status):
            odd.append(f"{method} {target}: {kind}")
        if method == "get":
            status, kind = ask(address, method, target, AUTH)
            if status in (401, 403, 501) and not path.endswith("/ws"):
                wrong.append(f"{method} {target} for rw: {status}")
            if kind not in kinds(document, op, status):
                odd.append(f"{method} {target} for rw: {kind}")
    point(wrong, f"all {len(operations)} operations are there, "
                 "for whom it says")
    point(odd, "and what they answer is of the type that it says")


main()
