/* SPDX-License-Identifier: BSD-2-Clause */
/* A row has what leaves with one move of one instance.  A table has what comes
 * to each node with any instance of one class (class_key()).  Both are measured
 * by a trial change, which is undone.  outlook_weigh() turns them into bounds,
 * and the bound of a move is the sum of its row's and its target's. */
#include "iallocators/balance/outlook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "lib/base/mem.h"

/* No node has this primary. */
#define STRANGER (-2)

/* Tables keep their deltas up to so many; bigger ones are computed at each
 * step. */
#define DELTAS_MAX 1000000

/* What leaves with one move of one instance. */
struct outlook_row {
	bool exists, forced;
	int table;
	struct bound_delta delta;
	double bound;
};

/* What comes to each node with instances that look alike. */
struct outlook_table {
	int like; /* an instance of the kind */
	bool secondary;
	struct bound_delta *deltas; /* by position; NULL: too many to keep */
	bool *strict, *forced;	    /* possible with, without all checks */
	double *bounds;
	double low_strict, low_forced;
};

static struct outlook_row *row_of(const struct outlook *l, int instance,
				  enum balance_move move)
{
	return &l->rows[instance * BALANCE_MOVES + (int)move];
}

/* Which moves the options and the instance allow. */
static bool allowed(const struct outlook *l, const struct instance *inst,
		    enum balance_move move)
{
	const struct balance_options *o = l->o;
	const struct node *n = l->c->nodes;
	bool shared = template_table[inst->template].mirror == MIRROR_EXTERNAL;

	if (move == MOVE_FAILOVER_TO || shared)
		return move == MOVE_FAILOVER_TO && shared &&
		       !o->no_instance_moves;
	if (move == MOVE_FAILOVER)
		return !o->no_instance_moves && !n[inst->secondary].offline;
	if (o->no_disk_moves)
		return false;
	if (move == MOVE_R)
		return true;
	if (o->no_instance_moves ||
	    (o->restricted_migration && !n[inst->primary].offline))
		return false;
	if (move == MOVE_RF)
		return true;
	return !n[inst->secondary].offline &&
	       (move == MOVE_FR || !o->restricted_migration);
}

static bool may_move(const struct outlook *l, const struct instance *inst)
{
	const struct node *n = l->c->nodes;
	int group = l->nodes->group;

	if (!inst->movable || !inst->auto_balance)
		return false;
	if (group != NO_INDEX && n[inst->primary].group != group)
		return false;
	if (template_table[inst->template].mirror == MIRROR_INTERNAL &&
	    inst->secondary == NO_INDEX)
		return false;
	return !l->o->evac_mode || n[inst->primary].offline ||
	       (inst->secondary != NO_INDEX && n[inst->secondary].offline);
}

/* Whether checks are dropped because the node that is left is offline. */
static bool is_forced(const struct outlook *l, const struct instance *inst,
		      enum balance_move move)
{
	const struct node *n = l->c->nodes;

	if (l->o->ignore_soft_errors)
		return true;
	if (move == MOVE_R)
		return n[inst->secondary].offline;
	return move != MOVE_RF && n[inst->primary].offline;
}

static int64_t tag_key(int location, int exclusion)
{
	return (int64_t)location << 32 | exclusion;
}

/* How many of the instance's location and exclusion tags on the node are met
 * more than once among all; so many pairs fewer, or more, there are without it
 * or with it. */
static int pairs_of_tags(const struct outlook *l, const struct instance *inst,
			 int node)
{
	const struct node *n = &l->c->nodes[node];
	int pairs = 0;

	for (int i = 0; i < inst->exclusion.n && !inst->forthcoming; i++)
		for (int j = 0; j < n->locations.n && !n->offline; j++)
			pairs +=
				counts_get(&l->tags_all,
					   tag_key(n->locations.ids[j],
						   inst->exclusion.ids[i])) > 1;
	return pairs;
}

/* Leave, all but what happens on the target. */
static enum fail leave_drbd(const struct outlook *l, struct instance inst,
			    int index, enum balance_move move)
{
	struct cluster *c = l->c;
	struct instance after = inst;
	int p = inst.primary, s = inst.secondary;
	unsigned strict = is_forced(l, &inst, move) ? 0 : CHANGE_STRICT;
	unsigned rf = l->o->ignore_soft_errors || c->nodes[s].offline
			      ? 0
			      : CHANGE_STRICT;
	enum fail why = FAIL_NONE;
	size_t between;

	after.location = 0;
	if ((move == MOVE_FR || move == MOVE_FRF) &&
	    !move_migration_allowed(c, p, s))
		return FAIL_MIG;
	if (move == MOVE_RF)
		change_remove_primary(c, p, &inst, index);
	change_remove_secondary(c, s, &inst, index);
	if (move == MOVE_RF)
		return change_add_secondary(c, p, &after, index, STRANGER, rf);
	between = change_mark(c);
	if (move != MOVE_R)
		why = change_add_primary(c, s, &after, index, strict);
	if (move == MOVE_FRF)
		change_undo(c, between);
	if (why != FAIL_NONE)
		return why;
	change_remove_primary(c, p, &inst, index);
	if (move == MOVE_R)
		return change_add_primary(c, p, &after, index, 0);
	if (move == MOVE_FRF)
		return change_add_secondary(c, s, &after, index, STRANGER,
					    strict);
	return FAIL_NONE;
}

static enum fail leave(const struct outlook *l, int index,
		       enum balance_move move)
{
	struct instance inst = l->c->instances[index];

	if (move == MOVE_FAILOVER)
		return move_failover(l->c, &inst, index,
				     l->o->ignore_soft_errors);
	if (move != MOVE_FAILOVER_TO)
		return leave_drbd(l, inst, index, move);
	change_remove_primary(l->c, inst.primary, &inst, index);
	return FAIL_NONE;
}

/* At most so many pairs of tags go with the primary. */
static int pairs_lost(const struct outlook *l, const struct instance *inst,
		      enum balance_move move)
{
	if (!l->c->has_locations || !l->c->has_exclusion || move == MOVE_R)
		return 0;
	if (move == MOVE_FAILOVER)
		return pairs_of_tags(l, inst, inst->primary) -
		       pairs_of_tags(l, inst, inst->secondary);
	return pairs_of_tags(l, inst, inst->primary);
}

static void look_at_row(struct outlook *l, int index, enum balance_move move)
{
	const struct instance *inst = &l->c->instances[index];
	struct outlook_row *row = row_of(l, index, move);
	size_t mark = change_mark(l->c);

	row->exists = may_move(l, inst) && allowed(l, inst, move);
	if (!row->exists)
		return;
	row->forced = is_forced(l, inst, move);
	row->exists = leave(l, index, move) == FAIL_NONE;
	bound_delta(&row->delta, l->c, l->nodes, mark);
	change_undo(l->c, mark);
}

static void look_at_target(const struct outlook *l,
			   const struct outlook_table *t, int i,
			   struct bound_delta *ret)
{
	struct instance inst = l->c->instances[t->like];
	int node = l->nodes->items[i];
	size_t mark = change_mark(l->c);
	bool ok[2];

	t->strict[i] = t->forced[i] = false;
	if (l->c->nodes[node].offline)
		return;
	inst.location = 0;
	for (int strict = 1; strict >= 0; strict--) {
		unsigned flags = strict ? CHANGE_STRICT : 0;
		enum fail why =
			t->secondary
				? change_add_secondary(l->c, node, &inst,
						       t->like, STRANGER, flags)
				: change_add_primary(l->c, node, &inst, t->like,
						     flags);

		ok[strict] = why == FAIL_NONE;
		if (ok[strict])
			break;
	}
	t->strict[i] = ok[1];
	t->forced[i] = ok[1] || ok[0];
	bound_delta(ret, l->c, l->nodes, mark);
	change_undo(l->c, mark);
}

/* All that makes two instances look alike to a target. */
static char *class_key(const struct instance *inst, bool secondary)
{
	struct buf b = {0};

	buf_addf(&b, "%d %d %d %d %jd %jd %jd %jd %jd", secondary,
		 (int)inst->template, (int)inst->status,
		 inst->auto_balance * 2 + inst->forthcoming,
		 (intmax_t)inst->memory, (intmax_t)inst->disk,
		 (intmax_t)inst->spindles, (intmax_t)inst->vcpus,
		 (intmax_t)inst->spindle_use);
	for (int i = 0; i < UTIL_COUNT; i++)
		buf_addf(&b, " %a", inst->util[i]);
	for (int i = 0; i < inst->exclusion.n; i++)
		buf_addf(&b, " x%d", inst->exclusion.ids[i]);
	for (int i = 0; i < inst->desired.n; i++)
		buf_addf(&b, " d%d", inst->desired.ids[i]);
	return b.data;
}

static void table_init(struct outlook *l, struct outlook_table *t, int like,
		       bool secondary)
{
	size_t n = (size_t)l->nodes->n + 1;

	*t = (struct outlook_table){.like = like,
				    .secondary = secondary,
				    .strict = xcalloc(n, sizeof(bool)),
				    .forced = xcalloc(n, sizeof(bool)),
				    .bounds = xcalloc(n, sizeof(double))};
	if (n * (size_t)l->n_tables > DELTAS_MAX)
		return;
	t->deltas = xcalloc(n, sizeof(*t->deltas));
	for (int i = 0; i < l->nodes->n; i++)
		look_at_target(l, t, i, &t->deltas[i]);
}

/* The number of the table for an instance. */
static int table_of(struct outlook *l, int index, bool secondary)
{
	auto_free char *key = class_key(&l->c->instances[index], secondary);
	void *found = table_get(&l->classes, key);

	if (found != NULL)
		return (int)(intptr_t)found - 1;
	if (l->n_tables == l->cap_tables) {
		l->cap_tables = l->cap_tables * 2 + 16;
		l->tables = xrealloc(l->tables, (size_t)l->cap_tables *
							sizeof(*l->tables));
	}
	table_init(l, &l->tables[l->n_tables++], index, secondary);
	table_put(&l->classes, key, (void *)(intptr_t)l->n_tables);
	return l->n_tables - 1;
}

static void take_row(struct outlook *l, int index, enum balance_move move)
{
	const struct instance *inst = &l->c->instances[index];
	bool secondary = move == MOVE_R || move == MOVE_FR;

	if (!may_move(l, inst) || !allowed(l, inst, move))
		return;
	if (move != MOVE_FAILOVER)
		row_of(l, index, move)->table = table_of(l, index, secondary);
	look_at_row(l, index, move);
}

void outlook_init(struct outlook *l, struct cluster *c,
		  const struct nodeset *nodes, const struct balance_options *o)
{
	*l = (struct outlook){.c = c, .nodes = nodes, .o = o};
	l->rows = xcalloc((size_t)c->n_instances * BALANCE_MOVES + 1,
			  sizeof(*l->rows));
	for (int i = 0; i < c->n_instances; i++)
		for (int m = 0; m < BALANCE_MOVES; m++)
			take_row(l, i, (enum balance_move)m);
}

void outlook_done(struct outlook *l)
{
	for (int i = 0; i < l->n_tables; i++) {
		free(l->tables[i].deltas);
		free(l->tables[i].strict);
		free(l->tables[i].forced);
		free(l->tables[i].bounds);
	}
	free(l->tables);
	free(l->rows);
	free(l->tags_all.items);
	table_done(&l->classes, NULL);
}

/* The delta of a target, kept or computed into *buffer. */
static const struct bound_delta *target_delta(const struct outlook *l,
					      const struct outlook_table *t,
					      int i, struct bound_delta *buffer)
{
	if (t->deltas != NULL)
		return &t->deltas[i];
	look_at_target(l, t, i, buffer);
	return buffer;
}

static void see_tables(struct outlook *l, struct bound_extremes *e)
{
	for (int k = 0; k < l->n_tables; k++) {
		const struct outlook_table *t = &l->tables[k];

		for (int i = 0; i < l->nodes->n; i++) {
			struct bound_delta buffer;
			const struct bound_delta *delta =
				target_delta(l, t, i, &buffer);

			if (!t->forced[i])
				continue;
			bound_see(e, &l->bound, delta);
			l->certain = l->certain && delta->finite;
		}
	}
}

static void see_rows(struct outlook *l, struct bound_extremes *e)
{
	int n = l->c->n_instances * BALANCE_MOVES;

	for (int i = 0; i < n; i++)
		if (l->rows[i].exists) {
			bound_see(e, &l->bound, &l->rows[i].delta);
			l->certain = l->certain && l->rows[i].delta.finite;
		}
}

static void weigh_table(struct outlook *l, struct outlook_table *t)
{
	const struct instance *like = &l->c->instances[t->like];
	bool tags = l->c->has_locations && l->c->has_exclusion && !t->secondary;

	t->low_strict = t->low_forced = HUGE_VAL;
	for (int i = 0; i < l->nodes->n; i++) {
		struct bound_delta buffer;
		const struct bound_delta *delta =
			target_delta(l, t, i, &buffer);

		if (!t->forced[i])
			continue;
		t->bounds[i] = bound_of(&l->bound, delta);
		if (tags)
			t->bounds[i] +=
				pairs_of_tags(l, like, l->nodes->items[i]);
		t->low_forced = fmin(t->low_forced, t->bounds[i]);
		if (t->strict[i])
			t->low_strict = fmin(t->low_strict, t->bounds[i]);
	}
}

static void weigh_row(struct outlook *l, int index, enum balance_move move)
{
	struct outlook_row *row = row_of(l, index, move);

	if (row->exists)
		row->bound = bound_of(&l->bound, &row->delta) -
			     pairs_lost(l, &l->c->instances[index], move);
}

static void count_tags(struct outlook *l)
{
	l->tags_all.n = 0;
	for (int i = 0; i < l->nodes->n && l->c->has_exclusion; i++) {
		const struct node *n = &l->c->nodes[l->nodes->items[i]];

		for (int j = 0; j < n->tags_loc.n && !n->offline; j++)
			counts_add(&l->tags_all, n->tags_loc.items[j].key,
				   n->tags_loc.items[j].value);
	}
}

void outlook_weigh(struct outlook *l, const struct stats *stats)
{
	struct bound_extremes rows = {0}, tables = {0};

	l->certain = isfinite(score_total(stats));
	count_tags(l);
	bound_begin(&l->bound, stats);
	see_rows(l, &rows);
	see_tables(l, &tables);
	if (l->certain)
		bound_end(&l->bound, &rows, &tables);
	l->certain = l->certain && bound_reserve_costs(&l->bound);
	for (int k = 0; k < l->n_tables && l->certain; k++)
		weigh_table(l, &l->tables[k]);
	for (int i = 0; i < l->c->n_instances && l->certain; i++)
		for (int m = 0; m < BALANCE_MOVES; m++)
			weigh_row(l, i, (enum balance_move)m);
}

double outlook_row_bound(const struct outlook *l, int instance,
			 enum balance_move move)
{
	const struct outlook_row *row = row_of(l, instance, move);
	const struct outlook_table *t;

	if (!row->exists)
		return HUGE_VAL;
	if (!l->certain)
		return -HUGE_VAL;
	if (move == MOVE_FAILOVER)
		return row->bound;
	t = &l->tables[row->table];
	return row->bound + (row->forced ? t->low_forced : t->low_strict);
}

/* The node of the pair that stays, of whose location tags each that the target
 * has too costs something; on an offline primary nothing counts. */
static int staying(const struct outlook *l, const struct instance *inst,
		   enum balance_move move)
{
	if (move == MOVE_FAILOVER_TO ||
	    (move == MOVE_R && l->c->nodes[inst->primary].offline))
		return NO_INDEX;
	return move == MOVE_R || move == MOVE_RF ? inst->primary
						 : inst->secondary;
}

int outlook_targets(const struct outlook *l, int instance,
		    enum balance_move move, double limit, int *ret)
{
	const struct instance *inst = &l->c->instances[instance];
	const struct outlook_row *row = row_of(l, instance, move);
	const struct outlook_table *t = &l->tables[row->table];
	const bool *possible;
	int stays = staying(l, inst, move), n = 0;

	if (outlook_row_bound(l, instance, move) > limit)
		return 0;
	if (move == MOVE_FAILOVER) {
		ret[0] = 0;
		return 1;
	}
	possible = row->forced ? t->forced : t->strict;
	for (int i = 0; i < l->nodes->n; i++) {
		int node = l->nodes->items[i], common = 0;

		if (!possible[i] || node == inst->primary ||
		    node == inst->secondary)
			continue;
		if (l->certain && l->c->has_locations && stays != NO_INDEX)
			common = tagset_common(&l->c->nodes[stays].locations,
					       &l->c->nodes[node].locations);
		if (!l->certain || row->bound + t->bounds[i] + common <= limit)
			ret[n++] = i;
	}
	return n;
}

static bool is_in(const int *list, int n, int item)
{
	for (int i = 0; i < n; i++)
		if (list[i] == item)
			return true;
	return false;
}

void outlook_changed(struct outlook *l, const int *nodes, int n)
{
	struct cluster *c = l->c;

	for (int i = 0; i < l->nodes->n; i++) {
		if (!is_in(nodes, n, l->nodes->items[i]))
			continue;
		for (int k = 0; k < l->n_tables; k++)
			if (l->tables[k].deltas != NULL)
				look_at_target(l, &l->tables[k], i,
					       &l->tables[k].deltas[i]);
	}
	for (int i = 0; i < c->n_instances; i++)
		if (is_in(nodes, n, c->instances[i].primary) ||
		    is_in(nodes, n, c->instances[i].secondary))
			for (int m = 0; m < BALANCE_MOVES; m++)
				look_at_row(l, i, (enum balance_move)m);
}
