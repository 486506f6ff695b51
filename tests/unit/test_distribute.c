/* SPDX-License-Identifier: BSD-2-Clause */
/* Who gets which files when, and that a dead node costs nobody but itself. */
#include "lib/model/config/ssconf.h"
#include "tests/lib/peers.h"

TestSuite(distribute, .init = peers_setup, .fini = peers_teardown,
	  .timeout = 60);

static void tag_cluster(const char *tag)
{
	json_t *cluster = config_edit(config_cluster(peers.master->config));

	json_object_set_new(cluster, "tags", json_make("[s]", tag));
	config_put_cluster(peers.master->config, cluster);
	peers_change();
}

Test(distribute, all_nodes_get_ssconf)
{
	peers_set(NODE3, "master_candidate", false);
	peers_change();
	cr_assert(peers_traced("node1 write_ssconf_files"));
	cr_assert(peers_traced("node2 write_ssconf_files"));
	cr_assert(peers_traced("node3 write_ssconf_files"));
	peers_forget();
	peers_change();
	cr_assert_not(peers_traced("write_ssconf_files"), "it did not change");
}

Test(distribute, offline_nodes_get_nothing)
{
	peers_set(NODE3, "master_candidate", false);
	peers_set(NODE3, "offline", true);
	peers_change();
	peers_forget();
	tag_cluster("one");
	cr_assert(peers_traced("node2"));
	cr_assert_not(peers_traced("node3"));
}

static void expect_failing(const char *candidates)
{
	auto_strv struct strv names = {0}, others = {0};
	auto_free char *text = NULL;

	distribute_failing(peers.master->distribute, &names, &others);
	text = strv_join(&names, " ");
	cr_assert_str_eq(text, candidates);
}

Test(distribute, ganetis_node_daemon_gets_no_value_that_is_too_long)
{
	auto_free char *tag = xalloc(SSCONF_GANETI_MAX + 1);
	size_t all;

	peers.manner[3] = GANETIS;
	peers_change();
	all = peers.ssconf_values[3];
	memset(tag, 'x', SSCONF_GANETI_MAX);
	tag_cluster(tag);
	cr_assert_eq(peers.ssconf_values[2], 1, "the new one");
	cr_assert_eq(peers.ssconf_values[3], all - 1, "all but that");
	expect_failing("");
}

Test(distribute, a_dead_node_is_asked_once_and_then_in_the_background)
{
	peers.manner[2] = SILENT;
	tag_cluster("one");
	cr_assert(peers_traced("node2 fails"));
	peers_forget();
	tag_cluster("two");
	cr_assert_not(peers_traced("node2"));
	cr_assert(peers_traced("node3 write_ssconf_files"));
	expect_failing("node2.example.com");
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 fails"), "asked again");
	expect_failing("node2.example.com");
}

Test(distribute, who_declines_is_named_and_asked_again)
{
	peers.manner[2] = PICKY;
	tag_cluster("one");
	cr_assert(peers_traced("node2 says no"));
	expect_failing("node2.example.com");
	peers.manner[2] = WELL;
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 write_ssconf_files"));
	expect_failing("");
}

Test(distribute, of_ssconf_only_what_changed_goes_to_those_who_have_the_rest)
{
	peers_change();
	cr_assert_gt(peers.ssconf_values[2], 30);
	cr_assert_gt(peers.ssconf_values[3], 30);
	peers.manner[3] = SILENT;
	tag_cluster("one");
	cr_assert_eq(peers.ssconf_values[2], 1);
	tag_cluster("two");
	cr_assert_eq(peers.ssconf_values[2], 1);
	peers.manner[3] = WELL;
	peers.ssconf_values[3] = 0;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_gt(peers.ssconf_values[3], 30, "nobody knows what it has");
	tag_cluster("three");
	cr_assert_eq(peers.ssconf_values[3], 1);
}

Test(distribute, a_newer_term_ends_the_master)
{
	struct commit c;

	peers.manner[2] = NEWER;
	peers_restart(&(struct master_role){.term = 3});
	peers_begin_change(&c);
	cr_assert(c.done);
	cr_assert_eq(peers.end_status, MASTER_EXIT_FENCED);
	cr_assert_not_null(strstr(peers.ended.text, "Another master"));
}
