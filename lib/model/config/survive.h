/* SPDX-License-Identifier: BSD-2-Clause */
/* Can a node group lose some of its nodes, and every instance that can be
 * started elsewhere still finds a place?
 *
 * Numbers in flat arrays, no names: for the master, which checks placements,
 * and for allocators, which choose them.  Instances whose storage all nodes
 * see go to any node, mirrored ones to their secondary; those with storage on
 * one node only, and mirrored ones that lose both, are not counted: no spare
 * capacity could bring them back.  Places are sought largest instance first,
 * best fit: what this finds exists, now and then it misses one. */
#ifndef MODEL_CONFIG_SURVIVE_H
#define MODEL_CONFIG_SURVIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instances without a secondary: any node, or none. */
#define SURVIVE_ANYWHERE (SIZE_MAX - 1)
#define SURVIVE_NOWHERE SIZE_MAX

#define SURVIVE_LOSSES_MAX 16

/* Sets of lost nodes that are tried.  Where there are more (two of 91 nodes,
 * three of 30), those of the nodes that carry and offer most. */
#define SURVIVE_SETS_MAX 4096

struct survive_node {
	int64_t memory; /* MiB for instances, guaranteed */
	double vcpus;	/* virtual CPUs that the policy's ratio allows */
	bool lost;	/* already: its instances need a place in any case */
	bool closed;	/* takes no instance of others */
};

struct survive_instance {
	int64_t memory, vcpus;
	size_t node, secondary; /* indices */
};

struct survive_group {
	const struct survive_node *nodes;
	size_t n_nodes;
	const struct survive_instance *instances;
	size_t n_instances;
};

/* The set of lost nodes that leaves most instances without a place. */
struct survive_loss {
	size_t nodes[SURVIVE_LOSSES_MAX];
	size_t n_nodes;
	bool *homeless; /* n_instances, the caller's, cleared at first */
	size_t n_homeless;
};

/* Whether every set of at most `failures` nodes can be lost; *ret says which
 * cannot. */
bool survive(const struct survive_group *group, size_t failures,
	     struct survive_loss *ret);

#endif
