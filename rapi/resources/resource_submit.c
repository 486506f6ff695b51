/* SPDX-License-Identifier: BSD-2-Clause */
/* Resources that submit a job: nearly all of them by what their row in
 * routes.def says. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"
#include "rapi/resources/plan_id.h"

static int check_forbidden(const struct request *q, struct error *err)
{
	const char *name = q->route->forbidden;

	if (name == NULL || (json_object_get(q->body, name) == NULL &&
			     args_get(&q->args, name) == NULL))
		return 0;
	return error_set(err, ERR_PREREQ, REPLY_FORBIDDEN,
			 "The parameter %s cannot be set via RAPI", name);
}

/* Dependencies may be given also where the rest of the body is ignored. */
static void add_depends(json_t *params, const json_t *body)
{
	const json_t *depends = json_object_get(body, "depends");

	if (json_array_size(depends) > 0)
		json_object_set_new(params, "depends", json_ref(depends));
}

/* The parameters that the body gives; to be freed. */
static json_t *params_of(struct request *q, struct error *err)
{
	const struct route *route = q->route;
	json_t *params;

	if (route->body == BODY_NEEDED &&
	    request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	if (route->input != NULL)
		params = route->input(q, err);
	else if (route->body == BODY_IGNORED || q->body == NULL)
		params = json_object();
	else
		params = json_copy(q->body);
	if (json_is_object(params))
		add_depends(params, q->body);
	return params;
}

/* What the job would do, with the name of this plan. */
static json_t *make_plan(struct request *q, const json_t *ops,
			 struct error *err)
{
	auto_json json_t *plan =
		request_call(q, "PlanJobs", json_make("[[O]]", ops), err);
	auto_free char *id = plan == NULL ? NULL : plan_id(q, plan, err);

	if (id == NULL)
		return NULL;
	json_set_str(plan, "plan", id);
	buf_addf(&q->headers, "Gantry-Plan: %s\n", id);
	return steal(&plan);
}

/* Submit the job, or say what it would do. */
static json_t *run_job(struct request *q, json_t *ops STEALS, struct error *err)
{
	auto_json json_t *id = NULL;

	auto_json json_t *owned = ops;

	if (q->plan)
		return make_plan(q, ops, err);
	if (q->wanted_plan != NULL && plan_id_check(q, ops, err) < 0)
		return NULL;
	id = q->key[0] == '\0' ? request_submit(q, json_incref(owned), err)
			       : request_call(q, "SubmitJobOnce",
					      json_make("[O, s, s]", ops,
							q->key, q->digest),
					      err);
	if (id == NULL || q->wait_s == 0)
		return steal(&id);
	return resource_job_end(q, id, err);
}

json_t *resource_submit(struct request *q, struct error *err)
{
	auto_json json_t *params = NULL, *set = NULL;
	json_t *op;

	if (check_forbidden(q, err) < 0 ||
	    (params = params_of(q, err)) == NULL ||
	    (set = fill_set(q, err)) == NULL)
		return NULL;
	op = fill_opcode(q->route->opcode, q->route, params, set, err);
	return op == NULL ? NULL : run_job(q, json_make("[o]", op), err);
}

/* --- reinstall: several opcodes in one job --- */

static json_t *reinstall_body(struct request *q, struct error *err)
{
	const char *os = args_get(&q->args, "os");
	int64_t nostartup;

	if (json_is_object(q->body) ? json_object_size(q->body) > 0
				    : q->body != NULL) {
		if (os != NULL || args_get(&q->args, "nostartup") != NULL) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Can't combine query and body parameters");
			return NULL;
		}
		return json_incref(q->body);
	}
	if (args_int(&q->args, "nostartup", 0, &nostartup, err) < 0)
		return NULL;
	return json_make("{s:o, s:b}", "os",
			 os == NULL ? json_null() : json_string(os), "start",
			 nostartup == 0);
}

static int check_reinstall(const json_t *body, struct error *err)
{
	const json_t *start = json_object_get(body, "start");

	if (!json_is_object(body))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid body contents, not a dictionary");
	if (start == NULL || json_is_boolean(start))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'start' parameter: Type is '%s', but 'bool' is "
			 "expected",
			 request_type_name(start));
}

static json_t *reinstall_op(const struct request *q, const json_t *body)
{
	json_t *op = json_make("{s:s, s:s}", "OP_ID", "OP_INSTANCE_REINSTALL",
			       "instance_name", q->items.items[0]);
	const json_t *os = json_get(body, "os");
	const json_t *params = json_get(body, "osparams");

	if (os != NULL)
		json_object_set_new(op, "os_type", json_ref(os));
	if (params != NULL)
		json_object_set_new(op, "osparams", json_ref(params));
	return op;
}

/* Every opcode has the reason that is given, if one is, and is only tried if
 * that is wanted. */
static int sign(struct request *q, json_t *ops, struct error *err)
{
	auto_json json_t *set = fill_set(q, err);

	if (set == NULL)
		return -1;
	if (args_get(&q->args, "reason") == NULL)
		json_object_del(set, "reason");
	fill_each(ops, set);
	return 0;
}

json_t *resource_reinstall(struct request *q, struct error *err)
{
	auto_json json_t *body = reinstall_body(q, err);
	auto_json json_t *ops = NULL, *checked = NULL;
	const char *name = q->items.items[0];
	json_t *op;

	if (body == NULL || check_reinstall(body, err) < 0)
		return NULL;
	op = reinstall_op(q, body);
	ops = json_make("[{s:s, s:s}, o]", "OP_ID", "OP_INSTANCE_SHUTDOWN",
			"instance_name", name, op);
	checked = op_check(op, err);
	if (checked == NULL) {
		error_wrap_as(err, ERR_PREREQ, "Invalid body parameters");
		return NULL;
	}
	if (json_bool(body, "start", true))
		json_array_append_new(ops, json_make("{s:s, s:s, s:b}", "OP_ID",
						     "OP_INSTANCE_STARTUP",
						     "instance_name", name,
						     "force", 0));
	return sign(q, ops, err) < 0 ? NULL : run_job(q, steal(&ops), err);
}
