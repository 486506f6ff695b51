/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for changes of a job: each job has a list, so that a change costs
 * only those who wait for this job.  Clients that ask again and again about all
 * jobs look at the state numbers of the pages instead. */
#include "queue/queue_private.h"

void queue_watch(struct queue *q, struct queue_watch *w)
{
	struct job *j = job_index_get(&q->jobs, w->id);

	queue_unwatch(w);
	list_init(&w->link);
	if (j != NULL && !j->private->unborn)
		list_append(&j->private->watches, &w->link);
}

void queue_unwatch(struct queue_watch *w)
{
	if (w->link.next != NULL)
		list_remove(&w->link);
}

void watch_changed(struct job *j)
{
	struct list told;

	job_index_changed(&j->private->queue->jobs, j->id);
	/* A callback may watch again; it is told at the next change. */
	list_move_all(&told, &j->private->watches);
	while (!list_empty(&told)) {
		struct queue_watch *w =
			list_first(&told, struct queue_watch, link);

		list_remove(&w->link);
		w->changed(w);
	}
}
