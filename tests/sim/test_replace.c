/* SPDX-License-Identifier: BSD-2-Clause */
/* New storage for mirrored disks, in a simulated cluster whose nodes know
 * volumes and mirrors. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/jobs/job_facts.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"

TestSuite(replace, .init = setup, .fini = teardown, .timeout = 60);

#define INSTANCE "mirrored"
#define DISKS 2

/* An instance with mirrors on the first two nodes, as if it had been made. */
static void make_mirrored(void)
{
	expect(op_add(INSTANCE, s.nodes[0].name, false), "success");
	sim_make_mirrored(&s, INSTANCE, &s.nodes[0], &s.nodes[1], 0, DISKS);
}

static json_t *op_replace(const char *mode, const char *node)
{
	json_t *op = op_named("OP_INSTANCE_REPLACE_DISKS", INSTANCE);

	json_set_str(op, "mode", mode);
	json_set_str(op, "remote_node", node);
	json_set_bool(op, "ignore_ipolicy", true);
	return op;
}

static const char *secondary(void)
{
	static char name[64];
	struct config *c = s.master->config;
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(
		c, config_find(c, CONFIG_INSTANCE, INSTANCE), &nodes);
	cr_assert_eq(nodes.n, 1);
	snprintf(name, sizeof(name), "%s",
		 config_name(c, CONFIG_NODE, nodes.items[0]));
	return name;
}

static const json_t *id_of(int disk)
{
	auto_free char *uuid = xprintf("0000000%d-" INSTANCE, disk);

	return json_get(config_get(s.master->config, CONFIG_DISK, uuid),
			"logical_id");
}

Test(replace, only_mirrored_disks)
{
	expect(op_add(INSTANCE, NODE2, true), "success");
	expect(op_replace("replace_on_primary", NULL),
	       "The instance has a strange layout, expected one secondary but "
	       "found 0");
}

Test(replace, arguments_must_fit_together)
{
	json_t *op;

	make_mirrored();
	expect(op_replace("replace_on_primary", NODE3),
	       "can only be used when changing the secondary");
	expect(op_replace("replace_new_secondary", NULL),
	       "either an iallocator script must be used or the new node");
	op = op_replace("replace_on_primary", NULL);
	json_object_set_new(op, "disks", json_make("[i]", 7));
	expect(op, "Invalid disk index 7");
	op = op_replace("replace_auto", NULL);
	json_object_set_new(op, "disks", json_make("[i]", 0));
	expect(op, "Cannot specify disks");
	expect(op_replace("replace_new_secondary", s.nodes[0].name),
	       "is the primary node");
	expect(op_replace("replace_new_secondary", NODE2),
	       "already the secondary node");
}

Test(replace, storage_on_either_node)
{
	json_t *op = op_replace("replace_on_secondary", NULL);

	make_mirrored();
	expect(op_replace("replace_on_primary", NULL), "success");
	json_object_set_new(op, "disks", json_make("[i]", 1));
	json_set_bool(op, "early_release", true);
	expect(op, "success");
	cr_assert_str_eq(secondary(), NODE2);
	cr_assert_eq(s.files.n, 4 * DISKS);
}

Test(replace, volumes_that_were_lost_with_their_drive)
{
	const json_t *children;

	make_mirrored();
	children = json_get(
		config_get(s.master->config, CONFIG_DISK, "00000000-" INSTANCE),
		"children");
	cr_assert_eq(json_array_size(children), 2);
	for (size_t i = 0; i < 2; i++) {
		auto_free char *file = sim_volume(s.nodes[1].uuid,
						  json_array_get(children, i));

		cr_assert_not_null(table_get(&s.files, file));
		table_remove(&s.files, file);
	}
	expect(op_replace("replace_on_secondary", NULL), "success");
	cr_assert_eq(s.files.n, 4 * DISKS);
}

Test(replace, it_is_done_as_planned)
{
	make_mirrored();
	sim_expect_as_planned(&s, op_replace("replace_on_primary", NULL));
	sim_expect_as_planned(&s, op_replace("replace_new_secondary", NODE3));
	cr_assert_str_eq(secondary(), NODE3);
}

Test(replace, auto_finds_the_broken_side)
{
	size_t files = 4 * DISKS;

	make_mirrored();
	s.nodes[0].fail_on = s.nodes[1].fail_on = "blockdev_create";
	expect(op_replace("replace_auto", NULL), "success");
	s.nodes[1].faulty_disks = true;
	expect(op_replace("replace_auto", NULL),
	       "Can't create new storage on node node2");
	s.nodes[0].fail_on = s.nodes[1].fail_on = NULL;
	s.nodes[0].faulty_disks = true;
	expect(op_replace("replace_auto", NULL),
	       "faulty disks on more than one node");
	cr_assert_eq(s.files.n, files);
}

Test(replace, a_peer_without_good_data_is_not_left_alone)
{
	make_mirrored();
	s.nodes[1].faulty_disks = true;
	expect(op_replace("replace_on_primary", NULL),
	       "has degraded storage (disk/0), unsafe to replace");
}

Test(replace, a_side_that_is_alone_is_no_source_but_the_primary)
{
	auto_strv struct strv calls = {0};

	make_mirrored();
	s.nodes[1].parted = true;
	s.calls = &calls;
	expect(op_replace("replace_on_primary", NULL),
	       "disk/0 on node node2.example.com has no connection to the "
	       "primary node");
	cr_expect_not(strv_has(&calls, "blockdev_create node1.example.com"));
	s.nodes[0].parted = true;
	expect(op_replace("replace_on_secondary", NULL), "success");
	cr_expect(strv_has(&calls, "drbd_attach_net node1.example.com"));
	cr_expect(strv_has(&calls, "drbd_attach_net node2.example.com"));
	s.calls = NULL;
}

Test(replace, a_failure_on_the_way_gives_the_old_storage_back)
{
	static const char *const calls[] = {
		"blockdev_create", "blockdev_removechildren",
		"blockdev_addchildren", "blockdev_rename"};

	make_mirrored();
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		s.nodes[0].fail_on = calls[i];
		expect(op_replace("replace_on_primary", NULL), "told to fail");
		cr_assert_eq(s.files.n, 4 * DISKS, "%s", calls[i]);
	}
	s.nodes[0].fail_on = NULL;
}

static char *volume_names(void)
{
	auto_strv struct strv names = {0};

	sim_find_volumes(&s, "", &names);
	strv_sort(&names);
	return strv_join(&names, " ");
}

Test(replace, a_step_that_was_done_without_an_answer_is_taken_back)
{
	static const char *const calls[] = {"blockdev_removechildren",
					    "blockdev_addchildren",
					    "blockdev_rename"};
	auto_free char *before = NULL;

	make_mirrored();
	before = volume_names();
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		auto_free char *after = NULL;

		s.nodes[0].lose_answer = calls[i];
		expect(op_replace("replace_on_primary", NULL),
		       "Can't replace the storage of disk/0");
		after = volume_names();
		cr_expect_str_eq(after, before, "%s", calls[i]);
	}
}

/* A node daemon may be killed behind what it did. */
Test(replace,
     volumes_that_may_be_attached_are_taken_off_before_they_are_renamed)
{
	auto_strv struct strv calls = {0};
	size_t n = 0;

	make_mirrored();
	s.calls = &calls;
	s.nodes[0].fail_on = "blockdev_addchildren";
	expect(op_replace("replace_on_primary", NULL), "told to fail");
	s.calls = NULL;
	s.nodes[0].fail_on = NULL;
	for (size_t i = 0; i < calls.n; i++)
		n += str_starts(calls.items[i],
				"blockdev_removechildren node1");
	cr_expect_eq(n, 2);
}

/* --- node daemons that are started anew --- */

struct saying {
	uint64_t job;
	const char *text;
};

static bool says(struct sim *sim, void *arg)
{
	const struct saying *w = arg;
	auto_free char *text = sim_job_log(sim, w->job);

	return strstr(text, w->text) != NULL;
}

/* The daemon of the node with the new storage is killed between two calls, and
 * is there again after so long: how the job ends. */
static const char *restarted(int64_t ms)
{
	struct saying w = {.text = "storage on node2.example.com for disk/1"};

	w.job = sim_submit(&s, op_replace("replace_on_secondary", NULL), NULL);
	cr_assert(sim_run(&s, 60000, says, &w));
	sim_kill(&s.nodes[1].daemon);
	sim_run(&s, ms, NULL, NULL);
	sim_start_daemon(&s.nodes[1]);
	return sim_wait(&s, w.job);
}

Test(replace, a_node_daemon_that_is_started_anew_is_waited_for)
{
	auto_strv struct strv before = {0}, after = {0};

	make_mirrored();
	sim_find_volumes(&s, "", &before);
	cr_expect_str_eq(restarted(2000), "success");
	cr_expect_str_eq(restarted(60000), "error");
	/* What could not be removed there is left over. */
	sim_find_volumes(&s, "", &after);
	cr_expect_gt(after.n, before.n);
	for (size_t i = 0; i < after.n; i++)
		if (!strv_has(&before, after.items[i]))
			table_remove(&s.files, after.items[i]);
}

Test(replace, another_secondary)
{
	make_mirrored();
	expect(op_replace("replace_new_secondary", NODE3), "success");
	cr_assert_str_eq(secondary(), NODE3);
	for (int i = 0; i < DISKS; i++) {
		cr_assert_eq(json_integer_value(json_array_get(id_of(i), 2)),
			     11000 + i);
		cr_assert_eq(json_integer_value(json_array_get(id_of(i), 4)),
			     i);
	}
	expect(op_replace("replace_new_secondary", NODE2), "success");
	cr_assert_str_eq(secondary(), NODE2);
}

Test(replace, an_allocator_chooses_it)
{
	json_t *op = op_replace("replace_new_secondary", NULL);

	make_mirrored();
	json_set_str(op, "iallocator", "any");
	s.nodes[1].down = true;
	s.nodes[0].fail_on = "drbd_attach_net";
	json_incref(op);
	/* The allocator of the simulation may choose the primary. */
	for (int i = 0; i < 20; i++) {
		auto_free char *got = sim_do(&s, json_incref(op));

		if (strstr(got, "primary node") == NULL) {
			cr_expect_not_null(strstr(got, "told to fail"), "%s",
					   got);
			break;
		}
	}
	json_decref(op);
	json_decref(op);
	s.nodes[0].fail_on = NULL;
	s.nodes[1].down = false;
	cr_assert_str_eq(secondary(), NODE2);
}

Test(replace, a_failure_leaves_the_old_secondary)
{
	static const struct {
		int node;
		const char *call;
	} faults[] = {{0, "drbd_disconnect_net"},
		      {0, "drbd_attach_net"},
		      {2, "drbd_attach_net"},
		      {2, "blockdev_create"},
		      {0, "blockdev_find"}};

	make_mirrored();
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		auto_json json_t *before = json_ref(id_of(1));

		s.nodes[faults[i].node].fail_on = faults[i].call;
		expect(op_replace("replace_new_secondary", NODE3),
		       "told to fail");
		s.nodes[faults[i].node].fail_on = NULL;
		cr_assert_str_eq(secondary(), NODE2);
		cr_assert(json_equal(id_of(1), before));
		cr_assert_eq(s.files.n, 4 * DISKS, "%s", faults[i].call);
		cr_assert_eq(s.nodes[1].stopped.n, 0, "it runs there again");
	}
}

Test(replace, a_dead_secondary_is_replaced)
{
	make_mirrored();
	s.nodes[1].down = true;
	expect(op_replace("replace_new_secondary", NODE3), "success");
	s.nodes[1].down = false;
	cr_assert_str_eq(secondary(), NODE3);
	/* What could not be removed there is left over. */
	cr_assert_eq(s.files.n, 6 * DISKS);
	table_done(&s.files, NULL);
	s.files = (struct table){0};
	for (int i = 0; i < DISKS; i++) {
		auto_json json_t *disk = sim_mirror(
			INSTANCE, i, s.nodes[0].uuid, s.nodes[2].uuid);

		for (size_t k = 0; k < 4; k++) {
			auto_free char *name = sim_volume(
				s.nodes[2 * (k % 2)].uuid,
				json_array_get(json_get(disk, "children"),
					       k / 2));

			table_put(&s.files, name, &s);
		}
	}
}

Test(replace, node_conditions)
{
	json_t *op = json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			       "node_name", NODE3, "drained", 1);

	make_mirrored();
	expect(op, "success");
	expect(op_replace("replace_new_secondary", NODE3), "drained node");
	expect(op_replace("replace_new_secondary", "nosuch"), "not known");
}

Test(replace, evacuation_of_secondaries_does_the_same)
{
	json_t *op = json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
			       "OP_NODE_EVACUATE", "node_name", NODE2, "mode",
			       "secondary-only", "remote_node", NODE3);
	json_t *strict = op_replace("replace_new_secondary", NODE3);

	make_mirrored();
	json_set_bool(strict, "ignore_ipolicy", false);
	expect(strict, "instance policy: Disk template drbd is not allowed");
	expect(json_make("{s:s, s:s, s:s, s:[s, s], s:{s:[s, s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "vg_name", "xenvg",
			 "drbd_helper", "/bin/true", "enabled_disk_templates",
			 "diskless", "drbd", "ipolicy", "disk-templates",
			 "diskless", "drbd"),
	       "success");
	expect(op, "success");
	sim_run(&s, 60000, NULL, NULL); /* its job */
	cr_assert_str_eq(secondary(), NODE3);
}

Test(replace, a_removed_instance_leaves_nothing_on_either_node)
{
	make_mirrored();
	expect(op_named("OP_INSTANCE_REMOVE", INSTANCE), "success");
	cr_assert_eq(s.files.n, 0);
}

static bool disks_active(void)
{
	return json_bool(
		config_find(s.master->config, CONFIG_INSTANCE, INSTANCE),
		"disks_active", false);
}

/* Why it is broken may be why it cannot be activated. */
Test(replace, the_side_that_cannot_be_activated_gets_new_storage)
{
	make_mirrored();
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	s.nodes[1].fail_on = "blockdev_assemble";
	expect(op_replace("replace_on_primary", NULL), "told to fail");
	expect(op_replace("replace_on_secondary", NULL), "success");
	s.nodes[1].fail_on = NULL;
	s.nodes[0].fail_on = "blockdev_assemble";
	expect(op_replace("replace_on_secondary", NULL), "told to fail");
	expect(op_replace("replace_on_primary", NULL), "success");
	s.nodes[0].fail_on = NULL;
	cr_expect_not(disks_active());
	cr_expect_eq(s.nodes[0].stopped.n, DISKS);
	cr_expect_eq(s.nodes[1].stopped.n, DISKS);
}

/* --- what others may do while the disks sync --- */

static bool in_sync_step(struct sim *sim, void *arg)
{
	const struct job *j =
		queue_job(sim->master->queue, *(const uint64_t *)arg);

	return j != NULL && j->ops[0].log.len > 0 &&
	       strstr(j->ops[0].log.data, "to sync disks") != NULL;
}

/* A job that has come to the sync, which lasts until s.nodes[0].syncing is
 * false. */
static uint64_t sync_with(json_t *op STEALS)
{
	uint64_t id;

	s.nodes[0].syncing = true;
	id = sim_submit(&s, op, NULL);
	cr_assert_neq(id, 0);
	cr_assert(sim_run(&s, 60000, in_sync_step, &id));
	return id;
}

/* The same, which replaces the storage of the secondary. */
static uint64_t begin_sync(void)
{
	json_t *op = op_replace("replace_on_secondary", NULL);

	json_set_bool(op, "early_release", true);
	return sync_with(op);
}

static void end_sync(uint64_t id)
{
	s.nodes[0].syncing = false;
	cr_expect_str_eq(sim_wait(&s, id), "success");
}

/* Whether the primary has stopped its side of all mirrors. */
static bool disks_stopped(void)
{
	return s.nodes[0].stopped.n == DISKS;
}

Test(replace, an_instance_is_stopped_during_the_sync)
{
	uint64_t id;

	make_mirrored();
	id = begin_sync();
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	cr_assert_not(disks_stopped());
	cr_assert(disks_active());
	end_sync(id);
	cr_assert(disks_stopped());
	cr_assert_not(disks_active());
}

Test(replace, an_instance_is_started_during_the_sync)
{
	uint64_t id;

	make_mirrored();
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	id = begin_sync();
	expect(op_named("OP_INSTANCE_STARTUP", INSTANCE), "success");
	end_sync(id);
	cr_assert_not(disks_stopped());
	cr_assert(disks_active());
}

Test(replace, an_instance_is_started_and_stopped_during_the_sync)
{
	uint64_t id;

	make_mirrored();
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	id = begin_sync();
	expect(op_named("OP_INSTANCE_STARTUP", INSTANCE), "success");
	expect(op_named("OP_INSTANCE_REBOOT", INSTANCE), "reboot_type");
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	cr_assert(disks_active());
	end_sync(id);
	cr_assert(disks_stopped());
	cr_assert_not(disks_active());
}

/* A sync takes days, in which a node daemon may be away now and then. */
Test(replace, a_sync_is_given_up_for_failures_in_a_row_only)
{
	uint64_t id;

	make_mirrored();
	id = begin_sync();
	for (int i = 0; i < 3; i++) {
		s.nodes[0].fail_on = "blockdev_getmirrorstatus";
		sim_run(&s, 40000, NULL, NULL);
		s.nodes[0].fail_on = NULL;
		sim_run(&s, 40000, NULL, NULL);
	}
	end_sync(id);
}

/* What changes the disks, or where the instance is, waits. */
Test(replace, others_wait_for_the_end_of_the_sync)
{
	static const char *const ops[] = {"OP_INSTANCE_DEACTIVATE_DISKS",
					  "OP_INSTANCE_REMOVE"};
	uint64_t id, waiting[2];

	make_mirrored();
	id = begin_sync();
	expect(op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), "success");
	for (size_t i = 0; i < 2; i++) {
		json_t *op = op_named(ops[i], INSTANCE);

		if (i == 1) {
			json_set_bool(op, "ignore_failures", false);
			json_set_int(op, "shutdown_timeout", 0);
		}
		waiting[i] = sim_submit(&s, op, NULL);
	}
	sim_run(&s, 60000, NULL, NULL);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(job_status(queue_job(s.master->queue, waiting[i])),
			     JOB_WAITING);
	end_sync(id);
	for (size_t i = 0; i < 2; i++)
		cr_expect_str_eq(sim_wait(&s, waiting[i]), "success");
}

/* A grown disk also takes long until both sides have it, and a look at the
 * instance changes nothing of that. */
Test(replace, who_only_looks_does_not_wait_for_a_grown_disk)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", INSTANCE);
	json_t *look = json_make("{s:s, s:[s], s:b, s:b}", "OP_ID",
				 "OP_INSTANCE_QUERY_DATA", "instances",
				 INSTANCE, "static", 1, "use_locking", 1);
	uint64_t grow, stop;

	make_mirrored();
	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", 8);
	json_set_bool(op, "ignore_ipolicy", true);
	s.nodes[0].syncing = true;
	grow = sim_submit(&s, op, NULL);
	expect(look, "success");
	stop = sim_submit(&s, op_named("OP_INSTANCE_SHUTDOWN", INSTANCE), NULL);
	sim_run(&s, 60000, NULL, NULL);
	cr_expect_eq(job_status(queue_job(s.master->queue, grow)), JOB_RUNNING);
	cr_expect_eq(job_status(queue_job(s.master->queue, stop)), JOB_WAITING);
	end_sync(grow);
	cr_expect_str_eq(sim_wait(&s, stop), "success");
}

Test(replace, a_kill_during_the_sync_leaves_the_disks_of_a_running_instance)
{
	uint64_t id;
	bool ok;
	char *text = NULL;
	struct error err;

	make_mirrored();
	id = begin_sync();
	cr_assert_eq(queue_cancel(s.master->queue, id, true, &ok, &text, &err),
		     0);
	free(text);
	cr_expect_str_eq(sim_wait(&s, id), "error");
	cr_assert_not(disks_stopped());
	s.nodes[0].syncing = false;
}

/* Kill the job; its log names the old volumes, which somebody then removes. */
static void expect_named(uint64_t id, const char *part)
{
	auto_strv struct strv found = {0};
	auto_free char *text = NULL;

	cr_expect_str_eq(sim_kill_job(&s, id), "error");
	s.nodes[0].syncing = false;
	text = sim_job_log(&s, id);
	cr_expect_not_null(strstr(text, "stays on node " NODE2), "%s", text);
	sim_find_volumes(&s, part, &found);
	cr_expect_eq(found.n, 2 * DISKS);
	for (size_t i = 0; i < found.n; i++) {
		const char *name = found.items[i];

		cr_expect_not_null(strstr(text, strchr(name, ':') + 1), "%s",
				   name);
		table_remove(&s.files, name);
	}
}

Test(replace, a_kill_during_the_sync_names_the_old_storage)
{
	make_mirrored();
	expect_named(sync_with(op_replace("replace_on_secondary", NULL)),
		     "_replaced-");
	expect_named(sync_with(op_replace("replace_new_secondary", NODE3)),
		     s.nodes[1].uuid);
}
