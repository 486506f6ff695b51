/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/store/journal.h"
#include "tests/lib/queue_world.h"

static void setup(void)
{
	struct error err;

	world_setup();
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
}

static void reopen(void)
{
	struct error err;

	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
	world_settle();
}

TestSuite(queue, .init = setup, .fini = world_teardown, .timeout = 60);

static void expect_trace(const char *expected)
{
	cr_assert_str_eq(world.trace.data == NULL ? "" : world.trace.data,
			 expected);
}

static void open_gate(void)
{
	world.open_gate = true;
	cond_signal(&world.gate_changed);
	world_settle();
}

static json_t *one(const char *act, const char *depends)
{
	return json_make("[o]", world_op(act, 0, depends));
}

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
	expect_trace("1.0 1.1 ");
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
	auto_json json_t *bad = one("bad", NULL), *empty = json_array();
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
	open_gate();
	expect_trace("1.0 2.0 5.0 3.0 4.0 ");
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

static uint64_t submit_secret(void)
{
	json_t *op = world_op("secret", 0, NULL);

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

	log = fake_disk_log(&world.disk, "/q/journal", &size);
	cr_assert_not_null(memmem(log, size, "redacted", 8));
	cr_assert_null(memmem(log, size, "hunter2", 7));
	world_settle();
	world_expect_field(id, "opresult", "[\"hunter2\"]"); /* by the op */
	text = job_to_text(queue_job(world.queue, id));
	cr_assert_not_null(strstr(text, "<redacted>"));
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
	reopen();
	world_expect_status(id, "error");
	expect_trace("");
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

struct many {
	const json_t *jobs;
	json_t *answer;
	struct error err;
};

static void do_many(void *arg)
{
	struct many *m = arg;

	m->answer = queue_submit_many(world.queue, m->jobs, &m->err);
}

static void expect_many(json_t *jobs STEALS, const char *expected)
{
	struct many m = {.jobs = jobs};
	auto_free char *text = NULL;

	world_do(do_many, &m);
	cr_assert_not_null(m.answer, "%s", m.err.text);
	text = json_text(m.answer);
	cr_assert_str_eq(text, expected, "%s", text);
	json_decref(m.answer);
	json_decref(jobs);
}

Test(queue, many_jobs_share_one_flush)
{
	json_t *jobs = json_array();
	size_t before = world.disk.n_log_sync;
	struct many m = {.jobs = jobs};

	queue_set_max_running(world.queue, 0);
	for (int i = 0; i < 100; i++)
		json_array_append_new(jobs, one("ok", NULL));
	world_do(do_many, &m);
	cr_assert_eq(json_array_size(m.answer), 100);
	cr_assert_eq(world.disk.n_log_sync, before + 1);
	json_decref(m.answer);
	json_decref(jobs);
}

Test(queue, one_bad_job_does_not_harm_the_others)
{
	expect_many(json_make("[o, o, o]", one("ok", NULL), one("bad", NULL),
			      one("ok", "[[-1, []]]")),
		    "[[true,1],[false,\"bad opcode\"],[false,\"The relative "
		    "dependency -1 names no job that was submitted before in "
		    "the same call\"]]");
	expect_many(json_array(), "[]");
}

/* --- dependencies --- */

Test(queue, a_child_waits_for_its_parent)
{
	expect_many(json_make("[o, o, o]", one("hold", NULL),
			      one("ok", "[[-1, [\"success\"]]]"),
			      one("ok", "[[-1, []], [-2, []]]")),
		    "[[true,1],[true,2],[true,3]]");
	world_settle();
	world_expect_status(2, "queued");
	open_gate();
	world_expect_status(3, "success");
	expect_trace("1.0 2.0 3.0 ");
}

Test(queue, a_child_of_the_wrong_end_fails_and_so_do_its_own)
{
	expect_many(json_make("[o, o, o, o]", one("fail", NULL),
			      one("ok", "[[-1, [\"success\"]]]"),
			      one("ok", "[[-1, [\"success\", \"canceled\"]]]"),
			      one("ok", "[[-3, [\"error\"]]]")),
		    "[[true,1],[true,2],[true,3],[true,4]]");
	world_settle();
	world_expect_status(2, "error");
	world_expect_status(3, "error");
	world_expect_status(4, "success");
	world_expect_field(2, "opresult",
			   "[[\"OpExecError\",[\"Job 1, on which this job "
			   "depends, ended with status 'error'\"]]]");
	expect_trace("1.0 4.0 ");
}

Test(queue, dependencies_on_what_is_not_there_are_refused)
{
	static const char *const depends[] = {
		"[[5, []]]", "[[1, []]]", "[[0, []]]",	  "[[-1, []]]",
		"[[1]]",     "[5]",	  "[[\"x\", []]]"};

	for (size_t i = 0; i < sizeof(depends) / sizeof(*depends); i++) {
		auto_json json_t *ops = one("ok", depends[i]);
		struct world_submit s = {.ops = ops};

		world_do(world_do_submit, &s);
		cr_assert_eq(s.rc, -1, "%s", depends[i]);
		cr_assert_eq(s.err.kind, ERR_PREREQ);
	}
}

/* --- cancel and priority --- */

struct order {
	uint64_t id;
	bool kill;
	int priority;
	bool ok;
	char *text;
	struct error err;
};

static void do_cancel(void *arg)
{
	struct order *o = arg;

	cr_assert_eq(queue_cancel(world.queue, o->id, o->kill, &o->ok, &o->text,
				  &o->err),
		     0);
}

static void do_priority(void *arg)
{
	struct order *o = arg;

	cr_assert_eq(queue_change_priority(world.queue, o->id, o->priority,
					   &o->ok, &o->text, &o->err),
		     0);
}

static void expect_order(struct order o, void (*fn)(void *arg), bool ok,
			 const char *text)
{
	world_do(fn, &o);
	cr_assert_eq(o.ok, ok, "%s", o.text);
	cr_assert_str_eq(o.text, text);
	free(o.text);
}

Test(queue, cancel_at_each_stage)
{
	uint64_t running = world_submit("hold"), waiting = world_submit("wait"),
		 queued = world_submit("ok");

	world_settle();
	world_expect_status(waiting, "waiting");
	expect_order((struct order){.id = queued}, do_cancel, true,
		     "Job 3 canceled");
	world_expect_status(queued, "canceled");
	world_expect_field(queued, "opresult", "[null]");
	expect_order((struct order){.id = queued}, do_cancel, false,
		     "Job 3 has ended with status 'canceled'");
	expect_order((struct order){.id = waiting}, do_cancel, true,
		     "Job 2 canceled");
	expect_order((struct order){.id = running}, do_cancel, false,
		     "Job no longer waiting, can't cancel (informed it "
		     "anyway)");
	expect_order((struct order){.id = running, .kill = true}, do_cancel,
		     true, "SIGKILL send to the process");
	expect_order((struct order){.id = 99}, do_cancel, false,
		     "Job 99 not found in queue");
	cond_signal(&world.gate_changed);
	world_settle();
	world_expect_status(running, "error");
	expect_trace("1.0 ");
}

Test(queue, a_running_job_that_was_told_runs_no_further_opcode)
{
	uint64_t id = world_submit_ops(json_make(
		"[o, o]", world_op("hold", 0, NULL), world_op("ok", 0, NULL)));

	world_settle();
	expect_order((struct order){.id = id}, do_cancel, false,
		     "Job no longer waiting, can't cancel (informed it "
		     "anyway)");
	open_gate();
	world_expect_field(id, "opstatus", "[\"success\",\"canceled\"]");
}

Test(queue, children_of_a_canceled_job_are_canceled)
{
	expect_many(json_make("[o, o]", one("wait", NULL),
			      one("ok", "[[-1, [\"success\"]]]")),
		    "[[true,1],[true,2]]");
	world_settle();
	expect_order((struct order){.id = 1}, do_cancel, true,
		     "Job 1 canceled");
	world_settle();
	world_expect_status(2, "canceled");
}

Test(queue, priority_of_a_queued_job_moves_it)
{
	world_submit("hold");
	world_submit("hold");
	world_submit("ok");
	world_submit("ok");
	world_settle();
	expect_order((struct order){.id = 4, .priority = -20}, do_priority,
		     true,
		     "Priorities of pending opcodes for job 4 have been "
		     "changed to -20");
	world_expect_field(4, "priority", "-20");
	open_gate();
	expect_trace("1.0 2.0 4.0 3.0 ");
	expect_order((struct order){.id = 4}, do_priority, false,
		     "Job 4 is finished");
}

/* --- gates --- */

static struct queue_gate gate;

static struct queue_gate *gate_of(const struct job *j)
{
	return strcmp(j->ops[0].summary, "TEST(hold)") == 0 ? &gate : NULL;
}

static void set_gate(struct queue_gate *(*fn)(const struct job *j))
{
	world.gate = fn;
	queue_gates_changed(world.queue);
	world_settle();
}

static void gate_with(unsigned limit, bool reject)
{
	gate = (struct queue_gate){.limit = limit, .reject = reject};
	set_gate(gate_of);
}

static void drop_gate(void)
{
	set_gate(NULL);
	queue_gate_done(&gate);
}

Test(queue, jobs_behind_a_closed_gate_wait_and_hold_up_nobody)
{
	uint64_t held[3], other;

	gate_with(0, false);
	for (int i = 0; i < 3; i++)
		held[i] = world_submit("hold");
	other = world_submit("ok");
	world_settle();
	world_expect_status(other, "success");
	for (int i = 0; i < 3; i++)
		world_expect_status(held[i], "queued");
	expect_order((struct order){.id = held[1]}, do_cancel, true,
		     "Job 2 canceled");
	drop_gate();
	world_expect_status(held[0], "running");
	world_expect_status(held[2], "running");
	open_gate();
}

Test(queue, a_gate_limits_how_many_run)
{
	uint64_t ids[4];

	world.max_running = 10;
	queue_set_max_running(world.queue, 10);
	ids[0] = world_submit("hold");
	world_settle();
	gate_with(2, false); /* the one that runs counts */
	for (int i = 1; i < 4; i++)
		ids[i] = world_submit("hold");
	world_settle();
	world_expect_status(ids[1], "running");
	world_expect_status(ids[2], "queued");
	expect_order((struct order){.id = ids[1], .kill = true}, do_cancel,
		     true, "SIGKILL send to the process");
	cond_signal(&world.gate_changed);
	world_settle();
	world_expect_status(ids[2], "running");
	world_expect_status(ids[3], "queued");
	open_gate();
	world_expect_status(ids[3], "success");
	drop_gate();
}

/* The one that the gate let try waits for a place when it is canceled. */
Test(queue, a_canceled_job_gives_its_turn_at_the_gate_on)
{
	uint64_t first, second, third, other;

	queue_set_max_running(world.queue, 1);
	gate_with(1, false);
	first = world_submit("hold");
	second = world_submit("hold");
	third = world_submit("hold");
	other = world_submit("hold");
	world_settle();
	world_expect_status(first, "running");
	expect_order((struct order){.id = second}, do_cancel, true,
		     "Job 2 canceled");
	open_gate();
	world_expect_status(third, "success");
	world_expect_status(other, "success");
	drop_gate();
}

Test(queue, a_rejecting_gate_cancels_what_has_not_begun)
{
	uint64_t running = world_submit("hold"), later, child;

	later = world_submit_ops(one("hold", "[[1, []]]"));
	child = world_submit_ops(one("ok", "[[2, []]]"));
	world_settle();
	gate_with(0, true);
	world_expect_status(running, "running");
	world_expect_status(later, "canceled");
	world_expect_field(later, "opresult", "[null]");
	world_expect_status(child, "success");
	later = world_submit("hold");
	world_settle();
	world_expect_status(later, "canceled");
	open_gate();
	drop_gate();
}

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

Test(queue, watchers_see_each_durable_change)
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

static void do_archive(void *arg)
{
	struct order *o = arg;

	cr_assert_eq(queue_archive(world.queue, o->id, &o->ok, &o->err), 0);
}

static bool archive(uint64_t id)
{
	struct order o = {.id = id};

	world_do(do_archive, &o);
	return o.ok;
}

Test(queue, parents_may_have_ended_or_be_archived)
{
	world_submit("ok");
	world_settle();
	world_submit_ops(one("ok", "[[1, [\"success\"]]]"));
	cr_assert(archive(1));
	world_submit_ops(one("ok", "[[1, [\"success\"]]]"));
	world_submit_ops(one("ok", "[[1, [\"error\"]]]"));
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

Test(queue, archived_jobs_leave_the_queue_and_can_be_read)
{
	struct watcher w = {.watch = {.changed = on_watch}};
	struct error err;
	struct job *j;
	size_t n;

	world_submit("ok");
	world_submit("hold");
	world_settle();
	cr_assert(!archive(2), "it runs");
	cr_assert(!archive(9), "it is not there");
	w.watch.id = 1;
	queue_watch(world.queue, &w.watch);
	cr_assert(archive(1));
	cr_assert_str_eq(w.seen.data, "none ");
	buf_done(&w.seen);
	cr_assert(!archive(1));
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
			open_gate();
			world_stop();
			reopen();
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

Test(queue, auto_archive_takes_what_is_old)
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
	open_gate();
}

Test(queue, auto_archive_goes_through_many)
{
	struct sweep all = {.age_s = -1};
	json_t *jobs = json_array();
	struct many m = {.jobs = jobs};

	for (int i = 0; i < 1700; i++)
		json_array_append_new(jobs, one("prereq", NULL));
	world_do(do_many, &m);
	world_settle();
	world_do(do_sweep, &all);
	cr_assert_eq(all.archived, 1700);
	world_expect_status(1700, "none");
	json_decref(m.answer);
	json_decref(jobs);
}

/* --- drain --- */

static void do_drain(void *arg)
{
	struct error err;

	cr_assert_eq(queue_set_drained(world.queue, *(bool *)arg, &err), 0);
}

Test(queue, drained_queue_takes_no_jobs_even_after_a_restart)
{
	auto_json json_t *ops = one("ok", NULL);
	struct world_submit s = {.ops = ops};
	bool yes = true, no = false;

	world_do(do_drain, &yes);
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert_str_eq(s.err.text, "Queue drained");
	cr_assert_eq(s.err.kind, ERR_SYSTEM);
	world_stop();
	reopen();
	cr_assert(queue_drained(world.queue));
	world_do(do_drain, &no);
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, 0);
}

/* --- files --- */

Test(queue, files_are_complete_when_idle)
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

Test(queue, stopped_queue_needs_no_journal)
{
	for (int i = 0; i < 5; i++)
		world_submit("ok");
	world_stop();
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-5"));
	/* Somebody edits a file meanwhile: it is not overwritten. */
	fake_disk_put(&world.disk, "/q/job-5", "{}");
	reopen();
	world_expect_status(4, "success");
	world_expect_status(5, "none");
	cr_assert_str_eq(fake_disk_text(&world.disk, "/q/job-5.corrupt"), "{}");
}

Test(queue, damaged_files_are_moved_aside_and_the_rest_loads)
{
	world_submit("ok");
	world_submit("ok");
	world_submit("ok");
	world_stop();
	fake_disk_put(&world.disk, "/q/job-1", "");
	fake_disk_put(&world.disk, "/q/job-3", "{\"id\": 2, \"ops\": []}");
	fake_disk_put(&world.disk, "/q/job-x", "not ours");
	fake_disk_put(&world.disk, "/q/job-2.new", "half a fi");
	reopen();
	world_expect_status(1, "none");
	world_expect_status(2, "success");
	world_expect_status(3, "none");
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-1.corrupt"));
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-3.corrupt"));
	cr_assert_not_null(fake_disk_text(&world.disk, "/q/job-x"));
	cr_assert_null(fake_disk_text(&world.disk, "/q/job-2.new"));
	cr_assert_eq(world_submit("ok"), 4);
}

Test(queue, ids_are_not_used_again_without_the_serial)
{
	world_submit("ok");
	world_submit("ok");
	world_settle();
	cr_assert(archive(2));
	world_stop();
	fake_disk_put(&world.disk, "/q/serial", "junk");
	reopen();
	cr_assert_eq(world_submit("ok"), 3);
}

Test(queue, other_versions_are_refused)
{
	struct error err;

	world_stop();
	fake_disk_put(&world.disk, "/q/version", "2\n");
	cr_assert_eq(world_open(&err), -1);
	cr_assert_eq(err.kind, ERR_QUEUE);
}

Test(queue, interrupted_jobs_end_and_queued_ones_run)
{
	uint64_t running = world_submit_ops(json_make(
			 "[o, o, o]", world_op("ok", 0, NULL),
			 world_op("hold", 0, NULL), world_op("ok", 0, NULL))),
		 waiting = world_submit("wait"), queued = world_submit("ok"),
		 child = world_submit_ops(one("ok", "[[1, [\"error\"]]]"));

	world_settle();
	world_expect_status(waiting, "waiting");
	world_crash(1);
	world.open_locks = true;
	reopen();
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

Test(queue, files_of_ganeti_are_taken_over)
{
	struct error err;
	auto_free char *text =
		fs_read("tests/compat/jobs/job-2391", 1 << 20, NULL, &err);

	cr_assert_not_null(text, "%s", err.text);
	world_stop();
	fake_disk_put(&world.disk, "/q/job-2391", text);
	fake_disk_put(&world.disk, "/q/serial", "2439\n");
	reopen();
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

Test(queue, a_stopping_queue_lets_running_jobs_end_and_starts_none)
{
	auto_json json_t *ops = one("ok", NULL);
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
	open_gate();
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

Test(queue, failed_sync_is_fatal_and_shows_nothing)
{
	auto_json json_t *ops = one("ok", NULL);
	struct world_submit s = {.ops = ops};

	world.disk.fail_syncs = true;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1);
	cr_assert(world.fatal);
	world_expect_status(1, "none");
	world.disk.fail_syncs = false;
	world_do(world_do_submit, &s);
	cr_assert_eq(s.rc, -1, "not even later");
	expect_trace("");
}

Test(queue, failed_journal_write_refuses_the_job_and_the_daemon_lives)
{
	auto_json json_t *ops = one("ok", NULL);
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

Test(queue, full_disk_refuses_new_jobs_until_space_returns)
{
	auto_json json_t *ops = one("ok", NULL);
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

Test(queue,
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
	open_gate();
	world_expect_status(changes.id, "success");
	world_do(do_archive_one, &archive);
	cr_assert_eq(archive.rc, 0);
	cr_assert(archive.ok);
}

Test(queue, large_results_do_not_need_the_journal)
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
	reopen();
	world_expect_status(id, "success");
	cr_assert_eq(world.runs[id], 1);
}

Test(queue, a_large_job_survives_two_crashes)
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
	reopen(); /* it ends, in a file and not in the journal */
	world_expect_status(id, "error");
	world_crash(6);
	reopen();
	world_expect_status(id, "error");
	for (int i = 0; i < 100; i++)
		world_step();
	cr_assert_not_null(
		strstr(fake_disk_text(&world.disk, "/q/job-1"), "\"error\""));
}
