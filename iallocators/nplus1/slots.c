/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums that are kept.  A row of the table has the slots of one size in one
 * group, node by node, and their sum.  It is found by a hash, and made when it
 * is first asked for.  slots_changed() updates a node's slots in each row of
 * its group.  slots_count.c counts without kept sums. */
#include "iallocators/nplus1/slots.h"

#include <stdlib.h>

#include "iallocators/nplus1/slots_private.h"
#include "lib/base/mem.h"

/* Each row is a list of all nodes, so there may not be more than this. */
#define ROWS_MAX 4096
#define ROWS_INDEX (4 * ROWS_MAX) /* a power of two */
#define HASH_PRIME 0x9e3779b97f4a7c15u

/* The slots of one size in one group. */
struct slot_row {
	int group;
	bool disks;
	int64_t memory, disk;
	int *slots; /* by node; 0 for those of other groups */
	int64_t total;
	int64_t most[SLOTS_CHANGED]; /* descending; void if stale */
	bool stale;
	int peak; /* no node has had more since it was noted, but: */
	bool rose;
};

void slots_init(struct slot_table *r, const struct cluster *c,
		const struct nodeset *nodes)
{
	*r = (struct slot_table){.c = c, .nodes = nodes};
	for (int i = 0; i < nodes->n; i++)
		r->has_exclusive = r->has_exclusive ||
				   c->nodes[nodes->items[i]].exclusive_storage;
}

void slots_done(struct slot_table *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->items[i].slots);
	free(r->items);
	free(r->index);
	*r = (struct slot_table){0};
}

/* The slots of a node with so much memory and disk space left. */
static int slots_with(const struct slot_row *row, const struct node *n,
		      int64_t usable_mem, int64_t free_disk)
{
	int64_t mem, disk;

	if (n->group != row->group || n->exclusive_storage)
		return 0;
	mem = slots_fit(usable_mem, row->memory);
	disk = row->disks ? slots_fit(free_disk, row->disk) : mem;
	return (int)(disk < mem ? disk : mem);
}

static int slots_in(const struct slot_row *row, const struct node *n)
{
	return slots_with(row, n, n->s.usable_mem, n->s.free_disk);
}

static void add_row(struct slot_table *r, int group,
		    const struct slot_item *size)
{
	struct slot_row *row;

	if (r->n == r->cap) {
		r->cap = r->cap * 2 + 16;
		r->items =
			xrealloc(r->items, (size_t)r->cap * sizeof(*r->items));
	}
	row = &r->items[r->n++];
	*row = (struct slot_row){.group = group,
				 .disks = size->disks,
				 .memory = size->memory,
				 .disk = size->disk,
				 .stale = true};
	row->slots = xcalloc((size_t)r->c->n_nodes + 1, sizeof(*row->slots));
	for (int i = 0; i < r->nodes->n; i++) {
		int node = r->nodes->items[i];
		int slots = slots_in(row, &r->c->nodes[node]);

		row->slots[node] = slots;
		row->total += slots;
		row->peak = slots > row->peak ? slots : row->peak;
	}
}

static uint64_t hash_size(int group, const struct slot_item *size)
{
	uint64_t hash = (uint64_t)group * 2 + size->disks;

	hash = (hash ^ (uint64_t)size->memory) * HASH_PRIME;
	hash = (hash ^ hash >> 32 ^ (uint64_t)size->disk) * HASH_PRIME;
	return hash ^ hash >> 32;
}

/* The number of the row for a size; NO_INDEX if there are too many rows. */
static int find_row(struct slot_table *r, int group,
		    const struct slot_item *size)
{
	uint64_t at = hash_size(group, size);

	if (r->index == NULL)
		r->index = xcalloc(ROWS_INDEX, sizeof(*r->index));
	for (;; at++) {
		int *entry = &r->index[at % ROWS_INDEX];
		const struct slot_row *row;

		if (*entry == 0 && r->n == ROWS_MAX)
			return NO_INDEX;
		if (*entry == 0) {
			add_row(r, group, size);
			*entry = r->n;
			return r->n - 1;
		}
		row = &r->items[*entry - 1];
		if (row->group == group && row->disks == size->disks &&
		    row->memory == size->memory && row->disk == size->disk)
			return *entry - 1;
	}
}

void slots_changed(struct slot_table *r, int node)
{
	for (int i = 0; i < r->n; i++) {
		struct slot_row *row = &r->items[i];
		int now;

		if (row->group != r->c->nodes[node].group)
			continue;
		now = slots_in(row, &r->c->nodes[node]);
		row->stale = row->stale || now != row->slots[node];
		row->total += now - row->slots[node];
		row->slots[node] = now;
		if (now > row->peak) {
			row->peak = now;
			row->rose = true;
			r->peaks_rose = true;
		}
	}
}

/* The slots of the nodes that x's DRBD primaries fail over to: they do not
 * count. */
static int64_t slots_of_peers(const struct slot_row *row,
			      const struct cluster *c, const struct node *x)
{
	int64_t sum = 0;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template == TEMPLATE_DRBD &&
		    inst->secondary != NO_INDEX)
			sum += row->slots[inst->secondary];
	}
	return sum;
}

/* The row for the biggest evacuee of x; NULL if there is none. */
static struct slot_row *row_for(struct slot_table *r, const struct node *x,
				const struct need *need)
{
	const struct slot_item size = {.memory = need->most_memory,
				       .disk = need->most_disk,
				       .disks = need->disks};
	int row;

	if (need->shared && r->c->has_migration)
		return NULL;
	row = find_row(r, x->group, &size);
	return row == NO_INDEX ? NULL : &r->items[row];
}

static void refresh_most(struct slot_row *row, const struct nodeset *nodes)
{
	if (!row->stale)
		return;
	row->stale = false;
	for (int k = 0; k < SLOTS_CHANGED; k++)
		row->most[k] = 0;
	for (int i = 0; i < nodes->n; i++)
		slots_note_most(row->most, SLOTS_CHANGED,
				row->slots[nodes->items[i]]);
}

bool slots_enough(struct slot_table *r, const struct node *x,
		  const struct need *need)
{
	struct slot_row *row = row_for(r, x, need);
	int64_t sum;

	if (row == NULL)
		return false;
	sum = row->total - row->slots[x - r->c->nodes];
	if (sum < need->n)
		return false;
	refresh_most(row, r->nodes);
	for (int k = 0; k < SLOTS_CHANGED; k++)
		sum -= row->most[k];
	return sum - slots_of_peers(row, r->c, x) >= need->n;
}

bool slots_enough_with(struct slot_table *r, const struct node *x,
		       const struct need *need, const int *changed,
		       int n_changed)
{
	struct slot_row *row = row_for(r, x, need);
	int64_t sum;

	if (row == NULL)
		return false;
	sum = row->total - row->slots[x - r->c->nodes];
	for (int i = 0; i < n_changed; i++)
		if (changed[i] != NO_INDEX && x != &r->c->nodes[changed[i]])
			sum -= row->slots[changed[i]];
	return sum - slots_of_peers(row, r->c, x) >= need->n;
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

/* As count_all(), from the sums: only the nodes that x's DRBD primaries fail
 * over to have to be looked at. */
static struct slot_count count_kept(const struct slot_table *r, int row,
				    const struct node *x,
				    const struct slot_item *it,
				    const int *peers, int n_peers)
{
	const struct slot_row *kept = &r->items[row];
	const struct need need = slots_need_of(it);
	struct slot_count ret = {.all = kept->total -
					kept->slots[x - r->c->nodes],
				 .peak = kept->peak,
				 .exclusive = r->has_exclusive};

	for (int i = 0; i < n_peers; i++)
		if (kept->slots[peers[i]] > 0)
			ret.all += slots_at(r->c, x, peers[i], &need) -
				   kept->slots[peers[i]];
	return ret;
}

enum slots_verdict slots_judge_kept(struct slot_table *r, const struct node *x,
				    const struct evacuees *l)
{
	enum slots_verdict ret = SLOTS_ENOUGH;
	auto_free int *peers =
		xcalloc((size_t)x->primaries.n + 1, sizeof(*peers));
	int n_peers = list_peers(r->c, x, peers);

	if (l->n_items < 0)
		return SLOTS_UNCLEAR;
	for (int i = 0; i < l->n_items && ret != SLOTS_TOO_FEW; i++) {
		int row = r->c->has_migration
				  ? NO_INDEX
				  : find_row(r, x->group, &l->items[i]);
		enum slots_verdict v;
		struct slot_count slots;

		if (row == NO_INDEX)
			return slots_judge(r->c, r->nodes, x, l, false);
		slots = count_kept(r, row, x, &l->items[i], peers, n_peers);
		v = slots_judge_item(r->c, l, i, &slots);
		if (v != SLOTS_ENOUGH)
			ret = v;
	}
	return ret;
}

int slots_needs(struct slot_table *r, const struct node *x,
		const struct evacuees *l, struct slot_need *ret)
{
	for (int i = 0; i < l->n_items; i++) {
		int row = NO_INDEX;

		if (!l->items[i].shared || !r->c->has_migration)
			row = find_row(r, x->group, &l->items[i]);
		if (row == NO_INDEX)
			return -1;
		ret[i].row = row;
		ret[i].lost = slots_all_lost(l->items, i, r->items[row].peak);
	}
	return l->n_items;
}

int64_t slots_total(const struct slot_table *r, int row)
{
	return r->items[row].total;
}

int64_t slots_of_node(const struct slot_table *r, int row, int node)
{
	return r->items[row].slots[node];
}

int64_t slots_of_node_with(const struct slot_table *r, int row, int node,
			   int64_t usable_mem, int64_t free_disk)
{
	return slots_with(&r->items[row], &r->c->nodes[node], usable_mem,
			  free_disk);
}

bool slots_peaks_rose(const struct slot_table *r)
{
	return r->peaks_rose;
}

bool slots_peak_rose(const struct slot_table *r, int row)
{
	return r->items[row].rose;
}

void slots_peaks_noted(struct slot_table *r)
{
	r->peaks_rose = false;
	for (int i = 0; i < r->n; i++)
		r->items[i].rose = false;
}

void slots_lower_peaks(struct slot_table *r)
{
	for (int i = 0; i < r->n; i++) {
		struct slot_row *row = &r->items[i];

		row->peak = 0;
		for (int k = 0; k < r->nodes->n; k++) {
			int slots = row->slots[r->nodes->items[k]];

			row->peak = slots > row->peak ? slots : row->peak;
		}
	}
}
