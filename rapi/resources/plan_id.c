/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs from one time to the next without meaning anything is left out:
 * ids that jobs would get, who holds a lock now, when it was asked. */
#include "rapi/resources/plan_id.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "rapi/frame/hash.h"
#include "rapi/frame/request.h"

static const char *const passing[] = {"id",   "by",	"held_by",
				      "jobs", "reason", "left"};

/* Objects that have a serial number; the names are those of locks and of
 * queries. */
static const struct {
	const char *lock, *what;
} kinds[] = {
	{"instance/", "instance"},
	{"node/", "node"},
	{"nodegroup/", "group"},
	{"network/", "network"},
};

static bool is_passing(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		if (strcmp(passing[i], key) == 0)
			return true;
	return false;
}

/* A copy without what is passing; the values of a plan are not deep. */
static json_t *lasting(const json_t *value)
{
	json_t *copy, *item;
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		copy = json_object();
		json_object_foreach (json_unconst(value), key, item)
			if (!is_passing(key))
				json_object_set_new(copy, key, lasting(item));
		return copy;
	}
	if (!json_is_array(value))
		return json_ref(value);
	copy = json_array();
	json_array_foreach (value, i, item)
		json_array_append_new(copy, lasting(item));
	return copy;
}

/* The names that an opcode locks for itself alone, of one kind. */
static void add_names(const json_t *op, const char *prefix, struct strv *ret)
{
	const json_t *locks = json_get(op, "locks"), *lock;
	size_t i;

	json_array_foreach (locks, i, lock) {
		const char *name = json_str(lock, "name", "");

		if (str_starts(name, prefix) && name[strlen(prefix)] != '[' &&
		    strcmp(json_str(lock, "mode", ""), "exclusive") == 0)
			strv_add_unique(ret, name + strlen(prefix));
	}
}

static void find_names(const json_t *plan, const char *prefix, struct strv *ret)
{
	const json_t *job, *op;
	size_t i, k;

	json_array_foreach (json_get(plan, "jobs"), i, job)
		json_array_foreach (json_get(job, "ops"), k, op)
			add_names(op, prefix, ret);
}

/* [[name, uuid, serial], ...] of those that there are; no error for others. */
static json_t *serials(struct request *q, const char *what,
		       const struct strv *names, struct error *err)
{
	json_t *any = json_make("[s]", "|");
	json_t *answer;

	for (size_t i = 0; i < names->n; i++) {
		json_array_append_new(any, json_make("[s, s, s]", "=", "name",
						     names->items[i]));
		json_array_append_new(any, json_make("[s, s, s]", "=", "uuid",
						     names->items[i]));
	}
	answer = request_call(q, "Query",
			      json_make("[s, [s, s, s], o]", what, "name",
					"uuid", "serial_no", any),
			      err);
	return answer;
}

char *plan_id(struct request *q, const json_t *plan, struct error *err)
{
	auto_json json_t *jobs = lasting(json_get(plan, "jobs"));
	auto_json json_t *all = json_make("[O]", jobs ?: json_null());
	auto_free char *text = NULL;
	char hash[HASH_HEX];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_strv struct strv names = {0};
		auto_json json_t *rows = NULL;

		find_names(plan, kinds[i].lock, &names);
		if (names.n == 0)
			continue;
		rows = serials(q, kinds[i].what, &names, err);
		if (rows == NULL)
			return NULL;
		json_array_append_new(all, json_ref(json_get(rows, "data")));
	}
	text = json_text_sorted(all);
	hash_hex(text, strlen(text), hash);
	return xstrndup(hash, HASH_HEX / 2);
}

int plan_id_check(struct request *q, const json_t *ops, struct error *err)
{
	auto_json json_t *plan =
		request_call(q, "PlanJobs", json_make("[[O]]", ops), err);
	auto_free char *id = plan == NULL ? NULL : plan_id(q, plan, err);

	if (id == NULL)
		return -1;
	if (strcmp(id, q->wanted_plan) == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_MOVED,
			 "The plan is not any more what would be done; make a "
			 "new one");
}
