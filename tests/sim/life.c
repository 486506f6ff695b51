/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/life.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "queue/queue.h"

/* In the simulation an hour is a matter of milliseconds. */
#define HEAL_S 7200
/* Files follow the journal within this. */
#define FILES_S 60
/* What a failed job has left is cleared up within this, also where a node that
 * is asked before stays silent. */
#define CLEARED_S 20
#define ALONE_US 60000000

static struct sim_node *serving(struct life *l)
{
	struct sim_node *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < l->s.n_nodes; i++) {
		struct sim_node *node = &l->s.nodes[i];

		if (node->master != NULL && node->masterd.alive &&
		    !node->masterd.paused && random_below(++n) == 0)
			found = node;
	}
	return found;
}

static void run_for(struct life *l, int64_t ms)
{
	sim_run(&l->s, ms, NULL, NULL);
	faults_tick(l);
	orders_observe(l);
}

static void step(struct life *l)
{
	uint64_t what = random_below(100);
	struct sim_node *n = serving(l);

	if (what < 60 && n != NULL)
		order_random(l, n);
	else if (what < 85)
		run_for(l, (int64_t)random_below(2000));
	else
		fault_random(l);
	run_for(l, 0);
}

/* --- the end --- */

static bool ended(const struct job *j, void *arg)
{
	return job_is_final(j) || !(*(bool *)arg = false);
}

/* No other node is becoming master. */
static bool is_settled(const struct life *l)
{
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		const struct sim_node *n = &l->s.nodes[i];

		if (n->masterd.alive &&
		    (!n->begun ||
		     (n->master != NULL && n->master != l->s.master)))
			return false;
	}
	return l->s.master != NULL;
}

static bool leads(const struct life *l)
{
	uint64_t term;

	return l->s.master != NULL && quorum_leads(l->s.master->quorum, &term);
}

/* Without a majority the master waits, and what is left of jobs with it. */
static bool is_quiet(struct life *l)
{
	bool quiet = is_settled(l) && leads(l) && orders_all_final(l);

	if (quiet)
		queue_each(l->s.master->queue, ended, &quiet);
	return quiet;
}

static void check_copy(struct life *l, const struct sim_node *n,
		       const char *file, const char *what, struct strv *ret)
{
	struct sim_node *m = l->s.master->daemon, *other = mem_unconst(n);
	auto_free char *theirs = xprintf("%s%s", n->paths->root, file);
	auto_free char *ours = xprintf("%s%s", m->paths->root, file);
	const char *a = fake_disk_text(&m->disk, ours);
	const char *b = fake_disk_text(&other->disk, theirs);

	if (!str_eq(a, b))
		strv_addf(ret, "%s has %s %s %s the master %s", n->name,
			  b == NULL ? "no" : "another", what,
			  b == NULL ? "like" : "than", m->name);
}

static bool add_name(const struct job *j, void *arg)
{
	strv_addf(arg, "job-%ju", (uintmax_t)j->id);
	return true;
}

static bool is_candidate(const struct life *l, const struct sim_node *n)
{
	return json_bool(config_get(l->s.master->config, CONFIG_NODE, n->uuid),
			 "master_candidate", false);
}

/* All candidates have what the master has. */
static void check_copies(struct life *l, struct strv *ret)
{
	auto_strv struct strv jobs = {0};

	queue_each(l->s.master->queue, add_name, &jobs);
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		const struct sim_node *n = &l->s.nodes[i];

		if (!is_candidate(l, n))
			continue;
		check_copy(l, n, "/var/lib/ganeti/config.data", "configuration",
			   ret);
		for (size_t k = 0; k < jobs.n; k++) {
			auto_free char *file = xprintf(
				"/var/lib/ganeti/queue/%s", jobs.items[k]);

			check_copy(l, n, file, jobs.items[k], ret);
		}
	}
}

/* After faults the nodes may differ from the configuration; gnt-cluster verify
 * is there for that. */
static void check_cluster(struct life *l, struct strv *ret)
{
	auto_strv struct strv problems = {0};

	sim_check(&l->s, &problems);
	for (size_t i = 0; i < problems.n; i++)
		if (l->n_faults == 0 || str_starts(problems.items[i], "lock") ||
		    str_starts(problems.items[i], "job") ||
		    strstr(problems.items[i], "forthcoming") != NULL)
			strv_add(ret, problems.items[i]);
	config_verify(l->s.master->config, ret);
}

/* Without a master for long, or with one that can change nothing, an
 * administrator names another. */
static void see_to_a_master(struct life *l)
{
	if (leads(l)) {
		l->alone_since_us = 0;
	} else if (l->alone_since_us == 0) {
		l->alone_since_us = clock_mono_us();
	} else if (clock_mono_us() - l->alone_since_us > ALONE_US) {
		sim_take_over(&l->s.nodes[random_below(l->s.n_nodes)], true);
		l->alone_since_us = clock_mono_us();
	}
}

/* A master that has lost its role learns it when it is asked for something. */
static void ask_all(struct life *l)
{
	run_for(l, 1000);
	for (size_t i = 0; i < l->s.n_nodes; i++)
		if (l->s.nodes[i].master != NULL && l->s.nodes[i].masterd.alive)
			order_random(l, &l->s.nodes[i]);
}

/* Run until all jobs have ended and all copies are complete, or can never be;
 * false: the cluster does not come to rest. */
static bool settle(struct life *l, struct strv *ret_copies)
{
	int quiet_s = 0;

	for (int i = 0; i < HEAL_S && quiet_s < FILES_S; i++) {
		see_to_a_master(l);
		run_for(l, 1000);
		quiet_s = is_quiet(l) ? quiet_s + 1 : 0;
		if (quiet_s == 0)
			continue;
		strv_done(ret_copies);
		check_copies(l, ret_copies);
		if (ret_copies->n == 0 && quiet_s > CLEARED_S)
			break;
	}
	return quiet_s > 0;
}

static bool tell_job(const struct job *j, void *arg)
{
	(void)arg;
	log_info("job %ju %s: %s: %s", (uintmax_t)j->id, j->ops[0].summary,
		 job_state_name(job_status(j)),
		 j->ops[0].result == NULL ? "" : j->ops[0].result);
	return true;
}

static void heal(struct life *l, struct strv *ret)
{
	auto_strv struct strv copies = {0};

	faults_heal(l);
	ask_all(l);
	if (!settle(l, &copies)) {
		strv_add(ret, l->s.master == NULL ? "there is no master"
						  : "a job never ends");
		if (l->s.master != NULL)
			queue_each(l->s.master->queue, tell_job, NULL);
		return;
	}
	for (size_t i = 0; i < copies.n; i++)
		strv_add(ret, copies.items[i]);
	queue_each(l->s.master->queue, tell_job, NULL);
	orders_check(l, ret);
	check_cluster(l, ret);
}

/* Odd and even numbers of candidates have different majorities. */
static void begin(struct life *l, uint64_t seed, enum life_kind kind)
{
	if (kind == LIFE_CHANGES)
		sim_init_some(&l->s, 4 + seed % 4, 1 + seed / 4 % 4, seed);
	else
		sim_init_idle(&l->s, 3 + seed % 3, seed);
	l->take_overs = kind != LIFE_ONE_MASTER;
	l->changes = kind == LIFE_CHANGES;
}

struct life *life_run(uint64_t seed, int steps, enum life_kind kind,
		      struct strv *ret_problems)
{
	struct life *l = xalloc(sizeof(*l));

	begin(l, seed, kind);
	l->s.max_delay_ms = 50;
	l->s.max_disk_us = (unsigned)random_below(20000);
	sim_take_over(&l->s.nodes[0], false);
	sim_run(&l->s, 1000, NULL, NULL);
	for (int i = 0; i < steps; i++)
		step(l);
	heal(l, ret_problems);
	for (size_t i = 0; i < l->s.violations.n; i++)
		strv_add(ret_problems, l->s.violations.items[i]);
	return l;
}

void life_free(struct life *l)
{
	for (size_t i = 0; i < l->n_orders; i++) {
		json_decref(l->orders[i]->sub.ops);
		free(l->orders[i]);
	}
	free(l->orders);
	table_done(&l->terms, NULL);
	changes_done(l);
	sim_done(&l->s);
	free(l);
}
