/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers of lib/consensus/ in virtual time, each with a disk that forgets, on
 * a network that loses, doubles, delays and cuts; and a judge who sees all that
 * they apply and acknowledge.
 *
 * The state of a server is a running hash over the entries of data that it has
 * applied.  It is kept in the file "/state" now and then; a snapshot describes
 * it whole. */
#ifndef TESTS_LIB_LOG_WORLD_H
#define TESTS_LIB_LOG_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/list.h"
#include "lib/consensus/consensus.h"
#include "tests/lib/fake_disk.h"

#define LOG_SERVERS_MAX 9

struct log_world;

struct log_state {
	uint64_t index, n, hash;
};

/* A server; its address is the owner of its tasks and timers. */
struct log_server {
	struct log_world *w;
	uint64_t id; /* as it is now; changes when its disk is made anew */
	unsigned life;
	struct fake_disk disk, image; /* image: an older one */
	bool has_image;
	uint64_t image_id;
	struct consensus *c; /* NULL: it is down, or about to be up */
	struct log_state state;
	bool frozen, starting;
	bool fetch_fails;
	unsigned format; /* of entries that it can read; 0: 1 */
	bool may_die;	 /* its disk has faults */
	/* Its disk was put back, and it has not been told so. */
	bool is_old;
	size_t n_sent;	  /* parcels of its own, in all its lives */
	unsigned disk_us; /* a slow disk of its own; 0: the world's */
	/* How much it had not applied when it last said that it leads. */
	uint64_t behind;
	char *died; /* what consensus said when it could not go on */
	const char *died_code;
};

/* What was applied at an index, by whoever was first. */
struct log_entry {
	uint64_t index, term, value;
	struct log_state after;
};

struct log_world {
	struct log_server servers[LOG_SERVERS_MAX + 1]; /* from 1 on */
	size_t n;
	uint64_t next_id;
	bool elects;

	/* The network. */
	unsigned loss, duplicates; /* percent */
	unsigned delay_ms;	   /* at most */
	unsigned disk_us;	   /* work beside the loop, at most */
	bool cut[LOG_SERVERS_MAX + 1][LOG_SERVERS_MAX + 1];
	struct list letters, proposals;

	/* The judge. */
	struct log_entry *entries;
	size_t n_entries, cap;
	uint64_t *leaders; /* by term: the id that led it; 0: none seen */
	size_t n_terms;
	uint64_t next_value, n_acknowledged, n_refused, n_reads;
	char problem[256]; /* the first; "": none */
};

/* n servers, of which the first `voters` make the cluster, not started.
 * Virtual time and randomness begin with the seed. */
void log_world_init(struct log_world *w, size_t n, size_t voters,
		    uint64_t seed);
void log_world_done(struct log_world *w);

/* Let everything run for so long, or until done() says so: whether it did
 * (without done: whether nothing is wrong). */
bool log_world_run(struct log_world *w, int64_t ms,
		   bool (*done)(struct log_world *w));

/* Something happened that must never happen. */
void log_world_broken(struct log_world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- one server --- */

void log_server_start(struct log_server *s);
/* kill -9; with power: what was not synced may be gone. */
void log_server_kill(struct log_server *s, bool power);
void log_server_freeze(struct log_server *s);
void log_server_thaw(struct log_server *s);
/* Keep its state in its file; with snapshot: and let the log forget. */
void log_server_keep(struct log_server *s, bool snapshot);
/* Propose some bytes; the judge hears of the outcome. */
void log_server_propose(struct log_server *s, size_t bytes);
/* consensus_read(), judged. */
void log_server_read(struct log_server *s);
/* As consensus_lead(), consensus_transfer(), consensus_change_members(). */
void log_server_lead(struct log_server *s);
int log_server_transfer(struct log_server *s, uint64_t to);
int log_server_change(struct log_server *s, const struct raft_members *wanted);
/* Remember its disk as it is; put it back (while it is down). */
void log_server_take_image(struct log_server *s);
void log_server_put_image(struct log_server *s);
/* An empty disk and a new number (while it is down): to join. */
void log_server_renew(struct log_server *s);

/* A leader that is ready, with the highest term; NULL: none. */
struct log_server *log_world_leader(struct log_world *w);
/* Whether all members that are up have applied the same, to the end, and there
 * is nothing left to do. */
bool log_world_at_rest(struct log_world *w);
/* How all are, on stdout. */
void log_world_print(struct log_world *w);
/* The server that has this number now; NULL: none. */
struct log_server *log_world_server(struct log_world *w, uint64_t id);

#endif
