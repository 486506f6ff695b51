/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue on a forgetting disk and virtual time, with opcodes that do what
 * their parameter `act` says:
 *
 *	ok      gets its locks and succeeds with `value`
 *	fail    gets its locks and fails
 *	prereq  fails before it has its locks
 *	wait    waits for its locks until world.open_locks
 *	deaf    the same, and only a kill ends that
 *	hold    has its locks and runs until world.open_gate (or is killed)
 *	log     writes three log entries and succeeds
 *	secret  succeeds with its secret parameters
 *	nested  succeeds with those of the second of its instances
 *	bad     is refused by the check
 */
#ifndef TESTS_LIB_QUEUE_WORLD_H
#define TESTS_LIB_QUEUE_WORLD_H

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "lib/store/journal.h"
#include "queue/queue.h"
#include "tests/lib/fake_disk.h"

#define WORLD_JOBS_MAX 500

static struct world {
	struct fake_disk disk;
	struct queue *queue;
	struct store *store; /* NULL: the queue opens its own */
	size_t journal_size;
	unsigned max_running;
	int64_t now_us;
	bool fatal;
	bool open_locks, open_gate;
	struct cond locks, gate_changed;
	struct queue_gate *(*gate)(const struct job *j); /* NULL: none */
	struct buf trace;	       /* "job.op " for each that runs */
	unsigned runs[WORLD_JOBS_MAX]; /* how often each job has run */
} world;

static inline int64_t world_now(void)
{
	return world.now_us;
}

static inline json_t *world_check(void *arg, const json_t *op,
				  char **ret_summary, struct error *err)
{
	(void)arg;
	if (strcmp(json_str(op, "act", "bad"), "bad") == 0) {
		error_set(err, ERR_PREREQ, ECODE_INVAL, "bad opcode");
		return NULL;
	}
	*ret_summary = xprintf("TEST(%s)", json_str(op, "act", ""));
	return json_deep_copy(op);
}

static inline void world_on_cancel(struct queue_run *run)
{
	(void)run;
	cond_signal(&world.locks);
}

static inline int world_get_locks(struct queue_run *run, const char *act,
				  struct error *err)
{
	while (strcmp(act, "deaf") == 0 && !world.open_locks && !run->killed)
		cond_wait(&world.locks);
	if (run->killed)
		return error_set(err, ERR_EXEC, NULL, "it gave up");
	run->cancel = world_on_cancel;
	while (strcmp(act, "wait") == 0 && !world.open_locks && !run->canceled)
		cond_wait(&world.locks);
	return queue_run_started(run, err) < 0 ? -1 : queue_run_safe(run, err);
}

static inline void world_fill(struct queue_run *run)
{
	auto_json json_t *members = json_make("{s:s}", "filled", "uuid");

	queue_run_fill(run, members);
}

static inline json_t *world_run(void *arg, struct queue_run *run,
				struct error *err)
{
	const char *act = json_str(run->input, "act", "");

	(void)arg;
	if (strcmp(act, "prereq") == 0) {
		error_set(err, ERR_PREREQ, ECODE_STATE, "not now");
		return NULL;
	}
	if (world_get_locks(run, act, err) < 0)
		return NULL;
	if (json_bool(run->input, "fill", false))
		world_fill(run);
	buf_addf(&world.trace, "%ju.%zu ", (uintmax_t)run->job->id,
		 run->op_index);
	if (run->job->id < WORLD_JOBS_MAX)
		world.runs[run->job->id]++;
	if (strcmp(act, "hold") == 0) {
		run->cancel = NULL;
		while (!world.open_gate && !run->killed) {
			int64_t soon = world.now_us + 100000;

			cond_wait_until(&world.gate_changed, soon);
		}
	}
	for (int i = 0; strcmp(act, "log") == 0 && i < 3; i++)
		queue_run_log(run, "message", json_string("line"));
	if (strcmp(act, "fail") == 0 || run->killed) {
		error_set(err, ERR_EXEC, NULL, "it failed");
		return NULL;
	}
	if (strcmp(act, "secret") == 0)
		return json_string(json_str(
			json_get(run->input, "osparams_secret"), "pw", "none"));
	if (strcmp(act, "nested") == 0)
		return json_string(json_str(
			json_get(json_array_get(
					 json_get(run->input, "instances"), 1),
				 "osparams_secret"),
			"pw", "none"));
	return json_incref(json_object_get(run->input, "value"));
}

static inline struct queue_gate *world_gate(void *arg, const struct job *j)
{
	(void)arg;
	return world.gate == NULL ? NULL : world.gate(j);
}

static inline void world_fatal(void *arg, const struct error *err)
{
	(void)arg;
	(void)err;
	world.fatal = true;
}

static inline int world_open(struct error *err)
{
	struct queue_config config = {
		.disk = &world.disk.disk,
		.dir = "/q",
		.store = world.store,
		.hooks = {.check_op = world_check,
			  .run_op = world_run,
			  .gate = world_gate,
			  .fatal = world_fatal},
		.max_running = world.max_running,
		.journal_size = world.journal_size,
	};

	task_set_owner(&world);
	world.queue = queue_open(&config, err);
	task_set_owner(NULL);
	return world.queue == NULL ? -1 : 0;
}

static inline void world_start(void)
{
	task_set_owner(&world);
	queue_start(world.queue);
	task_set_owner(NULL);
}

/* One turn of the loop, or the next timer; false when nothing is to be done
 * any more. */
static inline bool world_step(void)
{
	uv_loop_t *loop = uv_default_loop();

	if (uv_backend_timeout(loop) == 0) {
		uv_run(loop, UV_RUN_NOWAIT);
		return true;
	}
	if (timers_next() < 0)
		return false;
	if (timers_next() > world.now_us)
		world.now_us = timers_next();
	return timers_fire_one();
}

/* Let everything run that can without time passing. */
static inline void world_settle(void)
{
	uv_loop_t *loop = uv_default_loop();

	while (uv_backend_timeout(loop) == 0)
		uv_run(loop, UV_RUN_NOWAIT);
}

/* Run fn(arg) as a task, to its end. */
struct world_call {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

static inline void world_task(void *arg)
{
	struct world_call *call = arg;

	call->fn(call->arg);
	call->done = true;
}

static inline void world_do(void (*fn)(void *arg), void *arg)
{
	struct world_call call = {.fn = fn, .arg = arg};

	task_set_owner(&world);
	task_spawn("test", world_task, &call);
	task_set_owner(NULL);
	while (!call.done)
		cr_assert(world_step(), "stuck");
}

static inline void world_do_stop(void *arg)
{
	(void)arg;
	queue_stop(world.queue);
}

/* An orderly end. */
static inline void world_stop(void)
{
	world_do(world_do_stop, NULL);
	queue_close(world.queue);
	world.queue = NULL;
	while (tasks_count() > 0)
		cr_assert(world_step(), "a task is left");
}

/* As kill -9, followed by a power cut. */
static inline void world_crash(uint64_t seed)
{
	tasks_kill(&world);
	cr_assert_eq(tasks_count(), 0);
	world_settle();
	queue_close(world.queue);
	world.queue = NULL;
	fake_disk_crash(&world.disk, seed);
	world.fatal = false;
	cond_init(&world.locks);
	cond_init(&world.gate_changed);
}

static inline void world_setup(void)
{
	world = (struct world){.now_us = 1000000000,
			       .max_running = 2,
			       .journal_size = 64 * JOURNAL_ALIGN};
	mem_init();
	fake_disk_init(&world.disk);
	tasks_init(uv_default_loop());
	tasks_set_simulated(true);
	timers_set_simulated(true);
	clock_replace(world_now);
	cond_init(&world.locks);
	cond_init(&world.gate_changed);
}

/* For tests that begin with an empty queue. */
static inline void world_begin(void)
{
	struct error err;

	world_setup();
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
}

/* After world_stop() or world_crash(). */
static inline void world_reopen(void)
{
	struct error err;

	cr_assert_eq(world_open(&err), 0, "%s", err.text);
	world_start();
	world_settle();
}

/* Opcodes that hold go on. */
static inline void world_open_gate(void)
{
	world.open_gate = true;
	cond_signal(&world.gate_changed);
	world_settle();
}

static inline void world_teardown(void)
{
	if (world.queue != NULL)
		world_stop();
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	fake_disk_done(&world.disk);
	buf_done(&world.trace);
	clock_replace(NULL);
}

/* --- submitting --- */

/* One opcode; depends: JSON text or NULL. */
static inline json_t *world_op(const char *act, int priority,
			       const char *depends)
{
	json_t *op = json_make("{s:s, s:s, s:i, s:i, s:[]}", "OP_ID",
			       "OP_TEST_DUMMY", "act", act, "value", 42,
			       "priority", priority, "reason");
	struct error err;

	if (depends != NULL)
		json_object_set_new(op, "depends",
				    json_parse(depends, strlen(depends), &err));
	return op;
}

/* The opcodes of a job that has one. */
static inline json_t *world_one(const char *act, const char *depends)
{
	return json_make("[o]", world_op(act, 0, depends));
}

struct world_submit {
	const json_t *ops;
	uint64_t id;
	int rc;
	struct error err;
};

static inline void world_do_submit(void *arg)
{
	struct world_submit *s = arg;

	s->rc = queue_submit(world.queue, s->ops, false, &s->id, &s->err);
}

static inline uint64_t world_submit_ops(json_t *ops STEALS)
{
	struct world_submit s = {.ops = ops};

	world_do(world_do_submit, &s);
	json_decref(ops);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
	return s.id;
}

/* A job of one opcode, accepted. */
static inline uint64_t world_submit(const char *act)
{
	return world_submit_ops(world_one(act, NULL));
}

struct world_many {
	const json_t *jobs;
	json_t *answer;
};

static inline void world_do_many(void *arg)
{
	struct world_many *m = arg;
	struct error err;

	m->answer = queue_submit_many(world.queue, m->jobs, 0, &err);
	cr_assert_not_null(m->answer, "%s", err.text);
}

/* The answer about each job; to be freed. */
static inline json_t *world_submit_many(json_t *jobs STEALS)
{
	struct world_many m = {.jobs = jobs};

	world_do(world_do_many, &m);
	json_decref(jobs);
	return m.answer;
}

struct world_archive {
	uint64_t id;
	bool ok;
};

static inline void world_do_archive(void *arg)
{
	struct world_archive *a = arg;
	struct error err;

	cr_assert_eq(queue_archive(world.queue, a->id, &a->ok, &err), 0);
}

/* Whether it was archived. */
static inline bool world_archive(uint64_t id)
{
	struct world_archive a = {.id = id};

	world_do(world_do_archive, &a);
	return a.ok;
}

/* --- outcomes --- */

static inline void world_expect_trace(const char *expected)
{
	cr_assert_str_eq(world.trace.data == NULL ? "" : world.trace.data,
			 expected);
}

static inline void world_expect_many(json_t *jobs STEALS, const char *expected)
{
	auto_json json_t *answer = world_submit_many(jobs);
	auto_free char *text = json_text(answer);

	cr_assert_str_eq(text, expected, "%s", text);
}

static inline const char *world_status(uint64_t id)
{
	const struct job *j = queue_job(world.queue, id);

	return j == NULL ? "none" : job_state_name(job_status(j));
}

#define world_expect_status(id, expected)                                      \
	cr_assert_str_eq(world_status(id), expected, "job %ju is %s",          \
			 (uintmax_t)(id), world_status(id))

static inline void world_expect_field(uint64_t id, const char *field,
				      const char *expected)
{
	auto_json json_t *value = job_field(queue_job(world.queue, id), field);
	auto_free char *text = json_text(value);

	cr_assert_str_eq(text, expected, "%s of job %ju is %s", field,
			 (uintmax_t)id, text);
}

#endif
