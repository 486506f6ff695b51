/* SPDX-License-Identifier: BSD-2-Clause */
/* max-node-failures while a cluster fills up: each group as it is, kept until
 * something changes there.  Private to capacity*.c. */
#ifndef IALLOCATORS_CAPACITY_CAPACITY_SURVIVAL_H
#define IALLOCATORS_CAPACITY_CAPACITY_SURVIVAL_H

#include "iallocators/model/survival.h"

struct group_survival {
	bool known;
	struct survival survival;
};

struct survivals {
	struct cluster *c;
	struct group_survival *groups; /* from the cluster's arena */
};

/* c is kept, and must live longer. */
void survivals_init(struct survivals *s, struct cluster *c);
void survivals_done(struct survivals *s);

/* Whether any group promises to survive the loss of nodes. */
bool survivals_promised(const struct survivals *s);

/* Whether the group of the nodes keeps its promise with the instance, which is
 * not yet there, on them (secondary may be NO_INDEX).  What breaks the promise
 * now also breaks it after more instances have been placed. */
bool survivals_hold(struct survivals *s, const struct instance *inst,
		    int primary, int secondary);

/* The group as it is, good until something changes there. */
const struct survival *survivals_of_group(struct survivals *s, int group);

/* An instance has come to the node, or has been taken off it; */
void survivals_changed(struct survivals *s, int node);
/* everything has changed. */
void survivals_forget(struct survivals *s);

#endif
