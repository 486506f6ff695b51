/* SPDX-License-Identifier: BSD-2-Clause */
/* The moves of each instance are tried in a fixed order; of equal ones the
 * first wins.  Scores are estimated first, and computed from nothing where an
 * estimate is close to the best. */
#include "iallocators/balance.h"

#include <math.h>

#include "iallocators/contest.h"
#include "iallocators/move.h"
#include "iallocators/score.h"
#include "iallocators/tool.h"
#include "lib/base/mem.h"

/* See contest.c. */
#define NEAR 1e-6

struct candidate {
	int instance;
	enum balance_move move;
	int target;
	double estimate;
};

struct candidates {
	struct candidate *items;
	size_t n, cap;
	double best;
};

struct search {
	struct cluster *c;
	const struct nodeset *nodes;
	const struct balance_options *o;
	struct stats base;
	struct candidates found;
};

double balance_bound(const struct cluster *c, const struct nodeset *nodes)
{
	double demand = 0, total = 0, biggest = 0;

	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		for (int j = 0; j < n->peers.n; j++)
			demand += (double)n->peers.items[j].value;
		total += n->total_mem;
		biggest = fmax(biggest, n->total_mem);
	}
	if (nodes->n < 2 || total - biggest <= 0)
		return 0;
	return metrics[METRIC_RESERVED_TOTAL].weight *
	       (demand / (total - biggest) - demand / total);
}

static enum fail do_move(struct search *s, struct instance *inst, int index,
			 enum balance_move move, int target)
{
	bool force = s->o->ignore_soft_errors;

	switch (move) {
	case MOVE_FAILOVER:
		return move_failover(s->c, inst, index, force);
	case MOVE_FAILOVER_TO:
		return move_failover_to(s->c, inst, index, target, force);
	case MOVE_R:
		return move_replace_secondary(s->c, inst, index, target, force);
	case MOVE_RF:
		return move_rf(s->c, inst, index, target, force);
	case MOVE_FRF:
		return move_frf(s->c, inst, index, target, force);
	default:
		return move_fr(s->c, inst, index, target, force);
	}
}

static void add_candidate(struct candidates *list, struct candidate item)
{
	if (item.estimate > list->best + NEAR * fmax(1, fabs(list->best)))
		return;
	if (list->n == list->cap) {
		list->cap = list->cap == 0 ? 64 : list->cap * 2;
		list->items =
			xrealloc(list->items, list->cap * sizeof(*list->items));
	}
	list->items[list->n++] = item;
	list->best = fmin(list->best, item.estimate);
}

static void try_move(struct search *s, int index, enum balance_move move,
		     int target)
{
	struct instance inst = s->c->instances[index];
	struct stats stats = s->base;
	size_t mark = change_mark(s->c);

	if (do_move(s, &inst, index, move, target) != FAIL_NONE)
		return;
	contest_update(s->c, s->nodes, mark, &stats);
	change_undo(s->c, mark);
	add_candidate(&s->found, (struct candidate){index, move, target,
						    score_total(&stats)});
}

/* All moves that involve one more node. */
static void try_target(struct search *s, int index, int target)
{
	const struct instance *inst = &s->c->instances[index];
	const struct balance_options *o = s->o;
	bool primary_offline = s->c->nodes[inst->primary].offline;

	if (templates[inst->template].mirror == MIRROR_EXTERNAL) {
		if (!o->no_instance_moves)
			try_move(s, index, MOVE_FAILOVER_TO, target);
		return;
	}
	if (o->no_disk_moves)
		return;
	try_move(s, index, MOVE_R, target);
	if (o->no_instance_moves ||
	    (o->restricted_migration && !primary_offline))
		return;
	try_move(s, index, MOVE_RF, target);
	if (s->c->nodes[inst->secondary].offline)
		return;
	if (!o->restricted_migration)
		try_move(s, index, MOVE_FRF, target);
	try_move(s, index, MOVE_FR, target);
}

static bool may_move(const struct search *s, const struct instance *inst)
{
	const struct node *n = s->c->nodes;
	int group = s->nodes->group;

	if (!inst->movable || !inst->auto_balance)
		return false;
	if (group != NO_INDEX && n[inst->primary].group != group)
		return false;
	if (templates[inst->template].mirror == MIRROR_INTERNAL &&
	    inst->secondary == NO_INDEX)
		return false;
	return !s->o->evac_mode || n[inst->primary].offline ||
	       (inst->secondary != NO_INDEX && n[inst->secondary].offline);
}

static void try_instance(struct search *s, int index)
{
	const struct instance *inst = &s->c->instances[index];

	if (inst->template == TEMPLATE_DRBD && !s->o->no_instance_moves &&
	    !s->c->nodes[inst->secondary].offline)
		try_move(s, index, MOVE_FAILOVER, inst->secondary);
	for (int i = 0; i < s->nodes->n; i++) {
		int t = s->nodes->items[i];

		if (t != inst->primary && t != inst->secondary &&
		    !s->c->nodes[t].offline)
			try_target(s, index, t);
	}
}

/* The first of those with the lowest exact score below the limit. */
static const struct candidate *settle(struct search *s, double limit,
				      double *ret_score)
{
	double near = s->found.best + NEAR * fmax(1, fabs(s->found.best));
	const struct candidate *best = NULL;

	*ret_score = limit;
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *try = &s->found.items[i];
		struct instance inst = s->c->instances[try->instance];
		size_t mark = change_mark(s->c);
		double score;

		if (try->estimate > near)
			continue;
		do_move(s, &inst, try->instance, try->move, try->target);
		score = score_nodes(s->c, s->nodes);
		change_undo(s->c, mark);
		if (score < *ret_score) {
			best = try;
			*ret_score = score;
		}
	}
	return best;
}

static void take(struct search *s, const struct candidate *best, double score,
		 struct balance_step *ret)
{
	struct instance inst = s->c->instances[best->instance];

	*ret = (struct balance_step){.instance = best->instance,
				     .move = best->move,
				     .target = best->target,
				     .old_primary = inst.primary,
				     .old_secondary = inst.secondary,
				     .score = score};
	do_move(s, &inst, best->instance, best->move, best->target);
	ret->new_primary = inst.primary;
	ret->new_secondary = inst.secondary;
}

bool balance_step(struct cluster *c, const struct nodeset *nodes,
		  const struct balance_options *o, double score,
		  struct balance_step *ret)
{
	struct search s = {.c = c, .nodes = nodes, .o = o};
	const struct candidate *best;
	double after;
	bool good;

	s.found.best = score;
	score_stats(c, nodes, &s.base);
	for (int i = 0; i < c->n_instances; i++)
		if (may_move(&s, &c->instances[i]))
			try_instance(&s, i);
	best = settle(&s, score, &after);
	good = best != NULL &&
	       (score > o->min_gain_limit || score - after >= o->min_gain);
	if (good)
		take(&s, best, after, ret);
	free(s.found.items);
	return good;
}

int balance_run(struct cluster *c, const struct nodeset *nodes,
		const struct balance_options *o,
		struct balance_step **ret_steps)
{
	double goal = balance_bound(c, nodes) + o->min_score;
	double score = score_nodes(c, nodes);
	struct balance_step *steps = NULL;
	int n = 0;

	while (score > goal && (o->max_steps < 0 || n < o->max_steps)) {
		if (n % 64 == 0)
			steps = xrealloc(steps,
					 (size_t)(n + 64) * sizeof(*steps));
		if (!balance_step(c, nodes, o, score, &steps[n]))
			break;
		score = steps[n++].score;
	}
	*ret_steps = steps;
	return n;
}

void balance_describe(const struct cluster *c, const struct balance_step *s,
		      struct buf *out)
{
	static const char *const forms[][2] = {
		[MOVE_FAILOVER] = {"f", NULL}, [MOVE_FAILOVER_TO] = {"fa:", ""},
		[MOVE_R] = {"r:", ""},	       [MOVE_RF] = {"r:", " f"},
		[MOVE_FRF] = {"f r:", " f"},   [MOVE_FR] = {"f r:", ""},
	};
	const char *name = c->nodes[s->target].name;

	buf_adds(out, forms[s->move][0]);
	if (forms[s->move][1] != NULL)
		buf_addf(out, "%.*s%s", tool_alias_len(c, name), name,
			 forms[s->move][1]);
}
