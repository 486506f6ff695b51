/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of the configuration as plain values for placement.  What comes back
 * points into the objects, which the caller has to hold. */
#ifndef MASTERD_ALLOCATOR_IALLOCATOR_CLUSTER_H
#define MASTERD_ALLOCATOR_IALLOCATOR_CLUSTER_H

#include "iallocators/input/build.h"
#include "iallocators/input/jtext.h"
#include "masterd/config/config.h"

/* Whether two cluster objects say the same of nodes, groups and instances. */
bool iallocator_cluster_same(const json_t *a, const json_t *b);

/* The first enabled hypervisor (NULL: there is none); -1 with ERR_REQUEST when
 * one of them is unknown. */
int iallocator_cluster_hypervisor(const json_t *cluster, const char **ret,
				  struct error *err);

/* A group with its filled policy; lists come from the arena.  -1 with
 * ERR_REQUEST where the policy cannot be used. */
int iallocator_cluster_group(const struct config *c, const char *uuid,
			     struct arena *a, struct group *ret,
			     struct error *err);

/* A node but for its group's index, its tags, and what it has. */
void iallocator_cluster_node(const struct config *c, const json_t *node,
			     struct build_node *ret);

/* An instance, on no node.  Its lists are to be freed by
 * iallocator_cluster_instance_done(), also after an error. */
struct iallocator_placed {
	struct instance inst;
	json_t *disks; /* its disk objects; held */
	const char *primary;
	struct strv secondaries;
};
int iallocator_cluster_instance(const struct config *c, const json_t *object,
				struct iallocator_placed *ret,
				struct error *err);
void iallocator_cluster_instance_done(struct iallocator_placed *p);

/* Whether the instance has those disk objects now, and not changed ones. */
bool iallocator_cluster_same_disks(const struct config *c, const json_t *object,
				   const json_t *disks);

/* The strings of a list; room for them comes from the arena. */
const char **iallocator_cluster_strings(struct arena *a, const json_t *list,
					size_t *ret_n);

/* The value as the reader of requests takes it. */
const struct jval *iallocator_cluster_jval(struct arena *a,
					   const json_t *value);

#endif
