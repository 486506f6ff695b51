/* SPDX-License-Identifier: BSD-2-Clause */
/* From a message to its method, and the tasks in which methods run.  Each pool
 * has a fixed number of tasks; calls that find all of them busy are queued, and
 * a task that has answered its call takes the next one.  luxi_place_take() may
 * exceed the number; then tasks end without taking another call until the
 * number fits again. */
#include "masterd/luxi/luxi_calls.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"

/* A number of tasks for calls that wait, and the calls that wait for one of
 * them. */
struct pool {
	const char *name;
	size_t running, max;
	struct list waiting; /* struct luxi_place */
};

struct luxi_calls {
	struct master *m;
	struct pool queries, changes;
};

static const struct method {
	const char *name;
	size_t min, max;
	const struct luxi_method *method;
} methods[] = {
#define LUXI(name, min, max) {#name, min, max, &luxi_##name},
#include "lib/model/luxi.def"
#undef LUXI
};

/* A call in a pool: it has a task, or waits for one. */
struct luxi_place {
	struct list link;
	struct luxi_calls *calls;
	struct pool *pool;
	const struct method *entry;
	struct luxi_request *request;
	const json_t *args; /* inside the request's message */
};

static void pool_init(struct pool *p, const char *name, size_t max)
{
	*p = (struct pool){.name = name, .max = max};
	list_init(&p->waiting);
}

struct luxi_calls *luxi_calls_create(struct master *m)
{
	struct luxi_calls *c = xalloc(sizeof(*c));

	c->m = m;
	pool_init(&c->queries, "luxi-query", LUXI_QUERY_TASKS);
	pool_init(&c->changes, "luxi-change", LUXI_CHANGE_TASKS);
	return c;
}

void luxi_calls_destroy(struct luxi_calls *c)
{
	free(c);
}

bool luxi_always(struct master *m, const json_t *args)
{
	(void)m;
	(void)args;
	return true;
}

int luxi_job_id(const json_t *value, uint64_t *ret_id, struct error *err)
{
	int64_t id = -1;

	if (json_is_integer(value))
		id = json_integer_value(value);
	else if (json_is_string(value) &&
		 !str_to_int64(json_string_value(value), &id))
		id = -1;
	if (id < 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "a job id is a number that is not negative");
	*ret_id = (uint64_t)id;
	return 0;
}

void luxi_fail(struct luxi_request *r, const struct error *err)
{
	if (err->kind == ERR_REQUEST)
		luxi_reject(r, err->text);
	else
		luxi_answer(r, NULL, err);
}

static void fail_named(const struct method *entry, struct luxi_request *r,
		       struct error *err)
{
	if (err->kind == ERR_REQUEST)
		error_wrap(err, "%s", entry->name);
	luxi_fail(r, err);
}

void luxi_fail_call(struct luxi_place *p, struct luxi_request *r,
		    struct error *err)
{
	fail_named(p->entry, r, err);
}

static WAITS void run_method(struct master *m, const struct method *entry,
			     struct luxi_request *r, const json_t *args)
{
	struct error err;
	json_t *result = entry->method->run(m, args, &err);

	if (result != NULL)
		luxi_answer(r, result, NULL);
	else
		fail_named(entry, r, &err);
}

static WAITS void run_call(struct luxi_place *call)
{
	const struct luxi_method *method = call->entry->method;
	struct master *m = call->calls->m;

	if (method->serve != NULL)
		method->serve(m, call->request, call->args, call);
	else
		run_method(m, call->entry, call->request, call->args);
}

static struct luxi_place *next_waiting(struct pool *pool)
{
	struct luxi_place *call;

	if (pool->running > pool->max || list_empty(&pool->waiting))
		return NULL;
	call = list_first(&pool->waiting, struct luxi_place, link);
	list_remove(&call->link);
	return call;
}

/* One task serves its own call and then those that wait for a task. */
static WAITS void pool_task(void *arg)
{
	struct luxi_place *call = arg;
	struct pool *pool = call->pool;

	for (; call != NULL; call = next_waiting(pool)) {
		task_set_name(call->entry->name);
		run_call(call);
		free(call);
	}
	pool->running--;
}

static void pool_run(struct pool *pool, struct luxi_place *call)
{
	call->pool = pool;
	if (pool->running >= pool->max) {
		list_append(&pool->waiting, &call->link);
		return;
	}
	pool->running++;
	task_spawn(pool->name, pool_task, call);
}

void luxi_place_leave(struct luxi_place *p)
{
	struct luxi_place *next = next_waiting(p->pool);

	if (next != NULL)
		task_spawn(p->pool->name, pool_task, next);
	else
		p->pool->running--;
}

void luxi_place_take(struct luxi_place *p)
{
	p->pool->running++;
}

static void dispatch(struct luxi_calls *c, const struct method *entry,
		     struct luxi_request *r, const json_t *args)
{
	const struct luxi_method *method = entry->method;
	struct luxi_place *call;

	if (method->start != NULL) {
		method->start(c->m, r, args);
		return;
	}
	if (method->waits == NULL || !method->waits(c->m, args)) {
		run_method(c->m, entry, r, args);
		return;
	}
	call = xalloc(sizeof(*call));
	*call = (struct luxi_place){
		.calls = c,
		.entry = entry,
		.request = r,
		.args = args,
	};
	pool_run(method->changes ? &c->changes : &c->queries, call);
}

static const struct method *find_method(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

/* The method and arguments of a message; NULL with err. */
static const struct method *
check_message(const json_t *message, const json_t **ret_args, struct error *err)
{
	const char *name = json_str(message, "method", NULL);
	const json_t *args = json_object_get(message, "args");
	const struct method *entry = name == NULL ? NULL : find_method(name);

	if (!json_is_object(message))
		error_set(err, ERR_REQUEST, NULL, "the message is no object");
	else if (name == NULL || args == NULL)
		error_set(err, ERR_REQUEST, NULL, "'%s' is missing",
			  name == NULL ? "method" : "args");
	else if (entry == NULL)
		error_set(err, ERR_REQUEST, NULL, "unknown method '%.100s'",
			  name);
	else if (entry->max > 0 &&
		 (!json_is_array(args) || json_array_size(args) < entry->min ||
		  json_array_size(args) > entry->max))
		error_set(err, ERR_REQUEST, NULL,
			  "%s takes a list of %zu to %zu arguments", name,
			  entry->min, entry->max);
	else {
		*ret_args = args;
		return entry;
	}
	return NULL;
}

void luxi_calls_handle(void *arg, struct luxi_request *r)
{
	struct luxi_calls *c = arg;
	const json_t *args = NULL;
	const struct method *entry;
	struct error err;

	entry = check_message(r->message, &args, &err);
	if (entry == NULL)
		luxi_fail(r, &err);
	else
		dispatch(c, entry, r, args);
}
