/* SPDX-License-Identifier: BSD-2-Clause */
/* What the drivers of lib/raft/ in tests keep: entries that are shared, logs,
 * what is on a disk, messages with all that they point to; and these as
 * text. */
#ifndef TESTS_LIB_RAFT_DISK_H
#define TESTS_LIB_RAFT_DISK_H

#include "lib/raft/raft.h"

/* An entry that is shared by those who keep it. */
struct raft_item {
	unsigned refs;
	struct raft_entry entry; /* its data is behind this struct */
};

/* Entries from `first` on. */
struct raft_log {
	uint64_t first;
	struct raft_item **items;
	size_t n, room;
};

/* A state machine after it has applied `index`. */
struct raft_state {
	uint64_t index, term, hash, n; /* n: entries of data so far */
	struct raft_members members;
};

/* What is on a disk. */
struct raft_image {
	struct raft_hard hard;
	struct raft_state snapshot;
	struct raft_log log;
};

/* A message with copies of all that it points to; one block of memory, to be
 * freed with free(). */
struct raft_letter {
	struct raft_letter *next;
	uint64_t seq; /* while it is held: the write that it waits for */
	struct raft_message m;
	struct raft_entry *entries;
	struct raft_snapshot snapshot;
};

/* A copy of an entry, with one user; another user; one less. */
struct raft_item *raft_disk_item(const struct raft_entry *entry);
struct raft_item *raft_disk_share(struct raft_item *item);
void raft_disk_drop(struct raft_item *item);

/* The entry at this index, NULL if it is not there; the last index, first - 1
 * if there is none. */
const struct raft_entry *raft_disk_at(const struct raft_log *log,
				      uint64_t index);
uint64_t raft_disk_last(const struct raft_log *log);
/* Put a shared entry in its place: what is there from its index on goes.
 * False if there is a hole before it. */
bool raft_disk_put(struct raft_log *log, struct raft_item *item);
/* Forget the entries from this index on, or those before it (which need not be
 * there: then the log is empty and begins with it). */
void raft_disk_cut(struct raft_log *log, uint64_t from);
void raft_disk_begin(struct raft_log *log, uint64_t first);
void raft_disk_log_done(struct raft_log *log);

/* Make *to the same as *from. */
void raft_disk_copy(struct raft_image *to, const struct raft_image *from);

/* What a running hash becomes with an entry. */
uint64_t raft_disk_hash(uint64_t hash, const struct raft_entry *entry);
/* A state machine applies an entry, which must be the next. */
void raft_disk_apply(struct raft_state *state, const struct raft_entry *entry);

/* A state as a snapshot has it; the data is that of *state, borrowed. */
struct raft_snapshot raft_disk_snapshot(const struct raft_state *state);
/* And back; false if the data is none of a state. */
bool raft_disk_restore(const struct raft_snapshot *snapshot,
		       struct raft_state *ret);

/* A copy of a message. */
struct raft_letter *raft_disk_letter(const struct raft_message *message);
/* A message in one line; valid until the next call. */
const char *raft_disk_message_text(const struct raft_message *m);

/* The membership of a text: "1 2 3", with learners "1 2 3+4 5", with outgoing
 * voters "1 2/2 3+4". */
struct raft_members raft_disk_members(const char *text);
/* And back; valid until the next call. */
const char *raft_disk_members_text(const struct raft_members *m);

#endif
