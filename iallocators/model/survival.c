/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrored instances: each node needs space for the largest loads that the loss
 * of other nodes brings to it.  Shared storage: has_slots() counts places for
 * the largest instance.  Enough of them is a certain yes; otherwise survive()
 * decides. */
#include "iallocators/model/survival.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/model/config/survive.h"

/* Memory and virtual CPUs, of instances or left on a node. */
struct amount {
	int64_t memory;
	double cpus;
};

/* What fails over to a node when another is lost. */
struct load {
	int source; /* position */
	struct amount amount;
};

struct survival_node {
	struct amount space; /* beside its own instances */
	bool lost, closed;
	struct amount base; /* what comes to it in any case */
	bool has_base;
	struct load *loads;
	int n_loads, cap_loads;
	int n_anywhere; /* of its own instances, on shared storage */
};

static struct amount amount_of(const struct instance *inst)
{
	return (struct amount){inst->memory - inst->spare_memory,
			       (double)inst->vcpus};
}

static void add(struct amount *sum, struct amount x)
{
	sum->memory += x.memory;
	sum->cpus += x.cpus;
}

/* Where it could be started again: the position of its secondary, ANYWHERE or
 * NOWHERE. */
enum { ANYWHERE = -2, NOWHERE = -1 };

static int refuge(const struct survival *s, const struct instance *inst,
		  int secondary)
{
	enum mirror mirror = template_table[inst->template].mirror;

	if (inst->stays)
		return NOWHERE;
	if (mirror == MIRROR_EXTERNAL)
		return ANYWHERE;
	return mirror == MIRROR_INTERNAL && secondary != NO_INDEX
		       ? s->position[secondary]
		       : NOWHERE;
}

/* --- looking at the group --- */

static struct load *load_from(struct survival_node *n, int source)
{
	for (int i = 0; i < n->n_loads; i++)
		if (n->loads[i].source == source)
			return &n->loads[i];
	if (n->n_loads == n->cap_loads) {
		n->cap_loads = n->cap_loads * 2 + 8;
		n->loads = xrealloc(n->loads,
				    (size_t)n->cap_loads * sizeof(*n->loads));
	}
	n->loads[n->n_loads] = (struct load){.source = source};
	return &n->loads[n->n_loads++];
}

static void take_load(struct survival *s, int from, int to, struct amount x)
{
	struct survival_node *target = &s->nodes[to];

	if (target->lost || to == from)
		return;
	if (!s->nodes[from].lost) {
		add(&load_from(target, from)->amount, x);
		return;
	}
	add(&target->base, x);
	target->has_base = true;
}

static void note_anywhere(struct survival *s, const struct instance *inst)
{
	struct amount x = amount_of(inst);

	s->n_anywhere++;
	if (x.memory > s->most_memory)
		s->most_memory = x.memory;
	if (inst->vcpus > s->most_cpus)
		s->most_cpus = inst->vcpus;
}

static void put_flat(struct survival *s, const struct instance *inst, int at,
		     int to)
{
	s->flat[s->n_flat++] = (struct survive_instance){
		.memory = amount_of(inst).memory,
		.vcpus = inst->vcpus,
		.node = (size_t)at,
		.secondary = to == ANYWHERE  ? SURVIVE_ANYWHERE
			     : to == NOWHERE ? SURVIVE_NOWHERE
					     : (size_t)to};
}

static void take_instance(struct survival *s, const struct instance *inst,
			  int at)
{
	struct amount x = amount_of(inst);
	int to = refuge(s, inst, inst->secondary);

	if (inst->status == RUN_ADMIN_OFFLINE)
		return;
	s->nodes[at].space.memory -= x.memory;
	s->nodes[at].space.cpus -= x.cpus;
	put_flat(s, inst, at, to);
	if (to >= 0)
		take_load(s, at, to, x);
	if (to != ANYWHERE)
		return;
	s->nodes[at].n_anywhere++;
	note_anywhere(s, inst);
}

static void take_node(struct survival *s, int at)
{
	const struct node *n = &s->c->nodes[s->group->nodes[at]];
	struct survival_node *to = &s->nodes[at];

	to->space.memory = model_trunc(n->total_mem) - n->host_mem;
	to->space.cpus = n->total_cpus * s->group->policy.vcpu_ratio -
			 (double)n->own_cpus;
	to->closed = n->drained || n->not_vm_capable;
	to->lost = n->offline && !to->closed;
	s->flat_nodes[at] = (struct survive_node){.memory = to->space.memory,
						  .vcpus = to->space.cpus,
						  .lost = to->lost,
						  .closed = to->closed};
}

static size_t count_instances(const struct survival *s)
{
	size_t n = 0;

	for (int i = 0; i < s->group->n_nodes; i++)
		n += (size_t)s->c->nodes[s->group->nodes[i]].primaries.n;
	return n;
}

static void take_group(struct survival *s)
{
	const struct cluster *c = s->c;

	for (int i = 0; i < c->n_nodes; i++)
		s->position[i] = NOWHERE;
	for (int i = 0; i < s->group->n_nodes; i++) {
		s->position[s->group->nodes[i]] = i;
		take_node(s, i);
	}
	for (int i = 0; i < s->group->n_nodes; i++) {
		const struct ilist *l = &c->nodes[s->group->nodes[i]].primaries;

		for (int k = 0; k < l->n; k++)
			take_instance(s, &c->instances[l->items[k]], i);
	}
}

/* --- mirrored instances --- */

/* An instance that is not there yet; secondary is a position or NOWHERE. */
struct extra {
	const struct instance *inst; /* or NULL */
	int primary, to;
};

/* The sum of the largest ones of what comes to a node, each by itself: the
 * nodes that are worst to lose for its memory need not be the same as for its
 * CPUs. */
static struct amount worst_load(const struct survival *s, int at,
				const struct extra *x)
{
	const struct survival_node *n = &s->nodes[at];
	int64_t memory[SURVIVE_LOSSES_MAX] = {0};
	double cpus[SURVIVE_LOSSES_MAX] = {0};
	struct amount sum = n->base;
	bool met = x->to != at;

	for (int i = 0; i < n->n_loads || !met; i++) {
		struct load new = {.source = x->primary};
		struct load l = i < n->n_loads ? n->loads[i] : new;

		if (!met && l.source == x->primary) {
			add(&l.amount, amount_of(x->inst));
			met = true;
		}
		for (int k = 0; k < s->failures; k++) {
			int64_t m = memory[k];
			double c = cpus[k];

			if (l.amount.memory > m) {
				memory[k] = l.amount.memory;
				l.amount.memory = m;
			}
			if (l.amount.cpus > c) {
				cpus[k] = l.amount.cpus;
				l.amount.cpus = c;
			}
		}
	}
	for (int k = 0; k < s->failures; k++)
		add(&sum, (struct amount){memory[k], cpus[k]});
	return sum;
}

static struct amount space_with(const struct survival *s, int at,
				const struct extra *x)
{
	struct amount space = s->nodes[at].space, own = {0, 0};

	if (x->inst != NULL && x->primary == at)
		own = amount_of(x->inst);
	return (struct amount){space.memory - own.memory,
			       space.cpus - own.cpus};
}

/* Whether a node has space for all mirrored instances that may come to it. */
static bool has_space(const struct survival *s, int at, const struct extra *x)
{
	const struct survival_node *n = &s->nodes[at];
	struct amount space = space_with(s, at, x), load;

	if (n->lost || (n->n_loads == 0 && !n->has_base && x->to != at))
		return true;
	load = worst_load(s, at, x);
	return !n->closed && load.memory <= space.memory &&
	       load.cpus <= space.cpus;
}

/* --- instances on shared storage --- */

/* So many of the largest instance fit into the space that is left at worst. */
static int64_t slots(const struct survival *s, int at, const struct extra *x,
		     int64_t memory, int64_t cpus)
{
	struct amount space = space_with(s, at, x), load = worst_load(s, at, x);
	int64_t by_memory = INT64_MAX, by_cpus = INT64_MAX;

	if (s->nodes[at].lost || s->nodes[at].closed)
		return 0;
	if (space.memory < load.memory || space.cpus < load.cpus)
		return 0;
	if (memory > 0)
		by_memory = (space.memory - load.memory) / memory;
	if (cpus > 0)
		by_cpus = model_trunc((space.cpus - load.cpus) / (double)cpus);
	return by_memory < by_cpus ? by_memory : by_cpus;
}

/* Keep the largest of the values so far; what falls out is returned. */
static int64_t keep_largest(int64_t *largest, int n, int64_t value)
{
	for (int k = 0; k < n; k++)
		if (value > largest[k]) {
			int64_t smaller = largest[k];

			largest[k] = value;
			value = smaller;
		}
	return value;
}

/* Whether there are slots for all, without the nodes that have most of them
 * and with those lost that have most instances.  Whoever comes takes one slot
 * at most, so that the last finds one, too. */
static bool has_slots(const struct survival *s, const struct extra *x)
{
	int64_t most[SURVIVE_LOSSES_MAX] = {0}, come[SURVIVE_LOSSES_MAX] = {0};
	int64_t memory = s->most_memory, cpus = s->most_cpus;
	int64_t wanted = 0, there = 0, total = s->n_anywhere + 1;
	bool moves = x->inst != NULL && x->to == ANYWHERE;

	if (moves && amount_of(x->inst).memory > memory)
		memory = amount_of(x->inst).memory;
	if (moves && x->inst->vcpus > cpus)
		cpus = x->inst->vcpus;
	for (int i = 0; i < s->group->n_nodes; i++) {
		const struct survival_node *n = &s->nodes[i];
		int64_t own = n->n_anywhere + (moves && x->primary == i);
		int64_t free = slots(s, i, x, memory, cpus);

		if (n->lost)
			wanted += own;
		else
			keep_largest(come, s->failures, own);
		there += keep_largest(most, s->failures,
				      free < total ? free : total);
	}
	for (int k = 0; k < s->failures; k++)
		wanted += come[k];
	return there >= wanted;
}

/* The whole question. */
static bool ask(const struct survival *s, const struct extra *x,
		struct refusal *ret_why)
{
	bool *homeless = xcalloc(s->n_flat + 1, sizeof(*homeless));
	const struct survive_group g = {.nodes = s->flat_nodes,
					.n_nodes = (size_t)s->group->n_nodes,
					.instances = s->flat,
					.n_instances =
						s->n_flat + (x->inst != NULL)};
	struct survive_loss loss = {.homeless = homeless};
	bool ok = survive(&g, (size_t)s->failures, &loss);

	free(homeless);
	if (ok)
		return true;
	*ret_why = (struct refusal){
		.kind = REFUSAL_FAILURES,
		.node = loss.n_nodes > 0 ? s->group->nodes[loss.nodes[0]]
					 : NO_INDEX,
		.need = s->failures,
		.have = (int64_t)loss.n_homeless};
	return false;
}

static bool shared_find_place(const struct survival *s, const struct extra *x,
			      struct refusal *ret_why)
{
	if (has_slots(s, x))
		return true;
	if (x->inst != NULL)
		s->flat[s->n_flat] = (struct survive_instance){
			.memory = amount_of(x->inst).memory,
			.vcpus = x->inst->vcpus,
			.node = (size_t)x->primary,
			.secondary = x->to == ANYWHERE	? SURVIVE_ANYWHERE
				     : x->to == NOWHERE ? SURVIVE_NOWHERE
							: (size_t)x->to};
	return ask(s, x, ret_why);
}

/* --- the questions --- */

static bool lacks_space(const struct survival *s, int at,
			struct refusal *ret_why)
{
	*ret_why = (struct refusal){.kind = REFUSAL_FAILURES,
				    .node = s->group->nodes[at],
				    .need = s->failures};
	return false;
}

static bool holds_now(const struct survival *s, struct refusal *ret_why)
{
	const struct extra none = {.primary = NOWHERE, .to = NOWHERE};

	for (int i = 0; i < s->group->n_nodes; i++)
		if (!has_space(s, i, &none))
			return lacks_space(s, i, ret_why);
	return shared_find_place(s, &none, ret_why);
}

void survival_init(struct survival *s, const struct cluster *c, int group,
		   int failures)
{
	const struct group *g = &c->groups[group];
	size_t n = (size_t)g->n_nodes + 1;

	*s = (struct survival){.c = c, .group = g};
	s->failures = failures < 0 ? g->policy.max_node_failures : failures;
	if (s->failures > SURVIVE_LOSSES_MAX)
		s->failures = SURVIVE_LOSSES_MAX;
	if (s->failures == 0)
		return;
	s->nodes = xcalloc(n, sizeof(*s->nodes));
	s->flat_nodes = xcalloc(n, sizeof(*s->flat_nodes));
	s->position = xcalloc((size_t)c->n_nodes + 1, sizeof(*s->position));
	s->flat = xcalloc(count_instances(s) + 1, sizeof(*s->flat));
	take_group(s);
	s->never = !holds_now(s, &s->broken);
}

void survival_done(struct survival *s)
{
	for (int i = 0; s->nodes != NULL && i < s->group->n_nodes; i++)
		free(s->nodes[i].loads);
	free(s->nodes);
	free(s->flat_nodes);
	free(s->position);
	free(s->flat);
}

bool survival_with(const struct survival *s, const struct instance *inst,
		   int primary, int secondary, struct refusal *ret_why)
{
	struct extra x = {.inst = inst};

	if (s->failures == 0 || inst->ignores_policy)
		return true;
	*ret_why = s->broken;
	if (s->never)
		return false;
	if (inst->status == RUN_ADMIN_OFFLINE)
		return true;
	x.primary = s->position[primary];
	x.to = refuge(s, inst, secondary);
	if (!has_space(s, x.primary, &x))
		return lacks_space(s, x.primary, ret_why);
	if (x.to >= 0 && !has_space(s, x.to, &x))
		return lacks_space(s, x.to, ret_why);
	return shared_find_place(s, &x, ret_why);
}

bool survival_holds(const struct cluster *c, int group)
{
	struct survival s;
	bool holds;

	survival_init(&s, c, group, -1);
	holds = !s.never;
	survival_done(&s);
	return holds;
}
