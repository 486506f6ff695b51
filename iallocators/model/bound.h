/* SPDX-License-Identifier: BSD-2-Clause */
/* How little a change can raise a score: a lower bound that can be added up
 * from parts.
 *
 * A move takes an instance off some nodes and puts it on another.  What both
 * halves do to the sums behind the score is known apart; the score itself is
 * not a sum, for a deviation is a root.  Roots are concave, so that straight
 * lines below them bound the score from below, and these do add up:
 * bound(a) + bound(b) is never more than what a and b together do.
 */
#ifndef IALLOCATORS_MODEL_BOUND_H
#define IALLOCATORS_MODEL_BOUND_H

#include "iallocators/model/model.h"
#include "iallocators/model/score.h"

/* The metrics that are deviations, in the order of the table of metrics. */
#define BOUND_ROWS 13
extern const enum metric bound_metrics[BOUND_ROWS];

/* A part of a change. */
struct half {
	double ds[BOUND_ROWS];	/* change of the sum of the values */
	double dss[BOUND_ROWS]; /* of the sum of their squares */
	double linear;		/* of the metrics that are sums, weighted */
	bool finite;
};

/* What has changed within the scope since the mark; the metric of location
 * and exclusion tags is left out. */
void half_since(struct half *ret, const struct cluster *c,
		const struct nodeset *scope, size_t mark);

/* The lines for one state of the cluster. */
struct slopes {
	double n, sum[BOUND_ROWS], var[BOUND_ROWS];
	double low[BOUND_ROWS], high[BOUND_ROWS]; /* seen changes of var */
	double fall[BOUND_ROWS], rise[BOUND_ROWS];
	double low_linear;
};

/* With the statistics of the state: start to look at halves, */
void slopes_begin(struct slopes *s, const struct stats *stats);
/* note the extremes of two such summaries (a half of either kind), */
struct extremes {
	double low[BOUND_ROWS], high[BOUND_ROWS], low_linear;
};
void extremes_see(struct extremes *e, const struct slopes *s,
		  const struct half *half);
/* and take the lines for sums of one half from each.  Of such as add more than
 * `most` to the score the bound may be anything above that. */
void slopes_end(struct slopes *s, const struct extremes *a,
		const struct extremes *b, double most);

/* At least so much the half adds to the score. */
double slopes_bound(const struct slopes *s, const struct half *half);

/* Whether it cannot lower the score when a node has to keep more memory for a
 * peer than a half says. */
bool slopes_reserve_costs(const struct slopes *s);

#endif
