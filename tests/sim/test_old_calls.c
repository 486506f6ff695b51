/* SPDX-License-Identifier: BSD-2-Clause */
/* A master dies while a node executes a long call for it.  The next one does
 * not touch the same object before that call has ended. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define MINUTE_MS 60000
#define SECOND_US INT64_C(1000000)

/* A failover, with a former master that does not answer, */
#define FAILOVER_S 60
/* and a job that waits for nothing. */
#define JOB_S 20

TestSuite(old_calls, .init = setup, .fini = teardown, .timeout = 60);

static bool was_sent(struct sim *sim, void *call)
{
	return strv_has(sim->calls, call);
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

/* Instance web1, and web2 that is left alone, on node 2.  The master dies while
 * that node takes so long to shut web1 down, and node 3 follows it.  Returns
 * when the shutdown began. */
static int64_t die_during_shutdown(unsigned stop_ms)
{
	auto_strv struct strv calls = {0};
	char call[] = "instance_shutdown " NODE2;
	int64_t began_us;

	expect(op_add("web1", NODE2, false), "success");
	expect(op_add("web2", NODE2, false), "success");
	s.nodes[1].stop_ms = stop_ms;
	s.calls = &calls;
	sim_submit(&s, op_named("OP_INSTANCE_SHUTDOWN", "web1"), NULL);
	cr_assert(sim_run(&s, MINUTE_MS, was_sent, call));
	s.calls = NULL;
	began_us = clock_mono_us();
	sim_run(&s, 1000, NULL, NULL); /* it is there */
	s.nodes[1].stop_ms = 0;
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	sim_take_over(&s.nodes[2], true);
	cr_assert(sim_run(&s, FAILOVER_S * 1000, serves, &s.nodes[2]));
	return began_us;
}

/* All are there again, as the look behind each test wants it. */
static void heal(void)
{
	s.nodes[0].down = false;
	sim_start_daemon(&s.nodes[0]);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
}

static const char *log_of(uint64_t id)
{
	const char *log = queue_job(s.master->queue, id)->ops[0].log.data;

	return log == NULL ? "" : log;
}

static uint64_t start_web1(void)
{
	uint64_t id =
		sim_submit(&s, op_named("OP_INSTANCE_STARTUP", "web1"), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	return id;
}

Test(old_calls, a_job_for_the_same_instance_waits_until_they_end)
{
	int64_t began_us = die_during_shutdown(300 * 1000);
	uint64_t id = start_web1();
	int64_t us = clock_mono_us() - began_us;

	cr_expect_geq(us, 300 * SECOND_US, "after %jd s",
		      (intmax_t)(us / SECOND_US));
	cr_expect_leq(us, (300 + JOB_S) * SECOND_US, "after %jd s",
		      (intmax_t)(us / SECOND_US));
	cr_expect_not_null(strstr(log_of(id), "Waiting for node " NODE2
					      ", which still executes "
					      "instance_shutdown of a former "
					      "master"),
			   "%s", log_of(id));
	heal();
}

Test(old_calls, a_job_for_another_instance_does_not)
{
	int64_t begin_us, us;
	uint64_t id;

	die_during_shutdown(600 * 1000);
	begin_us = clock_mono_us();
	id = sim_submit(&s, op_named("OP_INSTANCE_SHUTDOWN", "web2"), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	us = clock_mono_us() - begin_us;
	cr_expect_leq(us, JOB_S * SECOND_US, "after %jd s",
		      (intmax_t)(us / SECOND_US));
	cr_expect_null(strstr(log_of(id), "still executes"), "%s", log_of(id));
	heal();
}

/* Its procedure has a limit of 900 s. */
Test(old_calls, nobody_waits_for_ever)
{
	int64_t began_us = die_during_shutdown(7200 * 1000);
	uint64_t id = start_web1();
	int64_t us = clock_mono_us() - began_us;

	cr_expect_geq(us, 900 * SECOND_US);
	cr_expect_leq(us, (900 + JOB_S) * SECOND_US);
	cr_expect_not_null(strstr(log_of(id), "going on without waiting"), "%s",
			   log_of(id));
	heal();
}

Test(old_calls, a_daemon_that_has_ended_does_nothing_any_more)
{
	int64_t began_us = die_during_shutdown(600 * 1000);

	sim_kill(&s.nodes[1].daemon);
	sim_start_daemon(&s.nodes[1]);
	start_web1();
	cr_expect_leq(clock_mono_us() - began_us,
		      (FAILOVER_S + JOB_S) * SECOND_US);
	heal();
}

/* It has said what it does, and is silent then. */
Test(old_calls, a_node_that_grows_silent_is_waited_for)
{
	int64_t began_us = die_during_shutdown(7200 * 1000);
	uint64_t id =
		sim_submit(&s, op_named("OP_INSTANCE_STARTUP", "web1"), NULL);

	sim_run(&s, 1000, NULL, NULL);
	cr_assert_not_null(strstr(log_of(id), "still executes"), "%s",
			   log_of(id));
	s.nodes[1].silent = true;
	sim_run(&s, 10 * MINUTE_MS, NULL, NULL);
	s.nodes[1].silent = false;
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_geq(clock_mono_us() - began_us, 900 * SECOND_US);
	heal();
}

/* Those who need it wait for its answer, for as long as it may take. */
Test(old_calls, a_silent_node_holds_up_only_who_needs_it)
{
	uint64_t id, other;

	expect(op_add("web1", NODE2, false), "success");
	expect(op_add("web2", NODE3, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	sim_kill(&s.nodes[0].masterd);
	s.nodes[1].silent = true;
	sim_take_over(&s.nodes[0], false);
	cr_assert(sim_run(&s, FAILOVER_S * 1000, serves, &s.nodes[0]));
	id = sim_submit(&s, op_named("OP_INSTANCE_STARTUP", "web1"), NULL);
	other = sim_submit(&s, op_named("OP_INSTANCE_SHUTDOWN", "web2"), NULL);
	sim_run(&s, 4000, NULL, NULL);
	cr_expect_not_null(
		strstr(log_of(id), "Waiting for node " NODE2 " to say what"),
		"%s", log_of(id));
	s.nodes[1].silent = false;
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(sim_wait(&s, other), "success");
	cr_expect_null(strstr(log_of(other), "Waiting"), "%s", log_of(other));
}
