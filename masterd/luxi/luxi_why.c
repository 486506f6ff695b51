/* SPDX-License-Identifier: BSD-2-Clause */
/* QueryJobWhy: the chain of jobs that a job waits for.  Each step names a job,
 * the reason why it does not go on, and the job that the next step is about.
 * The last job of the chain runs, has ended, or waits for something that no job
 * can do. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "masterd/jobs/lock_object.h"
#include "masterd/luxi/luxi_calls.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"

/* A chain ends by itself, as a job waits only for earlier ones; this only
 * limits the length of the answer. */
#define STEPS_MAX 1000

static const char *mode(bool exclusive)
{
	return exclusive ? "exclusive" : "shared";
}

static double seconds_since(int64_t earlier_us, int64_t now_us)
{
	return earlier_us == 0 || now_us < earlier_us
		       ? 0
		       : (double)(now_us - earlier_us) / 1e6;
}

/* The opcode that the job is running, or has to run next, or its last one.
 * NULL: a file of a job may have none; such a job has ended. */
static const struct job_op *current_op(const struct job *j)
{
	for (size_t i = 0; i < j->n_ops; i++)
		if (!job_state_is_final(j->ops[i].status))
			return &j->ops[i];
	return j->n_ops == 0 ? NULL : &j->ops[j->n_ops - 1];
}

static json_t *step_new(const struct job *j, const char *why)
{
	const struct job_op *op = current_op(j);

	return json_make("{s:I, s:s, s:s?, s:s}", "id", (json_int_t)j->id,
			 "status", job_state_name(job_status(j)), "opcode",
			 op == NULL ? NULL : op->summary, "why", why);
}

/* Which lock the job waits for and which job is in its way; returns the id of
 * that job. */
static uint64_t add_lock(struct master *m, const struct lock_request *r,
			 json_t *step)
{
	struct lock_block b;
	auto_free char *text = NULL;

	locks_blocked(r, &b);
	if (b.by == NULL)
		return 0;
	text = lock_object_text(m->config, b.level, b.name);
	json_set_str(step, "lock", text);
	json_set_str(step, "mode", mode(b.exclusive));
	json_set_int(step, "before", (int64_t)b.n_before);
	json_set_str(step, "other_mode", mode(b.by_exclusive));
	json_set_bool(step, "other_holds", b.by_holds);
	if (b.by_holds)
		json_object_set_new(step, "seconds",
				    json_real(seconds_since(b.by->granted_us,
							    clock_mono_us())));
	return b.by->owner;
}

static json_t *lock_step(struct master *m, const struct job *j,
			 uint64_t *ret_next)
{
	const struct lock_request *r = locks_waiting(m->locks, j->id);
	json_t *step;

	if (r == NULL) /* it has its locks and is just about to run */
		return step_new(j, "starts");
	step = step_new(j, "lock");
	*ret_next = add_lock(m, r, step);
	return step;
}

/* A final job, with the error of the first opcode that failed. */
static json_t *ended_step(const struct job *j)
{
	json_t *step = step_new(j, "ended");

	for (size_t i = 0; i < j->n_ops; i++) {
		const char *text = j->ops[i].result;
		struct error ignored, failure;
		auto_json json_t *result = NULL;

		if (j->ops[i].status == JOB_SUCCESS || text == NULL)
			continue;
		result = json_parse(text, strlen(text), &ignored);
		if (!json_is_array(result))
			continue;
		luxi_error_unpack(result, &failure);
		json_set_str(step, "error", failure.text);
		break;
	}
	return step;
}

/* A job that does not wait for another one. */
static json_t *last_step(const struct job *j)
{
	json_t *step;

	if (job_is_final(j))
		return ended_step(j);
	if (job_status(j) == JOB_QUEUED)
		return step_new(j, "starts");
	step = step_new(j, "runs");
	json_object_set_new(step, "seconds",
			    json_real(seconds_since(current_op(j)->exec_us,
						    clock_wall_us())));
	return step;
}

static json_t *make_step(struct master *m, const struct job *j,
			 uint64_t *ret_next)
{
	struct queue_why why;
	const char *name;
	json_t *step;

	queue_why(m->queue, j->id, &why);
	*ret_next = why.job;
	switch (why.kind) {
	case QUEUE_WAITS_LOCKS:
		return lock_step(m, j, ret_next);
	case QUEUE_WAITS_JOB:
		return step_new(j, "depends");
	case QUEUE_WAITS_GATE:
		name = why.gate->by_reason ? "reason" : "filter";
		step = step_new(j, name);
		json_set_str(step, name, why.gate->name);
		break;
	case QUEUE_WAITS_PLACE:
		step = step_new(j, "places");
		break;
	default:
		return last_step(j);
	}
	json_set_int(step, "limit", why.limit);
	json_set_int(step, "before", (int64_t)why.n_before);
	return step;
}

static WAITS json_t *archived_step(struct master *m, uint64_t id,
				   struct error *err)
{
	struct job *j = queue_archived(m->queue, id, err);
	json_t *step;

	if (j == NULL) {
		error_set(err, ERR_PREREQ, ECODE_NOENT,
			  "Job '%" PRIu64 "' not known", id);
		return NULL;
	}
	step = ended_step(j);
	json_set_bool(step, "archived", true);
	job_free(j);
	return json_make("[o]", step);
}

static WAITS json_t *why(struct master *m, const json_t *args,
			 struct error *err)
{
	json_t *steps;
	uint64_t id;

	if (luxi_job_id(json_array_get(args, 0), &id, err) < 0)
		return NULL;
	if (queue_job(m->queue, id) == NULL)
		return archived_step(m, id, err);
	steps = json_array();
	while (id != 0 && json_array_size(steps) < STEPS_MAX) {
		const struct job *j = queue_job(m->queue, id);
		json_t *step;

		if (j == NULL)
			break;
		step = make_step(m, j, &id);
		json_object_set_new(step, "next",
				    id == 0 ? json_null()
					    : json_integer((json_int_t)id));
		json_array_append_new(steps, step);
	}
	return steps;
}

static bool waits(struct master *m, const json_t *args)
{
	struct error err;
	uint64_t id;

	return luxi_job_id(json_array_get(args, 0), &id, &err) == 0 &&
	       queue_job(m->queue, id) == NULL;
}

const struct luxi_method luxi_QueryJobWhy = {.run = why, .waits = waits};
