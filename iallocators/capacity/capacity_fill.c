/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances are placed in blocks, and redundancy is checked only at the end of
 * a block.  A block that breaks it is undone, or cut down to its first BLOCK
 * instances.  When blocks fail, instances are placed one by one
 * (capacity_run.c). */
#include <string.h>

#include "iallocators/capacity/capacity_run.h"
#include "iallocators/model/change.h"
#include "lib/base/mem.h"

#define BLOCK 10 /* instances between two checks of redundancy */
#define FIRST_BLOCK_MIN 20

/* So many, or as many as fit (all, if negative); how many are left to be
 * placed. */
static int64_t place_some(struct run *r, int64_t limit)
{
	struct capacity *k = r->k;

	for (; limit != 0 && capacity_run_place(r); limit -= limit > 0) {
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
	struct tracker *tracker = capacity_tracker(r->k);
	struct capacity_run_mark begin = capacity_run_mark(r), few;

	place_some(r, size < BLOCK ? size : BLOCK);
	few = capacity_run_mark(r);
	if (size > BLOCK)
		place_some(r, size - BLOCK);
	if (tracker_holds(tracker))
		return size;
	if (size > BLOCK) {
		capacity_run_undo(r, few);
		if (tracker_holds(tracker))
			return BLOCK;
	}
	capacity_run_undo(r, begin);
	return 0;
}

/* As long as that goes well; whether that is all. */
static bool place_blocks(struct run *r, int64_t *limit)
{
	struct capacity *k = r->k;
	bool large = true;

	if (!k->place.capacity_checks || tracker_hopeless(capacity_tracker(k)))
		return false;
	for (;;) {
		int64_t size = large ? first_block(k, &r->inst) : BLOCK, done;
		int before = k->c->n_instances;

		size = *limit >= 0 && *limit < size ? *limit : size;
		done = place_block(r, size);
		if (done == 0)
			return size == 0 && tracker_holds(capacity_tracker(k));
		large = large && done == size;
		if (*limit >= 0)
			*limit -= done;
		if (*limit == 0 || k->c->n_instances == before)
			return true;
	}
}

/* Whether no node is ever full of these. */
static bool takes_nothing(const struct instance *inst)
{
	bool on_disk = instance_is_local(inst) &&
		       (inst->disk > 0 || inst->spindle_use > 0);

	return inst->memory <= 0 && inst->vcpus <= 0 && !on_disk;
}

/* Not inlined: tiers nest deeply, and their frames have to be small. */
__attribute__((noinline)) static void
fill(struct capacity *k, const struct instance *inst, int64_t limit)
{
	bool checks =
		k->place.capacity_checks && inst->template != TEMPLATE_DRBD;
	struct run r;

	capacity_run_init(&r, k, inst);
	if (limit < 0 && takes_nothing(inst)) {
		k->endless = place_some(&r, 1) == 0 || k->endless;
		capacity_run_done(&r);
		return;
	}
	if (!place_blocks(&r, &limit)) {
		capacity_run_check(&r, checks);
		limit = place_some(&r, limit);
	}
	if (limit == 0)
		capacity_run_count(&r);
	capacity_run_done(&r);
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
