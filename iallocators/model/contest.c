/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate() replaces the values of the nodes that a change touches, and notes
 * how far off the result can be.  compute() sums up all nodes.  It is used for
 * each change that could be the best within these limits, and for all if some
 * value is not finite. */
#include "iallocators/model/contest.h"

#include <math.h>

#include "iallocators/model/change.h"
#include "lib/base/mem.h"

void contest_update(const struct cluster *c, const struct nodeset *scope,
		    size_t mark, struct stats *stats)
{
	struct touched touched[CHANGE_TOUCHED_MAX];
	int n = change_touched(c, mark, touched, CHANGE_TOUCHED_MAX);

	for (int i = 0; i < n; i++) {
		const struct node *node = &c->nodes[touched[i].node];

		if (scope->group == NO_INDEX || node->group == scope->group)
			score_replace(stats, node, touched[i].before, &node->s);
	}
	if (c->has_locations && c->has_exclusion)
		stats->sum[METRIC_LOCATION_TAGS] =
			score_location_tags(c, scope);
}

static void estimate(struct contest *t, int i)
{
	size_t mark = change_mark(t->c);
	struct stats stats = t->base;

	t->out[i] = !t->try(t->arg, i);
	if (t->out[i])
		return;
	contest_update(t->c, t->scope, mark, &stats);
	t->score[i] = score_total(&stats);
	t->off[i] = score_tolerance(&stats);
	change_undo(t->c, mark);
}

static void compute(struct contest *t, int i)
{
	size_t mark = change_mark(t->c);
	struct stats stats;

	if (t->exact[i])
		return;
	t->exact[i] = true;
	t->off[i] = 0;
	t->try(t->arg, i);
	score_sheet_stats(&t->sheet, mark, &stats);
	t->score[i] = score_total(&stats);
	change_undo(t->c, mark);
}

void contest_init(struct contest *t)
{
	bool strange = false;

	t->score = xcalloc((size_t)t->n + 1, sizeof(*t->score));
	t->off = xcalloc((size_t)t->n + 1, sizeof(*t->off));
	t->exact = xcalloc((size_t)t->n + 1, sizeof(*t->exact));
	t->out = xcalloc((size_t)t->n + 1, sizeof(*t->out));
	score_sheet_init(&t->sheet, t->c, t->scope);
	score_sheet_stats(&t->sheet, change_mark(t->c), &t->base);
	for (int i = 0; i < t->n; i++) {
		estimate(t, i);
		strange = strange || (!t->out[i] && !isfinite(t->score[i]));
	}
	/* With values that are no numbers an estimate means nothing. */
	for (int m = 0; m < METRIC_COUNT; m++)
		strange = strange || !isfinite(t->base.sum[m]);
	for (int i = 0; i < t->n && strange; i++)
		if (!t->out[i])
			compute(t, i);
}

static bool wins(const struct contest *t, int i, int best)
{
	return t->strange_stay ? t->score[i] <= t->score[best]
			       : !(t->score[best] < t->score[i]);
}

static int lowest(const struct contest *t)
{
	int best = NO_INDEX;

	for (int i = 0; i < t->n; i++)
		if (!t->out[i] && (best == NO_INDEX || wins(t, i, best)))
			best = i;
	return best;
}

int contest_best(struct contest *t)
{
	int best = lowest(t);
	double limit;

	if (best == NO_INDEX || !isfinite(t->score[best]))
		return best;
	limit = t->score[best] + t->off[best];
	for (int i = 0; i < t->n; i++)
		if (!t->out[i] && t->score[i] - t->off[i] <= limit)
			compute(t, i);
	return lowest(t);
}

double contest_score(const struct contest *t, int i)
{
	return t->score[i];
}

bool contest_exact(struct contest *t, int i, double *ret_score)
{
	if (t->out[i])
		return false;
	compute(t, i);
	*ret_score = t->score[i];
	return true;
}

void contest_reject(struct contest *t, int i)
{
	t->out[i] = true;
}

void contest_done(struct contest *t)
{
	score_sheet_done(&t->sheet);
	free(t->score);
	free(t->off);
	free(t->exact);
	free(t->out);
}

int contest_run(struct contest *t, double *ret_score)
{
	int best;

	contest_init(t);
	best = contest_best(t);
	if (best != NO_INDEX)
		*ret_score = t->score[best];
	contest_done(t);
	return best;
}
