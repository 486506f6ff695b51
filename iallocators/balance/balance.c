/* SPDX-License-Identifier: BSD-2-Clause */
/* The moves of each instance are tried in a fixed order; of equal ones the
 * first wins.  Scores are bounded from below first, estimated where the
 * bound does not rule a move out, and computed from nothing where an estimate
 * is so close to the best that roundings decide. */
#include "iallocators/balance/balance.h"

#include <float.h>
#include <math.h>

#include "iallocators/balance/cost.h"
#include "iallocators/balance/outlook.h"
#include "iallocators/model/contest.h"
#include "iallocators/model/move.h"
#include "iallocators/model/score.h"
#include "iallocators/model/survival.h"
#include "lib/base/mem.h"

struct candidate {
	int instance;
	enum balance_move move;
	int position, target;
	double price;	 /* of what it costs; added to the score */
	double at_least; /* score and price */
};

struct candidates {
	struct candidate *items;
	size_t n, cap;
	double best; /* the best score and price is surely at most this */
};

struct search {
	struct cluster *c;
	const struct nodeset *nodes;
	const struct balance_options *o;
	struct stats base;
	double score, slack;
	double cost; /* of the steps so far */
	/* max-node-failures holds, and has to hold after each step. */
	bool survives;
	struct outlook outlook;
	struct candidates found;
	int *targets; /* of one row of moves */
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

static void add_candidate(struct candidates *list, struct candidate item,
			  double at_most)
{
	if (item.at_least > list->best)
		return;
	if (list->n == list->cap) {
		list->cap = list->cap == 0 ? 64 : list->cap * 2;
		list->items =
			xrealloc(list->items, list->cap * sizeof(*list->items));
	}
	list->items[list->n++] = item;
	list->best = fmin(list->best, at_most);
}

/* Whether a move that has been made is out of the question. */
static bool breaks_promise(const struct search *s, double at_least)
{
	return s->survives && at_least <= s->found.best &&
	       !survival_holds(s->c, s->nodes->group);
}

static void try_move(struct search *s, int index, enum balance_move move,
		     int position)
{
	struct instance inst = s->c->instances[index];
	struct stats stats = s->base;
	size_t mark = change_mark(s->c);
	int target = move == MOVE_FAILOVER ? inst.secondary
					   : s->nodes->items[position];
	double cost = cost_of_move(s->c, &inst, move, target);
	double price = s->o->move_price * cost;
	double score, off;
	bool broken;

	if (s->o->limit_cost && s->cost + cost > s->o->max_cost)
		return;
	if (do_move(s, &inst, index, move, target) != FAIL_NONE)
		return;
	contest_update(s->c, s->nodes, mark, &stats);
	score = score_total(&stats) + price;
	off = score_tolerance(&stats);
	broken = breaks_promise(s, score - off);
	change_undo(s->c, mark);
	if (broken)
		return;
	add_candidate(&s->found,
		      (struct candidate){index, move, position, target, price,
					 score - off},
		      score + off);
}

/* At least so much the cost of each of these moves adds. */
static double least_price(const struct search *s, int index,
			  enum balance_move move)
{
	const struct instance *inst = &s->c->instances[index];

	if (s->o->move_price <= 0)
		return 0;
	return s->o->move_price * cost_of_move(s->c, inst, move, NO_INDEX);
}

/* What may be as good as the best so far. */
static void try_row(struct search *s, int index, enum balance_move move)
{
	double limit = s->found.best + s->slack - s->score -
		       least_price(s, index, move);
	int n = outlook_targets(&s->outlook, index, move, limit, s->targets);

	for (int i = 0; i < n; i++)
		try_move(s, index, move, s->targets[i]);
}

/* Begin with what promises most, so that little of the rest need be tried. */
static void try_all(struct search *s)
{
	double lowest = HUGE_VAL;
	int first = 0;

	for (int i = 0; i < s->c->n_instances; i++)
		for (int m = 0; m < BALANCE_MOVES; m++) {
			double bound = outlook_row_bound(&s->outlook, i,
							 (enum balance_move)m);

			if (bound < HUGE_VAL)
				bound +=
					least_price(s, i, (enum balance_move)m);
			if (bound < lowest) {
				lowest = bound;
				first = i * BALANCE_MOVES + m;
			}
		}
	if (s->c->n_instances > 0)
		try_row(s, first / BALANCE_MOVES,
			(enum balance_move)(first % BALANCE_MOVES));
	s->found.n = 0; /* it comes again */
	for (int i = 0; i < s->c->n_instances; i++)
		for (int m = 0; m < BALANCE_MOVES; m++)
			try_row(s, i, (enum balance_move)m);
}

/* The order of trial: of each instance, the failover, then all moves to one
 * node after the other. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	if ((x->move == MOVE_FAILOVER) != (y->move == MOVE_FAILOVER))
		return x->move == MOVE_FAILOVER ? -1 : 1;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return (x->move > y->move) - (x->move < y->move);
}

/* The first of those whose exact score, with its price, is lowest, and below
 * the present score. */
static const struct candidate *settle(struct search *s, double *ret_score)
{
	const struct candidate *best = NULL;
	struct score_sheet sheet;
	double lowest = s->score;

	score_sheet_init(&sheet, s->c, s->nodes);
	for (size_t i = 0; i < s->found.n; i++) {
		const struct candidate *try = &s->found.items[i];
		struct instance inst = s->c->instances[try->instance];
		size_t mark = change_mark(s->c);
		struct stats stats;

		if (try->at_least > s->found.best)
			continue;
		do_move(s, &inst, try->instance, try->move, try->target);
		score_sheet_stats(&sheet, mark, &stats);
		change_undo(s->c, mark);
		if (score_total(&stats) + try->price < lowest) {
			best = try;
			*ret_score = score_total(&stats);
			lowest = *ret_score + try->price;
		}
	}
	score_sheet_done(&sheet);
	return best;
}

static void take(struct search *s, const struct candidate *best, double score,
		 struct balance_step *ret)
{
	struct instance inst = s->c->instances[best->instance];

	*ret = (struct balance_step){
		.instance = best->instance,
		.move = best->move,
		.target = best->target,
		.old_primary = inst.primary,
		.old_secondary = inst.secondary,
		.score = score,
		.cost = cost_of_move(s->c, &inst, best->move, best->target)};
	do_move(s, &inst, best->instance, best->move, best->target);
	ret->new_primary = inst.primary;
	ret->new_secondary = inst.secondary;
}

/* Tell the outlook which nodes the last step has changed. */
static void update_outlook(struct search *s, size_t mark)
{
	struct touched touched[CHANGE_TOUCHED_MAX];
	int n = change_touched(s->c, mark, touched, CHANGE_TOUCHED_MAX);
	int nodes[CHANGE_TOUCHED_MAX];

	for (int i = 0; i < n; i++)
		nodes[i] = touched[i].node;
	outlook_changed(&s->outlook, nodes, n);
}

static bool promises_failures(const struct search *s)
{
	return s->nodes->group != NO_INDEX &&
	       s->c->groups[s->nodes->group].policy.max_node_failures > 0;
}

/* Find the best move and make it; false if none is good enough. */
static bool make_step(struct search *s, struct balance_step *ret)
{
	const struct candidate *best;
	size_t mark = change_mark(s->c);
	double after;

	s->found.n = 0;
	s->found.best = s->score;
	score_stats(s->c, s->nodes, &s->base);
	s->slack = 2 * score_tolerance(&s->base) + DBL_EPSILON;
	s->survives =
		promises_failures(s) && survival_holds(s->c, s->nodes->group);
	outlook_weigh(&s->outlook, &s->base);
	try_all(s);
	if (s->found.n > 0)
		qsort(s->found.items, s->found.n, sizeof(*s->found.items),
		      compare_candidates);
	best = settle(s, &after);
	if (best == NULL ||
	    !(s->score > s->o->min_gain_limit ||
	      s->score - (after + best->price) >= s->o->min_gain))
		return false;
	take(s, best, after, ret);
	update_outlook(s, mark);
	s->score = after;
	s->cost += ret->cost;
	return true;
}

int balance_run(struct cluster *c, const struct nodeset *nodes,
		const struct balance_options *o,
		struct balance_step **ret_steps)
{
	double goal = balance_bound(c, nodes) + o->min_score;
	struct search s = {.c = c,
			   .nodes = nodes,
			   .o = o,
			   .score = score_nodes(c, nodes),
			   .targets =
				   xcalloc((size_t)nodes->n + 1, sizeof(int))};
	struct balance_step *steps = NULL;
	int n = 0;

	outlook_init(&s.outlook, c, nodes, o);
	while (s.score > goal && (o->max_steps < 0 || n < o->max_steps)) {
		if (n % 64 == 0)
			steps = xrealloc(steps,
					 (size_t)(n + 64) * sizeof(*steps));
		if (!make_step(&s, &steps[n]))
			break;
		n++;
	}
	outlook_done(&s.outlook);
	free(s.found.items);
	free(s.targets);
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
		buf_addf(out, "%.*s%s", cluster_alias_len(c, name), name,
			 forms[s->move][1]);
}
