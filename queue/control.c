/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on existing jobs: cancel, change of priority; and the drain flag.
 * Archiving is in archive.c. */
#include <assert.h>

#include "lib/base/clock.h"
#include "queue/queue_private.h"

/* How long a cancel waits for a job to give up its wait for locks. */
#define CANCEL_WAIT_US 10000000

/* The texts of answers, as Ganeti's luxid has them. */
#define TOO_LATE "Job no longer waiting, can't cancel (informed it anyway)"
#define KILLED "The job is ended at once, whatever it does"

static int answer(bool ok, char *text STEALS, bool *ret_ok, char **ret_text)
{
	*ret_ok = ok;
	*ret_text = text;
	return 0;
}

static int answer_unknown(uint64_t id, bool *ret_ok, char **ret_text)
{
	return answer(false,
		      xprintf("Job %ju not found in queue", (uintmax_t)id),
		      ret_ok, ret_text);
}

/* --- cancel --- */

struct cancel_wait {
	struct queue_watch watch;
	struct cond changed;
};

static void on_changed(struct queue_watch *w)
{
	cond_signal(&container_of(w, struct cancel_wait, watch)->changed);
}

static void cancel_wait_done(struct cancel_wait *w)
{
	queue_unwatch(&w->watch);
}

/* Wait until the job is final; its state, or that when time is up.  A job that
 * is gone was final. */
static WAITS enum job_state wait_final(struct queue *q, uint64_t id)
{
	__attribute__((cleanup(cancel_wait_done))) struct cancel_wait w = {
		.watch = {.id = id, .changed = on_changed},
	};
	int64_t deadline = clock_mono_us() + CANCEL_WAIT_US;
	struct job *j;

	cond_init(&w.changed);
	while ((j = job_find_live(q, id)) != NULL && !job_is_final(j)) {
		queue_watch(q, &w.watch);
		if (!cond_wait_until(&w.changed, deadline)) {
			j = job_find_live(q, id);
			break;
		}
	}
	return j == NULL ? JOB_CANCELED : job_status(j);
}

static WAITS int cancel_queued(struct queue *q, struct job *j, bool *ret_ok,
			       char **ret_text, struct error *err)
{
	uint64_t id = j->id;

	sched_withdraw(q, j);
	sched_kick(q);
	job_end_unstarted(j, JOB_CANCELED, NULL);
	if (job_save_wait(j, err) < 0)
		return -1;
	return answer(true, xprintf("Job %ju canceled", (uintmax_t)id), ret_ok,
		      ret_text);
}

/* Whatever the job waits for, it gives it up. */
static void interrupt(struct running *r)
{
	r->run.killed = true;
	if (r->task != NULL)
		task_interrupt(r->task);
}

static void begin_canceling(struct job *j, bool kill)
{
	struct running *r = j->private->running;
	size_t i = r->run.op_index;
	struct job *draft = job_edit(j);

	r->run.canceled = true;
	if (kill)
		interrupt(r);
	if (draft->ops[i].status == JOB_WAITING) {
		job_op_move(&draft->ops[i], JOB_CANCELING);
		job_show_waiting(j, i);
	}
	if (r->run.cancel != NULL)
		r->run.cancel(&r->run);
}

static WAITS int cancel_waiting(struct queue *q, struct job *j, bool kill,
				bool *ret_ok, char **ret_text)
{
	uint64_t id = j->id;
	enum job_state s;

	begin_canceling(j, kill);
	s = wait_final(q, id);
	if (s == JOB_CANCELED)
		return answer(true, xprintf("Job %ju canceled", (uintmax_t)id),
			      ret_ok, ret_text);
	if (job_state_is_final(s))
		return answer(false,
			      xprintf("Job %ju ended before it could be "
				      "canceled, with status '%s'",
				      (uintmax_t)id, job_state_name(s)),
			      ret_ok, ret_text);
	return answer(kill, xstrdup(kill ? KILLED : TOO_LATE), ret_ok,
		      ret_text);
}

static int cancel_running(struct job *j, bool kill, bool *ret_ok,
			  char **ret_text)
{
	struct running *r = j->private->running;

	r->run.canceled = true;
	if (kill)
		interrupt(r);
	if (r->run.cancel != NULL)
		r->run.cancel(&r->run);
	return answer(kill, xstrdup(kill ? KILLED : TOO_LATE), ret_ok,
		      ret_text);
}

int queue_cancel(struct queue *q, uint64_t id, bool kill, bool *ret_ok,
		 char **ret_text, struct error *err)
{
	struct job *j = job_find_live(q, id);
	const struct job *newest;
	enum job_state op;

	if (j == NULL)
		return answer_unknown(id, ret_ok, ret_text);
	newest = job_newest(j);
	if (job_is_final(newest))
		return answer(false,
			      xprintf("Job %ju has ended with status '%s'",
				      (uintmax_t)id,
				      job_state_name(job_status(newest))),
			      ret_ok, ret_text);
	if (j->private->running == NULL)
		return cancel_queued(q, j, ret_ok, ret_text, err);
	op = newest->ops[j->private->running->run.op_index].status;
	if (op == JOB_QUEUED || op == JOB_WAITING || op == JOB_CANCELING)
		return cancel_waiting(q, j, kill, ret_ok, ret_text);
	return cancel_running(j, kill, ret_ok, ret_text);
}

/* --- priority --- */

static void set_priority(struct job *draft, int priority)
{
	for (size_t i = 0; i < draft->n_ops; i++)
		if (!job_state_is_final(draft->ops[i].status))
			draft->ops[i].priority = priority;
}

int queue_change_priority(struct queue *q, uint64_t id, int priority,
			  bool *ret_ok, char **ret_text, struct error *err)
{
	struct job *j = job_find_live(q, id);
	struct running *r;

	if (priority < JOB_PRIORITY_MIN || priority > JOB_PRIORITY_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Priority %d is not between %d and %d",
				 priority, JOB_PRIORITY_MIN, JOB_PRIORITY_MAX);
	if (j == NULL)
		return answer_unknown(id, ret_ok, ret_text);
	if (job_is_final(job_newest(j)))
		return answer(false,
			      xprintf("Job %ju is finished", (uintmax_t)id),
			      ret_ok, ret_text);
	set_priority(job_edit(j), priority);
	sched_moved(j);
	r = j->private->running;
	if (r != NULL && r->run.set_priority != NULL)
		r->run.set_priority(&r->run, priority);
	if (job_save_wait(j, err) < 0)
		return -1;
	return answer(true,
		      xprintf("Priorities of pending opcodes for job %ju have "
			      "been changed to %d",
			      (uintmax_t)id, priority),
		      ret_ok, ret_text);
}

/* --- drain --- */

bool queue_drained(const struct queue *q)
{
	return q->drained;
}

int queue_set_drained(struct queue *q, bool drained, struct error *err)
{
	struct store_change *c = store_change_new();

	c->may_fail = true;
	if (drained)
		store_change_write(c, "drain", xstrdup(""));
	else
		store_change_remove(c, "drain");
	if (store_commit(q->store, c, err) < 0)
		return -1;
	q->drained = drained;
	return 0;
}
