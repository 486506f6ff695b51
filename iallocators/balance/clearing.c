/* SPDX-License-Identifier: BSD-2-Clause */
/* The method is greedy: a node joins the round if all that has to leave it
 * finds a place; otherwise its moves are undone, and it waits for the next
 * round.  All moves are made in the cluster itself and undone after each
 * round. */
#include "iallocators/balance/clearing.h"

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "lib/base/mem.h"

/* Move one instance off a node; false if no node takes it. */
typedef bool (*move_fn)(struct cluster *c, int index, const bool *down);

bool clearing_is_loose(const struct instance *inst)
{
	return inst->template != TEMPLATE_DRBD;
}

static bool can_take(const struct cluster *c, int node, int home,
		     const bool *down)
{
	const struct node *n = &c->nodes[node];

	return node != home && !down[node] && !n->offline &&
	       n->group == c->nodes[home].group;
}

/* False if that node does not take it. */
static bool put_loose(struct cluster *c, int index, int target)
{
	struct instance before = c->instances[index], after = before;

	after.primary = target;
	if (change_add_primary(c, target, &after, index, 0) != FAIL_NONE)
		return false;
	change_remove_primary(c, before.primary, &before, index);
	change_store(c, &after, index);
	return true;
}

static bool move_loose(struct cluster *c, int index, const bool *down)
{
	int home = c->instances[index].primary;

	for (int t = 0; t < c->n_nodes; t++)
		if (can_take(c, t, home, down) && put_loose(c, index, t))
			return true;
	return false;
}

static bool move_secondary(struct cluster *c, int index, const bool *down)
{
	struct instance inst = c->instances[index];

	for (int t = 0; t < c->n_nodes; t++)
		if (can_take(c, t, inst.primary, down) && t != inst.secondary &&
		    move_replace_secondary(c, &inst, index, t, true) ==
			    FAIL_NONE)
			return true;
	return false;
}

static int *copy_list(const struct ilist *l)
{
	size_t size = (size_t)l->n * sizeof(*l->items);

	return size > 0 ? xmemdup(l->items, size) : NULL;
}

/* Migration tags do not count: the nodes go down, whatever they say. */
static enum fail exchange(struct cluster *c, int index)
{
	struct instance before = c->instances[index], after = before;
	enum fail why;

	if (before.secondary == NO_INDEX)
		return FAIL_INTERNAL;
	after.primary = before.secondary;
	after.secondary = before.primary;
	change_remove_secondary(c, before.secondary, &before, index);
	why = change_add_primary(c, after.primary, &after, index, 0);
	if (why != FAIL_NONE)
		return why;
	change_remove_primary(c, before.primary, &before, index);
	why = change_add_secondary(c, after.secondary, &after, index,
				   after.primary, 0);
	if (why == FAIL_NONE)
		change_store(c, &after, index);
	return why;
}

/* All that DRBD mirrors on the node, to its secondary. */
static bool fail_over(struct cluster *c, int node)
{
	const struct ilist *l = &c->nodes[node].primaries;
	auto_free int *list = copy_list(l);

	for (int i = l->n - 1; i >= 0; i--)
		if (!clearing_is_loose(&c->instances[list[i]]) &&
		    exchange(c, list[i]) != FAIL_NONE)
			return false;
	return true;
}

/* All on the list that have to go, also those that came from another node of
 * the round. */
static bool move_all(struct cluster *c, const struct ilist *l, bool secondaries,
		     const bool *down)
{
	auto_free int *list = copy_list(l);
	bool ok = true;

	for (int i = l->n - 1; i >= 0 && ok; i--) {
		if (secondaries)
			ok = move_secondary(c, list[i], down);
		else if (clearing_is_loose(&c->instances[list[i]]))
			ok = move_loose(c, list[i], down);
	}
	return ok;
}

/* Nothing changes if that fails. */
static bool clear_node(struct cluster *c, int node, enum clearing what,
		       bool *down)
{
	const struct node *n = &c->nodes[node];
	size_t mark = change_mark(c);
	bool ok = true;

	down[node] = true;
	if (what == CLEAR_LOOSE)
		ok = move_all(c, &n->primaries, false, down);
	else if (what == CLEAR_SECONDARIES)
		ok = fail_over(c, node) &&
		     move_all(c, &n->secondaries, true, down);
	if (ok)
		return true;
	down[node] = false;
	change_undo(c, mark);
	return false;
}

/* Take as many of the nodes left as can be cleared together; they leave the
 * list. */
static void fill_round(struct cluster *c, int *left, int *n_left,
		       enum clearing what, struct round *r)
{
	auto_free bool *down = xcalloc((size_t)c->n_nodes + 1, sizeof(bool));
	int kept = 0;

	*r = (struct round){
		.nodes = arena_calloc(&c->arena, (size_t)*n_left, sizeof(int))};
	for (int i = 0; i < *n_left; i++) {
		if (clear_node(c, left[i], what, down))
			r->nodes[r->n++] = left[i];
		else
			left[kept++] = left[i];
	}
	*n_left = kept;
}

static void note_places(struct cluster *c, struct round *r)
{
	r->places = arena_calloc(&c->arena, (size_t)c->n_instances,
				 sizeof(*r->places));
	for (int i = 0; i < c->n_instances; i++)
		r->places[i] = (struct place){c->instances[i].primary,
					      c->instances[i].secondary};
}

int clearing_divide(struct cluster *c, const int *nodes, int n,
		    enum clearing what, struct round *rounds, int *n_rounds,
		    struct error *err)
{
	auto_free int *left = xcalloc((size_t)n + 1, sizeof(int));
	int n_left = n;

	for (int i = 0; i < n; i++)
		left[i] = nodes[i];
	while (n_left > 0) {
		struct round *r = &rounds[*n_rounds];
		size_t mark = change_mark(c);

		fill_round(c, left, &n_left, what, r);
		if (r->n > 0)
			note_places(c, r);
		change_undo(c, mark);
		if (r->n == 0)
			return error_set(err, ERR_PREREQ, NULL,
					 "Not enough capacity to move %s",
					 what == CLEAR_SECONDARIES
						 ? "secondaries"
						 : "non-redundant instances");
		++*n_rounds;
	}
	return 0;
}

/* Put what has no secondary where it is in the round. */
static void take_places(struct cluster *c, const struct round *r)
{
	for (int i = 0; i < c->n_instances; i++)
		if (c->instances[i].primary != r->places[i].primary)
			put_loose(c, i, r->places[i].primary);
}

static bool can_fail_over(struct cluster *c, const struct round *r)
{
	size_t mark = change_mark(c);
	bool ok = true;

	for (int i = 0; i < r->n && ok; i++)
		ok = fail_over(c, r->nodes[i]);
	change_undo(c, mark);
	return ok;
}

int clearing_divide_fully(struct cluster *c, const struct round *r,
			  struct round *rounds, int *n_rounds,
			  struct error *err)
{
	size_t mark = change_mark(c);
	int rc;

	take_places(c, r);
	if (can_fail_over(c, r))
		rc = clearing_divide(c, r->nodes, r->n, CLEAR_SECONDARIES,
				     rounds, n_rounds, err);
	else
		rc = error_set(err, ERR_PREREQ, NULL,
			       "Failed to migrate instances off nodes");
	change_undo(c, mark);
	return rc;
}
