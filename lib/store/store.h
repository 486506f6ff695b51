/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of the queue, with group commit.
 *
 * Changes that are put together within one flush share it: a task writes what
 * has gathered into the journal, syncs, and tells all whose change is durable.
 * Some time later another task brings the changes into the files; until then
 * they stand in an overlay that reads look through.
 *
 * A full disk does not touch what is durable in the journal: store_full() says
 * so until the files could be written.  A failed sync is the end (fatal).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/store/journal.h"

/* Files are written when nothing was committed for this long, */
#define STORE_IDLE_US 1000000
/* or when the oldest change is that old, */
#define STORE_LAG_US 10000000
/* and tried again after this when the disk was full. */
#define STORE_RETRY_US 1000000

struct store;

struct store_config {
	struct disk *disk;
	const char *dir;
	size_t journal_size; /* 0: JOURNAL_SIZE */
	void *arg;
	/* Where records become durable in place of a journal of the store's
	 * own: a log that others have, too.  0 after store_take_record() got
	 * these bytes; -1 with err when they are lost, or nobody knows: that is
	 * the end of the store.  NULL: it has a journal. */
	WAITS int (*commit)(void *arg, char *bytes STEALS, size_t len,
			    struct error *err);
	/* With commit: more records are in the files than before
	 * (store_written()).  Must not wait. */
	void (*written)(void *arg);
	void (*fatal)(void *arg, const struct error *err);
};

/* One or more changes of files that become durable together (as long as they
 * fit into one record, or are whole; in their order otherwise). */
struct store_change {
	/* For the caller: called once when durable, or with err when not. Has
	 * control and must not wait.  May be NULL. */
	void (*done)(struct store_change *c, const struct error *err);
	void *arg;
	/* Refuse rather than hold the daemon up when it cannot be written. */
	bool may_fail;
	/* With config.commit: in one record, however large that is then. */
	bool whole;

	/* Private. */
	struct list link;
	struct store_op *ops;
	size_t n_ops, cap, n_written;
	unsigned refs;
	bool finished;
	struct error *err;
	struct cond changed;
};

struct store_change *store_change_new(void);
void store_change_drop(struct store_change *c STEALS); /* instead of putting */
/* The file `name` (relative to the folder) has this text now. */
void store_change_write(struct store_change *c, const char *name,
			char *text STEALS);
void store_change_remove(struct store_change *c, const char *name);
void store_change_move(struct store_change *c, const char *from,
		       const char *to);

/* Open the files and replay the journal (in memory).  Blocks. */
WAITS struct store *store_open(const struct store_config *config,
			       struct error *err);

/* With config.commit: this record of the log is committed; bytes are borrowed.
 * They become visible at once, and the files follow.  -1 with err: no store has
 * made these bytes. */
int store_take_record(struct store *s, uint64_t index, const void *bytes,
		      size_t len, struct error *err);
/* The same for one file that is taken over from elsewhere; NULL: it is gone. */
void store_take_file(struct store *s, const char *name, char *text STEALS);
/* Wait until all that was taken is in the files, durable.  -1 with err: it
 * cannot be written now. */
WAITS int store_write_out(struct store *s, struct error *err);
/* The log is another one, or goes on from here: what is not in files yet is
 * older than any record that is taken from now on. */
void store_begin_at(struct store *s, uint64_t index);
/* All records of the log up to this index are in the files, durable, those of
 * the store at least; UINT64_MAX: none is missing. */
uint64_t store_written(const struct store *s);

/* Only to be read, as it is now, while somebody else may be writing it; only
 * the functions for reading, and store_close(), may be called. */
WAITS struct store *store_peek(struct disk *disk, const char *dir,
			       struct error *err);

/* Between store_open() and store_settle(): give a file new content. */
void store_write_at_start(struct store *s, const char *name, char *text STEALS);
/* Make that durable.  The files follow later, as always.  Blocks. */
WAITS int store_settle(struct store *s, struct error *err);

/* After store_flush(), or in the simulation after the tasks were killed:
 * changes on the way are done with an error. */
void store_close(struct store *s);

/* Begin to make c durable. */
void store_put(struct store *s, struct store_change *c STEALS);
/* The same for who waits for it later: what to give to store_wait(), or to
 * store_change_unref(). */
struct store_change *store_begin(struct store *s,
				 struct store_change *c STEALS);
WAITS int store_wait(struct store_change *c STEALS, struct error *err);
void store_change_unref(struct store_change *c); /* NULL: nothing */
/* Both at once. */
WAITS int store_commit(struct store *s, struct store_change *c STEALS,
		       struct error *err);

/* Wait until everything is in the files (or the disk is full).  What is put
 * later is done with an error. */
WAITS void store_flush(struct store *s);

/* Stop as it is: what is durable stays in the journal, for whoever opens it
 * next.  What is put later is done with an error. */
WAITS void store_abandon(struct store *s);

/* Whether new things should be refused now; then err says why. */
bool store_full(const struct store *s, struct error *err);

/* Whether all that was told to be durable certainly is, also when the store has
 * failed: then only because it could not write.  Opened anew it goes on. */
bool store_lost_nothing(const struct store *s);

/* As the functions of struct disk, through the overlay.  Inside a task they
 * run beside the loop. */
WAITS char *store_read(struct store *s, const char *name, size_t max,
		       size_t *ret_len, struct error *err);
/* The same for text; *ret_text is NULL when there is no such file, -1 when it
 * cannot be read. */
WAITS int store_read_if_there(struct store *s, const char *name, size_t max,
			      char **ret_text, struct error *err);
/* folder: "" or "archive/0"; a missing one is empty. */
WAITS int store_list(struct store *s, const char *folder,
		     struct strv *ret_names, struct error *err);
bool store_exists(struct store *s, const char *name);
/* At start: put a file aside that cannot be used; its name then ends so. */
#define STORE_ASIDE ".corrupt"
int store_set_aside(struct store *s, const char *name, struct error *err);

#endif
