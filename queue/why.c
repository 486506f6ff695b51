/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a job does not run yet.  It looks at all live jobs, since only people ask
 * for it. */
#include <string.h>

#include "lib/json/json.h"
#include "queue/queue_private.h"

/* The first live job on which j depends; 0: none. */
static uint64_t find_parent(struct queue *q, const struct job *j)
{
	for (size_t op = 0; op < j->n_ops; op++) {
		const char *text = j->ops[op].input;
		struct error err;
		auto_json json_t *input = json_parse(text, strlen(text), &err);
		const json_t *depend;
		size_t i;

		json_array_foreach (json_get(input, "depends"), i, depend) {
			uint64_t id = (uint64_t)json_integer_value(
				json_array_get(depend, 0));
			const struct job *parent = job_index_get(&q->jobs, id);

			if (parent != NULL && !job_is_final(parent))
				return id;
		}
	}
	return 0;
}

/* The job that has occupied a place for longest (a place of this gate, unless
 * NULL). */
static uint64_t find_oldest(struct queue *q, const struct queue_gate *gate)
{
	const struct job *oldest = NULL, *j;

	for (j = job_index_next(&q->jobs, 0); j != NULL;
	     j = job_index_next(&q->jobs, j->id)) {
		if (!j->private->has_slot ||
		    (gate != NULL && !gate_is_of(gate, j)))
			continue;
		if (oldest == NULL ||
		    job_newest(j)->start_us < job_newest(oldest)->start_us)
			oldest = j;
	}
	return oldest == NULL ? 0 : oldest->id;
}

static size_t count_before(const struct job *j)
{
	const struct job_heap *h = j->private->heap;
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += heap_before(h->jobs[i], j);
	return n;
}

void queue_why(struct queue *q, uint64_t id, struct queue_why *ret)
{
	const struct job *j = job_index_get(&q->jobs, id);
	const struct job_private *p;

	*ret = (struct queue_why){.kind = QUEUE_WAITS_NOT};
	if (j == NULL || j->private->unborn || job_is_final(j))
		return;
	p = j->private;
	if (p->has_slot) {
		ret->kind = job_status(job_newest(j)) == JOB_WAITING
				    ? QUEUE_WAITS_LOCKS
				    : QUEUE_WAITS_NOT;
		return;
	}
	if (p->n_parents > 0) {
		ret->kind = QUEUE_WAITS_JOB;
		ret->job = find_parent(q, j);
		return;
	}
	if (p->heap == NULL)
		return;
	ret->n_before = count_before(j);
	ret->limit = q->config.max_running;
	ret->kind = QUEUE_WAITS_PLACE;
	ret->gate = gate_holding(j);
	if (ret->gate != NULL) {
		ret->kind = QUEUE_WAITS_GATE;
		ret->limit = ret->gate->limit;
	}
	ret->job = find_oldest(q, ret->gate);
}
