/* SPDX-License-Identifier: BSD-2-Clause */
/* A server of the replicated log: lib/raft/ with a disk, a network and a clock,
 * as tasks on the loop.
 *
 * Who uses it gives data to be committed, is told what is committed, in order,
 * and makes a state of that: the state machine.  The state is kept by the user,
 * in memory and in files; so are the pieces of a snapshot, of which the log has
 * only a description (data, as bytes).
 *
 * A server begins with a folder (consensus_create()) and a number that no other
 * server ever had.  Before it takes part it asks the others what they know of
 * it: one whose disk was put back to an older image is told so, and must come
 * back under another number, as a learner. */
#ifndef CONSENSUS_CONSENSUS_H
#define CONSENSUS_CONSENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/raft/raft.h"

/* The clock of elections: a server that hears no leader for 1.5 to 3 s asks for
 * votes, if it may. */
#define CONSENSUS_TICK_MS 100u
#define CONSENSUS_ELECTION_TICKS 15u
#define CONSENSUS_HEARTBEAT_TICKS 3u

/* So many bytes wait for a server that takes none; then messages to it are
 * lost. */
#define CONSENSUS_OUTBOX_MAX (16u * 1024 * 1024)

/* A parcel is answered after this, also when nothing is to be said: the sender
 * sends no other one before. */
#define CONSENSUS_ANSWER_MS 20u

struct consensus;

typedef void consensus_sent_fn(void *sent_arg, bool arrived, const void *answer,
			       size_t len);

/* What the server does for its user.  Only those marked WAITS may wait; none
 * may call consensus_free(). */
struct consensus_hooks {
	void *arg;

	/* This entry of data is committed.  Each comes once a life, in order,
	 * from `applied` on; its data is borrowed. */
	void (*apply)(void *arg, const struct raft_entry *entry);

	/* Another server's snapshot has come: get all that it describes, and
	 * make it durable beside the present state.  -1: it cannot be had now;
	 * the leader will send one again. */
	WAITS int (*fetch)(void *arg, const struct raft_snapshot *snapshot,
			   struct error *err);
	/* Make what was fetched the state: the log has the snapshot now.  Also
	 * called by consensus_open() when the state that the user has is older
	 * than the log's snapshot, since a crash came between.  -1 is fatal. */
	WAITS int (*adopt)(void *arg, const struct raft_snapshot *snapshot,
			   struct error *err);

	/* Role, leader, membership or what it waits for are others than
	 * before.  May be NULL. */
	void (*changed)(void *arg);

	/* It cannot go on: the disk has failed, or this server's disk is an old
	 * image (ECODE_FENCED).  Called once. */
	void (*fatal)(void *arg, const struct error *err);

	/* Bring these bytes to consensus_receive() of the server `to`, once or
	 * not at all; call sent() exactly once, later, when another parcel may
	 * follow.  answer: what was answered there, borrowed; NULL: nothing. */
	void (*send)(void *arg, uint64_t to, char *data STEALS, size_t len,
		     consensus_sent_fn *sent, void *sent_arg);
};

struct consensus_config {
	struct disk *disk;
	const char *dir;
	/* Up to there the user's files have the state, durable. */
	uint64_t applied;
	/* Whether it asks for votes by itself (raft.h). */
	bool elects;
	unsigned tick_ms, election_ticks, heartbeat_ticks; /* 0: as above */
	size_t segment_bytes, cache_bytes;		   /* wal.h */
	bool aside; /* also a folder that was set aside */
	/* The newest format of entries that this program can read: the others
	 * are told (consensus_format()). */
	unsigned format;
	struct consensus_hooks hooks;
};

/* Who a server is: of which cluster, and its number; neither is 0. */
struct consensus_identity {
	uint64_t cluster, id;
};

/* Make the folder of a server, over what is there.  begin: the state that a new
 * cluster begins with, with its members, at index 1 or above; NULL: the server
 * is to join, as a learner.  Blocks. */
int consensus_create(struct disk *disk, const char *dir,
		     const struct consensus_identity *identity,
		     const struct raft_snapshot *begin, struct error *err);
/* Whose folder it is; zeros: there is none that was made to its end.  -1: there
 * may be one, but it cannot be read, or it is damaged (ECODE_FAULT).  Blocks.
 */
int consensus_identity_read(struct disk *disk, const char *dir,
			    struct consensus_identity *ret, struct error *err);

/* The same of a folder that consensus_apply_rest() has set aside. */
int consensus_aside_read(struct disk *disk, const char *dir,
			 struct consensus_identity *ret, struct error *err);
/* The server has no part of any log any more; its folder may come back under
 * another number alone.  Nothing there: nothing. */
int consensus_forget(struct disk *disk, const char *dir, struct error *err);

/* Open the folder; nothing is sent yet.  NULL with err; with ECODE_FAULT when
 * the log is damaged: then the server must come back under another number. */
WAITS struct consensus *consensus_open(const struct consensus_config *config,
				       struct error *err);
/* Begin to work. */
void consensus_start(struct consensus *c);
/* End all tasks; what was proposed and is not committed is done with an error.
 * Returns when no hook runs and no parcel is on its way. */
WAITS void consensus_stop(struct consensus *c);
/* After consensus_stop(), where this log ends here and another one begins with
 * its state: apply the entries that are left, of which it is not known whether
 * they were committed.  Some were acknowledged, maybe, by others that are lost.
 *
 * Before the first of them the folder is set aside, until consensus_create()
 * has made another: the state has what the others may not have from then on, so
 * whoever ends in between must not take part with it. */
WAITS int consensus_apply_rest(struct consensus *c, struct error *err);
/* After consensus_stop(), or in the simulation after the tasks were killed;
 * questions that are open then get nothing.  NULL: nothing. */
void consensus_free(struct consensus *c);

/* Whoever brings a parcel, and can bring an answer back: what the receiver says
 * to the sender when it has written what it was sent saves a parcel of its own.
 */
struct consensus_question {
	/* For the caller: called once, within CONSENSUS_ANSWER_MS, with bytes
	 * for sent() of the sender, borrowed; NULL: there is nothing to be
	 * said.  Must not wait. */
	void (*answered)(struct consensus_question *q, const void *data,
			 size_t len);
};

/* A parcel has come; borrowed.  What makes no sense is ignored.  True: the
 * question (which may be NULL) is kept, and answered later. */
bool consensus_receive(struct consensus *c, const void *data, size_t len,
		       struct consensus_question *question);

/* --- changes --- */

/* Data to be committed. */
struct consensus_proposal {
	/* For the caller: called once, when the entry is committed and applied
	 * here, or with err: with ECODE_FENCED another server leads, and
	 * whether the entry counts is not known.  Must not wait. */
	void (*done)(struct consensus_proposal *p, const struct error *err);
	void *arg;

	/* Private. */
	struct list link;
	uint64_t index, term;
	char *data;
	size_t len;
};

/* Begin to commit these bytes.  A leader without a majority goes on when there
 * is one again, as long as no other server has been elected.  p stays where it
 * is until it is done; of a server that does not lead it is done soon, with an
 * error. */
void consensus_propose(struct consensus *c, struct consensus_proposal *p,
		       char *data STEALS, size_t len);
/* The same, and wait for it. */
WAITS int consensus_commit(struct consensus *c, char *data STEALS, size_t len,
			   struct error *err);

/* Whoever waits for a proposal gets an error, and so does who comes later: for
 * a server that is to end and has no majority.  It takes part as before. */
void consensus_give_up(struct consensus *c);

/* Wait until this server's state has all that was acknowledged anywhere before
 * the call.  -1: that could not be had within timeout_ms. */
WAITS int consensus_read(struct consensus *c, unsigned timeout_ms,
			 struct error *err);

/* --- who leads, who takes part --- */

/* This server is to lead: it asks for votes whenever it hears no leader, until
 * another one is elected.  Forgotten at once where it has no vote. */
void consensus_lead(struct consensus *c);
/* The order is taken back, unless it leads already: the votes that it has asked
 * for may still come for an election's time. */
void consensus_lead_no_more(struct consensus *c);
/* As raft_transfer(), raft_change_members(). */
int consensus_transfer(struct consensus *c, uint64_t to);
int consensus_change_members(struct consensus *c,
			     const struct raft_members *wanted);

/* --- snapshots --- */

/* The user's files have the state as of this index, durable, and `data`
 * describes it: the log need not keep what is before.  Ignored if there is a
 * newer one, or if one is being written. */
void consensus_snapshot(struct consensus *c, uint64_t index, char *data STEALS,
			size_t len);
/* Bytes of entries since the last one: to know when the next one is due. */
size_t consensus_log_bytes(const struct consensus *c);

/* --- looking at it --- */

struct consensus_status {
	struct raft_status raft;
	uint64_t applied;
	uint64_t snapshot; /* the index of the newest one */
	bool joined;	   /* the others have said that it may take part */
	bool told;	   /* by consensus_lead() */
	bool full;	   /* its disk is: nothing more can be written */
	/* Members that were not heard for an election's time. */
	struct raft_ids silent;
};
void consensus_status(const struct consensus *c, struct consensus_status *ret);

/* The newest format of entries that all members can read, as far as they have
 * said: this program's own, or less while an older program takes part.  1 while
 * one of them has never been heard. */
unsigned consensus_format(const struct consensus *c);

/* As raft_progress(). */
bool consensus_progress(const struct consensus *c, uint64_t id,
			struct raft_progress *ret);

#endif
