/* SPDX-License-Identifier: BSD-2-Clause */
/* PUT of an instance's wanted state: the difference to what there is, the
 * opcodes that it takes and their plan; with apply=1 a job of them. */
#include "lib/json/json.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/token.h"
#include "rapi/wanted/wanted.h"

/* The instance as it is, to be freed; *ret NULL if there is none. */
static int look(struct request *q, json_t **ret, struct error *err)
{
	auto_json json_t *fields = json_array(), *rows = NULL;

	*ret = NULL;
	for (size_t i = 0; wanted_fields[i] != NULL; i++)
		json_array_append_new(fields, json_string(wanted_fields[i]));
	rows = request_call(
		q, "QueryInstances",
		json_make("[[s], O, b]", q->items.items[0], fields, 0), err);
	if (rows == NULL)
		return error_is(err, ECODE_NOENT) ? 0 : -1;
	if (json_array_size(rows) > 0)
		*ret = wanted_now(json_array_get(rows, 0));
	return 0;
}

/* Every opcode says where it comes from. */
static int sign(struct request *q, json_t *ops, struct error *err)
{
	auto_json json_t *set = fill_set(q, err);

	if (set == NULL)
		return -1;
	fill_each(ops, set);
	return 0;
}

/* Put the plan, or the job, into the answer. */
static int act(struct request *q, json_t *ops, bool apply, json_t *answer,
	       struct error *err)
{
	json_t *result, *id;

	if (sign(q, ops, err) < 0)
		return -1;
	if (!apply) {
		result = request_call(q, "PlanJobs", json_make("[[O]]", ops),
				      err);
		if (result == NULL)
			return -1;
		json_object_set_new(answer, "plan", result);
		return 0;
	}
	id = request_submit(q, json_incref(ops), err);
	if (id == NULL)
		return -1;
	json_object_set(answer, "job", id);
	result = q->wait_s == 0 ? json_null() : resource_job_end(q, id, err);
	json_decref(id);
	if (result == NULL)
		return -1;
	if (json_is_object(result))
		json_object_set(answer, "ended", result);
	json_decref(result);
	return 0;
}

/* Without what must not be shown. */
static json_t *public_ops(const json_t *ops)
{
	json_t *copy = json_deep_copy(ops), *op;
	size_t i;

	json_array_foreach (copy, i, op) {
		json_object_del(op, "osparams_private");
		json_object_del(op, "osparams_secret");
	}
	return copy;
}

static json_t *answer_of(struct request *q, const json_t *now, struct wanted *w,
			 bool apply, struct error *err)
{
	auto_json json_t *answer =
		json_make("{s:b, s:O, s:o}", "exists", now != NULL,
			  "difference", w->changes, "ops", public_ops(w->ops));

	if (json_array_size(w->ops) > 0 &&
	    act(q, w->ops, apply, answer, err) < 0)
		return NULL;
	return steal(&answer);
}

json_t *resource_wanted(struct request *q, struct error *err)
{
	auto_json json_t *now = NULL, *changes = json_array();
	auto_json json_t *ops = json_array();
	struct wanted w = {.changes = changes, .ops = ops};
	bool apply;

	if (args_flag(&q->args, "apply", &apply, err) < 0 ||
	    look(q, &now, err) < 0 ||
	    wanted_compare(q->items.items[0], now, q->body, &w, err) < 0 ||
	    (q->token != NULL && token_check_ops(q->token, ops, err) < 0))
		return NULL;
	return answer_of(q, now, &w, apply, err);
}
