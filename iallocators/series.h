/* SPDX-License-Identifier: BSD-2-Clause */
/* Many instances of one size, one after the other, each on the best pair of
 * nodes.
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
	int n_classes;
	int *class; /* by position: those of one class are alike in all bits */
	int *met;   /* by class */
	int cap_met;
};

/* p and candidates are kept; p->inst is of the size. */
void series_init(struct series *s, const struct place *p,
		 const struct nodeset *candidates);
void series_done(struct series *s);

/* The best pair, without counts of successes and failures; false if that
 * cannot be told. */
bool series_best(struct series *s, struct solution *ret);

/* How many pairs would do, and why others would not. */
void series_count(struct series *s, struct solution *ret);

/* An instance has come to these nodes. */
void series_placed(struct series *s, int primary, int secondary);

#endif
