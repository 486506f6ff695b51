/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue seen from outside: watches, the archive, the drain flag. */
#include "tests/lib/queue_world.h"

TestSuite(queue_archive, .init = world_begin, .fini = world_teardown,
	  .timeout = 60);

/* --- watches --- */

struct watcher {
	struct queue_watch watch;
	struct buf seen;
};

static void on_watch(struct queue_watch *w)
{
	struct watcher *watcher = container_of(w, struct watcher, watch);

	buf_addf(&watcher->seen, "%s ", world_status(w->id));
	if (strcmp(world_status(w->id), "none") != 0)
		queue_watch(world.queue, w);
}

Test(queue_archive, watchers_see_each_durable_change)
{
	struct watcher w = {.watch = {.changed = on_watch}};

	queue_set_max_running(world.queue, 0);
	w.watch.id = world_submit("log");
	queue_watch(world.queue, &w.watch);
	queue_set_max_running(world.queue, 1);
	world_settle();
	queue_unwatch(&w.watch);
	cr_assert_str_eq(w.seen.data, "waiting running running success ");
	buf_done(&w.seen);
}

/* --- archive --- */

Test(queue_archive, parents_may_have_ended_or_be_archived)
{
	world_submit("ok");
	world_settle();
	world_submit_ops(world_one("ok", "[[1, [\"success\"]]]"));
	cr_assert(world_archive(1));
	world_submit_ops(world_one("ok", "[[1, [\"success\"]]]"));
	world_submit_ops(world_one("ok", "[[1, [\"error\"]]]"));
	world_settle();
	world_expect_status(2, "success");
	world_expect_status(3, "success");
	world_expect_status(4, "error");
}

static bool count_archived(struct job *j STEALS, void *arg)
{
	cr_assert(j->archived);
	*(size_t *)arg += 1;
	job_free(j);
	return true;
}

static void do_count_archived(void *arg)
{
	struct error err;

	*(size_t *)arg = 0;
	cr_assert_eq(
		queue_each_archived(world.queue, count_archived, arg, &err), 0);
}

Test(queue_archive, archived_jobs_leave_the_queue_and_can_be_read)
{
	struct watcher w = {.watch = {.changed = on_watch}};
	struct error err;
	struct job *j;
	size_t n;

	world_submit("ok");
	world_submit("hold");
	world_settle();
	cr_assert(!world_archive(2), "it runs");
	cr_assert(!world_archive(9), "it is not there");
	w.watch.id = 1;
	queue_watch(world.queue, &w.watch);
	cr_assert(world_archive(1));
	cr_assert_str_eq(w.seen.data, "none ");
	buf_done(&w.seen);
	cr_assert(!world_archive(1));
	for (int i = 0; i < 3; i++) { /* in the overlay, in files, reopened */
		world_expect_status(1, "none");
		j = queue_archived(world.queue, 1, &err);
		cr_assert_not_null(j, "%s", err.text);
		cr_assert_eq(job_status(j), JOB_SUCCESS);
		job_free(j);
		world_do(do_count_archived, &n);
		cr_assert_eq(n, 1);
		if (i == 0)
			for (int k = 0; k < 100; k++)
				world_step();
		if (i == 1) {
			world_open_gate();
			world_stop();
			world_reopen();
		}
	}
	cr_assert_null(fake_disk_text(&world.disk, "/q/job-1"));
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/archive/0/job-1"));
}

struct sweep {
	int64_t age_s;
	size_t archived, left;
};

static void do_sweep(void *arg)
{
	struct sweep *s = arg;
	struct error err;

	cr_assert_eq(queue_auto_archive(world.queue, s->age_s, 10, &s->archived,
					&s->left, &err),
		     0);
}

Test(queue_archive, auto_archive_takes_what_is_old)
{
	struct sweep old = {.age_s = 50}, all = {.age_s = -1};
	size_t n;

	for (int i = 0; i < 5; i++)
		world_submit("ok");
	world_settle();
	world.now_us += 100000000;
	world_submit("ok");
	world_submit("hold");
	world_settle();
	world_do(do_sweep, &old);
	cr_assert_eq(old.archived, 5);
	cr_assert_eq(old.left, 0);
	world_do(do_sweep, &all);
	cr_assert_eq(all.archived, 1);
	world_do(do_count_archived, &n);
	cr_assert_eq(n, 6);
	world_expect_status(7, "running");
	world_open_gate();
}

Test(queue_archive, auto_archive_goes_through_many)
{
	struct sweep all = {.age_s = -1};
	json_t *jobs = json_array();

	for (int i = 0; i < 1700; i++)
		json_array_append_new(jobs, world_one("prereq", NULL));
	json_decref(world_submit_many(jobs));
	world_settle();
	world_do(do_sweep, &all);
	cr_assert_eq(all.archived, 1700);
	world_expect_status(1700, "none");
}

/* --- drain --- */

static void do_drain(void *arg)
{
	struct error err;

	cr_assert_eq(queue_set_drained(world.queue, *(bool *)arg, &err), 0);
}

Test(queue_archive, drained_queue_takes_no_jobs_even_after_a_restart)
{
	auto_json json_t *ops = world_one("ok", NULL);
	struct world_submit s = {.ops = ops};
	bool yes = true, no = false;

	world_do(do_drain, &yes);
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_not_null(strstr(s.err.text, "Queue drained"));
	cr_assert_not_null(strstr(s.err.text, "gnt-cluster queue undrain"));
	cr_assert_eq(s.err.kind, ERR_SYSTEM);
	world_stop();
	world_reopen();
	cr_assert(queue_drained(world.queue));
	world_do(do_drain, &no);
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, 0);
}
