/* SPDX-License-Identifier: BSD-2-Clause */
/* A lower bound of what a change adds to the score, made of the bounds of its
 * parts.
 *
 * A move has two parts: an instance leaves some nodes, and it comes to another
 * one.  What each part does to the sums behind the score (its delta) is known
 * without the other part.  The score is not a sum, because a deviation is a
 * square root.  But a square root is concave: the chord between two points lies
 * below it.  A chord is a straight line, so its values can be added.  Therefore
 * bound(a) + bound(b) is never more than what a and b together add to the
 * score.
 */
#ifndef IALLOCATORS_MODEL_BOUND_H
#define IALLOCATORS_MODEL_BOUND_H

#include "iallocators/model/model.h"
#include "iallocators/model/score.h"

/* The metrics that are deviations, in the order of the table of metrics. */
#define BOUND_ROWS 13
extern const enum metric bound_metrics[BOUND_ROWS];

/* What a part of a change does. */
struct bound_delta {
	double ds[BOUND_ROWS];	/* change of the sum of the values */
	double dss[BOUND_ROWS]; /* change of the sum of their squares */
	double linear; /* weighted change of the metrics that are sums */
	bool finite;   /* all of these are numbers */
};

/* The delta of what has changed within the scope since the mark.  It leaves out
 * the metric of location and exclusion tags, which is no sum over nodes. */
void bound_delta(struct bound_delta *ret, const struct cluster *c,
		 const struct nodeset *scope, size_t mark);

/* The chords for one state of the cluster: their slopes where the mean square
 * falls and where it rises. */
struct bound {
	double n, sum[BOUND_ROWS], var[BOUND_ROWS];
	double low[BOUND_ROWS], high[BOUND_ROWS]; /* extreme changes of var */
	double fall[BOUND_ROWS], rise[BOUND_ROWS];
};

/* The extreme changes that a set of deltas makes. */
struct bound_extremes {
	double low[BOUND_ROWS], high[BOUND_ROWS];
};

/* Make the chords in three steps.  First: take the statistics of the state. */
void bound_begin(struct bound *s, const struct stats *stats);
/* Second: show each delta, of either part, to the extremes of its part. */
void bound_see(struct bound_extremes *e, const struct bound *s,
	       const struct bound_delta *delta);
/* Third: make the chords, for changes of which a has one part and b the other.
 */
void bound_end(struct bound *s, const struct bound_extremes *a,
	       const struct bound_extremes *b);

/* The least that a part with this delta adds to the score. */
double bound_of(const struct bound *s, const struct bound_delta *delta);

/* Whether the bounds also hold when a node has to reserve more memory for a
 * peer than the delta says: more reserved memory must not lower the score. */
bool bound_reserve_costs(const struct bound *s);

#endif
