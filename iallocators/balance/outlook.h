/* SPDX-License-Identifier: BSD-2-Clause */
/* Lower bounds of what all moves of all instances add to the score, kept while
 * moves are made.
 *
 * There are as many moves as instances times nodes, far too many to try all of
 * them at each step.  But a move has two parts: what it takes away depends only
 * on the instance, and what it adds depends only on the target and on the size
 * of the instance.  The deltas of both parts are kept.  After a step only those
 * are computed anew that have to do with the nodes that it changed.  The bounds
 * of both parts add up to a bound of the move (bound.h), so most moves need
 * never be tried.
 */
#ifndef IALLOCATORS_BALANCE_OUTLOOK_H
#define IALLOCATORS_BALANCE_OUTLOOK_H

#include "iallocators/balance/moves.h"
#include "iallocators/model/bound.h"
#include "iallocators/model/model.h"

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
	struct bound bound;
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
 * limit, which is not above zero; *ret holds as many as there are nodes.  For
 * MOVE_FAILOVER there is one. */
int outlook_targets(const struct outlook *l, int instance,
		    enum balance_move move, double limit, int *ret);

/* A step has changed these nodes. */
void outlook_changed(struct outlook *l, const int *nodes, int n);

#endif
