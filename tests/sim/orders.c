/* SPDX-License-Identifier: BSD-2-Clause */
/* What clients have ordered, and what they were told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/life.h"
#include "tests/sim/ops.h"

#define INSTANCES 8

/* Whether the daemons of more than half of the candidates refused connections
 * since it was submitted: only what was acknowledged meanwhile may be lost by a
 * take-over (doc/design/failover.md, "What is lost when").  All nodes are
 * candidates; the master has what it acknowledges. */
static bool is_weak(const struct life *l, const struct job_order *o)
{
	size_t n = 0;

	for (size_t i = 0; i < l->s.n_nodes; i++)
		n += i != o->sub.node->index &&
		     l->s.nodes[i].refused_us >= o->since_us;
	return 2 * n > l->s.n_nodes;
}

static struct job_order *job_order_new(struct life *l)
{
	struct job_order *o = xalloc(sizeof(*o));

	l->orders = xrealloc(l->orders, (l->n_orders + 1) * sizeof(*l->orders));
	l->orders[l->n_orders++] = o;
	o->number = l->n_orders;
	o->since_us = clock_mono_us();
	return o;
}

/* Each has a duration of its own, by which a node knows it. */
static json_t *unique_delay(struct life *l, struct job_order *o)
{
	o->node = random_below(l->s.n_nodes);
	o->duration = 0.001 * (double)(1 + random_below(3000)) +
		      0.0000001 * (double)o->number;
	return op_delay(o->duration, l->s.nodes[o->node].name);
}

static json_t *unique_tag(struct job_order *o)
{
	auto_free char *tag = xprintf("order%ju", (uintmax_t)o->number);

	o->tag = true;
	return json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET", "kind",
			 "cluster", "tags", tag);
}

static json_t *about_an_instance(struct life *l)
{
	static const char *const verbs[] = {
		"OP_INSTANCE_REMOVE", "OP_INSTANCE_STARTUP",
		"OP_INSTANCE_SHUTDOWN", "OP_INSTANCE_STARTUP"};
	auto_free char *name = xprintf("web%d", (int)random_below(INSTANCES));
	const char *node = l->s.nodes[random_below(l->s.n_nodes)].name;
	uint64_t what = random_below(100);

	if (what < 40)
		return op_add(name, what < 20 ? node : NULL, what % 2);
	if (what < 75)
		return op_named(verbs[random_below(4)], name);
	if (what < 87)
		return op_move("OP_INSTANCE_FAILOVER", name, node);
	return op_move("OP_INSTANCE_MIGRATE", name, node);
}

void order_random(struct life *l, struct sim_node *n)
{
	struct job_order *o = job_order_new(l);
	uint64_t what = random_below(100);
	json_t *op;

	if (what < 50)
		op = unique_delay(l, o);
	else if (what < 70)
		op = unique_tag(o);
	else
		op = about_an_instance(l);
	sim_submission_begin(&o->sub, n, op);
}

/* --- what clients see --- */

/* Whether a master has the job of this order under this id. */
static bool is_same(const struct job_order *o, const struct job *j)
{
	auto_free char *tag = xprintf("\"order%ju\"", (uintmax_t)o->number);
	auto_json json_t *input = NULL;
	struct error err;

	if (o->tag)
		return strstr(j->ops[0].input, tag) != NULL;
	if (o->duration <= 0)
		return true;
	input = json_parse(j->ops[0].input, strlen(j->ops[0].input), &err);
	return json_number_value(json_get(input, "duration")) == o->duration;
}

/* A master that has lost its role may still tell a client something, as its
 * answer may take time; but only facts that all later masters know. */
static void see_lost(struct life *l, const struct job_order *o,
		     const struct sim_node *n)
{
	uint64_t term = n->master->role.term;

	if (term > o->sub.term && !o->weak)
		sim_violation(&l->s,
			      "%s in term %ju lacks job %ju, which %s "
			      "acknowledged in term %ju",
			      n->name, (uintmax_t)term, (uintmax_t)o->sub.id,
			      o->sub.node->name, (uintmax_t)o->sub.term);
}

static void see(struct life *l, struct job_order *o, const struct sim_node *n)
{
	const struct job *j = queue_job(n->master->queue, o->sub.id);
	const char *state;

	if (j == NULL)
		return see_lost(l, o, n);
	if (!is_same(o, j)) {
		if (o->weak)
			return; /* lost, and its id was given anew */
		sim_violation(&l->s, "%s has another job %ju", n->name,
			      (uintmax_t)o->sub.id);
	}
	if (!job_is_final(j))
		return;
	state = job_state_name(job_status(j));
	if (o->final[0] == '\0')
		o->weak_end = is_weak(l, o);
	else if (strcmp(o->final, state) != 0 && !o->weak_end)
		sim_violation(&l->s, "job %ju was %s and is %s on %s",
			      (uintmax_t)o->sub.id, o->final, state, n->name);
	snprintf(o->final, sizeof(o->final), "%s", state);
}

static void note_acknowledged(struct life *l, struct job_order *o)
{
	if (o->noted || o->sub.id == 0)
		return;
	o->noted = true;
	o->weak = is_weak(l, o);
}

static bool serves(const struct sim_node *n)
{
	return n->master != NULL && n->masterd.alive && !n->masterd.paused &&
	       !n->masterd.ending;
}

void orders_observe(struct life *l)
{
	for (size_t i = 0; i < l->n_orders; i++) {
		struct job_order *o = l->orders[i];

		note_acknowledged(l, o);
		if (o->sub.id == 0)
			continue;
		for (size_t k = 0; k < l->s.n_nodes; k++)
			if (serves(&l->s.nodes[k]))
				see(l, o, &l->s.nodes[k]);
	}
}

bool orders_all_final(const struct life *l)
{
	struct queue *q = l->s.master == NULL ? NULL : l->s.master->queue;

	if (q == NULL)
		return false;
	for (size_t i = 0; i < l->n_orders; i++) {
		const struct job_order *o = l->orders[i];
		const struct job *j =
			o->sub.id == 0 ? NULL : queue_job(q, o->sub.id);

		if (!sim_submission_over(&o->sub) ||
		    (j != NULL && !job_is_final(j)))
			return false;
	}
	return true;
}

/* --- at the end --- */

static void check_delay(const struct life *l, const struct job_order *o,
			struct strv *ret)
{
	unsigned times = sim_executions(&l->s.nodes[o->node], o->duration);

	if (times > 1)
		strv_addf(ret, "order %ju (job %ju) was executed %u times",
			  (uintmax_t)o->number, (uintmax_t)o->sub.id, times);
	if (times == 0 && strcmp(o->final, "success") == 0)
		strv_addf(ret, "job %ju succeeded without being executed",
			  (uintmax_t)o->sub.id);
	if (times > 0 && strcmp(o->final, "canceled") == 0)
		strv_addf(ret, "job %ju is canceled and was executed",
			  (uintmax_t)o->sub.id);
}

static void check_tag(const struct life *l, const struct job_order *o,
		      struct strv *ret)
{
	const json_t *cluster = config_cluster(l->s.master->config);
	auto_free char *tag = xprintf("order%ju", (uintmax_t)o->number);
	const json_t *tags = json_get(cluster, "tags");

	if (strcmp(o->final, "success") != 0 || o->weak_end)
		return;
	for (size_t i = 0; i < json_array_size(tags); i++)
		if (str_eq(json_string_value(json_array_get(tags, i)), tag))
			return;
	strv_addf(ret, "tag %s of job %ju is lost", tag, (uintmax_t)o->sub.id);
}

void orders_check(struct life *l, struct strv *ret)
{
	for (size_t i = 0; i < l->n_orders; i++) {
		struct job_order *o = l->orders[i];

		if (o->sub.id != 0 && !o->weak &&
		    queue_job(l->s.master->queue, o->sub.id) == NULL)
			strv_addf(ret, "acknowledged job %ju is lost",
				  (uintmax_t)o->sub.id);
		if (o->duration > 0)
			check_delay(l, o, ret);
		if (o->tag)
			check_tag(l, o, ret);
	}
}
