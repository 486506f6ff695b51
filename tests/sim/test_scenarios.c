/* SPDX-License-Identifier: BSD-2-Clause */
/* Sequences in which replication by rules of our own, as it was once, lost what
 * it had acknowledged, or two masters acknowledged.  Each was found by
 * thinking, not by random lives.  Where the mechanism that failed is gone the
 * test is what somebody would do today with the same aim: what was acknowledged
 * is there, and one master acknowledges. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "masterd/quorum/quorum_private.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define MINUTE_MS 60000
#define BIT(i) (1u << (i))

static struct sim s;
static size_t n_nodes;

static void teardown(void)
{
	for (size_t i = 0; i < s.violations.n; i++)
		cr_expect(false, "%s", s.violations.items[i]);
	sim_done(&s);
}

TestSuite(scenarios, .fini = teardown, .timeout = 120);

/* Nodes are numbered from 0; the first are candidates. */
static void start(size_t n, size_t candidates)
{
	n_nodes = n;
	sim_init_big(&s, n, candidates, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
}

/* --- the network and the machines --- */

static void cut(unsigned side)
{
	for (size_t i = 0; i < n_nodes; i++)
		for (size_t k = 0; k < n_nodes; k++)
			s.cut[i][k] = (side >> i & 1) != (side >> k & 1);
}

static void cut_between(size_t a, size_t b, bool off)
{
	s.cut[a][b] = s.cut[b][a] = off;
}

static void reject(size_t node, bool off)
{
	for (size_t i = 0; i < n_nodes; i++)
		s.reject[node][i] = s.reject[i][node] = off && i != node;
}

static void turn_off(size_t node)
{
	sim_power_cut(&s.nodes[node], 7);
	s.nodes[node].down = true;
}

static void turn_on(size_t node)
{
	s.nodes[node].down = false;
	sim_start_daemon(&s.nodes[node]);
}

static void remove_file(size_t node, const char *name)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *file =
		xprintf("%s/var/lib/ganeti/%s", n->paths->root, name);
	struct error err;

	cr_assert_eq(n->disk.disk.remove(&n->disk.disk, file, &err), 0);
}

static bool has_file(size_t node, const char *name)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *file =
		xprintf("%s/var/lib/ganeti/%s", n->paths->root, name);

	return n->disk.disk.exists(&n->disk.disk, file);
}

/* --- masters --- */

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

static bool take_over(size_t node, bool failover)
{
	sim_take_over(&s.nodes[node], failover);
	return sim_run(&s, 3 * MINUTE_MS, serves, &s.nodes[node]);
}

static bool sub_over(struct sim *sim, void *arg)
{
	(void)sim;
	return sim_submission_over(arg);
}

/* The job that the master there acknowledges in time; 0: none. */
static uint64_t submit_within(size_t node, json_t *op STEALS, int64_t ms)
{
	static struct sim_submission subs[64];
	static size_t n;
	struct sim_submission *sub = &subs[n++];
	uint64_t id;

	if (s.nodes[node].master == NULL) {
		json_decref(op);
		return 0;
	}
	cr_assert_lt(n, sizeof(subs) / sizeof(subs[0]));
	sim_submission_begin(sub, &s.nodes[node], op);
	sim_run(&s, ms, sub_over, sub);
	id = sub->id;
	if (sim_submission_over(sub))
		json_decref(steal(&sub->ops));
	return id;
}

static uint64_t submit(size_t node, double seconds)
{
	return submit_within(node, op_delay(seconds, NULL), MINUTE_MS);
}

static const struct job *job(size_t node, uint64_t id)
{
	cr_assert_not_null(s.nodes[node].master);
	return queue_job(s.nodes[node].master->queue, id);
}

static const char *state(size_t node, uint64_t id)
{
	const struct job *j = job(node, id);

	return j == NULL ? "lost" : job_state_name(job_status(j));
}

/* --- the configuration --- */

static void set_flag(size_t master, size_t node, const char *flag, bool value)
{
	struct config *c = s.nodes[master].master->config;
	json_t *object =
		config_edit(config_get(c, CONFIG_NODE, s.nodes[node].uuid));

	json_set_bool(object, flag, value);
	config_put(c, CONFIG_NODE, object);
}

static bool committed;

static void commit_task(void *arg)
{
	struct master *m = arg;
	struct error err;

	committed = config_commit(m->config, &err) == 0;
}

static void set_candidate(size_t master, size_t node, bool candidate)
{
	sim_set_candidate(s.nodes[master].master->config, &s.nodes[node],
			  candidate);
}

static bool commit(size_t master, int64_t ms)
{
	committed = false;
	task_set_owner(&s.nodes[master].masterd);
	task_spawn("commit", commit_task, s.nodes[master].master);
	task_set_owner(NULL);
	sim_run(&s, ms, NULL, NULL);
	return committed;
}

/* One goes, another one comes in its place, and all is quiet again. */
static void swap(size_t master, size_t out, size_t in)
{
	struct sim_node *m = &s.nodes[master];

	set_candidate(master, out, false);
	set_candidate(master, in, true);
	task_set_owner(&m->masterd);
	quorum_dismiss(m->master->quorum, s.nodes[out].name);
	task_set_owner(NULL);
	cr_assert(commit(master, MINUTE_MS));
}

/* --- 1: a stale configuration names the voters --- */

/* Candidates were 1, 2, 3 and are 4, 5, 6; the last two of the old ones have
 * lost what they had, the first was down.  The master is 4: its job. */
static uint64_t replace_all_candidates(void)
{
	start(9, 3);
	cr_assert(take_over(1, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	turn_off(0);
	swap(1, 0, 3);
	cr_assert(take_over(3, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	swap(3, 1, 4);
	swap(3, 2, 5);
	for (size_t i = 1; i < 3; i++) {
		cr_assert_not(has_file(i, "config.data"), "%zu", i);
		cr_assert_not(has_file(i, "consensus/server"), "%zu", i);
	}
	return submit(3, 1);
}

Test(scenarios, s01_who_comes_back_with_an_old_disk_is_no_master)
{
	uint64_t id = replace_all_candidates();

	cr_assert_neq(id, 0);
	turn_on(0);
	cut(BIT(3) | BIT(4) | BIT(5) | BIT(8));
	cr_expect_not(take_over(0, true));
	cut(0);
	cr_expect_not(take_over(0, true), "nor without a partition");
	cr_expect_neq(submit(3, 1.5), 0);
	cr_expect_not_null(job(3, id));
}

/* Its configuration is of a time when there were three nodes. */
static void forget_later_nodes(size_t node)
{
	struct sim_node *n = &s.nodes[node];
	const char *file = path(n->paths, PATH_CONFIG_DATA);
	auto_free char *text = xstrdup(fake_disk_text(&n->disk, file));
	struct error err;
	auto_json json_t *doc = json_parse(text, strlen(text), &err);
	json_t *nodes = json_object_get(doc, "nodes"), *object;
	auto_free char *small = NULL;
	const char *uuid;
	void *tmp;

	json_object_foreach_safe(nodes, tmp, uuid, object)
	{
		bool early = false;

		for (size_t i = 0; i < 3; i++)
			early |= str_eq(json_str(object, "name", ""),
					s.nodes[i].name);
		if (!early)
			json_object_del(nodes, uuid);
	}
	small = json_text(doc);
	fake_disk_put(&n->disk, file, small);
}

/* It has no log either, so it would begin one, and all whom it knows answer. */
Test(scenarios, s01_nor_with_a_disk_that_has_no_log)
{
	uint64_t id = replace_all_candidates();

	remove_file(0, "consensus/server");
	forget_later_nodes(0);
	turn_on(0);
	cr_expect_not(take_over(0, true));
	cr_expect_neq(submit(3, 1.5), 0);
	cr_expect_not_null(job(3, id));
}

/* The same of the master's own disk: most nodes still name it as the master,
 * and of those that have the log none answers. */
Test(scenarios, s01_nor_a_former_master_whose_disk_has_no_log)
{
	uint64_t id;

	start(9, 3);
	id = submit(0, 1);
	cr_assert_neq(id, 0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	turn_off(0);
	remove_file(0, "consensus/server");
	remove_file(0, "master-term");
	cut(BIT(1) | BIT(2));
	turn_on(0);
	cr_expect_not(take_over(0, false));
	cut(0);
	cr_assert(take_over(1, true));
	cr_expect_not_null(job(1, id));
}

static bool was_told(struct sim *sim, void *arg)
{
	(void)sim;
	(void)arg;
	return has_file(3, "consensus/server");
}

/* Found by the random lives: while it asks whether it may begin a log, the
 * leader of the cluster's takes it in. */
Test(scenarios, s01_nor_who_is_taken_in_while_it_asks)
{
	uint64_t id, cluster;

	n_nodes = 4;
	sim_init_idle(&s, 4, 1);
	sim_await_master(&s.nodes[0]);
	cluster = s.master->quorum->me.cluster;
	cr_assert(sim_run(&s, MINUTE_MS, was_told, NULL));
	cut(BIT(3)); /* it has nothing yet */
	sim_run(&s, 5000, NULL, NULL);
	sim_take_over(&s.nodes[3], true);
	sim_run(&s, 5000, NULL, NULL);
	cut_between(3, 0, false); /* it is brought up to date */
	sim_run(&s, 20000, NULL, NULL);
	cut(0);
	sim_run(&s, 900, NULL, NULL);
	id = submit(0, 1);
	sim_run(&s, 3 * MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.master);
	cr_expect(id == 0 || queue_job(s.master->queue, id) != NULL);
	cr_expect(s.nodes[0].master == NULL || s.nodes[3].master == NULL);
	cr_expect_eq(s.master->quorum->me.cluster, cluster);
}

/* The same, and that leader is gone again when it has all answers. */
Test(scenarios, s01_nor_if_nobody_leads_at_the_moment)
{
	uint64_t id, cluster;

	n_nodes = 4;
	sim_init_idle(&s, 4, 1);
	cut(BIT(3)); /* it is not told of the log */
	sim_await_master(&s.nodes[0]);
	cluster = s.master->quorum->me.cluster;
	sim_run(&s, 5000, NULL, NULL);
	sim_take_over(&s.nodes[3], true);
	sim_run(&s, 5000, NULL, NULL);
	cut_between(3, 0, false); /* it is brought up to date */
	cr_assert(sim_run(&s, MINUTE_MS, was_told, NULL));
	sim_run(&s, 5000, NULL, NULL);
	id = submit(0, 1);
	cr_assert_neq(id, 0);
	sim_run(&s, 10000, NULL, NULL);
	sim_kill(&s.nodes[0].masterd);
	sim_run(&s, 15000, NULL, NULL);
	cut(0);
	sim_run(&s, 3 * MINUTE_MS, NULL, NULL);
	if (s.master == NULL)
		cr_assert(take_over(0, false));
	cr_expect_not_null(queue_job(s.master->queue, id));
	cr_expect_eq(s.master->quorum->me.cluster, cluster);
}

/* --- 2: the voters change between question and promise --- */

Test(scenarios, s02_candidates_change_during_a_failover)
{
	uint64_t id;

	start(7, 3);
	cut_between(0, 1, true);
	cut_between(3, 1, true);
	cut_between(4, 1, true);
	sim_run(&s, 1000, NULL, NULL);
	sim_take_over(&s.nodes[1], true);
	sim_run(&s, 200, NULL, NULL);
	set_candidate(0, 1, false);
	set_flag(0, 1, "offline", true);
	set_candidate(0, 3, true);
	commit(0, 3000);
	cut_between(0, 2, true);
	id = submit_within(0, op_delay(1, NULL), 3500);
	sim_run(&s, MINUTE_MS, serves, &s.nodes[1]);
	if (s.nodes[1].master != NULL)
		cr_expect(id == 0 || job(1, id) != NULL);
	cr_expect(submit(0, 1.5) == 0 || submit(1, 1.25) == 0,
		  "two masters acknowledge");
}

/* --- 3: a set of candidates that is not safe --- */

Test(scenarios, s03_a_restart_does_not_make_new_candidates_count)
{
	uint64_t id;

	start(7, 3);
	cut(BIT(0));
	set_candidate(0, 1, false);
	set_candidate(0, 3, true);
	cr_assert_not(commit(0, 30000));
	sim_kill(&s.nodes[0].masterd);
	cut(BIT(1) | BIT(2) | BIT(6));
	take_over(0, false);
	id = submit(0, 1);
	cut(BIT(0) | BIT(3));
	cr_assert(take_over(1, true));
	cr_expect(id == 0 || job(1, id) != NULL);
	cr_expect(submit(0, 1.5) == 0, "two masters acknowledge");
	cr_expect_neq(submit(1, 1.25), 0);
}

/* --- 4: who refuses connections counts as one that is missing --- */

Test(scenarios, s04_a_firewall_around_the_master)
{
	uint64_t id;

	start(3, 3);
	reject(0, true);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	id = submit(0, 1);
	cr_assert(take_over(1, true));
	sim_run(&s, 5000, NULL, NULL);
	cr_expect(id == 0 || job(1, id) != NULL);
	cr_expect_eq(submit(0, 1.5), 0);
	cr_expect_neq(submit(1, 1.25), 0);
}

Test(scenarios, s04_node_daemons_are_started_anew_after_a_failover)
{
	start(3, 3);
	cut(BIT(0));
	sim_run(&s, 1000, NULL, NULL);
	cr_assert(take_over(1, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_kill(&s.nodes[1].daemon);
	sim_kill(&s.nodes[2].daemon);
	cut(0);
	cr_expect_eq(submit(0, 1.5), 0);
	sim_start_daemon(&s.nodes[1]);
	sim_start_daemon(&s.nodes[2]);
	cr_expect_neq(submit(1, 1.25), 0);
}

Test(scenarios, s04_and_no_job_runs_twice)
{
	uint64_t first, second;

	start(3, 3);
	queue_set_max_running(s.master->queue, 1);
	first = submit(0, 30);
	second = submit(0, 3.25);
	sim_run(&s, 5000, NULL, NULL);
	reject(0, true);
	cr_assert(take_over(1, true));
	sim_run(&s, 2 * MINUTE_MS, NULL, NULL);
	cr_expect_str_eq(state(1, second), "success");
	cr_expect_leq(sim_executions(&s.nodes[0], 3.25) +
			      sim_executions(&s.nodes[1], 3.25),
		      1);
	cr_expect_not_null(job(1, first));
	reject(0, false);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_null(s.nodes[0].master);
}

/* --- 5: an old image of a candidate --- */

static struct fake_disk image;

static void take_image(size_t node)
{
	fake_disk_init(&image);
	fake_disk_copy(&image, &s.nodes[node].disk);
}

static void put_image(size_t node)
{
	struct fake_disk *d = &s.nodes[node].disk;
	struct disk functions = d->disk;

	fake_disk_done(d);
	fake_disk_init(d);
	d->disk = functions;
	fake_disk_copy(d, &image);
	fake_disk_done(&image);
}

Test(scenarios, s05_a_candidate_is_put_back_while_the_master_rests)
{
	uint64_t a, b, c;

	start(3, 3);
	a = submit(0, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	take_image(1);
	b = submit(0, 2);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	turn_off(1);
	put_image(1);
	turn_on(1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	c = submit(0, 3);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	turn_off(0);
	cr_assert(take_over(1, true));
	cr_expect_not_null(job(1, a));
	cr_expect_not_null(job(1, b));
	cr_expect_not_null(job(1, c));
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_expect_not_null(job(1, b));
}

/* It is of a time when its node alone had a vote: nobody whom it knows can tell
 * it what it is. */
Test(scenarios, s05_an_image_of_the_only_voter_does_not_lead)
{
	uint64_t b;

	start(3, 1);
	submit(0, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	take_image(0);
	set_candidate(0, 1, true);
	set_candidate(0, 2, true);
	cr_assert(commit(0, MINUTE_MS));
	b = submit(0, 2);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	turn_off(0);
	put_image(0);
	turn_on(0);
	cr_expect_not(take_over(0, false));
	cr_assert(take_over(1, true));
	cr_expect_not_null(job(1, b));
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_expect_not_null(job(1, b));
}

/* The image is asked for its vote before anybody has told it what it is. */
Test(scenarios, s05_an_image_does_not_vote)
{
	uint64_t b;

	start(3, 3);
	submit(0, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	take_image(1);
	cut(BIT(2));
	b = submit(0, 2); /* 1 and 2 have it */
	cr_assert_neq(b, 0);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	turn_off(1);
	put_image(1);
	turn_on(1);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL); /* 1 tells it */
	cut(BIT(0));
	if (take_over(2, true))
		cr_expect_not_null(job(2, b));
	cut(0);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	if (s.master == NULL)
		cr_assert(take_over(0, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not_null(s.master);
	cr_expect_not_null(queue_job(s.master->queue, b));
}

/* --- 6 and 7: the master's own copy and promise --- */

Test(scenarios, s06_the_masters_own_node_daemon_is_slow)
{
	for (int round = 1; round < 6; round++) {
		uint64_t id;

		start(3, 3);
		s.max_delay_ms = 200;
		sim_pause(&s.nodes[0].daemon);
		sim_take_over(&s.nodes[1], true);
		sim_run(&s, 1500 * round, NULL, NULL);
		cut_between(1, 2, true);
		sim_resume(&s.nodes[0].daemon);
		sim_run(&s, 50 * round, NULL, NULL);
		id = submit_within(0, op_delay(2, NULL), 3000);
		sim_run(&s, MINUTE_MS, serves, &s.nodes[1]);
		if (id != 0 && s.nodes[1].master != NULL)
			cr_expect_not_null(job(1, id), "round %d", round);
		cr_expect(submit(0, 1.5) == 0 || submit(1, 1.25) == 0);
		if (round < 5)
			teardown();
	}
}

Test(scenarios, s07_a_node_daemon_comes_and_goes_while_two_try)
{
	uint64_t id, a, b;

	start(5, 3);
	cr_assert(take_over(2, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_pause(&s.nodes[2].masterd);
	sim_kill(&s.nodes[0].daemon);
	sim_take_over(&s.nodes[0], true);
	sim_run(&s, 4000, NULL, NULL);
	cut_between(1, 2, true);
	sim_start_daemon(&s.nodes[0]);
	sim_run(&s, 1000, NULL, NULL);
	sim_take_over(&s.nodes[1], true);
	sim_run(&s, 9000, NULL, NULL);
	sim_kill(&s.nodes[0].daemon);
	cut_between(0, 1, true);
	sim_run(&s, 10000, NULL, NULL);
	sim_start_daemon(&s.nodes[0]);
	sim_run(&s, 3000, NULL, NULL);
	id = submit_within(0, op_delay(1.5, NULL), 4000);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cut(0);
	sim_resume(&s.nodes[2].masterd);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	if (s.master == NULL)
		cr_assert(take_over(1, true), "somebody can be elected");
	sim_run(&s, MINUTE_MS, NULL, NULL);
	a = submit(0, 1.25);
	b = submit(1, 1.125);
	cr_expect(a == 0 || b == 0, "two masters acknowledge");
	cr_expect(id == 0 || queue_job(s.master->queue, id) != NULL);
}

/* --- 8: a removal that is repeated --- */

static const json_t *web0(size_t node)
{
	return config_find(s.nodes[node].master->config, CONFIG_INSTANCE,
			   "web0");
}

static bool is_made(struct sim *sim, void *arg)
{
	const json_t *inst = web0(0);

	(void)sim;
	(void)arg;
	return inst != NULL && json_get(inst, "reserved_by_job") != NULL &&
	       !json_bool(inst, "forthcoming", false);
}

Test(scenarios, s08_a_second_recovery_leaves_what_was_made_anew)
{
	uint64_t again;

	start(3, 3);
	s.max_delay_ms = 300;
	submit_within(0, op_add("web0", s.nodes[2].name, true), MINUTE_MS);
	cr_assert(sim_run(&s, MINUTE_MS, is_made, NULL));
	sim_kill(&s.nodes[0].masterd);
	sim_run(&s, 2000, NULL, NULL);
	cr_assert(take_over(0, false));
	/* The removal is queued; the client sees a failure and tries again. */
	again = submit_within(0, op_add("web0", s.nodes[2].name, true),
			      MINUTE_MS);
	cr_assert_neq(again, 0);
	sim_kill(&s.nodes[0].masterd);
	sim_run(&s, 2000, NULL, NULL);
	cr_assert(take_over(0, false));
	s.max_delay_ms = 5;
	sim_run(&s, 10 * MINUTE_MS, NULL, NULL);
	if (str_eq(state(0, again), "success"))
		cr_expect_not_null(web0(0), "it was removed again");
	else
		cr_expect_null(web0(0), "half of it is left");
}

/* --- 9: an end that is not safe in the new term --- */

Test(scenarios, s09_an_end_that_was_seen_stays)
{
	auto_free char *seen = NULL;
	uint64_t id;

	start(3, 3);
	id = submit(0, 20);
	sim_run(&s, 5000, NULL, NULL);
	cut(BIT(0));
	sim_run(&s, MINUTE_MS, NULL, NULL); /* it ends, but nobody has that */
	sim_kill(&s.nodes[0].masterd);
	cut(0);
	cr_assert(take_over(0, false));
	seen = xstrdup(state(0, id));
	cut(BIT(0));
	sim_run(&s, 30000, NULL, NULL);
	cr_assert(take_over(1, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	if (job_is_final(job(1, id)) && !str_eq(seen, "running"))
		cr_expect_str_eq(state(1, id), seen);
	cr_expect_not_null(job(1, id));
}

/* --- 10: a node daemon of Ganeti's becomes ours --- */

Test(scenarios, s10_ganetis_candidate_becomes_ours_while_another_is_away)
{
	uint64_t id;
	bool other;

	n_nodes = 3;
	sim_init_idle(&s, 3, 1);
	s.nodes[2].ganetis = true;
	sim_await_master(&s.nodes[0]);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cut_between(0, 1, true);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	id = submit(0, 1);
	cr_assert_neq(id, 0, "of two servers the master goes on alone");
	sim_kill(&s.nodes[2].daemon);
	s.nodes[2].ganetis = false;
	sim_start_daemon(&s.nodes[2]);
	other = take_over(1, true);
	if (other)
		cr_expect_not_null(job(1, id));
	cr_expect(submit(0, 1.5) == 0 || submit(1, 1.25) == 0,
		  "two masters acknowledge");
	cr_expect(!other || s.nodes[1].master == NULL || job(1, id) != NULL);
}

/* --- 11: a late second act --- */

static bool stops_web0(struct sim *sim, void *arg)
{
	(void)sim;
	(void)arg;
	return sim_memory(&s.nodes[1], "web0") == 0;
}

/* A reboot is a shutdown and a start: the start of a master that was replaced
 * meanwhile is refused. */
Test(scenarios, s11_a_replaced_master_starts_nothing)
{
	uint64_t id;

	start(3, 3);
	id = submit_within(0, op_add("web0", s.nodes[1].name, false),
			   MINUTE_MS);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	id = submit_within(0, op_named("OP_INSTANCE_STARTUP", "web0"),
			   MINUTE_MS);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	submit_within(0, op_named("OP_INSTANCE_SHUTDOWN", "web0"), MINUTE_MS);
	cr_assert(sim_run(&s, MINUTE_MS, stops_web0, NULL));
	submit_within(0, op_named("OP_INSTANCE_STARTUP", "web0"), 5);
	sim_pause(&s.nodes[0].masterd);
	cr_assert(take_over(2, true));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	id = submit_within(
		2, op_move("OP_INSTANCE_FAILOVER", "web0", s.nodes[2].name),
		MINUTE_MS);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_neq(id, 0);
	sim_resume(&s.nodes[0].masterd);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_expect(sim_memory(&s.nodes[1], "web0") == 0 ||
			  sim_memory(&s.nodes[2], "web0") == 0,
		  "it runs twice");
	cr_expect_null(s.nodes[0].master);
}

/* --- 12: what is in no order of its own --- */

static WAITS void demote_task(void *arg)
{
	struct sim_node *n = arg;
	auto_json json_t *node = json_ref(
		config_get(n->master->config, CONFIG_NODE, s.nodes[3].uuid));
	struct error err;

	json_decref(noderpc_call(n->master->rpc, node,
				 rpc_node_demote_from_mc(), &err));
}

/* The demotion that a former master orders late does not reach a candidate of
 * the new one. */
Test(scenarios, s12_a_late_demotion_is_refused)
{
	struct sim_node *old;

	start(5, 3);
	old = &s.nodes[0];
	cut(BIT(0));
	cr_assert(take_over(1, true));
	set_candidate(1, 3, true);
	cr_assert(commit(1, MINUTE_MS));
	cr_assert(has_file(3, "consensus/server"));
	cr_assert_not_null(old->master);
	cut(0);
	task_set_owner(&old->masterd);
	task_spawn("demote", demote_task, old);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect(has_file(3, "consensus/server"));
	cr_expect(has_file(3, "config.data"));
	cr_expect_null(old->master);
}
