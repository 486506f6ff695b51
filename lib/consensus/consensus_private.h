/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of consensus*.c.  consensus.c gives the core its events and takes
 * what it says is to be done; consensus_disk.c does that with the disk, in
 * tasks; consensus_net.c has the parcels and what the others know of us;
 * consensus_peers.c has who they are, and their file; consensus_propose.c has
 * those who wait; consensus_folder.c says whose folder it is.
 *
 * What the core hands out is borrowed until it is called again.  So while that
 * is taken in (`taking`) nobody calls the core: what callbacks want of it
 * waits until afterwards. */
#ifndef CONSENSUS_CONSENSUS_PRIVATE_H
#define CONSENSUS_CONSENSUS_PRIVATE_H

#include "lib/base/str.h"
#include "lib/consensus/consensus.h"
#include "lib/consensus/wal.h"
#include "lib/event/timer.h"

/* Another server. */
struct peer {
	struct list link;
	struct consensus *c;
	uint64_t id;
	struct wal_mark known; /* the newest that it has said of itself */
	bool welcomed;	       /* it has answered our question, */
	bool away;	       /* or could not be reached with it */
	bool asked;	       /* the parcel on its way is the question */
	int64_t heard_us;      /* 0: never */
	unsigned format;       /* of entries that it can read; 0: not known */
	struct buf outbox;     /* messages for the next parcel */
	bool sending;
	uint64_t answer; /* the number of its HELLO, to be answered; 0: none */
	/* Its parcel that is not answered yet; NULL: none. */
	struct consensus_question *question;
	int64_t question_until_us;
};

/* A message that waits for a write. */
struct held {
	struct list link;
	uint64_t write, to;
	struct buf bytes;
};

/* A membership, and the entry that made it. */
struct members_at {
	struct list link;
	uint64_t index;
	struct raft_members members;
};

/* The snapshot of another server: none; it has come; is being fetched; is. */
enum install {
	INSTALL_NONE,
	INSTALL_WANTED,
	INSTALL_FETCHING,
	INSTALL_FETCHED
};

struct consensus {
	struct consensus_config config;
	char *dir;
	struct consensus_identity me;
	struct wal *wal;
	struct raft *raft;
	struct timer timer;
	bool started, stopping, failed;
	bool given_up; /* no proposal is taken any more */
	bool taking;
	unsigned n_tasks;  /* of ours that have not ended */
	struct cond ended; /* one has */
	unsigned n_sending;

	uint64_t applied, applied_term;
	struct list members; /* struct members_at, in order */

	/* The disk. */
	uint64_t last_write, durable; /* numbers of raft_ready() */
	struct list held;
	bool writing, making_segment, loading, removing;
	bool full;
	int64_t segment_after_us, load_after_us, drop_after_us;
	struct cond on_disk; /* a segment was made, or could not be */
	enum install install;
	struct raft_snapshot incoming;
	struct raft_snapshot
		outgoing; /* of consensus_snapshot(); index 0: none */
	bool saving;

	/* The network. */
	struct list peers;
	bool joined, told;
	struct timer questions; /* the time of one is over */
	uint64_t told_term; /* told while the leader of this term was known; 0:
			       while none was */
	uint64_t hello;	    /* the number of our question */
	int64_t hello_us, hello_until_us;
	const struct peer *about; /* whom the last parcel told of */
	/* The membership of whoever has answered and knows most, and how far
	 * that one's log is committed; 0: nobody has. */
	struct raft_members heard_members;
	uint64_t heard_commit;
	unsigned ticks; /* since it last campaigned */
	bool peers_changed;
	int64_t peers_saved_us;

	/* Who waits. */
	struct list waiting, proposed;
	struct list readers;
	uint64_t last_reader;

	struct raft_status shown; /* as of the last call of `changed` */
	bool shown_joined, shown_full;
};

/* --- consensus.c --- */

/* Take what the core says is to be done, until there is nothing. */
void consensus_pump(struct consensus *c);
/* It cannot go on. */
void consensus_fail(struct consensus *c, const struct error *err);
/* Start a task that stop waits for; it ends with consensus_task_ends(). */
void consensus_task(struct consensus *c, const char *name, task_fn *fn);
void consensus_task_ends(struct consensus *c);

/* --- consensus_folder.c --- */

/* The folder is nobody's for now; consensus_aside_read() finds it. */
int consensus_set_aside(struct disk *disk, const char *dir, struct error *err);

/* --- consensus_disk.c --- */

/* Start what is to be done with the disk. */
void consensus_disk_work(struct consensus *c);
/* A message that waits for the write of this number. */
void consensus_hold(struct consensus *c, uint64_t to, struct buf *bytes STEALS);
void consensus_disk_free(struct consensus *c);

/* --- consensus_peers.c --- */

/* The server with this number, made known if it is not; NULL: it is 0, or our
 * own. */
struct peer *consensus_peer(struct consensus *c, uint64_t id);
/* What it has said of itself, or another one has heard. */
void consensus_note_mark(struct consensus *c, struct peer *p,
			 const struct wal_mark *mark);
/* The file of all that; to be freed. */
char *consensus_peers_path(const char *dir);
void consensus_peers_load(struct consensus *c);
/* Write down what is not yet, if it is time. */
void consensus_peers_save(struct consensus *c, int64_t now_us);

/* --- consensus_net.c --- */

/* Put messages into its next parcel. */
void consensus_post(struct consensus *c, uint64_t to, const struct buf *bytes);
/* Send what is ready to be sent. */
void consensus_send(struct consensus *c);
/* Time goes on: ask, be elected, write down what the others have said. */
void consensus_net_tick(struct consensus *c);
/* Those who wait for an answer get what there is. */
void consensus_net_stop(struct consensus *c);
void consensus_net_free(struct consensus *c);

/* --- consensus_propose.c --- */

/* Give the core what waits, if it takes it. */
void consensus_propose_waiting(struct consensus *c);
/* An entry was applied. */
void consensus_applied(struct consensus *c, const struct raft_entry *entry);
void consensus_reads_answer(struct consensus *c,
			    const struct raft_read_at *reads, size_t n);
void consensus_reads_tick(struct consensus *c);
/* Whether anything was proposed and is not done. */
bool consensus_any_waits(const struct consensus *c);
/* Nothing more is committed here. */
void consensus_refuse_all(struct consensus *c, const struct error *err);

#endif
