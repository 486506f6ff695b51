/* SPDX-License-Identifier: BSD-2-Clause */
/* Global N+1: whether any one node could be emptied.
 *
 * To ask for every candidate place of an instance, redundancy_init() looks at
 * the cluster once; most questions are then answered without a simulation.
 */
#ifndef IALLOCATORS_REDUNDANCY_H
#define IALLOCATORS_REDUNDANCY_H

#include "iallocators/model.h"
#include "iallocators/place.h"

struct redundancy {
	struct cluster *c;
	const struct nodeset *nodes;
	int changing;  /* so many nodes change before the question */
	bool never;    /* nothing that is added can help */
	int culprit;   /* then: because of this node */
	int64_t *most; /* by node: the most memory that one other node
			  would move here; -1: none would move any */
	int *hard;     /* nodes that have to be simulated */
	int n_hard;
};

void redundancy_init(struct redundancy *r, struct cluster *c,
		     const struct nodeset *nodes,
		     const struct place_options *o);
void redundancy_done(struct redundancy *r);

/* Whether all is redundant after inst has been put on its primary and
 * secondary (or NO_INDEX), stored under index and all. */
bool redundancy_with(const struct redundancy *r, const struct instance *inst);

/* Whether each node of the set can be evacuated onto others of its group that
 * are in the set; by simulation where that is necessary. */
bool redundancy_holds(struct cluster *c, const struct nodeset *nodes,
		      const struct place_options *o);

/* The same for one node. */
bool redundancy_of_node(struct cluster *c, const struct nodeset *nodes,
			int node);

#endif
