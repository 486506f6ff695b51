/* SPDX-License-Identifier: BSD-2-Clause */
/* From what the nodes say of themselves to who may be master: counting only, no
 * I/O (doc/design/failover.md has the rules, masterd/failover/takeover does the
 * asking).
 */
#ifndef MASTERD_FAILOVER_VOTE_H
#define MASTERD_FAILOVER_VOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

/* How new a copy is: the term it was written under, then the serial of the
 * configuration or the batch of the queue.  {0, n}: written before there were
 * terms, or not whole. */
struct vote_position {
	uint64_t term, number;
};

/* A node of the configuration, and what it said (master_state); strings are
 * borrowed, "" when there is none. */
struct vote_node {
	const char *name;
	bool offline;
	bool candidate; /* a master candidate that is not offline */
	bool answered;
	bool ganetis; /* Ganeti's node daemon runs there: it has no vote */

	const char *master;   /* by its ssconf files */
	uint64_t term;	      /* what it promised, */
	const char *promised; /* and to whom */
	bool running;	      /* a master daemon runs there */
	struct vote_position config, queue;
	bool half; /* its queue is being made another's copy, */
	bool had_known;
	struct vote_position had; /* and what it had before that */
	uint64_t job_id;	  /* the highest it knows */
};

struct vote {
	struct vote_node *nodes;
	size_t n;
	size_t self;	     /* our own place among them */
	bool ignore_offline; /* offline nodes are not counted at all */
};

/* Note the answer of a node; -1 when it is none.  The strings are those of
 * state. */
int vote_read(struct vote_node *node, const json_t *state, struct error *err);

/* How many of n are half plus one. */
size_t vote_majority(size_t n);

enum vote_outcome {
	VOTE_WON,
	VOTE_OPEN, /* not yet: answers that are missing could change it */
	VOTE_LOST,
};

/* Do half plus one of all nodes name us as the master?  err is set unless won.
 */
enum vote_outcome vote_for_start(const struct vote *v, struct error *err);

/* Do so many answer that somebody can become master: half plus one of all nodes
 * and of the candidates?  Never VOTE_OPEN. */
enum vote_outcome vote_for_failover(const struct vote *v, struct error *err);

/* Another node to which most nodes gave their newest promise and whose daemon
 * runs, though our files name somebody else: it has just taken over.  NULL if
 * there is none. */
const struct vote_node *vote_rival(const struct vote *v);

/* Have half plus one of all nodes and of the candidates promised us the term?
 * Never VOTE_OPEN; err names who promised it to whom. */
enum vote_outcome vote_for_term(const struct vote *v, uint64_t term,
				struct error *err);

/* The highest term that anybody promised. */
uint64_t vote_highest_term(const struct vote *v);

/* The node with the newest configuration, or whole queue, if that is newer than
 * ours; else NULL. */
const struct vote_node *vote_newer_config(const struct vote *v);
const struct vote_node *vote_newer_queue(const struct vote *v);

/* What both have, as a sentence for users: "node3 has a newer configuration
 * (...) than this node (...)"; to be freed. */
char *vote_tell_config(const struct vote *v, const struct vote_node *newer);
char *vote_tell_queue(const struct vote *v, const struct vote_node *newer);

#endif
