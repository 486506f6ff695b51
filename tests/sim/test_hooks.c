/* SPDX-License-Identifier: BSD-2-Clause */
/* What hooks are told before and after an opcode, and where they run, as
 * recorded with Ganeti. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(sim_hooks, .init = setup, .fini = teardown, .timeout = 60);

/* The value that the last hooks of the first node, the master, were given. */
static const char *told(const char *key)
{
	auto_free char *name = xprintf("GANETI_%s", key);

	return json_str(s.nodes[0].hook_env, name, "(none)");
}

static void expect_told(const char *key, const char *value)
{
	cr_expect_str_eq(told(key), value, "%s is %s, not %s", key, told(key),
			 value);
}

Test(sim_hooks, after_see_the_old_values_and_the_new_ones)
{
	const json_t *env;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", NODE3), "success");
	env = s.nodes[0].hook_env;
	cr_assert_str_eq(json_str(env, "GANETI_HOOKS_PHASE", ""), "post");
	cr_expect_str_eq(json_str(env, "GANETI_INSTANCE_PRIMARY", ""), NODE2);
	cr_expect_str_eq(json_str(env, "GANETI_POST_INSTANCE_PRIMARY", ""),
			 NODE3);
}

Test(sim_hooks, after_a_removal_still_know_the_disks)
{
	const json_t *env;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	env = s.nodes[0].hook_env;
	cr_assert_str_eq(json_str(env, "GANETI_HOOKS_PATH", ""),
			 "instance-remove");
	cr_expect_str_eq(
		json_str(env, "GANETI_POST_INSTANCE_DISK_TEMPLATE", ""),
		json_str(env, "GANETI_INSTANCE_DISK_TEMPLATE", "?"));
	cr_expect_str_eq(json_str(env, "GANETI_POST_INSTANCE_DISK_COUNT", ""),
			 "1");
}

Test(sim_hooks, power_shows_in_the_state_before_and_after)
{
	expect(op_add("web1", NODE2, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect_told("INSTANCE_STATUS", "up");
	expect_told("POST_INSTANCE_STATUS", "down");
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	expect_told("INSTANCE_STATUS", "down");
	expect_told("POST_INSTANCE_STATUS", "up");
}

Test(sim_hooks, of_a_creation_know_sizes_but_not_places)
{
	expect(op_add("web1", NODE2, true), "success");
	expect_told("HOOKS_PATH", "instance-add");
	expect_told("POST_INSTANCE_DISK0_SIZE", "64");
	expect_told("POST_INSTANCE_DISK0_UUID", "");
	expect_told("POST_INSTANCE_DISK0_ID", "(none)");
	expect_told("INSTANCE_DISK0_DEV_TYPE", "(none)");
}

static json_t *with(json_t *op, const char *key, json_t *value STEALS)
{
	json_object_set_new(op, key, value);
	return op;
}

/* Of web1 on node2 and, for mirrors, node3. */
static json_t *add_on(const char *template)
{
	json_t *op = op_add("web1", NODE2, true);

	json_set_str(op, "disk_template", template);
	if (strcmp(template, "drbd") == 0)
		json_set_str(op, "snode", NODE3);
	return op;
}

static void enable_volumes(void)
{
	expect(json_make("{s:s, s:s, s:s, s:[s, s, s], s:{s:[s, s, s]}}",
			 "OP_ID", "OP_CLUSTER_SET_PARAMS", "vg_name", "xenvg",
			 "drbd_helper", "/bin/true", "enabled_disk_templates",
			 "drbd", "plain", "sharedfile", "ipolicy",
			 "disk-templates", "drbd", "plain", "sharedfile"),
	       "success");
}

Test(sim_hooks, of_a_creation_know_of_storage_also_in_a_dry_run)
{
	enable_volumes();
	expect(with(add_on("drbd"), "dry_run", json_true()), "success");
	expect_told("HOOKS_PHASE", "pre");
	expect_told("INSTANCE_DISK_TEMPLATE", "drbd");
	expect_told("INSTANCE_SECONDARIES", NODE3);
	expect_told("INSTANCE_DISK_COUNT", "1");
	expect_told("INSTANCE_DISK0_SIZE", "64");
	expect_told("INSTANCE_DISK0_MODE", "rw");
	expect_told("INSTANCE_DISK0_UUID", "");
	expect(add_on("drbd"), "success");
	expect_told("POST_INSTANCE_SECONDARIES", NODE3);
	expect_told("POST_INSTANCE_DISK0_UUID", "");
	expect_told("POST_INSTANCE_DISK0_PNODE", "(none)");
	expect_told("POST_INSTANCE_DISK0_DATA_ID", "(none)");
}

Test(sim_hooks, know_files_by_driver_and_volumes_by_group)
{
	enable_volumes();
	expect(add_on("sharedfile"), "success");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect_told("INSTANCE_DISK0_DEV_TYPE", "sharedfile");
	expect_told("INSTANCE_DISK0_DRIVER", "loop");
	expect_told("INSTANCE_DISK0_VG", "(none)");
	expect(add_on("plain"), "success");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect_told("INSTANCE_DISK0_DEV_TYPE", "plain");
	expect_told("INSTANCE_DISK0_VG", "xenvg");
	expect_told("INSTANCE_DISK0_DRIVER", "(none)");
	cr_expect_not_null(strstr(told("INSTANCE_DISK0_ID"), ".disk0"));
}

static const char *secret_of_first_disk(void)
{
	const json_t *inst =
		config_find(s.master->config, CONFIG_INSTANCE, "web1");
	auto_json json_t *disks = config_instance_disks(s.master->config, inst);

	return json_string_value(json_array_get(
		json_get(json_array_get(disks, 0), "logical_id"), 5));
}

Test(sim_hooks, know_all_of_mirrors_but_their_secret)
{
	const char *key;
	json_t *value;

	enable_volumes();
	expect(add_on("drbd"), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect_told("INSTANCE_DISK0_DEV_TYPE", "drbd");
	expect_told("INSTANCE_DISK0_PNODE", s.nodes[1].uuid);
	expect_told("INSTANCE_DISK0_SNODE", s.nodes[2].uuid);
	expect_told("INSTANCE_DISK0_PORT", "11000");
	expect_told("INSTANCE_DISK0_PMINOR", "0");
	expect_told("INSTANCE_DISK0_SMINOR", "0");
	expect_told("INSTANCE_DISK0_DATA_VG", "xenvg");
	expect_told("INSTANCE_DISK0_META_VG", "xenvg");
	cr_expect_not_null(strstr(told("INSTANCE_DISK0_DATA_ID"), "_data"));
	cr_expect_not_null(strstr(told("INSTANCE_DISK0_META_ID"), "_meta"));
	expect_told("INSTANCE_DISK0_ID", "(none)");
	json_object_foreach (s.nodes[0].hook_env, key, value)
		cr_expect_str_neq(json_string_value(value),
				  secret_of_first_disk(), "%s", key);
}

/* What hooks on a node were last run for. */
static void expect_run(size_t node, const char *path, const char *phase)
{
	const json_t *env = s.nodes[node].hook_env;

	cr_expect_str_eq(json_str(env, "GANETI_HOOKS_PATH", ""), path);
	cr_expect_str_eq(json_str(env, "GANETI_HOOKS_PHASE", ""), phase);
}

Test(sim_hooks, afterwards_run_where_the_instance_was)
{
	enable_volumes();
	expect(add_on("drbd"), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(with(op_named("OP_INSTANCE_SET_PARAMS", "web1"), "disk_template",
		    json_string("plain")),
	       "success");
	expect_run(2, "instance-modify", "post");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect(add_on("drbd"), "success");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect_run(2, "instance-remove", "post");
}

Test(sim_hooks, after_an_export_that_removes_still_know_the_disks)
{
	json_t *op = op_named("OP_BACKUP_EXPORT", "web1");

	json_object_update_new(op,
			       json_make("{s:s, s:s, s:b, s:b}", "mode",
					 "local", "target_node", NODE3,
					 "shutdown", 1, "remove_instance", 1));
	expect(op_add("web1", NODE2, true), "success");
	expect(op, "success");
	expect_told("HOOKS_PATH", "instance-export");
	expect_told("POST_INSTANCE_DISK_COUNT", "1");
	expect_told("POST_INSTANCE_DISK_TEMPLATE", "sharedfile");
	expect_told("POST_REMOVE_INSTANCE", "True");
}

static json_t *replace(const char *mode, const char *allocator)
{
	json_t *op = op_named("OP_INSTANCE_REPLACE_DISKS", "web1");

	json_set_str(op, "mode", mode);
	json_set_str(op, "iallocator", allocator);
	return op;
}

/* The allocator of the simulation may choose the primary. */
static void expect_soon(json_t *op STEALS, const char *outcome)
{
	for (int i = 0; i < 20; i++) {
		auto_free char *got = sim_do(&s, json_incref(op));

		if (strstr(got, outcome) != NULL)
			break;
	}
	json_decref(op);
}

Test(sim_hooks, of_a_replacement_know_the_node_that_an_allocator_chose)
{
	enable_volumes();
	expect(add_on("drbd"), "success");
	s.nodes[1].hook_fails = true; /* what follows is not tested here */
	expect(replace("replace_on_primary", NULL), "HooksAbort");
	expect_told("MODE", "replace_on_primary");
	expect_told("OLD_SECONDARY", NODE3);
	expect_told("NEW_SECONDARY", "None");
	expect_soon(replace("replace_new_secondary", "any"), "HooksAbort");
	expect_told("NEW_SECONDARY", s.nodes[0].name);
}

Test(sim_hooks, an_answer_that_is_none_of_hooks_is_a_node_that_failed)
{
	static const char *const bad[] = {
		"[[\"10-no\", 1]]",    "[[\"10-no\"]]", "[[1, 1, \"no\"]]",
		"[[\"10-no\", 1, 5]]", "[\"10-no\"]",	"{}"};

	expect(op_add("web1", NODE2, true), "success");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		s.nodes[1].hooks_say = json_loads(bad[i], 0, NULL);
		expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
		json_decref(steal(&s.nodes[1].hooks_say));
	}
	s.nodes[1].hooks_say = json_make("[[s, i, n]]", "10-no", 1);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "HooksAbort");
}

Test(sim_hooks, know_the_switch_as_the_bridge_of_a_nic)
{
	expect(with(op_add("web1", NODE2, false), "nics",
		    json_make("[{s:s, s:s}]", "mode", "openvswitch", "link",
			      "switch1")),
	       "success");
	expect_told("INSTANCE_NIC0_LINK", "switch1");
	expect_told("INSTANCE_NIC0_BRIDGE", "switch1");
}

static json_t *modify(const char *key, json_t *value STEALS)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_object_set_new(op, key, value);
	return op;
}

Test(sim_hooks, of_a_change_know_what_memory_will_be)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(modify("beparams", json_make("{s:i}", "vcpus", 3)), "success");
	expect_told("INSTANCE_VCPUS", "3");
	expect_told("INSTANCE_BE_vcpus", "1");
	expect_told("POST_INSTANCE_BE_vcpus", "3");
	expect(modify("disks", json_make("[[s, {s:i}]]", "add", "size", 32)),
	       "success");
	expect_told("INSTANCE_DISK_COUNT", "1");
	expect_told("POST_INSTANCE_DISK_COUNT", "2");
	expect(modify("nics", json_make("[[s, {}]]", "remove")), "success");
	expect_told("INSTANCE_NIC_COUNT", "0");
	expect_told("INSTANCE_NIC0_MAC", "(none)");
}

Test(sim_hooks, of_a_migration_run_where_it_ran_and_where_it_goes)
{
	expect(op_add("web1", NODE2, true), "success");
	s.nodes[1].hook_fails = true;
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", NODE3), "HooksAbort");
	s.nodes[1].hook_fails = false;
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", NODE3), "success");
	expect_told("MIGRATE_LIVE", "True");
	expect_told("OLD_PRIMARY", NODE2);
	expect_told("POST_OLD_PRIMARY", NODE3);
	expect_told("POST_NEW_PRIMARY", NODE3);
}

Test(sim_hooks, of_a_group_say_none_where_the_policy_stays)
{
	expect(json_make("{s:s, s:s, s:{s:i}}", "OP_ID", "OP_GROUP_SET_PARAMS",
			 "group_name", "default", "ndparams", "spindle_count",
			 2),
	       "success");
	expect_told("NEW_ALLOC_POLICY", "None");
}
