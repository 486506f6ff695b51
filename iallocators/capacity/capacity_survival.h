/* SPDX-License-Identifier: BSD-2-Clause */
/* max-node-failures while a cluster fills up: private to capacity*.c. */
#ifndef IALLOCATORS_CAPACITY_CAPACITY_SURVIVAL_H
#define IALLOCATORS_CAPACITY_CAPACITY_SURVIVAL_H

#include "iallocators/capacity/capacity.h"

/* Whether any group promises something. */
bool capacity_promises_failures(const struct capacity *k);

/* Whether the group of the nodes keeps its promise with the instance, which is
 * not yet there, on them (secondary may be NO_INDEX).  What did not stay true
 * will not come true when more is placed. */
bool capacity_survives(struct capacity *k, const struct instance *inst,
		       int primary, int secondary);

/* The group as it is, good until something changes there. */
const struct survival *capacity_survival(struct capacity *k, int group);

/* An instance has come to the node, or has been taken off it; everything has
 * changed. */
void capacity_survival_changed(struct capacity *k, int node);
void capacity_survival_forget(struct capacity *k);

#endif
