/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrored instances go to a third node, in a simulated cluster.  Behind each
 * test volumes and configuration must agree. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"

#define NAME "web1"
#define NODE1 s.nodes[0].name
#define DISKS 2
#define VOLUMES (DISKS * 2 * 2)

/* On node2, with node3 as its secondary. */
static void setup_mirrored(void)
{
	json_t *op = op_add(NAME, NODE2, true);

	sim_init_big(&s, 3, 1, 1);
	json_set_str(op, "disk_template", "drbd");
	json_set_str(op, "snode", NODE3);
	json_object_set_new(
		op, "disks",
		json_make("[{s:i}, {s:i}]", "size", 64, "size", 128));
	expect(op, "success");
}

TestSuite(anywhere, .init = setup_mirrored, .fini = teardown, .timeout = 60);

static const json_t *instance(void)
{
	return config_find(s.master->config, CONFIG_INSTANCE, NAME);
}

static void expect_on(const char *primary, const char *secondary)
{
	struct config *c = s.master->config;
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(c, instance(), &nodes);
	cr_expect_eq(nodes.n, 1);
	cr_expect_str_eq(config_name(c, CONFIG_NODE,
				     json_str(instance(), "primary_node", "")),
			 primary);
	cr_expect_str_eq(config_name(c, CONFIG_NODE, nodes.items[0]),
			 secondary);
}

static json_t *op_failover(const char *keep)
{
	json_t *op = op_move("OP_INSTANCE_FAILOVER", NAME, NODE1);

	if (keep != NULL)
		json_set_str(op, "keep_node", keep);
	return op;
}

static bool runs_on(int node)
{
	return table_get(&s.nodes[node].running, NAME) != NULL;
}

Test(anywhere, the_secondary_fills_the_new_primary)
{
	sim_expect_as_planned(&s, op_failover(NULL));
	expect_on(NODE1, NODE3);
	cr_expect(runs_on(0));
	cr_expect_eq(s.files.n, VOLUMES, "the old side is gone");
}

Test(anywhere, or_the_old_primary_if_the_user_wants)
{
	sim_expect_as_planned(&s, op_failover(NODE2));
	expect_on(NODE1, NODE2);
	cr_expect(runs_on(0));
	cr_expect_eq(s.files.n, VOLUMES);
}

Test(anywhere, ports_and_secrets_stay_and_minors_are_free_ones)
{
	const json_t *all = config_all(s.master->config, CONFIG_DISK);
	auto_json json_t *before = json_deep_copy(all);
	const char *uuid;
	json_t *disk;

	expect(op_failover(NULL), "success");
	all = config_all(s.master->config, CONFIG_DISK);
	json_object_foreach (json_unconst(all), uuid, disk) {
		const json_t *id = json_get(disk, "logical_id");
		const json_t *old =
			json_get(json_get(before, uuid), "logical_id");

		cr_expect(json_equal(json_array_get(id, 2),
				     json_array_get(old, 2)));
		cr_expect(json_equal(json_array_get(id, 5),
				     json_array_get(old, 5)));
		cr_expect(json_equal(json_array_get(id, 3),
				     json_array_get(old, 4)),
			  "the minor on the node that stays");
	}
}

Test(anywhere, an_allocator_chooses)
{
	json_t *op = op_named("OP_INSTANCE_FAILOVER", NAME);

	json_set_str(op, "iallocator", "any");
	/* The one of the simulation may choose a node that has a side. */
	for (int i = 0; i < 20; i++) {
		auto_free char *got = sim_do(&s, json_incref(op));

		if (str_eq(got, "success"))
			break;
		cr_expect(strstr(got, "is the secondary node") != NULL ||
				  strstr(got, "to its primary") != NULL,
			  "%s", got);
	}
	json_decref(op);
	expect_on(NODE1, NODE3);
}

Test(anywhere, arguments_must_fit)
{
	json_t *op = op_named("OP_INSTANCE_FAILOVER", NAME);

	json_set_str(op, "keep_node", NODE3);
	expect(op, "Only where the target has no data yet");
	expect(op_failover(NODE1), "has no data of instance web1");
	expect(op_failover("nosuch"), "not known");
	op = op_failover(NULL);
	json_set_str(op, "iallocator", "any");
	expect(op, "not both");
	expect(op_move("OP_INSTANCE_FAILOVER", NAME, NODE2), "to its primary");
	expect_on(NODE2, NODE3);
}

static json_t *op_node(const char *node, const char *flag)
{
	return json_make("{s:s, s:s, s:b, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", node, flag, 1, "force", 1);
}

Test(anywhere, the_target_must_be_fit)
{
	expect(op_failover(NULL), "success");
	expect(op_node(NODE2, "drained"), "success");
	expect(op_move("OP_INSTANCE_FAILOVER", NAME, NODE2), "drained node");
	expect_on(NODE1, NODE3);
}

/* What a node has that left could not be removed, or was not yet. */
static void forget_volumes(const char *uuid)
{
	auto_strv struct strv left = {0};

	sim_find_volumes(&s, uuid, &left);
	cr_expect_eq(left.n, DISKS * 2);
	for (size_t i = 0; i < left.n; i++)
		table_remove(&s.files, left.items[i]);
}

Test(anywhere, a_lost_primary_leaves_and_the_secondary_stays)
{
	sim_kill(&s.nodes[1].daemon);
	s.nodes[1].down = true;
	table_remove(&s.nodes[1].running, NAME);
	expect(op_failover(NULL), "Could not shutdown instance");
	expect_on(NODE2, NODE3);
	expect(op_node(NODE2, "offline"), "success");
	expect(op_failover(NODE2), "keep its side of the disks of instance");
	expect(op_failover(NULL), "success");
	expect_on(NODE1, NODE3);
	cr_expect(runs_on(0));
	forget_volumes(s.nodes[1].uuid);
}

Test(anywhere, a_lost_secondary_leaves_and_the_primary_stays)
{
	expect(op_node(NODE3, "offline"), "success");
	s.nodes[2].down = true;
	expect(op_failover(NULL), "success");
	expect_on(NODE1, NODE2);
	s.nodes[2].down = false;
	forget_volumes(s.nodes[2].uuid);
}

Test(anywhere, data_that_are_not_the_newest_fill_nobody)
{
	s.nodes[2].faulty_disks = true;
	expect(op_failover(NULL), "not fully synchronized on node3");
	s.nodes[2].faulty_disks = false;
	s.nodes[2].syncing = true;
	expect(op_failover(NULL), "not connected to the primary node");
	s.nodes[2].syncing = false;
	expect_on(NODE2, NODE3);
	cr_expect(runs_on(1), "and nothing was stopped");
	cr_expect_eq(s.files.n, VOLUMES);
}

/* A step that fails leaves the disks where they were. */
Test(anywhere, a_failure_on_the_way_changes_nothing)
{
	static const struct {
		int node;
		const char *call, *keep;
	} faults[] = {
		{0, "blockdev_create", NULL},
		{2, "drbd_disconnect_net", NULL},
		{0, "drbd_attach_net", NULL},
		{2, "drbd_attach_net", NULL},
		{1, "instance_shutdown", NULL},
		{0, "blockdev_create", NODE2},
		{1, "drbd_disconnect_net", NODE2},
		{0, "drbd_attach_net", NODE2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		auto_json json_t *before = json_deep_copy(
			config_all(s.master->config, CONFIG_DISK));
		const json_t *after;

		s.nodes[faults[i].node].fail_on = faults[i].call;
		expect(op_failover(faults[i].keep), "told to fail");
		s.nodes[faults[i].node].fail_on = NULL;
		expect_on(NODE2, NODE3);
		after = config_all(s.master->config, CONFIG_DISK);
		for (size_t k = 0; k < DISKS; k++) {
			const char *uuid = json_string_value(json_array_get(
				json_get(instance(), "disks"), k));

			cr_expect(json_equal(json_get(json_get(after, uuid),
						      "logical_id"),
					     json_get(json_get(before, uuid),
						      "logical_id")),
				  "%zu", i);
		}
		cr_expect_eq(s.files.n, VOLUMES, "%s", faults[i].call);
		expect(op_named("OP_INSTANCE_STARTUP", NAME), "success");
	}
	expect(op_failover(NULL), "success");
}

/* What was connected for a move is not left so. */
Test(anywhere, a_failure_leaves_the_disks_of_what_is_down_inactive)
{
	expect(op_named("OP_INSTANCE_SHUTDOWN", NAME), "success");
	s.nodes[0].fail_on = "blockdev_create";
	expect(op_failover(NULL), "told to fail");
	cr_expect_eq(s.nodes[1].devices.n, 0);
	cr_expect_eq(s.nodes[2].devices.n, 0);
}

/* --- the sync --- */

static bool in_sync_step(struct sim *sim, void *arg)
{
	const struct job *j =
		queue_job(sim->master->queue, *(const uint64_t *)arg);

	return j != NULL && j->ops[0].log.len > 0 &&
	       strstr(j->ops[0].log.data, "to sync disks") != NULL;
}

static uint64_t begin_sync(bool sync_first)
{
	json_t *op = op_failover(NULL);
	uint64_t id;

	if (sync_first)
		json_set_bool(op, "sync_first", true);
	s.nodes[0].syncing = true;
	id = sim_submit(&s, op, NULL);
	cr_assert_neq(id, 0);
	cr_assert(sim_run(&s, 60000, in_sync_step, &id));
	sim_run(&s, 60000, NULL, NULL);
	return id;
}

Test(anywhere, the_instance_runs_while_its_node_is_being_filled)
{
	uint64_t id = begin_sync(false);

	cr_expect(runs_on(0));
	cr_expect_eq(s.files.n, VOLUMES + DISKS * 2,
		     "the old side is kept until then");
	s.nodes[0].syncing = false;
	cr_expect_str_eq(sim_wait(&s, id), "success");
	cr_expect_eq(s.files.n, VOLUMES);
}

Test(anywhere, or_starts_when_that_is_done)
{
	uint64_t id = begin_sync(true);

	cr_expect_not(runs_on(0));
	s.nodes[0].syncing = false;
	cr_expect_str_eq(sim_wait(&s, id), "success");
	cr_expect(runs_on(0));
}

Test(anywhere, a_sync_without_an_end_leaves_the_old_side)
{
	uint64_t id = begin_sync(false);
	bool ok;
	char *text = NULL;
	struct error err;

	cr_assert_eq(queue_cancel(s.master->queue, id, true, &ok, &text, &err),
		     0);
	free(text);
	cr_expect_str_eq(sim_wait(&s, id), "error");
	s.nodes[0].syncing = false;
	expect_on(NODE1, NODE3);
	cr_expect(runs_on(0));
	forget_volumes(s.nodes[1].uuid);
}

Test(anywhere, one_that_is_down_goes_there_and_stays_down)
{
	expect(op_named("OP_INSTANCE_SHUTDOWN", NAME), "success");
	expect(op_failover(NULL), "success");
	expect_on(NODE1, NODE3);
	cr_expect_eq(s.nodes[0].stopped.n, DISKS, "its disks are not in use");
	cr_expect_eq(s.nodes[2].stopped.n, DISKS);
	cr_expect_eq(s.files.n, VOLUMES);
}

/* --- migration --- */

Test(anywhere, a_migration_keeps_the_old_primary)
{
	s.nodes[1].fail_on = "instance_shutdown"; /* nobody stops it */
	sim_expect_as_planned(&s, op_move("OP_INSTANCE_MIGRATE", NAME, NODE1));
	expect_on(NODE1, NODE2);
	cr_expect(runs_on(0));
	cr_expect_eq(s.files.n, VOLUMES);
}

Test(anywhere, a_migration_that_fails_leaves_it_running)
{
	static const char *const calls[] = {"blockdev_create",
					    "drbd_attach_net"};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		s.nodes[0].fail_on = calls[i];
		expect(op_move("OP_INSTANCE_MIGRATE", NAME, NODE1),
		       "told to fail");
		expect_on(NODE2, NODE3);
		cr_expect(runs_on(1));
		cr_expect_eq(s.files.n, VOLUMES, "%s", calls[i]);
	}
	s.nodes[0].fail_on = "accept_instance";
	expect(op_move("OP_INSTANCE_MIGRATE", NAME, NODE1), "told to fail");
	s.nodes[0].fail_on = NULL;
	expect_on(NODE2, NODE1);
	cr_expect(runs_on(1));
	expect(op_named("OP_INSTANCE_MIGRATE", NAME), "success");
	expect_on(NODE1, NODE2);
}
