/* SPDX-License-Identifier: BSD-2-Clause */
/* Node groups, in a simulated cluster. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(groups, .init = setup, .fini = teardown, .timeout = 60);

static json_t *group_op(const char *id, const char *name)
{
	return json_make("{s:s, s:s}", "OP_ID", id, "group_name", name);
}

static json_t *with(json_t *op, const char *key, json_t *value)
{
	json_object_set_new(op, key, value);
	return op;
}

static const json_t *group(const char *name)
{
	return config_find(s.master->config, CONFIG_GROUP, name);
}

static json_t *assign(const char *name, const char *node)
{
	return with(group_op("OP_GROUP_ASSIGN_NODES", name), "nodes",
		    json_make("[s]", node));
}

Test(groups, one_is_added_with_its_parameters)
{
	expect(with(with(group_op("OP_GROUP_ADD", "g2"), "alloc_policy",
			 json_string("last_resort")),
		    "ndparams", json_make("{s:i}", "spindle_count", 4)),
	       "success");
	cr_assert_not_null(group("g2"));
	cr_expect_str_eq(json_str(group("g2"), "alloc_policy", ""),
			 "last_resort");
	cr_expect_eq(
		json_int(json_get(group("g2"), "ndparams"), "spindle_count", 0),
		4);
	expect(group_op("OP_GROUP_ADD", "g2"), "already exists");
	expect(with(group_op("OP_GROUP_ADD", "g3"), "ndparams",
		    json_make("{s:i}", "nonsense", 4)),
	       "nonsense");
	cr_expect_null(group("g3"));
}

Test(groups, only_an_empty_one_that_is_not_the_last_goes)
{
	expect(group_op("OP_GROUP_REMOVE", "default"), "not empty");
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(assign("g2", "node2.example.com"), "success");
	expect(group_op("OP_GROUP_REMOVE", "g2"), "node2.example.com");
	expect(assign("default", "node2.example.com"), "success");
	expect(group_op("OP_GROUP_REMOVE", "g2"), "success");
	cr_expect_null(group("g2"));
	expect(group_op("OP_GROUP_REMOVE", "g2"), "not known");
}

/* Only the nodes of the instance's group are locked; the allocator of the
 * scripted nodes does not ask for the group. */
Test(groups, disks_that_are_made_anew_stay_in_the_group)
{
	json_t *op = op_add("web1", NODE2, true);

	json_set_bool(op, "start", false);
	expect(op, "success");
	table_done(&s.files, NULL);
	s.files = (struct table){0};
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(assign("g2", s.nodes[0].name), "success");
	expect(assign("g2", NODE3), "success");
	expect(with(op_named("OP_INSTANCE_RECREATE_DISKS", "web1"),
		    "iallocator", json_string("any")),
	       "which is not of the instance's group");
	cr_expect_str_eq(json_str(s.nodes[0].asked, "group_name", ""),
			 "default");
	cr_expect_eq(s.files.n, 0);
	expect(assign("default", NODE3), "success");
	expect(assign("default", s.nodes[0].name), "success");
	expect(with(op_named("OP_INSTANCE_RECREATE_DISKS", "web1"),
		    "iallocator", json_string("any")),
	       "success");
	cr_expect_eq(s.files.n, 1);
}

static int64_t serial(const char *name)
{
	return json_int(group(name), "serial_no", 0);
}

/* Who had its serial number has to look again. */
Test(groups, the_serial_numbers_tell_of_new_members)
{
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	int64_t before = serial("default");

	expect(assign("g2", "node2.example.com"), "success");
	cr_expect_eq(serial("default"), before + 1);
	cr_expect_eq(serial("g2"), 2);
	expect(assign("g2", "node2.example.com"), "success");
	cr_expect_eq(serial("g2"), 2, "nothing changed");
}

Test(groups, a_new_name_must_be_free)
{
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(with(group_op("OP_GROUP_RENAME", "g2"), "new_name",
		    json_string("default")),
	       "clashes");
	expect(with(group_op("OP_GROUP_RENAME", "g2"), "new_name",
		    json_string("g3")),
	       "success");
	cr_expect_null(group("g2"));
	cr_expect_not_null(group("g3"));
}

/* Names are looked up before UUIDs. */
Test(groups, a_name_that_looks_like_a_uuid_is_refused)
{
	static const char uuid[] = "11111111-2222-4333-8444-555555555555";

	expect(group_op("OP_GROUP_ADD", uuid), "looks like a UUID");
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(with(group_op("OP_GROUP_RENAME", "g2"), "new_name",
		    json_string(uuid)),
	       "looks like a UUID");
	cr_expect_not_null(group("g2"));
}

static json_t *small_only(void)
{
	return json_make(
		"{s:[{s:{s:i,s:i,s:i,s:i,s:i,s:i}, s:{s:i,s:i,s:i,s:i,s:i,s:i}}"
		"]}",
		"minmax", "min", "memory-size", 1, "disk-size", 1, "disk-count",
		0, "cpu-count", 1, "nic-count", 0, "spindle-use", 1, "max",
		"memory-size", 16, "disk-size", 9, "disk-count", 9, "cpu-count",
		9, "nic-count", 9, "spindle-use", 9);
}

/* While the node of a creation is asked for its memory. */
Test(groups, a_node_brings_no_instance_that_the_new_group_forbids)
{
	uint64_t id;

	expect(with(group_op("OP_GROUP_ADD", "g2"), "ipolicy", small_only()),
	       "success");
	s.nodes[0].slow = "node_info";
	id = sim_submit(&s, op_add("web1", s.nodes[0].name, false), NULL);
	expect(assign("g2", s.nodes[0].name), "success");
	cr_expect_str_eq(sim_wait(&s, id), "error");
	cr_expect_not_null(strstr(queue_job(s.master->queue, id)->ops[0].result,
				  "violates policy"),
			   "%s", queue_job(s.master->queue, id)->ops[0].result);
	cr_expect_null(config_find(s.master->config, CONFIG_INSTANCE, "web1"));
}

Test(groups, parameters_are_changed_and_reported)
{
	uint64_t id;

	expect(group_op("OP_GROUP_SET_PARAMS", "default"),
	       "at least one modification");
	id = sim_submit(&s,
			with(group_op("OP_GROUP_SET_PARAMS", "default"),
			     "ndparams", json_make("{s:i}", "cpu_speed", 2)),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_str_eq(queue_job(s.master->queue, id)->ops[0].result,
			 "[[\"ndparams\",\"{'cpu_speed': 2}\"]]");
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "alloc_policy",
		    json_string("unallocable")),
	       "success");
	cr_expect_str_eq(json_str(group("default"), "alloc_policy", ""),
			 "unallocable");
}

Test(groups, a_group_may_have_exclusive_storage)
{
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ndparams",
		    json_make("{s:b}", "exclusive_storage", 1)),
	       "success");
	cr_expect(json_bool(json_get(group("default"), "ndparams"),
			    "exclusive_storage", false));
}

Test(groups, a_policy_allows_what_the_cluster_has_enabled)
{
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:[s]}", "disk-templates", "plain")),
	       "not enabled on the cluster: plain");
	expect(with(group_op("OP_GROUP_ADD", "g2"), "ipolicy",
		    json_make("{s:[s]}", "disk-templates", "plain")),
	       "not enabled on the cluster: plain");
}

Test(groups, a_policy_takes_values_back_with_default)
{
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:f}", "vcpu-ratio", 2.5)),
	       "success");
	cr_expect_float_eq(json_num(json_get(group("default"), "ipolicy"),
				    "vcpu-ratio", 0),
			   2.5, 1e-9);
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:s}", "vcpu-ratio", "default")),
	       "success");
	cr_expect_null(
		json_get(json_get(group("default"), "ipolicy"), "vcpu-ratio"));
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:f}", "nonsense", 2.5)),
	       "nonsense");
}

/* In each form that Ganeti's clients have for it. */
Test(groups, a_policy_takes_lists_back_with_default)
{
	const char *const none[] = {"\"default\"", "[\"default\"]", "[]",
				    "null"};

	for (size_t i = 0; i < 4; i++) {
		auto_json json_t *value =
			json_loads(none[i], JSON_DECODE_ANY, NULL);

		expect(with(group_op("OP_GROUP_SET_PARAMS", "default"),
			    "ipolicy",
			    json_make("{s:[s]}", "disk-templates",
				      "sharedfile")),
		       "success");
		expect(with(group_op("OP_GROUP_SET_PARAMS", "default"),
			    "ipolicy",
			    json_make("{s:O}", "disk-templates", value)),
		       "success");
		cr_expect_null(json_get(json_get(group("default"), "ipolicy"),
					"disk-templates"),
			       "%s", none[i]);
	}
}

Test(groups, instances_that_a_policy_makes_violators_are_named)
{
	auto_json json_t *policy = small_only();
	const struct job *j;
	uint64_t id;

	expect(op_add("web1", "node1.example.com", false), "success");
	id = sim_submit(&s,
			with(group_op("OP_GROUP_SET_PARAMS", "default"),
			     "ipolicy", json_incref(policy)),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	cr_expect_not_null(strstr(j->ops[0].log.data, "web1"));
}

/* --- to another group --- */

static json_t *op_change(const char *target)
{
	json_t *op = op_named("OP_INSTANCE_CHANGE_GROUP", "web1");

	json_set_str(op, "iallocator", "any");
	if (target != NULL)
		json_object_set_new(op, "target_groups",
				    json_make("[s]", target));
	return op;
}

static json_t *op_evacuate(const char *target)
{
	json_t *op = group_op("OP_GROUP_EVACUATE", "default");

	json_set_str(op, "iallocator", "any");
	if (target != NULL)
		json_object_set_new(op, "target_groups",
				    json_make("[s]", target));
	return op;
}

static const char *home(const char *instance)
{
	struct config *c = s.master->config;
	const json_t *inst = config_find(c, CONFIG_INSTANCE, instance);
	const json_t *node =
		config_get(c, CONFIG_NODE, json_str(inst, "primary_node", ""));

	return config_name(c, CONFIG_GROUP, json_str(node, "group", ""));
}

Test(groups, an_instance_needs_another_group_to_change)
{
	auto_free char *used = NULL;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_change(NULL), "There are no possible target groups");
	used = xprintf("Can't use group(s) '%s' as targets, they are used by "
		       "the instance 'web1'",
		       json_str(group("default"), "uuid", ""));
	expect(op_change("default"), used);
	expect(op_change("nosuch"), "not known");
	expect(op_named("OP_INSTANCE_CHANGE_GROUP", "web1"),
	       "There are no possible target groups");
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "default_iallocator", ""),
	       "success");
	expect(op_named("OP_INSTANCE_CHANGE_GROUP", "web1"),
	       "No iallocator was specified");
	expect(op_evacuate(NULL), "There are no possible target groups");
	expect(op_evacuate("default"), "not be used as a target group");
}

Test(groups, an_instance_changes_its_group)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(op_change(NULL), "no node"); /* there is none in it */
	expect(assign("g2", NODE3), "success");
	expect(op_change(NULL), "success");
	sim_run(&s, 60000, NULL, NULL); /* its job */
	cr_assert_str_eq(home("web1"), "g2");
	expect(op_change("default"), "success");
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_str_eq(home("web1"), "default");
}

static json_t *op_group_policy(const char *name, int cpus)
{
	json_t *op = group_op("OP_GROUP_SET_PARAMS", name);

	return with(op, "ipolicy",
		    json_make("{s:[{s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:{s:i, "
			      "s:i, s:i, s:i, s:i, s:i}}]}",
			      "minmax", "min", "memory-size", 1, "disk-size", 1,
			      "disk-count", 0, "cpu-count", cpus, "nic-count",
			      0, "spindle-use", 0, "max", "memory-size", 65536,
			      "disk-size", 65536, "disk-count", 16, "cpu-count",
			      64, "nic-count", 8, "spindle-use", 64));
}

static void expect_moves(const char *node, const char *outcome)
{
	static const char *const ids[] = {"OP_INSTANCE_MIGRATE",
					  "OP_INSTANCE_FAILOVER"};

	for (size_t i = 0; i < 2; i++)
		expect(op_move(ids[i], "web1", node), outcome);
}

Test(groups, who_moves_into_another_group_obeys_its_policy)
{
	json_t *op = op_move("OP_INSTANCE_MIGRATE", "web1", NODE3);

	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(assign("g2", NODE3), "success");
	expect(op_group_policy("g2", 2), "success");
	expect(op_add("web1", NODE2, true), "success");
	expect_moves(NODE3, "Instance does not meet target node group's (g2) "
			    "instance policy");
	json_set_bool(op, "ignore_ipolicy", true);
	expect(op, "success");
	cr_assert_str_eq(home("web1"), "g2");
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", NODE2), "success");
	/* One that breaks its own policy still finds another node. */
	expect(op_group_policy("default", 2), "success");
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", s.nodes[0].name),
	       "success");
}

Test(groups, a_group_is_emptied)
{
	json_t *op = op_evacuate("g2");
	uint64_t id;
	const struct job *last;

	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(assign("g2", NODE3), "success");
	expect(op_evacuate(NULL), "success"); /* nothing to do */
	expect(op_add("web1", NODE2, true), "success");
	expect(op_add("web2", s.nodes[0].name, true), "success");
	expect(op_add("web3", NODE2, true), "success");
	json_set_bool(op, "sequential", true);
	json_set_bool(op, "force_failover", true);
	id = sim_submit(&s, op, NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	last = queue_job(s.master->queue, id + 3);
	cr_assert_not_null(last);
	cr_expect_not_null(strstr(last->ops[0].input, "INSTANCE_FAILOVER"));
	cr_expect_not_null(strstr(last->ops[0].input, "\"depends\":[["));
	sim_run(&s, 600000, NULL, NULL);
	cr_assert_str_eq(home("web1"), "g2");
	cr_assert_str_eq(home("web2"), "g2");
	cr_assert_str_eq(home("web3"), "g2");
}
