/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of a lock: first the entries of granted requests, then the waiting
 * ones by rank and arrival.  The open entries are always the first ones of the
 * queue, so a lock knows how many are open in each mode, and which is the first
 * closed one.  Both are updated in steps, as many as entries are opened or
 * closed.
 *
 * The waiting part has a mark for each rank in use (its last entry), so that a
 * place is found without walking past all that wait. */
#include <assert.h>
#include <string.h>

#include "queue/locks/locks_private.h"

bool lock_modes_compatible(enum mode a, enum mode b)
{
	static const bool table[N_MODES][N_MODES] = {
		[IS] = {[IS] = true, [IX] = true, [S] = true, [SIX] = true},
		[IX] = {[IS] = true, [IX] = true},
		[S] = {[IS] = true, [S] = true},
		[SIX] = {[IS] = true},
	};

	return table[a][b];
}

/* --- locks in the table --- */

static char *lock_key(enum lock_level level, const char *name)
{
	return xprintf("%s/%s", lock_level_name(level),
		       name == NULL ? "[lockset]" : name);
}

struct lock *lock_find(const struct locks *l, enum lock_level level,
		       const char *name)
{
	auto_free char *key = lock_key(level, name);

	return table_get(&l->table, key);
}

static struct lock *lock_get(struct locks *l, enum lock_level level,
			     const char *name)
{
	auto_free char *key = lock_key(level, name);
	struct lock *lock = table_get(&l->table, key);

	if (lock != NULL)
		return lock;
	lock = xalloc(sizeof(*lock));
	list_init(&lock->held);
	list_init(&lock->waiting);
	lock->is_set = name == NULL;
	lock->name = steal(&key);
	table_put(&l->table, lock->name, lock);
	return lock;
}

static void lock_put(struct locks *l, struct lock *lock)
{
	if (!list_empty(&lock->held) || !list_empty(&lock->waiting))
		return;
	assert(lock->n_marks == 0);
	table_remove(&l->table, lock->name);
	free(lock->marks);
	free(lock->name);
	free(lock);
}

/* --- places among the waiting --- */

static bool before(const struct lock_request *a, const struct lock_request *b)
{
	if (request_rank(a) != request_rank(b))
		return request_rank(a) < request_rank(b);
	return a->order < b->order;
}

static struct lock_entry *next_waiting(struct lock_entry *e)
{
	if (e->link.next == &e->lock->waiting)
		return NULL;
	return container_of(e->link.next, struct lock_entry, link);
}

static struct lock_entry *prev_waiting(struct lock *lock, struct lock_entry *e)
{
	struct list *at = e == NULL ? lock->waiting.prev : e->link.prev;

	if (at == &lock->waiting)
		return NULL;
	return container_of(at, struct lock_entry, link);
}

/* Insert e behind all waiting entries with its rank. */
static void waiting_insert(struct lock_entry *e)
{
	struct lock *lock = e->lock;
	int rank = request_rank(e->r);
	size_t i = lock->n_marks;
	struct list *after;

	while (i > 0 && lock->marks[i - 1].rank > rank)
		i--;
	after = i == 0 ? &lock->waiting : &lock->marks[i - 1].last->link;
	list_insert_before(after->next, &e->link);
	if (i > 0 && lock->marks[i - 1].rank == rank) {
		lock->marks[i - 1].last = e;
		return;
	}
	lock->marks = xrealloc(lock->marks,
			       (lock->n_marks + 1) * sizeof(*lock->marks));
	memmove(&lock->marks[i + 1], &lock->marks[i],
		(lock->n_marks - i) * sizeof(*lock->marks));
	lock->marks[i] = (struct mark){.rank = rank, .last = e};
	lock->n_marks++;
}

static void waiting_remove(struct lock_entry *e)
{
	struct lock *lock = e->lock;
	struct lock_entry *prev = prev_waiting(lock, e);
	int rank = request_rank(e->r);
	size_t i = 0;

	if (lock->first_closed == e)
		lock->first_closed = next_waiting(e);
	while (lock->marks[i].rank != rank)
		i++;
	if (lock->marks[i].last == e) {
		if (prev != NULL && request_rank(prev->r) == rank) {
			lock->marks[i].last = prev;
		} else {
			lock->n_marks--;
			memmove(&lock->marks[i], &lock->marks[i + 1],
				(lock->n_marks - i) * sizeof(*lock->marks));
		}
	}
	list_remove(&e->link);
}

/* --- opening and closing --- */

static bool fits(const struct lock *lock, enum mode mode)
{
	for (int other = 0; other < N_MODES; other++)
		if (lock->n_open[other] > 0 &&
		    !lock_modes_compatible(mode, other))
			return false;
	return true;
}

static void entry_open(struct locks *l, struct lock_entry *e)
{
	assert(!e->open && !e->held);
	e->open = true;
	e->lock->n_open[e->mode]++;
	request_opened(l, e);
}

static void entry_close(struct locks *l, struct lock_entry *e)
{
	assert(e->open && !e->held);
	e->open = false;
	e->lock->n_open[e->mode]--;
	request_closed(l, e);
}

/* Open the entries that can be open now. */
static void advance(struct locks *l, struct lock *lock)
{
	struct lock_entry *e;

	while ((e = lock->first_closed) != NULL && fits(lock, e->mode)) {
		lock->first_closed = next_waiting(e);
		entry_open(l, e);
	}
}

/* Close the open entries behind e, which was just inserted, where they do not
 * go together with it. */
static void close_behind(struct locks *l, struct lock_entry *e)
{
	struct lock *lock = e->lock;
	struct lock_entry *last = prev_waiting(lock, lock->first_closed);

	while (last != e) {
		entry_close(l, last);
		lock->first_closed = last;
		last = prev_waiting(lock, last);
	}
	lock->first_closed = e;
}

/* --- for requests --- */

void entry_enqueue(struct locks *l, struct lock_entry *e)
{
	struct lock *lock = lock_get(l, e->level, e->name);
	bool behind_closed = lock->first_closed != NULL &&
			     before(lock->first_closed->r, e->r);

	e->lock = lock;
	e->open = e->held = false;
	waiting_insert(e);
	if (behind_closed)
		return;
	if (fits(lock, e->mode)) { /* open entries behind stay open */
		entry_open(l, e);
		return;
	}
	close_behind(l, e);
	advance(l, lock);
}

void entry_dequeue(struct locks *l, struct lock_entry *e)
{
	struct lock *lock = e->lock;

	if (lock == NULL)
		return;
	if (e->held) {
		lock->n_open[e->mode]--;
		list_remove(&e->link);
	} else {
		if (e->open)
			entry_close(l, e);
		waiting_remove(e);
	}
	e->open = e->held = false;
	e->lock = NULL;
	advance(l, lock);
	lock_put(l, lock);
}

void entry_hold(struct lock_entry *e)
{
	assert(e->open && !e->held);
	waiting_remove(e);
	list_append(&e->lock->held, &e->link);
	e->held = true;
}

void entry_weaken(struct locks *l, struct lock_entry *e, enum mode mode)
{
	if (mode == e->mode)
		return;
	e->lock->n_open[e->mode]--;
	e->lock->n_open[mode]++;
	e->mode = mode;
	advance(l, e->lock);
}
