/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instances run on nodes: one call all_instances_info to each.
 *
 * A node daemon fails that call as a whole when one of the hypervisors fails,
 * for instance because it is enabled but not installed there.  Then the node is
 * asked about each hypervisor alone, so that the working ones are known. */
#ifndef MASTERD_RESOURCES_RUNNING_H
#define MASTERD_RESOURCES_RUNNING_H

#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

/* The call all_instances_info about all enabled hypervisors. */
struct rpc_request running_request(const struct config *c);

/* Ask these nodes.  A payload is {instance: {memory, ...}}.  result->blind has
 * the hypervisors of a node about which nothing is known. */
WAITS void running_look(struct noderpc *rpc, const struct config *c,
			struct node_result *results, size_t n);

/* Whether the answer tells which instances of the hypervisor run. */
bool running_is_known(const struct node_result *result, const char *hypervisor);

#endif
