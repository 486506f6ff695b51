/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes come, go and change roles, in a simulated cluster. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/state.h"
#include "lib/model/constants.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(nodes, .init = setup, .fini = teardown, .timeout = 60);

/* It must succeed with this JSON text as its result. */
static void expect_result(json_t *op STEALS, const char *result)
{
	uint64_t id = sim_submit(&s, op, NULL);
	const struct job *j;

	cr_assert_neq(id, 0);
	cr_expect_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	cr_assert_not_null(j->ops[0].result);
	cr_expect_str_eq(j->ops[0].result, result);
}

static json_t *modify(const char *node, const char *flag, bool value)
{
	return json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", node, flag, value);
}

static json_t *node_op(const char *id, const char *node)
{
	return json_make("{s:s, s:s}", "OP_ID", id, "node_name", node);
}

static json_t *node_add(const char *name, const char *ip, bool readd)
{
	return json_make("{s:s, s:s, s:s, s:b}", "OP_ID", "OP_NODE_ADD",
			 "node_name", name, "primary_ip", ip, "readd", readd);
}

static json_t *evacuate(const char *node)
{
	return json_make("{s:s, s:s, s:s, s:s}", "OP_ID", "OP_NODE_EVACUATE",
			 "node_name", node, "mode", "all", "iallocator", "any");
}

Test(nodes, get_one_role_or_ability_at_a_time)
{
	json_t *op = modify(NODE2, "vm_capable", true);

	json_set_bool(op, "master_capable", true);
	expect(op, "more than one state");
}

static json_t *second_address(const char *node, const char *ip)
{
	return json_make("{s:s, s:s, s:s}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", node, "secondary_ip", ip);
}

static void second_of_master(const char *ip)
{
	json_t *op = second_address(s.nodes[0].name, ip);

	json_set_bool(op, "force", true);
	expect(op, "success");
}

Test(nodes, a_second_network_begins_with_the_master_by_force)
{
	expect(second_address(s.nodes[0].name, "198.51.100.77"), "wrong_input");
	second_of_master("198.51.100.77");
}

/* The primary addresses are of the other one here. */
Test(nodes, a_second_network_has_any_family_but_one)
{
	second_of_master("fd00::1");
	expect(second_address(NODE2, "fd00::2"), "success");
	expect(second_address(NODE2, "198.51.100.2"), "wrong_input");
	expect(second_address(NODE2, "fd00::2::2"), "wrong_input");
	expect(node_add("node9.example.com", "fd00::9", false), "wrong_input");
}

static const json_t *node(const char *name)
{
	return config_find(s.master->config, CONFIG_NODE, name);
}

static bool has(const char *name, const char *flag)
{
	return json_bool(node(name), flag, false);
}

static bool has_cert(const char *name)
{
	return json_get(json_get(config_cluster(s.master->config),
				 "candidate_certs"),
			json_str(node(name), "uuid", "")) != NULL;
}

static void set_pool_size(int size)
{
	expect(json_make("{s:s, s:i}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "candidate_pool_size", size),
	       "success");
}

Test(nodes, drained_node_is_no_candidate_and_comes_back_as_one)
{
	expect_result(modify(NODE3, "drained", true),
		      "[[\"master_candidate\",\"False\"],"
		      "[\"drained\",\"True\"]]");
	cr_assert_not(has(NODE3, "master_candidate"));
	cr_assert(has(NODE3, "drained"));
	cr_assert_not(has_cert(NODE3));
	expect_result(modify(NODE3, "drained", false),
		      "[[\"master_candidate\",\"True\"],"
		      "[\"drained\",\"False\"]]");
	cr_assert(has(NODE3, "master_candidate"));
	cr_assert(has_cert(NODE3));
}

Test(nodes, roles_exclude_each_other)
{
	expect(modify(NODE3, "offline", true), "success");
	expect_result(modify(NODE3, "drained", true),
		      "[[\"drained\",\"True\"],[\"offline\",\"False\"]]");
	expect(json_make("{s:s, s:s, s:b, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", NODE3, "offline", 1, "drained", 1),
	       "wrong_input");
	expect(node_op("OP_NODE_SET_PARAMS", NODE3), "wrong_input");
}

Test(nodes, one_that_runs_instances_is_not_set_offline_by_mistake)
{
	json_t *op;

	expect(op_add("web1", NODE3, false), "success");
	expect(modify(NODE3, "offline", true), "web1");
	cr_assert_not(has(NODE3, "offline"));
	op = modify(NODE3, "offline", true);
	json_set_bool(op, "force", true);
	expect(op, "success");
	cr_assert(has(NODE3, "offline"));
	expect(modify(NODE3, "offline", false), "success");
	/* A node that answers and cannot tell may run it. */
	s.nodes[2].fail_on = "all_instances_info";
	expect(modify(NODE3, "offline", true), "web1");
	s.nodes[2].fail_on = NULL;
	/* What is stopped does not hold it back, */
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(modify(NODE3, "offline", true), "success");
	expect(modify(NODE3, "offline", false), "success");
	/* nor what may run on a node that is dead. */
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	s.nodes[2].down = true;
	expect(modify(NODE3, "offline", true), "success");
	s.nodes[2].down = false;
}

Test(nodes, unset_flag_stays_unset)
{
	expect_result(modify(NODE3, "drained", false), "[]");
	cr_assert(has(NODE3, "master_candidate"));
}

Test(nodes, master_keeps_its_role)
{
	expect(modify("node1.example.com", "offline", true), "wrong_input");
	expect(modify("node1.example.com", "drained", true), "wrong_input");
	expect(modify("node1.example.com", "master_candidate", false),
	       "wrong_input");
	expect(modify("node1.example.com", "master_capable", false),
	       "wrong_state");
	expect(node_op("OP_NODE_REMOVE", "node1.example.com"),
	       "Node is the master node");
}

Test(nodes, pool_is_kept_full)
{
	json_t *op;

	/* With room for two the third is demoted, and stays below. */
	expect(modify(NODE3, "master_candidate", false), "success");
	set_pool_size(2);
	cr_assert_not(has(NODE3, "master_candidate"));
	expect(modify(NODE2, "drained", true), "auto promote");
	cr_assert(has(NODE2, "master_candidate"));
	op = modify(NODE2, "drained", true);
	json_set_bool(op, "auto_promote", true);
	expect(op, "success");
	cr_assert_not(has(NODE2, "master_candidate"));
	cr_assert(has(NODE3, "master_candidate"));
	cr_assert(has_cert(NODE3));
	/* No room: it comes back as a regular node. */
	expect_result(modify(NODE2, "drained", false),
		      "[[\"drained\",\"False\"]]");
}

Test(nodes, removal_promotes_another)
{
	expect(modify(NODE3, "master_candidate", false), "success");
	set_pool_size(2);
	expect(node_op("OP_NODE_REMOVE", NODE2), "success");
	cr_assert_null(node(NODE2));
	cr_assert(has(NODE3, "master_candidate"));
}

Test(nodes, offline_node_has_to_answer_before_it_comes_back)
{
	expect(modify(NODE3, "offline", true), "success");
	s.nodes[2].down = true;
	expect(modify(NODE3, "offline", false), "wrong_state");
	cr_assert(has(NODE3, "offline"));
	s.nodes[2].down = false;
	expect(modify(NODE3, "offline", false), "success");
	cr_assert_not(has(NODE3, "offline"));
	cr_assert(has(NODE3, "master_candidate"));
}

Test(nodes, vm_capable_stays_while_instances_are_there)
{
	expect(op_add("web1", NODE3, false), "success");
	expect(modify(NODE3, "vm_capable", false), "hosts instances");
	expect_result(modify(NODE2, "vm_capable", false),
		      "[[\"vm_capable\",\"False\"]]");
}

Test(nodes, parameters)
{
	json_t *op = node_op("OP_NODE_SET_PARAMS", NODE3);

	json_object_set_new(op, "ndparams",
			    json_make("{s:i}", "ssh_port", 2222));
	json_object_set_new(
		op, "hv_state",
		json_make("{s:{s:s}}", "fake", "mem_total", "4096"));
	expect_result(op, "[]");
	cr_assert_eq(json_int(json_get(node(NODE3), "ndparams"), "ssh_port", 0),
		     2222);
	cr_assert_eq(json_int(json_get(json_get(node(NODE3), "hv_state_static"),
				       "fake"),
			      "mem_total", 0),
		     4096);
	op = node_op("OP_NODE_SET_PARAMS", NODE3);
	json_object_set_new(op, "hv_state",
			    json_make("{s:{s:s}}", "fake", "mem_total", "x"));
	expect(op, "wrong_input");
	op = node_op("OP_NODE_SET_PARAMS", NODE3);
	json_object_set_new(op, "ndparams",
			    json_make("{s:b}", "exclusive_storage", 1));
	expect(op, "exclusive_storage");
	op = node_op("OP_NODE_SET_PARAMS", NODE3);
	json_set_bool(op, "powered", false);
	expect(op, "out-of-band");
}

static int64_t mem_node(const char *name)
{
	auto_json json_t *state =
		state_fill_hv(config_cluster(s.master->config),
			      config_get(s.master->config, CONFIG_GROUP,
					 json_str(node(name), "group", "")),
			      node(name), "fake");

	return json_int(state, "mem_node", -1);
}

static void refresh(void)
{
	expect(json_make("{s:s}", "OP_ID", "OP_NODE_REFRESH_STATE"), "success");
}

static json_t *needs(const char *op_id, const char *mib)
{
	return json_make("{s:s, s:{s:{s:s}}}", "OP_ID", op_id, "hv_state",
			 "fake", "mem_node", mib);
}

Test(nodes, what_the_cluster_needs_holds_for_measured_nodes)
{
	json_t *op;

	s.nodes[2].other_memory = 900;
	refresh();
	s.nodes[2].other_memory = 1000;
	refresh(); /* an estimate that follows the load is none */
	cr_expect_eq(mem_node(NODE3), 900);
	expect(needs("OP_CLUSTER_SET_PARAMS", "700"), "success");
	cr_expect_eq(mem_node(NODE3), 700);
	op = node_op("OP_NODE_SET_PARAMS", NODE3);
	json_object_set_new(op, "hv_state",
			    json_make("{s:{s:i}}", "fake", "mem_node", 300));
	expect(op, "success");
	cr_expect_eq(mem_node(NODE2), 700);
	cr_expect_eq(mem_node(NODE3), 300);
	expect(needs("OP_CLUSTER_SET_PARAMS", "default"), "success");
	cr_expect_eq(mem_node(NODE2), 0);
	op = node_op("OP_NODE_SET_PARAMS", NODE3);
	json_object_set_new(
		op, "hv_state",
		json_make("{s:{s:s}}", "fake", "mem_node", "default"));
	expect(op, "success");
	refresh();
	cr_expect_eq(mem_node(NODE3), 1000);
}

Test(nodes, node_goes_and_comes_again)
{
	auto_free char *ip = xstrdup(s.nodes[2].address);

	expect(node_add(NODE3, ip, false), "already_exists");
	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	cr_assert_null(node(NODE3));
	expect(node_add(NODE3, ip, true), "unknown_entity");
	expect(node_add(NODE3, s.nodes[1].address, false),
	       "resource_not_unique");
	expect(node_add("bad name", ip, false), "wrong_input");
	expect(node_add(NODE3, "not-an-ip", false), "wrong_input");
	expect(node_add(NODE3, ip, false), "success");
	cr_assert(has(NODE3, "master_candidate"));
	cr_assert(has_cert(NODE3));
	cr_assert_str_eq(json_str(node(NODE3), "primary_ip", ""), ip);
	cr_assert(json_num(node(NODE3), "ctime", 0) > 0);
	free(s.nodes[2].uuid);
	s.nodes[2].uuid = xstrdup(json_str(node(NODE3), "uuid", ""));
	expect(op_add("web1", NODE3, true), "success");
}

/* The group of a node that is just being added is not empty. */
Test(nodes, the_group_of_a_new_one_stays)
{
	const char *const ids[] = {"OP_GROUP_ADD", "OP_GROUP_REMOVE"};
	json_t *ops[2], *op;
	uint64_t id;

	for (size_t i = 0; i < 2; i++)
		ops[i] = json_make("{s:s, s:s}", "OP_ID", ids[i], "group_name",
				   "g2");
	op = node_add(NODE3, s.nodes[2].address, false);
	json_set_str(op, "group", "g2");
	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	expect(ops[0], "success");
	s.nodes[2].slow = "version";
	id = sim_submit(&s, op, NULL);
	expect(ops[1], NODE3);
	cr_expect_str_eq(sim_wait(&s, id), "success");
	cr_expect_not_null(config_get(s.master->config, CONFIG_GROUP,
				      json_str(node(NODE3), "group", "")));
}

/* What stands in /etc/hosts of a node; to be freed. */
static char *hosts_of(const struct sim_node *n)
{
	struct disk *disk = mem_unconst(&n->disk.disk);
	struct error err;
	size_t len;

	return disk->read(disk, path(n->paths, PATH_ETC_HOSTS), 10000, &len,
			  &err);
}

static void expect_hosts(const char *wanted)
{
	for (size_t i = 0; i < 2; i++) {
		auto_free char *text = hosts_of(&s.nodes[i]);

		cr_assert_not_null(text, "%zu", i);
		cr_expect_str_eq(text, wanted);
	}
}

Test(nodes, nodes_come_and_go_in_hosts_where_the_cluster_keeps_that)
{
	auto_free char *ip = xstrdup(s.nodes[2].address);
	auto_free char *line = xprintf("%s\tnode3.example.com node3\n", ip);
	auto_free char *text = NULL;

	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	expect(node_add(NODE3, ip, false), "success");
	text = hosts_of(&s.nodes[0]);
	cr_assert_null(text, "it does not");
	expect(json_make("{s:s, s:b}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "modify_etc_hosts", 1),
	       "success");
	expect(node_add(NODE3, ip, true), "success");
	expect_hosts(line);
	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	expect_hosts("");
}

Test(nodes, node_that_does_not_answer_is_not_added)
{
	auto_free char *ip = xstrdup(s.nodes[2].address);

	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	s.nodes[2].down = true;
	expect(node_add(NODE3, ip, false), "environment_error");
	cr_assert_null(node(NODE3));
}

Test(nodes, one_without_its_secondary_address_is_not_added)
{
	json_t *op = json_make("{s:s, s:s, s:s}", "OP_ID", "OP_NODE_SET_PARAMS",
			       "node_name", s.nodes[0].name, "secondary_ip",
			       "198.51.100.77");

	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	json_set_bool(op, "force", true);
	expect(op, "success");
	op = node_add(NODE3, s.nodes[2].address, false);
	json_set_str(op, "secondary_ip", "198.51.100.79");
	s.nodes[2].lacks = "198.51.100.79";
	expect(json_copy(op), "does not have the secondary address");
	cr_assert_null(node(NODE3));
	s.nodes[2].fail_on = "node_has_ip_address";
	expect(json_copy(op), "Can't check the addresses of node " NODE3);
	s.nodes[2].lacks = s.nodes[2].fail_on = NULL;
	expect(op, "success");
	free(s.nodes[2].uuid);
	s.nodes[2].uuid = xstrdup(json_str(node(NODE3), "uuid", ""));
}

Test(nodes, readded_node_is_online_again)
{
	expect(modify(NODE3, "offline", true), "success");
	expect(node_add(NODE3, "192.0.2.99", true), "same IP");
	expect(node_add(NODE3, s.nodes[2].address, true), "success");
	cr_assert_not(has(NODE3, "offline"));
	cr_assert(has(NODE3, "master_candidate"));
	expect(node_add("node1.example.com", s.nodes[0].address, true),
	       "master node");
}

static void tag_as_watcher(void)
{
	expect(json_make("{s:s, s:s, s:s, s:[s, s]}", "OP_ID", "OP_TAGS_SET",
			 "kind", "node", "name", NODE3, "tags", WATCHER_TAG,
			 "rack:1"),
	       "success");
	cr_assert(
		json_array_has_str(json_get(node(NODE3), "tags"), WATCHER_TAG));
}

static void expect_untagged(const char *why)
{
	const json_t *tags = json_get(node(NODE3), "tags");

	cr_expect_not(json_array_has_str(tags, WATCHER_TAG), "%s", why);
	cr_expect(json_array_has_str(tags, "rack:1"), "%s", why);
}

/* Else the watcher would set online what somebody else has set offline. */
Test(nodes, who_says_whether_a_node_is_offline_takes_the_watchers_tag_away)
{
	expect(modify(NODE3, "offline", true), "success");
	tag_as_watcher();
	expect(modify(NODE3, "offline", true), "success");
	cr_expect(has(NODE3, "offline"));
	expect_untagged("offline once more");
	tag_as_watcher();
	expect(modify(NODE3, "offline", false), "success");
	expect_untagged("online");
	expect(modify(NODE3, "offline", true), "success");
	tag_as_watcher();
	expect(node_add(NODE3, s.nodes[2].address, true), "success");
	expect_untagged("readded");
}

Test(nodes, node_with_instances_is_not_removed)
{
	expect(op_add("web1", NODE3, false), "success");
	expect(node_op("OP_NODE_REMOVE", NODE3), "web1");
	cr_assert_not_null(node(NODE3));
}

Test(nodes, evacuation_is_a_job_for_each_instance)
{
	uint64_t id;
	auto_json json_t *result = NULL;
	const json_t *jobs;
	struct error err;

	for (int i = 0; i < 4; i++) {
		auto_free char *name = xprintf("web%d", i);

		expect(op_add(name, NODE3, true), "success");
	}
	expect(modify(NODE3, "drained", true), "success");
	id = sim_submit(&s, evacuate(NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	result = json_parse(
		queue_job(s.master->queue, id)->ops[0].result,
		strlen(queue_job(s.master->queue, id)->ops[0].result), &err);
	jobs = json_object_get(result, "jobs");
	cr_assert_eq(json_array_size(jobs), 4);
	for (size_t i = 0; i < 4; i++)
		cr_expect_str_eq(
			sim_wait(&s,
				 (uint64_t)json_integer_value(json_array_get(
					 json_array_get(jobs, i), 1))),
			"success");
	cr_assert_eq(s.nodes[2].running.n, 0);
	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
}

Test(nodes, evacuation_without_a_place_is_refused)
{
	expect(op_add("web1", NODE3, true), "success");
	expect(modify(NODE2, "drained", true), "success");
	expect(modify(NODE3, "drained", true), "success");
	s.nodes[0].fail_on = "node_info"; /* so nobody is left */
	expect(evacuate(NODE3), "Unable to evacuate instances web1 (no node)");
	cr_assert_eq(s.nodes[2].running.n, 1);
	s.nodes[0].fail_on = NULL;
	expect_result(evacuate(NODE2), "{\"jobs\":[]}");
}

Test(nodes, evacuation_needs_an_allocator_or_a_node)
{
	json_t *op = evacuate(NODE3);

	json_set_str(op, "remote_node", NODE2);
	expect(op, "wrong_input");
	op = evacuate(NODE3);
	json_set_str(op, "iallocator", NULL);
	json_set_str(op, "remote_node", NODE2);
	expect(op, "only secondary");
	op = evacuate(NODE3);
	json_set_str(op, "iallocator", NULL);
	json_set_str(op, "mode", "secondary-only");
	json_set_str(op, "remote_node", NODE3);
	expect(op, "evacuated node");
}

Test(nodes, migration_of_a_node_is_a_job_for_each_instance)
{
	json_t *op = node_op("OP_NODE_MIGRATE", NODE3);

	expect(op_add("web1", NODE3, true), "success");
	expect(op_add("web2", NODE3, true), "success");
	json_set_str(op, "iallocator", "any");
	expect(op, "success");
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_eq(s.nodes[2].running.n, 0);
}

Test(nodes, powercycle_of_the_master_needs_force)
{
	json_t *op = json_make("{s:s, s:s}", "OP_ID", "OP_NODE_POWERCYCLE",
			       "node_name", s.nodes[0].name);
	json_t *forced = json_deep_copy(op);

	json_set_bool(forced, "force", true);
	expect(op, "The node is the master and the force parameter");
	expect(forced, "success");
	s.nodes[1].fail_on = "node_powercycle";
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_NODE_POWERCYCLE",
			 "node_name", NODE2),
	       "Failed to schedule the reboot");
	s.nodes[1].fail_on = NULL;
}

Test(nodes, the_masters_address_goes_up_and_down)
{
	expect(json_make("{s:s}", "OP_ID", "OP_CLUSTER_ACTIVATE_MASTER_IP"),
	       "success");
	s.nodes[0].fail_on = "node_deactivate_master_ip";
	expect(json_make("{s:s}", "OP_ID", "OP_CLUSTER_DEACTIVATE_MASTER_IP"),
	       "Could not deactivate the master IP");
	s.nodes[0].fail_on = NULL;
}

static json_t *set_address(const char *key, json_t *value STEALS)
{
	return json_make("{s:s, s:o}", "OP_ID", "OP_CLUSTER_SET_PARAMS", key,
			 value);
}

/* expect() of an address that moves, and which calls there were for it */
static void expect_address(json_t *op STEALS, const char *wanted,
			   const char *calls_wanted)
{
	auto_strv struct strv calls = {0};
	struct buf seen = {0};

	s.calls = &calls;
	expect(op, wanted);
	s.calls = NULL;
	for (size_t i = 0; i < calls.n; i++)
		if (strstr(calls.items[i], "_master_") != NULL)
			buf_addf(&seen, "%s\n", calls.items[i]);
	cr_expect_str_eq(seen.data == NULL ? "" : seen.data, calls_wanted);
	free(seen.data);
}

static const char *netdev(void)
{
	return json_str(config_cluster(s.master->config), "master_netdev", "");
}

Test(nodes, the_masters_address_follows_its_parameters)
{
	json_t *forced = set_address("master_netdev", json_string("eth8"));

	expect_address(set_address("master_netdev", json_string("eth7")),
		       "success",
		       "node_deactivate_master_ip node1.example.com\n"
		       "node_activate_master_ip node1.example.com\n");
	cr_expect_str_eq(netdev(), "eth7");
	expect_address(set_address("master_netmask", json_integer(24)),
		       "success",
		       "node_change_master_netmask node1.example.com\n");
	s.nodes[0].fail_on = "node_deactivate_master_ip";
	expect_address(set_address("master_netdev", json_string("eth8")),
		       "Could not disable the master ip",
		       "node_deactivate_master_ip node1.example.com\n");
	cr_expect_str_eq(netdev(), "eth7");
	json_set_bool(forced, "force", true);
	expect_address(forced, "success",
		       "node_deactivate_master_ip node1.example.com\n"
		       "node_activate_master_ip node1.example.com\n");
	cr_expect_str_eq(netdev(), "eth8");
	s.nodes[0].fail_on = NULL;
}

Test(nodes, a_cluster_that_ends_leaves_its_address)
{
	expect(node_op("OP_NODE_REMOVE", NODE2), "success");
	expect(node_op("OP_NODE_REMOVE", NODE3), "success");
	expect_address(json_make("{s:s}", "OP_ID", "OP_CLUSTER_DESTROY"),
		       "success",
		       "node_deactivate_master_ip node1.example.com\n");
	s.nodes[0].fail_on = "node_deactivate_master_ip";
	expect(json_make("{s:s}", "OP_ID", "OP_CLUSTER_DESTROY"), "success");
	s.nodes[0].fail_on = NULL;
}
