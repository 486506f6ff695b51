/* SPDX-License-Identifier: BSD-2-Clause */
/* What the other candidates are given, and how it is numbered. */
#include "tests/lib/queue_world.h"

static struct buf replicated;
static char *position; /* as last replicated */

static bool cut_off; /* nobody takes anything */

static int on_replicate(void *arg, const char *const *names,
			const char *const *contents, size_t n,
			struct error *err)
{
	(void)arg;
	if (cut_off)
		return error_set(err, ERR_RPC, NULL, "nobody answers");
	for (size_t i = 0; i < n; i++)
		buf_addf(&replicated, "%s%s ", contents[i] ? "" : "-",
			 names[i]);
	cr_assert_str_eq(names[n - 1], "position", "it goes last");
	free(position);
	position = xstrdup(contents[n - 1]);
	task_yield();
	return 0;
}

/* A new queue is begun with the files "version" and "serial": that is 1. */
static int open_term(uint64_t term, struct error *err)
{
	struct queue_config config = {
		.disk = &world.disk.disk,
		.dir = "/q",
		.hooks = {.check_op = world_check,
			  .run_op = world_run,
			  .fatal = world_fatal,
			  .replicate = on_replicate},
		.max_running = 1,
		.journal_size = world.journal_size,
		.term = term,
	};

	task_set_owner(&world);
	world.queue = queue_open(&config, err);
	task_set_owner(NULL);
	if (world.queue == NULL)
		return -1;
	world_start();
	return 0;
}

static void setup(void)
{
	struct error err;

	world_setup();
	cr_assert_eq(open_term(7, &err), 0, "%s", err.text);
}

static void teardown(void)
{
	world.open_gate = true;
	world_teardown();
	buf_done(&replicated);
	free(position);
}

TestSuite(queue_replicate, .init = setup, .fini = teardown, .timeout = 60);

Test(queue_replicate, candidates_get_each_change_before_it_shows)
{
	uint64_t id = world_submit("log");

	cr_assert_str_eq(replicated.data, "serial job-1 position ");
	world_settle();
	cr_assert(world_archive(id));
	/* Not the log entries. */
	cr_assert_str_eq(replicated.data,
			 "serial job-1 position job-1 position job-1 position "
			 "job-1 archive-head archive/0/job-1 -job-1 position ");
	cr_assert_str_eq(position, "7 5\n");
}

Test(queue_replicate, the_position_lies_beside_what_it_describes)
{
	world_submit("ok");
	world_settle();
	cr_assert_str_eq(position, "7 4\n");
	world_stop();
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/position"), "7 4\n");
}

Test(queue_replicate, numbers_go_on_after_a_crash)
{
	struct error err;

	world_submit("ok");
	world_settle();
	cr_assert_str_eq(position, "7 4\n");
	world_crash(1);
	cr_assert_eq(open_term(7, &err), 0, "%s", err.text);
	world_submit("hold");
	cr_assert_str_eq(position, "7 5\n");
}

/* Another master may have seen more of it: the end counts when it is safe. */
Test(queue_replicate, what_a_start_ends_is_seen_when_others_have_it)
{
	struct error err;

	world_submit("hold");
	world_settle();
	cr_assert_str_eq(position, "7 3\n");
	world_crash(1);
	buf_done(&replicated);
	cr_assert_eq(open_term(7, &err), 0, "%s", err.text);
	world_expect_status(1, "running");
	cr_assert_not(queue_lives(world.queue, 1));
	world_settle();
	world_expect_status(1, "error");
	cr_assert_str_eq(replicated.data, "job-1 position ");
	cr_assert_str_eq(position, "7 4\n");
}

Test(queue_replicate, a_new_term_counts_anew)
{
	struct error err;

	world_submit("ok");
	world_stop();
	cr_assert_eq(open_term(9, &err), 0, "%s", err.text);
	world_submit("hold");
	cr_assert_str_eq(position, "9 1\n");
}

Test(queue_replicate, a_queue_of_a_newer_term_is_refused)
{
	struct error err;

	world_submit("ok");
	world_stop();
	cr_assert_eq(open_term(6, &err), -1);
	cr_assert_not_null(strstr(err.text, "term 7"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "ours, 6"), "%s", err.text);
}

Test(queue_replicate, a_damaged_position_is_the_oldest)
{
	struct error err;

	world_stop();
	fake_disk_put(&world.disk, "/q/position", "what?");
	cr_assert_eq(open_term(8, &err), 0, "%s", err.text);
	world_submit("ok");
	cr_assert_str_eq(position, "8 1\n");
}

/* Larger than the journal: it goes into its file at once. */
Test(queue_replicate, large_jobs_are_numbered)
{
	auto_free char *large = xalloc(400000);
	json_t *op = world_op("hold", 0, NULL);

	memset(large, 'x', 399999);
	json_object_set_new(op, "value", json_string(large));
	world_submit_ops(json_make("[o]", op));
	/* The serial, then the job: neither fits with the other. */
	cr_assert_str_eq(replicated.data, "serial position job-1 position ");
	cr_assert_str_eq(position, "7 3\n");
	world_crash(3);
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/position"), "7 3\n");
}

static void submit_in_vain(void *arg)
{
	struct error *ret_err = arg;
	auto_json json_t *ops = json_make("[o]", world_op("ok", 0, NULL));
	uint64_t id;

	cr_assert_eq(queue_submit(world.queue, ops, false, &id, ret_err), -1);
}

Test(queue_replicate, what_did_not_get_safe_is_not_acknowledged)
{
	struct error err;

	world_submit("hold");
	world_settle();
	cut_off = true;
	world_do(submit_in_vain, &err);
	cr_assert_str_eq(err.text, "nobody answers");
	cr_assert_null(queue_job(world.queue, 2));
	world_do(submit_in_vain, &err);
	cr_assert_not_null(strstr(err.text, "nobody answers"));
	cr_assert_not(world.fatal, "whoever said so knows");
	world.open_gate = true;
	world_settle();
	world_stop(); /* it does not hang */
	cr_assert_null(fake_disk_text(&world.disk, "/q/job-2"));
}

Test(queue_replicate, what_could_not_be_written_is_sent_to_nobody)
{
	struct error err;

	world_submit("hold");
	world_settle();
	buf_done(&replicated);
	world.disk.fail_log = true;
	world_do(submit_in_vain, &err);
	cr_assert_eq(replicated.len, 0);
	world.disk.fail_log = false;
	world_submit("ok");
	cr_assert_str_eq(position, "7 4\n", "its number is taken again");
}

Test(queue_replicate, a_sync_that_fails_is_the_end_whoever_has_it)
{
	struct error err;

	world_submit("hold");
	world_settle();
	buf_done(&replicated);
	world.disk.fail_syncs = true;
	world_do(submit_in_vain, &err);
	cr_assert_str_eq(replicated.data, "serial job-2 position ");
	cr_assert(world.fatal);
	cr_assert_null(queue_job(world.queue, 2));
	world.open_gate = true;
}
