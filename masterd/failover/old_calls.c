/* SPDX-License-Identifier: BSD-2-Clause */
/* One task asks all nodes at the same time; jobs look at the answers as they
 * come, so that a silent node holds up only those that need it.  Nodes that
 * still do something are asked again, with growing pauses.  No call of an old
 * term can come any more, since this question has brought the new one.
 *
 * A node that does not answer, or not to this question (a node daemon of
 * Ganeti's), is taken to do nothing.  One that answered once and is silent now
 * is waited for like one that still does it. */
#include "masterd/failover/old_calls.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

/* Pauses between two questions. */
#define PAUSE_FIRST_US 200000
#define PAUSE_MAX_US 5000000

/* A call is waited for until the time limit of its procedure, counted from when
 * it began; then nobody expects it to end well.  Counted from when this master
 * began, it is at least the one of these times, as little may be left of the
 * limit, and at most the other. */
#define WAIT_MIN_US INT64_C(60000000)
#define WAIT_MAX_US INT64_C(900000000)

/* While a question is out, those who wait look so often whether the answer that
 * they need has come. */
#define LOOK_US 100000

struct call {
	char *procedure;
	char *instance;	  /* its name, or NULL */
	int64_t began_us; /* by our clock */
	int64_t until_us; /* waited for */
};

struct node {
	json_t *object; /* of the configuration */
	bool unknown;	/* it has not answered yet */
	bool told_late; /* that nobody waits any more */
	struct call *calls;
	size_t n;
};

struct old_calls {
	struct config *config;
	struct noderpc *rpc;
	uint64_t term;
	int64_t begin_us;
	struct node *nodes; /* NULL: nothing is left */
	size_t n;
	/* The question that is out: answers of the nodes with these indices,
	 * NULL once they are taken. */
	struct node_result *results;
	size_t *asked;
	size_t n_asked;
	struct task *task; /* that asks, once it runs */
	bool running, ended;
	struct cond changed;
};

struct old_calls *old_calls_create(struct config *config, struct noderpc *rpc)
{
	struct old_calls *o = xalloc(sizeof(*o));

	*o = (struct old_calls){.config = config, .rpc = rpc};
	cond_init(&o->changed);
	return o;
}

static void forget_calls(struct node *n)
{
	for (size_t i = 0; i < n->n; i++) {
		free(n->calls[i].procedure);
		free(n->calls[i].instance);
	}
	free(steal(&n->calls));
	n->n = 0;
}

static void forget_nodes(struct old_calls *o)
{
	for (size_t i = 0; i < o->n; i++) {
		forget_calls(&o->nodes[i]);
		json_decref(o->nodes[i].object);
	}
	free(steal(&o->nodes));
	o->n = 0;
}

void old_calls_destroy(struct old_calls *o)
{
	if (o == NULL)
		return;
	forget_nodes(o);
	free(o);
}

/* --- an answer --- */

static int64_t bounded(int64_t value, int64_t min, int64_t max)
{
	return value < min ? min : value > max ? max : value;
}

/* The call names its instance, or a disk. */
static void find_instance(const struct old_calls *o, const json_t *row,
			  struct call *ret)
{
	const char *name = json_str(row, "instance", NULL);
	const json_t *disks = json_get(row, "disks");
	const json_t *inst = NULL;
	const char *owner = NULL;

	if (name != NULL)
		inst = config_find(o->config, CONFIG_INSTANCE, name);
	for (size_t i = 0; inst == NULL && i < json_array_size(disks); i++) {
		const char *disk = json_string_value(json_array_get(disks, i));

		owner = disk == NULL ? NULL
				     : config_disk_owner(o->config, disk);
		if (owner != NULL)
			inst = config_get(o->config, CONFIG_INSTANCE, owner);
	}
	if (inst != NULL)
		name = inst_name(inst);
	if (name != NULL)
		ret->instance = xstrdup(name);
}

static void read_call(const struct old_calls *o, const json_t *row,
		      struct call *ret)
{
	const char *name = json_str(row, "procedure", "");
	const struct rpc_procedure *procedure = rpc_find(name);
	double seconds = json_number_value(json_get(row, "seconds"));
	int64_t limit_us = procedure == NULL
				   ? WAIT_MAX_US
				   : (int64_t)procedure->timeout_ms * 1000;

	/* What a node says is not trusted to be a time. */
	if (!(seconds >= 0 && seconds < 1e9))
		seconds = 0;
	*ret = (struct call){.procedure = xstrdup(name),
			     .began_us = clock_mono_us() -
					 (int64_t)(seconds * 1e6)};
	ret->until_us =
		bounded(ret->began_us + limit_us, o->begin_us + WAIT_MIN_US,
			o->begin_us + WAIT_MAX_US);
	find_instance(o, row, ret);
}

/* Whether it is of a former master, and does something. */
static bool matters(const struct old_calls *o, const json_t *row)
{
	int64_t term = json_int(row, "term", 0);

	return term > 0 && (uint64_t)term < o->term &&
	       !rpc_only_looks(json_str(row, "procedure", ""));
}

static void read_calls(const struct old_calls *o, struct node *n,
		       const json_t *rows)
{
	forget_calls(n);
	n->calls = xcalloc(json_array_size(rows) + 1, sizeof(*n->calls));
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (matters(o, json_array_get(rows, i)))
			read_call(o, json_array_get(rows, i),
				  &n->calls[n->n++]);
}

static void tell_calls(const struct node *n)
{
	for (size_t i = 0; i < n->n; i++)
		log_warning(
			"Node %s still executes %s%s%s of a former master, "
			"begun %jd s ago: jobs for the same wait for it",
			node_name(n->object), n->calls[i].procedure,
			n->calls[i].instance != NULL ? " for instance " : "",
			n->calls[i].instance != NULL ? n->calls[i].instance
						     : "",
			(intmax_t)((clock_mono_us() - n->calls[i].began_us) /
				   1000000));
}

/* A daemon that refuses connections has ended, and its calls with it. */
static bool does_nothing(const struct node *n, const struct error *err)
{
	return n->unknown || error_is(err, ECODE_REFUSED) ||
	       err->kind == ERR_EXEC;
}

static void take_answer(const struct old_calls *o, struct node *n,
			const struct node_result *result)
{
	bool first = n->unknown;
	size_t before = n->n;

	if (result->payload != NULL)
		read_calls(o, n, result->payload);
	else if (does_nothing(n, result->err))
		forget_calls(n);
	n->unknown = false;
	if (first)
		tell_calls(n);
	else if (before > 0 && n->n == 0)
		log_info("Node %s has ended what it did for former masters",
			 node_name(n->object));
}

/* Those that have come since. */
static void take_answers(struct old_calls *o)
{
	for (size_t i = 0; i < o->n_asked; i++) {
		struct node_result *result = &o->results[i];

		if (o->asked[i] == SIZE_MAX ||
		    (result->payload == NULL && result->err == NULL))
			continue;
		take_answer(o, &o->nodes[o->asked[i]], result);
		o->asked[i] = SIZE_MAX;
	}
}

/* --- asking --- */

static bool is_open(const struct node *n)
{
	return n->unknown || n->n > 0;
}

static void tell_late(struct node *n)
{
	for (size_t i = 0; i < n->n && !n->told_late; i++) {
		if (clock_mono_us() < n->calls[i].until_us)
			continue;
		n->told_late = true;
		log_error("Node %s still executes %s of a former master: "
			  "nobody waits for it any more",
			  node_name(n->object), n->calls[i].procedure);
	}
}

/* Whether some node has to be asked again. */
static WAITS bool ask(struct old_calls *o)
{
	bool left = false;

	o->results = node_results_new(o->n);
	o->asked = xcalloc(o->n + 1, sizeof(*o->asked));
	for (size_t i = 0; i < o->n; i++)
		if (is_open(&o->nodes[i])) {
			o->results[o->n_asked].node =
				json_ref(o->nodes[i].object);
			o->asked[o->n_asked++] = i;
		}
	noderpc_look_many(o->rpc, o->results, o->n_asked, rpc_calls_running());
	take_answers(o);
	node_results_free(steal(&o->results), o->n_asked);
	free(steal(&o->asked));
	o->n_asked = 0;
	for (size_t i = 0; i < o->n; i++) {
		tell_late(&o->nodes[i]);
		left |= is_open(&o->nodes[i]);
	}
	cond_signal(&o->changed);
	return left;
}

static WAITS void follow(void *arg)
{
	struct old_calls *o = arg;
	int64_t pause_us = PAUSE_FIRST_US;

	o->task = task_self();
	while (!o->ended && ask(o) && !o->ended) {
		int64_t until_us = clock_mono_us() + pause_us;

		while (!o->ended && cond_wait_until(&o->changed, until_us))
			; /* somebody else was woken */
		pause_us = bounded(pause_us * 2, 0, PAUSE_MAX_US);
	}
	forget_nodes(o);
	o->task = NULL;
	o->running = false;
	cond_signal(&o->changed);
}

static void add_node(struct old_calls *o, const json_t *object)
{
	if (!node_offline(object))
		o->nodes[o->n++] = (struct node){.object = json_ref(object),
						 .unknown = true};
}

void old_calls_begin(struct old_calls *o, uint64_t term)
{
	const json_t *all = config_all(o->config, CONFIG_NODE);
	const char *uuid;
	json_t *object;

	o->term = term;
	o->begin_us = clock_mono_us();
	o->nodes = xcalloc(json_object_size(all) + 1, sizeof(*o->nodes));
	json_object_foreach (json_unconst(all), uuid, object)
		add_node(o, object);
	o->running = true;
	task_spawn("old calls", follow, o);
}

void old_calls_end(struct old_calls *o)
{
	o->ended = true;
	cond_signal(&o->changed);
	if (o->task != NULL)
		task_interrupt(o->task);
	while (o->running)
		cond_wait(&o->changed);
}

/* --- for those who wait --- */

static int64_t seconds_since(int64_t us)
{
	return (clock_mono_us() - us) / 1000000;
}

static void visit_node(const struct old_calls *o, const struct node *n,
		       void (*visit)(void *arg, const struct old_call *call),
		       void *arg)
{
	struct old_call seen = {.node = node_uuid(n->object),
				.node_name = node_name(n->object),
				.seconds = seconds_since(o->begin_us)};

	if (n->unknown)
		visit(arg, &seen);
	for (size_t i = 0; i < n->n; i++) {
		const struct call *c = &n->calls[i];

		seen.procedure = c->procedure;
		seen.instance = c->instance;
		seen.seconds = seconds_since(c->began_us);
		seen.given_up = clock_mono_us() >= c->until_us;
		visit(arg, &seen);
	}
}

void old_calls_each(struct old_calls *o,
		    void (*visit)(void *arg, const struct old_call *call),
		    void *arg)
{
	if (o->nodes == NULL)
		return;
	take_answers(o);
	for (size_t i = 0; i < o->n; i++)
		visit_node(o, &o->nodes[i], visit, arg);
}

void old_calls_wait(struct old_calls *o)
{
	cond_wait_until(&o->changed, clock_mono_us() + LOOK_US);
}
