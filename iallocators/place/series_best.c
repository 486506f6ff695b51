/* SPDX-License-Identifier: BSD-2-Clause */
/* The best pair for the next instance of a series.
 *
 * Nodes that are alike (series.h) make pairs that are alike, unless the
 * secondary keeps memory for the primary already.  So of each two classes one
 * pair of strangers is computed, the last, which wins over the others; and of
 * the peers of a primary those that differ from all before.
 */
#include <float.h>
#include <math.h>

#include "iallocators/model/change.h"
#include "iallocators/model/score.h"
#include "iallocators/place/series.h"

/* A deviation that pairs change: its mean square before, less what roundings
 * may be, and twice the sum. */
struct row {
	int r; /* its row in deltas */
	double least, sum, weight;
};

struct hunt {
	struct series *s;
	struct stats base;
	double total, slack;
	double constant; /* of the score, whatever the pair */
	struct row rows[BOUND_ROWS];
	int n_rows;
	double low_primary, low_secondary;
	struct solution *ret;
};

/* Compute all bounds; false if they mean nothing. */
static bool weigh(struct hunt *h)
{
	struct series *s = h->s;
	struct bound_extremes primary = {0}, secondary = {0};
	struct bound bound;
	bool finite = isfinite(h->total);

	bound_begin(&bound, &h->base);
	for (int i = 0; i < s->candidates->n; i++) {
		bound_see(&primary, &bound, &s->primary[i]);
		bound_see(&secondary, &bound, &s->secondary[i]);
		finite = finite && s->primary[i].finite &&
			 s->secondary[i].finite;
	}
	if (!finite)
		return false;
	bound_end(&bound, &primary, &secondary);
	h->low_primary = h->low_secondary = HUGE_VAL;
	for (int i = 0; i < s->candidates->n; i++) {
		s->bound_primary[i] = bound_of(&bound, &s->primary[i]);
		s->bound_secondary[i] = bound_of(&bound, &s->secondary[i]);
		if (s->why_primary[i] == FAIL_NONE)
			h->low_primary =
				fmin(h->low_primary, s->bound_primary[i]);
		if (s->why_secondary[i] == FAIL_NONE)
			h->low_secondary =
				fmin(h->low_secondary, s->bound_secondary[i]);
	}
	return bound_reserve_costs(&bound);
}

/* Whether what adds so much may be as good as the best so far. */
static bool promising(const struct hunt *h, double primary, double secondary)
{
	return !h->ret->found ||
	       h->total + primary + secondary <= h->ret->score + h->slack;
}

/* What no pair changes. */
static double constant_part(const struct stats *base)
{
	double sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		if (metrics[m].kind != METRIC_DEVIATION)
			sum += metrics[m].weight * base->sum[m];
	return sum;
}

/* Note the largest change of a sum, and of squares, that a delta makes. */
static void widest(const struct bound_delta *delta, int r, double *ds,
		   double *dss)
{
	*ds = fmax(*ds, fabs(delta->ds[r]));
	*dss = fmax(*dss, fabs(delta->dss[r]));
}

/* Get ready for may_win().  A mean square is off by the roundings of what it is
 * made of: no value is larger than the squares of all together. */
static void estimates_begin(struct hunt *h)
{
	const struct series *s = h->s;
	double n = h->base.n;

	h->constant = constant_part(&h->base);
	h->n_rows = 0;
	for (int r = 0; r < BOUND_ROWS; r++) {
		double sum = h->base.sum[bound_metrics[r]];
		double var = h->base.var[bound_metrics[r]];
		double weight = metrics[bound_metrics[r]].weight;
		double ds = 0, dss = 0, squares, off;

		for (int i = 0; i < s->candidates->n; i++) {
			widest(&s->primary[i], r, &ds, &dss);
			widest(&s->secondary[i], r, &ds, &dss);
		}
		if (ds == 0 && dss == 0) {
			h->constant += weight * sqrt(var);
			continue;
		}
		squares = n * var + sum * sum / n + 2 * dss;
		off = 64 * DBL_EPSILON *
		      (squares / n + 4 * fabs(sum) * ds / (n * n) + var);
		h->rows[h->n_rows++] = (struct row){.r = r,
						    .least = var - off,
						    .sum = 2 * sum,
						    .weight = weight};
	}
}

/* Whether strangers may be as good as the best so far.  The deltas of both
 * nodes add up to what the pair does, but for location tags that they have in
 * common, which only raise the score.  That is much cheaper than the score
 * itself. */
static bool may_win(const struct hunt *h, int i, int j)
{
	const struct bound_delta *a = &h->s->primary[i],
				 *b = &h->s->secondary[j];
	double total = h->constant + a->linear + b->linear;
	double n = h->base.n, nn = n * n;

	if (!h->ret->found)
		return true;
	for (int k = 0; k < h->n_rows; k++) {
		const struct row *row = &h->rows[k];
		double ds = a->ds[row->r] + b->ds[row->r];
		double dss = a->dss[row->r] + b->dss[row->r];
		double var = row->least + (n * dss - (row->sum + ds) * ds) / nn;

		total += row->weight * sqrt(var > 0 ? var : 0);
	}
	return total <= h->ret->score + h->slack;
}

/* The score of a pair as place_pairs() computes it; false if it cannot be. */
static bool compute(const struct hunt *h, int primary, int secondary,
		    double *ret_score)
{
	const struct place *p = h->s->p;
	const struct node *a = &p->c->nodes[primary];
	const struct node *b = &p->c->nodes[secondary];
	struct node_state before_a = a->s, before_b = b->s;
	struct stats stats = h->base;
	size_t mark = change_mark(p->c);
	bool ok;

	p->inst->primary = primary;
	p->inst->secondary = NO_INDEX;
	p->inst->location = 0;
	place_add_primary(p, primary);
	score_replace(&stats, a, &before_a, &a->s);
	ok = change_add_secondary(p->c, secondary, p->inst, p->index, primary,
				  CHANGE_STRICT) == FAIL_NONE;
	score_replace(&stats, b, &before_b, &b->s);
	stats.sum[METRIC_LOCATION_TAGS] = score_location_tags(p->c, p->scope);
	stats.sum[METRIC_LOCATION] +=
		tagset_common(&a->locations, &b->locations);
	change_undo(p->c, mark);
	*ret_score = score_total(&stats);
	return ok;
}

/* Of equal pairs the later primary wins, then the later secondary. */
static void offer(const struct hunt *h, int primary, int secondary)
{
	struct solution *best = h->ret;
	bool later = primary > best->primary ||
		     (primary == best->primary && secondary > best->secondary);
	double score;

	if (!compute(h, primary, secondary, &score))
		return;
	if (best->found &&
	    !(score < best->score || (score == best->score && later)))
		return;
	best->found = true;
	best->primary = primary;
	best->secondary = secondary;
	best->score = score;
}

static int64_t memory_kept(const struct series *s, int i, int primary)
{
	const struct node *n = &s->p->c->nodes[s->candidates->items[i]];

	return counts_get(&n->peers, primary);
}

/* A class of secondaries with the primary at i, when they are strangers. */
static void try_strangers(struct hunt *h, int i, struct series_class *class)
{
	struct series *s = h->s;
	int primary = s->candidates->items[i], j = class->secondary;

	if (class->met_stranger == s->met ||
	    !promising(h, s->bound_primary[i], s->bound_secondary[j]) ||
	    s->p->c->nodes[primary].group !=
		    s->p->c->nodes[s->candidates->items[j]].group)
		return;
	while (j != NO_INDEX && (j == i || memory_kept(s, j, primary) != 0))
		j = s->next_secondary[j];
	if (j == NO_INDEX)
		return;
	class->met_stranger = s->met;
	if (may_win(h, i, j))
		offer(h, primary, s->candidates->items[j]);
}

/* A secondary that keeps memory for the primary at i already. */
static void try_peer(struct hunt *h, int i, int j)
{
	struct series *s = h->s;
	struct series_class *class = &s->classes[s->class[j]];
	int primary = s->candidates->items[i];
	int64_t memory = memory_kept(s, j, primary);

	if (j == i || memory == 0 || s->why_secondary[j] != FAIL_NONE ||
	    !promising(h, s->bound_primary[i], s->bound_secondary[j]) ||
	    s->p->c->nodes[primary].group !=
		    s->p->c->nodes[s->candidates->items[j]].group)
		return;
	if (class->met_peer == s->met && class->met_memory == memory &&
	    class->met_primary != primary)
		return;
	class->met_peer = s->met;
	class->met_memory = memory;
	class->met_primary = primary;
	offer(h, primary, s->candidates->items[j]);
}

/* All secondaries of the primary at i that may be as good as the best. */
static void hunt_row(struct hunt *h, int i)
{
	struct series *s = h->s;
	const struct cluster *c = s->p->c;
	const struct ilist *l = &c->nodes[s->candidates->items[i]].primaries;

	for (int k = 0; k < s->n_used; k++) {
		struct series_class *class = &s->classes[s->used[k]];

		if (class->secondary != NO_INDEX)
			try_strangers(h, i, class);
	}
	for (int k = 0; k < l->n; k++) {
		int node = c->instances[l->items[k]].secondary;

		if (node != NO_INDEX && s->position[node] >= 0)
			try_peer(h, i, s->position[node]);
	}
}

/* Sort what comes into question into its classes, the last first. */
static void sort_out(struct hunt *h)
{
	struct series *s = h->s;

	for (int k = 0; k < s->n_used; k++) {
		struct series_class *class = &s->classes[s->used[k]];

		class->primary = class->secondary = NO_INDEX;
	}
	s->n_used = 0;
	for (int i = 0; i < s->candidates->n; i++) {
		struct series_class *class = &s->classes[s->class[i]];
		bool primary =
			s->why_primary[i] == FAIL_NONE &&
			promising(h, s->bound_primary[i], h->low_secondary);
		bool secondary =
			s->why_secondary[i] == FAIL_NONE &&
			promising(h, h->low_primary, s->bound_secondary[i]);

		if ((primary || secondary) && class->primary == NO_INDEX &&
		    class->secondary == NO_INDEX)
			s->used[s->n_used++] = s->class[i];
		if (primary) {
			s->next_primary[i] = class->primary;
			class->primary = i;
		}
		if (secondary) {
			s->next_secondary[i] = class->secondary;
			class->secondary = i;
		}
	}
}

/* The primary that promises most. */
static int most_promising(const struct series *s)
{
	int best = NO_INDEX;

	for (int i = 0; i < s->candidates->n; i++)
		if (s->why_primary[i] == FAIL_NONE &&
		    (best == NO_INDEX ||
		     s->bound_primary[i] < s->bound_primary[best]))
			best = i;
	return best;
}

static bool any_possible(const struct series *s)
{
	bool primary = false, secondary = false;

	for (int i = 0; i < s->candidates->n; i++) {
		primary = primary || s->why_primary[i] == FAIL_NONE;
		secondary = secondary || s->why_secondary[i] == FAIL_NONE;
	}
	return primary && secondary;
}

/* Bounds for the present state; false if they mean nothing. */
static bool begin(struct hunt *h)
{
	struct series *s = h->s;

	series_look(s);
	score_stats(s->p->c, s->p->scope, &h->base);
	h->total = score_total(&h->base);
	h->slack = 2 * score_tolerance(&h->base) + DBL_EPSILON;
	if (!weigh(h))
		return false;
	estimates_begin(h);
	return true;
}

bool series_best(struct series *s, struct solution *ret)
{
	struct hunt h = {.s = s, .ret = ret};

	*ret = (struct solution){0};
	if (!any_possible(s))
		return true;
	if (!begin(&h))
		return false;
	sort_out(&h);
	s->met++;
	hunt_row(&h, most_promising(s));
	sort_out(&h); /* now against a score */
	for (int k = 0; k < s->n_used; k++) {
		int i = s->classes[s->used[k]].primary;

		s->met++;
		for (; i != NO_INDEX; i = s->next_primary[i])
			if (promising(&h, s->bound_primary[i], h.low_secondary))
				hunt_row(&h, i);
	}
	return true;
}
