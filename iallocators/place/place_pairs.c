/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement on a primary and a secondary.  The score of a pair is computed
 * incrementally from the statistics of the cluster before; ties rely on that.
 *
 * There are as many pairs as nodes squared, so everything that does not depend
 * on both nodes is done once (pairs.h). */
#include <float.h>
#include <math.h>

#include "iallocators/model/score.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/pairs.h"
#include "iallocators/place/promises.h"
#include "lib/base/mem.h"

/* The score of what is no candidate; a real one may be infinite. */
#define OUT DBL_MAX

/* One primary with all its secondaries. */
struct row {
	const struct place *p;
	struct promises *promises;
	const struct nodeset *secondaries;
	double *score; /* of each secondary, or OUT */
	bool strange;  /* they may be no numbers */
	int primary;
	struct stats stats; /* with the instance's primary in place */
	struct solution *ret;
};

/* The score with a secondary; OUT and a failure if it cannot be. */
static double try_pair(const struct row *row, int secondary, enum fail *ret_why)
{
	const struct place *p = row->p;
	const struct node *n = &p->c->nodes[secondary];
	const struct node *primary = &p->c->nodes[row->primary];
	struct node_state before = n->s;
	struct stats stats = row->stats;
	size_t mark = change_mark(p->c);

	*ret_why = change_add_secondary(p->c, secondary, p->inst, p->index,
					row->primary, CHANGE_STRICT);
	if (*ret_why != FAIL_NONE)
		return OUT;
	score_replace(&stats, n, &before, &n->s);
	change_undo(p->c, mark);
	if (!primary->offline && !p->inst->forthcoming)
		stats.sum[METRIC_LOCATION] +=
			tagset_common(&primary->locations, &n->locations);
	return score_total(&stats);
}

/* Put the instance on its primary; the statistics follow. */
static enum fail place_primary(struct row *row, const struct stats *base)
{
	const struct place *p = row->p;
	const struct node *n = &p->c->nodes[row->primary];
	struct node_state before = n->s;
	enum fail why;

	p->inst->primary = row->primary;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	row->stats = *base;
	why = place_add_primary(p, row->primary);
	if (why != FAIL_NONE)
		return why;
	score_replace(&row->stats, n, &before, &n->s);
	row->stats.sum[METRIC_LOCATION_TAGS] =
		score_location_tags(p->c, p->scope);
	return FAIL_NONE;
}

/* The lowest score; of equal ones the last.  -1 if all are out. */
static int best_finite(const double *score, int n)
{
	double min = OUT;
	int i = n - 1;

	for (int j = 0; j < n; j++)
		min = score[j] < min ? score[j] : min;
	while (i >= 0 && score[i] != min)
		i--;
	return min == OUT ? -1 : i;
}

/* The same where some scores are no numbers: the first of these wins. */
static int best_of_strange(const double *score, int n)
{
	int best = -1;

	for (int j = 0; j < n; j++)
		if (score[j] != OUT && (best < 0 || score[j] <= score[best]))
			best = j;
	return best;
}

static int best_of(const struct row *row)
{
	return row->strange ? best_of_strange(row->score, row->secondaries->n)
			    : best_finite(row->score, row->secondaries->n);
}

/* Whether all promises hold; that of lost nodes takes longer, and is not asked
 * for what is worse than the best. */
static bool holds(const struct row *row, int best)
{
	int secondary = row->secondaries->items[best];

	if (!promises_redundant(row->promises, row->p, row->primary, secondary))
		return false;
	if (row->ret->found && !(row->score[best] <= row->ret->score))
		return true;
	return promises_survive(row->promises, row->p, row->primary, secondary,
				row->ret);
}

/* Offer the best pair that keeps the promises. */
static void choose(struct row *row)
{
	int best;

	while ((best = best_of(row)) >= 0) {
		if (holds(row, best)) {
			solution_offer(row->ret, row->primary,
				       row->secondaries->items[best],
				       row->score[best]);
			break;
		}
		row->score[best] = OUT;
		row->ret->successes--;
		row->ret->fails[FAIL_N1]++;
	}
	explain_row(row->p->options->explain, row->primary, row->secondaries,
		    row->score, OUT);
}

/* All secondaries, one by one. */
static void try_each(struct row *row)
{
	row->strange = true;
	for (int i = 0; i < row->secondaries->n; i++) {
		int node = row->secondaries->items[i];
		enum fail why;

		row->score[i] = OUT;
		if (node == row->primary)
			continue;
		row->score[i] = try_pair(row, node, &why);
		if (why == FAIL_NONE) {
			row->ret->successes++;
			continue;
		}
		row->ret->fails[why]++;
		explain_refused(row->p->options->explain, ROLE_PAIR,
				row->primary, node);
	}
}

/* The primary will not do, so nor will any pair with it. */
static void refuse_primary(const struct row *row, enum fail why, int n_pairs)
{
	row->ret->fails[why] += n_pairs;
	explain_refused(row->p->options->explain, ROLE_PRIMARY, row->primary,
			NO_INDEX);
}

void place_secondary(const struct place *p, int primary,
		     const struct nodeset *secondaries, struct solution *ret)
{
	struct promises promises;
	struct row row = {.p = p,
			  .promises = &promises,
			  .secondaries = secondaries,
			  .score = xcalloc((size_t)secondaries->n + 1,
					   sizeof(*row.score)),
			  .primary = primary,
			  .ret = ret};
	size_t mark = change_mark(p->c);
	struct stats base;
	enum fail why;

	promises_init(&promises, p, p->c->nodes[primary].group);
	score_stats(p->c, p->scope, &base);
	why = place_primary(&row, &base);
	if (why == FAIL_NONE)
		try_each(&row);
	else
		refuse_primary(&row, why, secondaries->n);
	change_undo(p->c, mark);
	if (why == FAIL_NONE)
		choose(&row);
	explain_count(p->options->explain, ret->successes, true);
	promises_explain(&promises, p);
	promises_done(&promises);
	free(row.score);
}

/* What all rows share. */
struct sheet {
	struct pairs pairs;
	struct stats base;
	int *position; /* of a node among the candidates, or -1 */
	int *seen;     /* by candidate: the last primary it was corrected for */
	double *penalty; /* OUT for those that fail for any primary */
};

/* Those that are secondaries for this primary already need more memory than
 * pairs_score() knows. */
static void correct_peers(struct row *row, struct sheet *t)
{
	const struct cluster *c = row->p->c;
	const struct ilist *l = &c->nodes[row->primary].primaries;

	for (int i = 0; i < l->n; i++) {
		const struct instance *inst = &c->instances[l->items[i]];
		int at = -1;
		enum fail why;

		if (inst->secondary != NO_INDEX && l->items[i] != row->p->index)
			at = t->position[inst->secondary];
		if (at < 0 || t->seen[at] == row->primary)
			continue;
		t->seen[at] = row->primary;
		row->ret->fails[t->pairs.fail[at]]--;
		row->score[at] =
			try_pair(row, row->secondaries->items[at], &why);
		row->ret->fails[why]++;
		if (why != FAIL_NONE && t->pairs.fail[at] == FAIL_NONE)
			explain_refused(row->p->options->explain, ROLE_PAIR,
					row->primary, inst->secondary);
	}
}

/* All secondaries at once. */
static void try_all(struct row *row, struct sheet *t)
{
	int n = row->secondaries->n, self = t->position[row->primary];

	pairs_score(&t->pairs, row->primary, &row->stats);
	for (int i = 0; i < n; i++)
		row->score[i] = t->pairs.score[i] + t->penalty[i];
	row->score[self] = OUT;
	for (int i = 0; i < FAIL_COUNT; i++)
		row->ret->fails[i] += t->pairs.fails[i];
	row->ret->fails[t->pairs.fail[self]]--;
	correct_peers(row, t);
	row->ret->successes += row->ret->fails[FAIL_NONE];
	row->ret->fails[FAIL_NONE] = 0;
}

static void place_row(struct row *row, struct sheet *t)
{
	size_t mark = change_mark(row->p->c);
	enum fail why = place_primary(row, &t->base);

	if (why != FAIL_NONE) {
		refuse_primary(row, why, row->secondaries->n - 1);
		return;
	}
	row->strange = false;
	if (isfinite(score_total(&row->stats)) && t->pairs.finite)
		try_all(row, t);
	else
		try_each(row);
	change_undo(row->p->c, mark);
	choose(row);
}

static void sheet_init(struct sheet *t, const struct place *p,
		       const struct nodeset *candidates)
{
	size_t n = (size_t)candidates->n;

	p->inst->location = 0;
	pairs_init(&t->pairs, p->c, candidates, p->inst, CHANGE_STRICT);
	score_stats(p->c, p->scope, &t->base);
	t->position = xcalloc((size_t)p->c->n_nodes, sizeof(*t->position));
	t->seen = xcalloc(n, sizeof(*t->seen));
	t->penalty = xcalloc(n, sizeof(*t->penalty));
	for (int i = 0; i < p->c->n_nodes; i++)
		t->position[i] = -1;
	for (int i = 0; i < candidates->n; i++) {
		t->position[candidates->items[i]] = i;
		t->seen[i] = -1;
		t->penalty[i] = t->pairs.fail[i] == FAIL_NONE ? 0 : OUT;
	}
}

/* Those that no primary can have as its secondary, and why. */
static void explain_secondaries(const struct place *p, const struct sheet *t,
				const struct nodeset *candidates)
{
	size_t mark = change_mark(p->c);

	for (int i = 0; i < candidates->n && p->options->explain != NULL; i++) {
		int node = candidates->items[i];

		if (t->pairs.fail[i] == FAIL_NONE)
			continue;
		change_add_secondary(p->c, node, p->inst, p->index, NO_INDEX,
				     CHANGE_STRICT);
		change_undo(p->c, mark);
		explain_refused(p->options->explain, ROLE_SECONDARY, node,
				NO_INDEX);
	}
}

void place_pairs(const struct place *p, struct promises *promises,
		 const struct nodeset *candidates, struct solution *ret)
{
	struct row row = {
		.p = p,
		.promises = promises,
		.secondaries = candidates,
		.score = xcalloc((size_t)candidates->n + 1, sizeof(*row.score)),
		.ret = ret};
	struct sheet t;

	sheet_init(&t, p, candidates);
	explain_secondaries(p, &t, candidates);
	for (int i = 0; i < candidates->n; i++) {
		row.primary = candidates->items[i];
		place_row(&row, &t);
	}
	pairs_done(&t.pairs);
	free(t.position);
	free(t.seen);
	free(t.penalty);
	free(row.score);
}
