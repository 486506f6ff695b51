/* SPDX-License-Identifier: BSD-2-Clause */
/* The master is gone: candidates that make themselves the master where the
 * cluster wants that, and going on without those that are lost. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "masterd/quorum/quorum_private.h"
#include "masterd/role.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define N_NODES 5
#define N_CANDIDATES 3
#define MINUTE_MS 60000
#define LOG_BYTES 1000000

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

/* Of two candidates the master alone votes. */
static void setup_two(void)
{
	sim_init_big(&s, 3, 2, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
}

TestSuite(failover_of_two, .init = setup_two, .fini = teardown, .timeout = 60);

static void setup_five(void)
{
	sim_init_big(&s, N_NODES, N_NODES, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
}

TestSuite(failover_of_five, .init = setup_five, .fini = teardown,
	  .timeout = 60);

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

static void lose(unsigned nodes)
{
	for (size_t i = 0; i < N_NODES; i++)
		if (nodes >> i & 1) {
			sim_power_cut(&s.nodes[i], 7);
			s.nodes[i].down = true;
		}
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

/* --- an order to hand over --- */

static bool is_elected(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;
	const struct quorum *q = n->role == NULL ? NULL : role_quorum(n->role);
	uint64_t term;

	(void)sim;
	return n->masterd.alive && q != NULL && quorum_leads(q, &term);
}

/* Other orders have the turn until the master is there. */
static WAITS void hold_turn_task(void *arg)
{
	struct sim_node *n = arg;
	struct quorum *q = role_quorum(n->role);

	quorum_turn_begin(q);
	while (n->master == NULL)
		task_sleep(1);
	quorum_turn_end(q);
}

/* What the node answers to the order to hand over to this one; to be freed. */
static WAITS char *hand_over(struct sim_node *n, const struct sim_node *to)
{
	auto_free char *order = xprintf("[\"hand_over\",\"%016" PRIx64 "\"]",
					role_quorum(to->role)->me.id);

	return role_order(n->role, order, strlen(order));
}

static WAITS void hand_over_task(void *arg)
{
	auto_free char *answer = hand_over(arg, &s.nodes[2]);

	cr_expect(str_starts(answer, "[true"), "%s", answer);
}

static void spawn_on(struct sim_node *n, const char *name, task_fn *fn)
{
	void *owner = task_owner();

	task_set_owner(&n->masterd);
	task_spawn(name, fn, n);
	task_set_owner(owner);
}

static bool has_handed_over(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;

	return sim->nodes[2].master != NULL && n->master == NULL;
}

/* The order comes while the master is made, and is carried out when it has
 * been. */
Test(failover, one_that_is_told_to_hand_over_while_it_becomes_master_ends)
{
	struct sim_node *second = &s.nodes[1];

	sim_take_over(second, true);
	cr_assert(sim_run(&s, MINUTE_MS, is_elected, second));
	cr_assert_null(second->master, "it is still being made");
	spawn_on(second, "hold turn", hold_turn_task);
	spawn_on(second, "order", hand_over_task);
	cr_assert(sim_run(&s, MINUTE_MS, serves, second));
	cr_assert(sim_run(&s, MINUTE_MS, has_handed_over, second));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_eq(count_masters(), 1);
	cr_assert(!second->masterd.alive || second->role == NULL ||
			  role_master(second->role) == NULL,
		  "what was the master has ended");
}

static bool is_half_made(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;

	(void)sim;
	return n->role != NULL && role_master(n->role) != NULL;
}

/* It waits for the former master's address; the order waits for it to be
 * made. */
Test(failover, one_that_is_half_made_is_made_before_it_hands_over)
{
	struct sim_node *second = &s.nodes[1];

	lose(0x01);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_take_over(second, true);
	cr_assert(sim_run(&s, MINUTE_MS, is_half_made, second));
	cr_assert_null(second->master);
	spawn_on(second, "order", hand_over_task);
	cr_assert(sim_run(&s, MINUTE_MS, has_handed_over, second));
	cr_expect_eq(s.n_masters, 3, "it was one for a moment: %u",
		     (unsigned)s.n_masters);
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_assert_eq(count_masters(), 1);
	cr_assert(!second->masterd.alive || second->role == NULL ||
		  role_master(second->role) == NULL);
}

/* The other one is not given a vote while it could hold up everything. */
static WAITS void hand_over_in_vain_task(void *arg)
{
	auto_free char *answer = hand_over(arg, &s.nodes[1]);

	cr_expect(strstr(answer, "has not all that the master has yet") != NULL,
		  "%s", answer);
}

Test(failover_of_two, one_that_is_away_is_given_no_vote)
{
	uint64_t id;

	s.cut[0][1] = s.cut[1][0] = true;
	sim_run(&s, MINUTE_MS, NULL, NULL);
	spawn_on(&s.nodes[0], "order", hand_over_in_vain_task);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[0].master);
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_expect_neq(id, 0, "the master goes on alone");
}

/* The former master votes alone, and leads at its next start if nobody tells
 * it. */
Test(failover_of_two, a_former_master_that_is_offline_is_none_any_more)
{
	auto_free char *got = NULL;

	lose(0x01);
	s.nodes[1].no_voting = true;
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	s.master = s.nodes[1].master;
	got = sim_do(&s, json_make("{s:s, s:s, s:b, s:b}", "OP_ID",
				   "OP_NODE_SET_PARAMS", "node_name",
				   s.nodes[0].name, "offline", 1,
				   "auto_promote", 1));
	cr_assert_str_eq(got, "success");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.nodes[0].down = false;
	sim_start_daemon(&s.nodes[0]);
	sim_take_over(&s.nodes[0], false);
	cr_expect_not(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[0]));
	cr_expect_eq(count_masters(), 1);
}

/* --- an order to lend --- */

static uint64_t lend_to;

static WAITS void lend_task(void *arg)
{
	struct sim_node *n = arg;
	auto_free char *order =
		xprintf("[\"lend\",\"%016" PRIx64 "\"]", lend_to);
	auto_free char *answer = role_order(n->role, order, strlen(order));

	cr_expect(str_starts(answer, "[true"), "%s", answer);
}

/* Whom it was to lend its lead is gone, and a majority comes back later. */
Test(failover, who_lends_in_vain_is_not_elected_later)
{
	lend_to = role_quorum(s.nodes[0].role)->me.id;
	lose(0x05);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	spawn_on(&s.nodes[1], "order", lend_task);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.nodes[2].down = false;
	sim_start_daemon(&s.nodes[2]);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_eq(count_masters(), 0);
}

/* A master that waits for its majority was asked to lend its lead to a node
 * that is gone again: what waits with it is kept when the others are back. */
Test(failover, a_master_that_lends_in_vain_goes_on_later)
{
	struct sim_submission sub = {0};

	lend_to = role_quorum(s.nodes[1].role)->me.id;
	lose(0x06);
	sim_submission_begin(&sub, &s.nodes[0], op_delay(1, NULL));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	spawn_on(&s.nodes[0], "order", lend_task);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	for (size_t i = 1; i < N_CANDIDATES; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[0].master);
	cr_assert_neq(sub.id, 0, "%s", sub.err.text);
	cr_assert_str_eq(sim_wait(&s, sub.id), "success");
	cr_assert_neq(sim_submit(&s, op_delay(2, NULL), NULL), 0);
	json_decref(sub.ops);
}

/* The master reaches this node no more, and goes on. */
static void leave_out(size_t node)
{
	uint64_t id;

	s.cut[0][node] = s.cut[node][0] = true;
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
}

/* The second node lacks much, the third a little: that one is not elected
 * either, as the others have more. */
Test(failover_of_five, the_one_that_has_the_most_lends)
{
	leave_out(1);
	leave_out(2);
	lose(0x01);
	cut(0);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
}

/* --- an order to leave --- */

static bool answered;

/* Into the log that it has a part of, with another number. */
static char *order_to_join(const struct sim_node *n)
{
	struct consensus_identity me = role_quorum(n->role)->me;

	return xprintf("[\"join\",\"%016" PRIx64 "\",\"%016" PRIx64 "\"]",
		       me.cluster, me.id ^ 1);
}

static WAITS void leave_and_join_task(void *arg)
{
	struct sim_node *n = arg;
	auto_free char *join = order_to_join(n);
	static const char leave[] = "[\"leave\"]";
	auto_free char *left = role_order(n->role, leave, strlen(leave));
	auto_free char *joined = role_order(n->role, join, strlen(join));

	cr_expect(str_starts(left, "[true"), "%s", left);
	cr_expect(str_starts(joined, "[false"), "%s", joined);
	answered = true;
}

/* Who told it to leave removes its files when it has ended, so what it took
 * part in meanwhile would be lost. */
Test(failover, a_daemon_that_was_told_to_leave_takes_no_new_part)
{
	cut(0x02); /* no leader is heard there that would show the order to be
		      late */
	sim_run(&s, MINUTE_MS, NULL, NULL);
	spawn_on(&s.nodes[1], "order", leave_and_join_task);
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(answered);
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

/* --- a node that does not let in --- */

/* As if this node had been away since the certificates of the candidates were
 * renewed. */
static void forget_candidates(struct sim_node *n)
{
	auto_free char *file =
		paths_ssconf(n->paths, "master_candidates_certs");

	fake_disk_put(&n->disk, file, "00000000=AA:BB\n");
}

/* After a loss of power it is the first that is back, and the others that let
 * the master in are just starting. */
Test(failover, one_node_with_an_old_list_ends_no_master)
{
	lose(0x1f);
	forget_candidates(&s.nodes[3]);
	s.nodes[0].down = s.nodes[3].down = false;
	sim_start_daemon(&s.nodes[3]);
	sim_start_daemon(&s.nodes[0]);
	sim_take_over(&s.nodes[0], false);
	sim_run(&s, 10000, NULL, NULL);
	for (size_t i = 1; i < 3; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	cr_assert(sim_run(&s, MINUTE_MS, serves, &s.nodes[0]));
}

/* Nobody has set it offline, so the others let it in; but one of them has
 * obeyed the new master, which is gone again. */
Test(failover_of_two, a_former_master_that_nobody_obeys_is_none)
{
	unsigned n;

	lose(0x01);
	s.nodes[1].no_voting = true;
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	n = s.n_masters;
	lose(0x02);
	s.nodes[0].down = false;
	sim_start_daemon(&s.nodes[0]);
	sim_take_over(&s.nodes[0], false);
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_expect_eq(s.n_masters, n);
	cr_expect_eq(count_masters(), 0);
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

/* It was away when it was removed from the cluster, so nobody calls it. */
Test(failover, a_former_master_that_was_removed_learns_it)
{
	auto_free char *got = NULL;

	cut(0x01);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 3 * MINUTE_MS, serves, &s.nodes[1]));
	got = sim_do(&s, json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE",
				   "node_name", s.nodes[0].name));
	cr_assert_str_eq(got, "success");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[0].master);
	cut(0);
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_expect_null(s.nodes[0].master);
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

static struct strv drop;

/* Start a master daemon on a node that goes on without these. */
static void begin_to_recover(size_t node, const char *const *names)
{
	for (size_t i = 0; names[i] != NULL; i++)
		strv_add(&drop, names[i]);
	s.nodes[node].drop = &drop;
	sim_take_over(&s.nodes[node], true);
}

static void end_recovery(size_t node)
{
	s.nodes[node].drop = NULL;
	strv_done(&drop);
}

static bool recover(size_t node, const char *const *names)
{
	bool done;

	begin_to_recover(node, names);
	done = sim_run(&s, MINUTE_MS, serves, &s.nodes[node]);
	end_recovery(node);
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

/* The beginning of a record of the queue, that goes on. */
static const char half_record[] = "\x01\x01x";

static void commit_half(void *arg)
{
	struct quorum *q = role_quorum(s.nodes[0].role);
	size_t len = sizeof(half_record) - 1;
	struct error err;

	cr_assert_eq(
		consensus_commit(q->log, xmemdup(half_record, len), len, &err),
		0, "%s", err.text);
	*(bool *)arg = true;
}

static bool is_true(struct sim *sim, void *arg)
{
	(void)sim;
	return *(bool *)arg;
}

static bool all_is_in_files(struct sim *sim, void *arg)
{
	struct quorum *q = role_quorum(sim->nodes[0].role);
	struct consensus_status status;

	(void)arg;
	consensus_status(q->log, &status);
	return state_written(quorum_state(q)) >= status.applied;
}

/* While it may go on, its beginning keeps all later entries in the log. */
Test(failover, a_record_that_was_not_finished_does_not_keep_the_log)
{
	bool done = false;

	task_spawn("half", commit_half, &done);
	cr_assert(sim_run(&s, MINUTE_MS, is_true, &done));
	cr_assert_not(all_is_in_files(&s, NULL));
	sim_crash(&s, 7);
	sim_restart(&s);
	cr_assert(sim_run(&s, MINUTE_MS, serves, &s.nodes[0]));
	cr_expect(sim_run(&s, MINUTE_MS, all_is_in_files, NULL));
}

#define N_REST 3
/* Of the file that names the server: three numbers. */
#define SERVER_BYTES 24

/* Jobs that node 3 alone has in its log, as the master's disk fails and node 2
 * does not hear of them: those after the one that is returned. */
static uint64_t leave_a_rest(struct sim_submission *subs)
{
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.cut[0][1] = s.cut[1][0] = true;
	s.nodes[0].disk.fail_log = true;
	for (size_t i = 0; i < N_REST; i++)
		sim_submission_begin(&subs[i], &s.nodes[0],
				     op_delay(600, NULL));
	sim_run(&s, 300, NULL, NULL);
	lose(0x03);
	s.cut[0][1] = s.cut[1][0] = false;
	return id;
}

/* Let the power of node 3 fail at this change of its disk in a recovery; false:
 * the recovery was done before that. */
static bool cut_off(size_t op)
{
	struct fake_disk *disk = &s.nodes[2].disk;
	bool done;

	disk->die_at = disk->n_ops + op;
	done = recover(2, (const char *[]){name(0), name(1), NULL});
	sim_power_cut(&s.nodes[2], op);
	sim_start_daemon(&s.nodes[2]);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	return !done;
}

static void begin_anew(struct sim_submission *subs)
{
	for (size_t i = 0; i < N_REST; i++)
		json_decref(subs[i].ops);
	sim_done(&s);
	setup();
}

/* The file that says whose part of the log node 3 has, to be freed; NULL: it
 * has none. */
static char *read_server(void)
{
	struct sim_node *n = &s.nodes[2];
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));
	struct disk *disk = &n->disk.disk;
	struct error err;
	size_t len;

	return disk->exists(disk, file)
		       ? disk->read(disk, file, SIZE_MAX - 1, &len, &err)
		       : NULL;
}

/* Whether a recovery of node 3 that was cut off has not begun its new log. */
static bool is_unfinished(const char *server)
{
	auto_free char *now = read_server();

	return now == NULL || memcmp(now, server, SERVER_BYTES) == 0;
}

static bool takes_over(size_t node)
{
	sim_take_over(&s.nodes[node], true);
	return sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[node]);
}

/* As its administrator would: recover again; where its new log has begun
 * already, the master daemon need only start; and where the old one has ended
 * and the new one has not begun, its files have everything. */
static bool goes_on(size_t node)
{
	if (recover(node, (const char *[]){name(0), name(1), NULL}) ||
	    takes_over(node))
		return true;
	s.nodes[node].no_voting = true;
	return takes_over(node);
}

/* Whether the master has so many jobs from this one on. */
static bool has_jobs(size_t node, uint64_t first, size_t n)
{
	for (uint64_t id = first; id < first + n; id++)
		if (queue_job(s.nodes[node].master->queue, id) == NULL)
			return false;
	return true;
}

/* Whatever a recovery had done when the power failed, the next one finds all
 * that the log had. */
Test(failover, a_recovery_that_is_cut_off_is_done_again)
{
	struct sim_submission subs[N_REST];
	bool unfinished = true;

	for (size_t op = 1; unfinished; op++) {
		uint64_t id = leave_a_rest(subs);
		auto_free char *server = read_server();

		unfinished = cut_off(op) && is_unfinished(server);
		cr_assert(goes_on(2), "change %zu", op);
		cr_assert(has_jobs(2, id + 1, N_REST), "change %zu", op);
		begin_anew(subs);
	}
}

static void lose_log(size_t node)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));
	struct error err;

	cr_assert_eq(n->disk.disk.remove(&n->disk.disk, file, &err), 0);
	n->down = false;
	sim_start_daemon(n);
}

/* The others come back without their parts of the log: what node 3 had alone is
 * not begun with by the way, and the recovery finds it. */
Test(failover, what_is_set_aside_is_not_passed_over)
{
	struct sim_submission subs[N_REST];
	uint64_t id = leave_a_rest(subs);
	auto_free char *server = read_server();

	for (size_t op = 1; server != NULL; op++) {
		auto_free char *now = NULL;

		cr_assert(cut_off(op), "it was set aside before");
		now = read_server();
		if (now == NULL)
			break;
	}
	lose_log(0);
	lose_log(1);
	cr_assert_not(takes_over(2));
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	cr_assert(has_jobs(2, id + 1, N_REST));
	for (size_t i = 0; i < N_REST; i++)
		json_decref(subs[i].ops);
}

/* Or the others come back instead: what its files had alone is gone then, on
 * this node as on theirs.  Once its new log has begun there are two, which the
 * administrator has been told. */
Test(failover, or_those_that_were_lost_come_back_before_it_is_done)
{
	struct sim_submission subs[N_REST];
	bool unfinished = true;
	size_t op;

	for (op = 1; unfinished; op++) {
		uint64_t id = leave_a_rest(subs);
		auto_free char *server = read_server();

		unfinished = cut_off(op) && is_unfinished(server);
		for (size_t i = 0; i < 2 && unfinished; i++) {
			s.nodes[i].down = false;
			sim_start_daemon(&s.nodes[i]);
		}
		if (unfinished) {
			cr_assert(takes_over(0), "change %zu", op);
			sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
			lose(0x01);
			cr_assert(takes_over(2), "change %zu", op);
			cr_assert_not(has_jobs(2, id + 1, 1), "change %zu", op);
		}
		begin_anew(subs);
	}
	cr_assert_gt(op, N_REST);
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

/* Terms went on while the node that recovers was down, and nobody that it
 * reaches knows. */
Test(failover, those_that_come_back_obey_whatever_they_have_seen)
{
	uint64_t id;

	lose(0x1c);
	for (int i = 0; i < 5; i++) {
		sim_kill(&s.nodes[0].masterd);
		sim_run(&s, MINUTE_MS, NULL, NULL);
		sim_take_over(&s.nodes[0], false);
		cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[0]));
	}
	lose(0x03);
	for (size_t i = 2; i < N_NODES; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	for (size_t i = 0; i < 2; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[2].master, "it is the master still");
	s.master = s.nodes[2].master;
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_eq(count_masters(), 1);
}

/* They go on with their old log, while they do not reach the one that went on
 * without them; what that one has acknowledged stays. */
Test(failover, a_log_that_goes_on_behind_it_ends)
{
	uint64_t id;

	lose(0x03);
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	s.master = s.nodes[2].master;
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cut(0x03);
	for (size_t i = 0; i < 2; i++) {
		s.nodes[i].down = false;
		sim_start_daemon(&s.nodes[i]);
	}
	for (int i = 0; i < 3; i++) {
		sim_kill(&s.nodes[0].masterd);
		sim_run(&s, MINUTE_MS, NULL, NULL);
		sim_take_over(&s.nodes[0], false);
		cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[0]));
	}
	cut(0);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.nodes[2].master, "it is the master still");
	cr_assert_eq(count_masters(), 1);
	cr_assert_not_null(queue_job(s.nodes[2].master->queue, id));
	lose(0x04);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, &s.nodes[1]));
	cr_assert_not_null(queue_job(s.nodes[1].master->queue, id));
}

/* Two administrators do it at the same time on two sides of a cut network. */
Test(failover, of_two_that_leave_each_other_behind_one_ends)
{
	lose(0x02);
	cut(0x09); /* 1 and 4 */
	sim_kill(&s.nodes[0].masterd);
	cr_assert(recover(0, (const char *[]){name(1), name(2), NULL}));
	cr_assert(recover(2, (const char *[]){name(0), name(1), NULL}));
	cr_assert_eq(count_masters(), 2);
	cut(0);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_eq(count_masters(), 1);
}

static bool joined;

/* As a master that is heard again orders it. */
static WAITS void join_task(void *arg)
{
	struct sim_node *n = arg;
	auto_free char *order = order_to_join(n);
	auto_free char *answer = role_order(n->role, order, strlen(order));

	joined = str_starts(answer, "[true");
}

/* Node 3 is to go on without the others, and so long after it has begun to ask
 * them it is taken into the log of a master; false: that came too late. */
static bool is_taken_in_meanwhile(int ms)
{
	begin_to_recover(2, (const char *[]){name(0), name(1), NULL});
	sim_run(&s, ms, NULL, NULL);
	joined = false;
	if (s.nodes[2].master == NULL)
		spawn_on(&s.nodes[2], "order", join_task);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	end_recovery(2);
	return joined;
}

/* What it was told by those that it asked is about a log that it has no more.
 */
Test(failover, who_is_taken_in_leaves_nobody_behind)
{
	int ms;

	for (ms = 200; ms < MINUTE_MS; ms += 200) {
		lose(0x03);
		if (!is_taken_in_meanwhile(ms))
			break;
		cr_assert_null(s.nodes[2].master, "after %d ms", ms);
		sim_done(&s);
		setup();
	}
	cr_expect_gt(ms, 5000, "they do not answer for longer");
}

/* Whether there is another master for it, or it is itself one. */
static bool hears_or_leads(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;
	const struct quorum *q = n->role == NULL ? NULL : role_quorum(n->role);
	struct consensus_status status;

	(void)sim;
	if (q == NULL || q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	return status.raft.leader != 0;
}

/* Node 3 is to go on without the others, and is heard again so long after it
 * has begun to ask them; false: it is the master before it hears of one. */
static bool hears_master_meanwhile(int ms)
{
	struct sim_node *n = &s.nodes[2];
	bool hears;

	cut(0x04);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	begin_to_recover(2, (const char *[]){name(0), name(1), NULL});
	sim_run(&s, ms, NULL, NULL);
	cut(0);
	sim_run(&s, MINUTE_MS, hears_or_leads, n);
	hears = !leads(&s, n);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	end_recovery(2);
	return hears;
}

/* The master that was to be left behind is there, and goes on. */
Test(failover, who_hears_a_master_leaves_nobody_behind)
{
	int ms;

	for (ms = 1000; ms < MINUTE_MS && hears_master_meanwhile(ms);
	     ms += 1000) {
		cr_assert_null(s.nodes[2].master, "after %d ms", ms);
		sim_done(&s);
		setup();
	}
	cr_expect_gt(ms, 5000, "they do not answer for longer");
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

static bool is_between(struct sim *sim, void *arg)
{
	const struct sim_node *n = arg;
	struct consensus_status status;

	(void)sim;
	consensus_status(role_quorum(n->role)->log, &status);
	return status.raft.members.outgoing.n > 0;
}

/* While voters are exchanged, a majority of the former ones is needed, too. */
Test(failover, a_majority_of_the_new_voters_alone_is_none)
{
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("replace", replace_task, NULL);
	task_set_owner(NULL);
	cr_assert(sim_run(&s, MINUTE_MS, is_between, &s.nodes[0]));
	lose(0x06);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(is_between(&s, &s.nodes[0]));
	sim_kill(&s.nodes[0].masterd);
	cr_assert(recover(0, (const char *[]){name(1), name(2), NULL}));
}

Test(failover, with_a_majority_nobody_is_left_behind)
{
	lose(0x01);
	cr_assert_not(recover(2, (const char *[]){name(0), NULL}));
	sim_take_over(&s.nodes[2], true);
	cr_assert(sim_run(&s, MINUTE_MS, serves, &s.nodes[2]));
}

/* All candidates are lost, and this one is back with a log that is damaged. */
static void damage_log(struct sim_node *n)
{
	auto_free char *file =
		xprintf("%s/snapshot", path(n->paths, PATH_CONSENSUS_DIR));

	lose(0x07);
	n->down = false;
	fake_disk_put(&n->disk, file, "rubbish");
	sim_start_daemon(n);
}

/* The only node that is left has its files. */
Test(failover, a_damaged_log_can_be_left_behind)
{
	struct sim_node *n = &s.nodes[0];
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	damage_log(n);
	sim_take_over(n, false);
	cr_assert_not(sim_run(&s, MINUTE_MS, serves, n));
	n->no_voting = true;
	sim_take_over(n, false);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, n));
	cr_assert_not_null(queue_job(n->master->queue, id));
}

/* Whether the log of the daemons has this meanwhile. */
static bool takes_over_saying(struct sim_node *n, const char *text)
{
	char file[] = "/tmp/sim-failover-XXXXXX";
	int fd = mkstemp(file);
	auto_free char *log = NULL;
	struct error err;
	size_t len;

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(log_open(file, &err), 0);
	log_set_level(LOG_LEVEL_WARNING);
	sim_take_over(n, false);
	cr_assert(sim_run(&s, 2 * MINUTE_MS, serves, n));
	log_set_level(LOG_LEVEL_ERROR + 1);
	cr_assert_eq(log_open(NULL, &err), 0);
	log = fs_read(file, LOG_BYTES, &len, &err);
	unlink(file);
	return log != NULL && strstr(log, text) != NULL;
}

/* The mark of that is put away with the log. */
Test(failover, a_damaged_log_of_one_that_was_fetching_is_told)
{
	struct sim_node *n = &s.nodes[0];
	auto_free char *file =
		xprintf("%s/half", path(n->paths, PATH_CONSENSUS_DIR));

	damage_log(n);
	fake_disk_put(&n->disk, file, "7\n");
	n->no_voting = true;
	cr_assert(takes_over_saying(n, "has not come to the end"));
}
