/* SPDX-License-Identifier: BSD-2-Clause */
/* What queries see of the locks.  The cost grows with the number of locks and
 * waiters; that is fine, since no job waits for it. */
#include <stdlib.h>
#include <string.h>

#include "queue/locks/locks_private.h"

/* --- all locks --- */

struct collect {
	struct lock **locks;
	size_t n;
};

static bool worth_showing(const struct lock *lock)
{
	struct lock_entry *e;

	if (!lock->is_set)
		return true;
	if (lock->n_open[S] + lock->n_open[SIX] + lock->n_open[X] > 0)
		return true;
	list_each (e, &lock->waiting, link)
		if (e->mode >= S)
			return true;
	return false;
}

static void collect_one(const char *key, void *value, void *arg)
{
	struct collect *all = arg;

	(void)key;
	if (worth_showing(value))
		all->locks[all->n++] = value;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct lock *const *)a)->name,
		      (*(struct lock *const *)b)->name);
}

static bool is_exclusive(enum mode mode)
{
	return mode == IX || mode == SIX || mode == X;
}

static size_t list_length(const struct list *head)
{
	size_t n = 0;

	for (const struct list *at = head->next; at != head; at = at->next)
		n++;
	return n;
}

static void describe(const struct lock *lock,
		     void (*fn)(const struct lock_info *info, void *arg),
		     void *arg)
{
	auto_free uint64_t *owners =
		xcalloc(list_length(&lock->held) + 1, sizeof(*owners));
	auto_free struct lock_waiter *pending =
		xcalloc(list_length(&lock->waiting) + 1, sizeof(*pending));
	struct lock_info info = {
		.name = lock->name,
		.owners = owners,
		.pending = pending,
	};
	struct lock_entry *e;

	list_each (e, &lock->held, link) {
		owners[info.n_owners++] = e->r->owner;
		if (is_exclusive(e->mode))
			info.mode = "exclusive";
		else if (info.mode == NULL)
			info.mode = "shared";
	}
	list_each (e, &lock->waiting, link)
		pending[info.n_pending++] = (struct lock_waiter){
			.owner = e->r->owner,
			.exclusive = is_exclusive(e->mode),
		};
	fn(&info, arg);
}

void locks_describe(const struct locks *l,
		    void (*fn)(const struct lock_info *info, void *arg),
		    void *arg)
{
	auto_free struct lock **list =
		xcalloc(l->table.n + 1, sizeof(struct lock *));
	struct collect all = {.locks = list};

	table_each(&l->table, collect_one, &all);
	qsort(all.locks, all.n, sizeof(struct lock *), by_name);
	for (size_t i = 0; i < all.n; i++)
		describe(all.locks[i], fn, arg);
}

/* --- one lock --- */

static void holders_against(const struct lock *lock, enum mode mode,
			    void (*fn)(uint64_t owner, void *arg), void *arg)
{
	struct lock_entry *e;

	if (lock == NULL)
		return;
	list_each (e, &lock->held, link)
		if (!lock_modes_compatible(mode, e->mode))
			fn(e->r->owner, arg);
}

void locks_holders(const struct locks *l, const struct lock_want *want,
		   void (*fn)(uint64_t owner, void *arg), void *arg)
{
	const struct lock *set = lock_find(l, want->level, NULL);

	if (want->name == NULL) {
		holders_against(set, want->exclusive ? X : S, fn, arg);
		return;
	}
	holders_against(lock_find(l, want->level, want->name),
			want->exclusive ? X : S, fn, arg);
	holders_against(set, want->exclusive ? IX : IS, fn, arg);
}

/* --- why somebody waits --- */

const struct lock_request *locks_waiting(const struct locks *l, uint64_t owner)
{
	struct lock_request *r;

	list_each (r, &l->all, all)
		if (r->owner == owner && !r->held)
			return r;
	return NULL;
}

/* The first entry in the list, before e itself, whose mode does not go together
 * with that of e. */
static struct lock_entry *first_against(const struct list *entries,
					const struct lock_entry *e)
{
	struct lock_entry *other;

	list_each (other, entries, link) {
		if (other == e)
			return NULL;
		if (!lock_modes_compatible(e->mode, other->mode))
			return other;
	}
	return NULL;
}

static size_t count_before(const struct lock_entry *e)
{
	struct lock_entry *other;
	size_t n = 0;

	list_each (other, &e->lock->waiting, link) {
		if (other == e)
			break;
		n++;
	}
	return n;
}

/* The entry that e, which is closed, waits for. */
static void describe_block(const struct lock_entry *e, struct lock_block *ret)
{
	const struct lock_entry *by = first_against(&e->lock->held, e);

	if (by == NULL)
		by = first_against(&e->lock->waiting, e);
	if (by == NULL) /* the modes fit, but it is not e's turn */
		by = e->lock->first_closed;
	*ret = (struct lock_block){
		.level = e->level,
		.name = e->name,
		.exclusive = is_exclusive(e->mode),
		.by = by->r,
		.by_exclusive = is_exclusive(by->mode),
		.by_holds = by->held,
		.n_before = count_before(e),
	};
}

void locks_blocked(const struct lock_request *r, struct lock_block *ret)
{
	*ret = (struct lock_block){0};
	for (size_t i = 0; i < r->n_entries && !ret->by_holds; i++) {
		const struct lock_entry *e = &r->entries[i];
		struct lock_block block;

		if (e->lock == NULL || e->open)
			continue;
		describe_block(e, &block);
		if (ret->by == NULL || block.by_holds)
			*ret = block;
	}
}
