/* SPDX-License-Identifier: BSD-2-Clause */
/* Who gets how much memory of nodes, in a simulated cluster: what is
 * guaranteed, what is reserved for instances that fail over. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

static void setup_volumes(void)
{
	sim_init_big(&s, 3, 1, 1);
}

TestSuite(memory, .init = setup_volumes, .fini = teardown, .timeout = 60);

/* The node has so much for instances, and its record says so. */
static void has(const char *node, int mib)
{
	json_t *op = json_make("{s:s, s:s, s:{s:{s:i, s:i, s:i}}}", "OP_ID",
			       "OP_NODE_SET_PARAMS", "node_name", node,
			       "hv_state", "fake", "mem_total", mib, "mem_node",
			       0, "cpu_total", 16);

	for (size_t i = 0; i < s.n_nodes; i++)
		if (strcmp(s.nodes[i].name, node) == 0)
			s.nodes[i].memory = mib;
	expect(op, "success");
}

static json_t *sized(json_t *op STEALS, int min, int max)
{
	json_object_set_new(
		op, "beparams",
		json_make("{s:i, s:i}", "minmem", min, "maxmem", max));
	return op;
}

static json_t *mirrored(const char *name, const char *pnode, const char *snode,
			int memory)
{
	json_t *op = op_add(name, pnode, true);

	json_set_str(op, "disk_template", "drbd");
	json_set_str(op, "snode", snode);
	return sized(op, memory, memory);
}

static json_t *op_with(const char *op_id, const char *instance, const char *key,
		       json_t *value STEALS)
{
	json_t *op = op_named(op_id, instance);

	json_object_set_new(op, key, value);
	return op;
}

/* --- N+1 --- */

/* min relates to what is there without the reserve, max to all of it. */
Test(memory, the_reserve_for_failovers_is_not_guaranteed_to_others)
{
	has(NODE2, 1000);
	has(NODE3, 1000);
	expect(mirrored("web1", NODE2, NODE3, 600), "success");
	expect(sized(op_add("web2", NODE3, true), 500, 500),
	       "Not enough memory on node " NODE3);
	expect(sized(op_add("web2", NODE3, true), 400, 1000), "success");
	/* A larger one could not fail over any more. */
	expect(op_with("OP_INSTANCE_SET_PARAMS", "web1", "beparams",
		       json_make("{s:i, s:i}", "minmem", 700, "maxmem", 700)),
	       "should node " NODE2 " fail, 700 MiB are needed");
	expect(mirrored("web3", NODE2, NODE3, 100),
	       "should node " NODE2 " fail, 700 MiB are needed");
	/* One without its auto_balance stays where it is. */
	expect(op_with("OP_INSTANCE_SET_PARAMS", "web1", "beparams",
		       json_make("{s:b}", "auto_balance", 0)),
	       "success");
	expect(mirrored("web3", NODE2, NODE3, 100), "success");
}

/* Of two peers only one is lost at a time. */
Test(memory, the_reserve_is_what_the_largest_peer_needs)
{
	has("node1.example.com", 1000);
	has(NODE2, 1000);
	has(NODE3, 1000);
	expect(mirrored("web1", NODE2, NODE3, 600), "success");
	expect(mirrored("web2", "node1.example.com", NODE3, 600), "success");
	expect(sized(op_add("web3", NODE3, true), 400, 400), "success");
	expect(sized(op_add("web4", NODE3, true), 1, 1),
	       "Not enough memory on node " NODE3);
}
