/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that store jobs in the history and that compare it with the
 * archive share. */
#ifndef QUEUE_HISTORY_PRIVATE_H
#define QUEUE_HISTORY_PRIVATE_H

#include "lib/event/timer.h"
#include "queue/history.h"
#include "queue/history/history_db.h"
#include "queue/queue_private.h"

/* Jobs that are stored in one transaction. */
#define HISTORY_BATCH 200

enum history_state { HISTORY_CLOSED, HISTORY_COMPARING, HISTORY_READY };

struct pending {
	struct list link;
	struct job *job;
};

struct history {
	struct queue *queue;
	char *path;
	struct history_db *db;
	enum history_state state;
	bool working, stopping, remake;
	bool complained; /* the present error has been logged */
	struct list archived;
	size_t n_archived;
	bool forgot;	   /* some waiting jobs were dropped: compare again */
	uint64_t *changed; /* ids of changed live jobs */
	size_t n_changed, cap_changed;
	int64_t changed_since_us;
	bool changed_due;
	struct timer timer;
	struct cond progress;
	struct work work;
};

/* Store jobs and remove ids in one transaction.  Blocks: to be called beside
 * the loop. */
int history_write(struct history_db *db, struct job *const *jobs, size_t n,
		  const uint64_t *removed, size_t n_removed, struct error *err);
/* Store these jobs, which are freed. */
WAITS int history_put(struct history *h, struct job **jobs, size_t n,
		      struct error *err);
/* Store the jobs that were archived meanwhile. */
WAITS int history_put_waiting(struct history *h, struct error *err);

/* --- history_compare.c --- */

/* Bring the history in line with each folder of the archive.  Returns early
 * when h says that it stops or begins anew. */
WAITS int history_compare_archive(struct history *h, struct error *err);

#endif
