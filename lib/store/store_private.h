/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the store share: store.c commits, store_files.c brings
 * what is committed into the files, store_open.c opens and closes,
 * store_change.c builds changes, store_read.c reads.  store_log.c commits in a
 * log that others have, too, where the store has no journal of its own.
 *
 * Two tasks work, each there only while it has something to do: "queue commit"
 * takes what is pending, writes and syncs the journal and tells the waiting;
 * "queue files" writes the overlay into the files, syncs them all at once and
 * marks the journal.  What the second one is writing is put aside in
 * `writing`, and new changes gather above it in `dirty`.
 *
 * `covered` is the number of the newest record whose changes are all in files;
 * a half of the journal is free when it holds no newer one.  With a log,
 * numbers are its indexes. */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include "lib/event/timer.h"
#include "lib/store/overlay.h"
#include "lib/store/store.h"

#define STORE_FILE_MODE 0640
#define STORE_FOLDER_MODE 0750

struct store_op {
	enum journal_kind kind;
	char *name;
	char *text; /* WRITE: the content */
	size_t len;
	char *from;	 /* MOVE */
	uint64_t number; /* CUT */
};

struct store {
	struct store_config config;
	char *dir;
	struct journal journal;
	struct list pending; /* changes that nobody works on yet */
	struct list batch;   /* those that the commit task has taken */
	bool committing, writing_files;
	struct cond changed; /* a task has ended, or files were written */
	struct overlay dirty, writing;
	int64_t dirty_since_us;
	uint64_t applied; /* newest record whose changes are in the overlay */
	uint64_t covered;
	uint64_t covering;  /* `covered`, when what is being written is in files
			     */
	uint64_t n_written; /* times that the overlay went into the files */
	struct timer timer;
	bool settled;	  /* store_settle() was called */
	bool closed;	  /* flushed for the last time */
	bool failed;	  /* a sync has: no more writing at all */
	bool only_writes; /* or rather: what could not be refused was not
			     written */
	bool full;
	bool stuck; /* and so is the journal: a record waits for room */
	int64_t full_logged_us;
	struct error why; /* failed or full */
};

/* Blocking calls run beside the loop, when a task makes them. */
static inline void store_leave(void)
{
	if (task_name() != NULL)
		task_leave();
}

static inline WAITS void store_enter(void)
{
	if (task_name() != NULL)
		task_enter();
}

/* --- store_change.c --- */

struct store_op *store_change_add(struct store_change *c,
				  enum journal_kind kind, const char *name);
/* Tell who waits for c, and forget it. */
void store_change_finish(struct store_change *c, const struct error *err);

/* --- store.c --- */

/* The next record of the batch. */
struct store_record {
	struct buf bytes;
	size_t n; /* operations */
};
#define auto_record __attribute__((cleanup(store_record_done)))

void store_record_build(struct store *s, struct store_record *r);
void store_record_done(struct store_record *r);
/* It is durable: its operations are in the overlay now. */
void store_apply(struct store *s, struct store_record *r);
/* Finish the changes that the first n operations of the batch complete. */
void store_finish_written(struct store *s, size_t n);
/* Finish all with an error: s->why. */
void store_finish_failed(struct store *s);

/* Finish with an error the changes that may fail (may_fail); false if there
 * were none. */
bool store_refuse(struct list *changes, const struct error *err);

/* --- store_log.c --- */

/* Commit a record of the batch in the log of config.commit. */
WAITS void store_commit_in_log(struct store *s, struct store_record *r);
/* The same for all that was given before store_settle(). */
WAITS int store_settle_in_log(struct store *s, struct error *err);
/* The last write of files has brought all up to s->covered. */
void store_tell_written(struct store *s);

/* --- store_open.c --- */

/* Note in the overlay what an entry says. */
void store_replay(struct store *s, const struct journal_entry *e);

/* --- store_files.c --- */

/* Something was committed: write the files soon; or at once. */
void store_plan_writing(struct store *s);
void store_start_writing(struct store *s);
/* Bring all that is durable now into the files. */
WAITS int store_write_files(struct store *s);
/* Write nothing any more; what waits is answered with err. */
void store_end(struct store *s, const struct error *err);
/* The same after a sync that failed: above has to know. */
void store_set_failed(struct store *s, const struct error *err);
void store_on_timer(struct timer *t);

#endif
