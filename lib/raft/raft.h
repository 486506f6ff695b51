/* SPDX-License-Identifier: BSD-2-Clause */
/* The core of Raft, as Diego Ongaro's thesis has it ("Consensus: Bridging
 * Theory and Practice", 2014; section numbers here and in the sources are its
 * own): election with pre-vote, replication, changes of membership, transfer of
 * leadership, reads, snapshots.
 *
 * Events go in, updates come out.  The core does no I/O, knows no clock and no
 * thread, and never calls back but to read its store.  Who uses it, the driver,
 * does this again and again:
 *
 *   1. give it an event: raft_tick(), raft_step(), raft_propose(), ...
 *   2. take what is to be done: raft_ready()
 *   3. write entries and hard state, in the order in which they were handed
 * out; send the messages that need not wait at once, the others when all that
 *      was handed out with them and before is durable
 *   4. say so: raft_written(), raft_installed()
 *
 * Steps 1 and 2 may go on while a write of step 3 is under way.
 *
 * Indices begin with 1; 0 stands for "none".  All lengths are bytes.  Functions
 * that can fail return 0, or an error of enum raft_error and change nothing. */
#ifndef RAFT_RAFT_H
#define RAFT_RAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/mem.h"

/* Servers in each list of a membership. */
#define RAFT_MEMBERS_MAX 32

enum raft_error {
	RAFT_OK = 0,
	RAFT_NOT_LEADER,   /* only a leader can do this; raft_status() has it */
	RAFT_BUSY,	   /* another change or transfer is not finished */
	RAFT_NOT_YET,	   /* no entry of the leader's own term is committed */
	RAFT_NOT_A_MEMBER, /* it names a server that is none, or no voter */
	RAFT_FULL,	   /* too much is proposed and not yet committed */
	RAFT_INVALID,	   /* a membership without voters, or too many */
};

/* What a message is for a user: "not the leader". */
const char *raft_error_text(enum raft_error error);

/* --- servers --- */

/* Sorted, each once. */
struct raft_ids {
	size_t n;
	uint64_t ids[RAFT_MEMBERS_MAX];
};

/* Who takes part.  While a membership is joint (4.3), `outgoing` has the voters
 * of the old one, and every decision needs a majority of each; it is empty
 * otherwise.  A learner gets entries and has no vote; one that is demoted is a
 * learner and still in `outgoing`. */
struct raft_members {
	struct raft_ids voters, outgoing, learners;
};

bool raft_ids_have(const struct raft_ids *ids, uint64_t id);
/* Put it in, in its place; false when there is no room.  Once is enough. */
bool raft_ids_add(struct raft_ids *ids, uint64_t id);
void raft_ids_remove(struct raft_ids *ids, uint64_t id);
bool raft_ids_equal(const struct raft_ids *a, const struct raft_ids *b);

/* Whether it is in any of the lists; whether it has a vote. */
bool raft_members_have(const struct raft_members *m, uint64_t id);
bool raft_members_vote(const struct raft_members *m, uint64_t id);
/* Whether voters for whom has(arg, id) are a majority, of both lists in a joint
 * membership.  Where there are no voters they are none. */
bool raft_members_quorum(const struct raft_members *m,
			 bool (*has)(const void *arg, uint64_t id),
			 const void *arg);

/* The bytes of a membership, as the data of its entry has them: to be freed, of
 * *ret_len bytes.  And back: false if it is none. */
char *raft_members_encode(const struct raft_members *m, size_t *ret_len);
bool raft_members_decode(const void *data, size_t len,
			 struct raft_members *ret);

/* --- what is stored --- */

enum raft_entry_type {
	RAFT_ENTRY_DATA, /* of the driver; none at all (len 0) from the core */
	RAFT_ENTRY_MEMBERS, /* raft_members_encode() */
};

struct raft_entry {
	uint64_t index, term;
	enum raft_entry_type type;
	const void *data;
	size_t len;
};

/* What has to be durable before anything is said that follows from it.  commit
 * is a hint, which need not be written for its own sake. */
struct raft_hard {
	uint64_t term, vote, commit;
};

/* The state as of the entry `index`, with the membership that held there.  data
 * is the driver's: the whole, or where it can be had. */
struct raft_snapshot {
	uint64_t index, term;
	struct raft_members members;
	const void *data;
	size_t len;
};

/* Where the core reads what was written.  A function must not call the core.
 * What they give is borrowed until the next call of one of them. */
struct raft_store {
	void *arg;
	/* The first entry that is there, at most one behind the newest
	 * snapshot; the last one (first - 1 when there is none).  Empty and
	 * new: 1 and 0. A store that keeps some entries before its snapshot
	 * spares those who are a little behind a snapshot. */
	uint64_t (*first)(void *arg);
	uint64_t (*last)(void *arg);
	/* The term of an entry, or of the one before the first (0 if there
	 * never was one); it is only asked for these. */
	uint64_t (*term)(void *arg, uint64_t index);
	/* Entries from `from` on, before `to`, at most max of them and about
	 * max_bytes of data, but at least one; how many.  0: they are not at
	 * hand now; they will be asked for again.  raft_create() needs all. */
	size_t (*entries)(void *arg, uint64_t from, uint64_t to,
			  size_t max_bytes, struct raft_entry *ret, size_t max);
	/* The newest snapshot; false: none is at hand now. */
	bool (*snapshot)(void *arg, struct raft_snapshot *ret);
};

/* --- messages --- */

enum raft_message_type {
	RAFT_APPEND,   /* entries behind (index, log_term); commit */
	RAFT_APPENDED, /* index: all up to there is there; or reject, with index
			  the one refused, hint and log_term where to go on */
	RAFT_HEARTBEAT,	  /* commit; round */
	RAFT_HEARTBEATEN, /* the answer, with the same round */
	RAFT_SNAPSHOT,	  /* snapshot */
	RAFT_ASK_VOTE,	  /* (index, log_term): the last entry; pre; force */
	RAFT_VOTE,	  /* the answer: reject or not; pre */
	RAFT_ELECT_NOW,	  /* be elected without delay (3.10) */
	RAFT_READ,    /* of a follower: how far must one have applied? round */
	RAFT_READ_AT, /* the answer: index; round */
};

struct raft_message {
	enum raft_message_type type;
	uint64_t from, to, term;
	uint64_t index, log_term, commit, hint, round;
	bool reject;
	bool pre;   /* a vote that is only tried (9.6) */
	bool force; /* voters heed it although they hear a leader (4.2.3) */
	const struct raft_entry *entries;
	size_t n_entries;
	const struct raft_snapshot *snapshot;
	/* Of those in a struct raft_ready: not to be sent before all that was
	 * handed out with it and before is durable. */
	bool after_write;
};

/* --- a server --- */

enum raft_role {
	RAFT_FOLLOWER,
	RAFT_PRE_CANDIDATE,
	RAFT_CANDIDATE,
	RAFT_LEADER,
};

struct raft_config {
	uint64_t id; /* not 0, and never that of a server that lost its disk */
	struct raft_store store;
	/* What was last written; zeros for a new one. */
	struct raft_hard hard;
	/* The membership before the store's first entry: as of the snapshot, or
	 * the one that the cluster began with, also for a server that joins it
	 * (who does not know it must not take snapshots before an entry of
	 * members has come).  Those of later entries are read from them. */
	struct raft_members members;
	/* Up to there the driver has applied the log: not beyond the store. */
	uint64_t applied;
	/* In ticks: without a word from the leader for election_ticks to twice
	 * that, a follower asks for votes; heartbeats are sent so often. */
	unsigned election_ticks, heartbeat_ticks;
	/* Whether it asks for votes by itself.  If not, only raft_campaign()
	 * and a leader that hands over make it a leader. */
	bool elects;
	/* The data of one message; messages under way to one server; data that
	 * is proposed and not committed (0: 1 MiB, 64, 64 MiB). */
	size_t max_message_bytes, max_inflight, max_uncommitted_bytes;
	/* Any number, for the random part of time limits and for the numbers of
	 * questions, so not the same ones in each life; called with arg. */
	uint32_t (*random)(void *arg);
	void *random_arg;
};

struct raft;

struct raft *raft_create(const struct raft_config *config);
void raft_destroy(struct raft *r);

/* --- events --- */

/* Time goes on by one tick. */
void raft_tick(struct raft *r);

/* A message has come in; it is borrowed, its entries are copied.  What does not
 * make sense is ignored. */
void raft_step(struct raft *r, const struct raft_message *message);

/* Append an entry of the driver's data, which is copied.  *ret_index and
 * *ret_term (may be NULL) say where: the entry that is committed at that index
 * is this one only if its term is the same. */
int raft_propose(struct raft *r, const void *data, size_t len,
		 uint64_t *ret_index, uint64_t *ret_term);

/* Change the membership to these voters and learners (outgoing is not looked
 * at).  One that differs in one voter is taken over at once (4.2), others go by
 * a joint one (4.3), which the leader ends by itself.  It is finished when
 * raft_status() has no joint and no uncommitted membership.  Who is to become a
 * voter should be a learner that has caught up.  Who is removed hears nothing
 * more, not even that.  RAFT_NOT_LEADER, RAFT_BUSY,
 * RAFT_NOT_YET, RAFT_INVALID. */
int raft_change_members(struct raft *r, const struct raft_members *wanted);

/* Ask for votes once, with pre-vote: who is not elected in time is a follower
 * again, and with `elects` false has to be told again; so has a leader that has
 * lost its majority for an election's time.  RAFT_NOT_A_MEMBER if it has no
 * vote, RAFT_BUSY while it puts a snapshot in place. */
int raft_campaign(struct raft *r);

/* Hand the leadership over (3.10).  No proposal is taken until it has happened
 * or an election's time is over.  RAFT_NOT_LEADER, RAFT_BUSY,
 * RAFT_NOT_A_MEMBER. */
int raft_transfer(struct raft *r, uint64_t to);

/* Ask how far one must have applied the log to see all that was acknowledged
 * before this call (6.4).  The answer is in raft_ready().reads, with this
 * context, or never: after an election's time without it ask again.
 * RAFT_NOT_LEADER when no leader is known. */
int raft_read(struct raft *r, uint64_t context);

/* The write of that number and all before it are durable. */
void raft_written(struct raft *r, uint64_t write);

/* The snapshot that raft_ready() has handed out is in place, or could not be
 * put there.  Until this call the store answers as before; from then on it has
 * nothing but the snapshot. */
void raft_installed(struct raft *r, bool ok);

/* A message to this server was lost for certain (it cannot be reached). */
void raft_unreachable(struct raft *r, uint64_t id);

/* --- updates --- */

/* A read that may be answered once the log is applied up to index. */
struct raft_read_at {
	uint64_t context, index;
};

/* All of it is borrowed until the next call of a function of this raft. */
struct raft_ready {
	/* The number of this write, for raft_written(); they grow.  0: nothing
	 * has to be written, and messages wait for the writes before alone. */
	uint64_t write;
	struct raft_hard hard;
	bool hard_changed; /* its term or vote, which must be written */
	/* To be written; whatever the store has from entries[0] on goes. */
	const struct raft_entry *entries;
	size_t n_entries;
	/* To be put in place of all that is stored and applied, when what was
	 * handed out with it and before is durable; NULL: none.  No entries are
	 * handed out until raft_installed(). */
	const struct raft_snapshot *snapshot;
	/* In order; each is handed out once, when the store has it.  A crash
	 * may make it come again.
	 */
	const struct raft_entry *committed;
	size_t n_committed;
	const struct raft_message *messages;
	size_t n_messages;
	const struct raft_read_at *reads;
	size_t n_reads;
};

/* Take what is to be done; false when there is nothing. */
bool raft_ready(struct raft *r, struct raft_ready *ret);

/* --- looking at it --- */

struct raft_status {
	uint64_t id, term, vote, leader; /* leader: 0 when none is known */
	enum raft_role role;
	uint64_t commit, last, last_term;
	struct raft_members members; /* in force, committed or not */
	bool changing;		     /* they are joint, or not committed */
	uint64_t transfer_to;
	/* A leader that has committed an entry of its own term and handed it
	 * out, and so all before it. */
	bool ready;
	/* Messages of a leader that contradict what is committed here, or that
	 * no leader sends: something is damaged, here or there. */
	uint64_t contradictions;
};

void raft_status(const struct raft *r, struct raft_status *ret);

/* How far a server is, as the leader knows it. */
struct raft_progress {
	uint64_t match; /* all up to there is durable there */
	bool active;	/* it was heard in the last election's time */
	bool snapshot;	/* it is being sent one */
};

/* False if this is no leader or that no member. */
bool raft_progress(const struct raft *r, uint64_t id,
		   struct raft_progress *ret);

#endif
