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
 * A request may also name locks of which it takes only those that are free
 * when it is granted, at least so many; and one who holds locks may ask for
 * more, in the order of the levels and of the names inside a level.  Nothing
 * held exclusively can be had anew, nothing shared made exclusive.
 *
 * A want for one object of a level also stands in the queue of that level's
 * set with an intention mode, so "all of a level" conflicts with each of its
 * members without a scan.
 *
 * Locks need not be made: one exists while somebody has or wants it.  Who
 * removes an object says so with locks_remove(), and who waits for it is told.
 *
 * This module does no I/O, reads no clock and knows no tasks: it only calls
 * granted() and removed().  Request and release cost time in proportion to the
 * wants (and to those who become able to go on), not to the number of locks or
 * waiters.
 */
#ifndef QUEUE_LOCKS_LOCKS_H
#define QUEUE_LOCKS_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/str.h"
#include "lib/base/table.h"

/* In their order; names as gnt-debug locks shows them.  "instance-disks" is
 * taken together with an instance by all that may change where its data is; so
 * that long work on the disks alone lets starts and stops through. */
#define LOCK_LEVELS(X)                                                         \
	X(CLUSTER, "cluster")                                                  \
	X(NODE_RES, "node-res")                                                \
	X(INSTANCE_DISKS, "instance-disks")                                    \
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
	bool creates;	/* no object yet: its removal by others is no news */
	unsigned group; /* 0: must have it; else see at_least */
};

struct lock_request {
	/* Set by the owner, kept alive until locks_release(). */
	const struct lock_want *wants; /* no two of the same lock */
	size_t n_wants;
	/* Wants of the same group (numbers from 1 on, without gaps) are taken
	 * together or left.  The request waits until so many groups are free,
	 * and takes all that are free then: ask with locks_has(). */
	unsigned at_least;
	int priority;	/* -20 (first) to 19 */
	uint64_t owner; /* job id, shown by queries */
	void (*granted)(struct lock_request *r);
	/* The object of the want, as people know it, was removed while the
	 * request waited for it.  The request is over, as after
	 * locks_release(). */
	void (*removed)(struct lock_request *r, const struct lock_want *want,
			const char *known_as);
	void *arg;
	int64_t granted_us; /* when, by a clock of the owner's; for queries */

	/* Private to the lock manager. */
	struct lock_entry *entries;
	size_t n_entries, n_closed;
	struct lock_group *groups;
	unsigned n_groups, n_groups_open, n_groups_left;
	size_t *stages; /* of one who asks for more: entries in their order */
	size_t n_stages, stage;
	uint64_t order;
	struct list all;
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

/* The same for one who holds others: the granted requests in held[].  -1, and
 * nothing is asked for, when a want does not come after all that is held, by
 * level and then by name ("all" comes last), or is held already.  The wants are
 * taken one after the other in that order, before all who hold nothing. */
int locks_request_more(struct locks *l, struct lock_request *r,
		       const struct lock_request *const held[], size_t n_held,
		       struct error *err);

/* Give up r, whether it is granted or still waits; idempotent. */
void locks_release(struct locks *l, struct lock_request *r);

/* Give back a part of a granted request: the want at index i. */
void locks_release_one(struct locks *l, struct lock_request *r, size_t i);

/* Make the granted exclusive want i shared. */
void locks_downgrade(struct locks *l, struct lock_request *r, size_t i);

/* Move a waiting request in all queues, behind those that wait with the same
 * priority; no effect on a granted one. */
void locks_set_priority(struct locks *l, struct lock_request *r, int priority);

/* The object is gone, and who calls has its lock still: requests that wait for
 * it end with removed(), except those that mean to create it and those that
 * can do without. */
void locks_remove(struct locks *l, enum lock_level level, const char *name,
		  const char *known_as);

static inline bool locks_held(const struct lock_request *r)
{
	return r->held;
}

/* Whether want i of a granted request was taken and not given back. */
bool locks_has(const struct lock_request *r, size_t i);

/* As it stands in front of a lock's name: "instance", "node-res" and so on. */
const char *lock_level_name(enum lock_level level);

/* --- for queries --- */

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

/* The request of this owner that waits, or NULL. */
const struct lock_request *locks_waiting(const struct locks *l, uint64_t owner);

/* What a waiting request waits for first: a lock that others hold, if there is
 * one, else one that others wait for before it. */
struct lock_block {
	enum lock_level level;
	const char *name; /* NULL: all of the level */
	bool exclusive;	  /* how it is wanted */
	const struct lock_request *by;
	bool by_exclusive, by_holds;
	size_t n_before; /* so many wait for that lock before it */
};
void locks_blocked(const struct lock_request *r, struct lock_block *ret);

#endif
