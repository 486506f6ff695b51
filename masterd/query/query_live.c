/* SPDX-License-Identifier: BSD-2-Clause */
/* The results are one array, so that one call can ask all nodes.  A table finds
 * them by the UUID of the node.  The array has its full size from the
 * beginning, because the table points into it. */
#include "masterd/query/query_live.h"

#include <assert.h>

#include "lib/base/log.h"
#include "lib/base/log_rate.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/rpc/noderpc.h"

struct query_live {
	struct node_result *results;
	size_t n, max;
	struct table by_node;
};

struct query_live *query_live_new(size_t max)
{
	struct query_live *live = xalloc(sizeof(*live));

	live->results = node_results_new(max);
	live->max = max;
	return live;
}

void query_live_free(struct query_live *live)
{
	if (live == NULL)
		return;
	table_done(&live->by_node, NULL);
	node_results_free(live->results, live->max);
	free(live);
}

void query_live_add(struct query_live *live, const json_t *node,
		    struct rpc_request request)
{
	struct node_result *result = &live->results[live->n];

	assert(live->n < live->max);
	live->n++;
	result->node = json_ref(node);
	result->own = request;
	table_put(&live->by_node, node_uuid(node), result);
}

/* Who asks sees that a node told nothing; the log has why. */
static void tell_failed(const struct query_live *live)
{
	static struct log_rate rate;

	for (size_t i = 0; i < live->n; i++) {
		const struct node_result *r = &live->results[i];
		unsigned left_out;

		if (r->err != NULL && !r->offline &&
		    log_rate_due(&rate, node_name(r->node), &left_out))
			log_info("A query: %s", r->err->text);
	}
}

void query_live_call(struct noderpc *rpc, struct query_live *live)
{
	if (live->n == 0)
		return;
	noderpc_look_each(rpc, live->results, live->n);
	tell_failed(live);
}

struct node_result *query_live_results(struct query_live *live, size_t *ret_n)
{
	*ret_n = live->n;
	return live->results;
}

const struct node_result *query_live_find(const struct query_live *live,
					  const char *node_uuid)
{
	return live == NULL ? NULL : table_get(&live->by_node, node_uuid);
}

const struct node_result *query_live_at(const struct query_live *live, size_t i)
{
	return live != NULL && i < live->n ? &live->results[i] : NULL;
}
