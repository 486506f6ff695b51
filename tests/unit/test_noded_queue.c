/* SPDX-License-Identifier: BSD-2-Clause */
/* Job files that come in batches. */
#include "tests/lib/node.h"

static struct test_node node;

static void setup(void)
{
	mem_init();
	test_loop_start();
	test_node_create(&node);
}

static void teardown(void)
{
	test_node_loop_stop(&node);
	test_node_destroy(&node);
}

TestSuite(noded_queue, .init = setup, .fini = teardown, .timeout = 60);

static bool ask(const char *path, json_t *args STEALS)
{
	auto_json json_t *owned = args;
	auto_free char *body = json_text(args);
	auto_json json_t *answer =
		test_node_request(&node, "POST", path, body, NULL);

	return json_is_true(json_array_get(answer, 0));
}

static bool update(const char *file, json_t *content STEALS)
{
	return ask("/jobqueue_update", json_make("[s, o]", file, content));
}

static json_t *text_of(const char *text)
{
	return json_make("[i, s]", 0, text);
}

#define QUEUE "/var/lib/ganeti/queue/"

static void assert_file(const char *name, const char *text)
{
	auto_free char *found = NULL;

	test_node_finish_queue(&node);
	found = test_node_read(&node, name);
	if (text == NULL)
		cr_assert_null(found, "%s is there", name);
	else
		cr_assert_str_eq(found, text);
}

Test(noded_queue, files_are_written_and_moved)
{
	test_node_write(&node, QUEUE "job-1", "old", 0640);
	test_node_write(&node, QUEUE "job-2", "done", 0640);
	cr_assert(update(QUEUE "job-1", text_of("new")));
	cr_assert(ask("/jobqueue_rename", json_make("[[[s, s]]]", QUEUE "job-2",
						    QUEUE "archive/0/job-2")));
	assert_file(QUEUE "job-1", "new");
	assert_file(QUEUE "job-2", NULL);
	assert_file(QUEUE "archive/0/job-2", "done");
}

Test(noded_queue, the_drain_flag_is_a_file)
{
	cr_assert(ask("/jobqueue_set_drain_flag", json_make("[b]", true)));
	assert_file(QUEUE "drain", "");
	cr_assert(ask("/jobqueue_set_drain_flag", json_make("[b]", false)));
	assert_file(QUEUE "drain", NULL);
}

Test(noded_queue, many_files_are_written)
{
	for (int i = 1; i <= 200; i++) {
		auto_free char *name = xprintf(QUEUE "job-%d", i);

		cr_assert(update(name, text_of("{\"id\":1}")));
	}
	assert_file(QUEUE "job-1", "{\"id\":1}");
	assert_file(QUEUE "job-200", "{\"id\":1}");
}

Test(noded_queue, a_foreign_file_is_refused)
{
	cr_assert_not(update(QUEUE "../x", text_of("evil")));
	assert_file("/var/lib/ganeti/x", NULL);
	cr_assert_not(update(QUEUE "job-1", json_integer(3)));
	assert_file(QUEUE "job-1", NULL);
}

/* A write that a crash cut off leaves job-3.new. */
Test(noded_queue, the_archive_has_as_many_jobs_as_are_whole)
{
	auto_json json_t *answer = NULL;

	test_node_write(&node, QUEUE "archive/0/job-1", "{}", 0640);
	test_node_write(&node, QUEUE "archive/0/job-2", "{}", 0640);
	test_node_write(&node, QUEUE "archive/0/job-3.new", "", 0640);
	answer = test_node_request(&node, "POST", "/jobqueue_list",
				   "[\"\", false]", NULL);
	cr_assert(json_is_true(json_array_get(answer, 0)));
	cr_expect_eq(json_integer_value(
			     json_get(json_array_get(answer, 1), "archive/0")),
		     2);
}

/* --- terms --- */

static int status_of(const char *path, const char *term)
{
	struct test_request r = {.node = &node,
				 .method = "POST",
				 .path = path,
				 .term = term,
				 .body = "[]"};

	task_spawn("request", test_request_task, &r);
	test_run_tasks();
	free(r.answer);
	return r.status;
}

Test(noded_queue, a_call_of_a_term_that_is_over_is_refused_with_412)
{
	cr_assert_eq(status_of("/version", "5"), 200);
	cr_assert_eq(status_of("/version", "4"), 412);
	cr_assert_eq(status_of("/jobqueue_purge", "4"), 412);
	cr_assert_eq(status_of("/version", NULL), 200);
	cr_assert_eq(status_of("/master_state", "4"), 200);
	cr_assert_eq(status_of("/version", "five"), 400);
	cr_assert_eq(status_of("/version", "-5"), 400);
}

/* A call that was on its way for long: a newer master runs there now. */
Test(noded_queue, a_late_stop_of_a_master_is_refused)
{
	cr_assert_eq(status_of("/node_stop_master", "5"), 200);
	cr_assert_eq(status_of("/version", "6"), 200);
	cr_assert_eq(status_of("/node_stop_master", "5"), 412);
}

#define CONFIG "/var/lib/ganeti/config.data"

/* It was sent before the node became a candidate again. */
Test(noded_queue, a_late_demotion_takes_no_newer_copy)
{
	struct test_request r = {
		.node = &node,
		.method = "POST",
		.path = "/upload_file_single",
		.term = "6 12",
		.body = "[\"" CONFIG "\", [0, \"{\\\"serial_no\\\": 12}\"], "
			"416, null, null, 0, 0]"};
	auto_free char *kept = NULL, *gone = NULL;

	task_spawn("request", test_request_task, &r);
	test_run_tasks();
	free(r.answer);
	status_of("/node_demote_from_mc", "6 11");
	kept = test_node_read(&node, CONFIG);
	cr_expect_not_null(kept);
	status_of("/node_demote_from_mc", "6 13");
	gone = test_node_read(&node, CONFIG);
	cr_expect_null(gone);
}

Test(noded_queue, a_late_purge_takes_no_newer_copy)
{
	struct test_request r = {.node = &node,
				 .method = "POST",
				 .path = "/jobqueue_update",
				 .term = "6 12",
				 .body = "[\"" QUEUE "job-1\", [0, \"a\"]]"};

	task_spawn("request", test_request_task, &r);
	test_run_tasks();
	cr_assert_str_eq(r.answer, "[true,null]");
	free(r.answer);
	status_of("/jobqueue_purge", "6 11");
	assert_file(QUEUE "job-1", "a");
	status_of("/jobqueue_purge", "6 13");
	assert_file(QUEUE "job-1", NULL);
}
