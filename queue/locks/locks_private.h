/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the lock manager share: a lock's queue (locks_queue.c),
 * the requests that stand in the queues (locks.c), and what queries see of
 * both (locks_look.c). */
#ifndef QUEUE_LOCKS_LOCKS_PRIVATE_H
#define QUEUE_LOCKS_LOCKS_PRIVATE_H

#include "lib/base/mem.h"
#include "queue/locks/locks.h"

/* The usual modes of hierarchical locks: IS and IX on a level's set are for
 * one who has a member, S and X for one who has all of it, SIX for both. */
enum mode { IS, IX, S, SIX, X, N_MODES };

/* The last entry of those that wait with one rank. */
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

/* A request has an entry for each want, then one for each level's set that it
 * touches.  A want for all of a level stands only in the set's queue. */
struct lock_entry {
	struct list link;
	struct lock *lock; /* in whose queue it stands, or NULL */
	struct lock_request *r;
	enum lock_level level;
	const char *name; /* NULL: the level's set */
	enum mode mode;
	bool stands; /* as a want: not given back, not left out */
	bool open, held, moving;
	unsigned group;

	size_t n_for[N_MODES]; /* sets: how many wants ask for which mode */
};

/* Wants that are taken together or left. */
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

/* Whether two requests can hold a lock in these modes at the same time. */
bool modes_compatible(enum mode a, enum mode b);

/* --- locks_queue.c --- */

/* The lock of that name, NULL where nobody holds or wants it. */
struct lock *lock_find(const struct locks *l, enum lock_level level,
		       const char *name);

/* Stand in the queue of the lock, which is made if need be; and leave it. */
void entry_enqueue(struct locks *l, struct lock_entry *e);
void entry_dequeue(struct locks *l, struct lock_entry *e);
/* From waiting to held: from now on nobody gets before it. */
void entry_hold(struct lock_entry *e);
/* Hold e in a weaker mode. */
void entry_weaken(struct locks *l, struct lock_entry *e, enum mode mode);

/* --- locks_order.c --- */

/* Whether one who has what `held` has may ask for r as well; ERR_LOCK. */
int request_check_order(const struct lock_request *held,
			const struct lock_request *r, struct error *err);
/* Fill r->stages: its entries in their order. */
void request_sort_stages(struct lock_request *r);

/* Whether entry i has a queue: "all" stands in that of the set only. */
static inline bool request_has_queue(const struct lock_request *r, size_t i)
{
	return i >= r->n_wants || r->entries[i].name != NULL;
}

/* --- locks.c: called by the queues --- */

/* An entry of a request can be granted, or cannot any more: see whether the
 * whole request can be. */
void request_opened(struct locks *l, struct lock_entry *e);
void request_closed(struct locks *l, struct lock_entry *e);

/* The place among the waiting: first those who hold something already, then by
 * priority; then by arrival. */
int request_rank(const struct lock_request *r);

#endif
