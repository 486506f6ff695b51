/* SPDX-License-Identifier: BSD-2-Clause */
/* Gates: rules of those above about which queued jobs may start.  A job that
 * would start but for its gate waits in the gate's own heap, so that those
 * behind a closed gate cost nothing; each job that leaves lets the next one try
 * again. */
#include "queue/queue_private.h"

static struct queue_gate *ask(struct queue *q, struct job *j)
{
	const struct queue_hooks *hooks = &q->config.hooks;

	return hooks->gate == NULL ? NULL : hooks->gate(hooks->arg, j);
}

bool gate_assign(struct queue *q, struct job *j)
{
	struct queue_gate *g = ask(q, j);

	if (g == NULL || !g->reject) {
		j->private->gate = g;
		return true;
	}
	heap_remove(j);
	job_end_unstarted(j, JOB_CANCELED, NULL);
	job_save(j);
	return false;
}

static bool is_open(const struct queue_gate *g)
{
	return g->n_running < g->limit;
}

static void enter(struct job *j, struct queue_gate *g)
{
	j->private->gate = g;
	j->private->passed = true;
	g->n_running++;
}

bool gate_pass(struct job *j)
{
	struct queue_gate *g = j->private->gate;

	if (g == NULL)
		return true;
	if (!is_open(g)) {
		heap_add(&g->held, j);
		return false;
	}
	enter(j, g);
	return true;
}

void gate_left(struct queue *q, struct job *j)
{
	struct queue_gate *g = j->private->gate;

	if (g == NULL)
		return;
	if (j->private->passed)
		g->n_running--;
	j->private->passed = false;
	j->private->gate = NULL;
	if (g->held.n > 0 && is_open(g)) {
		struct job *next = g->held.jobs[0];

		heap_remove(next);
		heap_add(&q->ready, next);
	}
}

static void forget_gate(struct queue *q, struct job *j)
{
	struct job_private *p = j->private;

	if (p->heap != NULL && p->heap != &q->ready) {
		heap_remove(j);
		heap_add(&q->ready, j);
	}
	p->gate = NULL;
	p->passed = false;
}

void queue_gates_changed(struct queue *q)
{
	for (struct job *j = job_index_next(&q->jobs, 0); j != NULL;
	     j = job_index_next(&q->jobs, j->id)) {
		struct queue_gate *g;

		forget_gate(q, j);
		if (j->private->unborn || job_is_final(job_newest(j)))
			continue;
		if (!j->private->has_slot) {
			gate_assign(q, j);
			continue;
		}
		g = ask(q, j);
		if (g != NULL)
			enter(j, g);
	}
	sched_kick(q);
}

void queue_gate_done(struct queue_gate *g)
{
	heap_done(&g->held);
}
