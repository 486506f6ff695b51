/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold after an instance has been placed: that each node could be
 * emptied (N+1), and that its group could lose the nodes that its policy lets
 * it lose. */
#ifndef IALLOCATORS_PLACE_PROMISES_H
#define IALLOCATORS_PLACE_PROMISES_H

#include "iallocators/model/survival.h"
#include "iallocators/nplus1/redundancy.h"
#include "iallocators/nplus1/tracker.h"
#include "iallocators/place/place.h"

struct promises {
	struct redundancy redundancy;
	struct tracker *tracker; /* asked instead, unless NULL */
	struct survival survival;
};

/* Look at the cluster before the instance comes, for places in one group. */
void promises_init(struct promises *promises, const struct place *p, int group);
void promises_done(struct promises *promises);

/* Whether each of them holds with the instance there; if not it is told to
 * --explain, and one that could not lose nodes is counted in s. */
bool promises_redundant(struct promises *promises, const struct place *p,
			int primary, int secondary);
bool promises_survive(struct promises *promises, const struct place *p,
		      int primary, int secondary, struct solution *s);
bool promises_hold(struct promises *promises, const struct place *p,
		   int primary, int secondary, struct solution *s); /* both */

/* Check what --explain has kept as the best places. */
void promises_explain(struct promises *promises, const struct place *p);

#endif
