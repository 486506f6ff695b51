/* SPDX-License-Identifier: BSD-2-Clause */
/* Balancing a group: the best move of all, again and again. */
#ifndef IALLOCATORS_BALANCE_BALANCE_H
#define IALLOCATORS_BALANCE_BALANCE_H

#include "iallocators/balance/moves.h"
#include "iallocators/model/model.h"
#include "lib/base/str.h"

struct balance_step {
	int instance;
	enum balance_move move;
	int target;
	int old_primary, old_secondary, new_primary, new_secondary;
	double score; /* afterwards */
	double cost;  /* as cost.h has it */
};

/* The score below which memory kept for N+1 lets no cluster come. */
double balance_bound(const struct cluster *c, const struct nodeset *nodes);

/* All steps, as long as they gain something beyond their price, and leave a
 * group that can lose as many nodes as its policy says able to do so;
 * *ret_steps is to be freed.  They can be taken back (change.h). */
int balance_run(struct cluster *c, const struct nodeset *nodes,
		const struct balance_options *o,
		struct balance_step **ret_steps);

/* "r:node f" */
void balance_describe(const struct cluster *c, const struct balance_step *s,
		      struct buf *out);

#endif
