/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of distribute.c and distribute_queue.c. */
#ifndef MASTERD_DISTRIBUTE_PRIVATE_H
#define MASTERD_DISTRIBUTE_PRIVATE_H

#include <stdint.h>

#include "lib/base/list.h"
#include "lib/json/json.h"
#include "masterd/distribute.h"

/* What a candidate has of the job queue. */
enum peer_queue {
	PEER_QUEUE_UNKNOWN,
	PEER_QUEUE_CATCHING, /* gets all jobs; changes are kept in missed */
	PEER_QUEUE_GOOD,     /* gets each change as it is made */
};

/* Another node that is not offline. */
struct peer {
	struct list link;
	char *uuid;
	bool candidate;
	bool away;
	enum peer_queue queue;
	json_t *missed; /* {name: content or null} while catching up */
};

struct distribute {
	struct master *m;
	struct list peers;
	uint64_t round; /* counts configurations given to us */
	json_t *ssconf; /* newest values */
	bool keeping;	/* the background task runs */
	bool stopping;
	struct cond changed;
};

struct peer *distribute_peer(const struct distribute *d, const char *uuid);
const json_t *distribute_node(const struct distribute *d, const struct peer *p);

/* The node failed to do what we asked: log it once, look after it in the
 * background. */
void distribute_failed(struct distribute *d, struct peer *p,
		       const struct error *err);

/* See to it that the background task runs. */
void distribute_keep(struct distribute *d);

/* Bring all live jobs to a candidate; false when it failed.  The peer may be
 * gone afterwards. */
WAITS bool distribute_catch_up(struct distribute *d, const char *uuid);

/* Call the peers for which `wanted` says so; those that fail are away. */
WAITS void distribute_call(struct distribute *d,
			   bool (*wanted)(const struct peer *p),
			   const char *procedure, json_t *args STEALS);

#endif
