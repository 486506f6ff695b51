/* SPDX-License-Identifier: BSD-2-Clause */
/* What nodes answered to one call of a query, found by the nodes' UUIDs. */
#ifndef MASTERD_QUERY_QUERY_LIVE_H
#define MASTERD_QUERY_QUERY_LIVE_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/rpc/rpc.h"

struct noderpc;
struct node_result;
struct query_live;

/* Room for max nodes. */
struct query_live *query_live_new(size_t max);
void query_live_free(struct query_live *live);

/* Ask this node, too; the arguments are given away.  A zeroed request is for
 * callers that ask in their own way. */
void query_live_add(struct query_live *live, const json_t *node,
		    struct rpc_request request);

/* Ask all of them at the same time. */
WAITS void query_live_call(struct noderpc *rpc, struct query_live *live);

/* All results, for callers that ask in their own way; borrowed. */
struct node_result *query_live_results(struct query_live *live, size_t *ret_n);

/* The result of a node, NULL if it was not asked; payload NULL: it failed. */
const struct node_result *query_live_find(const struct query_live *live,
					  const char *node_uuid);

/* Each result in turn, for (i = 0; ...; i++); NULL ends. */
const struct node_result *query_live_at(const struct query_live *live,
					size_t i);

#endif
