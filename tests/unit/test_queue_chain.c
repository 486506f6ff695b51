/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain through the archive of a queue. */
#include "tests/lib/queue_world.h"

TestSuite(queue_chain, .init = world_begin, .fini = world_teardown);

static void do_archive_all(void *arg)
{
	size_t *archived = arg, left;
	struct error err;

	cr_assert_eq(
		queue_auto_archive(world.queue, -1, 10, archived, &left, &err),
		0);
}

static size_t archive_all(void)
{
	size_t n = 0;

	world_do(do_archive_all, &n);
	return n;
}

static void submit(size_t n)
{
	for (size_t i = 0; i < n; i++)
		world_submit("ok");
	world_settle();
}

static void do_verify(void *arg)
{
	json_t **answer = arg;

	*answer = queue_verify_history(world.queue, true, 60);
}

/* job 0: all is well; text: a part of the sentence. */
static void expect(int64_t job, const char *text)
{
	auto_json json_t *answer = NULL;
	const char *got;

	world_do(do_verify, &answer);
	got = json_str(answer, "text", "");
	cr_assert_eq(json_bool(answer, "running", true), false);
	cr_assert_eq(json_bool(answer, "ok", false), job == 0, "%s", got);
	cr_assert_eq(json_int(answer, "job", 0), job, "%s", got);
	cr_assert_not_null(strstr(got, text), "%s", got);
}

static void reopen(void)
{
	struct error err;

	if (world.queue != NULL)
		world_stop();
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
}

static void rewrite(const char *path, const char *what, const char *by)
{
	auto_free char *text = xstrdup(fake_disk_text(&world.disk, path));
	char *at = strstr(text, what);

	cr_assert_not_null(at, "%s", text);
	memcpy(at, by, strlen(by));
	fake_disk_put(&world.disk, path, text);
}

static void remove_file(const char *path)
{
	struct error err;
	struct disk *d = &world.disk.disk;

	cr_assert_eq(d->remove(d, path, &err), 0);
	cr_assert_eq(d->sync_all(d, "/q", &err), 0);
}

Test(queue_chain, an_empty_one_is_good)
{
	expect(0, "is empty");
}

Test(queue_chain, goes_through_single_jobs_and_groups)
{
	submit(3);
	cr_assert(world_archive(2));
	cr_assert(world_archive(1));
	submit(1100);
	cr_assert_eq(archive_all(), 1101);
	expect(0, "1103 archived jobs");
	reopen();
	submit(1);
	cr_assert(world_archive(1104));
	expect(0, "1104 archived jobs");
}

/* Many clients at once: one after the other. */
Test(queue_chain, those_who_archive_at_once_make_one_chain)
{
	struct world_archive archives[20];
	struct world_call calls[20];
	size_t left = 20;

	submit(20);
	for (size_t i = 0; i < 20; i++) {
		archives[i] = (struct world_archive){.id = i + 1};
		calls[i] = (struct world_call){.fn = world_do_archive,
					       .arg = &archives[i]};
		task_set_owner(&world);
		task_spawn("test", world_task, &calls[i]);
		task_set_owner(NULL);
	}
	while (left > 0) {
		cr_assert(world_step(), "stuck");
		left = 0;
		for (size_t i = 0; i < 20; i++)
			left += !calls[i].done;
	}
	expect(0, "20 archived jobs");
}

Test(queue_chain, altered_missing_and_added_files_are_named)
{
	auto_free char *kept = NULL;

	submit(5);
	cr_assert_eq(archive_all(), 5);
	reopen();
	kept = xstrdup(fake_disk_text(&world.disk, "/q/archive/0/job-2"));
	rewrite("/q/archive/0/job-2", "success", "SUCCESS");
	expect(2, "job 3, archived after it, recorded");
	remove_file("/q/archive/0/job-2");
	expect(2, "is missing");
	fake_disk_put(&world.disk, "/q/archive/0/job-2", "not JSON");
	expect(2, "was altered");
	fake_disk_put(&world.disk, "/q/archive/0/job-2", kept);
	expect(0, "5 archived jobs");
}

Test(queue_chain, a_copy_under_another_id_was_added)
{
	submit(5);
	archive_all();
	world_stop();
	fake_disk_put(&world.disk, "/q/archive/0/job-6",
		      fake_disk_text(&world.disk, "/q/archive/0/job-4"));
	reopen();
	expect(6, "was added");
}

/* Ganeti's archive has no chain: it begins after it. */
Test(queue_chain, begins_after_jobs_that_others_archived)
{
	submit(2);
	world_stop();
	fake_disk_put(&world.disk, "/q/archive/0/job-1",
		      fake_disk_text(&world.disk, "/q/job-1"));
	remove_file("/q/job-1");
	reopen();
	expect(0, "is empty");
	cr_assert(world_archive(2));
	expect(0, "1 archived jobs are in the chain, 1 were archived before");
}

Test(queue_chain, goes_on_without_its_head)
{
	submit(3);
	cr_assert_eq(archive_all(), 3);
	world_stop();
	remove_file("/q/archive-head");
	reopen();
	submit(1);
	cr_assert(world_archive(4));
	expect(0, "4 archived jobs");
	world_stop();
	fake_disk_put(&world.disk, "/q/archive-head", "junk");
	reopen();
	submit(1);
	cr_assert(world_archive(5));
	expect(0, "5 archived jobs");
}

/* As a crash leaves it between the head and the move. */
Test(queue_chain, a_job_that_was_not_moved_is_not_archived)
{
	auto_free char *sealed = NULL;

	submit(2);
	cr_assert(world_archive(1));
	cr_assert(world_archive(2));
	world_stop();
	sealed = xstrdup(fake_disk_text(&world.disk, "/q/archive/0/job-2"));
	fake_disk_put(&world.disk, "/q/job-2", sealed);
	remove_file("/q/archive/0/job-2");
	reopen();
	expect(0, "1 archived jobs");
	cr_assert(world_archive(2));
	expect(0, "2 archived jobs");
}
