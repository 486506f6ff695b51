/* SPDX-License-Identifier: BSD-2-Clause */
/* A master dies while it makes its candidates' copies of the queue anew.  What
 * the copies had before decides whether the other nodes may go on without that
 * master. */
#include <criterion/criterion.h>
#include <string.h>

#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define MINUTE_MS 60000

static struct sim s;

static void teardown(void)
{
	sim_done(&s);
}

TestSuite(half, .fini = teardown, .timeout = 60);

static void start(size_t n)
{
	sim_init(&s, n, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL); /* all have everything */
}

static void cut(size_t a, size_t b, bool whether)
{
	s.cut[a][b] = s.cut[b][a] = whether;
}

static uint64_t do_job(void)
{
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	return id;
}

/* --- half way --- */

static bool has_begun(struct sim *sim, void *arg)
{
	auto_free char *call = xprintf("jobqueue_update_many %s",
				       ((struct sim_node *)arg)->name);

	return strv_has(sim->calls, call);
}

/* The master brings this node up to date.  It takes the first files, the answer
 * is lost, and then it hears no more. */
static void stop_half_way(size_t node)
{
	auto_strv struct strv calls = {0};

	s.calls = &calls;
	cr_assert(sim_run(&s, MINUTE_MS, has_begun, &s.nodes[node]));
	s.calls = NULL;
	s.lose_reply = 1000;
	sim_run(&s, 1000, NULL, NULL);
	cut(0, node, true);
	s.lose_reply = 0;
	sim_run(&s, MINUTE_MS, NULL, NULL); /* it is in the files */
}

static void expect_position(size_t node, const char *wanted)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *file =
		xprintf("%s/var/lib/ganeti/queue/position", n->paths->root);
	const char *text = fake_disk_text(&n->disk, file);

	cr_assert_not_null(text);
	cr_assert(str_starts(text, wanted), "%s has %s", n->name, text);
}

static void lose_master(void)
{
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

static bool take_over(size_t node, bool failover)
{
	sim_take_over(&s.nodes[node], failover);
	return sim_run(&s, 5 * MINUTE_MS, serves, &s.nodes[node]);
}

/* --- what comes of it --- */

/* Nodes 3 and 4 lagged, and were half way when the master was lost.  Node 2 has
 * all, and they can say that they had no more. */
Test(half, those_that_lagged_follow_one_that_did_not)
{
	uint64_t id;

	start(4);
	sim_kill(&s.nodes[2].daemon);
	sim_kill(&s.nodes[3].daemon);
	id = do_job();
	sim_start_daemon(&s.nodes[2]);
	stop_half_way(2);
	sim_start_daemon(&s.nodes[3]);
	stop_half_way(3);
	expect_position(2, "0 0 ");
	expect_position(3, "0 0 ");
	lose_master();
	cr_assert(take_over(1, true));
	cr_assert_not_null(queue_job(s.nodes[1].master->queue, id));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_stop_master(&s.nodes[1]);
	cr_assert(take_over(2, true), "they are whole again");
}

/* Node 3 alone has what the master acknowledged, and is half way to what that
 * has since: node 2, which has neither, must not go on. */
static uint64_t lose_the_only_copy(void)
{
	struct sim_submission more;
	uint64_t id;

	start(3);
	cut(0, 1, true);
	cut(2, 1, true);
	id = do_job();
	sim_kill(&s.nodes[2].daemon);
	sim_submission_begin(&more, &s.nodes[0], op_delay(2, NULL));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not(sim_submission_over(&more), "nobody else has it");
	sim_kill(&s.nodes[0].masterd);
	json_decref(more.ops);
	sim_start_daemon(&s.nodes[2]);
	sim_take_over(&s.nodes[0], false);
	stop_half_way(2);
	expect_position(2, "0 0 ");
	lose_master();
	cut(2, 1, false);
	cut(0, 1, false);
	cut(0, 2, false);
	return id;
}

Test(half, one_that_had_more_is_missed)
{
	lose_the_only_copy();
	cr_assert_not(take_over(1, true));
	cr_assert_not(take_over(2, true));
}

Test(half, the_master_that_began_it_goes_on)
{
	uint64_t id = lose_the_only_copy();
	auto_free char *position = NULL;

	s.nodes[0].down = false;
	sim_start_daemon(&s.nodes[0]);
	cr_assert(take_over(0, false));
	cr_assert_not_null(queue_job(s.nodes[0].master->queue, id));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	position = queue_position(s.nodes[0].master->queue);
	expect_position(2, position);
}
