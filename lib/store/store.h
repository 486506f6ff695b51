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

#define STORE_POSITION "position"

struct store;

struct store_config {
	struct disk *disk;
	const char *dir;
	size_t journal_size; /* 0: JOURNAL_SIZE */
	/* Number the records that others get, too: each one ends with the
	 * file STORE_POSITION, "T B", its term and its number in it. */
	bool numbered;
	uint64_t term;
	void *arg;
	/* As queue_hooks.replicate; NULL: nobody. */
	WAITS int (*replicate)(void *arg, const char *const *names,
			       const char *const *contents, size_t n,
			       struct error *err);
	/* Whether replicate has nobody to send to now; else the sending begins
	 * before the record is synced here.  NULL: always. */
	bool (*alone)(void *arg);
	void (*fatal)(void *arg, const struct error *err);
};

/* One or more changes of files that become durable together (as long as they
 * fit into one record; in their order otherwise). */
struct store_change {
	/* For the caller: called once when durable, or with err when not. Has
	 * control and must not wait.  May be NULL. */
	void (*done)(struct store_change *c, const struct error *err);
	void *arg;
	/* Not for the other candidates (log entries, which go with the next
	 * state). */
	bool local;
	/* Refuse rather than hold the daemon up when it cannot be written. */
	bool may_fail;

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
/* content: the file's text, for replication; may be NULL without it. */
void store_change_move(struct store_change *c, const char *from, const char *to,
		       char *content STEALS);

/* Open the files and replay the journal (in memory).  Blocks. */
WAITS struct store *store_open(const struct store_config *config,
			       struct error *err);

/* The newest record that was durable everywhere it has to be, when numbered. */
struct store_position {
	uint64_t term, number;
};
struct store_position store_position(const struct store *s);

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
