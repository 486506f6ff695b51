/* SPDX-License-Identifier: BSD-2-Clause */
/* The master is gone: candidates that make themselves the master where the
 * cluster wants that, and going on without those that are lost. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "masterd/role.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define N_NODES 5
#define N_CANDIDATES 3
#define MINUTE_MS 60000

static struct sim s;

static void setup(void)
{
	sim_init_big(&s, N_NODES, N_CANDIDATES, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL); /* all take part */
}

static void teardown(void)
{
	cr_expect_eq(s.violations.n, 0, "%s",
		     s.violations.n > 0 ? s.violations.items[0] : "");
	sim_done(&s);
}

TestSuite(failover, .init = setup, .fini = teardown, .timeout = 60);

static void set_mode(const char *mode)
{
	auto_free char *got = sim_do(&s, json_make("{s:s, s:s}", "OP_ID",
						   "OP_CLUSTER_SET_PARAMS",
						   "master_failover", mode));

	cr_assert_str_eq(got, "success");
}

/* Cut the nodes whose bit is set off from the others. */
static void cut(unsigned side)
{
	for (size_t i = 0; i < N_NODES; i++)
		for (size_t k = 0; k < N_NODES; k++)
			s.cut[i][k] = (side >> i & 1) != (side >> k & 1);
}

static bool another_serves(struct sim *sim, void *arg)
{
	(void)arg;
	for (size_t i = 1; i < N_CANDIDATES; i++)
		if (sim->nodes[i].master != NULL)
			return true;
	return false;
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

static size_t count_masters(void)
{
	size_t n = 0;

	for (size_t i = 0; i < N_NODES; i++)
		n += s.nodes[i].master != NULL;
	return n;
}

static struct sim_node *new_master(void)
{
	for (size_t i = 1; i < N_CANDIDATES; i++)
		if (s.nodes[i].master != NULL)
			return &s.nodes[i];
	return NULL;
}

/* --- automatic --- */

Test(failover, nobody_takes_over_by_itself)
{
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	cr_assert_not(sim_run(&s, 10 * MINUTE_MS, another_serves, NULL));
}

Test(failover, where_it_is_automatic_a_candidate_takes_over)
{
	uint64_t id;

	set_mode("automatic");
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	cr_assert(sim_run(&s, MINUTE_MS, another_serves, NULL));
	cr_assert_eq(count_masters(), 1);
	cr_assert_not_null(queue_job(new_master()->master->queue, id));
}

Test(failover, automatic_ends_when_it_is_manual_again)
{
	set_mode("automatic");
	set_mode("manual");
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	cr_assert_not(sim_run(&s, 10 * MINUTE_MS, another_serves, NULL));
}

/* Also one that nobody reaches is a candidate: it must not disturb. */
Test(failover, a_candidate_that_is_cut_off_takes_nothing_over)
{
	set_mode("automatic");
	cut(0x02);
	cr_assert_not(sim_run(&s, 5 * MINUTE_MS, another_serves, NULL));
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[0].master, "it still is the master");
	cr_assert_eq(count_masters(), 1);
}

Test(failover, a_master_that_is_cut_off_is_replaced_and_ends)
{
	set_mode("automatic");
	cut(0x01);
	cr_assert(sim_run(&s, MINUTE_MS, another_serves, NULL));
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_null(s.nodes[0].master);
	cr_assert_eq(count_masters(), 1);
}

Test(failover, alone_nobody_elects_itself)
{
	set_mode("automatic");
	for (size_t i = 0; i < 2; i++) {
		sim_power_cut(&s.nodes[i], 7);
		s.nodes[i].down = true;
	}
	cr_assert_not(sim_run(&s, 10 * MINUTE_MS, another_serves, NULL));
}

static void lose(unsigned nodes)
{
	for (size_t i = 0; i < N_NODES; i++)
		if (nodes >> i & 1) {
			sim_power_cut(&s.nodes[i], 7);
			s.nodes[i].down = true;
		}
}

static bool leads(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;
	uint64_t term;

	(void)sim;
	return n->role != NULL && role_quorum(n->role) != NULL &&
	       quorum_leads(role_quorum(n->role), &term);
}

static void demote(const char *node)
{
	auto_free char *got =
		sim_do(&s, json_make("{s:s, s:s, s:b, s:b}", "OP_ID",
				     "OP_NODE_SET_PARAMS", "node_name", node,
				     "master_candidate", 0, "auto_promote", 1));

	cr_assert_str_eq(got, "success");
}

/* It is told that it is no candidate any more when it is back. */
Test(failover, one_that_is_cut_off_while_it_becomes_master_ends)
{
	struct sim_node *n = &s.nodes[1];

	lose(0x01);
	sim_take_over(n, true);
	cr_assert(sim_run(&s, MINUTE_MS, leads, n));
	cut(0x02);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_null(n->master);
	s.nodes[0].down = false;
	sim_start_daemon(&s.nodes[0]);
	sim_take_over(&s.nodes[2], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[2]));
	s.master = s.nodes[2].master;
	demote(n->name);
	cut(0);
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_assert_null(n->master);
	cr_assert_not(n->masterd.alive, "it is no candidate");
	cr_assert_eq(count_masters(), 1);
}

/* One that stands by as well, however long it was away. */
Test(failover, a_standby_that_was_demoted_while_it_was_away_ends)
{
	cut(0x02);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	demote(s.nodes[1].name);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(s.nodes[1].masterd.alive);
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not(s.nodes[1].masterd.alive, "it is no candidate");
}

static void demote_first_task(void *arg)
{
	struct error err;

	(void)arg;
	sim_set_candidate(s.master->config, &s.nodes[0], false);
	cr_assert_eq(config_commit(s.master->config, &err), 0);
}

/* While its disk was full it could not be told, and the new master that knows
 * so has been started anew: its node daemon hears that there is another one. */
Test(failover, a_former_master_that_was_demoted_in_vain_ends)
{
	cut(0x01);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	s.master = s.nodes[1].master;
	s.nodes[0].disk.full = true;
	task_set_owner(&s.nodes[1].masterd);
	task_spawn("demote", demote_first_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_power_cut(&s.nodes[1], 7);
	s.nodes[0].disk.full = false;
	cut(0);
	sim_start_daemon(&s.nodes[1]);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	cr_assert(s.nodes[0].masterd.alive);
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_assert_null(s.nodes[0].master);
}

/* --- without those that are lost --- */

/* Start a master daemon on a node that goes on without these. */
static bool recover(size_t node, const char *const *names)
{
	static struct strv drop;
	bool done;

	for (size_t i = 0; names[i] != NULL; i++)
		strv_add(&drop, names[i]);
	s.nodes[node].drop = &drop;
	sim_take_over(&s.nodes[node], true);
	done = sim_run(&s, MINUTE_MS, serves, &s.nodes[node]);
	s.nodes[node].drop = NULL;
	strv_done(&drop);
	return done;
}

static const char *name(size_t node)
{
	return s.nodes[node].name;
}

Test(failover, without_two_of_three_the_last_one_goes_on)
{
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	lose(0x03);
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	cr_assert_not_null(queue_job(s.nodes[2].master->queue, id));
	id = sim_submit(&s, op_delay(2, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
}

/* The leader tells what is committed with its next parcel: what the last one
 * has and was acknowledged counts though it was not told. */
Test(failover, what_was_acknowledged_last_is_kept)
{
	struct sim_submission sub = {0};

	sim_submission_begin(&sub, &s.nodes[0], op_delay(600, NULL));
	for (int i = 0; i < 10000 && sub.id == 0; i++)
		sim_run(&s, 1, NULL, NULL);
	cr_assert_neq(sub.id, 0);
	lose(0x03);
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}) ||
		  s.nodes[2].master != NULL);
	cr_assert_not_null(queue_job(s.nodes[2].master->queue, sub.id));
	json_decref(sub.ops);
}

Test(failover, those_that_come_back_are_taken_in_as_new)
{
	auto_free char *got = NULL;
	uint64_t id;

	lose(0x03);
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	for (size_t i = 0; i < 2; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	lose(0x04);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	cr_assert_not_null(queue_job(s.nodes[1].master->queue, id));
	got = sim_do(&s, op_delay(2, NULL));
	cr_assert_str_eq(got, "success");
}

Test(failover, one_that_answers_is_not_left_behind)
{
	lose(0x01);
	cr_assert_not(recover(2, (const char *[]){name(0), name(1), NULL}));
}

Test(failover, all_that_are_silent_have_to_be_named)
{
	lose(0x03);
	cr_assert_not(recover(2, (const char *[]){name(0), NULL}));
	cr_assert_not(recover(2, (const char *[]){name(0), name(4), NULL}));
}

static void replace_task(void *arg)
{
	struct error err;

	(void)arg;
	sim_set_candidate(s.master->config, &s.nodes[1], false);
	sim_set_candidate(s.master->config, &s.nodes[3], true);
	cr_assert_eq(config_commit(s.master->config, &err), 0);
}

/* Nodes 2 and 4 are demoted and promoted, and 4 cannot join: 2 has its vote
 * yet, so it counts among those that are lost. */
Test(failover, a_former_candidate_that_has_a_vote_is_named_too)
{
	s.nodes[3].down = true;
	sim_power_cut(&s.nodes[3], 7);
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("replace", replace_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	lose(0x03);
	cr_assert_not(recover(2, (const char *[]){name(0), name(3), NULL}));
	cr_assert(
		recover(2, (const char *[]){name(0), name(1), name(3), NULL}));
}

Test(failover, with_a_majority_nobody_is_left_behind)
{
	lose(0x01);
	cr_assert_not(recover(2, (const char *[]){name(0), NULL}));
	sim_take_over(&s.nodes[2], true);
	cr_assert(sim_run(&s, MINUTE_MS, serves, &s.nodes[2]));
}
