/* SPDX-License-Identifier: BSD-2-Clause */
/* What the nodes have of something that their administrators install: OS
 * definitions, providers of external storage. */
#ifndef MASTERD_LU_MISC_DIAGNOSE_H
#define MASTERD_LU_MISC_DIAGNOSE_H

#include <jansson.h>

#include "masterd/lu/frame/lu.h"

/* Ask all nodes that may have instances, and are not offline, with a call that
 * answers rows, and hand each row to add(all, row, UUID of the node), node
 * after node in nice order.  *ret_nodes: the UUIDs of those that answered. */
WAITS void diagnose_nodes(struct lu *lu, struct rpc_request request,
			  void (*add)(void *all, const json_t *row,
				      const char *node_uuid),
			  void *all, struct strv *ret_nodes);

/* Append the row, without its first cell, to the list in by_node[node_uuid],
 * which is made if need be. */
void diagnose_add(json_t *by_node, const json_t *row, const char *node_uuid);

#endif
