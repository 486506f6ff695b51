/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/rooms.h"

#include "iallocators/move.h"
#include "lib/base/mem.h"

/* More sizes than this are not kept: one list of all nodes each. */
#define ROOMS_MAX 128
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
	if (mem > 0 && n->secondaries.n > 0)
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

/* What something takes of a node, and when it leaves: the bigger rank first.
 * Equal ones leave in any order. */
struct item {
	int64_t rank, memory, disk;
	bool disks;
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

static enum rooms_verdict judge_item(const struct cluster *c,
				     const struct nodeset *nodes,
				     const struct node *x,
				     const struct item *items, int n,
				     const struct item *it)
{
	const struct need need = {.most_memory = it->memory,
				  .most_disk = it->disk,
				  .disks = it->disks};
	int64_t slots = 0, as_big = 0, lost = 0;

	for (int i = 0; i < n; i++) {
		as_big += covers(&items[i], it);
		if (&items[i] != it && items[i].rank >= it->rank)
			lost += slots_lost(&items[i], it);
	}
	for (int i = 0; i < nodes->n && (slots <= lost || slots < as_big); i++)
		if (c->nodes[nodes->items[i]].group == x->group)
			slots += count_slots(c, x, nodes->items[i], &need);
	/* A slot for nothing is where something is free: not quite exact. */
	if (slots < as_big)
		return it->memory > 0 && (!it->disks || it->disk > 0)
			       ? ROOMS_TOO_FEW
			       : ROOMS_UNCLEAR;
	return slots > lost ? ROOMS_ENOUGH : ROOMS_UNCLEAR;
}

static bool same_item(const struct item *a, const struct item *b)
{
	return a->rank == b->rank && a->memory == b->memory &&
	       a->disk == b->disk && a->disks == b->disks;
}

static struct item *list_items(const struct cluster *c, const struct node *x,
			       int *ret_n)
{
	struct item *items =
		xcalloc((size_t)x->primaries.n + 1, sizeof(*items));

	*ret_n = 0;
	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template == TEMPLATE_DRBD)
			continue;
		items[(*ret_n)++] = (struct item){
			.rank = inst->memory,
			.memory = inst_uses_memory(inst) ? inst->memory : 0,
			.disk = inst_is_local(inst) ? inst->disk : 0,
			.disks = inst_is_local(inst),
		};
	}
	return items;
}

enum rooms_verdict rooms_judge(const struct cluster *c,
			       const struct nodeset *nodes,
			       const struct node *x)
{
	enum rooms_verdict ret = ROOMS_ENOUGH;
	int n;
	auto_free struct item *items = list_items(c, x, &n);

	for (int i = 0; i < n && ret != ROOMS_TOO_FEW; i++) {
		enum rooms_verdict v;

		if (i > 0 && same_item(&items[i - 1], &items[i]))
			continue;
		v = judge_item(c, nodes, x, items, n, &items[i]);
		if (v != ROOMS_ENOUGH)
			ret = v;
	}
	return ret;
}

void rooms_init(struct rooms *r, const struct cluster *c,
		const struct nodeset *nodes)
{
	*r = (struct rooms){.c = c, .nodes = nodes};
}

void rooms_done(struct rooms *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->items[i].slots);
	free(r->items);
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

static struct room *add_room(struct rooms *r, int group,
			     const struct need *need)
{
	struct room *room;

	if (r->n == ROOMS_MAX)
		return NULL;
	if (r->items == NULL)
		r->items = xcalloc(ROOMS_MAX, sizeof(*r->items));
	room = &r->items[r->n++];
	room->group = group;
	room->disks = need->disks;
	room->memory = need->most_memory;
	room->disk = need->most_disk;
	room->stale = true;
	room->slots = xcalloc((size_t)r->c->n_nodes + 1, sizeof(*room->slots));
	for (int i = 0; i < r->nodes->n; i++) {
		int node = r->nodes->items[i];

		room->slots[node] = slots_in(room, &r->c->nodes[node]);
		room->total += room->slots[node];
	}
	return room;
}

static struct room *find_room(struct rooms *r, int group,
			      const struct need *need)
{
	for (int i = 0; i < r->n; i++) {
		struct room *room = &r->items[i];

		if (room->group == group && room->disks == need->disks &&
		    room->memory == need->most_memory &&
		    room->disk == need->most_disk)
			return room;
	}
	return add_room(r, group, need);
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
	if (need->shared && r->c->has_migration)
		return NULL;
	return find_room(r, x->group, need);
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
