/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock manager: who may touch which object now.
 *
 * A request names all locks that it wants and gets them all at once or waits;
 * so no deadlock is possible.  In every lock's queue the requests stand in one
 * common order (priority, then arrival; granted ones first), and an entry is
 * open when it and all before it are compatible with each other; a request
 * whose entries are all open is granted.  So nobody starves: a waiting writer
 * stops the readers behind it.
 *
 * A want for one object of a level also stands in the queue of that level's
 * set with an intention mode, so "all of a level" conflicts with each of its
 * members without a scan.
 *
 * This module does no I/O, reads no clock and knows no tasks: it only calls
 * granted().  Request and release cost time in proportion to the wants (and
 * to those who become able to go on), not to the number of locks or waiters.
 */
#ifndef QUEUE_LOCKS_H
#define QUEUE_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/list.h"
#include "lib/base/str.h"
#include "lib/base/table.h"

/* In their order (issue of the lock manager: BGL > node-res > instance >
 * nodegroup > node > network > config); names as gnt-debug locks shows them. */
#define LOCK_LEVELS(X)                                                         \
	X(CLUSTER, "cluster")                                                  \
	X(NODE_RES, "node-res")                                                \
	X(INSTANCE, "instance")                                                \
	X(NODEGROUP, "nodegroup")                                              \
	X(NODE, "node")                                                        \
	X(NETWORK, "network")                                                  \
	X(CONFIG, "config")

enum lock_level {
#define X(level, name) LOCK_##level,
	LOCK_LEVELS(X)
#undef X
		LOCK_LEVEL_COUNT
};

/* The lock that every opcode holds, nearly always shared. */
#define LOCK_BGL "BGL"

struct lock_want {
	enum lock_level level;
	const char *name; /* object's UUID or instance's name; NULL: all */
	bool exclusive;
};

struct lock_request {
	/* Set by the owner, kept alive until locks_release(). */
	const struct lock_want *wants; /* no two of the same lock */
	size_t n_wants;
	int priority;	/* -20 (first) to 19 */
	uint64_t owner; /* job id, shown by queries */
	void (*granted)(struct lock_request *r);
	void *arg;

	/* Private to locks.c. */
	struct lock_entry *entries;
	size_t n_entries, n_closed;
	uint64_t order;
	struct list ready; /* granted, but granted() was not called yet */
	bool active, held;
};

struct locks;

struct locks *locks_create(void);
void locks_destroy(struct locks *l); /* no request may be active */

/* Ask for r->wants.  granted() is called before this returns if nothing stands
 * in the way, else from the call that clears it.  granted() may itself call
 * into this module; whom that lets go on is told after it has returned, so that
 * a long chain of releases needs no deep stack. */
void locks_request(struct locks *l, struct lock_request *r);

/* Give up r, whether it is granted or still waits; idempotent. */
void locks_release(struct locks *l, struct lock_request *r);

/* Give back a part of a granted request: the want at index i. */
void locks_release_one(struct locks *l, struct lock_request *r, size_t i);

/* Make the granted exclusive want i shared. */
void locks_downgrade(struct locks *l, struct lock_request *r, size_t i);

/* Move a waiting request in all queues, behind those that wait with the same
 * priority; no effect on a granted one. */
void locks_set_priority(struct locks *l, struct lock_request *r, int priority);

static inline bool locks_held(const struct lock_request *r)
{
	return r->held;
}

const char *lock_level_name(enum lock_level level);

/* Describe all locks in use, sorted by name: calls fn for each with its name
 * ("node/<uuid>", "node/[lockset]"), mode (NULL, "shared", "exclusive"), the
 * owners' ids and the waiting ("shared"/"exclusive", id) in order.  A level's
 * set is described while somebody wants all of the level; who has or wants one
 * of its members then counts as an owner or waits there as well. */
struct lock_info {
	char *name;
	const char *mode;
	const uint64_t *owners;
	size_t n_owners;
	const struct lock_waiter {
		uint64_t owner;
		bool exclusive;
	} * pending;
	size_t n_pending;
};
void locks_describe(const struct locks *l,
		    void (*fn)(const struct lock_info *info, void *arg),
		    void *arg);

#endif
