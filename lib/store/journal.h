/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal: a preallocated file in front of the files of the queue.
 *
 * A record holds the changes of one group commit: files with their whole new
 * content, removals, moves.  It has a number, a length and a checksum; so a
 * record that was torn by a crash is recognised and, never having been
 * acknowledged, dropped.  Replaying any tail of the history in order gives the
 * same files, however much of it had reached them before.
 *
 * The file has two halves that are filled in turn.  Before a half is begun
 * anew, the changes in it must have reached their files (store.c sees to it).
 * Half and position are never set back: whatever is lost of a new record, the
 * old records before it stay readable.
 *
 * This module knows no tasks; its users call the writing functions beside the
 * loop.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* Making a file costs ten times as much as writing a record (0.2 ms on ext4).
 * So a half should hold a burst of some 20,000 jobs: their files are then
 * written later, and once a job instead of once a change.  Must be a multiple
 * of twice the alignment. */
#define JOURNAL_SIZE (64 * 1024 * 1024)

/* No journal is larger. */
#define JOURNAL_SIZE_MAX (256u * 1024 * 1024)

/* Records begin at multiples of this, so that writing one never rewrites a
 * sector or page of the one before. */
#define JOURNAL_ALIGN 4096

enum journal_kind {
	JOURNAL_WRITE,	/* name has this content now */
	JOURNAL_REMOVE, /* name is gone */
	JOURNAL_MOVE,	/* what was at `content` is now at name */
	JOURNAL_CUT,	/* all records up to number have reached their files */
};

struct journal_entry {
	enum journal_kind kind;
	const char *name; /* relative to the queue's folder */
	const char *content;
	size_t len;
	uint64_t number; /* CUT only */
};

struct journal {
	struct disk *disk;
	int log;
	size_t half_size;
	unsigned half;	     /* being filled */
	size_t at;	     /* offset in it */
	uint64_t next;	     /* number of the next record */
	uint64_t last_in[2]; /* last number in each half, 0: none */
};

/* Open the journal (make one of this size if there is none; an existing one
 * keeps its size) and call replay() for each entry whose change may not have
 * reached its file, in order.  The strings are valid only during the call.
 * Blocks. */
int journal_open(struct journal *j, struct disk *disk, const char *path,
		 size_t size,
		 void (*replay)(const struct journal_entry *e, void *arg),
		 void *arg, struct error *err);
void journal_close(struct journal *j);

/* As journal_open(), but only replay, of a journal that another process may be
 * writing: nothing is made or changed.  A missing journal is empty.  Blocks. */
int journal_peek(struct disk *disk, const char *path,
		 void (*replay)(const struct journal_entry *e, void *arg),
		 void *arg, struct error *err);

/* Build a record: begin, add entries, end; *record is empty at first. */
void journal_begin(struct buf *record);
void journal_add(struct buf *record, const struct journal_entry *e);
void journal_end(struct journal *j, struct buf *record);

/* The entries of a record without what journal_begin() and journal_end() add:
 * an empty buf, filled by journal_add().  -1: these bytes are none; then the
 * first entries may have been given already.  The strings of an entry are valid
 * only during the call. */
int journal_read_entries(const char *data, size_t len,
			 void (*fn)(const struct journal_entry *e, void *arg),
			 void *arg);

/* The largest record that fits into a half, with all that begin and end add, in
 * bytes. */
size_t journal_record_max(const struct journal *j);
/* Whether the record fits into the current half. */
bool journal_fits(const struct journal *j, const struct buf *record);
/* Go on with the other half; its records must not be needed any more. */
void journal_turn(struct journal *j);
/* Whether the current half is so full that the other one should be freed. */
bool journal_half_used(const struct journal *j);

/* Both block: write the record behind the last one; make what was written
 * durable.  After a failed write this record or another one may be tried; after
 * a failed sync the state of the file is unknown, and the journal must not be
 * used any more. */
int journal_write(struct journal *j, const struct buf *record,
		  struct error *err);
int journal_sync(struct journal *j, struct error *err);
/* The record is durable: the next one goes behind it. */
void journal_written(struct journal *j, const struct buf *record);

#endif
