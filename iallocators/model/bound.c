/* SPDX-License-Identifier: BSD-2-Clause */
/* var_change() computes the change of a mean square from a delta.  Multiplied
 * by the slope of a chord of the square root it is a change of the score. There
 * is a chord for mean squares that fall and one for those that rise; each
 * reaches to the extreme that was seen. */
#include "iallocators/model/bound.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "lib/base/array.h"

const enum metric bound_metrics[BOUND_ROWS] = {
	METRIC_FREE_MEM,   METRIC_FREE_DISK,   METRIC_RESERVED_MEM,
	METRIC_VCPU,	   METRIC_CPU_LOAD,    METRIC_MEM_LOAD,
	METRIC_DISK_LOAD,  METRIC_NET_LOAD,    METRIC_SPINDLES,
	METRIC_FREE_MEM_F, METRIC_FREE_DISK_F, METRIC_VCPU_F,
	METRIC_SPINDLES_F,
};
/* The row of the memory that is reserved for peers. */
#define RESERVED_ROW 2

static const enum metric sums[] = {METRIC_N1, METRIC_PRI_TAGS, METRIC_LOCATION,
				   METRIC_RESERVED_TOTAL};

static void add_node(struct bound_delta *h, const struct node *n,
		     const struct node_state *before)
{
	double old[METRIC_COUNT], new[METRIC_COUNT];
	int primaries = n->s.n_primaries - before->n_primaries;
	int all = primaries + n->s.n_secondaries - before->n_secondaries;

	if (n->offline) {
		h->linear += metrics[METRIC_OFFLINE_ALL].weight * all +
			     metrics[METRIC_OFFLINE_PRI].weight * primaries;
		return;
	}
	score_values(n, before, old);
	score_values(n, &n->s, new);
	for (int r = 0; r < BOUND_ROWS; r++) {
		double x = old[bound_metrics[r]], y = new[bound_metrics[r]];

		h->ds[r] += y - x;
		h->dss[r] += y * y - x * x;
		h->finite = h->finite && isfinite(h->dss[r]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		h->linear +=
			metrics[sums[i]].weight * (new[sums[i]] - old[sums[i]]);
}

void bound_delta(struct bound_delta *ret, const struct cluster *c,
		 const struct nodeset *scope, size_t mark)
{
	struct touched touched[CHANGE_TOUCHED_MAX];
	int n = change_touched(c, mark, touched, CHANGE_TOUCHED_MAX);

	memset(ret, 0, sizeof(*ret));
	ret->finite = true;
	for (int i = 0; i < n; i++) {
		const struct node *node = &c->nodes[touched[i].node];

		if (scope->group == NO_INDEX || node->group == scope->group)
			add_node(ret, node, touched[i].before);
	}
	ret->finite = ret->finite && isfinite(ret->linear);
}

void bound_begin(struct bound *s, const struct stats *stats)
{
	memset(s, 0, sizeof(*s));
	s->n = stats->n;
	for (int r = 0; r < BOUND_ROWS; r++) {
		s->sum[r] = stats->sum[bound_metrics[r]];
		s->var[r] = stats->var[bound_metrics[r]];
	}
}

/* How the mean square changes at least by one of two parts.  The square of the
 * sum of both changes is at most twice the sum of their squares, hence 2 * ds
 * squared. */
static double var_change(const struct bound *s, const struct bound_delta *h,
			 int r)
{
	double ds = h->ds[r], nn = s->n * s->n;

	return (s->n * h->dss[r] - 2 * s->sum[r] * ds - 2 * ds * ds) / nn;
}

void bound_see(struct bound_extremes *e, const struct bound *s,
	       const struct bound_delta *delta)
{
	for (int r = 0; r < BOUND_ROWS; r++) {
		double change = var_change(s, delta, r);

		e->low[r] = change < e->low[r] ? change : e->low[r];
		e->high[r] = change > e->high[r] ? change : e->high[r];
	}
}

/* The slope of the chord of the root from var to var + x. */
static double chord(double var, double x)
{
	return (sqrt(var + x) - sqrt(var)) / x;
}

static void make_chords(struct bound *s, int r)
{
	double var = s->var[r], root = sqrt(var);
	double weight = metrics[bound_metrics[r]].weight;
	double high = s->high[r], low = fmax(s->low[r], -var);

	s->rise[r] = high > 0 ? chord(var, high) : 0;
	if (low < 0)
		s->fall[r] = chord(var, low);
	else
		s->fall[r] = var > 0 ? 1 / (2 * root) : 0;
	s->fall[r] = fmax(s->fall[r], s->rise[r]) * weight;
	s->rise[r] *= weight;
}

void bound_end(struct bound *s, const struct bound_extremes *a,
	       const struct bound_extremes *b)
{
	for (int r = 0; r < BOUND_ROWS; r++) {
		s->low[r] = a->low[r] + b->low[r];
		s->high[r] = a->high[r] + b->high[r];
		make_chords(s, r);
	}
}

double bound_of(const struct bound *s, const struct bound_delta *delta)
{
	double bound = delta->linear;

	for (int r = 0; r < BOUND_ROWS; r++) {
		double change = var_change(s, delta, r);

		bound += (change < 0 ? s->fall[r] : s->rise[r]) * change;
	}
	return bound;
}

/* The derivative of the bound is smallest where nothing is kept yet. */
bool bound_reserve_costs(const struct bound *s)
{
	double mean = s->sum[RESERVED_ROW] / s->n;

	assert(bound_metrics[RESERVED_ROW] == METRIC_RESERVED_MEM);
	return s->n >= 2 && mean >= 0 &&
	       metrics[METRIC_RESERVED_TOTAL].weight >=
		       s->fall[RESERVED_ROW] * 2 * mean / s->n;
}
