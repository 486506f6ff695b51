/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/queue_world.h"

#include "lib/base/array.h"

TestSuite(queue, .init = world_begin, .fini = world_teardown, .timeout = 60);

/* --- the life of a job --- */

Test(queue, a_job_runs_and_keeps_its_result)
{
	uint64_t id = world_submit("ok");

	world_settle();
	world_expect_status(id, "success");
	world_expect_field(id, "opresult", "[42]");
	world_expect_field(id, "summary", "[\"TEST(ok)\"]");
	world_expect_field(id, "opexec", "[[1000,0]]");
	world_expect_field(
		id, "ops",
		"[{\"OP_ID\":\"OP_TEST_DUMMY\",\"act\":\"ok\",\"value\":42,"
		"\"priority\":0,\"reason\":[[\"gnt:opcode:test_dummy\","
		"\"job=1;index=0\",1000000000000]]}]");
}

Test(queue, opcodes_after_a_failed_one_do_not_run)
{
	uint64_t id = world_submit_ops(
		json_make("[o, o, o]", world_op("ok", 0, NULL),
			  world_op("fail", 0, NULL), world_op("ok", 0, NULL)));

	world_settle();
	world_expect_field(id, "opstatus", "[\"success\",\"error\",\"error\"]");
	world_expect_field(id, "opresult",
			   "[42,[\"OpExecError\",[\"it failed\"]],"
			   "[\"OpExecError\",[\"Preceding opcode failed\"]]]");
	world_expect_trace("1.0 1.1 ");
}

Test(queue, prerequisites_fail_with_their_kind_and_no_exec_time)
{
	uint64_t id = world_submit("prereq");

	world_settle();
	world_expect_field(id, "opresult",
			   "[[\"OpPrereqError\",[\"not now\",\"wrong_state\"]"
			   "]]");
	world_expect_field(id, "opexec", "[null]");
}

Test(queue, bad_jobs_are_refused)
{
	auto_json json_t *bad = world_one("bad", NULL), *empty = json_array();
	struct world_submit s = {.ops = bad};

	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_str_eq(s.err.text, "bad opcode");
	s.ops = empty;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_eq(queue_last_id(world.queue), 0);
}

Test(queue, urgent_jobs_start_first_then_older_ones)
{
	uint64_t first = world_submit("hold"), second = world_submit("hold");

	world_submit("ok");
	world_submit("ok");
	world_submit_ops(json_make("[o]", world_op("ok", -10, NULL)));
	world_settle();
	world_expect_status(first, "running");
	world_expect_status(second, "running");
	world_expect_status(5, "queued");
	world_open_gate();
	world_expect_trace("1.0 2.0 5.0 3.0 4.0 ");
}

Test(queue, log_entries_show_with_serials)
{
	uint64_t id = world_submit("log");

	world_settle();
	world_expect_field(id, "oplog",
			   "[[[1,[1000,0],\"message\",\"line\"],"
			   "[2,[1000,0],\"message\",\"line\"],"
			   "[3,[1000,0],\"message\",\"line\"]]]");
	cr_assert_eq(queue_job(world.queue, id)->log_serial, 3);
}

/* It is parsed beside the loop. */
#define LONG_INPUT ((size_t)512 * 1024)

static uint64_t submit_secret(void)
{
	json_t *op = world_op("secret", 0, NULL);

	json_object_set_new(op, "fill", json_true());
	json_object_set_new(op, "osparams_secret",
			    json_make("{s:s}", "pw", "hunter2"));
	return world_submit_ops(json_make("[o]", op));
}

Test(queue, secrets_are_given_to_the_opcode_and_stored_nowhere)
{
	size_t size;
	char *log;
	uint64_t id = submit_secret();
	auto_free char *text = NULL;
	const char *once;

	log = fake_disk_log(&world.disk, "/q/journal", &size);
	cr_assert_not_null(memmem(log, size, "redacted", 8));
	cr_assert_null(memmem(log, size, "hunter2", 7));
	world_settle();
	world_expect_field(id, "opresult", "[\"hunter2\"]"); /* by the op */
	text = job_to_text(queue_job(world.queue, id));
	cr_assert_not_null(strstr(text, "<redacted>"));
	once = strstr(text, "hunter2"); /* its result */
	cr_assert_not_null(once);
	cr_assert_null(strstr(once + 1, "hunter2"), "%s", text);
	cr_assert_not_null(strstr(text, "\"filled\":\"uuid\""), "%s", text);
}

Test(queue, an_opcode_without_secrets_is_filled_as_well)
{
	json_t *op = world_op("ok", 0, NULL);
	auto_free char *text = NULL, *comment = NULL;
	uint64_t id;

	comment = xalloc(LONG_INPUT + 1);
	memset(comment, 'x', LONG_INPUT);
	json_object_set_new(op, "fill", json_true());
	json_object_set_new(op, "comment", json_string(comment));
	id = world_submit_ops(json_make("[o]", op));
	world_settle();
	world_expect_status(id, "success");
	text = job_to_text(queue_job(world.queue, id));
	cr_assert_not_null(strstr(text, "\"filled\":\"uuid\""));
	cr_assert_not_null(strstr(text, comment));
}

Test(queue, private_parameters_are_kept_and_not_shown)
{
	json_t *op = world_op("private", 0, NULL);
	auto_json json_t *shown = NULL;
	auto_free char *text = NULL, *stored = NULL;
	uint64_t id;

	json_object_set_new(
		op, "osparams_private",
		json_make("{s:s, s:i}", "pw", "hunter2", "n", 4711));
	json_object_set_new(
		op, "osparams_private_cluster",
		json_make("{s:{s:s}}", "debian", "root_pw", "hunter3"));
	id = world_submit_ops(json_make("[o]", op));
	shown = job_field(queue_job(world.queue, id), "ops");
	text = json_text(shown);
	cr_assert_not_null(strstr(text, "\"pw\":\"<redacted>\""), "%s", text);
	cr_assert_null(strstr(text, "hunter"), "%s", text);
	cr_assert_null(strstr(text, "4711"), "%s", text);
	stored = job_to_text(queue_job(world.queue, id));
	cr_assert_not_null(strstr(stored, "hunter2"), "%s", stored);
}

Test(queue, secrets_of_many_instances_are_kept_out_as_well)
{
	json_t *op = world_op("nested", 0, NULL);
	auto_free char *text = NULL, *shown = NULL;
	auto_json json_t *ops = NULL;
	size_t size;
	uint64_t id;
	char *log;

	json_object_set_new(op, "instances",
			    json_make("[{}, {s:{s:s}, s:{s:s}}]",
				      "osparams_secret", "pw", "hunter2",
				      "osparams_private", "key", "hunter3"));
	id = world_submit_ops(json_make("[o]", op));
	log = fake_disk_log(&world.disk, "/q/journal", &size);
	cr_assert_null(memmem(log, size, "hunter2", 7));
	world_settle();
	world_expect_field(id, "opresult", "[\"hunter2\"]"); /* by the op */
	text = job_to_text(queue_job(world.queue, id));
	cr_assert_not_null(strstr(text, "\"pw\":\"<redacted>\""), "%s", text);
	ops = job_field(queue_job(world.queue, id), "ops");
	shown = json_text(ops);
	cr_assert_null(strstr(shown, "hunter3"), "%s", shown);
}

Test(queue, secrets_do_not_survive_a_restart)
{
	uint64_t id;

	queue_set_max_running(world.queue, 0);
	id = submit_secret();
	world_crash(1);
	world_reopen();
	world_expect_status(id, "error");
	world_expect_trace("");
}

Test(queue, a_waiting_opcode_shows_while_the_one_before_is_saved)
{
	uint64_t id = world_submit_ops(json_make(
		"[o, o]", world_op("ok", 0, NULL), world_op("wait", 0, NULL)));

	world_settle();
	world_expect_field(id, "opstatus", "[\"success\",\"waiting\"]");
	world.open_locks = true;
	cond_signal(&world.locks);
	world_settle();
	world_expect_status(id, "success");
}

/* --- many at once --- */

Test(queue, many_jobs_share_one_flush)
{
	json_t *jobs = json_array();
	size_t before = world.disk.n_log_sync;
	auto_json json_t *answer = NULL;

	queue_set_max_running(world.queue, 0);
	for (int i = 0; i < 100; i++)
		json_array_append_new(jobs, world_one("ok", NULL));
	answer = world_submit_many(jobs);
	cr_assert_eq(json_array_size(answer), 100);
	cr_assert_eq(world.disk.n_log_sync, before + 1);
}

Test(queue, one_bad_job_does_not_harm_the_others)
{
	world_expect_many(
		json_make("[o, o, o]", world_one("ok", NULL),
			  world_one("bad", NULL),
			  world_one("ok", "[[-1, []]]")),
		"[[true,1],[false,\"bad opcode\"],[false,\"The relative "
		"dependency -1 names no job that was submitted before in "
		"the same call\"]]");
	world_expect_many(json_array(), "[]");
}

static void submit_too_large(void *arg)
{
	struct error err;

	auto_json json_t *answer = queue_submit_many(world.queue, arg, 0, &err);
	const char *why =
		json_string_value(json_array_get(json_array_get(answer, 0), 1));

	cr_assert_not_null(why);
	cr_expect_not_null(strstr(why, "4 MiB is the limit"));
}

/* The other candidates could not take it. */
Test(queue, a_job_that_is_too_large_is_refused)
{
	size_t len = QUEUE_JOB_BYTES_MAX;
	auto_free char *big = xalloc(len + 1);
	auto_json json_t *jobs = json_make("[o]", world_one("ok", NULL));
	json_t *op = json_array_get(json_array_get(jobs, 0), 0);
	struct world_submit one = {.ops = json_array_get(jobs, 0)};

	memset(big, 'x', len);
	json_object_set_new(op, "big", json_string(big));
	world_do(world_do_submit, &one);
	cr_assert_eq(one.rc, -1);
	cr_assert_not_null(strstr(one.err.text, "4 MiB is the limit"));
	world_do(submit_too_large, jobs);
	json_object_set_new(op, "big", json_string("small"));
	world_expect_many(steal(&jobs), "[[true,1]]");
	world_settle();
}

/* --- dependencies --- */

Test(queue, a_child_waits_for_its_parent)
{
	world_expect_many(json_make("[o, o, o]", world_one("hold", NULL),
				    world_one("ok", "[[-1, [\"success\"]]]"),
				    world_one("ok", "[[-1, []], [-2, []]]")),
			  "[[true,1],[true,2],[true,3]]");
	world_settle();
	world_expect_status(2, "queued");
	world_open_gate();
	world_expect_status(3, "success");
	world_expect_trace("1.0 2.0 3.0 ");
}

Test(queue, a_child_of_the_wrong_end_fails_and_so_do_its_own)
{
	world_expect_many(
		json_make(
			"[o, o, o, o, o]", world_one("fail", NULL),
			world_one("ok", "[[-1, [\"success\"]]]"),
			world_one("ok", "[[-1, [\"success\", \"canceled\"]]]"),
			world_one("ok", "[[-3, [\"error\"]]]"),
			world_one("ok", "[[-4, []]]")),
		"[[true,1],[true,2],[true,3],[true,4],[true,5]]");
	world_settle();
	world_expect_status(2, "error");
	world_expect_status(3, "error");
	world_expect_status(4, "success");
	world_expect_status(5, "success");
	world_expect_field(2, "opresult",
			   "[[\"OpExecError\",[\"Job 1, on which this job "
			   "depends, ended with status 'error'\"]]]");
	world_expect_trace("1.0 4.0 5.0 ");
}

Test(queue, a_dependency_may_be_named_by_text)
{
	uint64_t parent = world_submit("hold"),
		 child = world_submit_ops(world_one("ok", "[[\"1\", []]]"));

	world_settle();
	world_expect_status(parent, "running");
	world_expect_status(child, "queued");
	world_open_gate();
	world_expect_status(child, "success");
}

Test(queue, dependencies_on_what_is_not_there_are_refused)
{
	static const char *const depends[] = {
		"[[5, []]]",	 "[[1, []]]",	   "[[0, []]]",
		"[[-1, []]]",	 "[[1]]",	   "[5]",
		"[[\"x\", []]]", "[[\"-1\", []]]", "[[\"5\", []]]"};

	for (size_t i = 0; i < ARRAY_SIZE(depends); i++) {
		auto_json json_t *ops = world_one("ok", depends[i]);
		struct world_submit s = {.ops = ops};

		world_do(world_do_submit, &s);
		cr_assert_eq(s.rc, -1, "%s", depends[i]);
		cr_assert_eq(s.err.kind, ERR_PREREQ);
	}
}
