/* SPDX-License-Identifier: BSD-2-Clause */
/* Gates: rules that say which queued jobs may start, both of the admin (from
 * above) and of the jobs themselves (rate_limits.c).  A job that could start
 * but for a gate waits in a heap of that gate, so that jobs behind a closed
 * gate cost nothing.  When a job leaves the gate, the next one in its heap
 * tries again.  A job may have several gates: when one lets it try and another
 * one holds it, the next job of the first gate tries in its place. */
#include "queue/queue_private.h"

/* A rule may take a millisecond per job: let others run after this many. */
#define YIELD_EVERY 10

static struct queue_gate *ask(struct queue *q, struct job *j)
{
	const struct queue_hooks *hooks = &q->config.hooks;

	return hooks->gate == NULL ? NULL : hooks->gate(hooks->arg, j);
}

bool gate_assign(struct queue *q, struct job *j)
{
	struct queue_gate *g = ask(q, j);

	j->private->gates_seen = q->n_gates_changed;
	if (g == NULL || !g->reject) {
		j->private->gate = g;
		if (j->private->n_limits == 0)
			rate_limits_join(q, j);
		return true;
	}
	sched_withdraw(q, j);
	job_end_unstarted(j, JOB_CANCELED, g->why);
	job_save(j);
	return false;
}

/* --- the gates of a job, one after the other --- */

static size_t n_gates(const struct job_private *p)
{
	return 1 + p->n_limits;
}

static struct queue_gate *gate_at(const struct job_private *p, size_t i)
{
	return i == 0 ? p->gate : rate_limit_gate(p->limits[i - 1]);
}

struct queue_gate *gate_holding(const struct job *j)
{
	const struct job_private *p = j->private;

	for (size_t i = 0; i < n_gates(p); i++) {
		struct queue_gate *g = gate_at(p, i);

		if (g != NULL && p->heap == &g->held)
			return g;
	}
	return NULL;
}

bool gate_is_of(const struct queue_gate *g, const struct job *j)
{
	for (size_t i = 0; i < n_gates(j->private); i++)
		if (gate_at(j->private, i) == g)
			return true;
	return false;
}

/* --- through them --- */

static bool is_open(const struct queue_gate *g)
{
	return g->n_running < g->limit;
}

static struct queue_gate *find_closed(const struct job_private *p)
{
	for (size_t i = 0; i < n_gates(p); i++) {
		struct queue_gate *g = gate_at(p, i);

		if (g != NULL && !is_open(g))
			return g;
	}
	return NULL;
}

/* At each open gate that j has to pass, let the next job in the heap try
 * again. */
static void wake_next(struct queue *q, struct job *j)
{
	for (size_t i = 0; i < n_gates(j->private); i++) {
		struct queue_gate *g = gate_at(j->private, i);
		struct job *next;

		if (g == NULL || !is_open(g) || g->held.n == 0)
			continue;
		next = g->held.jobs[0];
		heap_remove(next);
		heap_add(&q->ready, next);
	}
}

/* Whether it was asked for j what its gate is since that changed. */
static bool has_newest(const struct queue *q, const struct job *j)
{
	return j->private->gates_seen == q->n_gates_changed;
}

bool gate_pass(struct queue *q, struct job *j)
{
	struct queue_gate *closed;

	if (!has_newest(q, j) && !gate_assign(q, j))
		return false;
	closed = find_closed(j->private);
	if (closed != NULL) {
		heap_add(&closed->held, j);
		wake_next(q, j);
		return false;
	}
	for (size_t i = 0; i < n_gates(j->private); i++) {
		struct queue_gate *g = gate_at(j->private, i);

		if (g != NULL)
			g->n_running++;
	}
	return true;
}

void gate_left(struct queue *q, struct job *j, bool ran)
{
	for (size_t i = 0; i < n_gates(j->private); i++) {
		struct queue_gate *g = gate_at(j->private, i);

		if (ran && g != NULL)
			g->n_running--;
	}
	wake_next(q, j);
	j->private->gate = NULL;
	rate_limits_leave(q, j);
}

/* --- when they have changed --- */

static void forget_gate(struct queue *q, struct job *j)
{
	struct job_private *p = j->private;

	if (p->heap != NULL && p->heap != &q->ready) {
		heap_remove(j);
		heap_add(&q->ready, j);
	}
	if (p->has_slot && p->gate != NULL)
		p->gate->n_running--;
	p->gate = NULL;
}

static void ask_again(struct queue *q, struct job *j)
{
	struct job_private *p = j->private;

	/* It came in, or was to start, meanwhile. */
	if (has_newest(q, j))
		return;
	forget_gate(q, j);
	if (p->unborn || job_is_final(job_newest(j)))
		return;
	if (!p->has_slot) {
		gate_assign(q, j);
		return;
	}
	p->gate = ask(q, j);
	p->gates_seen = q->n_gates_changed;
	if (p->gate != NULL)
		p->gate->n_running++;
}

static bool runs(const struct job *j)
{
	return j->private->has_slot;
}

static bool any(const struct job *j)
{
	(void)j;
	return true;
}

/* Of at most max jobs above *id, the last one that was looked at, those that
 * are wanted.  False: these were all. */
static bool ask_some(struct queue *q, bool (*wanted)(const struct job *j),
		     uint64_t *id, size_t max)
{
	for (size_t i = 0; i < max; i++) {
		struct job *j = job_index_next(&q->jobs, *id);

		if (j == NULL)
			return false;
		*id = j->id;
		if (wanted(j))
			ask_again(q, j);
	}
	return true;
}

static WAITS void ask_all(struct queue *q, bool (*wanted)(const struct job *j))
{
	uint64_t id = 0;

	while (ask_some(q, wanted, &id, YIELD_EVERY))
		if (task_self() != NULL)
			task_yield();
}

/* A gate knows how many jobs run behind it before it lets another one pass; so
 * those that run come first, and what starts later than that has its new gate
 * then. */
void queue_gates_changed(struct queue *q)
{
	q->n_gates_changed++;
	q->counting = true;
	ask_all(q, runs);
	q->counting = false;
	sched_kick(q);
	ask_all(q, any);
	sched_kick(q);
}

void gates_start(struct queue *q)
{
	uint64_t id = 0;

	q->n_gates_changed++;
	ask_some(q, any, &id, SIZE_MAX);
	sched_kick(q);
}

void queue_gate_done(struct queue_gate *g)
{
	heap_done(&g->held);
}
