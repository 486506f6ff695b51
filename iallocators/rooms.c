/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/rooms.h"

#include <stdlib.h>

#include "iallocators/change.h"
#include "iallocators/move.h"
#include "lib/base/mem.h"

/* More sizes than this are not kept: one list of all nodes each. */
#define ROOMS_MAX 4096
#define ROOMS_INDEX (4 * ROOMS_MAX) /* a power of two */
#define HASH_PRIME 0x9e3779b97f4a7c15u
/* More slots than any node is asked for. */
#define SLOTS_MAX (1 << 30)

/* The slots of one size in one group. */
struct room {
	int group;
	bool disks;
	int64_t memory, disk;
	int *slots; /* by node; 0 for those of other groups */
	int64_t total;
	int64_t most[ROOMS_CHANGED]; /* descending; void if stale */
	bool stale;
	int peak; /* no node has more */
};

int64_t rooms_drbd_load(const struct cluster *c, const struct node *x, int s)
{
	int64_t load = 0;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template == TEMPLATE_DRBD && inst->secondary == s &&
		    inst_uses_memory(inst))
			load += inst->memory;
	}
	return load;
}

/* So many of a size there is room for; one unit always stays free. */
static int64_t slots_of(int64_t free, int64_t size)
{
	int64_t n;

	if (free <= 1)
		return 0;
	n = size > 0 ? (free - 1) / size : SLOTS_MAX;
	return n < SLOTS_MAX ? n : SLOTS_MAX;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How many of the biggest thing that leaves x could come to z. */
static int64_t count_slots(const struct cluster *c, const struct node *x, int z,
			   const struct need *need)
{
	const struct node *n = &c->nodes[z];
	int x_index = (int)(x - c->nodes);
	int64_t mem, usable = n->s.usable_mem;

	if (z == x_index || n->exclusive_storage)
		return 0;
	if (need->shared && !move_migration_allowed(c, x_index, z))
		return 0;
	mem = slots_of(usable, need->most_memory);
	if (mem > 0 && n->secondaries.n > 0 && !need->drbd_left)
		mem = slots_of(usable - rooms_drbd_load(c, x, z),
			       need->most_memory);
	if (!need->disks)
		return mem;
	return smaller(mem, slots_of(n->s.free_disk, need->most_disk));
}

/* Put n among the most; what falls out of them. */
static int64_t note_most(int64_t *most, int count, int64_t n)
{
	for (int k = 0; k < count; k++)
		if (n > most[k]) {
			int64_t less = most[k];

			most[k] = n;
			n = less;
		}
	return n;
}

bool rooms_count(const struct cluster *c, const struct nodeset *nodes,
		 const struct node *x, const struct need *need, int without)
{
	int64_t most[ROOMS_CHANGED] = {0}, sum = 0;

	for (int i = 0; i < nodes->n && sum < need->n; i++) {
		int64_t n;

		if (c->nodes[nodes->items[i]].group != x->group)
			continue;
		n = count_slots(c, x, nodes->items[i], need);
		sum += note_most(most, without, n);
	}
	return sum >= need->n;
}

bool rooms_migrates(const struct instance *inst)
{
	return templates[inst->template].mirror == MIRROR_EXTERNAL &&
	       inst->template != TEMPLATE_BLOCK;
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

int rooms_leaving(const struct cluster *c, const int *primaries, int n,
		  int *ret)
{
	struct by_memory *local = xcalloc((size_t)n + 1, sizeof(*local));
	int n_local = 0, n_ret = 0;

	for (int i = n - 1; i >= 0; i--) {
		const struct instance *inst = &c->instances[primaries[i]];

		if (rooms_migrates(inst))
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

/* What something takes of a node; so many of the same, one after the other. */
struct item {
	int64_t memory, disk;
	bool disks, shared;
	int64_t count;
};

static int64_t shares(int64_t taken, int64_t size)
{
	return size > 0 ? (taken + size - 1) / size : taken > 0 ? SLOTS_MAX : 0;
}

/* So many slots for b are gone at most once a has been put on some node. */
static int64_t slots_lost(const struct item *a, const struct item *b)
{
	int64_t mem = shares(a->memory, b->memory);
	int64_t disk = a->disks && b->disks ? shares(a->disk, b->disk) : 0;

	return mem > disk ? mem : disk;
}

/* Whether what has room for a has room for b. */
static bool covers(const struct item *a, const struct item *b)
{
	return a->memory >= b->memory &&
	       (!b->disks || (a->disks && a->disk >= b->disk));
}

/* So many slots for the last of those at `at` are gone at most when all before
 * it have found a place; no node has more than peak. */
static int64_t all_lost(const struct item *items, int at, int64_t peak)
{
	int64_t lost = (items[at].count - 1) * smaller(1, peak);

	for (int i = 0; i < at; i++)
		lost += items[i].count *
			smaller(slots_lost(&items[i], &items[at]), peak);
	return lost;
}

/* So many are at least as big, with no more choice where to go. */
static int64_t count_as_big(const struct cluster *c, const struct item *items,
			    int n, const struct item *it)
{
	int64_t as_big = 0;

	for (int i = 0; i < n; i++)
		if (covers(&items[i], it) &&
		    (!c->has_migration || items[i].shared == it->shared))
			as_big += items[i].count;
	return as_big;
}

/* The slots of one size, besides x's own. */
struct slots {
	int64_t all;
	int64_t peak;	/* no node has more */
	bool exclusive; /* there may be others */
};

/* Whether those at `at` find a place, when those before it have theirs. */
static enum rooms_verdict judge_item(const struct cluster *c,
				     const struct item *items, int n, int at,
				     const struct slots *slots)
{
	const struct item *it = &items[at];

	/* A slot for nothing is where something is free: not quite exact. */
	if (!slots->exclusive && it->memory > 0 &&
	    (!it->disks || it->disk > 0) &&
	    slots->all < count_as_big(c, items, n, it))
		return ROOMS_TOO_FEW;
	return slots->all > all_lost(items, at, slots->peak) ? ROOMS_ENOUGH
							     : ROOMS_UNCLEAR;
}

static struct need need_of(const struct item *it)
{
	return (struct need){.most_memory = it->memory,
			     .most_disk = it->disk,
			     .disks = it->disks,
			     .shared = it->shared};
}

/* Look at all nodes. */
static struct slots count_all(const struct cluster *c,
			      const struct nodeset *nodes, const struct node *x,
			      const struct item *it, bool drbd_left)
{
	struct slots ret = {.all = 0};
	struct need need = need_of(it);

	need.drbd_left = drbd_left;
	for (int i = 0; i < nodes->n; i++) {
		const struct node *z = &c->nodes[nodes->items[i]];
		int64_t here;

		if (z->group != x->group)
			continue;
		ret.exclusive = ret.exclusive || z->exclusive_storage;
		here = count_slots(c, x, nodes->items[i], &need);
		ret.all += here;
		ret.peak = here > ret.peak ? here : ret.peak;
	}
	return ret;
}

static bool same_item(const struct item *a, const struct item *b)
{
	return a->memory == b->memory && a->disk == b->disk &&
	       a->disks == b->disks && a->shared == b->shared;
}

/* Whether it is one for which slots mean something: of a sane size, and where
 * it is created again it has to keep to the policy. */
static bool is_plain_case(const struct cluster *c, const struct node *x,
			  const struct instance *inst)
{
	if (inst->memory < 0 || inst->disk < 0)
		return false;
	return rooms_migrates(inst) ||
	       (!x->exclusive_storage &&
		policy_check(&c->groups[x->group], false, inst) == FAIL_NONE);
}

/* What leaves x, equal ones together; how many, or -1 if slots mean nothing
 * for one of them. */
static int list_items(const struct cluster *c, const struct node *x,
		      const int *leaving, int n, struct item *ret)
{
	int n_ret = 0;

	for (int i = 0; i < n; i++) {
		const struct instance *inst = &c->instances[leaving[i]];
		struct item item = {
			.memory = inst_uses_memory(inst) ? inst->memory : 0,
			.disk = inst_is_local(inst) ? inst->disk : 0,
			.disks = inst_is_local(inst),
			.shared = rooms_migrates(inst),
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

enum rooms_verdict rooms_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x, const int *leaving, int n,
			       bool drbd_left)
{
	enum rooms_verdict ret = ROOMS_ENOUGH;
	auto_free struct item *items = xcalloc((size_t)n + 1, sizeof(*items));
	int n_items = list_items(c, x, leaving, n, items);

	if (n_items < 0)
		return ROOMS_UNCLEAR;
	for (int i = 0; i < n_items && ret != ROOMS_TOO_FEW; i++) {
		struct slots slots =
			count_all(c, nodes, x, &items[i], drbd_left);
		enum rooms_verdict v = judge_item(c, items, n_items, i, &slots);

		if (v != ROOMS_ENOUGH)
			ret = v;
	}
	return ret;
}

void rooms_init(struct rooms *r, const struct cluster *c,
		const struct nodeset *nodes)
{
	*r = (struct rooms){.c = c, .nodes = nodes};
	for (int i = 0; i < nodes->n; i++)
		r->has_exclusive = r->has_exclusive ||
				   c->nodes[nodes->items[i]].exclusive_storage;
}

void rooms_done(struct rooms *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->items[i].slots);
	free(r->items);
	free(r->index);
	*r = (struct rooms){0};
}

/* The slots of a node, whoever asks. */
static int slots_in(const struct room *room, const struct node *n)
{
	int64_t mem;

	if (n->group != room->group || n->exclusive_storage)
		return 0;
	mem = slots_of(n->s.usable_mem, room->memory);
	if (room->disks)
		mem = smaller(mem, slots_of(n->s.free_disk, room->disk));
	return (int)mem;
}

static void add_room(struct rooms *r, int group, const struct item *size)
{
	struct room *room;

	if (r->n == r->cap) {
		r->cap = r->cap * 2 + 16;
		r->items =
			xrealloc(r->items, (size_t)r->cap * sizeof(*r->items));
	}
	room = &r->items[r->n++];
	*room = (struct room){.group = group,
			      .disks = size->disks,
			      .memory = size->memory,
			      .disk = size->disk,
			      .stale = true};
	room->slots = xcalloc((size_t)r->c->n_nodes + 1, sizeof(*room->slots));
	for (int i = 0; i < r->nodes->n; i++) {
		int node = r->nodes->items[i];
		int slots = slots_in(room, &r->c->nodes[node]);

		room->slots[node] = slots;
		room->total += slots;
		room->peak = slots > room->peak ? slots : room->peak;
	}
}

static uint64_t hash_size(int group, const struct item *size)
{
	uint64_t hash = (uint64_t)group * 2 + size->disks;

	hash = (hash ^ (uint64_t)size->memory) * HASH_PRIME;
	hash = (hash ^ hash >> 32 ^ (uint64_t)size->disk) * HASH_PRIME;
	return hash ^ hash >> 32;
}

/* The number of the room for a size; NO_INDEX if there are too many. */
static int find_room(struct rooms *r, int group, const struct item *size)
{
	uint64_t at = hash_size(group, size);

	if (r->index == NULL)
		r->index = xcalloc(ROOMS_INDEX, sizeof(*r->index));
	for (;; at++) {
		int *entry = &r->index[at % ROOMS_INDEX];
		const struct room *room;

		if (*entry == 0 && r->n == ROOMS_MAX)
			return NO_INDEX;
		if (*entry == 0) {
			add_room(r, group, size);
			*entry = r->n;
			return r->n - 1;
		}
		room = &r->items[*entry - 1];
		if (room->group == group && room->disks == size->disks &&
		    room->memory == size->memory && room->disk == size->disk)
			return *entry - 1;
	}
}

void rooms_changed(struct rooms *r, int node)
{
	for (int i = 0; i < r->n; i++) {
		struct room *room = &r->items[i];
		int now;

		if (room->group != r->c->nodes[node].group)
			continue;
		now = slots_in(room, &r->c->nodes[node]);
		room->stale = room->stale || now != room->slots[node];
		room->total += now - room->slots[node];
		room->slots[node] = now;
		if (now > room->peak) {
			room->peak = now;
			r->peaks_rose = true;
		}
	}
}

/* The slots that x's own DRBD secondaries have, where its DRBD primaries go:
 * they do not count. */
static int64_t slots_of_peers(const struct room *room, const struct cluster *c,
			      const struct node *x)
{
	int64_t sum = 0;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template == TEMPLATE_DRBD &&
		    inst->secondary != NO_INDEX)
			sum += room->slots[inst->secondary];
	}
	return sum;
}

/* The room that x needs; NULL if it is not kept. */
static struct room *room_for(struct rooms *r, const struct node *x,
			     const struct need *need)
{
	const struct item size = {.memory = need->most_memory,
				  .disk = need->most_disk,
				  .disks = need->disks};
	int room;

	if (need->shared && r->c->has_migration)
		return NULL;
	room = find_room(r, x->group, &size);
	return room == NO_INDEX ? NULL : &r->items[room];
}

static void refresh_most(struct room *room, const struct nodeset *nodes)
{
	if (!room->stale)
		return;
	room->stale = false;
	for (int k = 0; k < ROOMS_CHANGED; k++)
		room->most[k] = 0;
	for (int i = 0; i < nodes->n; i++)
		note_most(room->most, ROOMS_CHANGED,
			  room->slots[nodes->items[i]]);
}

bool rooms_enough(struct rooms *r, const struct node *x,
		  const struct need *need)
{
	struct room *room = room_for(r, x, need);
	int64_t sum;

	if (room == NULL)
		return false;
	sum = room->total - room->slots[x - r->c->nodes];
	if (sum < need->n)
		return false;
	refresh_most(room, r->nodes);
	for (int k = 0; k < ROOMS_CHANGED; k++)
		sum -= room->most[k];
	return sum - slots_of_peers(room, r->c, x) >= need->n;
}

bool rooms_enough_with(struct rooms *r, const struct node *x,
		       const struct need *need, const int *changed,
		       int n_changed)
{
	struct room *room = room_for(r, x, need);
	int64_t sum;

	if (room == NULL)
		return false;
	sum = room->total - room->slots[x - r->c->nodes];
	for (int i = 0; i < n_changed; i++)
		if (changed[i] != NO_INDEX && x != &r->c->nodes[changed[i]])
			sum -= room->slots[changed[i]];
	return sum - slots_of_peers(room, r->c, x) >= need->n;
}

/* The nodes that x's DRBD primaries go to, each once. */
static int list_peers(const struct cluster *c, const struct node *x, int *ret)
{
	int n = 0;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];
		int k = 0;

		if (inst->template != TEMPLATE_DRBD ||
		    inst->secondary == NO_INDEX)
			continue;
		while (k < n && ret[k] != inst->secondary)
			k++;
		ret[k] = inst->secondary;
		n += k == n;
	}
	return n;
}

/* As count_all(), of what is kept: only peers have to be looked at. */
static struct slots count_kept(const struct rooms *r, int room,
			       const struct node *x, const struct item *it,
			       const int *peers, int n_peers)
{
	const struct room *kept = &r->items[room];
	const struct need need = need_of(it);
	struct slots ret = {.all = kept->total - kept->slots[x - r->c->nodes],
			    .peak = kept->peak,
			    .exclusive = r->has_exclusive};

	for (int i = 0; i < n_peers; i++)
		if (kept->slots[peers[i]] > 0)
			ret.all += count_slots(r->c, x, peers[i], &need) -
				   kept->slots[peers[i]];
	return ret;
}

enum rooms_verdict rooms_judge_kept(struct rooms *r, const struct node *x,
				    const int *leaving, int n)
{
	enum rooms_verdict ret = ROOMS_ENOUGH;
	auto_free struct item *items = xcalloc((size_t)n + 1, sizeof(*items));
	auto_free int *peers =
		xcalloc((size_t)x->primaries.n + 1, sizeof(*peers));
	int n_items = list_items(r->c, x, leaving, n, items);
	int n_peers = list_peers(r->c, x, peers);

	if (n_items < 0)
		return ROOMS_UNCLEAR;
	for (int i = 0; i < n_items && ret != ROOMS_TOO_FEW; i++) {
		int room = r->c->has_migration
				   ? NO_INDEX
				   : find_room(r, x->group, &items[i]);
		enum rooms_verdict v;
		struct slots slots;

		if (room == NO_INDEX)
			return rooms_judge(r->c, r->nodes, x, leaving, n,
					   false);
		slots = count_kept(r, room, x, &items[i], peers, n_peers);
		v = judge_item(r->c, items, n_items, i, &slots);
		if (v != ROOMS_ENOUGH)
			ret = v;
	}
	return ret;
}

int rooms_needs(struct rooms *r, const struct node *x, const int *leaving,
		int n, struct rooms_need *ret)
{
	auto_free struct item *items = xcalloc((size_t)n + 1, sizeof(*items));
	int n_items = list_items(r->c, x, leaving, n, items);

	for (int i = 0; i < n_items; i++) {
		int room = NO_INDEX;

		if (!items[i].shared || !r->c->has_migration)
			room = find_room(r, x->group, &items[i]);
		if (room == NO_INDEX)
			return -1;
		ret[i].room = room;
		ret[i].lost = all_lost(items, i, r->items[room].peak);
	}
	return n_items;
}

int64_t rooms_total(const struct rooms *r, int room)
{
	return r->items[room].total;
}

int64_t rooms_slots(const struct rooms *r, int room, int node)
{
	return r->items[room].slots[node];
}

bool rooms_peaks_rose(struct rooms *r)
{
	bool rose = r->peaks_rose;

	r->peaks_rose = false;
	return rose;
}

void rooms_lower_peaks(struct rooms *r)
{
	for (int i = 0; i < r->n; i++) {
		struct room *room = &r->items[i];

		room->peak = 0;
		for (int k = 0; k < r->nodes->n; k++) {
			int slots = room->slots[r->nodes->items[k]];

			room->peak = slots > room->peak ? slots : room->peak;
		}
	}
}
