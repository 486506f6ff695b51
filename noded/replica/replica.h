/* SPDX-License-Identifier: BSD-2-Clause */
/* This node's copy of the job queue, as a master candidate keeps it: a batch is
 * in the journal when it is answered, in the files some time later (lib/store).
 *
 * The copy is open while nobody else of this node has the queue.  It is opened
 * when it is needed and given up for the node's own master daemon. */
#ifndef NODED_REPLICA_REPLICA_H
#define NODED_REPLICA_REPLICA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

/* A journal of its own kind of size: it is made on each candidate, and a batch
 * that does not fit goes into its file at once. */
#define REPLICA_JOURNAL_SIZE (16 * 1024 * 1024)

/* At most so many bytes of files in one answer of replica_read(). */
#define REPLICA_READ_MAX (16 * 1024 * 1024)

struct replica_config {
	struct disk *disk;
	const char *dir;     /* .../queue */
	size_t journal_size; /* 0: REPLICA_JOURNAL_SIZE */

	/* Whether the node's own master daemon runs: then the queue is its, or
	 * about to be, and whoever only looks does not take it.  NULL: no. */
	bool (*owner_runs)(void *arg);
	/* The lock of the queue, which a master daemon has, too: a handle >=
	 * 0, or -1 with err when somebody else has it. */
	int (*lock)(void *arg, struct error *err);
	void (*unlock)(void *arg, int handle);
	void *arg;
};

struct replica;

struct replica *replica_create(const struct replica_config *config);
/* Gives it up as it is; no task may be in it. */
void replica_destroy(struct replica *r);

/* A file below the queue's folder ("job-1", "archive/0/job-1"). */
struct replica_file {
	char *name;
	char *text; /* NULL: it is gone */
	size_t len;
};

/* Make the changes durable; texts are taken over.  -1 with err: somebody else
 * has the queue, the disk is full, or a sync has failed, after which nothing is
 * taken any more until the daemon is started anew. */
WAITS int replica_update(struct replica *r, struct replica_file *files,
			 size_t n, struct error *err);

/* The same for a move; a file that is at `to` already is no error. */
WAITS int replica_move(struct replica *r, const char *from, const char *to,
		       struct error *err);

/* {name: hash of the content, 16 hex digits} of the files in the folder "" or
 * "archive/3"; with "" also {"archive/3": number of its jobs}.  own: the copy
 * is opened first, so all of it is durable; -1 where replica_update() would
 * fail. */
WAITS json_t *replica_list(struct replica *r, const char *folder, bool own,
			   struct error *err);

/* {name: text} of those that exist, as many as fit (at least one). */
WAITS json_t *replica_read(struct replica *r, const json_t *names,
			   struct error *err);

/* After a start: let what a crash left in the journal reach the files. */
WAITS void replica_tidy(struct replica *r);

/* Give the queue up for this node's own master daemon: what is durable stays
 * in the journal, which that daemon replays. */
WAITS void replica_release(struct replica *r);

/* Bring all into the files and give the queue up: the end of the daemon. */
WAITS void replica_finish(struct replica *r);

#endif
