/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in files, and what becomes of it when disks fail. */
#include "lib/base/array.h"
#include "lib/store/journal.h"
#include "tests/lib/queue_world.h"

TestSuite(queue_files, .init = world_begin, .fini = world_teardown,
	  .timeout = 60);

/* --- files --- */

Test(queue_files, files_are_complete_when_idle)
{
	uint64_t id = world_submit("log");
	auto_free char *text = NULL;

	world_settle();
	cr_assert_null(fake_disk_text(&world.disk, "/q/job-1"),
		       "written lazily");
	for (int i = 0; i < 100; i++)
		world_step();
	text = job_to_text(queue_job(world.queue, id));
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/job-1"), text);
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/serial"), "1\n");
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/version"), "1\n");
}

Test(queue_files, stopped_queue_needs_no_journal)
{
	for (int i = 0; i < 5; i++)
		world_submit("ok");
	world_stop();
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-5"));
	/* Somebody edits a file meanwhile: it is not overwritten. */
	fake_disk_put(&world.disk, "/q/job-5", "{}");
	world_reopen();
	world_expect_status(4, "success");
	world_expect_status(5, "none");
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/job-5.corrupt"), "{}");
}

Test(queue_files, damaged_files_are_moved_aside_and_the_rest_loads)
{
	world_submit("ok");
	world_submit("ok");
	world_submit("ok");
	world_stop();
	fake_disk_put(&world.disk, "/q/job-1", "");
	fake_disk_put(&world.disk, "/q/job-3", "{\"id\": 2, \"ops\": []}");
	fake_disk_put(&world.disk, "/q/job-x", "not ours");
	fake_disk_put(&world.disk, "/q/job-2.new", "half a fi");
	world_reopen();
	world_expect_status(1, "none");
	world_expect_status(2, "success");
	world_expect_status(3, "none");
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-1.corrupt"));
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-3.corrupt"));
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-x"));
	cr_assert_null(fake_disk_text(&world.disk, "/q/job-2.new"));
	cr_assert_eq(world_submit("ok"), 4);
}

Test(queue_files, ids_are_not_used_again_without_the_serial)
{
	world_submit("ok");
	world_submit("ok");
	world_settle();
	cr_assert(world_archive(2));
	world_stop();
	fake_disk_put(&world.disk, "/q/serial", "junk");
	world_reopen();
	cr_assert_eq(world_submit("ok"), 3);
}

/* A loop over all numbers up to these would not end. */
Test(queue_files, a_huge_serial_is_named_and_costs_nothing)
{
	world_submit("ok");
	world_settle();
	cr_assert(world_archive(1));
	world_stop();
	fake_disk_put(&world.disk, "/q/serial", "99999999999\n");
	world_reopen();
	cr_assert_eq(world_submit("ok"), UINT64_C(100000000000));
	world_settle();
	cr_assert(world_archive(UINT64_C(100000000000)));
	world_stop();
	cr_assert_not_null(fake_disk_text(
		&world.disk, "/q/archive/10000000/job-100000000000"));
}

Test(queue_files, a_serial_that_is_no_id_is_not_believed)
{
	static const char *const serials[] = {
		"9999999999999999",	 "99999999999999999999", "-1", "2x", "",
		"18446744073709551615\n"};

	for (size_t i = 0; i < ARRAY_SIZE(serials); i++) {
		uint64_t id = world_submit("ok");

		world_stop();
		fake_disk_put(&world.disk, "/q/serial", serials[i]);
		world_reopen();
		cr_assert_eq(world_submit("ok"), id + 1, "%s", serials[i]);
	}
}

Test(queue_files, a_serial_that_is_too_low_gives_no_id_twice)
{
	world_submit("ok");
	world_submit("ok");
	world_settle();
	cr_assert(world_archive(2));
	world_stop();
	fake_disk_put(&world.disk, "/q/serial", "1\n");
	world_reopen();
	cr_assert_eq(world_submit("ok"), 3);
}

Test(queue_files, the_last_id_is_the_last)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};

	world_stop();
	fake_disk_put(&world.disk, "/q/serial", "999999999999998\n");
	world_reopen();
	cr_assert_eq(world_submit("ok"), UINT64_C(999999999999999));
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_eq(s.err.kind, ERR_QUEUE_FULL);
}

Test(queue_files, names_with_numbers_that_are_no_ids_are_moved_aside)
{
	static const char *const names[] = {
		"/q/job-9223372036854775806", "/q/job-99999999999999999999",
		"/q/job-0", "/q/job-007", "/q/job-1000000000000000"};
	static const char text[] = "{\"id\": 9223372036854775806, \"ops\": []}";

	world_submit("ok");
	world_stop();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fake_disk_put(&world.disk, names[i], text);
	world_reopen();
	world_expect_status(1, "success");
	cr_assert_eq(world_submit("ok"), 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *aside = xprintf("%s.corrupt", names[i]);

		cr_assert_null(fake_disk_text(&world.disk, names[i]), "%s",
			       names[i]);
		cr_assert_not_null(fake_disk_text(&world.disk, aside));
	}
}

Test(queue_files, folders_of_the_archive_with_other_names_are_left_alone)
{
	world_submit("ok");
	world_stop();
	fake_disk_put(&world.disk, "/q/archive/99999999999999999999/job-7",
		      "{}");
	fake_disk_put(&world.disk, "/q/archive/x/job-7", "{}");
	fake_disk_put(&world.disk, "/q/serial", "junk");
	world_reopen();
	cr_assert_eq(world_submit("ok"), 2);
}

Test(queue_files, numbers_in_a_job_that_nobody_counted_up_to_are_damage)
{
	static const char *const ops[] = {
		"\"priority\": 4294967296",
		"\"priority\": -21",
		"\"log\": [[9223372036854775807, [1, 1], \"message\", \"x\"]]",
		"\"start_timestamp\": [9223372036854775807, 1]",
		"\"start_timestamp\": [1, 1000000]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		auto_free char *text =
			xprintf("{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": "
				"\"OP_X\"}, \"status\": \"success\", %s}]}",
				ops[i]);
		struct error err;

		cr_assert_null(job_from_text(text, strlen(text), &err), "%s",
			       text);
		cr_assert_eq(err.kind, ERR_JOB_CORRUPT);
	}
}

Test(queue_files, other_versions_are_refused)
{
	struct error err;

	world_stop();
	fake_disk_put(&world.disk, "/q/version", "2\n");
	cr_assert_eq(world_open(&err), -1);
	cr_assert_eq(err.kind, ERR_QUEUE);
}

Test(queue_files, interrupted_jobs_end_and_queued_ones_run)
{
	uint64_t running = world_submit_ops(json_make(
			 "[o, o, o]", world_op("ok", 0, NULL),
			 world_op("hold", 0, NULL), world_op("ok", 0, NULL))),
		 waiting = world_submit("wait"), queued = world_submit("ok"),
		 child = world_submit_ops(
			 world_one("ok", "[[1, [\"error\"]]]"));

	world_settle();
	world_expect_status(waiting, "waiting");
	world_crash(1);
	world.open_locks = true;
	world_reopen();
	world_expect_field(running, "opstatus",
			   "[\"success\",\"error\",\"error\"]");
	world_expect_field(running, "opresult",
			   "[42,[\"OpExecError\",[\"The master daemon ended "
			   "while this opcode ran; its outcome is unknown\"]],"
			   "[\"OpExecError\",[\"Preceding opcode failed\"]]]");
	world_expect_status(waiting, "success");
	world_expect_status(queued, "success");
	world_expect_status(child, "success");
}

Test(queue_files, files_of_ganeti_are_taken_over)
{
	struct error err;
	auto_free char *text =
		fs_read("tests/compat/jobs/job-2391", 1 << 20, NULL, &err);

	cr_assert_not_null(text, "%s", err.text);
	world_stop();
	fake_disk_put(&world.disk, "/q/job-2391", text);
	fake_disk_put(&world.disk, "/q/serial", "2439\n");
	world_reopen();
	world_expect_status(2391, "error");
	cr_assert_eq(world_submit("ok"), 2440);
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/job-2391"), text,
			 "not rewritten without need");
}

static void do_archive_closed(void *arg)
{
	struct error err;
	bool ok;

	(void)arg;
	cr_assert_eq(queue_archive(world.queue, 1, &ok, &err), -1);
	cr_assert_eq(err.kind, ERR_QUEUE);
}

Test(queue_files, a_stopping_queue_lets_running_jobs_end_and_starts_none)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};

	for (int i = 0; i < 3; i++)
		world_submit(i == 0 ? "hold" : "ok");
	queue_set_max_running(world.queue, 1);
	world_settle();
	task_set_owner(&world);
	task_spawn("stop", world_do_stop, NULL);
	task_set_owner(NULL);
	world_settle();
	world_do(world_do_submit, &s); /* as a running job might */
	cr_assert_eq(s.rc, 0);
	world_open_gate();
	for (int i = 0; i < 100; i++)
		world_step();
	cr_assert_eq(tasks_count(), 0, "stopped");
	world_expect_status(1, "success");
	world_expect_status(4, "queued");
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	world_do(do_archive_closed, NULL);
}

/* --- faults --- */

Test(queue_files, failed_sync_is_fatal_and_shows_nothing)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};

	world.disk.fail_syncs = true;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert(world.fatal);
	world_expect_status(1, "none");
	world.disk.fail_syncs = false;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1, "not even later");
	world_expect_trace("");
}

Test(queue_files, failed_journal_write_refuses_the_job_and_the_daemon_lives)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};

	world.disk.fail_log = true;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_eq(s.err.kind, ERR_QUEUE);
	cr_assert(!world.fatal);
	world.disk.fail_log = false;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, 0);
	world_settle();
	world_expect_status(s.id, "success");
}

Test(queue_files, full_disk_refuses_new_jobs_until_space_returns)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};
	uint64_t id = world_submit("ok");

	world.disk.full = true;
	for (int i = 0; i < 50; i++)
		world_step();
	world_expect_status(id, "success");
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_eq(s.err.kind, ERR_QUEUE);
	cr_assert(strstr(s.err.text, "No space left") != NULL, "%s",
		  s.err.text);
	world.disk.full = false;
	for (int i = 0; i < 50; i++)
		world_step();
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-1"));
}

struct changes {
	uint64_t id;
	unsigned done;
};

#define MANY_CHANGES 200

/* More than the journal has room for. */
static void change_often(void *arg)
{
	struct changes *c = arg;
	struct error err;

	for (; c->done < MANY_CHANGES; c->done++) {
		char *text = NULL;
		bool ok;

		queue_change_priority(world.queue, c->id, (int)(c->done % 19),
				      &ok, &text, &err);
		free(text);
	}
}

struct archive {
	uint64_t id;
	int rc;
	bool ok;
	struct error err;
};

static void do_archive_one(void *arg)
{
	struct archive *a = arg;

	a->rc = queue_archive(world.queue, a->id, &a->ok, &a->err);
}

Test(queue_files,
     a_full_journal_on_a_full_disk_refuses_what_it_can_and_keeps_the_rest)
{
	struct archive archive = {.id = world_submit("ok")};
	struct changes changes;

	world_settle();
	world_submit("hold");
	world_submit("hold");
	changes = (struct changes){.id = world_submit("ok")};
	world.disk.full = true;
	task_set_owner(&world);
	task_spawn("changes", change_often, &changes);
	task_set_owner(NULL);
	for (int i = 0; i < 1000; i++)
		world_step();
	cr_assert_gt(changes.done, 10);
	cr_assert_lt(changes.done, MANY_CHANGES);
	world_do(do_archive_one, &archive);
	cr_assert_eq(archive.rc, -1);
	cr_assert_not_null(strstr(archive.err.text, "No space left"), "%s",
			   archive.err.text);
	world.disk.full = false;
	for (int i = 0; i < 1000; i++)
		world_step();
	cr_assert_eq(changes.done, MANY_CHANGES);
	world_open_gate();
	world_expect_status(changes.id, "success");
	world_do(do_archive_one, &archive);
	cr_assert_eq(archive.rc, 0);
	cr_assert(archive.ok);
}

Test(queue_files, large_results_do_not_need_the_journal)
{
	auto_free char *large = xalloc(400000);
	json_t *op = world_op("ok", 0, NULL);
	uint64_t id;

	memset(large, 'x', 399999);
	json_object_set_new(op, "value", json_string(large));
	id = world_submit_ops(json_make("[o]", op));
	world_submit("ok");
	for (int i = 0; i < 100; i++)
		world_step();
	world_expect_status(id, "success");
	world_expect_status(2, "success");
	world_crash(3);
	world_reopen();
	world_expect_status(id, "success");
	cr_assert_eq(world.runs[id], 1);
}

Test(queue_files, a_large_job_survives_two_crashes)
{
	auto_free char *large = xalloc(400000);
	json_t *op = world_op("hold", 0, NULL);
	uint64_t id;

	memset(large, 'x', 399999);
	json_object_set_new(op, "value", json_string(large));
	id = world_submit_ops(json_make("[o]", op));
	world_settle();
	world_expect_status(id, "running");
	world_crash(5);
	world_reopen(); /* it ends, in a file and not in the journal */
	world_expect_status(id, "error");
	world_crash(6);
	world_reopen();
	world_expect_status(id, "error");
	for (int i = 0; i < 100; i++)
		world_step();
	cr_assert_not_null(
		strstr(fake_disk_text(&world.disk, "/q/job-1"), "\"error\""));
}
