/* SPDX-License-Identifier: BSD-2-Clause */
/* One job in its task: opcode after opcode.
 *
 * Before an opcode does anything, its state "running" is durable; its checks,
 * which only look, need not wait for that.  The state "waiting" for locks need
 * not be durable, since after a crash both mean queued.  The task does not wait
 * for the last save: the job gives its place back when that save is durable. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "queue/jobs/secrets.h"
#include "queue/queue_private.h"

static struct running *running_of(struct queue_run *run)
{
	return container_of(run, struct running, run);
}

json_t *queue_run_preceding_failed(void)
{
	return json_make("[s, [s]]", error_kind_name(ERR_EXEC),
			 "Preceding opcode failed");
}

/* The start and exec times of an opcode are in order even if the clock was set
 * back. */
static int64_t now_after(int64_t earlier_us)
{
	int64_t now = clock_wall_us();

	return now > earlier_us ? now : earlier_us;
}

static void begin_op(struct running *r, size_t i)
{
	struct job *draft = job_edit(r->job);
	struct job_op *op = &draft->ops[i];

	op->start_us = now_after(draft->received_us);
	if (draft->start_us == 0)
		draft->start_us = op->start_us;
	job_op_move(op, JOB_WAITING);
	r->run.op_index = i;
	job_show_waiting(r->job, i);
}

static void cancel_from(struct job *draft, size_t i, int64_t now)
{
	auto_json json_t *result =
		json_make("[s, [s]]", error_kind_name(ERR_CANCELED),
			  "Job was canceled by request");

	job_end_rest(draft, i, JOB_CANCELED, result, now);
}

/* A job that was killed ends as if its process had died, as clients of Ganeti
 * know it; its log says what it was doing. */
static void kill_from(struct job *draft, size_t i, const struct error *err,
		      int64_t now)
{
	auto_free char *text =
		xprintf("detected death of job %ju", (uintmax_t)draft->id);
	auto_json json_t *result = json_string(text);

	job_log(draft, i, "message", json_string(err->text), now);
	for (size_t k = i; k < draft->n_ops; k++)
		job_op_reason(&draft->ops[k], JOB_DEATH_SOURCE, text, now);
	job_end_rest(draft, i, JOB_ERROR, result, now);
}

/* Opcode i has failed or was canceled. */
static void fail_op(struct running *r, size_t i, const struct error *err)
{
	struct job *draft = r->job->private->draft;
	struct job_op *op = &draft->ops[i];
	int64_t now = now_after(op->start_us);
	auto_json json_t *rest = queue_run_preceding_failed();

	if (r->run.killed && op->status == JOB_RUNNING) {
		kill_from(draft, i, err, now);
		return;
	}
	/* Who is killed while he waits has done nothing yet. */
	if ((err->kind == ERR_CANCELED || r->run.killed) && r->run.canceled) {
		cancel_from(draft, i, now);
		return;
	}
	job_op_end(op, JOB_ERROR, job_error_result(err), now);
	job_end_rest(draft, i + 1, JOB_ERROR, rest, now);
}

static void succeed_op(struct running *r, size_t i, json_t *result STEALS)
{
	struct job_op *op = &r->job->private->draft->ops[i];
	int64_t now = now_after(op->start_us);

	if (op->exec_us == 0)
		op->exec_us = now;
	if (op->status == JOB_WAITING) /* it needed no locks */
		job_op_move(op, JOB_RUNNING);
	job_op_end(op, JOB_SUCCESS, result, now);
}

/* The input of opcode i as stored, without secrets.  Only the job's own task
 * changes it. */
static WAITS json_t *stored_input(const struct job *j, size_t i,
				  struct error *err)
{
	const char *text = j->ops[i].input;
	size_t len = strlen(text);
	auto_free char *copy = NULL;
	auto_json json_t *input = NULL;

	if (len <= JSON_INLINE_MAX)
		return json_parse(text, len, err);
	/* A copy: a save may replace the job's state meanwhile. */
	copy = xmemdup(text, len + 1);
	task_leave();
	input = json_parse(copy, len, err);
	task_enter();
	return steal(&input);
}

/* The input of opcode i with its secrets. */
static WAITS json_t *full_input(const struct job *j, size_t i,
				struct error *err)
{
	json_t **secrets = j->private->secrets;
	auto_json json_t *input = stored_input(j, i, err);

	if (input == NULL ||
	    secrets_give(input, secrets == NULL ? NULL : secrets[i], err) < 0)
		return NULL;
	return steal(&input);
}

/* Returns false when the job has ended. */
static WAITS bool run_one(struct queue *q, struct running *r, size_t i)
{
	const struct queue_hooks *hooks = &q->config.hooks;
	struct error err = {.text = ""};
	auto_json json_t *input = NULL;
	json_t *result = NULL;

	if (r->run.canceled) {
		struct job *draft = job_edit(r->job);

		cancel_from(draft, i, now_after(draft->received_us));
		return false;
	}
	begin_op(r, i);
	input = full_input(r->job, i, &err);
	r->run.input = input;
	if (input != NULL)
		result = hooks->run_op(hooks->arg, &r->run, &err);
	r->run.cancel = NULL;
	r->run.set_priority = NULL;
	if (result == NULL) {
		fail_op(r, i, &err);
		return false;
	}
	succeed_op(r, i, result);
	return true;
}

static WAITS void job_task(void *arg)
{
	struct running *r = arg;
	struct job *j = r->job, *draft;
	struct queue *q = j->private->queue;

	r->task = task_self();
	for (size_t i = 0; i < j->n_ops; i++) {
		if (job_newest(j)->ops[i].status == JOB_SUCCESS)
			continue; /* it was done before a restart */
		if (!run_one(q, r, i))
			break;
		if (i + 1 < j->n_ops)
			job_save(j);
	}
	draft = job_edit(j);
	assert(job_is_final(draft));
	draft->end_us = now_after(draft->start_us);
	j->private->running = NULL;
	queue_run_free(r);
	job_save(j);
}

void queue_run_free(struct running *r)
{
	if (r == NULL)
		return;
	store_change_unref(r->starting);
	free(r);
}

/* --- what is behind the functions for run_op --- */

static int note_started(struct queue_run *run, struct error *err)
{
	struct running *r = running_of(run);
	struct job_op *op = &job_edit(r->job)->ops[run->op_index];

	if (run->canceled)
		return error_set(err, ERR_CANCELED, NULL,
				 "Job %ju was canceled", (uintmax_t)r->job->id);
	op->exec_us = now_after(op->start_us);
	job_op_move(op, JOB_RUNNING);
	store_change_unref(r->starting);
	r->starting = job_save_begin(r->job);
	return 0;
}

static WAITS int started_is_safe(struct queue_run *run, struct error *err)
{
	struct running *r = running_of(run);

	return r->starting == NULL ? 0 : store_wait(steal(&r->starting), err);
}

static void note_log(struct queue_run *run, const char *type,
		     json_t *message STEALS)
{
	struct running *r = running_of(run);

	job_log(job_edit(r->job), run->op_index, type, message,
		clock_wall_us());
	if (r->job->private->n_saving > 0)
		r->log_waits = true; /* with the next save */
	else
		job_save(r->job);
}

static int own_priority(const struct queue_run *run)
{
	return job_newest(run->job)->ops[run->op_index].priority;
}

/* The input of the running opcode, without secrets; its members may be
 * replaced, but must not be changed.  Most opcodes have no secrets; their input
 * is not parsed a second time. */
static WAITS json_t *input_without_secrets(struct queue_run *run)
{
	struct job *j = running_of(run)->job;
	json_t **secrets = j->private->secrets;
	struct error ignored; /* it was parsed when the opcode began */

	if (secrets == NULL || secrets[run->op_index] == NULL)
		return json_copy(json_unconst(run->input));
	return stored_input(job_newest(j), run->op_index, &ignored);
}

static WAITS void note_members(struct queue_run *run, const json_t *members)
{
	struct job *j = running_of(run)->job;
	auto_json json_t *input = input_without_secrets(run);

	json_object_update(input, json_unconst(members));
	job_op_set_input(&job_edit(j)->ops[run->op_index], input);
}

static WAITS json_t *submit_more(struct queue_run *run, const json_t *jobs,
				 bool ignore_drain, struct error *err)
{
	return queue_submit_many(run->queue, jobs,
				 ignore_drain ? QUEUE_IGNORES_DRAIN : 0, err);
}

static const struct queue_runner own_runner = {
	.started = note_started,
	.safe = started_is_safe,
	.log = note_log,
	.priority = own_priority,
	.fill = note_members,
	.submit = submit_more,
};

/* The opcode with which the job begins: a restart may have come between two. */
static size_t first_op(const struct job *j)
{
	size_t i = 0;

	while (i + 1 < j->n_ops && j->ops[i].status == JOB_SUCCESS)
		i++;
	return i;
}

void queue_run_start(struct queue *q, struct job *j)
{
	struct running *r = xalloc(sizeof(*r));
	char name[32];

	r->job = j;
	r->run.runner = &own_runner;
	r->run.queue = q;
	r->run.job = j;
	r->run.op_index = first_op(job_newest(j));
	j->private->running = r;
	snprintf(name, sizeof(name), "job %ju", (uintmax_t)j->id);
	task_spawn(name, job_task, r);
}

void queue_run_saved(struct job *j)
{
	struct running *r = j->private->running;

	if (r == NULL || !r->log_waits || j->private->n_saving > 0)
		return;
	r->log_waits = false;
	job_save(j);
}

/* --- for run_op --- */

int queue_run_started(struct queue_run *run, struct error *err)
{
	run->cancel = NULL;
	run->set_priority = NULL;
	return run->runner->started(run, err);
}

int queue_run_safe(struct queue_run *run, struct error *err)
{
	return run->runner->safe(run, err);
}

void queue_run_log(struct queue_run *run, const char *type,
		   json_t *message STEALS)
{
	run->runner->log(run, type, message);
}

int queue_run_priority(const struct queue_run *run)
{
	return run->runner->priority(run);
}

void queue_run_fill(struct queue_run *run, const json_t *members)
{
	run->runner->fill(run, members);
}

json_t *queue_run_submit(struct queue_run *run, const json_t *jobs,
			 bool ignore_drain, struct error *err)
{
	return run->runner->submit(run, jobs, ignore_drain, err);
}
