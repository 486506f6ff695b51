/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs see of the locks. */
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(sim_locks, .init = setup, .fini = teardown, .timeout = 60);

#define LONG_S 60

static json_t *delay_on(double seconds, const char *one, const char *other)
{
	json_t *op = op_delay(seconds, one);

	json_array_append_new(json_object_get(op, "on_nodes"),
			      json_string(other));
	return op;
}

/* The third job needs node2, which is taken for long, and node3, which goes
 * away: it ends then, not when node2 is free. */
Test(sim_locks, who_waits_for_a_removed_node_fails_at_once)
{
	static struct sim_submission removal; /* on its way meanwhile */
	int64_t begin = clock_mono_us();
	uint64_t busy, waiting;
	const struct job *j;

	sim_submit(&s, op_delay(5, NODE3), NULL); /* all others wait by then */
	busy = sim_submit(&s, op_delay(LONG_S, NODE2), NULL);
	sim_submission_begin(&removal, &s.nodes[0],
			     json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE",
				       "node_name", NODE3));
	waiting = sim_submit(&s, delay_on(1, NODE2, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, removal.id), "success");
	cr_assert_str_eq(sim_wait(&s, waiting), "error");
	cr_assert_lt(clock_mono_us() - begin, LONG_S * 1000000L / 2);
	j = queue_job(s.master->queue, waiting);
	cr_assert_not_null(strstr(j->ops[0].result,
				  "The node node3.example.com was removed "
				  "while this job waited for its lock"),
			   "%s", j->ops[0].result);
	cr_assert_str_eq(sim_wait(&s, busy), "success");
}

/* A job with a time limit is told who held it up. */
Test(sim_locks, who_has_waited_long_enough_gives_up)
{
	uint64_t busy = sim_submit(&s, op_delay(LONG_S, NODE2), NULL);
	int64_t begin = clock_mono_us();
	json_t *op = op_delay(1, NODE2);

	json_set_int(op, "lock_timeout", 5);
	expect(op, "within 5 s: node/node2.example.com is held by job ");
	cr_assert_lt(clock_mono_us() - begin, LONG_S * 1000000L / 2);
	/* Locks that come in time make no difference. */
	cr_assert_str_eq(sim_wait(&s, busy), "success");
	op = op_delay(1, NODE2);
	json_set_int(op, "lock_timeout", 5);
	expect(op, "success");
}

Test(sim_locks, a_huge_time_limit_is_none)
{
	json_t *op = op_delay(1, NODE2);

	sim_submit(&s, op_delay(LONG_S, NODE2), NULL);
	json_set_int(op, "lock_timeout", INT64_MAX / 1000000 + 1);
	expect(op, "success");
}

/* A new instance of the same name waits for the removal of the old one. */
Test(sim_locks, a_name_is_free_when_its_instance_is_gone)
{
	uint64_t gone, again;

	expect(op_add("web1", NODE2, true), "success");
	gone = sim_submit(&s, op_named("OP_INSTANCE_REMOVE", "web1"), NULL);
	again = sim_submit(&s, op_add("web1", NODE3, true), NULL);
	cr_assert_str_eq(sim_wait(&s, gone), "success");
	cr_assert_str_eq(sim_wait(&s, again), "success");
}
