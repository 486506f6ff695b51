/* SPDX-License-Identifier: BSD-2-Clause */
/* Volumes and storage units of nodes, in a simulated cluster whose nodes know
 * volumes and mirrors. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define NODE1 "node1.example.com"

static void setup_storage(void)
{
	sim_init_big(&s, 3, 3, 1);
}

TestSuite(storage, .init = setup_storage, .fini = teardown, .timeout = 60);

/* It succeeds; its result as JSON text, to be freed. */
static char *result_of(json_t *op STEALS)
{
	uint64_t id = sim_submit(&s, op, NULL);
	auto_json json_t *results = NULL;

	cr_assert_neq(id, 0);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	results = job_field(queue_job(s.master->queue, id), "opresult");
	return json_text(json_array_get(results, 0));
}

/* An instance with a mirror on the first two nodes, as if it had been made. */
static void make_mirrored(void)
{
	expect(op_add("web1", NODE1, false), "success");
	sim_make_mirrored(&s, "web1", &s.nodes[0], &s.nodes[1], 0, 1);
	expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", "web1"), "success");
}

/* --- volumes --- */

static json_t *volume(const char *name, const char *device, double size)
{
	return json_make("{s:s, s:s, s:s, s:f}", "name", name, "vg", "xenvg",
			 "dev", device, "size", size);
}

static json_t *op_volumes(const char *node)
{
	json_t *op = json_make("{s:s, s:[s, s, s, s, s]}", "OP_ID",
			       "OP_NODE_QUERYVOLS", "output_fields", "node",
			       "phys", "name", "size", "instance");

	if (node != NULL)
		json_object_set_new(op, "nodes", json_make("[s]", node));
	return op;
}

Test(storage, volumes_come_by_device_with_the_instance_that_has_them)
{
	auto_free char *all = NULL;

	make_mirrored();
	s.nodes[0].volumes =
		json_make("[o, o]", volume("root", "/dev/sdb", 100.75),
			  volume("web10_data", "/dev/sda", 64));
	s.nodes[1].volumes =
		json_make("[o]", volume("web10_meta", "/dev/sda", 128));
	/* A volume of that name on another node is somebody else's. */
	s.nodes[2].volumes =
		json_make("[o]", volume("web10_data", "/dev/sda", 64));
	all = result_of(op_volumes(NULL));
	cr_expect_str_eq(
		all,
		"[[\"" NODE1 "\",\"/dev/sda\",\"web10_data\",\"64\",\"web1\"],"
		"[\"" NODE1 "\",\"/dev/sdb\",\"root\",\"100\",\"-\"],"
		"[\"" NODE2 "\",\"/dev/sda\",\"web10_meta\",\"128\",\"web1\"],"
		"[\"" NODE3 "\",\"/dev/sda\",\"web10_data\",\"64\",\"-\"]]");
}

Test(storage, volumes_of_nodes_that_are_asked_and_answer)
{
	auto_free char *one = NULL, *rest = NULL;
	json_t *op = op_volumes(NULL);

	for (size_t i = 0; i < 3; i++)
		s.nodes[i].volumes =
			json_make("[o]", volume("root", "/dev/sda", 1));
	one = result_of(op_volumes(NODE2));
	cr_expect_str_eq(one,
			 "[[\"" NODE2 "\",\"/dev/sda\",\"root\",\"1\",\"-\"]]");
	s.nodes[1].fail_on = "node_volumes";
	rest = result_of(json_copy(op));
	cr_expect_null(strstr(rest, NODE2), "%s", rest);
	cr_expect_not_null(strstr(rest, NODE3), "%s", rest);
	json_object_set_new(op, "output_fields", json_make("[s]", "moons"));
	expect(op, "Unknown output fields selected: moons");
}

/* --- storage units --- */

static json_t *op_unit(const char *op_id, const char *type)
{
	return json_make("{s:s, s:s, s:s, s:s}", "OP_ID", op_id, "node_name",
			 NODE2, "storage_type", type, "name", "unit");
}

static json_t *op_repair(void)
{
	return op_unit("OP_REPAIR_NODE_STORAGE", "lvm-vg");
}

static bool was_called(const struct strv *calls, const char *call)
{
	return strv_has(calls, call);
}

Test(storage, a_repair_reaches_the_node)
{
	auto_strv struct strv calls = {0};

	s.calls = &calls;
	expect(op_repair(), "success");
	s.calls = NULL;
	cr_expect(was_called(&calls, "storage_execute " NODE2));
	s.nodes[1].fail_on = "storage_execute";
	expect(op_repair(), "Failed to repair storage unit 'unit' on " NODE2);
}

Test(storage, what_only_this_node_has_whole_is_not_repaired_away)
{
	json_t *op = op_repair();

	make_mirrored();
	expect(op_repair(), "success");
	s.nodes[0].faulty_disks = true;
	expect(op_repair(), "Instance 'web1' has faulty disks on node '" NODE1);
	json_set_bool(op, "ignore_consistency", true);
	expect(json_incref(op), "success");
	s.nodes[0].faulty_disks = false;
	/* Who does not say is no better. */
	s.nodes[0].fail_on = "blockdev_getmirrorstatus";
	expect(op_repair(), "Instance 'web1' has faulty disks on node '" NODE1);
	s.nodes[0].fail_on = NULL;
	/* A secondary that misses something is no copy; a primary has all. */
	s.nodes[0].syncing = true;
	expect(op_repair(), "success");
	s.nodes[0].syncing = false;
	s.nodes[1].syncing = true;
	json_set_str(op, "node_name", NODE1);
	json_object_del(op, "ignore_consistency");
	expect(json_copy(op), "Instance 'web1' has disks that are not in sync "
			      "on node '" NODE2);
	json_set_bool(op, "ignore_consistency", true);
	expect(op, "success");
	s.nodes[1].syncing = false;
	/* Nothing is lost of an instance that does not use its disks. */
	s.nodes[0].fail_on = NULL;
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[0].faulty_disks = true;
	expect(op_repair(), "success");
}

/* --- self-repair --- */

/* The node's group xenvg misses a physical volume, and these data with it. */
static void lose(int node, const char *volumes)
{
	json_decref(s.nodes[node].verify_says);
	s.nodes[node].verify_says =
		volumes == NULL
			? NULL
			: json_make("{s:{s:o, s:[s]}}", "partial-vgs", "xenvg",
				    json_parse(volumes, strlen(volumes),
					       &(struct error){0}),
				    "somebody_elses", "root");
}

static json_t *op_self_repair(const char *known)
{
	json_t *op = json_make("{s:s, s:[]}", "OP_ID",
			       "OP_CLUSTER_REPAIR_VOLUMES", "known");

	if (known != NULL)
		json_array_append_new(json_object_get(op, "known"),
				      json_string(known));
	return op;
}

/* How often a group was repaired in all jobs that come of it. */
static size_t repairs_after(json_t *op STEALS, const char *outcome)
{
	auto_strv struct strv calls = {0};
	size_t n = 0;

	s.calls = &calls;
	expect(op, outcome);
	sim_run(&s, 600000, NULL, NULL);
	s.calls = NULL;
	for (size_t i = 0; i < calls.n; i++)
		n += strstr(calls.items[i], "storage_execute") != NULL;
	return n;
}

Test(storage, one_node_that_lost_a_drive_is_repaired_and_its_mirrors_filled)
{
	auto_strv struct strv calls = {0};

	make_mirrored();
	lose(1, "[\"web10_data\", \"web10_meta\"]");
	s.nodes[1].faulty_disks = true;
	s.calls = &calls;
	expect(op_self_repair(NULL), "success");
	sim_run(&s, 600000, NULL, NULL);
	s.calls = NULL;
	cr_expect(was_called(&calls, "storage_execute " NODE2));
	cr_expect(was_called(&calls, "blockdev_addchildren " NODE2),
		  "new storage on the node");
	lose(1, NULL);
}

Test(storage, who_was_broken_before_is_left_alone)
{
	lose(1, "[]");
	cr_expect_eq(repairs_after(op_self_repair(NODE2), "success"), 0);
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 1);
	lose(1, NULL);
	cr_expect_eq(repairs_after(op_self_repair(NODE2), "success"), 0);
}

Test(storage, two_broken_nodes_or_a_silent_one_are_left_alone)
{
	lose(1, "[]");
	lose(2, "[]");
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 0);
	lose(2, NULL);
	s.nodes[2].fail_on = "node_verify";
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 0);
	s.nodes[2].fail_on = NULL;
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 1);
	lose(1, NULL);
}

Test(storage, a_look_repairs_nothing)
{
	json_t *op = op_self_repair(NULL);
	auto_free char *result = NULL;

	lose(1, "[]");
	json_set_bool(op, "repair", false);
	result = result_of(op);
	cr_expect_str_eq(result, "{\"inconsistent\":[\"" NODE2
				 "\"],\"silent\":[],\"jobs\":[]}");
	lose(1, NULL);
}

Test(storage, the_only_copy_is_never_given_up)
{
	make_mirrored();
	lose(1, "[\"web10_data\", \"nobodys\"]");
	cr_expect_eq(
		repairs_after(op_self_repair(NULL),
			      "Volume xenvg/nobodys of nobody on node " NODE2
			      " has no other copy"),
		0);
	lose(1, NULL);
}

static void on_granted(struct lock_request *r)
{
	(void)r;
}

/* A job may hold an instance for days. */
Test(storage, who_works_on_an_instance_does_not_hold_up_the_look)
{
	const struct lock_want want = {
		.level = LOCK_INSTANCE, .name = "web1", .exclusive = true};
	struct lock_request r = {.wants = &want,
				 .n_wants = 1,
				 .owner = 77,
				 .granted = on_granted};
	struct error err;

	make_mirrored();
	s.nodes[1].faulty_disks = true;
	cr_assert_eq(locks_request(s.master->locks, &r, &err), 0);
	lose(1, "[\"web10_data\"]");
	cr_expect_eq(repairs_after(op_self_repair(NULL),
				   "instance web1, which somebody works on"),
		     0, "what it lost may be no loss any more");
	lose(1, "[]");
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 1);
	locks_release(s.master->locks, &r);
	lose(1, "[\"web10_data\"]");
	cr_expect_eq(repairs_after(op_self_repair(NULL), "success"), 1);
	lose(1, NULL);
}

Test(storage, of_volumes_only_the_flag_changes_by_which_they_are_allotted)
{
	json_t *op = op_unit("OP_NODE_MODIFY_STORAGE", "lvm-pv");
	json_t *other = json_copy(op);
	auto_strv struct strv calls = {0};

	json_object_set_new(op, "changes",
			    json_make("{s:b}", "allocatable", 0));
	s.calls = &calls;
	expect(json_copy(op), "success");
	s.calls = NULL;
	cr_expect(was_called(&calls, "storage_modify " NODE2));
	s.nodes[1].fail_on = "storage_modify";
	expect(op, "Failed to modify storage unit 'unit' on " NODE2);
	json_object_set_new(other, "changes", json_make("{s:i}", "size", 5));
	expect(other, "can not be modified for storage units of type 'lvm-pv': "
		      "size");
}

static json_t *op_sizes(void)
{
	return json_make("{s:s, s:[s]}", "OP_ID",
			 "OP_CLUSTER_REPAIR_DISK_SIZES", "instances", "web1");
}

/* The first of the volumes below a mirror. */
static json_t *data_volume(json_t *disk)
{
	return json_array_get(json_object_get(disk, "children"), 0);
}

Test(storage, a_data_volume_is_never_smaller_than_its_mirror)
{
	struct config *c = s.master->config;
	auto_free char *result = NULL, *again = NULL;
	auto_json json_t *disks = NULL;
	json_t *smaller;

	make_mirrored();
	disks = config_instance_disks(c,
				      config_find(c, CONFIG_INSTANCE, "web1"));
	smaller = json_deep_copy(json_array_get(disks, 0));
	json_set_int(data_volume(smaller), "size", 32);
	config_put(c, CONFIG_DISK, smaller);
	result = result_of(op_sizes());
	cr_expect_str_eq(result, "[[\"web1\",0,\"size\",64]]");
	again = result_of(op_sizes());
	cr_expect_str_eq(again, "[]");
}

static int64_t spindles_of(const char *name)
{
	auto_json json_t *disks = config_instance_disks(
		s.master->config,
		config_find(s.master->config, CONFIG_INSTANCE, name));

	return json_int(json_array_get(disks, 0), "spindles", -1);
}

Test(storage, spindles_are_recorded_where_storage_is_exclusive)
{
	auto_free char *shared = NULL, *first = NULL, *again = NULL;
	auto_free char *more = NULL, *none = NULL;
	json_t *add = op_add("web1", NODE2, true);

	json_set_str(add, "disk_template", "plain");
	expect(add, "success");
	s.nodes[1].dimensions =
		json_make("[I, i]", (json_int_t)64 * 1024 * 1024, 2);
	shared = result_of(op_sizes());
	cr_expect_str_eq(shared, "[]");
	cr_expect_eq(spindles_of("web1"), -1);
	expect(json_make("{s:s, s:{s:b}}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "ndparams", "exclusive_storage", 1),
	       "success");
	first = result_of(op_sizes());
	cr_expect_str_eq(first, "[[\"web1\",0,\"spindles\",2]]");
	cr_expect_eq(spindles_of("web1"), 2);
	again = result_of(op_sizes());
	cr_expect_str_eq(again, "[]");
	json_array_set_new(s.nodes[1].dimensions, 0,
			   json_integer((json_int_t)65 * 1024 * 1024));
	json_array_set_new(s.nodes[1].dimensions, 1, json_integer(3));
	more = result_of(op_sizes());
	cr_expect_str_eq(more, "[[\"web1\",0,\"size\",65],"
			       "[\"web1\",0,\"spindles\",3]]");
	json_array_set_new(s.nodes[1].dimensions, 1, json_null());
	none = result_of(op_sizes());
	cr_expect_str_eq(none, "[]");
	cr_expect_eq(spindles_of("web1"), 3);
}
