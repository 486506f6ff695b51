/* SPDX-License-Identifier: BSD-2-Clause */
/* The scores of all pairs of one primary at once.
 *
 * What a secondary changes on a node does not depend on the primary, unless
 * that node is a secondary for it already.  So the changes are computed once,
 * into arrays, and for each primary there is one loop over them without
 * branches.  Every operation is the one that score_replace() and score_total()
 * would do, in their order: the scores are the same to the last bit.
 */
#ifndef IALLOCATORS_PLACE_PAIRS_H
#define IALLOCATORS_PLACE_PAIRS_H

#include "iallocators/model/model.h"
#include "iallocators/model/score.h"

/* The metrics that a secondary can change. */
#define PAIR_ROWS(X)                                                           \
	X(FREE_DISK)                                                           \
	X(N1)                                                                  \
	X(RESERVED_MEM)                                                        \
	X(DISK_LOAD)                                                           \
	X(SPINDLES)                                                            \
	X(FREE_DISK_F)                                                         \
	X(SPINDLES_F)                                                          \
	X(RESERVED_TOTAL)

enum pair_row {
#define X(id) PAIR_##id,
	PAIR_ROWS(X)
#undef X
		PAIR_ROW_COUNT
};

struct pairs {
	struct cluster *c;
	const struct nodeset *nodes; /* the secondaries */
	enum fail *fail;	     /* of each, for a primary that it has
					nothing from yet */
	int64_t fails[FAIL_COUNT];   /* how many of each */
	double *ds[PAIR_ROW_COUNT];  /* new value - old value */
	double *dss[PAIR_ROW_COUNT]; /* difference of the squares */
	bool has_locations;	     /* and the instance counts there */
	double *score;		     /* result of pairs_score() */
	bool finite;		     /* all differences are numbers */
	double *location;	     /* common with the primary; NULL if none */
};

/* Take the present state of the nodes, all of them online.  inst is to be
 * placed by all strict checks. */
void pairs_init(struct pairs *p, struct cluster *c, const struct nodeset *nodes,
		const struct instance *inst, unsigned flags);
void pairs_done(struct pairs *p);

/* Compute score[] with the instance on the primary; stats counts it there
 * already.  For secondaries that fail, the primary itself and those that have
 * the primary as a peer it means nothing. */
void pairs_score(struct pairs *p, int primary, const struct stats *stats);

#endif
