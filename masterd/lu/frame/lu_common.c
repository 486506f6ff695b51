/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for LUs: wants, kept objects, the job's log, node calls by UUID,
 * submitting jobs. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu_private.h"

/* A service manager starts a node daemon anew within this, */
#define RESTART_US 5000000
/* which is looked for so often. */
#define RESTART_MS 500

/* --- wants --- */

void lu_locks_clear(struct lu_locks *locks)
{
	for (size_t i = 0; i < locks->n; i++)
		free(mem_unconst(locks->wants[i].name));
	locks->n = 0;
	locks->at_least = 0;
	table_done(&locks->places, free);
}

/* No name is empty. */
static char *place_key(enum lock_level level, const char *name)
{
	return xprintf("%s/%s", lock_level_name(level),
		       name == NULL ? "" : name);
}

/* The index of the want; false: there is none. */
static bool find_want(const struct lu_locks *locks, enum lock_level level,
		      const char *name, size_t *ret)
{
	auto_free char *key = place_key(level, name);
	const size_t *place = table_get(&locks->places, key);

	if (place != NULL)
		*ret = *place;
	return place != NULL;
}

static void note_place(struct lu_locks *locks, enum lock_level level,
		       const char *name, size_t i)
{
	auto_free char *key = place_key(level, name);

	table_put(&locks->places, key, xmemdup(&i, sizeof(i)));
}

static struct lock_want *want(struct lu *lu, enum lock_level level,
			      const char *name, bool exclusive)
{
	struct lu_locks *locks = lu->locks;
	size_t i;

	if (find_want(locks, level, name, &i)) {
		struct lock_want *old = &locks->wants[i];

		old->exclusive = old->exclusive || exclusive;
		return old;
	}
	if (locks->n == locks->cap) {
		locks->cap = locks->cap == 0 ? 8 : locks->cap * 2;
		locks->wants = xrealloc(locks->wants,
					locks->cap * sizeof(*locks->wants));
	}
	note_place(locks, level, name, locks->n);
	locks->wants[locks->n++] = (struct lock_want){
		.level = level,
		.name = name == NULL ? NULL : xstrdup(name),
		.exclusive = exclusive,
	};
	return &locks->wants[locks->n - 1];
}

/* A job with the exclusive lock of an instance gets that of its disks, too,
 * unless its LU leaves them alone. */
static bool takes_disks(const struct lu *lu, enum lock_level level,
			bool exclusive)
{
	return level == LOCK_INSTANCE && exclusive && !lu->class->spares_disks;
}

void lu_want(struct lu *lu, enum lock_level level, const char *name,
	     bool exclusive)
{
	assert(name != NULL);
	want(lu, level, name, exclusive);
	if (takes_disks(lu, level, exclusive))
		want(lu, LOCK_INSTANCE_DISKS, name, true);
}

void lu_want_new(struct lu *lu, enum lock_level level, const char *name)
{
	assert(name != NULL);
	want(lu, level, name, true)->creates = true;
	if (takes_disks(lu, level, true))
		want(lu, LOCK_INSTANCE_DISKS, name, true)->creates = true;
}

void lu_want_free(struct lu *lu, enum lock_level level, const char *name,
		  bool exclusive, unsigned group)
{
	assert(name != NULL && group > 0);
	want(lu, level, name, exclusive)->group = group;
}

void lu_want_at_least(struct lu *lu, unsigned n_groups)
{
	lu->locks->at_least = n_groups;
}

bool lu_has(const struct lu *lu, enum lock_level level, const char *name)
{
	size_t i;

	return find_want(lu->locks, level, name, &i) &&
	       locks_has(&lu->locks->request, i);
}

void lu_want_all(struct lu *lu, enum lock_level level, bool exclusive)
{
	want(lu, level, NULL, exclusive);
}

static void release_want(struct lu *lu, size_t i)
{
	if (lu->locks->released[i])
		return;
	lu->locks->released[i] = true;
	locks_release_one(lu->m->locks, &lu->locks->request, i);
}

void lu_release(struct lu *lu, enum lock_level level)
{
	static const struct strv none;

	lu_release_but(lu, level, &none);
}

void lu_release_but(struct lu *lu, enum lock_level level,
		    const struct strv *names)
{
	for (size_t i = 0; i < lu->locks->n; i++) {
		const struct lock_want *w = &lu->locks->wants[i];

		if (w->level == level &&
		    (w->name == NULL || !strv_has(names, w->name)))
			release_want(lu, i);
	}
}

void lu_share(struct lu *lu, enum lock_level level)
{
	for (size_t i = 0; i < lu->locks->n; i++) {
		struct lock_want *w = &lu->locks->wants[i];

		if (w->level != level || !w->exclusive ||
		    !locks_has(&lu->locks->request, i))
			continue;
		w->exclusive = false;
		locks_downgrade(lu->m->locks, &lu->locks->request, i);
	}
}

/* --- objects --- */

const json_t *lu_keep(struct lu *lu, const json_t *object)
{
	struct lu_keep *keep = lu->keep;

	keep->objects = xrealloc(keep->objects,
				 (keep->n_objects + 1) * sizeof(json_t *));
	keep->objects[keep->n_objects++] = json_ref(object);
	return object;
}

const char *lu_keep_str(struct lu *lu, char *s STEALS)
{
	strv_add(&lu->keep->strings, s);
	free(s);
	return lu->keep->strings.items[lu->keep->strings.n - 1];
}

static const json_t *expect(struct lu *lu, enum config_kind kind,
			    const char *name, struct error *err)
{
	const json_t *object = config_expect(lu->m->config, kind, name, err);

	return object == NULL ? NULL : lu_keep(lu, object);
}

const json_t *lu_instance(struct lu *lu, const char *name, struct error *err)
{
	return expect(lu, CONFIG_INSTANCE, name, err);
}

const json_t *lu_node(struct lu *lu, const char *name, struct error *err)
{
	return expect(lu, CONFIG_NODE, name, err);
}

const json_t *lu_group(struct lu *lu, const char *name, struct error *err)
{
	return expect(lu, CONFIG_GROUP, name, err);
}

/* --- the job's log --- */

static void say(struct lu *lu, const char *before, const char *fmt, va_list ap)
{
	auto_free char *text = NULL;
	struct buf line = {0};

	text = xvprintf(fmt, ap);
	buf_adds(&line, before);
	buf_adds(&line, text);
	queue_run_log(lu->run, "message",
		      json_stringn_nocheck(line.data, line.len));
	buf_done(&line);
}

void lu_feedback(struct lu *lu, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(lu, "", fmt, ap);
	va_end(ap);
}

void lu_info(struct lu *lu, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(lu, " - INFO: ", fmt, ap);
	va_end(ap);
}

void lu_warn(struct lu *lu, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(lu, " - WARNING: ", fmt, ap);
	va_end(ap);
}

/* --- calls and jobs --- */

json_t *lu_reason(struct lu *lu)
{
	return lu->common.reason == NULL ? json_array()
					 : json_ref(lu->common.reason);
}

int lu_want_nodes(struct lu *lu, const json_t *names, bool exclusive,
		  struct strv *ret, struct error *err)
{
	strv_done(ret);
	*ret = (struct strv){0};
	for (size_t i = 0; i < json_array_size(names); i++) {
		const json_t *node = lu_node(
			lu, json_string_value(json_array_get(names, i)), err);

		if (node == NULL)
			return -1;
		strv_add_unique(ret, node_uuid(node));
		lu_want(lu, LOCK_NODE, node_uuid(node), exclusive);
	}
	if (json_array_size(names) == 0) {
		config_sorted(lu->m->config, CONFIG_NODE, ret);
		lu_want_all(lu, LOCK_NODE, exclusive);
	}
	return 0;
}

struct node_result *lu_call_nodes(struct lu *lu, const struct strv *uuids,
				  struct rpc_request request, size_t *ret_n)
{
	struct node_result *results = node_results_new(uuids->n);
	size_t n = 0;

	for (size_t i = 0; i < uuids->n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, uuids->items[i]);

		if (node != NULL)
			results[n++].node = json_ref(node);
	}
	noderpc_call_many(lu->m->rpc, results, n, request);
	*ret_n = n;
	return results;
}

static void note_answer(struct lu *lu, const json_t *node, bool waits)
{
	if (lu->answered == NULL)
		lu->answered = json_object();
	json_set_bool(lu->answered, node_uuid(node), waits);
}

/* Whether a call that reached nobody is made again, until *until_us. */
static bool may_be_back(struct lu *lu, const json_t *node, int64_t *until_us,
			const struct error *err)
{
	if (!error_is(err, ECODE_REFUSED) || lu->run->killed ||
	    !json_bool(lu->answered, node_uuid(node), false))
		return false;
	if (*until_us == 0) {
		*until_us = clock_mono_us() + RESTART_US;
		lu_info(lu,
			"The node daemon of %s does not run; waiting for it",
			node_name(node));
	}
	if (clock_mono_us() < *until_us)
		return true;
	note_answer(lu, node, false);
	return false;
}

static WAITS json_t *call_until_back(struct lu *lu, const json_t *node,
				     struct rpc_request request,
				     struct error *err)
{
	auto_json json_t *args = request.args;
	int64_t until_us = 0;

	for (;;) {
		struct rpc_request once = request;
		json_t *answer;

		once.args = json_ref(args);
		answer = noderpc_call(lu->m->rpc, node, once, err);
		if (answer != NULL || err->kind != ERR_RPC)
			note_answer(lu, node, true);
		if (answer != NULL || !may_be_back(lu, node, &until_us, err))
			return answer;
		task_sleep(RESTART_MS);
	}
}

json_t *lu_call(struct lu *lu, const char *node_uuid,
		struct rpc_request request, struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	auto_json json_t *kept = json_ref(node);

	if (node == NULL) {
		json_decref(request.args);
		error_set(err, ERR_EXEC, NULL,
			  "Node %s is not in the configuration any more",
			  node_uuid);
		return NULL;
	}
	return call_until_back(lu, kept, request, err);
}

int lu_not_valid(struct error *err)
{
	return error_as(err, ERR_PREREQ,
			err->kind == ERR_RPC ? ECODE_ENVIRON : ECODE_INVAL);
}

bool lu_plans(const struct lu *lu)
{
	return lu->m->plans;
}

int lu_check_killed(const struct lu *lu, struct error *err)
{
	return lu->run->killed
		       ? error_set(err, ERR_CANCELED, NULL, "Job was killed")
		       : 0;
}

/* A submitted job gets the reason trail of this one, and an entry that names
 * it. */
static void inherit(struct lu *lu, json_t *op)
{
	if (json_get(op, "comment") == NULL) {
		auto_free char *comment =
			xprintf("Submitted by %s", lu->class->op->id);

		json_set_str(op, "comment", comment);
	}
	if (json_get(op, "reason") == NULL && lu->common.reason != NULL)
		json_object_set(op, "reason", json_unconst(lu->common.reason));
	if (json_get(op, "priority") == NULL)
		json_set_int(op, "priority", lu->common.priority);
	if (json_get(op, "debug_level") == NULL)
		json_set_int(op, "debug_level", lu->common.debug_level);
}

static WAITS json_t *submit(struct lu *lu, json_t *jobs STEALS,
			    json_t *other STEALS, bool ignore_drain,
			    struct error *err)
{
	auto_json json_t *own = jobs;
	auto_json json_t *result = other == NULL ? json_object() : other;
	json_t *ids;

	for (size_t i = 0; i < json_array_size(own); i++) {
		const json_t *ops = json_array_get(own, i);

		for (size_t j = 0; j < json_array_size(ops); j++)
			inherit(lu, json_array_get(ops, j));
	}
	ids = json_array_size(own) == 0
		      ? json_array()
		      : queue_run_submit(lu->run, own, ignore_drain, err);
	if (ids == NULL)
		return NULL;
	json_object_set_new(result, "jobs", ids);
	return steal(&result);
}

json_t *lu_submit_jobs(struct lu *lu, json_t *jobs STEALS, json_t *other STEALS,
		       struct error *err)
{
	return submit(lu, jobs, other, false, err);
}

json_t *lu_submit_undo(struct lu *lu, json_t *jobs STEALS, json_t *other STEALS,
		       struct error *err)
{
	return submit(lu, jobs, other, true, err);
}
