/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots counted by a look at every node, and the verdict that follows from a
 * count. */
#include <stdlib.h>

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "iallocators/nplus1/slots.h"
#include "iallocators/nplus1/slots_private.h"
#include "lib/base/mem.h"

/* More slots than anybody asks a node for. */
#define SLOTS_MAX (1 << 30)

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t slots_drbd_load(const struct cluster *c, const struct node *x, int s)
{
	int64_t load = 0;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template == TEMPLATE_DRBD && inst->secondary == s &&
		    instance_uses_memory(inst))
			load += inst->memory;
	}
	return load;
}

int64_t slots_fit(int64_t free, int64_t size)
{
	int64_t n;

	if (free <= 1)
		return 0;
	if (size <= 0)
		return SLOTS_MAX;
	/* Sizes are in MiB and fit; this is asked millions of times, and a
	 * division of 64 bits takes some processors three times as long. */
	if (free <= UINT32_MAX && size <= UINT32_MAX)
		n = (uint32_t)(free - 1) / (uint32_t)size;
	else
		n = (free - 1) / size;
	return smaller(n, SLOTS_MAX);
}

int64_t slots_at(const struct cluster *c, const struct node *x, int z,
		 const struct need *need)
{
	const struct node *n = &c->nodes[z];
	int x_index = (int)(x - c->nodes);
	int64_t mem, usable = n->s.usable_mem;

	if (z == x_index || n->exclusive_storage ||
	    usable <= need->most_memory ||
	    (need->disks && n->s.free_disk <= need->most_disk))
		return 0;
	if (need->shared && !move_migration_allowed(c, x_index, z))
		return 0;
	mem = slots_fit(usable, need->most_memory);
	if (mem > 0 && n->secondaries.n > 0 && !need->drbd_left)
		mem = slots_fit(usable - slots_drbd_load(c, x, z),
				need->most_memory);
	if (!need->disks)
		return mem;
	return smaller(mem, slots_fit(n->s.free_disk, need->most_disk));
}

int64_t slots_note_most(int64_t *most, int count, int64_t n)
{
	for (int k = 0; k < count; k++)
		if (n > most[k]) {
			int64_t less = most[k];

			most[k] = n;
			n = less;
		}
	return n;
}

bool slots_count(const struct cluster *c, const struct nodeset *nodes,
		 const struct node *x, const struct need *need, int without)
{
	int64_t most[SLOTS_CHANGED] = {0}, sum = 0;

	for (int i = 0; i < nodes->n && sum < need->n; i++) {
		int64_t n;

		if (c->nodes[nodes->items[i]].group != x->group)
			continue;
		n = slots_at(c, x, nodes->items[i], need);
		sum += slots_note_most(most, without, n);
	}
	return sum >= need->n;
}

bool slots_migrates(const struct instance *inst)
{
	return template_table[inst->template].mirror == MIRROR_EXTERNAL &&
	       inst->template != TEMPLATE_BLOCKDEV;
}

struct by_memory {
	int64_t memory;
	int position, index;
};

/* The biggest first; of equal ones the earlier. */
static int compare_memory(const void *a, const void *b)
{
	const struct by_memory *x = a, *y = b;

	if (x->memory != y->memory)
		return x->memory < y->memory ? 1 : -1;
	return (x->position > y->position) - (x->position < y->position);
}

int slots_list_evacuees(const struct cluster *c, const int *primaries, int n,
			int *ret)
{
	struct by_memory *local = xcalloc((size_t)n + 1, sizeof(*local));
	int n_local = 0, n_ret = 0;

	for (int i = n - 1; i >= 0; i--) {
		const struct instance *inst = &c->instances[primaries[i]];

		if (slots_migrates(inst))
			ret[n_ret++] = primaries[i];
		else if (inst->template != TEMPLATE_DRBD)
			local[n_local++] = (struct by_memory){
				inst->memory, n - i, primaries[i]};
	}
	qsort(local, (size_t)n_local, sizeof(*local), compare_memory);
	for (int i = 0; i < n_local; i++)
		ret[n_ret++] = local[i].index;
	free(local);
	return n_ret;
}

static int64_t shares(int64_t taken, int64_t size)
{
	return size > 0 ? (taken + size - 1) / size : taken > 0 ? SLOTS_MAX : 0;
}

/* How many slots for b are gone at most once a has been put on some node. */
static int64_t slots_lost(const struct slot_item *a, const struct slot_item *b)
{
	int64_t mem = shares(a->memory, b->memory);
	int64_t disk = a->disks && b->disks ? shares(a->disk, b->disk) : 0;

	return mem > disk ? mem : disk;
}

/* Whether a slot for a is also one for b. */
static bool covers(const struct slot_item *a, const struct slot_item *b)
{
	return a->memory >= b->memory &&
	       (!b->disks || (a->disks && a->disk >= b->disk));
}

int64_t slots_all_lost(const struct slot_item *items, int at, int64_t peak)
{
	int64_t lost = (items[at].count - 1) * smaller(1, peak);

	for (int i = 0; i < at; i++)
		lost += items[i].count *
			smaller(slots_lost(&items[i], &items[at]), peak);
	return lost;
}

/* How many evacuees are at least as big, and have no more choice of nodes. */
static int64_t count_as_big(const struct cluster *c,
			    const struct slot_item *items, int n,
			    const struct slot_item *it)
{
	int64_t as_big = 0;

	for (int i = 0; i < n; i++)
		if (covers(&items[i], it) &&
		    (!c->has_migration || items[i].shared == it->shared))
			as_big += items[i].count;
	return as_big;
}

enum slots_verdict slots_judge_item(const struct cluster *c,
				    const struct evacuees *l, int at,
				    const struct slot_count *slots)
{
	const struct slot_item *it = &l->items[at];

	/* The slots for a size of 0 are not exact, so nothing is said of these.
	 */
	if (!slots->exclusive && it->memory > 0 &&
	    (!it->disks || it->disk > 0) &&
	    slots->all < count_as_big(c, l->items, l->n_items, it))
		return SLOTS_TOO_FEW;
	return slots->all > slots_all_lost(l->items, at, slots->peak)
		       ? SLOTS_ENOUGH
		       : SLOTS_UNCLEAR;
}

struct need slots_need_of(const struct slot_item *it)
{
	return (struct need){.most_memory = it->memory,
			     .most_disk = it->disk,
			     .disks = it->disks,
			     .shared = it->shared};
}

/* Count the slots of all nodes but x for one size. */
static struct slot_count count_all(const struct cluster *c,
				   const struct nodeset *nodes,
				   const struct node *x,
				   const struct slot_item *it, bool drbd_left)
{
	struct slot_count ret = {.all = 0};
	struct need need = slots_need_of(it);

	need.drbd_left = drbd_left;
	for (int i = 0; i < nodes->n; i++) {
		const struct node *z = &c->nodes[nodes->items[i]];
		int64_t here;

		if (z->group != x->group)
			continue;
		ret.exclusive = ret.exclusive || z->exclusive_storage;
		here = slots_at(c, x, nodes->items[i], &need);
		ret.all += here;
		ret.peak = here > ret.peak ? here : ret.peak;
	}
	return ret;
}

static bool same_item(const struct slot_item *a, const struct slot_item *b)
{
	return a->memory == b->memory && a->disk == b->disk &&
	       a->disks == b->disks && a->shared == b->shared;
}

/* Whether counting slots says anything about the instance: its size is sane,
 * and if it has to be created again the policy allows that. */
static bool is_plain_case(const struct cluster *c, const struct node *x,
			  const struct instance *inst)
{
	if (inst->memory < 0 || inst->disk < 0)
		return false;
	return slots_migrates(inst) ||
	       (!x->exclusive_storage &&
		policy_check(&c->groups[x->group], false, inst) == FAIL_NONE);
}

/* List the sizes of the evacuees of x; how many, or -1 if counting slots says
 * nothing about one. */
static int list_items(const struct cluster *c, const struct node *x,
		      const int *leaving, int n, struct slot_item *ret)
{
	int n_ret = 0;

	for (int i = 0; i < n; i++) {
		const struct instance *inst = &c->instances[leaving[i]];
		struct slot_item item = {
			.memory = instance_uses_memory(inst) ? inst->memory : 0,
			.disk = instance_is_local(inst) ? inst->disk : 0,
			.disks = instance_is_local(inst),
			.shared = slots_migrates(inst),
			.count = 1,
		};

		if (!is_plain_case(c, x, inst))
			return -1;
		if (n_ret > 0 && same_item(&ret[n_ret - 1], &item))
			ret[n_ret - 1].count++;
		else
			ret[n_ret++] = item;
	}
	return n_ret;
}

struct evacuees slots_evacuees(const struct cluster *c, const struct node *x)
{
	size_t n = (size_t)x->primaries.n + 1;
	struct evacuees l = {.instances = xcalloc(n, sizeof(*l.instances)),
			     .items = xcalloc(n, sizeof(*l.items))};

	l.n = slots_list_evacuees(c, x->primaries.items, x->primaries.n,
				  l.instances);
	l.n_items = list_items(c, x, l.instances, l.n, l.items);
	return l;
}

void slots_evacuees_done(struct evacuees *l)
{
	free(l->instances);
	free(l->items);
	*l = (struct evacuees){.n = 0};
}

void slots_evacuees_next(struct evacuees *l)
{
	l->instances++;
	l->n--;
	if (l->n_items > 0 && --l->items->count == 0) {
		l->items++;
		l->n_items--;
	}
}

enum slots_verdict slots_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x, const struct evacuees *l,
			       bool drbd_left)
{
	enum slots_verdict ret = SLOTS_ENOUGH;

	if (l->n_items < 0)
		return SLOTS_UNCLEAR;
	for (int i = 0; i < l->n_items && ret != SLOTS_TOO_FEW; i++) {
		struct slot_count slots =
			count_all(c, nodes, x, &l->items[i], drbd_left);
		enum slots_verdict v = slots_judge_item(c, l, i, &slots);

		if (v != SLOTS_ENOUGH)
			ret = v;
	}
	return ret;
}
