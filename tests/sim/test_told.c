/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs tell their users, in their logs and errors. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/lu/parts/lu_stop.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(told, .init = setup, .fini = teardown, .timeout = 60);

static json_t *with(json_t *op, const char *key, json_t *value STEALS)
{
	json_object_set_new(op, key, value);
	return op;
}

/* The log of a job that succeeds, and lives as long as the job. */
static const char *log_of(json_t *op STEALS)
{
	uint64_t id = sim_submit(&s, op, NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	return queue_job(s.master->queue, id)->ops[0].log.data;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; text != NULL && (text = strstr(text, part)) != NULL; n++)
		text += strlen(part);
	return n;
}

/* --- a guest that does not stop --- */

#define REMOVES 4 /* the last of them */

/* One for each way to stop; to be freed. */
static json_t *stop_op(size_t i)
{
	const char *const key = "shutdown_timeout";

	switch (i) {
	case 0:
		return with(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "timeout",
			    json_integer(90));
	case 1:
		return with(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3), key,
			    json_integer(90));
	case 2:
		return with(with(op_named("OP_INSTANCE_REBOOT", "web1"), key,
				 json_integer(90)),
			    "reboot_type", json_string("full"));
	case 3:
		return with(with(op_named("OP_INSTANCE_REBOOT", "web1"), key,
				 json_integer(90)),
			    "reboot_type", json_string("hard"));
	case REMOVES:
		return with(op_named("OP_INSTANCE_REMOVE", "web1"), key,
			    json_integer(90));
	default:
		return NULL;
	}
}

static void stop_after(unsigned ms)
{
	for (size_t i = 0; i < s.n_nodes; i++)
		s.nodes[i].stop_ms = ms;
}

Test(told, a_fast_stop_says_nothing)
{
	json_t *op;

	stop_after(STOP_SAY_AFTER_S * 1000 - 100);
	for (size_t i = 0; (op = stop_op(i)) != NULL; i++) {
		expect(op_add("web1", NODE2, true), "success");
		cr_expect_eq(count(log_of(op), "has not shut down"), 0, "%zu",
			     i);
		if (i < REMOVES)
			expect(op_named("OP_INSTANCE_REMOVE", "web1"),
			       "success");
	}
}

/* After 5, 10, 20, 40 and 80 seconds, and by force after 90. */
Test(told, a_slow_stop_says_how_long_and_what_makes_it_shorter)
{
	json_t *op;

	for (size_t i = 0; (op = stop_op(i)) != NULL; i++) {
		const char *log;

		stop_after(0);
		expect(op_add("web1", NODE2, true), "success");
		stop_after(85000);
		log = log_of(op);
		cr_expect_eq(
			count(log, "web1 has not shut down on node " NODE2), 5,
			"%zu: %s", i, log);
		cr_expect_eq(count(log, "after 5 seconds; after 90 it is"), 1,
			     "%s", log);
		cr_expect_eq(count(log, i == 0 ? "(sooner with --timeout)"
					       : "(sooner with "
						 "--shutdown-timeout)"),
			     5, "%s", log);
		stop_after(0);
		if (i < REMOVES)
			expect(op_named("OP_INSTANCE_REMOVE", "web1"),
			       "success");
	}
}

Test(told, past_its_time_a_guest_is_ended_by_force)
{
	json_t *op = op_named("OP_INSTANCE_SHUTDOWN", "web1");

	expect(op_add("web1", NODE2, true), "success");
	stop_after(9000);
	cr_expect_eq(count(log_of(with(op, "timeout", json_integer(3))),
			   "has not ended on node " NODE2 " after 5 seconds; "
			   "its time to shut down was 3"),
		     1);
}

/* Longer than the call has otherwise. */
Test(told, a_guest_gets_all_the_time_that_it_is_given)
{
	json_t *op = op_named("OP_INSTANCE_SHUTDOWN", "web1");

	expect(op_add("web1", NODE2, true), "success");
	stop_after(3000 * 1000);
	expect(with(op, "timeout", json_integer(3100)), "success");
}

/* --- words that scripts know --- */

Test(told, without_installation_nothing_starts)
{
	json_t *op =
		with(op_add("web1", NODE2, true), "no_install", json_true());

	cr_expect_eq(count(log_of(op), " - INFO: No-installation mode "
				       "selected, disabling startup"),
		     1);
	cr_expect_null(table_get(&s.nodes[1].running, "web1"));
}

static void expect_result(json_t *op STEALS, const char *result)
{
	uint64_t id = sim_submit(&s, op, NULL);
	const struct job *j;

	cr_assert_str_eq(sim_wait(&s, id), "error");
	j = queue_job(s.master->queue, id);
	cr_expect_not_null(strstr(j->ops[0].result, result), "%s",
			   j->ops[0].result);
}

Test(told, a_delay_of_no_time_is_an_error_without_code)
{
	static const double seconds[] = {0, -1};

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		expect_result(op_delay(seconds[i], NULL),
			      "[\"Duration must be greater than zero\"]");
}
