# SPDX-License-Identifier: BSD-2-Clause
"""The remote API, and what all modules do with it: look, find the steps that
lead to what is wanted, plan or run them.

A step is a request that submits a job."""
from __future__ import absolute_import, division, print_function

__metaclass__ = type  # pylint: disable=invalid-name

import json
import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.six.moves.urllib.error import HTTPError, URLError
from ansible.module_utils.six.moves.urllib.parse import quote, urlencode
from ansible.module_utils.urls import open_url

# The server waits that long at most for a job, in one request.
WAIT_S = 60
POLL_S = 0.5
REQUEST_S = 180
FINAL = ("success", "error", "canceled")

OPTIONS = {
    "api_url": {"type": "str"},
    "api_user": {"type": "str"},
    "api_password": {"type": "str", "no_log": True},
    "api_token": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
}
JOB_OPTIONS = {"job_timeout": {"type": "int", "default": 600}}
NAME = {"name": {"type": "str", "required": True}}
TAGS = {"tags": {"type": "list", "elements": "str"}}
STATE = {"state": {"type": "str", "default": "present",
                   "choices": ["present", "absent"]}}
ENVIRONMENT = {
    "api_url": "GANTRY_RAPI",
    "api_user": "GANTRY_USER",
    "api_password": "GANTRY_PASSWORD",
    "api_token": "GANTRY_TOKEN",
}


class ApiError(Exception):
    """status is that of the answer; None: there was none."""

    def __init__(self, message, status=None):
        super(ApiError, self).__init__(message)
        self.status = status


def name_in_path(name):
    return quote(name, safe="")


class Api(object):
    """A client; params are those of OPTIONS."""

    def __init__(self, params):
        def given(name):
            return params.get(name) or os.environ.get(ENVIRONMENT[name])

        self.url = given("api_url")
        if not self.url:
            raise ApiError("Where the API is has to be said: api_url, or "
                           "GANTRY_RAPI in the environment")
        self.url = self.url.rstrip("/")
        self.token = given("api_token")
        self.user = None if self.token else given("api_user")
        self.password = given("api_password")
        self.validate = params.get("validate_certs", True)

    def request(self, method, path, body=None, query=None, headers=None):
        """The answer's JSON, or its text."""
        url = self.url + path
        if query:
            url += "?" + urlencode(query)
        headers = dict(headers or {})
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body)
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        try:
            answer = open_url(
                url, method=method, data=data, headers=headers,
                validate_certs=self.validate, timeout=REQUEST_S,
                url_username=self.user, url_password=self.password or "",
                force_basic_auth=self.user is not None)
            text = answer.read().decode("utf-8")
        except HTTPError as err:
            raise self.error_of(method, path, err)
        except URLError as err:
            raise ApiError("%s does not answer: %s" % (self.url, err.reason))
        except Exception as err:  # timeouts, certificates
            raise ApiError("%s %s: %s" % (method, path, err))
        try:
            return json.loads(text) if text else None
        except ValueError:
            return text

    @staticmethod
    def error_of(method, path, err):
        text = err.read().decode("utf-8", "replace")
        try:
            text = json.loads(text)["message"]
        except (ValueError, KeyError, TypeError):
            pass
        return ApiError("%s %s: %s %s" % (method, path, err.code, text),
                        err.code)

    def get(self, path, query=None):
        return self.request("GET", path, query=query)

    def find(self, path):
        """None if it is not there."""
        try:
            return self.get(path)
        except ApiError as err:
            if err.status == 404:
                return None
            raise

    def plan(self, step):
        query = list(step.query) + [("plan", "1")]
        return self.request(step.method, step.path, step.body, query)

    def run(self, step, limit_s):
        """Submit the step's job and wait for its end: the job."""
        end = time.time() + limit_s
        answer = self.request(step.method, step.path, step.body, step.query,
                              prefer(limit_s))
        if isinstance(answer, dict):
            return self.ended(answer["id"], answer, end)
        return self.ended(int(answer), None, end)

    def want(self, path, body, limit_s):
        """PUT a wanted state: the answer, after the end of its job; limit_s
        None: with its plan, nothing is done."""
        if limit_s is None:
            return self.request("PUT", path, body)
        end = time.time() + limit_s
        answer = self.request("PUT", path, body, [("apply", "1")],
                              prefer(limit_s))
        if "job" in answer:
            self.ended(answer["job"], answer.get("ended"), end)
        return answer

    def ended(self, job, state, end):
        """The job when it has ended well; state: what is known of it."""
        state = state or self.get("/2/jobs/%d" % job)
        while state["status"] not in FINAL:
            if time.time() > end:
                raise ApiError("Job %d has not ended in time; it goes on"
                               % job)
            time.sleep(POLL_S)
            state = self.get("/2/jobs/%d" % job)
        if state["status"] != "success":
            raise ApiError("Job %d (%s) ended as %s: %s" % (
                job, ", ".join(state.get("summary", [])), state["status"],
                why(state)))
        return state


def prefer(limit_s):
    return {"Prefer": "wait=%d" % max(0, min(WAIT_S, limit_s))}


def why(job):
    """What the failed opcodes say."""
    texts = []
    for status, result in zip(job.get("opstatus", []),
                              job.get("opresult", [])):
        if status != "success" and isinstance(result, list) and \
                len(result) == 2:
            texts.append(str(result[1][0] if isinstance(result[1], list) and
                             result[1] else result[1]))
    return "; ".join(texts) or "no reason is given"


class Step(object):
    """A request that submits a job; what: in words, for the result."""

    def __init__(self, what, method, path, body=None, query=()):
        self.what = what
        self.method = method
        self.path = path
        self.body = body
        self.query = list(query)


def differences(wanted, present):
    """The members of wanted that present has otherwise."""
    changed = {}
    for key, value in (wanted or {}).items():
        if not same(value, (present or {}).get(key)):
            changed[key] = value
    return changed


def same(wanted, present):
    """Whether a value of a playbook, where numbers are often texts, is the one
    that is there."""
    if isinstance(wanted, dict) and isinstance(present, dict):
        return all(same(value, present.get(key))
                   for key, value in wanted.items())
    if isinstance(present, bool) or isinstance(wanted, bool):
        return truth(wanted) == truth(present)
    if isinstance(present, (int, float)) and not isinstance(wanted, list):
        try:
            return float(size_mib(wanted)) == float(present)
        except ValueError:
            return False
    return wanted == present


def truth(value):
    if isinstance(value, str):
        return value.lower() in ("true", "yes", "on", "1")
    return bool(value)


def size_mib(value):
    """Of "10g", "512m", 1024: in MiB.  ValueError"""
    text = str(value).strip().lower()
    for unit, factor in (("m", 1), ("g", 1024), ("t", 1024 * 1024)):
        if text.endswith(unit):
            return int(float(text[:-1]) * factor)
    return float(text) if "." in text else int(text)


def tag_steps(what, path, wanted, present):
    """Steps to exactly these tags; None: they stay."""
    if wanted is None:
        return []
    steps = []
    missing = sorted(set(wanted) - set(present))
    surplus = sorted(set(present) - set(wanted))
    if missing:
        steps.append(Step("add tags to " + what, "PUT", path + "/tags",
                          query=[("tag", tag) for tag in missing]))
    if surplus:
        steps.append(Step("remove tags from " + what, "DELETE",
                          path + "/tags",
                          query=[("tag", tag) for tag in surplus]))
    return steps


def module_of(**options):
    """A module about an object that has a name and tags."""
    spec = {}
    for more in (OPTIONS, JOB_OPTIONS, NAME, TAGS, options):
        spec.update(more)
    return AnsibleModule(supports_check_mode=True, argument_spec=spec)


def object_module(folder, steps_for, **options):
    """Of one that has its name below `folder`, a path of the API.
    steps_for(api, params, path, present) are its steps; present: the object as
    it is, None if it is not there."""
    module = module_of(**options)
    path = folder + name_in_path(module.params["name"])
    try:
        api = Api(module.params)
        carry_out(module, api,
                  steps_for(api, module.params, path, api.find(path)),
                  lambda: api.find(path))
    except (ApiError, ValueError, KeyError) as err:
        module.fail_json(msg=str(err))


def carry_out(module, api, steps, look):
    """Run the steps, or plan them in check mode, and end the module with what
    look() sees then."""
    result = {"changed": bool(steps), "steps": [step.what for step in steps]}
    if module.check_mode:
        result["plan"] = plans(api, steps)
    else:
        for step in steps:
            api.run(step, module.params["job_timeout"])
    result["object"] = look()
    module.exit_json(**result)


def plans(api, steps):
    """The plan of each step.  What a step needs may come of one before it, which
    is not done now: only the first one has to have a plan."""
    found = []
    for number, step in enumerate(steps):
        try:
            found.append(api.plan(step))
        except ApiError:
            if number == 0:
                raise
            found.append(None)
    return found
