/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums that are kept.  A room has the slots of one size in one group; it is
 * found by a hash, and made when it is first asked for.  rooms_changed()
 * updates a node's slots in each room of its group.  rooms_count.c counts
 * without kept sums. */
#include "iallocators/nplus1/rooms.h"

#include <stdlib.h>

#include "iallocators/nplus1/rooms_private.h"
#include "lib/base/mem.h"

/* More sizes than this are not kept: one list of all nodes each. */
#define ROOMS_MAX 4096
#define ROOMS_INDEX (4 * ROOMS_MAX) /* a power of two */
#define HASH_PRIME 0x9e3779b97f4a7c15u

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
	bool rose;
};

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

/* The slots of a node with so much left, whoever asks. */
static int slots_with(const struct room *room, const struct node *n,
		      int64_t usable_mem, int64_t free_disk)
{
	int64_t mem, disk;

	if (n->group != room->group || n->exclusive_storage)
		return 0;
	mem = rooms_fit(usable_mem, room->memory);
	disk = room->disks ? rooms_fit(free_disk, room->disk) : mem;
	return (int)(disk < mem ? disk : mem);
}

static int slots_in(const struct room *room, const struct node *n)
{
	return slots_with(room, n, n->s.usable_mem, n->s.free_disk);
}

static void add_room(struct rooms *r, int group, const struct room_item *size)
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

static uint64_t hash_size(int group, const struct room_item *size)
{
	uint64_t hash = (uint64_t)group * 2 + size->disks;

	hash = (hash ^ (uint64_t)size->memory) * HASH_PRIME;
	hash = (hash ^ hash >> 32 ^ (uint64_t)size->disk) * HASH_PRIME;
	return hash ^ hash >> 32;
}

/* The number of the room for a size; NO_INDEX if there are too many. */
static int find_room(struct rooms *r, int group, const struct room_item *size)
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
			room->rose = true;
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
	const struct room_item size = {.memory = need->most_memory,
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
		rooms_note_most(room->most, ROOMS_CHANGED,
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
static struct room_slots count_kept(const struct rooms *r, int room,
				    const struct node *x,
				    const struct room_item *it,
				    const int *peers, int n_peers)
{
	const struct room *kept = &r->items[room];
	const struct need need = rooms_need_of(it);
	struct room_slots ret = {.all = kept->total -
					kept->slots[x - r->c->nodes],
				 .peak = kept->peak,
				 .exclusive = r->has_exclusive};

	for (int i = 0; i < n_peers; i++)
		if (kept->slots[peers[i]] > 0)
			ret.all += rooms_slots_at(r->c, x, peers[i], &need) -
				   kept->slots[peers[i]];
	return ret;
}

enum rooms_verdict rooms_judge_kept(struct rooms *r, const struct node *x,
				    const struct leavers *l)
{
	enum rooms_verdict ret = ROOMS_ENOUGH;
	auto_free int *peers =
		xcalloc((size_t)x->primaries.n + 1, sizeof(*peers));
	int n_peers = list_peers(r->c, x, peers);

	if (l->n_items < 0)
		return ROOMS_UNCLEAR;
	for (int i = 0; i < l->n_items && ret != ROOMS_TOO_FEW; i++) {
		int room = r->c->has_migration
				   ? NO_INDEX
				   : find_room(r, x->group, &l->items[i]);
		enum rooms_verdict v;
		struct room_slots slots;

		if (room == NO_INDEX)
			return rooms_judge(r->c, r->nodes, x, l, false);
		slots = count_kept(r, room, x, &l->items[i], peers, n_peers);
		v = rooms_judge_item(r->c, l, i, &slots);
		if (v != ROOMS_ENOUGH)
			ret = v;
	}
	return ret;
}

int rooms_needs(struct rooms *r, const struct node *x, const struct leavers *l,
		struct rooms_need *ret)
{
	for (int i = 0; i < l->n_items; i++) {
		int room = NO_INDEX;

		if (!l->items[i].shared || !r->c->has_migration)
			room = find_room(r, x->group, &l->items[i]);
		if (room == NO_INDEX)
			return -1;
		ret[i].room = room;
		ret[i].lost = rooms_all_lost(l->items, i, r->items[room].peak);
	}
	return l->n_items;
}

int64_t rooms_total(const struct rooms *r, int room)
{
	return r->items[room].total;
}

int64_t rooms_slots(const struct rooms *r, int room, int node)
{
	return r->items[room].slots[node];
}

int64_t rooms_slots_with(const struct rooms *r, int room, int node,
			 int64_t usable_mem, int64_t free_disk)
{
	return slots_with(&r->items[room], &r->c->nodes[node], usable_mem,
			  free_disk);
}

bool rooms_peaks_rose(const struct rooms *r)
{
	return r->peaks_rose;
}

bool rooms_peak_rose(const struct rooms *r, int room)
{
	return r->items[room].rose;
}

void rooms_peaks_noted(struct rooms *r)
{
	r->peaks_rose = false;
	for (int i = 0; i < r->n; i++)
		r->items[i].rose = false;
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
