/* SPDX-License-Identifier: BSD-2-Clause */
/* Many instances of one size, one after the other, each on the best node or
 * pair of nodes.
 *
 * What the instance does to a node as primary and as secondary is kept, and
 * computed anew only for the two nodes of the last one placed; bounds of the
 * score (bound.h) say which pairs are worth a look.  The answers are those of
 * place_pairs() without checks of redundancy, which tries all.
 */
#ifndef IALLOCATORS_PLACE_SERIES_H
#define IALLOCATORS_PLACE_SERIES_H

#include "iallocators/model/bound.h"
#include "iallocators/place/place.h"

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

struct singles;

struct series {
	const struct place *p;
	const struct nodeset *candidates; /* of any groups */
	int *position;			  /* by node: among these, or -1 */
	enum fail *why_primary, *why_secondary; /* by position */
	enum fail *policy; /* by group: what it says about the instance */
	bool has_exclusive;
	bool *refused; /* by position: not in question, for another reason */
	bool looked;   /* what follows is known */
	struct bound_delta *primary, *secondary;
	double *bound_primary, *bound_secondary;
	int *seen;
	struct table alike; /* key of what it does, to class + 1 */
	struct series_class *classes;
	int n_classes, cap_classes;
	int *class;			    /* by position */
	int *next_primary, *next_secondary; /* by position: of its class */
	int *used; /* classes that come into question */
	int n_used;
	unsigned met;		 /* classes of primaries so far */
	struct singles *singles; /* for one node, or NULL */
};

/* p and candidates are kept; p->inst is of the size. */
void series_init(struct series *s, const struct place *p,
		 const struct nodeset *candidates);
void series_done(struct series *s);

/* The best pair, without counts of successes and failures; false if that
 * cannot be told. */
bool series_best(struct series *s, struct solution *ret);

/* On one node: how many candidates are refused, and why others would not do. */
void series_count_singles(const struct series *s, struct solution *ret);

/* Whether one of them is in question as a primary, by position. */
bool series_possible(const struct series *s, int i);

/* On one node: the best that is in question, of which there has to be one;
 * false if that cannot be told. */
bool series_best_single(struct series *s, int *ret_node);

/* How many pairs would do, and why others would not. */
void series_count(struct series *s, struct solution *ret);

/* An instance has come to a candidate, or has been taken off again. */
void series_changed(struct series *s, int node);

/* p->inst has become smaller, before any search: look again at these positions,
 * where that might help; false if it might help elsewhere, too. */
bool series_shrunk(struct series *s, const int *positions, int n);
/* At all. */
void series_look_again(struct series *s);

/* For the searches alone: what the instance does to all candidates; */
void series_look(struct series *s);
/* and what is kept for one node. */
void series_single_changed(struct series *s, int node);
void series_singles_done(struct series *s);

#endif
