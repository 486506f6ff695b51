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

/* Making a file costs ten times what a record does (0.2 ms on ext4), so a half
 * should hold a burst of some 20,000 jobs: their files then follow when there
 * is time, and once a job instead of once a change.  A multiple of twice the
 * alignment. */
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
	uint64_t number; /* CUT */
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

/* Open (or make, of this size) the journal and call replay() for each entry
 * that may not have reached its file, in order.  Strings are void after the
 * call.  One that is there keeps its size. */
int journal_open(struct journal *j, struct disk *disk, const char *path,
		 size_t size,
		 void (*replay)(const struct journal_entry *e, void *arg),
		 void *arg, struct error *err);
void journal_close(struct journal *j);

/* Only replay a journal that somebody else may be writing; nothing is made or
 * changed.  A missing one is empty. */
int journal_peek(struct disk *disk, const char *path,
		 void (*replay)(const struct journal_entry *e, void *arg),
		 void *arg, struct error *err);

/* Build a record: begin, add entries, end; *record is empty at first. */
void journal_begin(struct buf *record);
void journal_add(struct buf *record, const struct journal_entry *e);
void journal_end(struct journal *j, struct buf *record);

/* The largest record, from begin to end. */
size_t journal_record_max(const struct journal *j);
/* Whether the record fits into the current half. */
bool journal_fits(const struct journal *j, const struct buf *record);
/* Begin to fill the other half, whose records are not needed any more. */
void journal_turn(struct journal *j);
/* Whether the current half is so full that the other one should be freed. */
bool journal_half_used(const struct journal *j);

/* Block: write the record, make it durable.  After a failed write this record
 * or another may be tried; after a failed sync nothing is known any more. */
int journal_write(struct journal *j, const struct buf *record,
		  struct error *err);
int journal_sync(struct journal *j, struct error *err);
/* The record is durable: the next one goes behind it. */
void journal_written(struct journal *j, const struct buf *record);

#endif
