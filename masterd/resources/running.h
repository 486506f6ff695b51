/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs on nodes: one all_instances_info call to each.
 *
 * A node daemon fails that call as a whole when one of the hypervisors does,
 * for instance one that was enabled but is not installed there.  Then the
 * node is asked about each hypervisor alone, so that those that work are
 * known. */
#ifndef MASTERD_RESOURCES_RUNNING_H
#define MASTERD_RESOURCES_RUNNING_H

#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

/* The arguments of all_instances_info about all enabled hypervisors, to be
 * freed. */
json_t *running_args(const struct config *c);

/* Ask these nodes.  A payload is {instance: {memory, ...}}; what is missing in
 * it under a hypervisor of result->blind is not known. */
WAITS void running_look(struct noderpc *rpc, const struct config *c,
			struct node_result *results, size_t n);

/* Whether the answer tells which instances of the hypervisor run. */
bool running_is_known(const struct node_result *result, const char *hypervisor);

#endif
