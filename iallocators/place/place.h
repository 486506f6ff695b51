/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a new instance goes: every candidate node, or pair of nodes, is tried
 * and the one with the best score wins; of equal ones the later. */
#ifndef IALLOCATORS_PLACE_PLACE_H
#define IALLOCATORS_PLACE_PLACE_H

#include "iallocators/model/change.h"
#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

struct explain;
struct promises;

/* How good a place in a cluster of exclusive storage is: how many instances of
 * each standard size the cluster can take less afterwards, then how much disk
 * is left.  Smaller is better. */
#define LOST_MAX 32
struct lost {
	int64_t counts[LOST_MAX];
	int n;
	int64_t free_disk;
};

struct solution {
	bool found;
	int primary, secondary; /* secondary may be NO_INDEX */
	double score;
	bool dedicated; /* `lost` counts, not score */
	struct lost lost;
	int64_t successes;
	int64_t fails[FAIL_COUNT];
	int64_t unsurvived; /* of FAIL_N1: max-node-failures would not hold */
};

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

/* Take this place if it is not worse than the solution so far. */
void solution_offer(struct solution *s, int primary, int secondary,
		    double score);

/* Whether a is better than b, or equal (so that a, the later, wins). */
bool solution_wins(const struct solution *a, const struct solution *b);

/* "score: ..., successes ..." or "No valid allocation solutions, ..." */
void solution_describe(const struct cluster *c, const struct solution *s,
		       struct buf *out);

/* Its nodes as a JSON list. */
void solution_json(const struct cluster *c, const struct solution *s,
		   struct buf *out);

/* Why a node that is offline is that. */
enum refusal_kind place_why_offline(const struct node *n);

/* The candidates of a group: online and not excluded by a restriction. */
struct nodeset place_candidates(struct cluster *c, int group,
				const struct place_options *o);

#endif
