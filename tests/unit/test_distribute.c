/* SPDX-License-Identifier: BSD-2-Clause */
/* Who gets which files when, and that a dead node costs nobody but itself. */
#include "lib/model/config/ssconf.h"
#include "tests/lib/peers.h"

TestSuite(distribute, .init = peers_setup, .fini = peers_teardown,
	  .timeout = 60);

Test(distribute, candidates_get_the_configuration_and_all_get_ssconf)
{
	auto_free char *ssconf = paths_ssconf(peers.root.paths, "cluster_name");

	peers_set(NODE3, "master_candidate", false);
	peers_change();
	cr_assert(peers_traced("node2 upload_file_single"));
	cr_assert(peers_traced("node2 write_ssconf_files"));
	cr_assert(peers_traced("node3 write_ssconf_files"));
	cr_assert_not(peers_traced("node1"), "the master has it itself");
	cr_assert(fs_exists(ssconf));
	peers_forget();
	peers_change();
	cr_assert(peers_traced("node2 upload_file_single"));
	cr_assert_not(peers_traced("node3"), "it was a candidate before");
	cr_assert_not(peers_traced("write_ssconf_files"), "it did not change");
}

Test(distribute, offline_nodes_get_nothing)
{
	peers_set(NODE3, "master_candidate", false);
	peers_set(NODE3, "offline", true);
	peers_change();
	peers_forget();
	peers_change();
	cr_assert_not(peers_traced("node3"));
}

static void expect_failing(const char *candidates, bool many)
{
	auto_strv struct strv names = {0}, others = {0};
	auto_free char *text = NULL;

	cr_assert_eq(
		distribute_failing(peers.master->distribute, &names, &others),
		many);
	text = strv_join(&names, " ");
	cr_assert_str_eq(text, candidates);
}

static void expect_ganetis(const char *names)
{
	auto_strv struct strv found = {0};
	auto_free char *text = NULL;

	distribute_ganetis(peers.master->distribute, &found);
	text = strv_join(&found, " ");
	cr_assert_str_eq(text, names);
}

/* All other candidates, so they would be more than half. */
Test(distribute, ganetis_node_daemon_has_the_configuration_and_no_say)
{
	struct error err;

	peers.manner[2] = peers.manner[3] = GANETIS;
	peers_change();
	cr_assert(peers_traced("node2 upload_file_single"));
	cr_assert(peers_traced("node3 write_ssconf_files"));
	expect_ganetis("node2.example.com node3.example.com");
	expect_failing("", false);
	cr_assert_eq(distribute_safe(peers.master->distribute, &err), 0);
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(peers_traced("node2"), "its log need not be full of it");
	peers.manner[2] = WELL;
	peers_pass_ms(60000);
	cr_assert(peers_traced("node2 jobqueue_update_many"));
	expect_ganetis("node3.example.com");
}

static void tag_cluster(const char *tag)
{
	json_t *cluster = config_edit(config_cluster(peers.master->config));

	json_object_set_new(cluster, "tags", json_make("[s]", tag));
	config_put_cluster(peers.master->config, cluster);
	peers_change();
}

/* What makes changes safe is the configuration. */
Test(distribute, who_declines_ssconf_files_is_not_lost)
{
	struct error err;

	peers.manner[2] = peers.manner[3] = PICKY;
	tag_cluster("one");
	cr_assert(peers_traced("node2 says no"));
	expect_failing("", false);
	cr_assert_eq(distribute_safe(peers.master->distribute, &err), 0);
	peers_forget();
	peers_change();
	cr_assert(peers_traced("node2 upload_file_single"), "at once");
	peers.manner[2] = WELL;
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 write_ssconf_files"));
	cr_assert_not(peers_traced("node2 upload_file_single"), "it has that");
}

Test(distribute, candidates_that_say_no_are_quoted)
{
	struct error err;

	peers.manner[2] = peers.manner[3] = FULL;
	peers.master->role.no_voting = true;
	tag_cluster("one");
	peers.master->role.no_voting = false;
	cr_assert_eq(distribute_safe(peers.master->distribute, &err), -1);
	cr_assert_not_null(strstr(err.text, "node2.example.com: "), "%s",
			   err.text);
	cr_assert_not_null(strstr(err.text, "disk full"), "%s", err.text);
	cr_assert_null(strstr(err.text, "do not answer"), "%s", err.text);
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
	expect_failing("", false);
}

Test(distribute, a_dead_node_is_asked_once_and_then_in_the_background)
{
	peers.manner[2] = SILENT;
	peers_change();
	cr_assert(peers_traced("node2 fails"));
	peers_forget();
	peers_change();
	cr_assert_not(peers_traced("node2"));
	cr_assert(peers_traced("node3 upload_file_single"));
	expect_failing("node2.example.com", false);
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 fails"), "asked again");
	expect_failing("node2.example.com", false);
}

Test(distribute, who_comes_back_gets_everything)
{
	peers.manner[2] = SILENT;
	peers_change();
	peers.manner[2] = WELL;
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 upload_file_single"));
	cr_assert(peers_traced("node2 write_ssconf_files"));
	cr_assert(peers_traced("node2 jobqueue_list"));
	expect_failing("", false);
	peers_forget();
	peers_change();
	cr_assert(peers_traced("node2 upload_file_single"));
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

/* --- when a change is safe --- */

Test(distribute, a_change_waits_for_a_quorum)
{
	struct commit c;

	peers.manner[2] = peers.manner[3] = SILENT;
	peers_begin_change(&c);
	cr_assert_not(c.done, "both others may have another master");
	expect_failing("node2.example.com node3.example.com", true);
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(c.done);
	peers.manner[3] = WELL;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(c.done);
	cr_assert_eq(c.rc, 0);
}

Test(distribute, a_slow_candidate_is_not_waited_for)
{
	struct commit c;

	peers_change(); /* the ssconf files are there */
	peers.manner[2] = HANGING;
	peers_begin_change(&c);
	cr_assert(peers_traced("node3 upload_file_single"));
	/* Of the configuration it is, as long as it is not known to fail;
	 * jobs do not wait. */
	peers.manner[2] = SILENT;
	peers_release();
	peers_settle();
	cr_assert(c.done);
}

Test(distribute, hosts_that_refuse_connections_have_no_other_master)
{
	static struct commit c; /* the teardown ends the last one */

	peers.manner[2] = peers.manner[3] = REFUSING;
	peers_begin_change(&c);
	cr_assert(c.done);
	expect_failing("node2.example.com node3.example.com", true);
	peers.manner[2] = SILENT;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	peers_begin_change(&c);
	cr_assert_not(c.done, "node3 may be started, and go with node2");
}

Test(distribute, an_old_refusal_says_nothing)
{
	struct commit c;

	peers.manner[2] = peers.manner[3] = REFUSING;
	peers_begin_change(&c);
	cr_assert(c.done);
	peers.manner[2] = peers.manner[3] =
		SILENT; /* they were started meanwhile */
	peers_begin_change(&c);
	cr_assert_not(c.done);
	peers.manner[2] = REFUSING;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(c.done, "one is silent, and the other one may return");
	peers.manner[3] = REFUSING;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(c.done);
}

/* Its daemon was started, and takes its time. */
Test(distribute, who_is_being_asked_does_not_refuse)
{
	struct commit c;

	peers.manner[2] = peers.manner[3] = REFUSING;
	peers_begin_change(&c);
	cr_assert(c.done);
	peers.manner[3] = HANGING;
	peers_begin_change(&c);
	cr_assert(peers_traced("node2 fails"));
	cr_assert_not(c.done, "it may promise to another master now");
	peers.manner[3] = WELL;
	peers_release();
	peers_settle();
	cr_assert(c.done);
}

Test(distribute, one_of_two_goes_on_alone)
{
	peers_mark(NODE3, "master_candidate", false);
	peers.manner[2] = SILENT;
	peers_change();
	expect_failing("node2.example.com", false);
}

Test(distribute, without_voting_no_quorum_is_needed)
{
	peers.manner[2] = peers.manner[3] = SILENT;
	peers_restart(&(struct master_role){.term = 3, .no_voting = true});
	peers_change();
}

Test(distribute, an_end_does_not_wait_for_a_quorum)
{
	struct commit c;

	peers.manner[2] = peers.manner[3] = SILENT;
	peers_begin_change(&c);
	cr_assert_not(c.done);
	distribute_end(peers.master->distribute);
	peers_settle();
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
	cr_assert_not_null(
		strstr(c.err.text, "node2.example.com, node3.example.com"));
}

Test(distribute, a_newer_term_ends_the_master)
{
	struct commit c;

	peers.manner[2] = NEWER;
	peers.manner[3] = HANGING;
	peers_begin_change(&c);
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
	cr_assert_eq(peers.end_status, MASTER_EXIT_FENCED);
	cr_assert_not_null(strstr(peers.ended.text, "Another master"));
	peers.manner[3] = WELL;
	peers_release();
	peers_begin_change(&c);
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
}

Test(distribute, the_term_of_the_configuration_is_noted)
{
	auto_free char *text = NULL;
	auto_free char *expected = NULL;
	struct error err;

	peers_restart(&(struct master_role){.term = 5});
	expected = xprintf("5 %jd\n",
			   (intmax_t)config_serial(peers.master->config) + 1);
	peers_change();
	peers_change();
	text = fs_read(path(peers.root.paths, PATH_CONFIG_TERM), 100, NULL,
		       &err);
	cr_assert_not_null(text, "%s", err.text);
	cr_assert_str_eq(text, expected, "the first one of the term");
}
