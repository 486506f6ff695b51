/* SPDX-License-Identifier: BSD-2-Clause */
/* Global N+1: whether any one node could be emptied.
 *
 * To ask for every candidate place of an instance, redundancy_look() looks at
 * the cluster once; most questions are then answered without a simulation.
 */
#ifndef IALLOCATORS_NPLUS1_REDUNDANCY_H
#define IALLOCATORS_NPLUS1_REDUNDANCY_H

#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "iallocators/nplus1/slots.h"

struct redundancy {
	struct cluster *c;
	const struct nodeset *nodes;
	bool accept_offline; /* these need not be emptied */
	bool looked;	     /* what follows is known */
	int changing;	     /* so many nodes change before the question */
	bool never;	     /* nothing that is added can help */
	int culprit;	     /* then: because of this node */
	int64_t *most;	     /* by node: the most memory that one other node
				would move here; -1: none would move any */
	struct need *needs;  /* by node: of what leaves it */
	struct slot_table slots;
	bool *easy; /* by node: emptied whatever is added once */
	int *hard;  /* the others; the last to fail first */
	int n_hard;
	bool has_exclusive;
};

/* The nodes are kept. */
void redundancy_init(struct redundancy *r, struct cluster *c,
		     const struct nodeset *nodes,
		     const struct place_options *o);
/* Look, if that has not been done, at the state that questions start from. */
void redundancy_look(struct redundancy *r);
void redundancy_done(struct redundancy *r);

/* Whether all is redundant after inst has been put on its primary and
 * secondary (or NO_INDEX), stored under index and all. */
bool redundancy_with(struct redundancy *r, const struct instance *inst);

/* Whether each node of the set can be evacuated onto others of its group that
 * are in the set; by simulation where that is necessary. */
bool redundancy_holds(struct cluster *c, const struct nodeset *nodes,
		      const struct place_options *o);

/* The same for one node. */
bool redundancy_of_node(struct cluster *c, const struct nodeset *nodes,
			int node);

#endif
