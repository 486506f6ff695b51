/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of wal*.c: wal.c has what is in memory, and writes; wal_record.c
 * is the form of a record; wal_open.c reads what is there; wal_snapshot.c
 * writes snapshots and forgets what they replace; wal_load.c reads what is not
 * in memory any more. */
#ifndef CONSENSUS_WAL_PRIVATE_H
#define CONSENSUS_WAL_PRIVATE_H

#include "lib/base/list.h"
#include "lib/base/pack.h"
#include "lib/base/str.h"
#include "lib/consensus/wal.h"

/* Records begin at multiples of this, so that writing one never rewrites a
 * sector or page of the one before. */
#define WAL_ALIGN 4096u
#define WAL_FOLDER_MODE 0750
#define WAL_FILE_MODE 0600

/* A file of records. */
struct wal_segment {
	struct list link;
	uint64_t number; /* in its name */
	size_t size, at; /* bytes; where the next record goes */
	int log;	 /* -1: not open, nothing more is written to it */
};

/* What is kept of each entry of the log. */
struct wal_slot {
	uint64_t term;
	struct wal_segment *segment;
	char *data; /* NULL as well when it is not in memory */
	uint32_t len;
	uint32_t type;
};

/* Entries with data of their own, one after the other. */
struct wal_items {
	struct raft_entry *items;
	size_t n, cap;
};

/* A record that is being filled, or written. */
struct wal_batch {
	struct buf bytes; /* room for the header first */
	struct wal_items items;
	struct raft_hard hard;
	uint64_t write; /* of raft_ready(); 0: there is nothing */
};

/* Numbers of files. */
struct wal_files {
	uint64_t *numbers;
	size_t n, cap;
};

enum wal_spare { WAL_SPARE_NONE, WAL_SPARE_MAKING, WAL_SPARE_READY };

struct wal {
	struct wal_config config;
	char *dir;
	uint64_t salt; /* of this log's records */
	struct raft_hard hard;

	struct list segments;	     /* in the order of their records */
	struct wal_segment *current; /* the last of them; NULL: none */
	struct wal_segment *spare;
	enum wal_spare spare_state;
	uint64_t next_segment, next_record;
	struct wal_files useless, removing;

	uint64_t first; /* index of slots[0] */
	uint64_t before_term;
	struct wal_slot *slots;
	size_t n, cap;
	uint64_t applied, cached_from;
	size_t cached_bytes;
	size_t bytes, bytes_at_snapshot; /* of data, counted since the start */

	struct raft_snapshot snapshot; /* without its data */
	uint64_t void_to;	       /* records up to there are none */

	struct wal_batch added, writing;
	struct wal_segment *making; /* for the record that is being written */

	/* Of wal_snapshot_begin(). */
	struct raft_snapshot saving;
	struct buf saving_bytes;
	uint64_t saving_void;
	size_t saving_at; /* what `bytes` was */
	bool saving_own;

	enum wal_wanted wanted;
	uint64_t wanted_index;
	enum wal_wanted loading;
	uint64_t loading_segment;
	struct wal_items load; /* while it is read */
	struct wal_items loaded;
	struct raft_snapshot loading_snapshot, loaded_snapshot;
};

/* --- wal.c --- */

/* All entries go, with their data. */
void wal_items_clear(struct wal_items *items);
/* Put an entry in its place, the data is given away: what is there from its
 * index on goes.  One before the first makes it the first. */
void wal_items_put(struct wal_items *items, const struct raft_entry *entry);

uint64_t wal_last(const struct wal *w);
struct wal_slot *wal_slot(const struct wal *w, uint64_t index);
/* Put an entry of a durable record into the log, with its data, which is given
 * away.  False: there is a hole before it. */
bool wal_put(struct wal *w, const struct raft_entry *entry,
	     struct wal_segment *segment);
/* Forget the entries before this index, which is in the log or one behind. */
void wal_forget(struct wal *w, uint64_t index);
/* Forget what need not be in memory. */
void wal_evict(struct wal *w);
/* Forget it; the file, too, when wal_remove_work() runs. */
void wal_segment_drop(struct wal *w, struct wal_segment *segment);
char *wal_segment_path(const struct wal *w, uint64_t number);
void wal_segment_free(struct wal_segment *segment);

/* --- wal_record.c --- */

struct wal_record {
	uint64_t number;
	struct raft_hard hard;
	/* The entry before its first one, or the last one if it has none. */
	uint64_t prev_index, prev_term;
	uint64_t n_entries;
	struct pack_reader entries;
	size_t size; /* in the file */
};

/* Make room for the header; add an entry; put the header in place and fill up
 * to WAL_ALIGN. */
void wal_record_begin(struct buf *b);
void wal_record_add(struct buf *b, const struct raft_entry *entry);
void wal_record_end(struct buf *b, uint64_t salt,
		    const struct wal_record *record);

/* The record at this offset of a file; false unless it is there, complete and
 * undamaged, and belongs to this log. */
bool wal_record_at(const char *data, size_t size, size_t at, uint64_t salt,
		   struct wal_record *ret);
/* Its next entry, borrowed; false behind the last one. */
bool wal_record_next(struct wal_record *r, struct raft_entry *ret);

/* --- wal_snapshot.c --- */

struct wal_snapshot_file {
	uint64_t salt, last_record, void_to;
	struct raft_hard hard;
	struct raft_snapshot snapshot; /* data: to be freed if it was asked */
};

/* Read the file.  Blocks. */
int wal_snapshot_file_read(struct disk *disk, const char *dir, bool with_data,
			   struct wal_snapshot_file *ret, struct error *err);

#endif
