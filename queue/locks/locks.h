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

/* In the order in which locks are taken; the names are those that gnt-debug
 * locks shows.  "instance-disks" is taken together with "instance" by
 * everything that may change where an instance's data is; so long work on the
 * disks alone does not hold up starts and stops. */
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
	const char *name; /* UUID, or instance's name; NULL: all */
	bool exclusive;
	bool creates;	/* does not exist yet: removal is no news */
	unsigned group; /* 0: must have it; else see at_least */
};

struct lock_request {
	/* Set by the owner, kept alive until locks_release(). */
	const struct lock_want *wants; /* no two of the same lock */
	size_t n_wants;
	/* Wants with the same group number (from 1 on, without gaps) are taken
	 * together or not at all.  The request waits until at least so many
	 * groups are free, and takes all groups that are free then; locks_has()
	 * says which. */
	unsigned at_least;
	int priority;	/* -20 (first) to 19 */
	uint64_t owner; /* job id, shown by queries */
	void (*granted)(struct lock_request *r);
	/* The object of this want was removed while the request waited for it;
	 * known_as: its name.  The request has ended, as after
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
	size_t *stages; /* for more locks: entries in order */
	size_t n_stages, stage;
	uint64_t order;
	struct list all;
	struct list ready; /* granted, but granted() was not called yet */
	bool active, held;
};

struct locks;

struct locks *locks_create(void);
void locks_destroy(struct locks *l); /* no request may be active */

/* Ask for r->wants; -1, and nothing is asked for, when these have fewer groups
 * than are needed.  If nothing stands in the way, granted() is called before
 * this returns; otherwise it is called by whichever later call clears the way.
 * granted() may itself call functions of this module; requests that become
 * ready by that are told after it has returned, so that a long chain of
 * releases needs no deep stack. */
int locks_request(struct locks *l, struct lock_request *r, struct error *err);

/* The same for the holder of other locks: held[] are its granted requests.  The
 * wants must come after everything that it holds, by level and then by name
 * ("all" comes last), and must not be held already; otherwise -1, and nothing
 * is asked for.  The wants are taken one after the other in that order, before
 * all requests of those who hold nothing. */
int locks_request_more(struct locks *l, struct lock_request *r,
		       const struct lock_request *const held[], size_t n_held,
		       struct error *err);

/* Give up r, whether it is granted or waits; may be called again. */
void locks_release(struct locks *l, struct lock_request *r);

/* Give back a part of a granted request: the want at index i. */
void locks_release_one(struct locks *l, struct lock_request *r, size_t i);

/* Make the granted exclusive want i shared. */
void locks_downgrade(struct locks *l, struct lock_request *r, size_t i);

/* Change the priority of a waiting request: in all queues it goes behind those
 * that wait with the new priority.  No effect on a granted one. */
void locks_set_priority(struct locks *l, struct lock_request *r, int priority);

/* The object was removed by the caller, who still holds its lock.  Requests
 * that wait for it end with removed(), except those that are about to create it
 * and those that can do without it. */
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

/* Call fn for each lock in use, sorted by name, with its name ("node/<uuid>",
 * "node/[lockset]"), its mode (NULL, "shared", "exclusive"), the ids of the
 * owners, and of those who wait (with "shared"/"exclusive") in their order.  A
 * level's set is described while somebody wants all of the level; then those
 * who have or want one of its members are shown as its owners and waiters,
 * too. */
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

/* Call fn with the owner of each request that holds what this want would wait
 * for: the lock itself, or all of its level, or parts of the level where the
 * want is for all of it.  The cost does not grow with the number of locks. */
void locks_holders(const struct locks *l, const struct lock_want *want,
		   void (*fn)(uint64_t owner, void *arg), void *arg);

/* The waiting request of this owner, or NULL. */
const struct lock_request *locks_waiting(const struct locks *l, uint64_t owner);

/* What a waiting request waits for first: preferably a lock that others hold,
 * otherwise one for which others wait before it. */
struct lock_block {
	enum lock_level level;
	const char *name; /* NULL: all of the level */
	bool exclusive;	  /* how it is wanted */
	const struct lock_request *by;
	bool by_exclusive, by_holds;
	size_t n_before; /* how many wait for that lock before it */
};
void locks_blocked(const struct lock_request *r, struct lock_block *ret);

#endif
