/* SPDX-License-Identifier: BSD-2-Clause */
/* Ever smaller instances: where one size does not fit any more there is less
 * of what there was not enough of. */
#include <string.h>

#include "iallocators/capacity/capacity.h"
#include "iallocators/capacity/capacity_fit.h"
#include "lib/base/mem.h"

#define DEPTH_MAX 8192 /* of sizes tried; each takes some stack */

/* What a size is reduced by, and the least that stays. */
#define UNIT_MEMORY 64
#define UNIT_DISK 256

/* Whether there can be less of what there was not enough of. */
static bool can_shrink(const struct instance *inst, enum fail why)
{
	int64_t disks = (int64_t)inst->n_disks * UNIT_DISK;

	switch (why) {
	case FAIL_MEM:
		return inst->memory - UNIT_MEMORY >= UNIT_MEMORY;
	case FAIL_CPU:
		return inst->vcpus >= 2;
	case FAIL_DISK:
		return inst->disk - disks >= UNIT_DISK;
	case FAIL_SPINDLES:
		return inst->n_disks == 1 && inst->disks[0].spindles >= 2;
	default:
		return false;
	}
}

/* Make it so; its disks are its own. */
static void shrink(struct capacity *k, struct instance *inst, enum fail why)
{
	switch (why) {
	case FAIL_MEM:
		inst->memory -= UNIT_MEMORY;
		break;
	case FAIL_CPU:
		inst->vcpus--;
		break;
	case FAIL_DISK:
		for (size_t i = 0; i < inst->n_disks; i++)
			inst->disks[i].size -= UNIT_DISK;
		inst->disk -= (int64_t)inst->n_disks * UNIT_DISK;
		break;
	default:
		inst->disks[0].spindles--;
		cluster_finish_instance(k->c, inst, k->load);
		break;
	}
}

/* One like it that can be shrunk. */
static struct instance copy_size(struct capacity *k,
				 const struct instance *inst)
{
	struct instance copy = *inst;

	if (inst->n_disks == 0)
		return copy;
	copy.disks =
		arena_calloc(&k->c->arena, inst->n_disks, sizeof(*copy.disks));
	memcpy(copy.disks, inst->disks, inst->n_disks * sizeof(*copy.disks));
	return copy;
}

static int64_t count_of(const struct capacity *k, enum fail why)
{
	for (int i = 0; i < k->n_fails; i++)
		if (k->fails[i].why == why)
			return k->fails[i].n;
	return 0;
}

static char *key_of(const struct instance *inst, enum fail why)
{
	return xprintf("%d %jd %jd %jd %jd", (int)why, (intmax_t)inst->memory,
		       (intmax_t)inst->disk, (intmax_t)inst->vcpus,
		       (intmax_t)inst->spindles);
}

/* Whether that size is known not to fit however much it is shrunk for this
 * reason, as things are now. */
static bool was_tried(const struct capacity *k, const struct instance *inst,
		      enum fail why)
{
	auto_free char *key = key_of(inst, why);

	return table_get(&k->tried, key) != NULL;
}

static void note_tried(struct capacity *k, const struct instance *inst,
		       enum fail why)
{
	auto_free char *key = key_of(inst, why);

	table_put(&k->tried, key, k);
}

/* Not inlined: tiers nest deeply, and their frames have to be small. */
#define OFF_THE_STACK __attribute__((noinline))

/* Less and less of one thing until it fits, but never the smallest size. */
OFF_THE_STACK static bool shrink_to_fit(struct capacity *k,
					struct instance *inst, enum fail why)
{
	const struct instance start = *inst;
	struct fit f;
	bool fits = false, first = true;

	if (!can_shrink(inst, why))
		return false;
	fit_init(&f, k, inst, why);
	for (; can_shrink(inst, why); first = false) {
		fits = fit_now(&f);
		if (fits || count_of(k, why) == 0)
			break;
		shrink(k, inst, why);
		/* The next size is where the tier below began. */
		if (first && was_tried(k, inst, why))
			break;
		fit_shrink(&f, inst);
	}
	fit_done(&f);
	if (!fits)
		note_tried(k, &start, why);
	return fits;
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
	int before = k->c->n_instances;
	int64_t total;

	capacity_fill(k, inst, limit);
	if (k->c->n_instances != before) {
		table_done(&k->tried, NULL);
		k->tried = (struct table){0};
	}
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
	struct instance smaller = copy_size(k, inst);
	int before = k->c->n_instances, n = k->n_fails;

	memcpy(fails, k->fails, sizeof(fails));
	order_fails(k, order);
	if (can_shrink(inst, order[0])) {
		shrink(k, &smaller, order[0]);
		fill_tiers(k, &smaller, limit, depth);
	}
	for (int i = 0; i < n && k->c->n_instances == before; i++) {
		smaller = copy_size(k, inst);
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
		capacity_fill(k, inst, limit);
	else
		fill_tiers(k, inst, limit, 0);
}
