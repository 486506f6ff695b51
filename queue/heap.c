/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of jobs in the order of priority and id; each job knows its index in
 * it. */
#include <assert.h>

#include "queue/queue_private.h"

#define FIRST_CAP 64

bool heap_before(const struct job *a, const struct job *b)
{
	if (a->private->priority != b->private->priority)
		return a->private->priority < b->private->priority;
	return a->id < b->id;
}

static void put(struct job_heap *h, size_t i, struct job *j)
{
	h->jobs[i] = j;
	j->private->slot = i;
}

static void sift_up(struct job_heap *h, size_t i, struct job *j)
{
	while (i > 0 && heap_before(j, h->jobs[(i - 1) / 2])) {
		put(h, i, h->jobs[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(h, i, j);
}

static void sift_down(struct job_heap *h, size_t i, struct job *j)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n &&
		    heap_before(h->jobs[child + 1], h->jobs[child]))
			child++;
		if (!heap_before(h->jobs[child], j))
			break;
		put(h, i, h->jobs[child]);
		i = child;
	}
	put(h, i, j);
}

void heap_add(struct job_heap *h, struct job *j)
{
	assert(j->private->heap == NULL);
	j->private->priority = job_priority(job_newest(j));
	j->private->heap = h;
	if (h->n == h->cap) {
		h->cap = h->cap == 0 ? FIRST_CAP : h->cap * 2;
		h->jobs = xrealloc(h->jobs, h->cap * sizeof(*h->jobs));
	}
	sift_up(h, h->n++, j);
}

void heap_remove(struct job *j)
{
	struct job_heap *h = j->private->heap;
	size_t i = j->private->slot;
	struct job *last;

	if (h == NULL)
		return;
	j->private->heap = NULL;
	last = h->jobs[--h->n];
	if (last == j)
		return;
	if (i > 0 && heap_before(last, h->jobs[(i - 1) / 2]))
		sift_up(h, i, last);
	else
		sift_down(h, i, last);
}

void heap_done(struct job_heap *h)
{
	free(h->jobs);
	*h = (struct job_heap){0};
}
