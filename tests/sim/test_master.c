/* SPDX-License-Identifier: BSD-2-Clause */
/* What a whole master does, step by step, on virtual time. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/luxi/luxi_calls.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(sim, .init = setup, .fini = teardown, .timeout = 60);

static const char *primary(const char *name)
{
	const json_t *inst =
		config_find(s.master->config, CONFIG_INSTANCE, name);

	return inst == NULL ? NULL
			    : config_name(s.master->config, CONFIG_NODE,
					  json_str(inst, "primary_node", ""));
}

Test(sim, an_instance_lives_and_goes)
{
	expect(op_add("web1", "node2.example.com", true), "success");
	cr_assert_str_eq(primary("web1"), "node2.example.com");
	cr_assert_eq(s.files.n, 1);
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	cr_assert_eq(s.nodes[1].running.n, 0);
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	expect(op_move("OP_INSTANCE_MIGRATE", "web1", "node3.example.com"),
	       "success");
	cr_assert_str_eq(primary("web1"), "node3.example.com");
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", "node1.example.com"),
	       "success");
	cr_assert_eq(s.nodes[0].running.n, 1);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_assert_null(primary("web1"));
	cr_assert_eq(s.files.n, 0);
}

Test(sim, a_name_is_taken_once)
{
	expect(op_add("web1", "node1.example.com", false), "success");
	expect(op_add("web1", "node2.example.com", false), "already_exists");
}

Test(sim, a_failing_start_keeps_a_failing_installation_does_not)
{
	s.nodes[1].fail_on = "instance_os_add";
	expect(op_add("web1", "node2.example.com", true), "OpExecError");
	cr_assert_null(primary("web1"));
	cr_assert_eq(s.files.n, 0);
	s.nodes[1].fail_on = "blockdev_create";
	expect(op_add("web1", "node2.example.com", true), "OpExecError");
	cr_assert_null(primary("web1"));
	s.nodes[1].fail_on = NULL;
	expect(op_add("web1", "node2.example.com", true), "success");
}

Test(sim, many_adds_run_side_by_side)
{
	uint64_t ids[20];
	int64_t begin = clock_mono_us();
	int64_t one;

	expect(op_add("first", NULL, true), "success");
	one = clock_mono_us() - begin;
	begin = clock_mono_us();
	for (int i = 0; i < 20; i++) {
		auto_free char *name = xprintf("web%d", i);

		ids[i] = sim_submit(&s, op_add(name, NULL, true), NULL);
	}
	for (int i = 0; i < 20; i++)
		cr_assert_str_eq(sim_wait(&s, ids[i]), "success");
	/* One after the other they would take 20 times as long. */
	cr_assert_lt(clock_mono_us() - begin, 15 * one);
}

Test(sim, a_dead_node_costs_its_own_timeout_only)
{
	uint64_t slow;
	int64_t begin;

	s.nodes[2].down = true;
	/* The first change finds out, once. */
	expect(op_add("web0", "node1.example.com", false), "success");
	slow = sim_submit(&s, op_add("web3", "node3.example.com", false), NULL);
	begin = clock_mono_us();
	expect(op_add("web1", "node1.example.com", false), "success");
	cr_assert_lt(clock_mono_us() - begin, 4000000);
	cr_assert_str_eq(sim_wait(&s, slow), "error");
	s.nodes[2].down = false;
}

Test(sim, jobs_wait_for_locks_in_order)
{
	uint64_t first = sim_submit(&s, op_delay(5, "node1.example.com"), NULL);
	uint64_t second =
		sim_submit(&s, op_delay(0.1, "node1.example.com"), NULL);
	uint64_t other =
		sim_submit(&s, op_delay(0.1, "node2.example.com"), NULL);

	cr_assert_str_eq(sim_wait(&s, other), "success");
	cr_assert_eq(job_status(queue_job(s.master->queue, second)),
		     JOB_WAITING);
	cr_assert_str_eq(sim_wait(&s, second), "success");
	cr_assert(job_is_final(queue_job(s.master->queue, first)));
}

static void pause_and_continue(void *arg)
{
	auto_json json_t *pause = json_make("[i]", 2000000000);
	auto_json json_t *none = json_make("[n]");
	struct error err;

	for (int i = 0; i < *(int *)arg; i++) {
		json_decref(luxi_SetWatcherPause.run(s.master, pause, &err));
		json_decref(luxi_SetWatcherPause.run(s.master, none, &err));
	}
	json_decref(luxi_SetWatcherPause.run(s.master, pause, &err));
}

Test(sim, the_last_watcher_pause_is_that_of_all_candidates)
{
	int rounds = 30;

	s.max_delay_ms = 3000;
	s.max_disk_us = 1000;
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("pause", pause_and_continue, &rounds);
	task_set_owner(NULL);
	sim_run(&s, 60000, NULL, NULL);
	for (size_t i = 0; i < 3; i++) {
		struct disk *disk = &s.nodes[i].disk.disk;

		cr_expect(disk->exists(disk, path(s.nodes[i].paths,
						  PATH_WATCHER_PAUSE)),
			  "node %zu", i + 1);
	}
}

Test(sim, a_crash_loses_no_acknowledged_job)
{
	uint64_t ids[30];

	for (int i = 0; i < 30; i++)
		ids[i] = sim_submit(&s, op_delay(0.5, "node2.example.com"),
				    NULL);
	sim_run(&s, 2000, NULL, NULL);
	sim_crash(&s, 7);
	sim_restart(&s);
	for (int i = 0; i < 30; i++) {
		const char *status = sim_wait(&s, ids[i]);

		cr_expect(strcmp(status, "success") == 0 ||
				  strcmp(status, "error") == 0,
			  "job %ju: %s", (uintmax_t)ids[i], status);
	}
}

Test(sim, a_crash_in_a_creation_leaves_nothing)
{
	sim_submit(&s, op_add("web1", "node2.example.com", true), NULL);
	for (int i = 0; i < 1000 && s.files.n == 0; i++)
		sim_run(&s, 1, NULL, NULL);
	cr_assert_eq(s.files.n, 1, "the disk is there");
	sim_crash(&s, 3);
	sim_restart(&s);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_eq(s.files.n, 0, "the disk is gone");
	cr_assert_null(primary("web1"));
	expect(op_add("web1", "node3.example.com", true), "success");
}
