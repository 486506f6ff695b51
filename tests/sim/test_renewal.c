/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster renew-crypto, in a simulated cluster: what each step leaves when
 * a node or the master fails in it. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "masterd/config/config.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define N_NODES 3

static void setup_certificates(void)
{
	setup();
	for (size_t i = 0; i < N_NODES; i++) {
		s.nodes[i].server = 1;
		s.nodes[i].client = 10 + (unsigned)i;
	}
}

TestSuite(renewal, .init = setup_certificates, .fini = teardown, .timeout = 60);

static json_t *renew(bool cluster)
{
	return json_make("{s:s, s:b, s:b}", "OP_ID", "OP_CLUSTER_RENEW_CRYPTO",
			 "cluster_certificate", (int)cluster,
			 "node_certificates", 1);
}

static size_t n_let_in(void)
{
	return json_object_size(
		json_get(config_cluster(s.master->config), "candidate_certs"));
}

static bool is_let_in(unsigned client)
{
	auto_free char *text = xprintf("%u", client);
	const char *uuid;
	json_t *digest;

	json_object_foreach (
		json_unconst(json_get(config_cluster(s.master->config),
				      "candidate_certs")),
		uuid, digest)
		if (strcmp(json_string_value(digest), text) == 0)
			return true;
	return false;
}

/* All nodes have one certificate of the cluster and nothing else, and their
 * own are let in. */
static void expect_whole(void)
{
	for (size_t i = 0; i < N_NODES; i++) {
		const struct sim_node *n = &s.nodes[i];

		cr_expect_eq(n->server, s.nodes[0].server, "%s", n->name);
		cr_expect_eq(n->new_server + n->new_client, 0, "%s", n->name);
		cr_expect_not(n->trusts_both, "%s", n->name);
		cr_expect(is_let_in(n->client), "%s", n->name);
	}
	cr_expect_eq(n_let_in(), N_NODES);
}

Test(renewal, all_nodes_have_new_ones)
{
	expect(renew(true), "success");
	expect_whole();
	cr_assert_neq(s.nodes[0].server, 1);
	cr_assert_neq(s.nodes[2].client, 12);
}

Test(renewal, the_clusters_own_stays_when_only_the_nodes_are_asked_for)
{
	expect(renew(false), "success");
	expect_whole();
	cr_assert_eq(s.nodes[0].server, 1);
	cr_assert_neq(s.nodes[1].client, 11);
}

Test(renewal, before_the_switch_all_is_taken_back)
{
	s.nodes[1].fail_on = "stage";
	expect(renew(true), "as they were");
	expect_whole();
	cr_assert_eq(s.nodes[0].server, 1);
	cr_assert_eq(s.nodes[2].client, 12);
}

/* It would shut the master out after the switch. */
Test(renewal, who_refuses_the_new_digests_ends_it)
{
	s.nodes[1].disk.full = true;
	expect(renew(true), "as they were");
	cr_assert_eq(s.nodes[0].server, 1);
	cr_assert_eq(s.nodes[2].client, 12);
	s.nodes[1].disk.full = false;
	sim_run(&s, 60000, NULL, NULL);
	expect(renew(true), "success");
	expect_whole();
}

Test(renewal, what_a_node_missed_is_completed)
{
	unsigned target;

	s.nodes[2].fail_on = "switch";
	expect(renew(true), "not complete");
	target = s.nodes[0].server;
	cr_assert_neq(target, 1);
	cr_assert_eq(s.nodes[2].server, 1);
	for (size_t i = 0; i < N_NODES; i++) { /* nobody is shut out */
		cr_expect(s.nodes[i].trusts_both);
		cr_expect(is_let_in(s.nodes[i].client));
	}
	s.nodes[2].fail_on = NULL;
	expect(renew(true), "success");
	expect_whole();
	cr_assert_eq(s.nodes[2].server, target);
}

Test(renewal, one_that_is_given_up_does_not_hold_the_others)
{
	s.nodes[2].fail_on = "switch";
	expect(renew(true), "not complete");
	s.nodes[2].down = true;
	expect(renew(true), "does not answer");
	expect(json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", NODE3, "offline", 1),
	       "success");
	expect(renew(true), "success");
	cr_assert_not(s.nodes[0].trusts_both);
	cr_assert_eq(n_let_in(), 2);
	s.nodes[2].down = false;
}

Test(renewal, a_node_without_the_new_one_is_told_apart)
{
	s.nodes[2].fail_on = "switch";
	expect(renew(true), "not complete");
	s.nodes[2].fail_on = NULL;
	s.nodes[2].new_server = 0; /* somebody removed it */
	expect(renew(true), "knows nothing of");
	cr_assert(s.nodes[0].trusts_both);
}

Test(renewal, one_that_does_not_forget_is_asked_again)
{
	s.nodes[1].fail_on = "finish";
	expect(renew(true), "still good");
	cr_assert(s.nodes[1].trusts_both);
	s.nodes[1].fail_on = NULL;
	expect(renew(true), "success");
	expect_whole();
}

/* --- another master in the middle --- */

static bool has_called(struct sim *sim, void *arg)
{
	return sim->calls->n >= *(size_t *)arg;
}

/* Begin, and let the master die when it has sent so many calls; what is on its
 * way arrives.  false when it has done before. */
static bool die_at_call(size_t n, bool power)
{
	auto_strv struct strv calls = {0};
	struct sim_submission sub;
	bool died;

	expect(renew(true), "success"); /* the list is as the nodes are */
	sim_submission_begin(&sub, &s.nodes[0], renew(true));
	s.calls = &calls;
	died = sim_run(&s, 60000, has_called, &n);
	s.calls = NULL;
	if (died && power)
		sim_power_cut(&s.nodes[0], n);
	else if (died)
		sim_kill(&s.nodes[0].masterd);
	sim_run(&s, 60000, NULL, NULL);
	json_decref(sub.ops);
	return died;
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

/* What a node asks of a master's certificate: it is signed by one that the node
 * trusts, and stands in the list. */
static void expect_let_in(const struct sim_node *master, struct sim_node *by,
			  size_t call)
{
	auto_free char *text = ssconf_read_on(&by->disk.disk, by->paths,
					      "master_candidates_certs");
	auto_free char *digest = xprintf("=%u", master->client);

	cr_assert_not_null(text);
	cr_expect_not_null(strstr(text, digest), "%s at %s, call %zu",
			   master->name, by->name, call);
	cr_expect(by->server == master->server || by->trusts_both,
		  "%s at %s, call %zu", master->name, by->name, call);
}

static bool dies_and_is_followed(size_t call, bool power)
{
	if (!die_at_call(call, power))
		return false;
	for (size_t i = 1; i < N_NODES; i++) /* whoever follows, it works */
		for (size_t k = 1; k < N_NODES; k++)
			expect_let_in(&s.nodes[i], &s.nodes[k], call);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 300000, serves, &s.nodes[1]), "call %zu", call);
	if (power)
		sim_start_daemon(&s.nodes[0]);
	sim_run(&s, 60000, NULL, NULL);
	expect(renew(true), "success");
	expect_whole();
	return true;
}

static void die_at_each_call(bool power)
{
	size_t n = 1;

	while (dies_and_is_followed(n, power)) {
		teardown();
		setup_certificates();
		n++;
	}
	cr_assert_gt(n, 20, "it had more than %zu calls", n);
}

Test(renewal, another_master_completes_what_a_killed_one_began)
{
	die_at_each_call(false);
}

Test(renewal, another_master_completes_what_a_power_cut_ended)
{
	die_at_each_call(true);
}
