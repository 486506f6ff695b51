/* SPDX-License-Identifier: BSD-2-Clause */
/* One server of lib/raft for tests: a driver with a disk in memory that
 * forgets.
 *
 * A write is first queued and later durable (raft_host_sync()); messages that
 * must wait for it are held until then.  A crash loses what is not durable, but
 * for a beginning of what was queued.  The state machine is a running hash; its
 * members are what the committed entries say.
 *
 * The driver also watches what it is handed: anything that contradicts
 * lib/raft/raft.h, or that says what the disk does not have, goes to
 * hooks.broken.  With a planted bug it misbehaves, so that one can see whether
 * others notice. */
#ifndef TESTS_LIB_RAFT_HOST_H
#define TESTS_LIB_RAFT_HOST_H

#include "lib/raft/raft.h"
#include "tests/lib/raft_disk.h"

/* What a driver may do wrong. */
enum raft_host_bug {
	RAFT_HOST_SOUND,
	RAFT_HOST_VOTE_NOT_SYNCED,  /* votes are durable much later */
	RAFT_HOST_ACK_BEFORE_WRITE, /* no message waits for a write */
	RAFT_HOST_SKIP_ENTRY,	    /* some committed entries are not applied */
	RAFT_HOST_STALE_READ,	    /* reads are answered without asking */
	RAFT_HOST_WRITTEN_EARLY,    /* raft_written() before it is durable */
	RAFT_HOST_LOST_TAIL,	    /* a restart forgets the last entries */
};

/* What one raft_ready() wants to have written. */
struct raft_write {
	struct raft_write *next;
	uint64_t seq, due;
	bool has_hard;
	struct raft_hard hard;
	struct raft_item **items;
	size_t n;
	uint64_t number; /* for raft_written() */
};

struct raft_host;

/* What it tells; each may be NULL. */
struct raft_host_hooks {
	void *arg;
	/* A message is to be sent; the letter is given away. */
	void (*send)(void *arg, struct raft_host *h,
		     struct raft_letter *letter);
	/* An entry was appended to its log, or applied (h->state has it). */
	void (*appended)(void *arg, struct raft_host *h,
			 const struct raft_entry *entry);
	void (*applied)(void *arg, struct raft_host *h,
			const struct raft_entry *entry);
	/* A snapshot took the place of its state. */
	void (*installed)(void *arg, struct raft_host *h);
	/* A read may be answered; all up to `index` is applied. */
	void (*read)(void *arg, struct raft_host *h, uint64_t context,
		     uint64_t index);
	/* Something that must not be. */
	void (*broken)(void *arg, struct raft_host *h, const char *text);
	/* How many ticks a write takes. */
	uint64_t (*delay)(void *arg, struct raft_host *h);
};

struct raft_host {
	struct raft_config config; /* what raft_create() gets at each start */
	struct raft *raft;	   /* NULL while it is down */
	struct raft_host_hooks hooks;
	enum raft_host_bug bug;
	uint64_t now; /* in ticks, for `due`; set by who owns it */
	uint64_t seed;

	/* How it behaves. */
	bool at_once;	   /* writes and snapshots are durable at once */
	bool shows_queued; /* the store shows what is not durable yet */
	bool keeps;	   /* `applied` gets all that is applied */
	unsigned withhold; /* so many of a hundred reads of entries give none */
	bool no_snapshot;  /* none is at hand for others */
	unsigned lazy; /* so often in a hundred it asks raft_ready() later */
	bool pending;  /* and so there may be something */
	bool groups;   /* of several writes it reports the last one alone */

	struct raft_image seen, disk;  /* with what is queued, and without */
	struct raft_state state, kept; /* applied; what a restart has of it */
	struct raft_log applied;
	struct raft_write *writes, **writes_end;
	uint64_t n_written, n_durable; /* seq of the last one */
	struct raft_letter *held, **held_end;
	bool installing;
	struct raft_state install; /* what is being put in place */
	struct raft_read_at *reads;
	size_t n_reads;
	uint64_t late_due; /* of RAFT_HOST_VOTE_NOT_SYNCED */
};

/* A server that is down, on a new disk; its config says id, members and so on,
 * and may be changed until it is started. */
struct raft_host *raft_host_create(uint64_t id,
				   const struct raft_members *members);
void raft_host_destroy(struct raft_host *h);

/* Begin with what is on the disk. */
void raft_host_start(struct raft_host *h);
/* The power goes: of the queued writes the first `keep` are durable, and of
 * the next one the hard state and the first `torn` entries.  An installation
 * that is under way has happened if `installed`. */
void raft_host_crash(struct raft_host *h, size_t keep, size_t torn,
		     bool installed);

/* Do what raft_ready() says, until it says nothing; a lazy one may leave it for
 * the next event.  To be called after each event; the functions below do it
 * themselves. */
void raft_host_work(struct raft_host *h);
void raft_host_tick(struct raft_host *h);
void raft_host_step(struct raft_host *h, const struct raft_message *message);
/* Text, or any data; the results are those of raft_propose(). */
int raft_host_say(struct raft_host *h, const char *text, uint64_t *ret_index,
		  uint64_t *ret_term);
int raft_host_propose(struct raft_host *h, const void *data, size_t len,
		      uint64_t *ret_index, uint64_t *ret_term);
int raft_host_change(struct raft_host *h, const struct raft_members *wanted);
int raft_host_campaign(struct raft_host *h);
int raft_host_transfer(struct raft_host *h, uint64_t to);
int raft_host_read(struct raft_host *h, uint64_t context);
void raft_host_unreachable(struct raft_host *h, uint64_t id);

/* How many writes are queued; make the first n of them durable. */
size_t raft_host_queued(const struct raft_host *h);
void raft_host_sync(struct raft_host *h, size_t n);
/* Make durable what is due. */
void raft_host_sync_due(struct raft_host *h);
/* End the installation of a snapshot, if one is under way. */
void raft_host_install(struct raft_host *h, bool ok);
/* Take a snapshot of all that is applied and drop the entries before it.  False
 * if that cannot be done now. */
bool raft_host_compact(struct raft_host *h);
/* Keep the applied state, so that a restart need not apply it again. */
void raft_host_keep(struct raft_host *h);

/* --- small things --- */

struct raft_status raft_host_status(const struct raft_host *h);
bool raft_host_leads(const struct raft_host *h);
/* The next of a series of numbers. */
uint64_t raft_host_random(uint64_t *seed);

/* Write an entry to the disk of a server that is down. */
void raft_host_put(struct raft_host *h, uint64_t term,
		   enum raft_entry_type type, const void *data, size_t len);

#endif
