/* SPDX-License-Identifier: BSD-2-Clause */
/* Balancing a group: the best move of all, again and again. */
#ifndef IALLOCATORS_BALANCE_BALANCE_H
#define IALLOCATORS_BALANCE_BALANCE_H

#include "iallocators/model/model.h"
#include "lib/base/str.h"

enum balance_move {
	MOVE_FAILOVER,
	MOVE_FAILOVER_TO,
	MOVE_R,	  /* replace the secondary */
	MOVE_RF,  /* replace it and fail over to it */
	MOVE_FRF, /* a new primary */
	MOVE_FR,  /* fail over, replace the secondary */
	BALANCE_MOVES
};

struct balance_step {
	int instance;
	enum balance_move move;
	int target;
	int old_primary, old_secondary, new_primary, new_secondary;
	double score; /* afterwards */
	double cost;  /* as cost.h has it */
};

struct balance_options {
	bool evac_mode; /* only what touches offline nodes */
	bool no_disk_moves, no_instance_moves, restricted_migration;
	bool ignore_soft_errors;
	int64_t max_steps; /* negative: no limit */
	double min_score;  /* above the bound */
	double min_gain, min_gain_limit;
	double move_price; /* so much a unit of cost takes from the gain */
	bool limit_cost;   /* all steps together cost at most: */
	double max_cost;
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
