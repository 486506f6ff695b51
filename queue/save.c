/* SPDX-License-Identifier: BSD-2-Clause */
/* From the draft of a job to its durable, visible state. */
#include <assert.h>

#include "queue/queue_private.h"

/* One save on its way. */
struct saving {
	struct job *job;
	struct job *snapshot; /* what becomes visible */
};

char *queue_job_name(uint64_t id)
{
	return xprintf("job-%ju", (uintmax_t)id);
}

char *queue_archive_name(uint64_t id)
{
	return xprintf("archive/%ju/job-%ju", (uintmax_t)id / ARCHIVE_FOLDER,
		       (uintmax_t)id);
}

struct job *job_attach(struct queue *q, struct job *j)
{
	j->private = xalloc(sizeof(*j->private));
	j->private->queue = q;
	list_init(&j->private->watches);
	return j;
}

void job_keep_secrets(struct job *j, size_t op, json_t *secrets STEALS)
{
	struct job_private *p = j->private;

	if (secrets == NULL)
		return;
	if (p->secrets == NULL)
		p->secrets = xcalloc(j->n_ops, sizeof(*p->secrets));
	p->secrets[op] = secrets;
}

static void job_drop_secrets(struct job *j)
{
	struct job_private *p = j->private;

	for (size_t i = 0; p->secrets != NULL && i < j->n_ops; i++)
		json_decref(p->secrets[i]);
	free(p->secrets);
	p->secrets = NULL;
}

void job_destroy(struct job *j)
{
	struct job_private *p = j->private;

	job_drop_secrets(j);
	rate_limits_leave(p->queue, j);
	while (!list_empty(&p->watches))
		list_remove(p->watches.next);
	job_free(p->draft);
	queue_run_free(p->running);
	free(p->children);
	free(p);
	job_free(j);
}

struct job *job_edit(struct job *j)
{
	struct job_private *p = j->private;

	if (p->draft == NULL)
		p->draft = job_copy(j);
	return p->draft;
}

static void copy_waiting(struct job *j, size_t op)
{
	const struct job *draft = j->private->draft;

	j->start_us = draft->start_us;
	j->ops[op].status = draft->ops[op].status;
	j->ops[op].start_us = draft->ops[op].start_us;
}

/* What has become visible may be older than the state that an opcode waits for
 * its locks. */
static void keep_waiting(struct job *j)
{
	const struct running *r = j->private->running;
	size_t op = r == NULL ? 0 : r->run.op_index;
	enum job_state s = job_newest(j)->ops[op].status;

	if (r != NULL && (s == JOB_WAITING || s == JOB_CANCELING))
		copy_waiting(j, op);
}

void job_show_waiting(struct job *j, size_t op)
{
	copy_waiting(j, op);
	watch_changed(j);
}

/* A job that has durably ended gives its place to the next one. */
static void job_ended(struct queue *q, struct job *j)
{
	const struct queue_hooks *hooks = &q->config.hooks;

	job_drop_secrets(j);
	sched_left(q, j);
	sched_ended(q, j);
	sched_kick(q);
	if (hooks->ended != NULL && !j->private->ended_at_start)
		hooks->ended(hooks->arg, j);
}

static void drop_draft(struct job_private *p)
{
	if (p->n_saving > 0 || p->running != NULL)
		return;
	job_free(p->draft);
	p->draft = NULL;
}

static void on_saved(struct store_change *c, const struct error *err)
{
	auto_free struct saving *saving = c->arg;
	struct job *j = saving->job;
	struct job_private *p = j->private;
	struct queue *q = p->queue;
	bool was_final = job_is_final(j);

	p->n_saving--;
	q->n_saving--;
	if (err == NULL) {
		job_assign(j, saving->snapshot);
		keep_waiting(j);
	} else {
		job_free(saving->snapshot);
	}
	if (q->closed)
		return;
	if (err != NULL && p->running == NULL)
		sched_left(q, j);
	drop_draft(p);
	if (err == NULL) {
		if (!was_final && job_is_final(j))
			job_ended(q, j);
		queue_run_saved(j);
		history_changed(q->history, j);
		watch_changed(j);
	}
	if (q->n_running == 0 || q->n_saving == 0)
		cond_signal(&q->idle);
}

static struct store_change *begin_save(struct job *j)
{
	struct job_private *p = j->private;
	auto_free char *name = queue_job_name(j->id);
	struct store_change *c = store_change_new();
	struct saving *saving = xalloc(sizeof(*saving));

	assert(p->draft != NULL && !p->unborn);
	saving->job = j;
	saving->snapshot = job_copy(p->draft);
	store_change_write(c, name, job_to_text(p->draft));
	c->done = on_saved;
	c->arg = saving;
	p->n_saving++;
	p->queue->n_saving++;
	return c;
}

void job_save(struct job *j)
{
	struct store *store = j->private->queue->store;

	store_put(store, begin_save(j));
}

struct store_change *job_save_begin(struct job *j)
{
	struct store *store = j->private->queue->store;

	return store_begin(store, begin_save(j));
}

int job_save_wait(struct job *j, struct error *err)
{
	return store_wait(job_save_begin(j), err);
}
