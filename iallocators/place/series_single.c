/* SPDX-License-Identifier: BSD-2-Clause */
/* The best node for the next instance of a series on one node each.
 *
 * What the instance does to the sums behind the score is kept for each node,
 * so that the score of each place can be estimated by few operations; how far
 * estimates can be off is known.  Only where several are that close the exact
 * scores, which are computed over all nodes, have to decide.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "iallocators/model/bound.h"
#include "iallocators/model/change.h"
#include "iallocators/place/series.h"
#include "iallocators/place/ties.h"
#include "lib/base/mem.h"

/* Sums are carried on so long before they are computed from nothing. */
#define BASE_AGE_MAX 256

/* A candidate with the instance. */
struct with {
	double values[METRIC_COUNT];
	struct bound_delta delta;
	double estimate;
};

struct singles {
	struct score_sheet sheet;
	struct with *with; /* by position */
	struct stats base;
	int age;
	double high[METRIC_COUNT]; /* no value is larger, with or without */
};

static void see_values(struct singles *s, const double values[METRIC_COUNT])
{
	for (int m = 0; m < METRIC_COUNT; m++)
		s->high[m] = fmax(s->high[m], fabs(values[m]));
}

/* What the instance does to a candidate. */
static void look_at(struct series *s, int i)
{
	const struct place *p = s->p;
	struct singles *l = s->singles;
	struct with *w = &l->with[i];
	int node = s->candidates->items[i];
	const struct node *n = &p->c->nodes[node];
	size_t mark = change_mark(p->c);

	p->inst->primary = node;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	see_values(l, l->sheet.values[l->sheet.position[node]]);
	place_add_primary(p, node);
	score_values(n, &n->s, w->values);
	see_values(l, w->values);
	bound_delta(&w->delta, p->c, p->scope, mark);
	change_undo(p->c, mark);
}

static void compute_base(struct singles *s)
{
	score_sheet_stats(&s->sheet, change_mark(s->sheet.c), &s->base);
	s->age = 0;
}

static void begin(struct series *s)
{
	struct singles *l = xcalloc(1, sizeof(*l));

	s->singles = l;
	score_sheet_init(&l->sheet, s->p->c, s->p->scope);
	l->with = xcalloc((size_t)s->candidates->n + 1, sizeof(*l->with));
	compute_base(l);
	for (int i = 0; i < s->candidates->n; i++)
		look_at(s, i);
}

void series_singles_done(struct series *s)
{
	if (s->singles == NULL)
		return;
	score_sheet_done(&s->singles->sheet);
	free(s->singles->with);
	free(s->singles);
}

void series_single_changed(struct series *s, int node)
{
	struct singles *l = s->singles;
	double old[METRIC_COUNT], *row;

	if (l == NULL)
		return;
	row = l->sheet.values[l->sheet.position[node]];
	memcpy(old, row, sizeof(old));
	score_sheet_set(&l->sheet, node);
	score_replace_values(&l->base, old, row);
	look_at(s, s->position[node]);
	if (++l->age >= BASE_AGE_MAX)
		compute_base(l);
}

/* The part of the score that is a plain sum. */
static double linear_part(const struct stats *base)
{
	double sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		if (metrics[m].kind != METRIC_DEVIATION)
			sum += metrics[m].weight * base->sum[m];
	return sum;
}

/* The sums that estimates start from, and the mean squares that they have come
 * to so far. */
struct rows {
	double n, linear;
	double sum[BOUND_ROWS], var[BOUND_ROWS], weight[BOUND_ROWS];
	double low[BOUND_ROWS], high[BOUND_ROWS];
};

static void rows_init(struct rows *rows, const struct stats *base)
{
	*rows = (struct rows){.n = base->n, .linear = linear_part(base)};
	for (int r = 0; r < BOUND_ROWS; r++) {
		rows->sum[r] = base->sum[bound_metrics[r]];
		rows->var[r] = base->var[bound_metrics[r]];
		rows->weight[r] = metrics[bound_metrics[r]].weight;
		rows->low[r] = HUGE_VAL;
	}
}

static double estimate(struct rows *rows, const struct bound_delta *delta)
{
	double n = rows->n, part[BOUND_ROWS];
	double total = rows->linear + delta->linear;

	for (int r = 0; r < BOUND_ROWS; r++) {
		double dv =
			(n * delta->dss[r] - 2 * rows->sum[r] * delta->ds[r]) -
			delta->ds[r] * delta->ds[r];
		double var = rows->var[r] + dv / (n * n);

		var = var > 0 ? var : 0;
		rows->low[r] = var < rows->low[r] ? var : rows->low[r];
		rows->high[r] = var > rows->high[r] ? var : rows->high[r];
		part[r] = rows->weight[r] * sqrt(var);
	}
	for (int r = 0; r < BOUND_ROWS; r++)
		total += part[r];
	return total;
}

/* No estimate is farther off than this: as score_tolerance() says, for all of
 * them at once. */
static double tolerance(const struct singles *l, const struct rows *rows)
{
	const struct stats *base = &l->base;
	double low = 0, high = 0;

	for (int end = 0; end < 2; end++) {
		struct stats worst = *base;

		for (int m = 0; m < METRIC_COUNT; m++) {
			double x = l->high[m];

			worst.rounded[m] += 2 * base->n * x * x +
					    4 * fabs(base->sum[m]) * x;
			worst.sum[m] = fabs(base->sum[m]) + 2 * x;
		}
		for (int r = 0; r < BOUND_ROWS; r++)
			worst.var[bound_metrics[r]] =
				end ? rows->high[r] : rows->low[r];
		*(end ? &high : &low) = score_tolerance(&worst);
	}
	return 2 * (low + high) + DBL_EPSILON;
}

/* Estimate all; false if estimates mean nothing. */
static bool estimate_all(struct series *s, double *ret_best, double *ret_off)
{
	struct singles *l = s->singles;
	double best = HUGE_VAL;
	struct rows rows;

	rows_init(&rows, &l->base);
	for (int i = 0; i < s->candidates->n; i++) {
		struct with *w = &l->with[i];

		if (!series_possible(s, i))
			continue;
		if (!w->delta.finite)
			return false;
		w->estimate = estimate(&rows, &w->delta);
		best = w->estimate < best ? w->estimate : best;
	}
	*ret_best = best;
	*ret_off = tolerance(l, &rows);
	return isfinite(best) && isfinite(*ret_off);
}

/* The last of those with the lowest score. */
static int best_tie(struct series *s, const struct tie *ties, int n)
{
	auto_free double *scores = xcalloc((size_t)n + 1, sizeof(*scores));
	int best = 0;

	if (n == 1)
		return ties[0].node; /* whatever its score */
	ties_scores(&s->singles->sheet, ties, n, scores);
	for (int i = 1; i < n; i++)
		if (scores[i] <= scores[best])
			best = i;
	return ties[best].node;
}

bool series_best_single(struct series *s, int *ret_node)
{
	auto_free struct tie *ties =
		xcalloc((size_t)s->candidates->n + 1, sizeof(*ties));
	double best, off;
	int n = 0;

	if (s->singles == NULL)
		begin(s);
	if (!estimate_all(s, &best, &off))
		return false;
	for (int i = 0; i < s->candidates->n; i++)
		if (series_possible(s, i) &&
		    s->singles->with[i].estimate <= best + 2 * off)
			ties[n++] = (struct tie){
				.node = s->candidates->items[i],
				.values = s->singles->with[i].values};
	*ret_node = best_tie(s, ties, n);
	return true;
}
