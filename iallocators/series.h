/* SPDX-License-Identifier: BSD-2-Clause */
/* Many instances of one size, one after the other, each on the best node or
 * pair of nodes.
 *
 * What the instance does to a node as primary and as secondary is kept, and
 * computed anew only for the two nodes of the last one placed; bounds of the
 * score (bound.h) say which pairs are worth a look.  The answers are those of
 * place_pairs() without checks of redundancy, which tries all.
 */
#ifndef IALLOCATORS_SERIES_H
#define IALLOCATORS_SERIES_H

#include "iallocators/bound.h"
#include "iallocators/place.h"

/* Candidates that are alike in all bits of what the score sees, during one
 * search. */
struct series_class {
	int primary, secondary; /* the last to come into question */
	/* The class of the primary it was last computed with: as a stranger to
	 * it; as its peer, with so much memory kept for it, and which one. */
	unsigned met_stranger, met_peer;
	int64_t met_memory;
	int met_primary;
};

struct series {
	const struct place *p;
	const struct nodeset *candidates; /* of any groups */
	int *position;			  /* by node: among these, or -1 */
	enum fail *why_primary, *why_secondary; /* by position */
	bool looked;				/* what follows is known */
	struct half *primary, *secondary;
	double *bound_primary, *bound_secondary;
	int *seen;
	struct table alike; /* key of what it does, to class + 1 */
	struct series_class *classes;
	int n_classes, cap_classes;
	int *class;			    /* by position */
	int *next_primary, *next_secondary; /* by position: of its class */
	int *used; /* classes that come into question */
	int n_used;
	unsigned met; /* classes of primaries so far */
};

/* p and candidates are kept; p->inst is of the size. */
void series_init(struct series *s, const struct place *p,
		 const struct nodeset *candidates);
void series_done(struct series *s);

/* The best pair, without counts of successes and failures; false if that
 * cannot be told. */
bool series_best(struct series *s, struct solution *ret);

/* On one node: the candidates among which the best one is; false if that cannot
 * be told.  *ret->items has room for all. */
bool series_narrow(struct series *s, struct nodeset *ret);

/* How many pairs would do, and why others would not. */
void series_count(struct series *s, struct solution *ret);

/* An instance has come to these nodes (secondary may be NO_INDEX). */
void series_placed(struct series *s, int primary, int secondary);

/* For the searches alone: what the instance does to all candidates. */
void series_look(struct series *s);

#endif
