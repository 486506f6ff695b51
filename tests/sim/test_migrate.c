/* SPDX-License-Identifier: BSD-2-Clause */
/* Migrations in a simulated cluster: several at a time to one node, and those
 * whose end is not heard of. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define MINUTE_MS 60000

TestSuite(migrate, .init = setup, .fini = teardown, .timeout = 60);

static bool runs_on(const char *name, int node)
{
	return table_get(&s.nodes[node].running, name) != NULL;
}

/* --- turns --- */

static uint64_t migrate(const char *name, const char *target)
{
	return sim_submit(&s, op_move("OP_INSTANCE_MIGRATE", name, target),
			  NULL);
}

/* web1 is on its way to node 3, from the master; web2 and web3 shall follow.
 * The job of the first of them is ret_ids[0]. */
static void begin_three(uint64_t *ret_ids)
{
	static const char *const names[] = {"web1", "web2", "web3"};

	for (int i = 0; i < 3; i++)
		expect(op_add(names[i], i == 0 ? s.nodes[0].name : NODE2, true),
		       "success");
	s.nodes[0].migration = "active";
	for (int i = 0; i < 3; i++) {
		ret_ids[i] = migrate(names[i], NODE3);
		sim_run(&s, 5000, NULL, NULL);
	}
}

static const char *status_of(uint64_t id)
{
	return job_state_name(job_status(queue_job(s.master->queue, id)));
}

/* A node listens on one port, for one instance. */
Test(migrate, those_to_one_node_come_one_after_the_other)
{
	auto_free char *log = NULL;
	uint64_t ids[3];

	begin_three(ids);
	for (int i = 0; i < 3; i++)
		cr_expect_str_eq(status_of(ids[i]), "running");
	log = sim_job_log(&s, ids[2]);
	cr_expect_not_null(strstr(log, "waiting for another instance"), "%s",
			   log);
	s.nodes[0].migration = NULL;
	for (int i = 0; i < 3; i++)
		cr_expect_str_eq(sim_wait(&s, ids[i]), "success");
	cr_expect(runs_on("web1", 2) && runs_on("web2", 2) &&
		  runs_on("web3", 2));
}

Test(migrate, those_to_another_node_do_not_wait)
{
	uint64_t ids[3];

	begin_three(ids);
	expect(op_add("web4", NODE2, true), "success");
	expect(op_move("OP_INSTANCE_MIGRATE", "web4", s.nodes[0].name),
	       "success");
	s.nodes[0].migration = NULL;
	cr_expect_str_eq(sim_wait(&s, ids[2]), "success");
}

Test(migrate, one_that_waits_can_be_killed)
{
	uint64_t ids[3];

	begin_three(ids);
	cr_expect_str_eq(sim_kill_job(&s, ids[1]), "error");
	cr_expect(runs_on("web2", 1));
	s.nodes[0].migration = NULL;
	cr_expect_str_eq(sim_wait(&s, ids[0]), "success");
	cr_expect_str_eq(sim_wait(&s, ids[2]), "success");
	cr_expect_str_eq(sim_wait(&s, migrate("web2", NODE3)), "success");
}

Test(migrate, one_that_fails_lets_the_next_one_go)
{
	uint64_t ids[3];

	begin_three(ids);
	s.nodes[0].migration = "failed";
	cr_expect_str_eq(sim_wait(&s, ids[0]), "error");
	cr_expect_str_eq(sim_wait(&s, ids[1]), "success");
	cr_expect_str_eq(sim_wait(&s, ids[2]), "success");
	cr_expect(runs_on("web1", 0));
}

/* --- a guest that is busy --- */

Test(migrate, one_whose_memory_changes_all_the_time_says_so_and_can_be_killed)
{
	auto_free char *log = NULL;
	uint64_t id;

	expect(op_add("web1", s.nodes[0].name, true), "success");
	s.nodes[0].migration = "active";
	s.nodes[0].sent_ram = (int64_t)700 << 20;
	id = migrate("web1", NODE3);
	sim_run(&s, 150000, NULL, NULL);
	log = sim_job_log(&s, id);
	cr_expect_not_null(strstr(log, "700 MiB were sent for 512 MiB"), "%s",
			   log);
	cr_expect_str_eq(sim_kill_job(&s, id), "error");
	cr_expect(runs_on("web1", 0));
}

/* --- where it is --- */

static const char *primary(const char *name)
{
	return config_name(
		s.master->config, CONFIG_NODE,
		json_str(config_find(s.master->config, CONFIG_INSTANCE, name),
			 "primary_node", ""));
}

/* Its process on the source is ended, or not, and the answer is lost. */
Test(migrate, it_is_recorded_before_the_source_is_ended)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_add("web2", NODE2, true), "success");
	sim_make_mirrored(&s, "web2", &s.nodes[1], &s.nodes[2], 0, 1);
	for (int i = 0; i < 2; i++) {
		const char *name = i == 0 ? "web1" : "web2";

		s.nodes[1].lose_answer = "instance_finalize_migration_src";
		expect(i == 0 ? op_move("OP_INSTANCE_MIGRATE", name, NODE3)
			      : op_named("OP_INSTANCE_MIGRATE", name),
		       "on the source failed");
		cr_expect_str_eq(primary(name), NODE3);
		cr_expect(runs_on(name, 2));
		expect(op_named("OP_INSTANCE_STARTUP", name), "success");
		cr_expect_not(runs_on(name, 1));
	}
}

/* Somebody has brought it to another node, and that is not recorded. */
Test(migrate, one_that_runs_on_another_node_is_not_started)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_add("web2", NODE2, true), "success");
	sim_make_mirrored(&s, "web2", &s.nodes[1], &s.nodes[2], 0, 1);
	for (int i = 0; i < 2; i++) {
		const char *name = i == 0 ? "web1" : "web2";
		json_t *reboot = op_named("OP_INSTANCE_REBOOT", name);

		table_remove(&s.nodes[1].running, name);
		table_put(&s.nodes[2].running, name, (void *)128);
		expect(op_named("OP_INSTANCE_STARTUP", name),
		       "migrate --cleanup");
		json_set_str(reboot, "reboot_type", "full");
		expect(reboot, "migrate --cleanup");
		cr_expect_not(runs_on(name, 1));
		table_remove(&s.nodes[2].running, name);
		/* Nobody knows; it may be dead. */
		s.nodes[2].fail_on = "instance_info";
		expect(op_named("OP_INSTANCE_STARTUP", name), "success");
		s.nodes[2].fail_on = NULL;
	}
}

Test(migrate, a_cleanup_leaves_one_primary_of_an_instance_that_has_ended)
{
	json_t *op = op_named("OP_INSTANCE_MIGRATE", "web1");
	auto_strv struct strv calls = {0};

	expect(op_add("web1", NODE2, true), "success");
	sim_make_mirrored(&s, "web1", &s.nodes[1], &s.nodes[2], 0, 1);
	table_remove(&s.nodes[1].running, "web1");
	json_set_bool(op, "cleanup", true);
	s.calls = &calls;
	expect(op, "runs on no node");
	s.calls = NULL;
	cr_expect(strv_has(&calls, "blockdev_close " NODE3));
	cr_expect(strv_has(&calls, "drbd_disconnect_net " NODE2));
	cr_expect(strv_has(&calls, "drbd_attach_net " NODE3));
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
}
