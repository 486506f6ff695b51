/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of a placement: where the instance goes and how good that is, or
 * why it goes nowhere. */
#ifndef IALLOCATORS_PLACE_SOLUTION_H
#define IALLOCATORS_PLACE_SOLUTION_H

#include "iallocators/model/model.h"
#include "lib/base/str.h"

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

#endif
