/* SPDX-License-Identifier: BSD-2-Clause */
/* The history: jobs that have been archived beside those that live, found by
 * what they did, to what, for whom and when; and whether the archive is as it
 * was written. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

/* A page has so many jobs unless the client says. */
#define PAGE 1000
/* The master lets one call wait so long. */
#define CALL_S 10
/* A check of the archive that takes longer goes on, and is asked for again. */
#define VERIFY_S 60

static const char *const history_fields[] = {
	"id",	  "status",   "summary",     "opid",	 "objects", "user",
	"reason", "archived", "received_ts", "start_ts", "end_ts",  NULL};

static int narrow(const struct request *q, json_t **qfilter, struct error *err);

const struct resource_kind resource_kind_history = {
	.what = "job",
	.fields = history_fields,
	.name_field = "id",
	.page = PAGE,
	.always = "archived",
	.narrow = narrow,
};

/* --- arguments that stand for a filter --- */

static const struct condition {
	const char *argument, *op, *field;
	bool number;
} conditions[] = {
	{"status", "==", "status", false},
	{"op", "=[]", "opid", false},
	{"object", "=[]", "objects", false},
	{"user", "=[]", "user", false},
	{"reason", "=[]", "reason", false},
	{"since", ">=", "received_ts", true},
	{"until", "<", "received_ts", true},
	{"after", ">", "id", true},
};

static int add_condition(json_t *all, const struct condition *c,
			 const char *text, struct error *err)
{
	int64_t number;

	if (!c->number) {
		json_array_append_new(
			all, json_make("[s, s, s]", c->op, c->field, text));
		return 0;
	}
	if (!str_to_int64(text, &number))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid value for the '%s' parameter",
				 c->argument);
	json_array_append_new(all, json_make("[s, s, I]", c->op, c->field,
					     (json_int_t)number));
	return 0;
}

static int narrow(const struct request *q, json_t **qfilter, struct error *err)
{
	auto_json json_t *all = json_make("[s]", "&");

	if (*qfilter != NULL)
		json_array_append(all, *qfilter);
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		const char *text = args_get(&q->args, conditions[i].argument);

		if (text != NULL &&
		    add_condition(all, &conditions[i], text, err) < 0)
			return -1;
	}
	if (json_array_size(all) == 1)
		return 0;
	json_decref(*qfilter);
	*qfilter = steal(&all);
	return 0;
}

json_t *resource_history(struct request *q, struct error *err)
{
	return resource_shaped_list(q, true, err);
}

/* --- the check --- */

json_t *resource_history_verify(struct request *q, struct error *err)
{
	const int64_t end = clock_mono_us() + VERIFY_S * INT64_C(1000000);
	json_t *answer = request_call(q, "VerifyJobHistory",
				      json_make("[b, i]", 1, CALL_S), err);

	while (answer != NULL && json_bool(answer, "running", false) &&
	       clock_mono_us() < end) {
		json_decref(answer);
		answer = request_call(q, "VerifyJobHistory",
				      json_make("[b, i]", 0, CALL_S), err);
	}
	if (answer != NULL && json_bool(answer, "running", false))
		q->status = 202;
	return answer;
}
