/* SPDX-License-Identifier: BSD-2-Clause */
/* What all moves of all instances promise, kept while moves are made.
 *
 * There are as many moves as instances times nodes, far too many to try all at
 * each step.  But what a move takes away depends on the instance only, and
 * what it adds on the target and the size of the instance only.  Both halves
 * are kept, and after a step only those are computed anew that have to do with
 * the nodes it changed.  Their sum is a lower bound of the score (bound.h), so
 * most moves need never be tried.
 */
#ifndef IALLOCATORS_BALANCE_OUTLOOK_H
#define IALLOCATORS_BALANCE_OUTLOOK_H

#include "iallocators/balance/moves.h"
#include "iallocators/model/model.h"
#include "iallocators/model/bound.h"

struct outlook_row;
struct outlook_table;

struct outlook {
	struct cluster *c;
	const struct nodeset *nodes;
	const struct balance_options *o;
	struct outlook_row *rows; /* by instance and move */
	struct outlook_table *tables;
	int n_tables, cap_tables;
	struct table classes; /* what looks alike, to its tables */
	struct slopes slopes;
	struct counts tags_all; /* (location, exclusion tag), all nodes */
	bool certain;		/* false: the bounds say nothing */
};

/* c, nodes and the options are kept, and must live longer. */
void outlook_init(struct outlook *l, struct cluster *c,
		  const struct nodeset *nodes, const struct balance_options *o);
void outlook_done(struct outlook *l);

/* Look at the state before a step; stats are its statistics. */
void outlook_weigh(struct outlook *l, const struct stats *stats);

/* At least so much the best of these moves adds to the score; HUGE_VAL if
 * there is none. */
double outlook_row_bound(const struct outlook *l, int instance,
			 enum balance_move move);

/* The targets, by their position among the nodes, whose bound is at most
 * limit, which is not above zero; *ret has room for all nodes.  For
 * MOVE_FAILOVER there is one. */
int outlook_targets(const struct outlook *l, int instance,
		    enum balance_move move, double limit, int *ret);

/* A step has changed these nodes. */
void outlook_changed(struct outlook *l, const int *nodes, int n);

#endif
