/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances are placed in blocks, and redundancy is checked only at the end of
 * a block.  A block that breaks it is undone, or cut down to its first BLOCK
 * instances.  When blocks fail, instances are placed one by one
 * (capacity_run.c). */
#include "iallocators/capacity/capacity.h"

#include <string.h>

#include "iallocators/capacity/capacity_run.h"
#include "iallocators/capacity/capacity_survival.h"
#include "lib/base/mem.h"

#define BLOCK 10 /* instances between two checks of redundancy */
#define FIRST_BLOCK_MIN 20

static bool in_bad_group(const struct cluster *c, const bool *bad, int node)
{
	int g = c->nodes[node].group;

	return bad[g] || c->groups[g].alloc_policy == ALLOC_UNALLOCABLE;
}

/* Whether some node has not enough memory for its peers; mark the groups, and
 * those that could not stand the loss of a node. */
static bool mark_bad(struct capacity *k, bool independent, bool *bad)
{
	struct cluster *c = k->c;
	bool any = false;

	for (int i = 0; i < c->n_nodes; i++)
		if (!c->nodes[i].offline && c->nodes[i].s.fails_n1)
			any = bad[c->nodes[i].group] = true;
	for (int g = 0; g < c->n_groups && independent; g++) {
		struct nodeset nodes = cluster_group_nodes(c, g);

		if (!bad[g] && !redundancy_holds(c, &nodes, &k->place))
			bad[g] = true;
	}
	return any;
}

static void list_nodes(struct capacity *k, const bool *bad, bool independent)
{
	struct cluster *c = k->c;
	size_t n = (size_t)c->n_nodes;

	k->all = cluster_all_nodes(c);
	k->candidates = k->checked = (struct nodeset){.group = NO_INDEX};
	k->candidates.items = arena_calloc(&c->arena, n, sizeof(int));
	k->checked.items = arena_calloc(&c->arena, n, sizeof(int));
	for (int i = 0; i < c->n_nodes; i++) {
		if (!c->nodes[i].offline && !in_bad_group(c, bad, i))
			k->candidates.items[k->candidates.n++] = i;
		if (!independent || !bad[c->nodes[i].group])
			k->checked.items[k->checked.n++] = i;
	}
}

static bool some_group_left(const struct cluster *c, const bool *bad)
{
	for (int g = 0; g < c->n_groups; g++)
		if (!bad[g] && c->groups[g].alloc_policy != ALLOC_UNALLOCABLE)
			return true;
	return false;
}

void capacity_init(struct capacity *ret, struct cluster *c,
		   const struct load_options *load, const struct hspace_opts *o,
		   enum template template)
{
	bool *bad =
		arena_calloc(&c->arena, (size_t)c->n_groups + 1, sizeof(*bad));

	*ret = (struct capacity){
		.c = c,
		.load = load,
		.place = {.capacity_checks = !o->no_capacity_checks,
			  .accept_existing_errors = o->accept_existing_errors},
		.required_nodes = template == TEMPLATE_DRBD ? 2 : 1,
		.bad_groups = bad,
		.first = c->n_instances,
		.mark = change_mark(c),
	};
	if (!o->accept_existing_errors || o->independent_groups)
		ret->blocked = mark_bad(ret, o->independent_groups, bad);
	if (o->accept_existing_errors ||
	    (o->independent_groups && some_group_left(c, bad)))
		ret->blocked = false;
	list_nodes(ret, bad, o->independent_groups);
}

/* Whether some group has two candidates. */
static bool has_pair(const struct capacity *k)
{
	const struct nodeset *set = &k->candidates;

	for (int i = 0; i < set->n; i++)
		for (int j = 0; j < i; j++)
			if (k->c->nodes[set->items[i]].group ==
			    k->c->nodes[set->items[j]].group)
				return true;
	return false;
}

int capacity_check(const struct capacity *k, struct error *err)
{
	if (k->blocked)
		return 0;
	if (k->required_nodes == 1 && k->candidates.n == 0)
		return error_set(err, ERR_PREREQ, NULL, "No online nodes");
	if (k->required_nodes == 2 && !has_pair(k))
		return error_set(err, ERR_PREREQ, NULL,
				 "Not enough online nodes");
	return 0;
}

void capacity_sort_fails(struct capacity *k)
{
	for (int i = 1; i < k->n_fails; i++) {
		struct fail_count f = k->fails[i];
		int at = i;

		for (; at > 0 && k->fails[at - 1].n < f.n; at--)
			k->fails[at] = k->fails[at - 1];
		k->fails[at] = f;
	}
}

static void forget_standing(struct capacity *k)
{
	if (k->has_standing)
		standing_done(&k->standing);
	k->has_standing = false;
}

struct standing *capacity_standing(struct capacity *k)
{
	if (!k->has_standing)
		standing_init(&k->standing, k->c, &k->checked, &k->place);
	k->has_standing = true;
	return &k->standing;
}

void capacity_empty(struct capacity *k)
{
	forget_standing(k);
	capacity_survival_forget(k);
	table_done(&k->tried, NULL);
	k->tried = (struct table){0};
	change_undo(k->c, k->mark);
	k->c->n_instances = k->first;
}

void capacity_done(struct capacity *k)
{
	forget_standing(k);
	capacity_survival_forget(k);
	table_done(&k->tried, NULL);
}

/* So many, or as many as fit (all, if negative); how many are left to be
 * placed. */
static int64_t place_some(struct run *r, int64_t limit)
{
	struct capacity *k = r->k;

	for (; limit != 0 && run_place(r); limit -= limit > 0) {
		auto_free char *name =
			xprintf("new-%d", k->c->n_instances - 1 - k->first);

		k->c->instances[k->c->n_instances - 1].name =
			arena_strndup(&k->c->arena, name, strlen(name));
	}
	return limit;
}

/* So many will surely fit. */
static int64_t first_block(const struct capacity *k,
			   const struct instance *inst)
{
	int64_t mem = 0, n;

	for (int i = 0; i < k->c->n_nodes; i++) {
		const struct node_state *s = &k->c->nodes[i].s;

		if (s->usable_mem > s->reserved_mem)
			mem += s->usable_mem - s->reserved_mem;
	}
	n = inst->memory > 0 ? mem / inst->memory - k->c->n_nodes : 0;
	return n > FIRST_BLOCK_MIN ? n : FIRST_BLOCK_MIN;
}

/* A block without looking at redundancy before its end; if that is bad, then
 * perhaps it is good after the first few, with which a smaller block would
 * begin.  How many it was to be: 0 if it was nothing, and nothing has
 * changed. */
static int64_t place_block(struct run *r, int64_t size)
{
	struct standing *standing = capacity_standing(r->k);
	struct run_mark begin = run_mark(r), few;

	place_some(r, size < BLOCK ? size : BLOCK);
	few = run_mark(r);
	if (size > BLOCK)
		place_some(r, size - BLOCK);
	if (standing_holds(standing))
		return size;
	if (size > BLOCK) {
		run_undo(r, few);
		if (standing_holds(standing))
			return BLOCK;
	}
	run_undo(r, begin);
	return 0;
}

/* As long as that goes well; whether that is all. */
static bool place_blocks(struct run *r, int64_t *limit)
{
	struct capacity *k = r->k;
	bool large = true;

	if (!k->place.capacity_checks ||
	    standing_hopeless(capacity_standing(k)))
		return false;
	for (;;) {
		int64_t size = large ? first_block(k, &r->inst) : BLOCK, done;
		int before = k->c->n_instances;

		size = *limit >= 0 && *limit < size ? *limit : size;
		done = place_block(r, size);
		if (done == 0)
			return size == 0 &&
			       standing_holds(capacity_standing(k));
		large = large && done == size;
		if (*limit >= 0)
			*limit -= done;
		if (*limit == 0 || k->c->n_instances == before)
			return true;
	}
}

/* Not inlined: tiers nest deeply, and their frames have to be small. */
__attribute__((noinline)) static void
fill(struct capacity *k, const struct instance *inst, int64_t limit)
{
	bool checks =
		k->place.capacity_checks && inst->template != TEMPLATE_DRBD;
	struct run r;

	run_init(&r, k, inst);
	if (!place_blocks(&r, &limit)) {
		run_check(&r, checks);
		limit = place_some(&r, limit);
	}
	if (limit == 0)
		run_count(&r);
	run_done(&r);
}

void capacity_fill(struct capacity *k, const struct instance *inst,
		   int64_t limit)
{
	if (!k->blocked) {
		fill(k, inst, limit);
		return;
	}
	k->fails[0] = (struct fail_count){FAIL_N1, 1};
	k->n_fails = 1;
}
