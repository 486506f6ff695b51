/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster renew-crypto, in a simulated cluster: what each step leaves when
 * a node or the master fails in it. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config.h"
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
		(json_t *)json_get(config_cluster(s.master->config),
				   "candidate_certs"),
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
