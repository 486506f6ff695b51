/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks go to another storage, and to another node, while their instance runs,
 * in a simulated cluster.  Behind each test volumes and configuration must
 * agree. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define NAME "web1"
#define MINUTE_MS 60000

/* On node2, of a hypervisor that can do it, with a volume. */
static void setup_running(void)
{
	json_t *op = op_add(NAME, NODE2, true);

	sim_init_big(&s, 3, 1, 1);
	expect(json_make("{s:s, s:[s, s], s:s, s:s, s:[s, s, s, s], "
			 "s:{s:[s, s, s, s]}}",
			 "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "enabled_hypervisors", "fake", "kvm", "vg_name",
			 "xenvg", "drbd_helper", "/bin/true",
			 "enabled_disk_templates", "drbd", "plain",
			 "sharedfile", "diskless", "ipolicy", "disk-templates",
			 "drbd", "plain", "sharedfile", "diskless"),
	       "success");
	json_set_str(op, "disk_template", "plain");
	json_set_str(op, "hypervisor", "kvm");
	expect(op, "success");
	/* Nobody stops it. */
	s.nodes[1].fail_on = "instance_shutdown";
}

TestSuite(live, .init = setup_running, .fini = teardown, .timeout = 60);

static const json_t *instance(void)
{
	return config_find(s.master->config, CONFIG_INSTANCE, NAME);
}

static const char *template_now(void)
{
	return config_instance_template(s.master->config, instance());
}

static bool runs_on(int node)
{
	return table_get(&s.nodes[node].running, NAME) != NULL;
}

static json_t *op_convert(const char *template)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", NAME);

	json_set_str(op, "disk_template", template);
	json_set_bool(op, "ignore_ipolicy", true);
	if (str_eq(template, "drbd"))
		json_set_str(op, "remote_node", NODE3);
	return op;
}

static json_t *op_move_to(const char *node)
{
	json_t *op = op_move("OP_INSTANCE_MOVE", NAME, node);

	json_set_bool(op, "live", true);
	return op;
}

static json_t *op_live_move(void)
{
	return op_move_to(NODE3);
}

static char *disk_uuid_now(void)
{
	return xstrdup(json_string_value(
		json_array_get(json_get(instance(), "disks"), 0)));
}

Test(live, any_template_becomes_any_other)
{
	static const char *const way[] = {"drbd", "plain",	"sharedfile",
					  "drbd", "sharedfile", "plain"};

	for (size_t i = 0; i < ARRAY_SIZE(way); i++) {
		auto_free char *before = disk_uuid_now();
		auto_free char *after = NULL;

		expect(op_convert(way[i]), "success");
		cr_expect_str_eq(template_now(), way[i]);
		cr_expect(runs_on(1));
		after = disk_uuid_now();
		cr_expect_str_eq(after, before,
				 "the hypervisor knows it by it");
		cr_expect_eq(s.files.n, str_eq(way[i], "drbd") ? 4 : 1, "%s",
			     way[i]);
	}
}

Test(live, a_failure_leaves_the_old_disks)
{
	static const char *const calls[] = {"blockdev_create",
					    "instance_mirror_start",
					    "instance_mirror_status"};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		s.nodes[1].fail_on = calls[i];
		expect(op_convert("sharedfile"), "told to fail");
		expect(op_convert("drbd"), "told to fail");
		cr_expect_str_eq(template_now(), "plain", "%s", calls[i]);
		cr_expect_eq(s.files.n, 1, "%s", calls[i]);
		cr_expect(runs_on(1));
	}
}

/* The node says that the copy is not at its end: so the old disk is in use. */
Test(live, disks_that_are_not_taken_are_not_recorded)
{
	s.nodes[1].fail_on = "instance_mirror_end";
	expect(op_convert("drbd"), "told to fail");
	cr_expect_str_eq(template_now(), "plain");
	cr_expect_eq(s.files.n, 1);
	s.nodes[1].fail_on = NULL;
	expect(op_convert("drbd"), "success");
}

/* Its answer got lost, and the node says that it was done. */
Test(live, disks_that_are_taken_are_recorded)
{
	s.nodes[1].fail_on = "instance_mirror_end";
	s.nodes[1].uses = "this";
	s.nodes[1].copies = "none";
	expect(op_convert("sharedfile"), "success");
	cr_expect_str_eq(template_now(), "sharedfile");
	cr_expect_eq(s.files.n, 1);
}

Test(live, activation_brings_it_to_the_recorded_disks)
{
	static const struct {
		const char *uses, *copies, *fails, *outcome;
	} cases[] = {
		{"this", "none", "instance_mirror_end", "success"},
		{"this", "ready", NULL, "success"},
		{"this", "ready", "instance_mirror_end", "told to fail"},
		{"other", "ready", NULL, "success"},
		{"other", "none", "instance_mirror_start", "success"},
		{"other", "failed", "instance_mirror_end", "ended"},
		{"unknown", "none", "instance_mirror_end", "success"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		s.nodes[1].uses = cases[i].uses;
		s.nodes[1].copies = cases[i].copies;
		s.nodes[1].fail_on = cases[i].fails;
		expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", NAME),
		       cases[i].outcome);
		cr_expect_str_eq(template_now(), "plain");
		cr_expect(runs_on(1));
	}
}

Test(live, other_hypervisors_stop_first)
{
	json_t *op = op_add("web2", NODE2, true), *live;

	json_set_str(op, "disk_template", "plain");
	expect(op, "success");
	op = op_convert("sharedfile");
	json_set_str(op, "instance_name", "web2");
	expect(op, "cannot change disk template");
	live = op_move("OP_INSTANCE_MOVE", "web2", NODE3);
	json_set_bool(live, "live", true);
	expect(live, "without --live it is stopped for the time of the copy");
}

Test(live, it_moves_with_its_disks)
{
	expect(op_live_move(), "success");
	cr_expect(runs_on(2));
	cr_expect_not(runs_on(1));
	cr_expect_str_eq(config_name(s.master->config, CONFIG_NODE,
				     json_str(instance(), "primary_node", "")),
			 NODE3);
	cr_expect_eq(s.files.n, 1);
}

/* Of the poll that lets it go on over there. */
Test(live, a_move_outlives_a_lost_answer)
{
	s.nodes[1].lose_answer = "instance_get_migration_status";
	expect(op_live_move(), "success");
	cr_expect(runs_on(2));
	cr_expect_eq(s.files.n, 1);
}

static const char *primary_now(void)
{
	return config_name(s.master->config, CONFIG_NODE,
			   json_str(instance(), "primary_node", ""));
}

static void set_arrived(bool arrived)
{
	s.nodes[1].arrived = s.nodes[2].arrived = arrived;
}

/* The master has not heard that it has arrived: its disks there stay, and
 * another job records where it is. */
static void expect_settled(void)
{
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_str_eq(primary_now(), NODE3);
	cr_expect_eq(s.files.n, 1);
	cr_expect(runs_on(2));
	cr_expect_not(runs_on(1));
	set_arrived(false);
}

Test(live, one_that_has_arrived_keeps_its_disks)
{
	set_arrived(true);
	s.nodes[1].fail_on = "instance_get_migration_status";
	expect(op_live_move(), "told to fail");
	cr_expect_eq(s.files.n, 2);
	cr_expect_str_eq(primary_now(), NODE2);
	s.nodes[1].fail_on = NULL;
	expect_settled();
	expect(op_move_to(NODE2), "success");
}

/* It is recorded before its process on the source is ended; that is done later
 * then, and the next move removes its old disks. */
Test(live, one_whose_source_is_not_ended_is_where_it_runs)
{
	for (int lost = 0; lost < 2; lost++) {
		set_arrived(true);
		if (lost)
			s.nodes[1].lose_answer =
				"instance_finalize_migration_src";
		else
			s.nodes[1].fail_on = "instance_finalize_migration_src";
		expect(op_live_move(), "on the source failed");
		cr_expect_str_eq(primary_now(), NODE3);
		cr_expect(runs_on(2));
		cr_expect_eq(runs_on(1), !lost);
		s.nodes[1].fail_on = NULL;
		sim_run(&s, MINUTE_MS, NULL, NULL);
		cr_expect_not(runs_on(1));
		cr_expect_eq(s.files.n, 2);
		set_arrived(false);
		expect(op_move_to(NODE2), "success");
		cr_expect_eq(s.files.n, 1);
	}
}

/* Of which nothing is left to be ended. */
Test(live, one_that_has_arrived_and_ended_keeps_its_disks)
{
	s.nodes[1].arrived = true;
	s.nodes[1].fail_on = "instance_get_migration_status";
	expect(op_live_move(), "told to fail");
	cr_expect_eq(s.files.n, 2);
	s.nodes[1].fail_on = NULL;
	expect_settled();
}

/* Nothing runs where it is recorded, as when its node has been started anew. */
static void lose_source(void)
{
	set_arrived(true);
	s.nodes[1].fail_on = "instance_get_migration_status";
	expect(op_live_move(), "told to fail");
	s.nodes[1].fail_on = NULL;
	table_remove(&s.nodes[1].running, NAME);
}

Test(live, one_that_is_ended_where_it_was_keeps_its_disks)
{
	lose_source();
	cr_expect_eq(s.files.n, 2);
	expect_settled();
	expect(op_move_to(NODE2), "success");
}

Test(live, one_that_runs_beside_its_copy_is_left_alone)
{
	s.nodes[2].fail_on = "instance_info"; /* nobody knows where it is */
	lose_source();
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_str_eq(primary_now(), NODE2);
	s.nodes[2].fail_on = NULL;
	s.nodes[1].fail_on = NULL;
	expect(op_move("OP_INSTANCE_MOVE", NAME, NODE3), "activate-disks");
	expect(op_named("OP_INSTANCE_STARTUP", NAME), "activate-disks");
	expect(op_named("OP_INSTANCE_REMOVE", NAME), "activate-disks");
	cr_expect_eq(s.files.n, 2);
	expect(op_named("OP_INSTANCE_ACTIVATE_DISKS", NAME), "success");
	expect_settled();
}

/* Nobody knows whether it runs on the silent node, with newer disks. */
Test(live, one_whose_copys_node_is_silent_is_not_started)
{
	json_t *forced = op_named("OP_INSTANCE_STARTUP", NAME);

	s.nodes[2].fail_on = "instance_info";
	lose_source();
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.nodes[2].fail_on = "instance_info";
	expect(op_named("OP_INSTANCE_STARTUP", NAME), "--offline yes " NODE3);
	cr_expect_not(runs_on(1));
	json_object_set_new(forced, "force", json_true());
	expect(forced, "success");
	cr_expect(runs_on(1));
	s.nodes[2].fail_on = NULL;
	table_remove(&s.nodes[2].running, NAME);
	set_arrived(false);
	expect(op_move_to(NODE3), "success");
}

/* What fails behind the record leaves the old disks noted. */
Test(live, old_disks_that_stay_are_removed_by_the_next_move)
{
	s.nodes[2].lose_answer = "instance_finalize_migration_dst";
	expect(op_live_move(), "instance_finalize_migration_dst");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_str_eq(primary_now(), NODE3);
	expect(op_move_to(NODE2), "success");
	cr_expect_eq(s.files.n, 1);
}

/* Kill the move while its memory is on its way. */
static void kill_move(void)
{
	uint64_t id;

	s.nodes[1].migration = "active";
	id = sim_submit(&s, op_live_move(), NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_eq(s.files.n, 2);
	cr_expect_str_eq(sim_kill_job(&s, id), "error");
	s.nodes[1].migration = NULL;
}

/* The process that waits for it listens where those of migrations do. */
Test(live, two_to_one_node_move_one_after_the_other)
{
	uint64_t moving, next;

	expect(op_add("web2", s.nodes[0].name, true), "success");
	s.nodes[1].migration = "active";
	moving = sim_submit(&s, op_live_move(), NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	next = sim_submit(&s, op_move("OP_INSTANCE_MIGRATE", "web2", NODE3),
			  NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.nodes[1].migration = NULL;
	cr_expect_str_eq(sim_wait(&s, moving), "success");
	cr_expect_str_eq(sim_wait(&s, next), "success");
}

Test(live, a_killed_one_that_has_arrived_keeps_its_disks)
{
	for (int ended = 0; ended < 2; ended++) {
		s.nodes[1].arrived = true;
		s.nodes[2].arrived = ended == 0;
		kill_move();
		expect_settled();
		expect(op_move_to(NODE2), "success");
	}
}

Test(live, a_killed_one_that_has_not_leaves_no_disks)
{
	kill_move();
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect(runs_on(1));
	cr_expect_str_eq(primary_now(), NODE2);
	cr_expect_eq(s.files.n, 1);
	expect(op_live_move(), "success");
}

Test(live, a_move_that_fails_leaves_it_where_it_is)
{
	static const struct {
		int node;
		const char *call;
	} faults[] = {
		{2, "blockdev_create"},	       {2, "accept_instance"},
		{2, "instance_mirror_serve"},  {1, "instance_mirror_start"},
		{1, "instance_mirror_status"}, {1, "instance_migrate"}};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		s.nodes[faults[i].node].fail_on = faults[i].call;
		expect(op_live_move(), "told to fail");
		s.nodes[faults[i].node].fail_on = NULL;
		cr_expect(runs_on(1), "%s", faults[i].call);
		cr_expect_str_eq(
			config_name(s.master->config, CONFIG_NODE,
				    json_str(instance(), "primary_node", "")),
			NODE2);
		cr_expect_eq(s.files.n, 1, "%s", faults[i].call);
	}
	expect(op_live_move(), "success");
}
