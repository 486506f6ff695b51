/* SPDX-License-Identifier: BSD-2-Clause */
/* Where instances would be placed: the plan of an opcode that asks our hail for
 * its reasons and does nothing else.  No job is made and no lock is taken.
 *
 * The body is that of POST /2/instances, of which everything but the size may
 * be left out; or {"instances": [...]} for several that are placed together. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

/* The allocator that can explain. */
#define ALLOCATOR "hail"
/* More are asked for in several requests. */
#define INSTANCES_MAX 1000

/* What a new instance has when the client says nothing. */
static const struct {
	const char *name, *value;
} defaults[] = {
	{"mode", "\"create\""}, {"disk_template", "\"diskless\""},
	{"disks", "[]"},	{"nics", "[]"},
	{"ip_check", "false"},	{"name_check", "false"},
};

static json_t *invalid(struct error *err, const char *text)
{
	error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", text);
	return NULL;
}

/* The parameters of one instance, to be freed. */
static json_t *params_of(const json_t *given, size_t number, struct error *err)
{
	json_t *params;

	if (request_check_dict(given, "An instance", err) < 0)
		return NULL;
	params = json_copy(json_unconst(given));
	json_object_del(params, "__version__");
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (json_object_get(params, defaults[i].name) == NULL)
			json_object_set_new(params, defaults[i].name,
					    json_loads(defaults[i].value,
						       JSON_DECODE_ANY, NULL));
	/* Where it is placed does not depend on what runs there. */
	if (json_object_get(params, "os") == NULL &&
	    json_object_get(params, "os_type") == NULL)
		json_set_bool(params, "no_install", true);
	if (json_object_get(params, "name") == NULL &&
	    json_object_get(params, "instance_name") == NULL) {
		auto_free char *name = xprintf("new-%zu", number + 1);

		json_set_str(params, "instance_name", name);
	}
	return params;
}

static json_t *one_op(struct request *q, const json_t *given, size_t number,
		      const json_t *set, struct error *err)
{
	auto_json json_t *params = params_of(given, number, err);

	return params == NULL ? NULL
			      : fill_opcode(&op_class_instance_create, q->route,
					    params, set, err);
}

static json_t *single(struct request *q, struct error *err)
{
	auto_json json_t *set = json_make("{s:b}", "explain", 1);
	const json_t *chosen = json_get(q->body, "iallocator");

	json_set_str(set, "iallocator",
		     json_is_string(chosen) ? json_string_value(chosen)
					    : ALLOCATOR);
	json_object_del(q->body, "iallocator");
	return one_op(q, q->body, 0, set, err);
}

static json_t *several(struct request *q, const json_t *instances,
		       struct error *err)
{
	auto_json json_t *ops = json_array();
	auto_json json_t *none = json_object();
	size_t i;
	json_t *one;

	if (json_object_size(q->body) > 1 || !json_is_array(instances))
		return invalid(err, "'instances' is a list, and alone");
	if (json_array_size(instances) == 0)
		return invalid(err, "There are no instances to be placed");
	if (json_array_size(instances) > INSTANCES_MAX)
		return invalid(err, "Too many instances at the same time");
	json_array_foreach (instances, i, one) {
		json_t *op = one_op(q, one, i, none, err);

		if (op == NULL)
			return NULL;
		json_array_append_new(ops, op);
	}
	return json_make("{s:s, s:O, s:s, s:b}", "OP_ID",
			 "OP_INSTANCE_MULTI_ALLOC", "instances", ops,
			 "iallocator", ALLOCATOR, "explain", 1);
}

/* The result of the only opcode that was planned; or its error. */
static json_t *result_of(const json_t *plan, struct error *err)
{
	const json_t *job = json_array_get(json_object_get(plan, "jobs"), 0);
	const json_t *op = json_array_get(json_object_get(job, "ops"), 0);
	const json_t *error = json_get(job, "error") ?: json_get(op, "error");
	const json_t *result = json_get(op, "result");

	if (result != NULL)
		return json_ref(result);
	if (error != NULL)
		luxi_error_unpack(error, err);
	else
		error_set(err, ERR_EXEC, NULL, "The allocator did not answer");
	return NULL;
}

json_t *resource_placement(struct request *q, struct error *err)
{
	auto_json json_t *plan = NULL;
	const json_t *instances;
	json_t *op;

	if (request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	instances = json_object_get(q->body, "instances");
	op = instances == NULL ? single(q, err) : several(q, instances, err);
	if (op == NULL)
		return NULL;
	plan = request_call(q, "PlanJobs", json_make("[[[o]]]", op), err);
	return plan == NULL ? NULL : result_of(plan, err);
}
