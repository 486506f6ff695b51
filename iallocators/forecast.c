/* SPDX-License-Identifier: BSD-2-Clause */
/* Redundancy without simulation, where its outcome is certain.
 *
 * DRBD primaries of a node go to their secondaries, so it is known how much
 * memory each of these has to have.  Everything else on the node goes where
 * the score is best; that cannot fail as long as there are slots for all of
 * it, each for the biggest.  When a new instance changes two nodes, those of
 * all others must suffice.
 */
#include <string.h>

#include "iallocators/change.h"
#include "iallocators/move.h"
#include "iallocators/redundancy.h"
#include "lib/base/mem.h"

#define CHANGED_NODES 2

/* What must find a place when a node is emptied, besides DRBD. */
struct need {
	int n;
	int64_t memory, disk;		/* of all */
	int64_t most_memory, most_disk; /* of one */
	bool disks;  /* something with disks of the node's own storage */
	bool local;  /* something that has to be created again */
	bool shared; /* something that migrates */
	bool impossible;
	bool unclear;
};

/* Memory that x's DRBD primaries bring to the node s. */
static int64_t drbd_load(const struct cluster *c, const struct node *x, int s)
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

static bool shared_storage(const struct instance *inst)
{
	return templates[inst->template].mirror == MIRROR_EXTERNAL &&
	       inst->template != TEMPLATE_BLOCK;
}

static void add_need(const struct cluster *c, const struct node *x,
		     const struct instance *inst, struct need *need)
{
	need->n++;
	if (inst_uses_memory(inst)) {
		need->memory += inst->memory;
		if (inst->memory > need->most_memory)
			need->most_memory = inst->memory;
	}
	if (inst_is_local(inst)) {
		need->disks = true;
		need->disk += inst->disk;
		if (inst->disk > need->most_disk)
			need->most_disk = inst->disk;
	}
	if (inst->memory < 0 || inst->disk < 0)
		need->unclear = true;
	if (shared_storage(inst)) {
		need->shared = true;
		return;
	}
	need->local = true;
	if (x->exclusive_storage)
		need->unclear = true;
	else if (policy_check(&c->groups[x->group], false, inst) != FAIL_NONE)
		need->impossible = true;
}

/* Whether z could take everything that leaves x. */
static bool absorbs(const struct cluster *c, const struct node *x, int z,
		    const struct need *need)
{
	const struct node *n = &c->nodes[z];
	int x_index = (int)(x - c->nodes);

	if (z == x_index || n->exclusive_storage)
		return false;
	if (need->shared && !move_migration_allowed(c, x_index, z))
		return false;
	if (n->s.usable_mem <= need->memory ||
	    n->s.usable_mem - drbd_load(c, x, z) <= need->memory)
		return false;
	return !need->disks || n->s.free_disk > need->disk;
}

/* Whether so many nodes absorb it. */
static bool enough_absorb(const struct cluster *c, const struct nodeset *nodes,
			  const struct node *x, const struct need *need,
			  int wanted)
{
	for (int i = 0; i < nodes->n && wanted > 0; i++) {
		int z = nodes->items[i];

		if (c->nodes[z].group == x->group && absorbs(c, x, z, need))
			wanted--;
	}
	return wanted == 0;
}

/* So many of a size there is room for; one unit always stays free. */
static int64_t slots_of(int64_t free, int64_t size)
{
	if (free <= 1)
		return 0;
	return size > 0 ? (free - 1) / size : INT64_MAX;
}

/* How many of the biggest thing that leaves x could come to z. */
static int64_t slots(const struct cluster *c, const struct node *x, int z,
		     const struct need *need)
{
	const struct node *n = &c->nodes[z];
	int x_index = (int)(x - c->nodes);
	int64_t mem, disk, usable = n->s.usable_mem;

	if (z == x_index || n->exclusive_storage)
		return 0;
	if (need->shared && !move_migration_allowed(c, x_index, z))
		return 0;
	mem = slots_of(usable, need->most_memory);
	if (mem > 0 && n->secondaries.n > 0)
		mem = slots_of(usable - drbd_load(c, x, z), need->most_memory);
	if (!need->disks)
		return mem;
	disk = slots_of(n->s.free_disk, need->most_disk);
	return disk < mem ? disk : mem;
}

/* Whether there are slots for all, even without the nodes that have most of
 * them.  Whatever comes to a node takes one slot at most, so that the last
 * finds one, too. */
static bool has_slots(const struct redundancy *r, const struct node *x,
		      const struct need *need, int changing)
{
	int64_t most[CHANGED_NODES] = {0}, sum = 0;

	for (int i = 0; i < r->nodes->n && sum < need->n; i++) {
		int z = r->nodes->items[i];
		int64_t n;

		if (r->c->nodes[z].group != x->group)
			continue;
		n = slots(r->c, x, z, need);
		for (int k = 0; k < changing; k++)
			if (n > most[k]) {
				int64_t smaller = most[k];

				most[k] = n;
				n = smaller;
			}
		sum += n < need->n ? n : need->n;
	}
	return sum >= need->n;
}

/* One DRBD primary of x: whether it can fail over as things are, but for
 * memory. */
static bool drbd_moves(const struct cluster *c, int x,
		       const struct instance *inst)
{
	const struct node *p = &c->nodes[x];
	const struct node *s;

	if (inst->secondary == NO_INDEX)
		return false;
	s = &c->nodes[inst->secondary];
	if (!move_migration_allowed(c, x, inst->secondary))
		return false;
	if (s->s.free_disk <= 0 || (p->s.free_disk <= 0 && !p->offline))
		return false;
	if (!s->exclusive_storage && !p->exclusive_storage)
		return true;
	return inst->spindles != SPINDLES_UNKNOWN && s->s.free_spindles >= 0 &&
	       p->s.free_spindles >= 0;
}

/* Note x's DRBD primaries; false if they cannot move. */
static bool take_drbd(struct redundancy *r, int x)
{
	const struct cluster *c = r->c;
	const struct node *n = &c->nodes[x];
	bool ok = true;

	for (int i = 0; i < n->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[n->primaries.items[i]];
		int64_t load;

		if (inst->template != TEMPLATE_DRBD)
			continue;
		if (!drbd_moves(c, x, inst))
			return false;
		load = drbd_load(c, n, inst->secondary);
		if (load > r->most[inst->secondary])
			r->most[inst->secondary] = load;
		if (c->nodes[inst->secondary].s.usable_mem <= load)
			ok = false;
	}
	return ok;
}

static struct need need_of(const struct cluster *c, const struct node *x)
{
	struct need need = {.memory = 0};

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];

		if (inst->template != TEMPLATE_DRBD)
			add_need(c, x, inst, &need);
	}
	return need;
}

/* An instance that no node could take alone never finds a place. */
static bool stranded(const struct redundancy *r, const struct node *x)
{
	const struct cluster *c = r->c;

	for (int i = 0; i < x->primaries.n; i++) {
		const struct instance *inst =
			&c->instances[x->primaries.items[i]];
		struct need need = {.memory = 0};

		if (inst->template == TEMPLATE_DRBD)
			continue;
		add_need(c, x, inst, &need);
		if (!need.unclear && !enough_absorb(c, r->nodes, x, &need, 1))
			return true;
	}
	return false;
}

static void take_node(struct redundancy *r, int x)
{
	const struct node *n = &r->c->nodes[x];
	struct need need = need_of(r->c, n);

	if (!take_drbd(r, x) || need.impossible) {
		r->never = true;
		r->culprit = x;
		return;
	}
	if (!need.local && !need.shared)
		return;
	if (!need.unclear && has_slots(r, n, &need, r->changing))
		return;
	r->hard[r->n_hard++] = x;
}

/* Whether some group has exclusive storage, where absorbs() says nothing. */
static bool has_exclusive(const struct cluster *c, const struct nodeset *nodes)
{
	for (int i = 0; i < nodes->n; i++)
		if (c->nodes[nodes->items[i]].exclusive_storage)
			return true;
	return false;
}

static void look(struct redundancy *r, struct cluster *c,
		 const struct nodeset *nodes, const struct place_options *o,
		 int changing)
{
	*r = (struct redundancy){.c = c, .nodes = nodes, .changing = changing};
	r->most = xcalloc((size_t)c->n_nodes + 1, sizeof(*r->most));
	r->hard = xcalloc((size_t)nodes->n + 1, sizeof(*r->hard));
	for (int i = 0; i < c->n_nodes; i++)
		r->most[i] = -1;
	for (int i = 0; i < nodes->n && !r->never; i++)
		if (!o->accept_existing_errors ||
		    !c->nodes[nodes->items[i]].offline)
			take_node(r, nodes->items[i]);
}

void redundancy_init(struct redundancy *r, struct cluster *c,
		     const struct nodeset *nodes, const struct place_options *o)
{
	look(r, c, nodes, o, CHANGED_NODES);
	if (has_exclusive(c, nodes))
		return;
	for (int i = 0; i < r->n_hard && !r->never; i++) {
		r->culprit = r->hard[i];
		r->never = stranded(r, &c->nodes[r->culprit]);
	}
}

bool redundancy_holds(struct cluster *c, const struct nodeset *nodes,
		      const struct place_options *o)
{
	struct redundancy r;
	bool ok;

	look(&r, c, nodes, o, 0);
	ok = !r.never;
	for (int i = 0; i < r.n_hard && ok; i++)
		ok = redundancy_of_node(c, nodes, r.hard[i]);
	redundancy_done(&r);
	return ok;
}

void redundancy_done(struct redundancy *r)
{
	free(r->most);
	free(r->hard);
}

/* Whether the node can be emptied as things are now. */
static bool stays_safe(const struct redundancy *r, int x,
		       const struct need *need)
{
	if (!need->unclear && has_slots(r, &r->c->nodes[x], need, 0))
		return true;
	return redundancy_of_node(r->c, r->nodes, x);
}

/* The new instance itself, when its primary is emptied. */
static bool new_moves(const struct redundancy *r, const struct instance *inst)
{
	struct cluster *c = r->c;
	const struct node *p = &c->nodes[inst->primary];
	struct need need;

	if (inst->template == TEMPLATE_DRBD)
		return drbd_moves(c, inst->primary, inst) &&
		       c->nodes[inst->secondary].s.usable_mem >
			       drbd_load(c, p, inst->secondary);
	need = need_of(c, p);
	if (need.impossible)
		return false;
	return stays_safe(r, inst->primary, &need);
}

bool redundancy_with(const struct redundancy *r, const struct instance *inst)
{
	const struct node *p = &r->c->nodes[inst->primary];

	if (r->never)
		return false;
	if (p->s.usable_mem <= r->most[inst->primary] &&
	    r->most[inst->primary] >= 0)
		return false;
	if (!inst->forthcoming && !new_moves(r, inst))
		return false;
	for (int i = 0; i < r->n_hard; i++) {
		struct need need = need_of(r->c, &r->c->nodes[r->hard[i]]);

		if (!stays_safe(r, r->hard[i], &need))
			return false;
	}
	return true;
}
