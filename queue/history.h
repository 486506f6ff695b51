/* SPDX-License-Identifier: BSD-2-Clause */
/* The history: an index of live and archived jobs in queue/history.db, so that
 * archived ones are found without reading their files.
 *
 * It is never the truth.  One task brings it up to date beside the loop; at
 * start, and whenever something went wrong with it, it is compared with the
 * archive, and until that is done queries read files.  A queue without one
 * (NULL) is fine for all functions here. */
#ifndef QUEUE_HISTORY_H
#define QUEUE_HISTORY_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "queue/jobs/job.h"

struct history;
struct queue;
struct work;

struct history *history_create(struct queue *q);
void history_free(struct history *h); /* after history_stop, or a kill */

/* Begin to compare it with the archive. */
void history_start(struct history *h);
/* Let what is known get in; end. */
WAITS void history_stop(struct history *h);

/* A live job is durable in a new state. */
void history_changed(struct history *h, struct job *j);
/* A job has left for the archive. */
void history_archived(struct history *h, const struct job *j);
/* Wait while it lags behind too far, but not for long. */
WAITS void history_keep_up(struct history *h);

/* Call fn with each archived job that the filter may let pass, in order of id:
 * a brief one, without parameters, results and logs, good until fn returns.
 * 1 when that was all, 0 when the history could not tell it (fn may have been
 * called), -1 when fn returned false. */
WAITS int history_each(struct history *h, const json_t *qfilter,
		       bool (*fn)(const struct job *j, void *arg), void *arg);

/* Make it anew from the files. */
void history_reindex(struct history *h);
struct work *history_work(struct history *h);

#endif
