/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls after the job has been killed.  The task owns all that it uses, or
 * copies of it, as the job may be gone when it runs.  It does nothing when the
 * master is stopping. */
#include "masterd/lu/disks/aftermath.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/rpc/noderpc.h"

struct call {
	struct list link;
	json_t *node; /* NULL: it is gone */
	struct rpc_request request;
	bool needed; /* by those behind it */
};

struct aftermath {
	struct list link; /* in the master's, from when its turn is due */
	struct master *m;
	uint64_t task; /* of the job */
	bool settles;  /* the last calls of that are waited for */
	struct list calls;
};

static WAITS bool make(struct master *m, struct call *c)
{
	struct rpc_request request = c->request;
	auto_json json_t *done = NULL;
	struct error err;

	if (c->node == NULL || m->stopping)
		return false;
	c->request.args = NULL;
	done = noderpc_call(m->rpc, c->node, request, &err);
	if (done == NULL)
		log_warning("What a killed job left cannot be taken back: %s",
			    err.text);
	return done != NULL;
}

static void call_free(struct call *c)
{
	list_remove(&c->link);
	json_decref(c->node);
	json_decref(c->request.args);
	free(c);
}

static void aftermath_free(struct aftermath **a)
{
	list_remove(&(*a)->link);
	while (!list_empty(&(*a)->calls))
		call_free(list_first(&(*a)->calls, struct call, link));
	free(*a);
}

static void line_up(struct aftermath *a)
{
	list_append(&a->m->aftermaths, &a->link);
}

/* Whether the job has left nothing that stands before this. */
static bool is_its_turn(const struct aftermath *a)
{
	const struct aftermath *other;

	list_each (other, &a->m->aftermaths, link) {
		if (other == a)
			break;
		if (other->task == a->task)
			return false;
	}
	return true;
}

static WAITS void run(void *arg)
{
	__attribute__((cleanup(aftermath_free))) struct aftermath *a = arg;
	bool goes_on = true;

	while (!is_its_turn(a))
		cond_wait(&a->m->on_aftermath);
	if (a->settles)
		noderpc_settle(a->m->rpc, a->task);
	while (goes_on && !list_empty(&a->calls)) {
		struct call *c = list_first(&a->calls, struct call, link);

		goes_on = make(a->m, c) || !c->needed;
		call_free(c);
	}
	list_remove(&a->link);
	cond_signal(&a->m->on_aftermath);
}

static struct aftermath *create(struct master *m, bool settles)
{
	struct aftermath *a = xalloc(sizeof(*a));

	*a = (struct aftermath){
		.m = m, .task = task_number(), .settles = settles};
	list_init(&a->link);
	list_init(&a->calls);
	return a;
}

struct aftermath *aftermath_create(struct master *m)
{
	return create(m, true);
}

static void add(struct aftermath *a, const char *node_uuid,
		struct rpc_request request, bool needed)
{
	const json_t *node = config_get(a->m->config, CONFIG_NODE, node_uuid);
	struct call *c = xalloc(sizeof(*c));

	*c = (struct call){
		.node = json_ref(node), .request = request, .needed = needed};
	list_append(&a->calls, &c->link);
}

void aftermath_add(struct aftermath *a, const char *node_uuid,
		   struct rpc_request request)
{
	add(a, node_uuid, request, false);
}

void aftermath_add_needed(struct aftermath *a, const char *node_uuid,
			  struct rpc_request request)
{
	add(a, node_uuid, request, true);
}

void aftermath_begin(struct aftermath *a STEALS)
{
	line_up(a);
	task_spawn("aftermath", run, a);
}

void aftermath_call(struct master *m, const char *node_uuid,
		    struct rpc_request request)
{
	struct aftermath *a = create(m, false);

	aftermath_add(a, node_uuid, request);
	aftermath_begin(a);
}

WAITS int aftermath_undo(struct lu *lu, const char *node_uuid,
			 struct rpc_request request, struct error *err)
{
	auto_json json_t *done = NULL;
	struct aftermath *a;

	if (!lu->run->killed) {
		done = lu_call(lu, node_uuid, request, err);
		return done == NULL ? -1 : 0;
	}
	a = aftermath_create(lu->m);
	aftermath_add(a, node_uuid, request);
	aftermath_begin(a);
	return 0;
}

void aftermath_remove(struct master *m, const json_t *made)
{
	struct aftermath *a = aftermath_create(m);

	for (size_t i = json_array_size(made); i-- > 0;) {
		const json_t *one = json_array_get(made, i);

		aftermath_add(
			a, json_string_value(json_array_get(one, 0)),
			rpc_blockdev_remove(json_ref(json_array_get(one, 1))));
	}
	aftermath_begin(a);
}

void aftermath_remove_on(struct master *m, const char *node_uuid,
			 const json_t *devices)
{
	auto_json json_t *made = json_array();
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		json_array_append_new(made,
				      json_make("[s, O]", node_uuid, device));
	aftermath_remove(m, made);
}

/* Belongs to the job's task until the job is killed or the call is done; then
 * to the other task. */
struct start {
	struct master *m;
	json_t *node;
	struct rpc_request request;
	struct rpc_request (*end)(const char *name);
	struct cond changed;
	struct aftermath *later; /* the job is killed; else NULL */
	bool done;
	json_t *name; /* NULL: err says why */
	struct error err;
};

static void start_free(struct start *s)
{
	json_decref(s->node);
	json_decref(s->request.args);
	json_decref(s->name);
	free(s);
}

static WAITS void start_task(void *arg)
{
	struct start *s = arg;

	struct rpc_request request = s->request;

	s->request.args = NULL;
	s->name = noderpc_call(s->m->rpc, s->node, request, &s->err);
	s->done = true;
	if (s->later == NULL) {
		cond_signal(&s->changed);
		return;
	}
	if (json_is_string(s->name))
		aftermath_add(s->later, node_uuid(s->node),
			      s->end(json_string_value(s->name)));
	run(s->later);
	start_free(s);
}

static struct start *start_new(struct master *m, const json_t *node,
			       struct rpc_request request,
			       struct rpc_request (*end)(const char *name))
{
	struct start *s = xalloc(sizeof(*s));

	*s = (struct start){
		.m = m, .node = json_ref(node), .request = request, .end = end};
	cond_init(&s->changed);
	return s;
}

/* The name from the answer to the call. */
static char *name_of(const struct start *s, struct error *err)
{
	if (json_is_string(s->name))
		return xstrdup(json_string_value(s->name));
	if (s->name == NULL)
		*err = s->err;
	else
		error_set(err, ERR_RPC, NULL, "%s answered without a name",
			  s->request.procedure->name);
	return NULL;
}

WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    struct rpc_request start,
			    struct rpc_request (*end)(const char *name),
			    struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	struct start *s;
	char *name;

	/* The call itself reports an error of this kind. */
	if (node == NULL || task_interrupted()) {
		json_decref(lu_call(lu, node_uuid, start, err));
		return NULL;
	}
	s = start_new(lu->m, node, start, end);
	task_spawn("start", start_task, s);
	while (!s->done && !task_interrupted())
		cond_wait(&s->changed);
	if (!s->done) {
		s->later = create(lu->m, false);
		line_up(s->later);
		error_set(err, ERR_CANCELED, NULL, "Job was killed");
		return NULL;
	}
	name = name_of(s, err);
	start_free(s);
	return name;
}
