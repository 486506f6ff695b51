/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances on logical volumes: mirrored on two nodes, or volumes that were
 * there before, in a simulated cluster whose nodes know them. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"

static void setup_volumes(void)
{
	sim_init_big(&s, 3, 1, 1);
}

TestSuite(mirrors, .init = setup_volumes, .fini = teardown, .timeout = 60);

static json_t *op_mirrored(const char *name, const char *snode)
{
	json_t *op = op_add(name, NODE2, true);

	json_set_str(op, "disk_template", "drbd");
	json_set_str(op, "snode", snode);
	json_object_set_new(
		op, "disks",
		json_make("[{s:i}, {s:i}]", "size", 64, "size", 128));
	return op;
}

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

static const json_t *disk(const char *name, size_t i)
{
	return config_get(s.master->config, CONFIG_DISK,
			  json_string_value(json_array_get(
				  json_get(instance(name), "disks"), i)));
}

static const char *secondary(const char *name)
{
	static char found[64];
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(s.master->config, instance(name), &nodes);
	cr_assert_eq(nodes.n, 1);
	snprintf(found, sizeof(found), "%s",
		 config_name(s.master->config, CONFIG_NODE, nodes.items[0]));
	return found;
}

Test(mirrors, each_disk_is_two_volumes_on_two_nodes)
{
	const json_t *data, *meta;

	expect(op_mirrored("web1", NODE3), "success");
	cr_assert_str_eq(secondary("web1"), NODE3);
	cr_assert_eq(s.files.n, 2 * 2 * 2);
	data = json_array_get(json_get(disk("web1", 1), "children"), 0);
	meta = json_array_get(json_get(disk("web1", 1), "children"), 1);
	cr_assert_eq(json_int(data, "size", 0), 128);
	cr_assert_eq(json_int(meta, "size", 0), 128);
	cr_assert_str_eq(json_string_value(json_array_get(
				 json_get(data, "logical_id"), 0)),
			 "xenvg");
	cr_assert_eq(strlen(json_string_value(json_array_get(
			     json_get(disk("web1", 0), "logical_id"), 5))),
		     40);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_assert_eq(s.files.n, 0);
}

static const char *group_of_child(const char *name, size_t i)
{
	const json_t *child =
		json_array_get(json_get(disk(name, 0), "children"), i);

	return json_string_value(
		json_array_get(json_get(child, "logical_id"), 0));
}

/* Who wants data and metadata on different drives has a volume group for
 * each. */
Test(mirrors, metadata_can_have_a_volume_group_of_its_own)
{
	json_t *op = op_mirrored("web1", NODE3);

	json_object_set_new(
		op, "disks",
		json_make("[{s:i, s:s}]", "size", 64, "metavg", "metas"));
	expect(op, "success");
	cr_expect_str_eq(group_of_child("web1", 0), "xenvg");
	cr_expect_str_eq(group_of_child("web1", 1), "metas");
}

/* What a job with this opcode gives, to be freed. */
static json_t *result_of(json_t *op STEALS)
{
	uint64_t id = sim_submit(&s, op, NULL);
	const struct job *j;
	struct error err;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	return json_parse(j->ops[0].result, strlen(j->ops[0].result), &err);
}

/* The result of OP_GROUP_VERIFY_DISKS, to be freed; how long it took. */
static json_t *verify_disks(int64_t *ret_ms)
{
	int64_t begin_us = clock_mono_us();
	json_t *result = result_of(json_make("{s:s, s:s}", "OP_ID",
					     "OP_GROUP_VERIFY_DISKS",
					     "group_name", "default"));

	*ret_ms = (clock_mono_us() - begin_us) / 1000;
	return result;
}

static bool warns_of_groups(json_t *op STEALS)
{
	uint64_t id = sim_submit(&s, op, NULL);
	auto_free char *text = NULL;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	text = sim_job_log(&s, id);
	return strstr(text, "in two different node groups (default and g2)") !=
	       NULL;
}

/* Nobody refuses it, and verify calls it an error. */
Test(mirrors, nodes_of_two_groups_are_warned_of)
{
	json_t *op;

	cr_expect_not(warns_of_groups(op_mirrored("web1", NODE3)));
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_GROUP_ADD", "group_name",
			 "g2"),
	       "success");
	expect(json_make("{s:s, s:s, s:[s], s:b}", "OP_ID",
			 "OP_GROUP_ASSIGN_NODES", "group_name", "g2", "nodes",
			 NODE3, "force", 1),
	       "success");
	cr_expect(warns_of_groups(op_mirrored("web2", NODE3)));
	op = op_add("web3", NODE2, true);
	json_set_str(op, "disk_template", "plain");
	json_set_bool(op, "start", false);
	expect(op, "success");
	op = op_named("OP_INSTANCE_SET_PARAMS", "web3");
	json_set_str(op, "disk_template", "drbd");
	json_set_str(op, "remote_node", NODE3);
	cr_expect(warns_of_groups(op));
}

/* --- what the report tells --- */

/* The row of its first disk, to be freed. */
static json_t *told_disk(const char *name)
{
	auto_json json_t *all = result_of(json_make(
		"{s:s, s:[s], s:b}", "OP_ID", "OP_INSTANCE_QUERY_DATA",
		"instances", name, "use_locking", 1));

	return json_incref(json_array_get(
		json_object_get(json_object_get(all, name), "disks"), 0));
}

Test(mirrors, the_report_has_both_sides_and_not_their_secret)
{
	auto_json json_t *told = NULL, *wanted = NULL;
	const json_t *id;
	auto_free char *text = NULL;

	expect(op_mirrored("web1", NODE3), "success");
	told = told_disk("web1");
	id = json_get(disk("web1", 0), "logical_id");
	wanted =
		json_make("{s:s, s:O, s:s, s:O, s:O}", "primary_node", NODE2,
			  "primary_minor", json_array_get(id, 3),
			  "secondary_node", NODE3, "secondary_minor",
			  json_array_get(id, 4), "port", json_array_get(id, 2));
	cr_expect(json_equal(json_get(told, "drbd_info"), wanted));
	text = json_dumps(told, 0);
	cr_expect_null(strstr(text, json_string_value(json_array_get(id, 5))));
	id = json_get(told, "logical_id");
	cr_expect_eq(json_array_size(id), 6);
	cr_expect(json_is_null(json_array_get(id, 5)));
}

static bool is_degraded(const json_t *row, const char *side)
{
	const json_t *status = json_get(row, side);

	cr_assert_eq(json_array_size(status), 7, "%s", side);
	return json_is_true(json_array_get(status, 5));
}

Test(mirrors, the_report_tells_how_each_side_and_its_volumes_are)
{
	auto_json json_t *told = NULL;
	const json_t *volumes;

	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[2].parted = true;
	told = told_disk("web1");
	cr_expect_not(is_degraded(told, "pstatus"));
	cr_expect(is_degraded(told, "sstatus"));
	volumes = json_get(told, "children");
	cr_assert_eq(json_array_size(volumes), 2);
	for (size_t i = 0; i < 2; i++) {
		const json_t *volume = json_array_get(volumes, i);

		cr_expect_str_eq(json_str(volume, "dev_type", ""), "plain");
		cr_expect_null(json_get(volume, "drbd_info"));
		cr_expect_not(is_degraded(volume, "pstatus"));
		cr_expect(is_degraded(volume, "sstatus"));
	}
}

static void make_three(void)
{
	expect(op_mirrored("web1", NODE3), "success");
	expect(op_mirrored("web2", NODE3), "success");
	expect(op_mirrored("web3", NODE3), "success");
	s.nodes[1].volumes_online = s.nodes[2].volumes_online = true;
}

Test(mirrors, those_that_are_not_active_are_found)
{
	auto_json json_t *none = NULL, *found = NULL, *wanted = NULL;
	int64_t ms;

	make_three();
	none = verify_disks(&ms);
	wanted = json_make("[{}, [], {}]");
	cr_expect(json_equal(none, wanted));
	table_remove(&s.nodes[2].devices,
		     json_str(disk("web2", 1), "uuid", ""));
	found = verify_disks(&ms);
	cr_expect_eq(json_array_size(json_array_get(found, 1)), 1);
	cr_expect(json_array_has_str(json_array_get(found, 1), "web2"));
}

Test(mirrors, nodes_that_hang_are_looked_at_together_and_not_for_long)
{
	auto_json json_t *found = NULL;
	const json_t *errors;
	int64_t ms;

	make_three();
	s.nodes[1].slow = s.nodes[2].slow = "drbd_needs_activation";
	found = verify_disks(&ms);
	errors = json_array_get(found, 0);
	cr_expect_not_null(json_get(errors, s.nodes[1].uuid));
	cr_expect_not_null(json_get(errors, s.nodes[2].uuid));
	cr_expect_lt(ms, 15000);
}

Test(mirrors, a_node_that_lists_no_volumes_is_not_asked_about_mirrors)
{
	auto_strv struct strv calls = {0};
	auto_json json_t *found = NULL;
	int64_t ms;

	make_three();
	s.nodes[2].fail_on = "lv_list";
	s.calls = &calls;
	found = verify_disks(&ms);
	s.calls = NULL;
	cr_expect_not_null(json_get(json_array_get(found, 0), s.nodes[2].uuid));
	cr_expect(strv_has(&calls, "drbd_needs_activation " NODE2));
	cr_expect_not(strv_has(&calls, "drbd_needs_activation " NODE3));
}

/* One of 64 and 128 MiB with metadata is there: that leaves 200 MiB, of which
 * another disk takes 128 MiB for metadata. */
static void leave_room(const char *node)
{
	expect(json_make("{s:s, s:s, s:{s:{s:{s:i, s:i, s:i}}}}", "OP_ID",
			 "OP_NODE_SET_PARAMS", "node_name", node, "disk_state",
			 "plain", "xenvg", "disk_total", 648, "disk_overhead",
			 0, "disk_reserved", 0),
	       "success");
}

static json_t *op_grow(int mib)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");

	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", mib);
	return op;
}

static json_t *op_more_disk(int mib)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_object_set_new(
		op, "disks",
		json_make("[[s, i, {s:i}]]", "add", -1, "size", mib));
	return op;
}

Test(mirrors, more_space_is_looked_for_on_both_nodes)
{
	expect(op_mirrored("web1", NODE3), "success");
	leave_room(NODE3);
	expect(op_grow(201), "Not enough disk space on node " NODE3);
	expect(op_more_disk(73), "Not enough disk space on node " NODE3);
	expect(op_more_disk(64), "success");
	expect(op_grow(8), "success");
	leave_room(NODE2);
	expect(op_grow(1), "Not enough disk space on node " NODE2);
}

static json_t *op_spindle_ratio(double ratio)
{
	return json_make("{s:s, s:{s:f}}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "ipolicy", "spindle-ratio", ratio);
}

static json_t *with_spindle_use(json_t *op, int spindles)
{
	json_object_set_new(op, "beparams",
			    json_make("{s:i}", "spindle_use", spindles));
	return op;
}

Test(mirrors, spindles_of_both_nodes_are_used_by_volumes_alone)
{
	json_t *other = op_mirrored("web4", NODE3);

	expect(op_spindle_ratio(2), "success");
	expect(op_add("web1", NODE2, true), "success");
	expect(with_spindle_use(op_add("web2", NODE2, true), 3), "success");
	expect(with_spindle_use(op_mirrored("web3", NODE3), 2), "success");
	expect(op_mirrored("web4", s.nodes[0].name),
	       "Not enough spindles on node " NODE2);
	json_set_str(other, "pnode", s.nodes[0].name);
	expect(other, "Not enough spindles on node " NODE3);
	expect(op_add("web5", NODE2, true), "success");
}

static json_t *op_use_spindles(const char *name, int spindles)
{
	return with_spindle_use(op_named("OP_INSTANCE_SET_PARAMS", name),
				spindles);
}

Test(mirrors, more_spindles_are_looked_for_on_both_nodes)
{
	json_t *other = op_mirrored("web2", NODE3);

	expect(op_spindle_ratio(4), "success");
	expect(op_mirrored("web1", NODE3), "success");
	json_set_str(other, "pnode", s.nodes[0].name);
	expect(with_spindle_use(other, 2), "success");
	expect(op_use_spindles("web1", 2), "success");
	expect(op_use_spindles("web1", 3),
	       "Not enough spindles on node " NODE3);
	expect(op_add("web3", NODE2, true), "success");
	expect(op_use_spindles("web3", 9), "success");
}

/* Whatever the last of them needs. */
Test(mirrors, many_creations_tell_the_allocator_the_room_for_them)
{
	json_t *first = op_mirrored("web1", NODE3);
	json_t *last = op_add("web2", NULL, false);
	const json_t *told;

	json_object_del(first, "pnode");
	json_object_del(first, "snode");
	json_object_del(last, "iallocator");
	expect(json_make("{s:s, s:[o, o], s:s}", "OP_ID",
			 "OP_INSTANCE_MULTI_ALLOC", "instances", first, last,
			 "iallocator", "any"),
	       "success");
	told = json_get(s.nodes[0].told, NODE3);
	cr_expect_gt(json_int(told, "total_disk", 0), 0);
	sim_run(&s, 60000, NULL, NULL); /* the jobs end */
}

static void setup_five(void)
{
	sim_init_big(&s, 5, 1, 1);
}

TestSuite(evacuation, .init = setup_five, .fini = teardown, .timeout = 60);

static bool is_on(const char *instance_name, const char *node)
{
	auto_strv struct strv nodes = {0};
	const json_t *found = instance(instance_name);

	config_instance_secondaries(s.master->config, found, &nodes);
	strv_add(&nodes, json_str(found, "primary_node", ""));
	for (size_t i = 0; i < nodes.n; i++)
		if (str_eq(config_name(s.master->config, CONFIG_NODE,
				       nodes.items[i]),
			   node))
			return true;
	return false;
}

static bool has_left(struct sim *sim, void *arg)
{
	(void)sim;
	return !is_on(arg, NODE2);
}

/* The other side of each mirror keeps its disks. */
Test(evacuation, only_the_side_on_the_node_leaves_it)
{
	json_t *op = json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
			       "OP_NODE_EVACUATE", "node_name", NODE2, "mode",
			       "all", "iallocator", "any");
	json_t *other = op_mirrored("web2", NODE2);

	json_set_str(other, "pnode", NODE3);
	expect(op_mirrored("web1", s.nodes[0].name), "success");
	expect(other, "success");
	expect(op_add("web3", NODE2, true), "success");
	expect(op, "success");
	cr_expect(sim_run(&s, 600000, has_left, (void *)"web1"));
	cr_expect(sim_run(&s, 600000, has_left, (void *)"web2"));
	cr_expect(sim_run(&s, 600000, has_left, (void *)"web3"));
	cr_expect(is_on("web1", s.nodes[0].name));
	cr_expect_str_eq(
		config_name(s.master->config, CONFIG_NODE,
			    json_str(instance("web2"), "primary_node", "")),
		NODE3);
	sim_run(&s, 60000, NULL, NULL); /* the jobs end */
}

/* Where it can go depends on the room on the nodes. */
Test(mirrors, an_evacuation_tells_the_allocator_the_room_for_them)
{
	json_t *op = json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
			       "OP_NODE_EVACUATE", "node_name", NODE2, "mode",
			       "primary-only", "iallocator", "any");
	const json_t *told;

	expect(op_mirrored("web1", NODE3), "success");
	expect(op, "success");
	told = json_get(s.nodes[0].told, NODE3);
	cr_expect_gt(json_int(told, "total_disk", 0), 0);
	cr_expect_gt(json_int(told, "free_disk", 0), 0);
	sim_run(&s, 60000, NULL, NULL); /* the jobs that were planned */
}

Test(mirrors, who_activates_them_hears_of_a_side_that_is_not_found)
{
	json_t *op = op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1");

	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[1].fail_on = "drbd_wait_sync";
	expect(json_incref(op), "a mirror is not whole");
	cr_expect(json_bool(instance("web1"), "disks_active", false));
	s.nodes[1].fail_on = NULL;
	expect(op, "success");
}

Test(mirrors, their_sync_is_waited_for_where_that_is_wanted)
{
	json_t *op = op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1");

	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	json_set_bool(op, "wait_for_sync", true);
	s.nodes[1].fail_on = "blockdev_getmirrorstatus";
	expect(json_incref(op), "Can't follow the sync");
	cr_expect_not(json_bool(instance("web1"), "disks_active", true));
	s.nodes[1].fail_on = NULL;
	expect(op, "success");
	cr_expect(json_bool(instance("web1"), "disks_active", false));
}

static json_t *op_params(const char *id, json_t *drbd STEALS)
{
	return json_make("{s:s, s:{s:o}}", "OP_ID", id, "diskparams", "drbd",
			 drbd);
}

/* The cluster's values and, above them, the group's; the configuration keeps
 * the instance's disks without. */
/* Ganeti's luxid reads no configuration in which the volumes below lack what
 * each object has; those that were made without it get it. */
Test(mirrors, volumes_below_have_the_members_of_objects)
{
	static const char *const members[] = {"serial_no", "ctime", "mtime"};
	struct config *c = s.master->config;
	json_t *old, *volume;

	expect(op_mirrored("web1", NODE3), "success");
	cr_expect_eq(config_complete(c), 0);
	old = json_unconst(disk("web1", 0));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		volume = json_array_get(json_object_get(old, "children"), 1);
		cr_assert_not_null(json_object_get(volume, members[i]), "%s",
				   members[i]);
		json_object_del(volume, members[i]);
		cr_expect_eq(config_complete(c), 1);
		old = json_unconst(disk("web1", 0));
		volume = json_array_get(json_object_get(old, "children"), 1);
		cr_expect_not_null(json_object_get(volume, members[i]), "%s",
				   members[i]);
	}
}

Test(mirrors, nodes_get_the_parameters_of_the_template)
{
	json_t *op = op_params("OP_GROUP_SET_PARAMS",
			       json_make("{s:i, s:i}", "meta-stripes", 3,
					 "resync-rate", 2048));
	const json_t *params, *children;

	expect(op_params("OP_CLUSTER_SET_PARAMS",
			 json_make("{s:i, s:i, s:s}", "data-stripes", 2,
				   "resync-rate", 1024, "net-custom", "--x")),
	       "success");
	json_set_str(op, "group_name", "default");
	expect(op, "success");
	expect(op_mirrored("web1", NODE3), "success");
	params = json_get(s.nodes[2].made, "params");
	children = json_get(s.nodes[2].made, "children");
	cr_expect_eq(json_int(params, "resync-rate", 0), 2048);
	cr_expect_str_eq(json_str(params, "net-custom", ""), "--x");
	cr_expect_eq(json_int(json_get(json_array_get(children, 0), "params"),
			      "stripes", 0),
		     2);
	cr_expect_eq(json_int(json_get(json_array_get(children, 1), "params"),
			      "stripes", 0),
		     3);
	cr_expect_eq(json_object_size(json_get(disk("web1", 0), "params")), 0);
}

Test(mirrors, parameters_that_contradict_each_other_are_refused)
{
	json_t *group = op_params("OP_GROUP_SET_PARAMS",
				  json_make("{s:b}", "dynamic-resync", 1));
	json_t *off = json_make("{s:i}", "c-plan-ahead", 0);

	expect(op_params("OP_CLUSTER_SET_PARAMS",
			 json_make("{s:b, s:i}", "dynamic-resync", 1,
				   "c-plan-ahead", 0)),
	       "needs a c-plan-ahead above 0");
	json_set_str(group, "group_name", "default");
	expect(group, "success");
	expect(op_params("OP_CLUSTER_SET_PARAMS", off), "of group default");
}

/* Ports are the cluster's, minors each node's. */
Test(mirrors, no_port_and_no_minor_is_given_twice)
{
	static const char *const names[] = {"web1", "web2"};

	expect(op_mirrored("web1", NODE3), "success");
	expect(op_mirrored("web2", s.nodes[0].name), "success");
	for (size_t i = 0; i < 4; i++) {
		const json_t *id =
			json_get(disk(names[i / 2], i % 2), "logical_id");

		cr_assert_eq(json_integer_value(json_array_get(id, 2)),
			     11000 + (json_int_t)i);
		cr_assert_eq(json_integer_value(json_array_get(id, 3)),
			     (json_int_t)i);
		cr_assert_eq(json_integer_value(json_array_get(id, 4)),
			     (json_int_t)i % 2);
	}
}

Test(mirrors, the_other_node_is_needed_and_another_one)
{
	expect(op_mirrored("web1", NULL), "need a mirror node");
	expect(op_mirrored("web1", NODE2), "cannot be the primary");
	expect(op_mirrored("web1", "node9.example.com"), "unknown_entity");
	cr_assert_null(instance("web1"));
}

Test(mirrors, other_templates_take_no_notice_of_it)
{
	json_t *op = op_add("web1", NODE2, true);

	json_set_str(op, "snode", NODE3);
	expect(op, "success");
	cr_assert_eq(s.files.n, 1);
}

Test(mirrors, a_failure_on_the_other_node_leaves_nothing)
{
	static const char *const calls[] = {"blockdev_create",
					    "blockdev_assemble", "os_validate"};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		s.nodes[2].fail_on = calls[i];
		expect(op_mirrored("web1", NODE3), "told to fail");
		cr_assert_null(instance("web1"));
		cr_assert_eq(s.files.n, 0, "%s", calls[i]);
	}
	s.nodes[2].fail_on = NULL;
}

/* --- made anew --- */

static json_t *op_recreate(void)
{
	json_t *op = op_named("OP_INSTANCE_RECREATE_DISKS", "web1");

	json_object_set_new(op, "nodes",
			    json_make("[s, s]", s.nodes[0].name, NODE2));
	return op;
}

/* An instance that is down, whose nodes have lost its disks. */
static void make_lost(void)
{
	json_t *op = op_mirrored("web1", NODE3);

	json_set_bool(op, "start", false);
	expect(op, "success");
	table_done(&s.files, NULL);
	s.files = (struct table){0};
}

Test(mirrors, half_of_what_was_lost_is_not_made)
{
	make_lost();
	s.nodes[1].fail_on = "blockdev_create";
	expect(op_recreate(), "told to fail");
	s.nodes[1].fail_on = NULL;
	cr_expect_eq(s.files.n, 0);
	expect(op_recreate(), "success");
}

Test(mirrors, one_made_anew_has_volumes_of_the_new_size)
{
	json_t *op = op_named("OP_INSTANCE_RECREATE_DISKS", "web1");
	const json_t *children;

	make_lost();
	json_object_set_new(
		op, "disks",
		json_make("[[i, {s:i}], [i, {}]]", 0, "size", 640, 1));
	expect(op, "success");
	children = json_get(disk("web1", 0), "children");
	cr_expect_eq(json_int(disk("web1", 0), "size", 0), 640);
	cr_expect_eq(json_int(json_array_get(children, 0), "size", 0), 640);
	cr_expect_eq(json_int(json_array_get(children, 1), "size", 0), 128,
		     "that of the metadata stays");
}

Test(mirrors, what_is_in_the_way_of_a_lost_one_stays)
{
	auto_free char *name = NULL;

	make_lost();
	name = sim_volume(
		s.nodes[1].uuid,
		json_array_get(json_get(disk("web1", 0), "children"), 1));
	table_put(&s.files, name, &s);
	expect(op_recreate(), "exists already");
	cr_expect_eq(s.files.n, 1);
	cr_expect_not_null(table_get(&s.files, name));
	table_remove(&s.files, name);
	expect(op_recreate(), "success");
}

Test(mirrors, their_volumes_get_the_new_name)
{
	json_t *op = op_named("OP_INSTANCE_RENAME", "web1");
	auto_strv struct strv calls = {0};

	json_t *add = op_mirrored("web1", NODE3);

	json_set_bool(add, "start", false);
	expect(add, "success");
	json_set_str(op, "new_name", "web2");
	json_set_bool(op, "name_check", false);
	json_set_bool(op, "ip_check", false);
	s.calls = &calls;
	expect(op, "success");
	s.calls = NULL;
	cr_expect(strv_has(&calls, "blockdev_setinfo " NODE2));
	cr_expect(strv_has(&calls, "blockdev_setinfo " NODE3));
}

Test(mirrors, they_run_and_stop_on_both_nodes)
{
	expect(op_mirrored("web1", NODE3), "success");
	cr_assert_eq(s.nodes[1].stopped.n + s.nodes[2].stopped.n, 0);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	cr_assert_eq(s.nodes[1].stopped.n, 2);
	cr_assert_eq(s.nodes[2].stopped.n, 2);
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	cr_assert_eq(s.nodes[1].stopped.n + s.nodes[2].stopped.n, 0);
}

/* A migration that was cut off leaves two primaries. */
Test(mirrors, the_secondary_steps_down_before_they_are_used)
{
	auto_strv struct strv calls = {0};

	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.calls = &calls;
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	s.calls = NULL;
	cr_expect(strv_has(&calls, "blockdev_close " NODE3));
	cr_expect_not(strv_has(&calls, "blockdev_close " NODE2));
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[2].fail_on = "blockdev_close";
	expect(op_named("OP_INSTANCE_STARTUP", "web1"),
	       "does not become a secondary on node " NODE3);
	s.nodes[2].fail_on = NULL;
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
}

Test(mirrors, an_allocator_chooses_both)
{
	json_t *one = op_mirrored("web1", NULL), *two;
	uint64_t id;

	json_object_set_new(one, "pnode", json_null());
	json_set_str(one, "iallocator", "any");
	expect(one, "success");
	secondary("web1");
	two = op_mirrored("web2", NULL);
	json_object_set_new(two, "pnode", json_null());
	json_object_del(two, "iallocator");
	json_object_del(two, "OP_ID");
	id = sim_submit(&s,
			json_make("{s:s, s:[o], s:s}", "OP_ID",
				  "OP_INSTANCE_MULTI_ALLOC", "instances", two,
				  "iallocator", "any"),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(sim_wait(&s, id + 1), "success");
	secondary("web2");
}

Test(mirrors, one_is_made_as_planned)
{
	sim_expect_as_planned(&s, op_mirrored("web1", NODE3));
	cr_assert_str_eq(secondary("web1"), NODE3);
}

/* --- adoption --- */

static json_t *op_adopt(const char *name, const char *volume)
{
	json_t *op = op_add(name, NODE2, true);

	json_set_str(op, "disk_template", "plain");
	json_object_set_new(op, "disks", json_make("[{s:s}]", "adopt", volume));
	return op;
}

static void make_volume(const char *name)
{
	auto_json json_t *id =
		json_make("{s:[s, s]}", "logical_id", "xenvg", name);
	auto_free char *path = sim_volume(s.nodes[1].uuid, id);

	table_put(&s.files, path, &s);
}

static bool has_volume(const char *name)
{
	auto_json json_t *id =
		json_make("{s:[s, s]}", "logical_id", "xenvg", name);
	auto_free char *path = sim_volume(s.nodes[1].uuid, id);

	return table_get(&s.files, path) != NULL;
}

Test(mirrors, a_volume_that_is_there_becomes_a_disk)
{
	make_volume("old");
	expect(op_adopt("web1", "old"), "success");
	cr_assert_not(has_volume("old"));
	cr_assert_eq(s.files.n, 1);
	cr_assert_eq(json_int(disk("web1", 0), "size", 0), 64);
}

Test(mirrors, what_is_adopted_is_never_removed)
{
	json_t *op;

	make_volume("old");
	s.nodes[1].fail_on = "blockdev_rename";
	expect(op_adopt("web1", "old"), "told to fail");
	cr_assert(has_volume("old"));
	cr_assert_null(instance("web1"));
	s.nodes[1].fail_on = NULL;
	op = op_adopt("web1", "none");
	expect(op, "Missing logical volume");
	op = op_adopt("web1", "old");
	json_array_append_new(json_object_get(op, "disks"),
			      json_make("{s:s}", "adopt", "old"));
	expect(op, "Duplicate volume names");
	expect(op_adopt("web1", "old"), "success");
}

Test(mirrors, either_all_disks_are_adopted_or_none)
{
	json_t *op = op_adopt("web1", "old");

	json_array_append_new(json_object_get(op, "disks"),
			      json_make("{s:i}", "size", 64));
	expect(op, "Either all disks are adopted or none");
	op = op_adopt("web1", "old");
	json_object_set_new(op, "pnode", json_null());
	json_set_str(op, "iallocator", "any");
	expect(op, "not allowed with an iallocator");
}

/* --- moves --- */

static const char *primary(const char *name)
{
	return config_name(s.master->config, CONFIG_NODE,
			   json_str(instance(name), "primary_node", ""));
}

Test(mirrors, they_fail_over_to_their_secondary)
{
	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_FAILOVER", "web1"), "success");
	cr_assert_str_eq(primary("web1"), NODE3);
	cr_assert_str_eq(secondary("web1"), NODE2);
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE2), "success");
	cr_assert_str_eq(primary("web1"), NODE2);
}

/* A failover to its secondary is refused with these words, unless data may be
 * lost. */
static void expect_no_target(const char *why)
{
	json_t *op = op_named("OP_INSTANCE_FAILOVER", "web1");

	expect(op_named("OP_INSTANCE_FAILOVER", "web1"), why);
	cr_assert_str_eq(primary("web1"), NODE2);
	json_set_bool(op, "ignore_consistency", true);
	expect(op, "success");
	cr_assert_str_eq(primary("web1"), NODE3);
}

Test(mirrors, a_side_without_the_newest_data_is_no_target)
{
	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[2].faulty_disks = true;
	expect(op_named("OP_INSTANCE_MIGRATE", "web1"),
	       "degraded or not fully synchronized on target node");
	expect_no_target("degraded or not fully synchronized on target node");
}

/* It is whole, but was alone while the primary went on writing. */
Test(mirrors, a_side_without_its_primary_is_no_target)
{
	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[2].parted = true;
	expect_no_target("is not connected to the primary node");
}

static bool is_active(const char *name)
{
	return json_bool(instance(name), "disks_active", false);
}

/* The mirrors of a running instance are looked after, whether or not somebody
 * could wait for their sync. */
Test(mirrors, a_sync_that_nobody_sees_leaves_disks_in_use_active)
{
	json_t *op = op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1");

	expect(op_mirrored("web1", NODE3), "success");
	json_set_bool(op, "wait_for_sync", true);
	s.nodes[1].fail_on = "blockdev_getmirrorstatus";
	expect(json_incref(op), "Can't follow the sync");
	cr_expect(is_active("web1"));
	s.nodes[1].fail_on = NULL;
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[1].fail_on = "blockdev_getmirrorstatus";
	expect(op, "Can't follow the sync");
	cr_expect_not(is_active("web1"));
	cr_expect_eq(s.nodes[1].devices.n, 0);
	cr_expect_eq(s.nodes[2].devices.n, 0);
}

static json_t *op_more(void)
{
	return json_make("{s:s, s:s, s:[[s, i, {s:i}]]}", "OP_ID",
			 "OP_INSTANCE_SET_PARAMS", "instance_name", "web1",
			 "disks", "add", -1, "size", 64);
}

static bool has_three_disks(struct sim *sim, void *arg)
{
	(void)sim;
	(void)arg;
	return json_array_size(json_get(instance("web1"), "disks")) == 3;
}

static bool is_over(struct sim *sim, void *arg)
{
	return job_is_final(queue_job(sim->master->queue, *(uint64_t *)arg));
}

static size_t count_calls(const struct strv *calls, const char *procedure)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->n; i++)
		n += str_starts(calls->items[i], procedure);
	return n;
}

/* That may take hours, and all else is done before. */
Test(mirrors, a_new_one_is_waited_for)
{
	json_t *op = op_more();
	auto_strv struct strv calls = {0};
	auto_free char *why = NULL;
	uint64_t id;

	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[1].syncing = true;
	json_set_bool(op, "hotplug", true);
	json_object_set_new(op, "nics", json_make("[[s, i, {}]]", "add", -1));
	s.calls = &calls;
	id = sim_submit(&s, op, &why);
	cr_assert(sim_run(&s, 60000, has_three_disks, NULL));
	sim_run(&s, 60000, NULL, NULL);
	cr_expect_not(job_is_final(queue_job(s.master->queue, id)));
	s.calls = NULL;
	cr_expect_eq(count_calls(&calls, "hotplug_device"), 2, "disk and NIC");
	s.nodes[1].syncing = false;
	cr_assert(sim_run(&s, 60000, is_over, &id));
}

Test(mirrors, a_new_one_of_an_instance_that_is_down_is_stopped)
{
	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op_more(), "success");
	cr_expect_eq(s.nodes[1].stopped.n, 3);
	cr_expect_eq(s.nodes[2].stopped.n, 3);
}

/* A side that stays would be a minor in use of which nobody knows. */
Test(mirrors, one_that_is_detached_is_stopped_on_both_sides)
{
	json_t *op = json_make("{s:s, s:s, s:b, s:[[s, i, {}]]}", "OP_ID",
			       "OP_INSTANCE_SET_PARAMS", "instance_name",
			       "web1", "hotplug", 1, "disks", "detach", 1);

	expect(op_mirrored("web1", NODE3), "success");
	expect(op_more(), "success");
	expect(op, "success");
	cr_expect_eq(s.nodes[1].stopped.n, 1);
	cr_expect_eq(s.nodes[2].stopped.n, 1);
}

Test(mirrors, an_activation_that_fails_stops_only_what_nobody_uses)
{
	json_t *off = op_named("OP_INSTANCE_DEACTIVATE_DISKS", "web1");

	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[2].fail_on = "blockdev_assemble";
	expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1"), "told to fail");
	cr_expect(is_active("web1"));
	cr_expect_eq(s.nodes[1].stopped.n, 0);
	/* It runs, whatever is recorded of its disks. */
	json_set_bool(off, "force", true);
	s.nodes[1].fail_on = "blockdev_shutdown";
	expect(off, "success");
	s.nodes[1].fail_on = NULL;
	cr_assert_not(is_active("web1"));
	expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1"), "told to fail");
	cr_expect(is_active("web1"));
	cr_expect_eq(s.nodes[1].stopped.n, 0);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	cr_assert_not(is_active("web1"));
	table_done(&s.nodes[1].stopped, NULL);
	s.nodes[1].stopped = (struct table){0};
	expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1"), "told to fail");
	cr_expect_not(is_active("web1"));
	cr_expect_eq(s.nodes[1].stopped.n, 2);
	s.nodes[2].fail_on = NULL;
}

Test(mirrors, one_starts_without_its_secondary_if_that_is_wanted)
{
	json_t *start = op_named("OP_INSTANCE_STARTUP", "web1");
	json_t *reboot = op_named("OP_INSTANCE_REBOOT", "web1");

	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[2].fail_on = "blockdev_assemble";
	expect(json_copy(start), "told to fail");
	json_set_bool(start, "force", true);
	expect(json_copy(start), "success");
	cr_expect_eq(s.nodes[1].running.n, 1);
	json_set_str(reboot, "reboot_type", "full");
	expect(json_copy(reboot), "told to fail");
	json_set_bool(reboot, "ignore_secondaries", true);
	expect(reboot, "success");
	cr_expect_eq(s.nodes[1].running.n, 1);
	/* The primary has to be there. */
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[1].fail_on = "blockdev_assemble";
	expect(json_copy(start), "told to fail");
	s.nodes[1].fail_on = NULL;
	expect(start, "success");
	s.nodes[2].fail_on = NULL;
}

static json_t *op_export(void)
{
	json_t *op = op_named("OP_BACKUP_EXPORT", "web1");

	json_set_str(op, "target_node", NODE3);
	return op;
}

Test(mirrors, a_side_without_the_newest_data_is_not_exported)
{
	expect(op_mirrored("web1", NODE3), "success");
	s.nodes[1].faulty_disks = true;
	s.nodes[1].fail_on =
		"instance_shutdown"; /* nothing is stopped for it */
	expect(op_export(), "replace-disks -p");
	s.nodes[1].faulty_disks = false;
	s.nodes[1].fail_on = NULL;
	expect(op_export(), "success");
}

/* What is down is read through the mirror. */
Test(mirrors, an_export_of_one_that_is_down_reads_both_sides)
{
	expect(op_mirrored("web1", NODE3), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[1].faulty_disks = true;
	expect(op_export(), "success");
}

Test(mirrors, they_migrate_as_planned)
{
	expect(op_mirrored("web1", NODE3), "success");
	sim_expect_as_planned(&s, op_named("OP_INSTANCE_MIGRATE", "web1"));
	cr_assert_str_eq(primary("web1"), NODE3);
	cr_assert_str_eq(secondary("web1"), NODE2);
}

Test(mirrors, a_failed_migration_leaves_the_instance_where_it_was)
{
	static const char *const calls[] = {
		"drbd_disconnect_net", "drbd_attach_net", "accept_instance"};

	expect(op_mirrored("web1", NODE3), "success");
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		s.nodes[2].fail_on = calls[i];
		expect(op_named("OP_INSTANCE_MIGRATE", "web1"), "told to fail");
		cr_assert_str_eq(primary("web1"), NODE2, "%s", calls[i]);
	}
	s.nodes[2].fail_on = NULL;
	expect(op_named("OP_INSTANCE_MIGRATE", "web1"), "success");
}

/* Of the primary's calls two are a trial, the third makes the volume larger;
 * the fourth, for the mirror, fails. */
static void watch_growing(struct sim *sim)
{
	unsigned n = 0;

	for (size_t i = 0; i < sim->calls->n; i++)
		n += str_eq(sim->calls->items[i], "blockdev_grow " NODE2);
	if (n == 4)
		sim->nodes[1].fail_on = "blockdev_grow";
}

/* Started with less than it has, it would be cut off. */
Test(mirrors, one_that_may_have_grown_is_recorded_so)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");
	auto_strv struct strv calls = {0};

	expect(op_mirrored("web1", NODE3), "success");
	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", 96);
	json_set_bool(op, "absolute", true);
	s.calls = &calls;
	s.watch = watch_growing;
	expect(json_incref(op), "grow-disk --absolute web1 0 96m");
	s.watch = NULL;
	s.calls = NULL;
	cr_expect_eq(json_int(disk("web1", 0), "size", 0), 96);
	s.nodes[1].fail_on = NULL;
	expect(op, "success");
	cr_expect_eq(json_int(disk("web1", 0), "size", 0), 96);
}

Test(mirrors, the_volume_below_grows_with_the_mirror)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");
	const json_t *children;

	expect(op_mirrored("web1", NODE3), "success");
	json_set_int(op, "disk", 1);
	json_set_int(op, "amount", 32);
	json_set_bool(op, "wait_for_sync", true);
	expect(op, "success");
	cr_assert_eq(json_int(disk("web1", 1), "size", 0), 160);
	children = json_get(disk("web1", 1), "children");
	cr_assert_eq(json_int(json_array_get(children, 0), "size", 0), 160);
	cr_assert_eq(json_int(json_array_get(children, 1), "size", 0), 128);
}
