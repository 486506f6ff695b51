/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue a lock: first the entries of granted requests, then the waiting ones
 * by priority and arrival.  The open entries are a prefix of it, so a lock
 * knows how many are open in each mode, and where the first closed one stands;
 * both change by steps that are paid for by the entries opened or closed.
 *
 * The waiting part has a mark for each priority in use (its last entry), so
 * that a place is found without walking past those who wait.
 *
 * Why there is no deadlock: all queues have the same order, so the first of
 * all waiting requests has only granted ones before it, and these end.
 */
#include "queue/locks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"

/* The usual modes of hierarchical locks: IS and IX on a level's set are for
 * one who has a member, S and X for one who has all of it, SIX for both. */
enum mode { IS, IX, S, SIX, X, N_MODES };

static const bool compatible_modes[N_MODES][N_MODES] = {
	[IS] = {[IS] = true, [IX] = true, [S] = true, [SIX] = true},
	[IX] = {[IS] = true, [IX] = true},
	[S] = {[IS] = true, [S] = true},
	[SIX] = {[IS] = true},
};

/* The last entry of those that wait with one priority. */
struct mark {
	int priority;
	struct lock_entry *last;
};

struct lock {
	struct list held;
	struct list waiting;
	struct lock_entry *first_closed; /* in waiting, or NULL */
	size_t n_open[N_MODES];
	struct mark *marks; /* by priority, each with at least one entry */
	size_t n_marks;
	char *name;
	bool is_set;
};

/* A request has an entry for each want, then one for each level's set that it
 * touches.  A want for all of a level has no lock of its own. */
struct lock_entry {
	struct list link;
	struct lock *lock; /* NULL: none, or given back */
	struct lock_request *r;
	enum mode mode;
	bool open;

	/* Sets only. */
	enum lock_level level;
	size_t n_for[N_MODES]; /* how many wants ask for which mode */
};

struct locks {
	struct table table;
	struct list ready; /* requests whose granted() is to be called */
	bool calling;
	uint64_t order;
	size_t n_active;
};

const char *lock_level_name(enum lock_level level)
{
	static const char *const names[] = {
#define X(level, name) [LOCK_##level] = name,
		LOCK_LEVELS(X)
#undef X
	};

	assert((unsigned)level < LOCK_LEVEL_COUNT);
	return names[level];
}

/* --- locks in the table --- */

static struct lock *lock_get(struct locks *l, enum lock_level level,
			     const char *name)
{
	auto_free char *key = xprintf("%s/%s", lock_level_name(level),
				      name == NULL ? "[lockset]" : name);
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
	if (a->priority != b->priority)
		return a->priority < b->priority;
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

/* Put e behind all that wait with its priority. */
static void waiting_insert(struct lock_entry *e)
{
	struct lock *lock = e->lock;
	int priority = e->r->priority;
	size_t i = lock->n_marks;
	struct list *after;

	while (i > 0 && lock->marks[i - 1].priority > priority)
		i--;
	after = i == 0 ? &lock->waiting : &lock->marks[i - 1].last->link;
	list_insert_before(after->next, &e->link);
	if (i > 0 && lock->marks[i - 1].priority == priority) {
		lock->marks[i - 1].last = e;
		return;
	}
	lock->marks = xrealloc(lock->marks,
			       (lock->n_marks + 1) * sizeof(*lock->marks));
	memmove(&lock->marks[i + 1], &lock->marks[i],
		(lock->n_marks - i) * sizeof(*lock->marks));
	lock->marks[i] = (struct mark){.priority = priority, .last = e};
	lock->n_marks++;
}

static void waiting_remove(struct lock_entry *e)
{
	struct lock *lock = e->lock;
	struct lock_entry *prev = prev_waiting(lock, e);
	size_t i = 0;

	if (lock->first_closed == e)
		lock->first_closed = next_waiting(e);
	while (lock->marks[i].priority != e->r->priority)
		i++;
	if (lock->marks[i].last == e) {
		if (prev != NULL && prev->r->priority == e->r->priority) {
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
		if (lock->n_open[other] > 0 && !compatible_modes[mode][other])
			return false;
	return true;
}

static void entry_open(struct locks *l, struct lock_entry *e)
{
	assert(!e->open && !e->r->held);
	e->open = true;
	e->lock->n_open[e->mode]++;
	if (--e->r->n_closed == 0)
		list_append(&l->ready, &e->r->ready);
}

static void entry_close(struct lock_entry *e)
{
	assert(e->open && !e->r->held);
	e->open = false;
	e->lock->n_open[e->mode]--;
	if (e->r->n_closed++ == 0)
		list_remove(&e->r->ready);
}

/* Open what has become able to. */
static void advance(struct locks *l, struct lock *lock)
{
	struct lock_entry *e;

	while ((e = lock->first_closed) != NULL && fits(lock, e->mode)) {
		lock->first_closed = next_waiting(e);
		entry_open(l, e);
	}
}

/* Close the open ones that stand behind e, which has just been inserted. */
static void close_behind(struct lock_entry *e)
{
	struct lock *lock = e->lock;
	struct lock_entry *last = prev_waiting(lock, lock->first_closed);

	while (last != e) {
		entry_close(last);
		lock->first_closed = last;
		last = prev_waiting(lock, last);
	}
	lock->first_closed = e;
}

static void entry_enqueue(struct locks *l, struct lock_entry *e)
{
	struct lock *lock = e->lock;
	bool behind_closed = lock->first_closed != NULL &&
			     before(lock->first_closed->r, e->r);

	waiting_insert(e);
	if (behind_closed)
		return;
	if (fits(lock, e->mode)) { /* whoever is open behind it stays so */
		entry_open(l, e);
		return;
	}
	close_behind(e);
	advance(l, lock);
}

static void entry_dequeue(struct locks *l, struct lock_entry *e)
{
	struct lock *lock = e->lock;

	if (lock == NULL)
		return;
	if (e->open)
		lock->n_open[e->mode]--;
	if (e->r->held)
		list_remove(&e->link);
	else
		waiting_remove(e);
	e->open = false;
	e->lock = NULL;
	advance(l, lock);
	lock_put(l, lock);
}

/* --- granting --- */

/* From now on nobody gets before r. */
static void hold(struct lock_request *r)
{
	for (size_t i = 0; i < r->n_entries; i++) {
		struct lock_entry *e = &r->entries[i];

		if (e->lock == NULL)
			continue;
		waiting_remove(e);
		list_append(&e->lock->held, &e->link);
	}
	r->held = true;
}

/* Call granted() of all that are ready.  Whoever becomes ready meanwhile is
 * called by the outermost of these loops. */
static void call_ready(struct locks *l)
{
	if (l->calling)
		return;
	l->calling = true;
	while (!list_empty(&l->ready)) {
		struct lock_request *r =
			list_first(&l->ready, struct lock_request, ready);

		list_remove(&r->ready);
		hold(r);
		r->granted(r);
	}
	l->calling = false;
}

/* --- requests --- */

/* The mode in which a set has to be held for all its wants. */
static enum mode set_mode(const struct lock_entry *e)
{
	if (e->n_for[X] > 0)
		return X;
	if (e->n_for[S] > 0)
		return e->n_for[IX] > 0 ? SIX : S;
	return e->n_for[IX] > 0 ? IX : IS;
}

static enum mode mode_in_set(const struct lock_request *r, size_t i,
			     bool exclusive)
{
	if (r->wants[i].name == NULL)
		return exclusive ? X : S;
	return exclusive ? IX : IS;
}

static struct lock_entry *find_set(struct lock_request *r,
				   enum lock_level level)
{
	for (size_t i = r->n_wants; i < r->n_entries; i++)
		if (r->entries[i].level == level)
			return &r->entries[i];
	return NULL;
}

static void build_entries(struct locks *l, struct lock_request *r)
{
	r->entries =
		xcalloc(r->n_wants + LOCK_LEVEL_COUNT, sizeof(*r->entries));
	r->n_entries = r->n_wants;
	for (size_t i = 0; i < r->n_wants; i++) {
		const struct lock_want *want = &r->wants[i];
		struct lock_entry *set = find_set(r, want->level);

		if (set == NULL) {
			set = &r->entries[r->n_entries++];
			set->level = want->level;
			set->lock = lock_get(l, want->level, NULL);
		}
		set->n_for[mode_in_set(r, i, want->exclusive)]++;
		r->entries[i].mode = want->exclusive ? X : S;
		if (want->name != NULL)
			r->entries[i].lock =
				lock_get(l, want->level, want->name);
	}
	for (size_t i = r->n_wants; i < r->n_entries; i++)
		r->entries[i].mode = set_mode(&r->entries[i]);
}

static void enqueue_all(struct locks *l, struct lock_request *r)
{
	r->order = ++l->order;
	r->n_closed = 1; /* not ready before the last is in its queue */
	for (size_t i = 0; i < r->n_entries; i++)
		r->n_closed += r->entries[i].lock != NULL;
	for (size_t i = 0; i < r->n_entries; i++)
		if (r->entries[i].lock != NULL)
			entry_enqueue(l, &r->entries[i]);
	if (--r->n_closed == 0)
		list_append(&l->ready, &r->ready);
}

void locks_request(struct locks *l, struct lock_request *r)
{
	assert(!r->active);
	r->active = true;
	r->held = false;
	list_init(&r->ready);
	l->n_active++;
	build_entries(l, r);
	for (size_t i = 0; i < r->n_entries; i++)
		r->entries[i].r = r;
	enqueue_all(l, r);
	if (r->n_closed == 0) { /* also from within somebody's granted() */
		list_remove(&r->ready);
		hold(r);
		r->granted(r);
	}
	call_ready(l);
}

void locks_release(struct locks *l, struct lock_request *r)
{
	struct lock_entry *entries = r->entries;
	size_t n = r->n_entries;

	if (!r->active)
		return;
	list_remove(&r->ready);
	/* Not even for a moment may r become ready again. */
	r->n_closed += r->n_entries + 1;
	for (size_t i = 0; i < n; i++)
		entry_dequeue(l, &entries[i]);
	r->active = r->held = false;
	r->entries = NULL;
	r->n_entries = r->n_closed = 0;
	l->n_active--;
	free(entries);
	call_ready(l);
}

/* Hold e in a weaker mode. */
static void weaken(struct locks *l, struct lock_entry *e, enum mode mode)
{
	if (mode == e->mode)
		return;
	e->lock->n_open[e->mode]--;
	e->lock->n_open[mode]++;
	e->mode = mode;
	advance(l, e->lock);
}

void locks_release_one(struct locks *l, struct lock_request *r, size_t i)
{
	struct lock_entry *e = &r->entries[i], *set;
	bool exclusive = e->mode == X;
	size_t left = 0;

	assert(r->held && i < r->n_wants);
	set = find_set(r, r->wants[i].level);
	if (e->lock == NULL && r->wants[i].name != NULL)
		return; /* given back before */
	if (r->wants[i].name == NULL && set->n_for[exclusive ? X : S] == 0)
		return;
	entry_dequeue(l, e);
	set->n_for[mode_in_set(r, i, exclusive)]--;
	for (int mode = 0; mode < N_MODES; mode++)
		left += set->n_for[mode];
	if (left == 0)
		entry_dequeue(l, set);
	else
		weaken(l, set, set_mode(set));
	call_ready(l);
}

void locks_downgrade(struct locks *l, struct lock_request *r, size_t i)
{
	struct lock_entry *e = &r->entries[i], *set;

	assert(r->held && i < r->n_wants && e->mode == X);
	set = find_set(r, r->wants[i].level);
	set->n_for[mode_in_set(r, i, true)]--;
	set->n_for[mode_in_set(r, i, false)]++;
	weaken(l, set, set_mode(set));
	if (e->lock != NULL)
		weaken(l, e, S);
	else
		e->mode = S;
	call_ready(l);
}

/* Take a waiting entry out of its queue without losing the lock. */
static void entry_unlink(struct locks *l, struct lock_entry *e)
{
	if (e->open)
		entry_close(e);
	waiting_remove(e);
	advance(l, e->lock);
}

void locks_set_priority(struct locks *l, struct lock_request *r, int priority)
{
	if (!r->active || r->held || r->priority == priority)
		return;
	r->n_closed++; /* not ready meanwhile */
	list_remove(&r->ready);
	for (size_t i = 0; i < r->n_entries; i++)
		if (r->entries[i].lock != NULL)
			entry_unlink(l, &r->entries[i]);
	r->priority = priority;
	enqueue_all(l, r);
	call_ready(l);
}

struct locks *locks_create(void)
{
	struct locks *l = xalloc(sizeof(*l));

	list_init(&l->ready);
	return l;
}

void locks_destroy(struct locks *l)
{
	if (l == NULL)
		return;
	assert(l->n_active == 0 && l->table.n == 0);
	table_done(&l->table, NULL);
	free(l);
}

/* --- for queries --- */

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
