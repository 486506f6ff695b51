/* SPDX-License-Identifier: BSD-2-Clause */
/* The exact scores of many states that differ from one in one node each.
 *
 * A sum of doubles depends on their order, so each score has its own sums over
 * all nodes.  But where nodes are alike so are the sums: most of them come to
 * the same double a few nodes behind the one in which they differ, and from
 * there on are one sum.
 */
#ifndef IALLOCATORS_PLACE_TIES_H
#define IALLOCATORS_PLACE_TIES_H

#include "iallocators/model/score.h"

/* Node `node` of the sheet, which is online, with these values. */
struct tie {
	int node;
	const double *values; /* METRIC_COUNT, all numbers */
};

/* The scores, as score_total() of score_sheet_with() would have them.  The
 * nodes ascend. */
void ties_scores(struct score_sheet *sheet, const struct tie *ties, int n,
		 double *ret);

#endif
