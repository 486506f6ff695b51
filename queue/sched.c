/* SPDX-License-Identifier: BSD-2-Clause */
/* Which job may start: the most urgent of those that only wait for a place.
 * Each job has a list of the jobs that wait for its end.  Nothing here looks at
 * all jobs. */
#include <assert.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "queue/queue_private.h"

/* Telling a dependent job takes some 30 us: let others run after so many. */
#define YIELD_EVERY 100

/* --- starting --- */

void sched_kick(struct queue *q)
{
	while (q->started && !q->stopping && !q->counting && q->ready.n > 0 &&
	       q->n_running < q->config.max_running) {
		struct job *j = q->ready.jobs[0];

		heap_remove(j);
		if (!gate_pass(q, j))
			continue;
		j->private->has_slot = true;
		q->n_running++;
		queue_run_start(q, j);
	}
}

void sched_withdraw(struct queue *q, struct job *j)
{
	heap_remove(j);
	gate_left(q, j, false);
}

void sched_moved(struct job *j)
{
	struct job_heap *h = j->private->heap;

	if (h == NULL)
		return;
	heap_remove(j);
	heap_add(h, j);
}

void sched_left(struct queue *q, struct job *j)
{
	if (!j->private->has_slot)
		return;
	j->private->has_slot = false;
	q->n_running--;
	gate_left(q, j, true);
}

/* --- dependencies --- */

void job_end_unstarted(struct job *j, enum job_state to, const char *why)
{
	struct job *draft = job_edit(j);
	int64_t now = clock_wall_us();
	auto_json json_t *result = NULL;

	if (why != NULL)
		result = json_make("[s, [s]]",
				   error_kind_name(to == JOB_CANCELED
							   ? ERR_CANCELED
							   : ERR_EXEC),
				   why);
	job_end_rest(draft, 0, to, result, now);
	draft->end_us = now;
}

/* 0 if a parent that ended in this state lets the child run; else -1 with err,
 * and the state that the child gets. */
static int check_end(uint64_t id, enum job_state status, unsigned wanted,
		     enum job_state *ret_state, struct error *err)
{
	if ((wanted & (1u << status)) != 0)
		return 0;
	*ret_state = status == JOB_CANCELED ? JOB_CANCELED : JOB_ERROR;
	return error_set(err, ERR_EXEC, NULL,
			 "Job %ju, on which this job depends, ended with "
			 "status '%s'",
			 (uintmax_t)id, job_state_name(status));
}

static void add_child(struct job *parent, uint64_t id, unsigned wanted)
{
	struct job_private *p = parent->private;

	/* The array grows when its length is a power of two, by doubling. */
	if ((p->n_children & (p->n_children - 1)) == 0)
		p->children =
			xrealloc(p->children,
				 (p->n_children == 0 ? 1 : p->n_children * 2) *
					 sizeof(*p->children));
	p->children[p->n_children++] =
		(struct child){.id = id, .wanted = wanted};
}

static WAITS int archived_status(struct queue *q, uint64_t id,
				 enum job_state *ret_status, struct error *err)
{
	auto_free char *name = queue_archive_name(id);
	struct job *j = load_file(q, name, id, err);

	if (j == NULL)
		return error_set(err, ERR_EXEC, NULL,
				 "Job %ju, on which this job depends, does not "
				 "exist",
				 (uintmax_t)id);
	*ret_status = job_status(j);
	job_free(j);
	return 0;
}

static WAITS int depend_on(struct queue *q, struct job *j, uint64_t id,
			   unsigned wanted, enum job_state *ret_state,
			   struct error *err)
{
	struct job *parent = job_index_get(&q->jobs, id);
	enum job_state status = JOB_ERROR;

	*ret_state = JOB_ERROR;
	if (parent != NULL && !job_is_final(parent)) {
		add_child(parent, j->id, wanted);
		j->private->n_parents++;
		return 0;
	}
	if (parent != NULL)
		status = job_status(parent);
	else if (archived_status(q, id, &status, err) < 0)
		return -1;
	return check_end(id, status, wanted, ret_state, err);
}

/* An empty list stands for all ends but the one that was asked for: who cancels
 * a job does not want what was to follow it. */
static unsigned wanted_states(const json_t *names)
{
	const json_t *name;
	unsigned wanted = 0;
	size_t i;

	if (json_array_size(names) == 0)
		return 1u << JOB_SUCCESS | 1u << JOB_ERROR;
	json_array_foreach (names, i, name) {
		enum job_state s;

		if (json_is_string(name) &&
		    job_state_by_name(json_string_value(name), &s))
			wanted |= 1u << s;
	}
	return wanted;
}

int sched_depend(struct queue *q, struct job *j, enum job_state *ret_state,
		 struct error *err)
{
	for (size_t op = 0; op < j->n_ops; op++) {
		auto_json json_t *input = NULL;
		const json_t *depend;
		size_t i;

		/* Nearly all jobs depend on nothing: do not parse their
		 * opcodes. */
		if (strstr(j->ops[op].input, "\"depends\":[") == NULL)
			continue;
		input = json_parse(j->ops[op].input, strlen(j->ops[op].input),
				   err);
		if (input == NULL)
			return -1;
		json_array_foreach (json_get(input, "depends"), i, depend) {
			json_int_t id =
				json_integer_value(json_array_get(depend, 0));
			unsigned wanted =
				wanted_states(json_array_get(depend, 1));

			if (depend_on(q, j, (uint64_t)id, wanted, ret_state,
				      err) < 0)
				return -1;
		}
	}
	return 0;
}

void sched_born(struct queue *q, struct job *j)
{
	j->private->unborn = false;
	job_index_changed(&q->jobs, j->id);
	history_changed(q->history, j);
	if (j->private->draft != NULL) { /* a parent has ended badly */
		job_save(j);
		return;
	}
	if (job_status(j) != JOB_QUEUED || (q->started && !gate_assign(q, j)))
		return;
	if (j->private->n_parents == 0)
		heap_add(&q->ready, j);
}

static void parent_ended(struct queue *q, uint64_t parent,
			 enum job_state status, const struct child *child)
{
	struct job *j = job_index_get(&q->jobs, child->id);
	enum job_state state;
	struct error err;

	if (j == NULL || job_is_final(job_newest(j)))
		return;
	j->private->n_parents--;
	if (check_end(parent, status, child->wanted, &state, &err) < 0) {
		job_end_unstarted(j, state, err.text);
		if (!j->private->unborn)
			job_save(j);
		return;
	}
	if (j->private->n_parents == 0 && !j->private->unborn)
		heap_add(&q->ready, j);
}

/* Tell the jobs that depend on one that has ended. */
struct orphans {
	struct queue *queue;
	uint64_t parent;
	enum job_state status;
	struct child *children;
	size_t n;
};

/* From the one at `from` on, at most YIELD_EVERY. */
static void tell_orphans(const struct orphans *o, size_t from)
{
	for (size_t i = from; i < o->n && i < from + YIELD_EVERY; i++)
		if (!o->queue->closed)
			parent_ended(o->queue, o->parent, o->status,
				     &o->children[i]);
}

static WAITS void orphans_task(void *arg)
{
	auto_free struct orphans *o = arg;
	struct queue *q = o->queue;

	for (size_t i = 0; i < o->n && !q->closed; i += YIELD_EVERY) {
		if (i > 0)
			task_yield();
		tell_orphans(o, i);
		if (!q->closed)
			sched_kick(q);
	}
	free(o->children);
	if (--q->n_saving == 0 && !q->closed)
		cond_signal(&q->idle);
}

void sched_ended(struct queue *q, struct job *j)
{
	struct job_private *p = j->private;
	struct orphans o = {
		.queue = q,
		.parent = j->id,
		.status = job_status(j),
		.children = steal(&p->children),
		.n = p->n_children,
	};

	p->n_children = 0;
	if (o.n <= YIELD_EVERY) {
		tell_orphans(&o, 0);
		free(o.children);
		return;
	}
	q->n_saving++; /* queue_stop() waits for this */
	task_spawn("queue-orphans", orphans_task, xmemdup(&o, sizeof(o)));
}
