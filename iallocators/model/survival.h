/* SPDX-License-Identifier: BSD-2-Clause */
/* max-node-failures: whether a group could still lose that many nodes with a
 * new instance in it, asked of many places one after the other.
 *
 * The meaning is that of lib/model/config/survive.h.  What mirrored instances
 * need is known for each node beforehand (those of the worst nodes to lose fail
 * over to it), so most questions cost as much as a node has peers; only where
 * instances on shared storage may not find a place, survive() itself is asked.
 */
#ifndef IALLOCATORS_MODEL_SURVIVAL_H
#define IALLOCATORS_MODEL_SURVIVAL_H

#include "iallocators/model/model.h"

struct survival_node;
struct survive_node;
struct survive_instance;

struct survival {
	const struct cluster *c;
	const struct group *group;
	int failures; /* 0: nothing is promised, all that follows is unset */
	bool never;   /* the promise is broken already: */
	struct refusal broken;
	struct survival_node *nodes;	/* by position in the group */
	int *position;			/* of a node there, or -1 */
	int n_anywhere;			/* instances on shared storage */
	int64_t most_memory, most_cpus; /* of one of these */
	/* The same for survive(), with space for one more instance. */
	struct survive_node *flat_nodes;
	struct survive_instance *flat;
	size_t n_flat;
};

/* Look at the group as it is.  The promise is that of its policy, unless
 * `failures` is not negative. */
void survival_init(struct survival *s, const struct cluster *c, int group,
		   int failures);
void survival_done(struct survival *s);

/* Whether the promise holds with inst, which is not yet there, on these nodes
 * (secondary may be NO_INDEX); otherwise *ret_why. */
bool survival_with(const struct survival *s, const struct instance *inst,
		   int primary, int secondary, struct refusal *ret_why);

/* Whether the group as it is keeps the promise of its policy. */
bool survival_holds(const struct cluster *c, int group);

#endif
