/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers of lib/raft/ (raft_host.h) with a network and a clock of ticks, and a
 * judge (raft_judge.h) who looks at each event.
 *
 * Without delays all that is sent arrives in the order in which it was sent, in
 * the same tick.  With them a message takes any number of ticks up to
 * `delay`, so that later ones may arrive earlier. */
#ifndef TESTS_LIB_RAFT_NET_H
#define TESTS_LIB_RAFT_NET_H

#include <stdio.h>

#include "tests/lib/raft_host.h"
#include "tests/lib/raft_judge.h"

#define RAFT_NET_SERVERS_MAX 9
#define RAFT_NET_DELAY_MAX 63

/* A proposal, or a read, that somebody waits for. */
struct raft_net_wait {
	uint64_t server, index, term;	/* of a proposal */
	uint64_t context, acknowledged; /* of a read: what was known then */
};

struct raft_net {
	size_t n; /* servers, with the ids 1 to n */
	struct raft_host *hosts[RAFT_NET_SERVERS_MAX + 1]; /* by id */
	struct raft_judge judge;
	uint64_t now, seed;
	FILE *trace; /* NULL: none */

	/* Faults, in percent and ticks. */
	unsigned loss, duplicates, delay, disk_delay;
	bool cut[RAFT_NET_SERVERS_MAX + 1][RAFT_NET_SERVERS_MAX + 1];
	/* NULL: none.  Whether this message is lost. */
	bool (*lose)(struct raft_net *net, const struct raft_message *m);
	/* NULL: none.  It sees each message that arrives, before. */
	void (*see)(struct raft_net *net, const struct raft_message *m);
	void *arg; /* for these */
	/* Until that tick it does nothing, and what arrives waits for it. */
	uint64_t asleep[RAFT_NET_SERVERS_MAX + 1];
	bool paused; /* nothing arrives until it is false again */

	struct raft_letter *mail[RAFT_NET_DELAY_MAX + 1]; /* by tick */
	struct raft_letter **mail_end[RAFT_NET_DELAY_MAX + 1];
	struct raft_net_wait *waits, *reads;
	size_t n_waits, n_reads, waits_room, reads_room;
	uint64_t n_acknowledged, n_answered; /* proposals, reads */
	uint64_t n_strange; /* answers to reads that nobody waits for */
	uint64_t answered, answered_index; /* the last read */
	uint64_t next_value, next_context;
};

/* n servers, all down, with a membership as raft_disk_members() reads it. */
struct raft_net *raft_net_create(size_t n, const char *members);
void raft_net_destroy(struct raft_net *net);
/* Before any is started: the cluster begins with a snapshot of entry 1 in place
 * of an empty log, so that whoever joins gets the first members with it. */
void raft_net_found(struct raft_net *net);
/* One more, which nobody knows yet; its id. */
uint64_t raft_net_add(struct raft_net *net);

/* The server starts; crashes and loses what is not durable. */
void raft_net_start(struct raft_net *net, uint64_t id);
void raft_net_start_all(struct raft_net *net);
void raft_net_crash(struct raft_net *net, uint64_t id);

/* Deliver all that is there; nothing more is under way then (without delays).
 */
void raft_net_settle(struct raft_net *net);
/* The clock goes on for all that are up, and what is due arrives. */
void raft_net_tick(struct raft_net *net);
void raft_net_run(struct raft_net *net, unsigned ticks);
/* To be called after something was done to a host directly. */
void raft_net_look(struct raft_net *net, struct raft_host *h);

/* Nothing from one arrives at the other; in both directions; nothing from and
 * to all; all arrives again. */
void raft_net_cut(struct raft_net *net, uint64_t from, uint64_t to);
void raft_net_part(struct raft_net *net, uint64_t a, uint64_t b);
void raft_net_isolate(struct raft_net *net, uint64_t id);
void raft_net_heal(struct raft_net *net);

/* The leader of the highest term among those that are up; NULL: none. */
struct raft_host *raft_net_leader(const struct raft_net *net);
/* Campaign and settle; whether it leads. */
bool raft_net_elect(struct raft_net *net, uint64_t id);
/* Propose a value that is used once; wait for it in n_acknowledged. */
int raft_net_propose(struct raft_net *net, uint64_t id, size_t len);
/* Read; wait for it in n_answered. */
int raft_net_read(struct raft_net *net, uint64_t id);
/* Whether all that are members, and are up, have applied the same. */
bool raft_net_equal(const struct raft_net *net);

/* Another membership of its servers than this one, at random: one more or less,
 * all anew, or one alone. */
struct raft_members raft_net_members(struct raft_net *net,
				     const struct raft_members *now);
/* A line about each server. */
void raft_net_print(const struct raft_net *net, FILE *file);
/* A number below n. */
uint64_t raft_net_below(struct raft_net *net, uint64_t n);

#endif
