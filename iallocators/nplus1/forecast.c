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

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "iallocators/nplus1/redundancy.h"
#include "lib/base/mem.h"

static void add_need(const struct cluster *c, const struct node *x,
		     const struct instance *inst, struct need *need)
{
	need->n++;
	if (instance_uses_memory(inst)) {
		need->memory += inst->memory;
		if (inst->memory > need->most_memory)
			need->most_memory = inst->memory;
	}
	if (instance_is_local(inst)) {
		need->disks = true;
		need->disk += inst->disk;
		if (inst->disk > need->most_disk)
			need->most_disk = inst->disk;
	}
	if (inst->memory < 0 || inst->disk < 0)
		need->unclear = true;
	if (slots_migrates(inst)) {
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
	    n->s.usable_mem - slots_drbd_load(c, x, z) <= need->memory)
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
		if (!move_failover_possible(c, inst))
			return false;
		load = slots_drbd_load(c, n, inst->secondary);
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

/* Whether everything finds a place, whatever changes in the meantime. */
static bool is_easy(struct redundancy *r, int x)
{
	const struct node *n = &r->c->nodes[x];
	const struct need *need = &r->needs[x];

	if (need->unclear)
		return false;
	if (r->changing == 0)
		return slots_enough_with(&r->slots, n, need, NULL, 0) ||
		       slots_count(r->c, r->nodes, n, need, 0);
	return slots_enough(&r->slots, n, need) ||
	       slots_count(r->c, r->nodes, n, need, r->changing);
}

/* Put the node among the easy or the hard ones. */
static void sort_node(struct redundancy *r, int x)
{
	const struct need *need = &r->needs[x];

	r->easy[x] = (!need->local && !need->shared) || is_easy(r, x);
	if (!r->easy[x])
		r->hard[r->n_hard++] = x;
}

static void take_node(struct redundancy *r, int x)
{
	r->needs[x] = need_of(r->c, &r->c->nodes[x]);
	if (take_drbd(r, x) && !r->needs[x].impossible) {
		sort_node(r, x);
		return;
	}
	r->never = true;
	r->culprit = x;
}

/* Whether some group has exclusive storage, where absorbs() says nothing. */
static bool has_exclusive(const struct cluster *c, const struct nodeset *nodes)
{
	for (int i = 0; i < nodes->n; i++)
		if (c->nodes[nodes->items[i]].exclusive_storage)
			return true;
	return false;
}

static void look_for_stranded(struct redundancy *r)
{
	for (int i = 0; i < r->n_hard && !r->never && !r->has_exclusive; i++) {
		r->culprit = r->hard[i];
		r->never = stranded(r, &r->c->nodes[r->culprit]);
	}
}

static void init(struct redundancy *r, struct cluster *c,
		 const struct nodeset *nodes, const struct place_options *o,
		 int changing)
{
	size_t n = (size_t)c->n_nodes + 1;

	*r = (struct redundancy){.c = c,
				 .nodes = nodes,
				 .accept_offline = o->accept_existing_errors,
				 .changing = changing,
				 .has_exclusive = has_exclusive(c, nodes)};
	r->most = xcalloc(n, sizeof(*r->most));
	r->needs = xcalloc(n, sizeof(*r->needs));
	r->easy = xcalloc(n, sizeof(*r->easy));
	r->hard = xcalloc((size_t)nodes->n + 1, sizeof(*r->hard));
	slots_init(&r->slots, c, nodes);
	for (int i = 0; i < c->n_nodes; i++)
		r->most[i] = -1;
}

static void look(struct redundancy *r)
{
	for (int i = 0; i < r->nodes->n && !r->never; i++) {
		int x = r->nodes->items[i];

		if (!r->accept_offline || !r->c->nodes[x].offline)
			take_node(r, x);
	}
}

void redundancy_init(struct redundancy *r, struct cluster *c,
		     const struct nodeset *nodes, const struct place_options *o)
{
	init(r, c, nodes, o, SLOTS_CHANGED);
}

void redundancy_look(struct redundancy *r)
{
	if (r->looked)
		return;
	r->looked = true;
	look(r);
	look_for_stranded(r);
}

bool redundancy_holds(struct cluster *c, const struct nodeset *nodes,
		      const struct place_options *o)
{
	struct redundancy r;
	bool ok;

	init(&r, c, nodes, o, 0);
	look(&r);
	ok = !r.never;
	for (int i = 0; i < r.n_hard && ok; i++)
		ok = redundancy_of_node(c, nodes, r.hard[i]);
	redundancy_done(&r);
	return ok;
}

void redundancy_done(struct redundancy *r)
{
	free(r->most);
	free(r->needs);
	free(r->easy);
	free(r->hard);
	slots_done(&r->slots);
}

/* Whether the node can be emptied as things are now, with the instance. */
static bool stays_safe(struct redundancy *r, int x, const struct need *need,
		       const struct instance *inst)
{
	const struct node *n = &r->c->nodes[x];
	const int changed[] = {inst->primary, inst->secondary};

	if (!need->unclear &&
	    (slots_enough_with(&r->slots, n, need, changed, 2) ||
	     slots_count(r->c, r->nodes, n, need, 0)))
		return true;
	return redundancy_of_node(r->c, r->nodes, x);
}

/* The new instance itself, when its primary is emptied. */
static bool new_moves(struct redundancy *r, const struct instance *inst)
{
	struct cluster *c = r->c;
	const struct node *p = &c->nodes[inst->primary];
	struct need need;

	if (inst->template == TEMPLATE_DRBD)
		return move_failover_possible(c, inst) &&
		       c->nodes[inst->secondary].s.usable_mem >
			       slots_drbd_load(c, p, inst->secondary);
	need = need_of(c, p);
	if (need.impossible)
		return false;
	return stays_safe(r, inst->primary, &need, inst);
}

/* What has failed once will most likely do so again: to be asked first. */
static void to_front(struct redundancy *r, int i)
{
	int x = r->hard[i];

	r->hard[i] = r->hard[0];
	r->hard[0] = x;
}

bool redundancy_with(struct redundancy *r, const struct instance *inst)
{
	const struct node *p = &r->c->nodes[inst->primary];
	bool moves = !inst->forthcoming && inst->template != TEMPLATE_DRBD;

	if (r->never)
		return false;
	if (p->s.usable_mem <= r->most[inst->primary] &&
	    r->most[inst->primary] >= 0)
		return false;
	for (int i = 0; i < r->n_hard; i++) {
		int x = r->hard[i];

		if (moves && x == inst->primary)
			continue; /* below, with the instance */
		if (!stays_safe(r, x, &r->needs[x], inst)) {
			to_front(r, i);
			return false;
		}
	}
	return inst->forthcoming || new_moves(r, inst);
}
