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
	test_node_loop_stop();
	test_node_destroy(&node);
}

TestSuite(noded_queue, .init = setup, .fini = teardown, .timeout = 60);

static bool update_many(json_t *files STEALS)
{
	auto_json json_t *args = json_make("[o]", files);
	auto_free char *body = json_text(args);
	auto_json json_t *answer = test_node_request(
		&node, "POST", "/jobqueue_update_many", body, NULL);

	return json_is_true(json_array_get(answer, 0));
}

#define QUEUE "/var/lib/ganeti/queue/"

static void assert_file(const char *name, const char *text)
{
	auto_free char *found = test_node_read(&node, name);

	if (text == NULL)
		cr_assert_null(found, "%s is there", name);
	else
		cr_assert_str_eq(found, text);
}

Test(noded_queue, a_batch_writes_and_removes)
{
	test_node_write(&node, QUEUE "job-1", "old", 0640);
	test_node_write(&node, QUEUE "job-2", "done", 0640);
	cr_assert(update_many(json_make("[[s,[i,s]], [s,n], [s,[i,s]], [s,n]]",
					QUEUE "job-1", 0, "new", QUEUE "job-2",
					QUEUE "archive/0/job-2", 0, "done",
					QUEUE "job-99")));
	assert_file(QUEUE "job-1", "new");
	assert_file(QUEUE "job-2", NULL);
	assert_file(QUEUE "archive/0/job-2", "done");
}

Test(noded_queue, the_drain_flag_is_a_file)
{
	cr_assert(update_many(json_make("[[s,[i,s]]]", QUEUE "drain", 0, "")));
	assert_file(QUEUE "drain", "");
	cr_assert(update_many(json_make("[[s,n]]", QUEUE "drain")));
	assert_file(QUEUE "drain", NULL);
}

Test(noded_queue, a_big_batch_is_written_whole)
{
	json_t *files = json_array();

	for (int i = 0; i < 200; i++) {
		auto_free char *name = xprintf(QUEUE "job-%d", i);

		json_array_append_new(
			files, json_make("[s,[i,s]]", name, 0, "{\"id\":1}"));
	}
	cr_assert(update_many(files));
	assert_file(QUEUE "job-0", "{\"id\":1}");
	assert_file(QUEUE "job-199", "{\"id\":1}");
}

Test(noded_queue, a_batch_with_a_foreign_file_does_nothing)
{
	cr_assert_not(
		update_many(json_make("[[s,[i,s]], [s,[i,s]]]", QUEUE "job-1",
				      0, "new", QUEUE "../x", 0, "evil")));
	assert_file(QUEUE "job-1", NULL);
	cr_assert_not(update_many(json_make("[s]", "job-1")));
	cr_assert_not(update_many(json_make("[[s,i]]", QUEUE "job-1", 3)));
}
