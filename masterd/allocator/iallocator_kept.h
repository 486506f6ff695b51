/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration's part of what placement works on, kept from one request to
 * the next: only what has changed is read again.
 *
 * Objects of the configuration are never changed but replaced, so an object
 * that is still the same one need not be looked at.  All that is kept holds the
 * objects that it points into. */
#ifndef MASTERD_ALLOCATOR_IALLOCATOR_KEPT_H
#define MASTERD_ALLOCATOR_IALLOCATOR_KEPT_H

#include "iallocators/input/build.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/allocator/iallocator_nodes.h"

/* The cluster at one moment.  It holds what it points into, so that it may be
 * used beside the loop while the configuration changes. */
struct iallocator_snapshot {
	struct cluster cluster; /* cluster_finish() is up to the user */
	json_t *held;		/* cluster and node objects */
	struct kept_groups *groups;
	struct kept_instance **instances;
	size_t n_instances;
};

/* Build the cluster of this moment, with what the nodes have said; there is
 * room for so many more instances.  -1 with ERR_REQUEST when an object cannot
 * be used.  Free it in either case, by who has control. */
int iallocator_kept_build(struct iallocator_kept *k, const struct config *c,
			  const struct iallocator_nodes *nodes, size_t more,
			  struct iallocator_snapshot *ret, struct error *err);
void iallocator_kept_release(struct iallocator_snapshot *s);

#endif
