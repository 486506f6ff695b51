/* SPDX-License-Identifier: BSD-2-Clause */
/* The history: an index of live and archived jobs in queue/history.db, by which
 * archived ones are found without reading their files.
 *
 * The files are the truth, never the history.  One task keeps it up to date
 * beside the loop.  At start, and after any error in it, it is compared with
 * the archive; until that is done queries read files.  All functions here
 * accept NULL, for a queue without a history. */
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
void history_free(struct history *h); /* after history_stop() */

/* Begin to compare it with the archive. */
void history_start(struct history *h);
/* Store what is known and end the task. */
WAITS void history_stop(struct history *h);

/* The job is durable in a new state. */
void history_changed(struct history *h, struct job *j);
/* The job was moved to the archive. */
void history_archived(struct history *h, const struct job *j);
/* Wait while too many archived jobs are not stored yet, up to a time limit. */
WAITS void history_keep_up(struct history *h);

/* Call fn with each archived job that the filter may let pass, in order of id.
 * The job is brief (no parameters, results and logs) and valid only during the
 * call.  1: these were all; 0: the history cannot answer now (fn may have been
 * called already); -1: fn returned false. */
WAITS int history_each(struct history *h, const json_t *qfilter,
		       WAITS bool (*fn)(const struct job *j, void *arg),
		       void *arg);

/* Build it anew from the files. */
void history_reindex(struct history *h);
struct work *history_work(struct history *h);

#endif
