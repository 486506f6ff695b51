/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory of a node each instance gets, in a simulated cluster: what is
 * guaranteed, what is reserved for instances that fail over, which of them
 * shrink when one more starts, and which grow when one ends. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/state.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
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

/* --- sharing while they run --- */

#define GROW "NODE_GROW_INSTANCES(" NODE2 ")"

static json_t *op_cluster(const char *key, json_t *value STEALS)
{
	json_t *op = json_make("{s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS");

	json_object_set_new(op, key, value);
	return op;
}

/* NODE2 has 1000 MiB and may promise twice as much; NODE3 as well. */
static void share(void)
{
	has(NODE2, 1000);
	has(NODE3, 1000);
	expect(op_cluster("ipolicy",
			  json_make("{s:f}", "oversubscription-ratio", 3.0)),
	       "success");
}

static void add_web(const char *name, const char *node, int min, int max)
{
	expect(sized(op_add(name, node, true), min, max), "success");
}

/* How many jobs let instances of NODE2 grow; all of them have ended. */
static unsigned n_growths(void)
{
	const struct job *j;
	unsigned n = 0;

	for (uint64_t id = 0; (j = queue_next(s.master->queue, id)) != NULL;) {
		id = j->id;
		if (strcmp(j->ops[0].summary, GROW) == 0)
			n++;
		cr_expect(strcmp(j->ops[0].summary, GROW) != 0 ||
			  j->ops[0].priority == 10);
		sim_wait(&s, id);
	}
	return n;
}

static void expect_sizes(size_t node, int web1, int web2, int web3)
{
	cr_expect_eq(sim_memory(&s.nodes[node], "web1"), web1, "web1: %d",
		     sim_memory(&s.nodes[node], "web1"));
	cr_expect_eq(sim_memory(&s.nodes[node], "web2"), web2, "web2: %d",
		     sim_memory(&s.nodes[node], "web2"));
	cr_expect_eq(sim_memory(&s.nodes[node], "web3"), web3, "web3: %d",
		     sim_memory(&s.nodes[node], "web3"));
}

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

static json_t *op_size(const char *name, int mib)
{
	return op_with("OP_INSTANCE_SET_PARAMS", name, "runtime_mem",
		       json_integer(mib));
}

Test(memory, one_that_starts_shrinks_others_towards_their_minimum)
{
	share();
	add_web("web1", NODE2, 200, 800);
	expect_sizes(1, 800, 0, 0);
	add_web("web2", NODE2, 300, 800); /* 200 are free */
	expect_sizes(1, 700, 300, 0);
	add_web("web3", NODE2, 400, 400);
	expect_sizes(1, 300, 300, 400);
	expect(sized(op_add("web4", NODE2, true), 200, 200),
	       "Not enough memory on node " NODE2);
	cr_expect_eq(n_growths(), 0);
}

Test(memory, what_comes_free_lets_others_grow)
{
	share();
	add_web("web1", NODE2, 200, 800);
	add_web("web2", NODE2, 300, 800);
	add_web("web3", NODE2, 400, 400);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web3"), "success");
	cr_expect_eq(n_growths(), 1);
	expect_sizes(1, 500, 500, 0);
	expect(op_named("OP_INSTANCE_STARTUP", "web3"), "success");
	cr_expect_eq(sim_memory(&s.nodes[1], "web3"), 400);
	expect(op_named("OP_INSTANCE_REMOVE", "web2"), "success");
	cr_expect_eq(n_growths(), 2);
	expect_sizes(1, 600, 0, 400);
}

/* Also one that only starts gets less than its maxmem, and more later. */
Test(memory, the_cluster_can_turn_growing_off)
{
	share();
	expect(op_cluster("memory_growth", json_false()), "success");
	add_web("web1", NODE2, 200, 800);
	add_web("web2", NODE2, 100, 800);
	expect_sizes(1, 800, 200, 0);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	cr_expect_eq(n_growths(), 0);
	expect_sizes(1, 0, 200, 0);
	expect(op_cluster("memory_growth", json_true()), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	cr_expect_eq(n_growths(), 1);
	expect_sizes(1, 0, 800, 0);
}

static int64_t chosen_size(const char *name)
{
	return state_own(config_cluster(s.master->config),
			 json_str(instance(name), "uuid", ""), 0);
}

Test(memory, a_chosen_size_stays_until_the_next_start)
{
	share();
	add_web("web1", NODE2, 200, 800);
	add_web("web2", NODE2, 100, 900);
	expect_sizes(1, 800, 200, 0);
	expect(op_size("web1", 400), "success");
	cr_expect_eq(chosen_size("web1"), 400);
	cr_expect_eq(n_growths(), 1);
	expect_sizes(1, 400, 600, 0);
	/* There is no room for more; by force there is. */
	expect(op_size("web1", 700), "have 400 MiB, need 700 MiB");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web2"), "success");
	n_growths();
	expect_sizes(1, 400, 0, 0);
	/* It shrinks last, and comes back to what was chosen. */
	add_web("web3", NODE2, 700, 700);
	expect_sizes(1, 300, 0, 700);
	expect(op_named("OP_INSTANCE_REMOVE", "web3"), "success");
	n_growths();
	expect_sizes(1, 400, 0, 0);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	cr_expect_eq(chosen_size("web1"), 0);
	expect_sizes(1, 800, 0, 0);
}

Test(memory, one_that_moves_has_what_fits)
{
	json_t *op = op_move("OP_INSTANCE_MIGRATE", "web1", NODE3);

	share();
	add_web("web1", NODE2, 200, 800);
	add_web("web2", NODE3, 200, 700);
	json_set_bool(op, "allow_runtime_changes", false);
	expect(op, "Memory ballooning not allowed");
	expect_sizes(1, 800, 0, 0);
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", NODE3), "success");
	expect_sizes(1, 0, 0, 0);
	expect_sizes(2, 300, 700, 0);
	/* Others shrink for its minimum only. */
	add_web("web3", NODE2, 500, 500);
	expect(op_move("OP_INSTANCE_MIGRATE", "web3", NODE3), "success");
	cr_expect_eq(sim_memory(&s.nodes[2], "web3"), 500);
	cr_expect_eq(sim_memory(&s.nodes[2], "web1") +
			     sim_memory(&s.nodes[2], "web2"),
		     500);
	cr_expect_geq(sim_memory(&s.nodes[2], "web1"), 200);
	cr_expect_geq(sim_memory(&s.nodes[2], "web2"), 200);
	sim_run(&s, 5000, NULL, NULL); /* what stays behind grows */
}

Test(memory, one_that_moves_to_more_room_grows_there)
{
	share();
	add_web("web1", NODE3, 200, 800);
	add_web("web2", NODE3, 200, 800);
	expect(op_move("OP_INSTANCE_MIGRATE", "web2", NODE2), "success");
	cr_expect_eq(n_growths(), 1);
	expect_sizes(1, 0, 800, 0);
}

Test(memory, a_failover_shrinks_others_before_it_stops_anything)
{
	share();
	add_web("web1", NODE2, 400, 800);
	add_web("web2", NODE3, 200, 900);
	s.nodes[2].fail_on = "instance_balloon_memory";
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3),
	       "Could not change the memory of instance web2");
	expect_sizes(1, 800, 0, 0);
	s.nodes[2].fail_on = NULL;
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3), "success");
	expect_sizes(2, 400, 600, 0);
}

/* Both have looked at the same node; what one was given is not given again. */
Test(memory, two_that_start_at_once_share)
{
	uint64_t first, second;

	share();
	add_web("web1", NODE2, 200, 800);
	add_web("web2", NODE2, 300, 800);
	add_web("web3", NODE2, 400, 800);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web2"), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web3"), "success");
	n_growths();
	expect_sizes(1, 800, 0, 0);
	s.nodes[1].start_ms = 5000;
	first = sim_submit(&s, op_named("OP_INSTANCE_STARTUP", "web2"), NULL);
	second = sim_submit(&s, op_named("OP_INSTANCE_STARTUP", "web3"), NULL);
	cr_expect_str_eq(sim_wait(&s, first), "success");
	cr_expect_str_eq(sim_wait(&s, second), "success");
	expect_sizes(1, 300, 300, 400);
}

/* While all that is promised fits, nobody is asked and nothing is changed. */
Test(memory, where_all_fits_nobody_is_asked)
{
	struct strv calls = {0};

	has(NODE2, 1000);
	add_web("web1", NODE2, 200, 400);
	add_web("web2", NODE2, 300, 600);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web2"), "success");
	n_growths();
	s.calls = &calls;
	expect(op_named("OP_INSTANCE_STARTUP", "web2"), "success");
	s.calls = NULL;
	cr_expect_not(strv_has(&calls, "all_instances_info " NODE2));
	cr_expect_not(strv_has(&calls, "instance_balloon_memory " NODE2));
	expect_sizes(1, 400, 600, 0);
	strv_done(&calls);
}
