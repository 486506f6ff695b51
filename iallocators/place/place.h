/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a new instance goes: every candidate node, or pair of nodes, is tried
 * and the one with the best score wins; of equal ones the later. */
#ifndef IALLOCATORS_PLACE_PLACE_H
#define IALLOCATORS_PLACE_PLACE_H

#include "iallocators/model/change.h"
#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "iallocators/place/solution.h"
#include "lib/base/error.h"

struct promises;

/* An instance to place; inst is stored at c->instances[index]. */
struct place {
	struct cluster *c;
	struct instance *inst; /* primary, secondary and location are ours */
	int index;
	int required_nodes;
	const struct nodeset *scope; /* the score is theirs, and redundancy */
	const struct place_options *options;
	/* The instance exists, and redundancy is checked with its old record.
	 */
	bool keeps_record;
	bool *ret_unsound; /* set for DRBD on one node; or NULL */
};

/* The best of the candidates, an empty solution if there is none; the cluster
 * is as before.  -1 when the candidates cannot be tried at all. */
int place_ordinary(const struct place *p, const struct nodeset *candidates,
		   struct solution *ret, struct error *err);
int place_dedicated(const struct place *p, const struct nodeset *candidates,
		    struct solution *ret, struct error *err);

/* Whether there are enough candidates for the nodes that it requires. */
int place_check_count(const struct place *p, const struct nodeset *candidates,
		      struct error *err);

/* The parts of place_ordinary(). */
void place_singles(const struct place *p, struct promises *promises,
		   const struct nodeset *candidates, struct solution *ret);
void place_pairs(const struct place *p, struct promises *promises,
		 const struct nodeset *candidates, struct solution *ret);

/* For one given primary and each of the secondaries. */
void place_secondary(const struct place *p, int primary,
		     const struct nodeset *secondaries, struct solution *ret);

/* Policy, then the primary itself. */
enum fail place_add_primary(const struct place *p, int node);

/* Put the instance there, unchecked; it can be taken back. */
void place_put(const struct place *p, int primary, int secondary);

/* Put the instance where the solution says.  It cannot be taken back, and
 * nothing is checked: who made the solution has done that. */
void place_apply(const struct place *p, const struct solution *s);

/* Why a node that is offline is that. */
enum refusal_kind place_why_offline(const struct node *n);

/* The candidates of a group: online and not excluded by a restriction. */
struct nodeset place_candidates(struct cluster *c, int group,
				const struct place_options *o);

#endif
