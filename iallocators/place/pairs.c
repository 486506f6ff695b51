/* SPDX-License-Identifier: BSD-2-Clause */
/* take_node() adds the instance to one node as the secondary of a primary that
 * does not exist, and notes the differences.  pairs_score() takes the metrics
 * in the order of the table and adds each to the scores of all secondaries. */
#include "iallocators/place/pairs.h"

#include <math.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "lib/base/mem.h"

static const enum metric row_metric[PAIR_ROW_COUNT] = {
#define X(id) [PAIR_##id] = METRIC_##id,
	PAIR_ROWS(X)
#undef X
};

/* No node has this primary. */
#define STRANGER (-2)

static void take_node(struct pairs *p, int i, const struct instance *inst,
		      unsigned flags)
{
	int node = p->nodes->items[i];
	const struct node *n = &p->c->nodes[node];
	struct node_state before = n->s;
	double old[METRIC_COUNT], new[METRIC_COUNT];
	size_t mark = change_mark(p->c);

	p->fail[i] = change_add_secondary(p->c, node, inst, 0, STRANGER, flags);
	p->fails[p->fail[i]]++;
	score_values(n, &before, old);
	score_values(n, &n->s, new);
	change_undo(p->c, mark);
	for (int r = 0; r < PAIR_ROW_COUNT; r++) {
		double x = old[row_metric[r]], y = new[row_metric[r]];

		p->ds[r][i] = y - x;
		p->dss[r][i] = y * y - x * x;
		p->finite = p->finite && isfinite(p->dss[r][i]);
	}
}

void pairs_init(struct pairs *p, struct cluster *c, const struct nodeset *nodes,
		const struct instance *inst, unsigned flags)
{
	size_t n = (size_t)nodes->n + 1;

	memset(p, 0, sizeof(*p));
	p->c = c;
	p->nodes = nodes;
	p->finite = true;
	p->has_locations = c->has_locations && !inst->forthcoming;
	p->fail = xcalloc(n, sizeof(*p->fail));
	p->score = xcalloc(n, sizeof(*p->score));
	p->location = xcalloc(n, sizeof(*p->location));
	for (int r = 0; r < PAIR_ROW_COUNT; r++) {
		p->ds[r] = xcalloc(n, sizeof(*p->ds[r]));
		p->dss[r] = xcalloc(n, sizeof(*p->dss[r]));
	}
	for (int i = 0; i < nodes->n; i++)
		take_node(p, i, inst, flags);
}

void pairs_done(struct pairs *p)
{
	free(p->fail);
	free(p->score);
	free(p->location);
	for (int r = 0; r < PAIR_ROW_COUNT; r++) {
		free(p->ds[r]);
		free(p->dss[r]);
	}
}

/* score += constant, as one addition for each element. */
static void add_constant(double *restrict score, int n, double value)
{
	for (int i = 0; i < n; i++)
		score[i] += value;
}

static void add_sum(double *restrict score, const double *restrict ds, int n,
		    double sum, double weight)
{
	for (int i = 0; i < n; i++)
		score[i] += weight * (sum + ds[i]);
}

static void add_deviation(double *restrict score, const double *restrict ds,
			  const double *restrict dss, int count,
			  const struct stats *stats, enum metric m)
{
	double n = stats->n, nn = n * n, twice = 2 * stats->sum[m];
	double var = stats->var[m], weight = metrics[m].weight;

	for (int i = 0; i < count; i++) {
		double dv = (n * dss[i] - twice * ds[i]) - ds[i] * ds[i];
		double v = var + dv / nn;

		v = v > 0 ? v : 0;
		score[i] += weight * sqrt(v);
	}
}

static void find_locations(struct pairs *p, int primary)
{
	const struct node *pri = &p->c->nodes[primary];

	for (int i = 0; i < p->nodes->n; i++)
		p->location[i] = tagset_common(
			&pri->locations,
			&p->c->nodes[p->nodes->items[i]].locations);
}

/* A metric that no secondary changes, except that the location depends on both
 * nodes. */
static void add_other(struct pairs *p, const struct stats *stats, enum metric m)
{
	double value = metrics[m].kind == METRIC_DEVIATION ? sqrt(stats->var[m])
							   : stats->sum[m];

	if (m == METRIC_LOCATION && p->has_locations)
		add_sum(p->score, p->location, p->nodes->n, stats->sum[m],
			metrics[m].weight);
	else
		add_constant(p->score, p->nodes->n, metrics[m].weight * value);
}

void pairs_score(struct pairs *p, int primary, const struct stats *stats)
{
	int row_of[METRIC_COUNT], n = p->nodes->n;

	memset(row_of, -1, sizeof(row_of));
	for (int r = 0; r < PAIR_ROW_COUNT; r++)
		row_of[row_metric[r]] = r;
	if (p->has_locations)
		find_locations(p, primary);
	memset(p->score, 0, (size_t)n * sizeof(*p->score));
	for (int m = 0; m < METRIC_COUNT; m++) {
		int r = row_of[m];

		if (r < 0)
			add_other(p, stats, (enum metric)m);
		else if (metrics[m].kind == METRIC_DEVIATION)
			add_deviation(p->score, p->ds[r], p->dss[r], n, stats,
				      (enum metric)m);
		else
			add_sum(p->score, p->ds[r], n, stats->sum[m],
				metrics[m].weight);
	}
}
