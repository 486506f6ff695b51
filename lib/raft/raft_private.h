/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the core share. */
#ifndef RAFT_RAFT_PRIVATE_H
#define RAFT_RAFT_PRIVATE_H

#include "lib/raft/raft.h"

/* Numbers beyond this are no indices or terms, but damage. */
#define RAFT_NUMBER_MAX (UINT64_MAX / 4)

/* An array that has room for one more than n: the same one, or a larger one in
 * its place. */
void *raft_room(void *items, size_t n, size_t *cap, size_t size);

/* --- the log (raft_log.c) --- */

/* The entries that the store may not have yet, and the store below them. */
struct raft_log {
	struct raft_store store;
	struct raft_entry *entries; /* their data is ours */
	size_t n, cap;
	uint64_t offset; /* the index of entries[0] */
	uint64_t handed; /* up to there they were handed out to be written */
	/* A snapshot that is to be put in place; NULL: none.  Ours. */
	struct raft_snapshot *snapshot;
	bool snapshot_handed;
};

void raft_log_init(struct raft_log *l, const struct raft_store *store);
void raft_log_free(struct raft_log *l);

uint64_t raft_log_last(const struct raft_log *l);
uint64_t raft_log_last_term(const struct raft_log *l);
/* False for an index that is not known any more, or not yet. */
bool raft_log_term(const struct raft_log *l, uint64_t index,
		   uint64_t *ret_term);
/* Whether there is an entry of that index and term. */
bool raft_log_has(const struct raft_log *l, uint64_t index, uint64_t term);
/* The last entry at or before index whose term is not above `term`; where it is
 * not known any more, that index. */
uint64_t raft_log_before(const struct raft_log *l, uint64_t index,
			 uint64_t term);

/* Append an entry; its data is copied. */
void raft_log_append(struct raft_log *l, uint64_t term,
		     enum raft_entry_type type, const void *data, size_t len);
/* Forget the entries from index on. */
void raft_log_truncate(struct raft_log *l, uint64_t index);

/* Entries in [from, to): at most max and about max_bytes, at least one if they
 * are at hand; borrowed until the log changes or is read again.  They all come
 * from the store, or none. */
size_t raft_log_slice(const struct raft_log *l, uint64_t from, uint64_t to,
		      size_t max_bytes, struct raft_entry *ret, size_t max);

/* Up to this index, with this term, entries are durable: they are the store's.
 */
void raft_log_written(struct raft_log *l, uint64_t index, uint64_t term);
/* The last entry that is durable. */
uint64_t raft_log_durable(const struct raft_log *l);
/* The snapshot is in place, or is given up. */
void raft_log_installed(struct raft_log *l, bool ok);

/* A copy, to be freed with raft_snapshot_free(). */
struct raft_snapshot *raft_snapshot_copy(const struct raft_snapshot *s);
void raft_snapshot_free(struct raft_snapshot *s);

/* --- members (raft_members.c) --- */

/* The membership that came into force with an entry. */
struct raft_in_force {
	uint64_t index;
	struct raft_members members;
};

/* Whether it can be one: lists in order, somebody has a vote, a learner has
 * none in the new membership. */
bool raft_members_are_valid(const struct raft_members *m);
bool raft_members_are_joint(const struct raft_members *m);
/* The highest value that a majority has reached, of both in a joint one. */
uint64_t raft_members_reached(const struct raft_members *m,
			      uint64_t (*value)(const void *arg, uint64_t id),
			      const void *arg);
/* All of them, each once; how many. */
#define RAFT_ALL_MAX (3 * RAFT_MEMBERS_MAX)
size_t raft_members_all(const struct raft_members *m,
			uint64_t ret_ids[RAFT_ALL_MAX]);
/* What the leader has to append to get from one to the other: RAFT_OK, or
 * RAFT_INVALID. */
int raft_members_step(const struct raft_members *now,
		      const struct raft_members *wanted,
		      struct raft_members *ret);

/* --- a server --- */

enum raft_flow {
	RAFT_PROBE, /* where it agrees is not known: one message at a time */
	RAFT_REPLICATE, /* it follows: messages go out without waiting */
	RAFT_INSTALL,	/* it is being sent a snapshot */
};

/* What a leader knows of another server. */
struct raft_peer {
	uint64_t id;
	uint64_t match, next;
	enum raft_flow flow;
	bool waits;	     /* probing: a message is under way */
	bool beat;	     /* a heartbeat of the clock was not answered */
	bool active;	     /* heard in this election's time */
	uint64_t *inflight;  /* the last index of each message, a ring */
	size_t first, n;     /* of the ring */
	uint64_t snapshot;   /* installing: up to there */
	unsigned since;	     /* installing: ticks since it was sent */
	uint64_t read_round; /* the last one that it answered */
};

/* A read that waits: for an entry of the leader's own term (round 0), or until
 * a majority has answered the round. */
struct raft_pending_read {
	uint64_t context, from, index, round;
};

/* A message under way out of the core, with what it points to. */
struct raft_out {
	struct raft_message *messages;
	size_t n, cap;
};

/* What was handed out to be written. */
struct raft_write {
	uint64_t number;
	uint64_t first, index, term; /* its first and last entry; 0: none */
	uint64_t hard_term, hard_vote;
};

/* What a server has said to a candidate. */
struct raft_vote {
	uint64_t id;
	bool yes;
};

/* A proposal that is not committed. */
struct raft_proposal {
	uint64_t index;
	size_t len;
};

struct raft {
	struct raft_config config;
	struct raft_log log;

	uint64_t term, vote, leader, commit;
	uint64_t given; /* up to there entries were handed out as committed */
	enum raft_role role;
	unsigned elapsed, heartbeat_elapsed, timeout; /* ticks */

	/* Memberships: the one of the last committed, and those behind it. */
	struct raft_in_force *in_force;
	size_t n_in_force;

	/* A candidate's votes. */
	struct raft_vote votes[RAFT_ALL_MAX];
	size_t n_votes;
	bool told; /* to be elected at once, and nobody leads since */
	uint64_t contradictions;

	/* A leader's. */
	struct raft_peer *peers;
	size_t n_peers;
	uint64_t own_from; /* the first entry of its term */
	uint64_t transfer_to;
	unsigned transfer_elapsed;
	struct raft_proposal *proposals; /* in order */
	size_t n_proposals, proposals_cap;
	size_t uncommitted_bytes;
	struct raft_pending_read *pending;
	size_t n_pending, pending_cap;
	uint64_t read_round;

	/* What goes out. */
	struct raft_out out, sent;
	struct raft_read_at *reads, *read_sent;
	struct raft_read_at *asked; /* of the leader; index: the round */
	size_t n_asked, asked_cap;
	uint64_t next_round; /* of these; begins anywhere */
	size_t n_reads, reads_cap, read_sent_cap;
	struct raft_entry *committed; /* room for what is handed out */

	/* What was handed out and is not known to be durable. */
	struct raft_write *writes;
	size_t n_writes, writes_cap;
	uint64_t last_write;
	uint64_t handed_term, handed_vote;   /* hard state as handed out */
	uint64_t durable_term, durable_vote; /* and as it is on disk */
};

/* --- raft.c --- */

/* The membership in force: the last one in the log. */
const struct raft_members *raft_members(const struct raft *r);
bool raft_is_voter(const struct raft *r);
/* Whether it may ask for votes: it has one, or had one in the last membership
 * that is known to be committed, and so may be needed until the next one is
 * (4.2.2). */
bool raft_may_elect(const struct raft *r);
/* Take over a membership with the entry `index`; forget those from index on;
 * forget those that are committed but for the last. */
void raft_force(struct raft *r, uint64_t index, const struct raft_members *m);
void raft_unforce(struct raft *r, uint64_t index);
void raft_settle(struct raft *r);
/* Whether it is joint, or not committed. */
bool raft_is_changing(const struct raft *r);

/* Be a follower in that term, of a leader or (0) of none known. */
void raft_follow(struct raft *r, uint64_t term, uint64_t leader);
/* Begin anew to wait for a word of the leader. */
void raft_reset_timeout(struct raft *r);
/* Whether the log up to index is committed now; does what follows. */
void raft_commit_to(struct raft *r, uint64_t index);

/* A message to that server with the current term, in the output.  *m is copied,
 * entries and snapshot are copied with it. */
void raft_send(struct raft *r, uint64_t to, struct raft_message m);
void raft_add_read(struct raft *r, uint64_t context, uint64_t index);
void raft_out_clear(struct raft_out *out);
/* Entries from index on go before they were handed out to be written: nobody is
 * told any more that they are here. */
void raft_unsay(struct raft *r, uint64_t index);

/* --- raft_election.c --- */

/* Ask for votes; forced: a leader hands over. */
void raft_elect(struct raft *r, bool forced);
void raft_asked(struct raft *r, const struct raft_message *m);
void raft_voted(struct raft *r, const struct raft_message *m);
/* A candidate's own vote is durable. */
void raft_own_vote(struct raft *r);

/* --- raft_follower.c --- */

void raft_take_append(struct raft *r, const struct raft_message *m);
void raft_take_heartbeat(struct raft *r, const struct raft_message *m);
void raft_take_snapshot(struct raft *r, const struct raft_message *m);

/* --- raft_leader.c --- */

void raft_lead(struct raft *r);
/* Forget all that only a leader has. */
void raft_lead_no_more(struct raft *r);
void raft_lead_tick(struct raft *r);
/* The peers are those of the membership in force. */
void raft_peers_update(struct raft *r);
struct raft_peer *raft_peer(const struct raft *r, uint64_t id);
/* Append an entry of the leader's term; its index. */
uint64_t raft_lead_append(struct raft *r, enum raft_entry_type type,
			  const void *data, size_t len);
/* Send all that may be sent now. */
void raft_lead_flush(struct raft *r);
/* Commit what a majority has. */
void raft_lead_commit(struct raft *r);
/* The leader's log was committed up to here: end a joint membership, step down
 * when removed. */
void raft_lead_committed(struct raft *r);
void raft_lead_appended(struct raft *r, const struct raft_message *m);
void raft_lead_heartbeaten(struct raft *r, const struct raft_message *m);
/* Heartbeats to all, with the newest round of reads. */
void raft_lead_heartbeats(struct raft *r);

/* --- raft_reads.c --- */

/* Of a leader: note a read, of another server or (0) of its own. */
void raft_lead_read(struct raft *r, uint64_t from, uint64_t context);
/* Begin a round for all that came since the last; answer those whose round a
 * majority has answered. */
void raft_reads_begin(struct raft *r);
void raft_reads_finish(struct raft *r);
/* Of a follower: what the leader answers. */
void raft_read_answered(struct raft *r, const struct raft_message *m);

#endif
