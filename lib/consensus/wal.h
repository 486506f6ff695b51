/* SPDX-License-Identifier: BSD-2-Clause */
/* The write-ahead log: what a server of lib/raft/ has on its disk.
 *
 * A folder holds the newest snapshot ("snapshot") and files of records
 * ("log-NUMBER", the segments).  A record is what one group commit made
 * durable: entries, and the hard state.  It has a number and a checksum, so one
 * that a crash has torn is recognised and, never having been acknowledged,
 * dropped. Records that are missing before others are damage: wal_open()
 * refuses.
 *
 * Entries are kept in memory as long as they are not applied, and the newest of
 * the others up to a limit.  Of the rest only the term and the place is kept:
 * wal_wanted() says whether somebody asked for such, wal_load_begin() and its
 * parts read them.
 *
 * This module knows no tasks.  What takes its time comes in three parts:
 * x_begin() and x_end() are called by who has control, x_work() between them
 * may run beside the loop, and blocks. */
#ifndef CONSENSUS_WAL_H
#define CONSENSUS_WAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/raft/raft.h"

/* A segment is filled with zeros when it is made, so that a write into it
 * changes no metadata; one more is made while the present one is filled. */
#define WAL_SEGMENT_BYTES (16u * 1024 * 1024)
/* Applied entries stay in memory up to this, for those who are a little
 * behind. */
#define WAL_CACHE_BYTES (8u * 1024 * 1024)
/* A larger snapshot is not read: it would not have been written. */
#define WAL_SNAPSHOT_MAX (256u * 1024 * 1024)

struct wal_config {
	struct disk *disk;
	const char *dir;
	size_t segment_bytes, cache_bytes; /* 0: as above */
};

struct wal;

/* Make the folder of a new server.  begin: the snapshot that a new cluster
 * begins with, at index 1 or above; NULL: none, for a server that is to join.
 * What is in the folder is overwritten.  Blocks. */
int wal_create(struct disk *disk, const char *dir,
	       const struct raft_snapshot *begin, struct error *err);
bool wal_exists(struct disk *disk, const char *dir);

/* Read what is there, and make durable what may not have been.  NULL with err;
 * with ECODE_FAULT when it is damaged: the server must come back as another,
 * with a folder made anew.  Blocks. */
struct wal *wal_open(const struct wal_config *config, struct error *err);
/* NULL: nothing. */
void wal_close(struct wal *w);

/* Store, hard state and membership for raft_create(), which may ask for any
 * entry: call wal_applied() after it. */
void wal_fill(struct wal *w, struct raft_config *ret);
/* The state machine has applied the log up to there. */
void wal_applied(struct wal *w, uint64_t index);

/* What a server has made durable and never loses while its disk is whole: its
 * term and vote; the index of its last entry, if that is of this term (else 0);
 * and up to where its log is known to be committed, or is a snapshot. */
struct wal_mark {
	uint64_t term, vote, index, kept;
};
/* Whether a disk that has `now` has lost something since it had `before`. */
bool wal_mark_is_older(const struct wal_mark *now,
		       const struct wal_mark *before);
struct wal_mark wal_mark(const struct wal *w);

/* The newest snapshot's index, 0: none; the bytes that were written since. */
uint64_t wal_snapshot_index(const struct wal *w);
size_t wal_bytes_since_snapshot(const struct wal *w);
/* The membership of the newest snapshot. */
const struct raft_members *wal_snapshot_members(const struct wal *w);

/* --- records --- */

/* Take what raft_ready() says is to be written; the entries are copied. */
void wal_add(struct wal *w, const struct raft_ready *ready);
/* Put all that was added into one record.  False: nothing was added, or the
 * record needs a segment that is being made (wal_segment_begin()). */
bool wal_write_begin(struct wal *w);
/* -1 with ECODE_NOSPACE: the disk is full, this may be repeated.  After any
 * other failure the state of the disk is unknown: no more of this. */
int wal_write_work(struct wal *w, struct error *err);
/* They are durable now, and the store has them: for raft_written(). */
uint64_t wal_write_end(struct wal *w);

/* --- segments --- */

/* Whether the next segment should be made now: if so, do it. */
bool wal_segment_begin(struct wal *w);
int wal_segment_work(struct wal *w, struct error *err);
void wal_segment_end(struct wal *w, bool made);

/* --- snapshots --- */

/* Keep this snapshot, which is copied; one at a time.  own: it is of this
 * server's state at an index that it has applied; the log goes on, and what it
 * need not keep is forgotten.  Not own: it has come from another server and
 * takes the place of the whole log.  No record may be written meanwhile. */
void wal_snapshot_begin(struct wal *w, const struct raft_snapshot *snapshot,
			bool own);
int wal_snapshot_work(struct wal *w, struct error *err);
void wal_snapshot_end(struct wal *w, bool written);
/* Then: remove the files that are not needed any more.  One that cannot be
 * removed is left: the next wal_open() finds it. */
bool wal_remove_begin(struct wal *w);
int wal_remove_work(struct wal *w, struct error *err);
void wal_remove_end(struct wal *w);

/* --- what is not in memory --- */

enum wal_wanted { WAL_NOTHING, WAL_ENTRIES, WAL_SNAPSHOT };

/* What the store was asked for and did not have at hand, since the last
 * wal_load_begin(). */
enum wal_wanted wal_wanted(const struct wal *w);
/* Read that.  False: nothing is wanted any more. */
bool wal_load_begin(struct wal *w);
int wal_load_work(struct wal *w, struct error *err);
/* False: it is not what was wanted, as the snapshot is just being replaced. */
bool wal_load_end(struct wal *w);
/* Forget what was loaded. */
void wal_load_drop(struct wal *w);

/* The newest snapshot, read now; to be freed with wal_snapshot_free().
 * Blocks. */
int wal_snapshot_read(struct wal *w, struct raft_snapshot *ret,
		      struct error *err);
void wal_snapshot_free(struct raft_snapshot *snapshot);

#endif
