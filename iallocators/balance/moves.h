/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of moves that balancing knows, and what a user may ask of them. */
#ifndef IALLOCATORS_BALANCE_MOVES_H
#define IALLOCATORS_BALANCE_MOVES_H

#include <stdbool.h>
#include <stdint.h>

enum balance_move {
	MOVE_FAILOVER,
	MOVE_FAILOVER_TO,
	MOVE_R,	  /* replace the secondary */
	MOVE_RF,  /* replace it and fail over to it */
	MOVE_FRF, /* a new primary */
	MOVE_FR,  /* fail over, replace the secondary */
	BALANCE_MOVES
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

#endif
