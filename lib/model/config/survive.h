/* SPDX-License-Identifier: BSD-2-Clause */
/* Can a node group lose some of its nodes, so that each instance that can be
 * started elsewhere still finds a place?
 *
 * Works on numbers in flat arrays, without names: for the master, which checks
 * placements, and for allocators, which choose them.  Instances on storage that
 * all nodes see can go to any node, mirrored ones to their secondary.
 * Instances whose storage is lost (it is on one node only, or both nodes of the
 * mirror are lost) do not count, since no spare capacity can bring them back.
 * The largest instances are placed first, each by best fit: a placement that
 * this finds is valid, but sometimes it misses one that exists. */
#ifndef MODEL_CONFIG_SURVIVE_H
#define MODEL_CONFIG_SURVIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The secondary of instances that have none: any node will do, or none can. */
#define SURVIVE_ANYWHERE (SIZE_MAX - 1)
#define SURVIVE_NOWHERE SIZE_MAX

#define SURVIVE_LOSSES_MAX 16

/* At most so many sets of lost nodes are tried.  When there are more (two of 91
 * nodes, three of 30), only the nodes with the most instances and memory are
 * lost. */
#define SURVIVE_SETS_MAX 4096

struct survive_node {
	int64_t memory; /* MiB for instances, guaranteed */
	double vcpus;	/* virtual CPUs that the policy's ratio allows */
	bool lost;	/* already: its instances need a place anyway */
	bool closed;	/* it takes no instances of other nodes */
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
