/* SPDX-License-Identifier: BSD-2-Clause */
/* Global N+1: whether any one node could be emptied. */
#ifndef IALLOCATORS_REDUNDANCY_H
#define IALLOCATORS_REDUNDANCY_H

#include "iallocators/model.h"
#include "iallocators/place.h"

/* Whether each node of the set can be evacuated onto others of its group that
 * are in the set. */
bool redundancy_holds(struct cluster *c, const struct nodeset *nodes,
		      const struct place_options *o);

/* The same for one node. */
bool redundancy_of_node(struct cluster *c, const struct nodeset *nodes,
			int node);

#endif
