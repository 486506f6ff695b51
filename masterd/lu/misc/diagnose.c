/* SPDX-License-Identifier: BSD-2-Clause */
/* One call to all nodes at once; the answers are taken in the order of the
 * nodes' names, so that the result does not depend on who answers first. */
#include "masterd/lu/misc/diagnose.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"

static struct node_result *vm_nodes(struct lu *lu, size_t *ret_n)
{
	auto_strv struct strv uuids = {0};
	struct node_result *results;

	config_sorted(lu->m->config, CONFIG_NODE, &uuids);
	results = node_results_new(uuids.n);
	*ret_n = 0;
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, uuids.items[i]);

		if (!node_offline(node) && node_vm_capable(node))
			results[(*ret_n)++].node = json_ref(node);
	}
	return results;
}

void diagnose_nodes(struct lu *lu, struct rpc_request request,
		    void (*add)(void *all, const json_t *row,
				const char *node_uuid),
		    void *all, struct strv *ret_nodes)
{
	size_t n;
	struct node_result *results = vm_nodes(lu, &n);

	noderpc_call_many(lu->m->rpc, results, n, request);
	for (size_t i = 0; i < n; i++) {
		const json_t *rows = results[i].payload;
		const char *uuid = node_uuid(results[i].node);

		if (rows == NULL)
			continue;
		strv_add(ret_nodes, uuid);
		for (size_t k = 0; k < json_array_size(rows); k++)
			add(all, json_array_get(rows, k), uuid);
	}
	node_results_free(results, n);
}

void diagnose_add(json_t *by_node, const json_t *row, const char *node_uuid)
{
	json_t *rows = json_object_get(by_node, node_uuid);
	json_t *rest = json_copy(json_unconst(row));

	if (rows == NULL) {
		rows = json_array();
		json_object_set_new(by_node, node_uuid, rows);
	}
	json_array_remove(rest, 0);
	json_array_append_new(rows, rest);
}
