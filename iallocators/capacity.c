/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/capacity.h"

#include <string.h>

#include "iallocators/capacity_run.h"
#include "lib/base/mem.h"

#define BLOCK 10 /* instances between two checks of redundancy */
#define FIRST_BLOCK_MIN 20
#define DEPTH_MAX 8192 /* of sizes tried; each takes some stack */

/* What a size is reduced by, and the least that stays. */
#define UNIT_MEMORY 64
#define UNIT_DISK 256

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
		   const struct tool_options *o, enum template template)
{
	bool *bad =
		arena_calloc(&c->arena, (size_t)c->n_groups + 1, sizeof(*bad));

	*ret = (struct capacity){
		.c = c,
		.load = &o->load,
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

void capacity_forget(struct capacity *k)
{
	if (k->knows_redundancy)
		promises_done(&k->promises);
	k->knows_redundancy = false;
}

/* Back to the mark, with so many instances. */
static void undo(struct capacity *k, size_t mark, int n_instances)
{
	capacity_forget(k);
	change_undo(k->c, mark);
	k->c->n_instances = n_instances;
}

void capacity_empty(struct capacity *k)
{
	undo(k, k->mark, k->first);
}

void capacity_done(struct capacity *k)
{
	capacity_forget(k);
}

static void fill_singly(struct capacity *k, const struct instance *inst,
			int64_t limit, bool checks)
{
	struct run r;
	struct solution s;

	run_init(&r, k, inst, checks && inst->template != TEMPLATE_DRBD);
	while (limit != 0 && run_place(&r)) {
		auto_free char *name =
			xprintf("new-%d", k->c->n_instances - 1 - k->first);

		k->c->instances[k->c->n_instances - 1].name =
			arena_strndup(&k->c->arena, name, strlen(name));
		if (limit > 0)
			limit--;
	}
	if (limit == 0)
		run_try(&r, false, &s);
	run_done(&r);
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

/* A block without looking at redundancy; false, and nothing has changed, if
 * the state at its end is bad. */
static bool fill_block(struct capacity *k, const struct instance *inst,
		       int64_t size)
{
	size_t mark = change_mark(k->c);
	int before = k->c->n_instances;

	fill_singly(k, inst, size, false);
	if (redundancy_holds(k->c, &k->checked, &k->place))
		return true;
	undo(k, mark, before);
	return false;
}

/* Not inlined, like what else tiers call: these nest deeply, and their frames
 * have to be small. */
#define OFF_THE_STACK __attribute__((noinline))

OFF_THE_STACK static void fill(struct capacity *k, const struct instance *inst,
			       int64_t limit)
{
	bool first = true;

	while (k->place.capacity_checks) {
		int64_t size = first ? first_block(k, inst) : BLOCK;
		int before = k->c->n_instances;

		if (fill_block(k, inst,
			       limit >= 0 && limit < size ? limit : size)) {
			if (limit >= 0)
				limit = limit > size ? limit - size : 0;
			if (limit == 0 || k->c->n_instances == before)
				return;
		} else if (first) {
			first = false;
		} else {
			break;
		}
	}
	fill_singly(k, inst, limit, k->place.capacity_checks);
}

static void block(struct capacity *k)
{
	k->fails[0] = (struct fail_count){FAIL_N1, 1};
	k->n_fails = 1;
}

void capacity_fill(struct capacity *k, const struct instance *inst,
		   int64_t limit)
{
	if (k->blocked)
		block(k);
	else
		fill(k, inst, limit);
}

static bool shrink_disk(struct capacity *k, struct instance *inst)
{
	struct disk *disks;

	if (inst->disk - (int64_t)inst->n_disks * UNIT_DISK < UNIT_DISK)
		return false;
	disks = arena_calloc(&k->c->arena, inst->n_disks, sizeof(*disks));
	for (size_t i = 0; i < inst->n_disks; i++) {
		disks[i] = inst->disks[i];
		disks[i].size -= UNIT_DISK;
	}
	inst->disk -= (int64_t)inst->n_disks * UNIT_DISK;
	inst->disks = disks;
	return true;
}

static bool shrink_spindles(struct capacity *k, struct instance *inst)
{
	struct disk *disk;

	if (inst->n_disks != 1 || inst->disks[0].spindles < 2)
		return false;
	disk = arena_calloc(&k->c->arena, 1, sizeof(*disk));
	*disk = inst->disks[0];
	disk->spindles--;
	inst->disks = disk;
	cluster_finish_instance(k->c, inst, k->load);
	return true;
}

/* Less of what there was not enough of; false if it cannot be less. */
static bool shrink(struct capacity *k, struct instance *inst, enum fail why)
{
	switch (why) {
	case FAIL_MEM:
		if (inst->memory - UNIT_MEMORY < UNIT_MEMORY)
			return false;
		inst->memory -= UNIT_MEMORY;
		return true;
	case FAIL_CPU:
		if (inst->vcpus < 2)
			return false;
		inst->vcpus--;
		return true;
	case FAIL_DISK:
		return shrink_disk(k, inst);
	case FAIL_SPINDLES:
		return shrink_spindles(k, inst);
	default:
		return false;
	}
}

static int64_t count_of(const struct capacity *k, enum fail why)
{
	for (int i = 0; i < k->n_fails; i++)
		if (k->fails[i].why == why)
			return k->fails[i].n;
	return 0;
}

/* Less and less of one thing until it fits, but never the smallest size. */
OFF_THE_STACK static bool shrink_to_fit(struct capacity *k,
					struct instance *inst, enum fail why)
{
	for (;;) {
		struct instance smaller = *inst;

		if (!shrink(k, &smaller, why))
			return false;
		if (run_would_fit(k, inst, k->place.capacity_checks))
			return true;
		if (count_of(k, why) == 0)
			return false;
		*inst = smaller;
	}
}

/* The reasons, the most frequent first; of equal ones the later. */
static void order_fails(const struct capacity *k, enum fail *ret)
{
	for (int i = 0; i < k->n_fails; i++) {
		int at = i;

		for (; at > 0 && count_of(k, ret[at - 1]) <= k->fails[i].n;
		     at--)
			ret[at] = ret[at - 1];
		ret[at] = k->fails[i].why;
	}
}

static void fill_smaller(struct capacity *k, const struct instance *inst,
			 int64_t limit, int depth);

static void fill_tiers(struct capacity *k, const struct instance *inst,
		       int64_t limit, int depth)
{
	int64_t total;

	fill(k, inst, limit);
	total = k->c->n_instances - k->first;
	if (depth >= DEPTH_MAX || (limit >= 0 && limit <= total))
		return;
	fill_smaller(k, inst, limit < 0 ? limit : limit - total, depth + 1);
}

/* A little smaller in one respect; if that brings nothing, as much smaller as
 * necessary. */
static void fill_smaller(struct capacity *k, const struct instance *inst,
			 int64_t limit, int depth)
{
	struct fail_count fails[FAIL_COUNT];
	enum fail order[FAIL_COUNT] = {FAIL_NONE};
	struct instance smaller = *inst;
	int before = k->c->n_instances, n = k->n_fails;

	memcpy(fails, k->fails, sizeof(fails));
	order_fails(k, order);
	if (shrink(k, &smaller, order[0]))
		fill_tiers(k, &smaller, limit, depth);
	for (int i = 0; i < n && k->c->n_instances == before; i++) {
		smaller = *inst;
		if (shrink_to_fit(k, &smaller, order[i])) {
			fill_tiers(k, &smaller, limit, depth);
			return;
		}
	}
	if (k->c->n_instances == before)
		memcpy(k->fails, fails, sizeof(fails));
}

void capacity_fill_tiered(struct capacity *k, const struct instance *inst,
			  int64_t limit)
{
	if (k->blocked)
		block(k);
	else
		fill_tiers(k, inst, limit, 0);
}
