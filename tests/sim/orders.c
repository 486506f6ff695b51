/* SPDX-License-Identifier: BSD-2-Clause */
/* What clients have ordered, and what they were told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "queue/queue.h"
#include "tests/sim/life.h"
#include "tests/sim/ops.h"

#define INSTANCES 8

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
	auto_json json_t *duration = NULL;
	auto_free char *text = NULL;

	o->node = random_below(l->s.n_nodes);
	o->duration = 0.001 * (double)(1 + random_below(3000)) +
		      0.0000001 * (double)o->number;
	duration = json_real(o->duration);
	text = json_text(duration);
	snprintf(o->mark, sizeof(o->mark), "\"duration\":%s", text);
	return op_delay(o->duration, l->s.nodes[o->node].name);
}

static json_t *unique_tag(struct job_order *o)
{
	auto_free char *tag = xprintf("order%ju", (uintmax_t)o->number);

	o->tag = true;
	snprintf(o->mark, sizeof(o->mark), "\"%s\"", tag);
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

/* A node is to be a candidate or none; others are promoted in its place. */
static json_t *other_role(struct life *l)
{
	return json_make(
		"{s:s, s:s, s:b, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
		"node_name", l->s.nodes[random_below(l->s.n_nodes)].name,
		"master_candidate", random_below(2) == 0, "auto_promote", 1);
}

void order_random(struct life *l, struct sim_node *n)
{
	struct job_order *o = job_order_new(l);
	uint64_t what = random_below(100);
	json_t *op;

	if (l->changes && random_below(10) == 0)
		op = other_role(l);
	else if (what < 50)
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
	return strstr(j->ops[0].input, o->mark) != NULL;
}

/* A master that has lost its role may still tell a client something, as its
 * answer may take time; but only facts that all later masters know. */
static void see_lost(struct life *l, const struct job_order *o,
		     const struct sim_node *n)
{
	uint64_t term = n->master->role.term;

	if (term > o->sub.term)
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
	if (!is_same(o, j))
		sim_violation(&l->s, "%s has another job %ju", n->name,
			      (uintmax_t)o->sub.id);
	if (!job_is_final(j))
		return;
	state = job_state_name(job_status(j));
	if (o->final[0] != '\0' && strcmp(o->final, state) != 0)
		sim_violation(&l->s, "job %ju was %s and is %s on %s",
			      (uintmax_t)o->sub.id, o->final, state, n->name);
	snprintf(o->final, sizeof(o->final), "%s", state);
}

/* In each term one master acknowledges, or leads at all. */
static void note_term(struct life *l, uint64_t term, const struct sim_node *n)
{
	const struct sim_node *known;
	auto_free char *key = xprintf("%ju", (uintmax_t)term);

	known = table_get(&l->terms, key);
	if (known == NULL)
		table_put(&l->terms, key, mem_unconst(n));
	else if (known != n)
		sim_violation(&l->s, "%s and %s are masters of term %ju",
			      known->name, n->name, (uintmax_t)term);
}

static void note_acknowledged(struct life *l, struct job_order *o)
{
	if (o->told_us != 0 || o->sub.id == 0)
		return;
	o->told_us = clock_mono_us();
	note_term(l, o->sub.term, o->sub.node);
}

/* --- who writes --- */

static void see_running(const char *name, void *value, void *arg)
{
	struct life *l = arg;
	size_t n = 0;

	(void)value;
	for (size_t i = 0; i < l->s.n_nodes; i++)
		n += sim_runs(&l->s.nodes[i], name);
	if (n > 1)
		sim_violation(&l->s, "instance %s runs on %zu nodes", name, n);
}

/* A call that comes minutes late may start an instance that was moved since;
 * that is no matter of who is master. */
static void see_instances(struct life *l)
{
	for (size_t i = 0; i < l->s.n_nodes && !l->late; i++)
		table_each(&l->s.nodes[i].running, see_running, l);
}

static bool serves(const struct sim_node *n)
{
	return n->master != NULL && n->masterd.alive && !n->masterd.paused &&
	       !n->masterd.ending;
}

void orders_observe(struct life *l)
{
	uint64_t term;

	see_instances(l);
	for (size_t i = 0; i < l->s.n_nodes; i++)
		if (serves(&l->s.nodes[i]) &&
		    quorum_leads(l->s.nodes[i].master->quorum, &term))
			note_term(l, term, &l->s.nodes[i]);
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

	if (strcmp(o->final, "success") != 0)
		return;
	for (size_t i = 0; i < json_array_size(tags); i++)
		if (str_eq(json_string_value(json_array_get(tags, i)), tag))
			return;
	strv_addf(ret, "tag %s of job %ju is lost", tag, (uintmax_t)o->sub.id);
}

/* Who asks after another one was told has a later job. */
static void check_order(const struct life *l, const struct job_order *o,
			struct strv *ret)
{
	for (size_t i = 0; i < l->n_orders; i++) {
		const struct job_order *later = l->orders[i];

		if (o->sub.id != 0 && later->sub.id != 0 && o->told_us != 0 &&
		    later->since_us > o->told_us && later->sub.id <= o->sub.id)
			strv_addf(ret, "job %ju was submitted after job %ju",
				  (uintmax_t)later->sub.id,
				  (uintmax_t)o->sub.id);
	}
}

void orders_check(struct life *l, struct strv *ret)
{
	for (size_t i = 0; i < l->n_orders; i++) {
		struct job_order *o = l->orders[i];

		if (o->sub.id != 0 &&
		    queue_job(l->s.master->queue, o->sub.id) == NULL)
			strv_addf(ret, "acknowledged job %ju is lost",
				  (uintmax_t)o->sub.id);
		check_order(l, o, ret);
		if (o->duration > 0)
			check_delay(l, o, ret);
		if (o->tag)
			check_tag(l, o, ret);
	}
}
