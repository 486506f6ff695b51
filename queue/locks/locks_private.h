/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the lock manager share: a lock's queue (locks_queue.c),
 * the requests that stand in the queues (locks.c), and what queries see of
 * both (locks_look.c). */
#ifndef QUEUE_LOCKS_LOCKS_PRIVATE_H
#define QUEUE_LOCKS_LOCKS_PRIVATE_H

#include "lib/base/mem.h"
#include "queue/locks/locks.h"

/* The usual modes of hierarchical locks.  On a level's set a request has IS or
 * IX if it wants members of it, S or X if it wants all of it, SIX for both. */
enum mode { IS, IX, S, SIX, X, N_MODES };

/* The last of the waiting entries with this rank. */
struct mark {
	int rank;
	struct lock_entry *last;
};

struct lock {
	struct list held;
	struct list waiting;
	struct lock_entry *first_closed; /* in waiting, or NULL */
	size_t n_open[N_MODES];
	struct mark *marks; /* by rank, each with at least one entry */
	size_t n_marks;
	char *name;
	bool is_set;
};

/* A request has an entry for each want, and behind these one for each level's
 * set that it needs.  A want for all of a level is an entry in the queue of the
 * set only. */
struct lock_entry {
	struct list link;
	struct lock *lock; /* in whose queue it stands; NULL: in none */
	struct lock_request *r;
	enum lock_level level;
	const char *name; /* NULL: the level's set */
	enum mode mode;
	bool stands; /* of wants: still wanted; false: given back or left out */
	bool open, held, moving;
	unsigned group;

	size_t n_for[N_MODES]; /* of sets: how many wants need each mode */
};

/* Wants that are taken together or not at all. */
struct lock_group {
	size_t n_closed;
};

struct locks {
	struct table table;
	struct list all;   /* the active requests */
	struct list ready; /* requests whose granted() is to be called */
	bool calling;
	uint64_t order;
};

/* Whether two requests can hold a lock at the same time in these modes. */
bool lock_modes_compatible(enum mode a, enum mode b);

/* --- locks_queue.c --- */

/* The lock with that name; NULL when nobody holds or wants it. */
struct lock *lock_find(const struct locks *l, enum lock_level level,
		       const char *name);

/* Put the entry into the queue of its lock, which is made if need be; and
 * remove it. */
void entry_enqueue(struct locks *l, struct lock_entry *e);
void entry_dequeue(struct locks *l, struct lock_entry *e);
/* The entry is granted; from now on no other can get before it in the queue. */
void entry_hold(struct lock_entry *e);
/* Hold the entry in a weaker mode. */
void entry_weaken(struct locks *l, struct lock_entry *e, enum mode mode);

/* --- locks_order.c --- */

/* 0 if the holder of `held` may ask for r as well; -1 with ERR_LOCK. */
int request_check_order(const struct lock_request *held,
			const struct lock_request *r, struct error *err);
/* Fill r->stages with its entries in the order of locks. */
void request_sort_stages(struct lock_request *r);

/* Whether entry i has a queue of its own: a want for all of a level has not, as
 * the entry of the set stands in that queue. */
static inline bool request_has_queue(const struct lock_request *r, size_t i)
{
	return i >= r->n_wants || r->entries[i].name != NULL;
}

/* --- locks.c: called by the queues --- */

/* The entry was opened or closed: see whether its request can be granted
 * now. */
void request_opened(struct locks *l, struct lock_entry *e);
void request_closed(struct locks *l, struct lock_entry *e);

/* The rank of a waiting request: those of jobs that hold something come first,
 * then the order is by priority.  Equal ranks are in the order of arrival. */
int request_rank(const struct lock_request *r);

#endif
