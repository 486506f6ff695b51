/* SPDX-License-Identifier: BSD-2-Clause */
/* What one does to jobs that exist: cancel, change the priority, archive; and
 * the drain flag. */
#include <assert.h>

#include "lib/base/clock.h"
#include "queue/queue_private.h"

/* How long a cancel waits for a job to let go of its wait for locks. */
#define CANCEL_WAIT_US 10000000

/* No sweep takes longer, whatever a client allows. */
#define AUTO_ARCHIVE_MAX_S 3600

/* Jobs are archived in groups of this size. */
#define ARCHIVE_GROUP 500

/* Answers as Ganeti's luxid gives them. */
#define TOO_LATE "Job no longer waiting, can't cancel (informed it anyway)"
#define KILLED "SIGKILL send to the process"

static int answer(bool ok, char *text STEALS, bool *ret_ok, char **ret_text)
{
	*ret_ok = ok;
	*ret_text = text;
	return 0;
}

static struct job *find_live(const struct queue *q, uint64_t id)
{
	struct job *j = job_index_get(&q->jobs, id);

	return j == NULL || j->private->unborn ? NULL : j;
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
static enum job_state wait_final(struct queue *q, uint64_t id)
{
	__attribute__((cleanup(cancel_wait_done))) struct cancel_wait w = {
		.watch = {.id = id, .changed = on_changed},
	};
	int64_t deadline = clock_mono_us() + CANCEL_WAIT_US;
	struct job *j;

	cond_init(&w.changed);
	while ((j = find_live(q, id)) != NULL && !job_is_final(j)) {
		queue_watch(q, &w.watch);
		if (!cond_wait_until(&w.changed, deadline)) {
			j = find_live(q, id);
			break;
		}
	}
	return j == NULL ? JOB_CANCELED : job_status(j);
}

static int cancel_queued(struct queue *q, struct job *j, bool *ret_ok,
			 char **ret_text, struct error *err)
{
	uint64_t id = j->id;

	sched_remove(q, j);
	job_end_unstarted(j, JOB_CANCELED, NULL);
	if (job_save_wait(j, err) < 0)
		return -1;
	return answer(true, xprintf("Job %ju canceled", (uintmax_t)id), ret_ok,
		      ret_text);
}

static void begin_canceling(struct job *j)
{
	struct running *r = j->private->running;
	size_t i = r->run.op_index;
	struct job *draft = job_edit(j);

	r->run.canceled = true;
	if (draft->ops[i].status == JOB_WAITING) {
		job_op_move(&draft->ops[i], JOB_CANCELING);
		job_show_waiting(j, i);
	}
	if (r->run.cancel != NULL)
		r->run.cancel(&r->run);
}

static int cancel_waiting(struct queue *q, struct job *j, bool *ret_ok,
			  char **ret_text)
{
	uint64_t id = j->id;
	enum job_state s;

	begin_canceling(j);
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
	return answer(false, xprintf(TOO_LATE), ret_ok, ret_text);
}

static int cancel_running(struct job *j, bool kill, bool *ret_ok,
			  char **ret_text)
{
	struct running *r = j->private->running;

	r->run.canceled = true;
	if (kill) {
		r->run.killed = true;
		task_interrupt(r->task);
	}
	if (r->run.cancel != NULL)
		r->run.cancel(&r->run);
	return answer(kill, xstrdup(kill ? KILLED : TOO_LATE), ret_ok,
		      ret_text);
}

int queue_cancel(struct queue *q, uint64_t id, bool kill, bool *ret_ok,
		 char **ret_text, struct error *err)
{
	struct job *j = find_live(q, id);
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
		return cancel_waiting(q, j, ret_ok, ret_text);
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
	struct job *j = find_live(q, id);
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
	if (j->private->slot != 0) {
		sched_remove(q, j);
		sched_add(q, j);
	}
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

/* --- archive --- */

struct archiving {
	struct queue *queue;
	size_t n;
	uint64_t ids[ARCHIVE_GROUP];
};

static void forget(struct queue *q, struct job *j)
{
	job_index_remove(&q->jobs, j->id);
	j->archived = true;
	/* Who watches looks again and finds it gone. */
	watch_changed(j);
	job_destroy(j);
}

static void on_archived(struct store_change *c, const struct error *err)
{
	auto_free struct archiving *a = c->arg;
	struct queue *q = a->queue;

	q->n_saving--;
	for (size_t i = 0; i < a->n && !q->closed; i++) {
		struct job *j = job_index_get(&q->jobs, a->ids[i]);

		j->private->archiving = false;
		if (err == NULL)
			forget(q, j);
	}
	if (q->n_saving == 0 && !q->closed)
		cond_signal(&q->idle);
}

static struct store_change *begin_archiving(struct queue *q)
{
	struct store_change *c = store_change_new();
	struct archiving *a = xalloc(sizeof(*a));

	a->queue = q;
	c->done = on_archived;
	c->arg = a;
	c->may_fail = true;
	return c;
}

static bool can_be_archived(const struct job *j)
{
	return !j->private->unborn && !j->private->archiving &&
	       j->private->n_saving == 0 && j->private->running == NULL &&
	       job_is_final(j);
}

static void archive_add(struct store_change *c, struct job *j)
{
	auto_free char *from = queue_job_name(j->id);
	auto_free char *to = queue_archive_name(j->id);
	struct archiving *a = c->arg;
	bool replicated = a->queue->config.hooks.replicate != NULL;

	assert(a->n < ARCHIVE_GROUP);
	j->private->archiving = true;
	a->ids[a->n++] = j->id;
	store_change_move(c, from, to, replicated ? job_to_text(j) : NULL);
}

int queue_archive(struct queue *q, uint64_t id, bool *ret_ok, struct error *err)
{
	struct job *j = find_live(q, id);
	struct store_change *c;

	*ret_ok = false;
	if (j == NULL || !can_be_archived(j))
		return 0;
	c = begin_archiving(q);
	archive_add(c, j);
	q->n_saving++;
	if (store_commit(q->store, c, err) < 0)
		return -1;
	*ret_ok = true;
	return 0;
}

static bool old_enough(const struct job *j, int64_t age_s, int64_t now_us)
{
	int64_t end = j->end_us != 0 ? j->end_us : j->received_us;

	return age_s < 0 || end / 1000000 < now_us / 1000000 - age_s;
}

/* Jobs above `after` that have not been looked at. */
static size_t count_after(struct queue *q, uint64_t after)
{
	size_t n = 0;

	for (struct job *j = job_index_next(&q->jobs, after); j != NULL;
	     j = job_index_next(&q->jobs, j->id))
		n++;
	return n;
}

/* Archive the next group after *at, which moves on; a smaller one is the
 * last. */
static int archive_group(struct queue *q, int64_t age_s, uint64_t *at,
			 size_t *ret_n, struct error *err)
{
	struct store_change *c = begin_archiving(q);
	struct archiving *a = c->arg;
	int64_t now = clock_wall_us();
	struct job *j = NULL;
	size_t n;

	while (a->n < ARCHIVE_GROUP &&
	       (j = job_index_next(&q->jobs, *at)) != NULL) {
		*at = j->id;
		if (can_be_archived(j) && old_enough(j, age_s, now))
			archive_add(c, j);
	}
	n = *ret_n = a->n;
	if (n == 0) {
		free(a);
		store_change_drop(c);
		return 0;
	}
	q->n_saving++;
	return store_commit(q->store, c, err);
}

int queue_auto_archive(struct queue *q, int64_t age_s, int64_t timeout_s,
		       size_t *ret_archived, size_t *ret_left,
		       struct error *err)
{
	int64_t limit_s =
		timeout_s < AUTO_ARCHIVE_MAX_S ? timeout_s : AUTO_ARCHIVE_MAX_S;
	int64_t deadline = clock_mono_us() + limit_s * 1000000;
	size_t archived = 0, n = 0;
	uint64_t at = 0;

	do {
		if (archive_group(q, age_s, &at, &n, err) < 0)
			return -1;
		archived += n;
	} while (n == ARCHIVE_GROUP && clock_mono_us() < deadline);
	*ret_archived = archived;
	*ret_left = n == ARCHIVE_GROUP ? count_after(q, at) : 0;
	return 0;
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
