/* SPDX-License-Identifier: BSD-2-Clause */
/* SSH keys in a simulated cluster: whom the nodes let in when roles change, a
 * node fails, or the master dies in the middle of a renewal. */
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define N_NODES 3

static json_t *redist(void)
{
	return json_make("{s:s}", "OP_ID", "OP_CLUSTER_REDIST_CONF");
}

static json_t *renew(void)
{
	return json_make("{s:s, s:b}", "OP_ID", "OP_CLUSTER_RENEW_CRYPTO",
			 "renew_ssh_keys", 1);
}

static json_t *set_node(const char *name, const char *flag, bool value)
{
	return json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", name, flag, (int)value);
}

/* SSH is the cluster's, and all nodes have keys. */
static void setup_ssh(void)
{
	json_t *cluster;

	setup();
	cluster = config_edit(config_cluster(s.master->config));
	json_set_bool(cluster, "modify_ssh_setup", true);
	json_set_int(cluster, "candidate_pool_size", 2);
	config_put_cluster(s.master->config, cluster);
	expect(redist(), "success");
}

TestSuite(ssh, .init = setup_ssh, .fini = teardown, .timeout = 60);

/* "12 13 21 ...": who may log in where, from and to. */
static void expect_logins(const char *expected)
{
	auto_buf struct buf got = {0};

	buf_adds(&got, "");
	for (size_t from = 0; from < N_NODES; from++)
		for (size_t to = 0; to < N_NODES; to++)
			if (from != to &&
			    sim_ssh_lets_in(&s.nodes[to], &s.nodes[from]))
				buf_addf(&got, "%s%zu%zu",
					 got.len > 0 ? " " : "", from + 1,
					 to + 1);
	cr_expect_str_eq(got.len > 0 ? got.data : "", expected);
}

#define ALL "12 13 21 23 31 32"

Test(ssh, all_nodes_let_in_the_candidates)
{
	expect_logins(ALL);
	expect(set_node(NODE3, "master_candidate", false), "success");
	expect_logins("12 13 21 23");
	expect(set_node(NODE3, "master_candidate", true), "success");
	expect_logins(ALL);
}

Test(ssh, who_is_offline_is_shut_out_and_not_asked)
{
	s.nodes[2].down = true;
	expect(set_node(NODE3, "offline", true), "success");
	expect_logins("12 13 21 23");
	s.nodes[2].down = false;
}

Test(ssh, who_is_removed_is_shut_out)
{
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE", "node_name",
			 NODE3),
	       "success");
	cr_expect_not(sim_ssh_lets_in(&s.nodes[0], &s.nodes[2]));
	cr_expect_not(sim_ssh_lets_in(&s.nodes[1], &s.nodes[2]));
	cr_expect(sim_ssh_lets_in(&s.nodes[0], &s.nodes[1]));
}

Test(ssh, nothing_happens_where_it_is_not_ours)
{
	json_t *cluster = config_edit(config_cluster(s.master->config));

	json_set_bool(cluster, "modify_ssh_setup", false);
	config_put_cluster(s.master->config, cluster);
	expect(set_node(NODE3, "master_candidate", false), "success");
	expect(renew(), "success");
	expect_logins(ALL);
}

/* The role is recorded, the node is named; the next time puts it right. */
Test(ssh, what_a_node_missed_comes_with_the_next_round)
{
	s.nodes[1].fail_on = "give";
	expect(set_node(NODE3, "master_candidate", false), "success");
	expect_logins("12 13 21 23 32");
	s.nodes[1].fail_on = NULL;
	expect(redist(), "success");
	expect_logins("12 13 21 23");
}

Test(ssh, a_node_that_was_away_gets_them_when_it_is_back)
{
	s.nodes[1].down = true;
	expect(set_node(NODE3, "master_candidate", false), "success");
	sim_run(&s, 60000, NULL, NULL);
	expect_logins("12 13 21 23 32");
	s.nodes[1].down = false;
	sim_run(&s, 60000, NULL, NULL);
	expect_logins("12 13 21 23");
}

Test(ssh, a_master_that_begins_puts_things_right)
{
	s.nodes[1].fail_on = "give";
	expect(set_node(NODE3, "master_candidate", false), "success");
	s.nodes[1].fail_on = NULL;
	sim_run(&s, 60000, NULL, NULL);
	sim_crash(&s, 1);
	sim_restart(&s);
	sim_run(&s, 60000, NULL, NULL);
	expect_logins("12 13 21 23");
}

/* It does not answer, and the list that has its key is lost. */
Test(ssh, who_is_not_known_is_not_shut_out)
{
	struct sim_node *n = &s.nodes[0];
	struct error err;

	cr_assert_eq(n->disk.disk.remove(&n->disk.disk,
					 path(n->paths, PATH_SSH_PUB_KEYS),
					 &err),
		     0);
	s.nodes[1].fail_on = "make";
	expect(redist(), "success");
	expect_logins(ALL);
	s.nodes[1].fail_on = NULL;
}

/* --- new keys --- */

/* Nobody is ever locked out. */
static void watch_logins(struct sim *sim)
{
	for (size_t from = 0; from < N_NODES; from++)
		for (size_t to = 0; to < N_NODES; to++)
			if (!sim_ssh_lets_in(&sim->nodes[to],
					     &sim->nodes[from]))
				sim_violation(sim, "%zu cannot log in at %zu",
					      from + 1, to + 1);
}

static void expect_new_keys(const unsigned *before)
{
	for (size_t i = 0; i < N_NODES; i++) {
		struct sim_node old = {.ssh_key = before[i]};

		cr_expect_neq(s.nodes[i].ssh_key, before[i]);
		cr_expect_eq(s.nodes[i].ssh_next, 0);
		for (size_t to = 0; to < N_NODES; to++)
			cr_expect_not(sim_ssh_lets_in(&s.nodes[to], &old));
	}
	expect_logins(ALL);
}

static void note_keys(unsigned *ret)
{
	for (size_t i = 0; i < N_NODES; i++)
		ret[i] = s.nodes[i].ssh_key;
}

Test(ssh, an_old_key_is_good_until_all_have_new_ones)
{
	unsigned before[N_NODES];

	note_keys(before);
	s.watch = watch_logins;
	s.nodes[1].fail_on = "switch";
	expect(renew(), "not complete");
	cr_expect_eq(s.nodes[1].ssh_key, before[1]);
	cr_expect_neq(s.nodes[2].ssh_key, before[2]);
	s.nodes[1].fail_on = NULL;
	expect(renew(), "success");
	cr_expect_eq(s.violations.n, 0, "%s", s.violations.items[0]);
	expect_new_keys(before);
}

Test(ssh, before_the_switch_all_is_taken_back)
{
	static const char *const steps[] = {"stage", "give"};
	unsigned before[N_NODES], after[N_NODES];

	note_keys(before);
	s.watch = watch_logins;
	for (size_t i = 0; i < 2; i++) {
		s.nodes[1].fail_on = steps[i];
		expect(renew(), "as they were");
		s.nodes[1].fail_on = NULL;
		note_keys(after);
		cr_expect_arr_eq(before, after, sizeof(before));
		for (size_t k = 0; k < N_NODES; k++)
			cr_expect_eq(s.nodes[k].ssh_next, 0, "%s", steps[i]);
	}
	cr_expect_eq(s.violations.n, 0, "%s", s.violations.items[0]);
}

Test(ssh, a_size_that_there_is_not_is_refused)
{
	expect(json_make("{s:s, s:b, s:s, s:i}", "OP_ID",
			 "OP_CLUSTER_RENEW_CRYPTO", "renew_ssh_keys", 1,
			 "ssh_key_type", "ecdsa", "ssh_key_bits", 300),
	       "256, 384 or 521");
}

/* Whenever the master dies: nobody is locked out, the next one goes on, and a
 * renewal completes. */
Test(ssh, a_master_that_dies_locks_nobody_out)
{
	size_t half = 0;

	s.max_delay_ms = 3;
	s.watch = watch_logins;
	for (unsigned ms = 1; ms <= 60; ms++) {
		unsigned before[N_NODES];
		char *error = NULL;

		note_keys(before);
		cr_assert_neq(sim_submit(&s, renew(), &error), 0, "%s", error);
		sim_run(&s, ms, NULL, NULL);
		for (size_t i = 0; i < N_NODES; i++)
			half += s.nodes[i].ssh_next != 0;
		sim_crash(&s, ms);
		sim_restart(&s);
		sim_run(&s, 60000, NULL, NULL);
		cr_assert_eq(s.violations.n, 0, "after %u ms: %s", ms,
			     s.violations.items[0]);
		expect_logins(ALL);
		expect(renew(), "success");
		expect_new_keys(before);
	}
	cr_assert_gt(half, 0, "it never died in the middle");
}
