/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests.  A request has an entry in the queue of each lock that it wants; it
 * counts how many of its entries are closed, and when none is it holds them
 * all.
 *
 * Why there is no deadlock: all queues have the same order, so the first of all
 * waiting requests has only granted ones before it, and these end.  A request
 * of a job that already holds locks stands before all requests of jobs that
 * hold none, and so waits only for jobs that hold locks, too.  Each of these
 * takes further locks only in ascending order, so the one that holds the
 * highest lock can always go on. */
#include "queue/locks/locks.h"

#include <assert.h>
#include <string.h>

#include "queue/locks/locks_private.h"

/* A distance between ranks that is larger than that between any two
 * priorities. */
#define RANK_OF_HOLDERS (-1000)

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

int request_rank(const struct lock_request *r)
{
	return r->stages == NULL ? r->priority : RANK_OF_HOLDERS + r->priority;
}

/* --- open and closed --- */

/* Add r to the requests that can go on, or remove it. */
static void judge(struct locks *l, struct lock_request *r)
{
	bool ready =
		!r->held && r->n_closed == 0 && r->n_groups_open >= r->at_least;

	if (ready && list_empty(&r->ready))
		list_append(&l->ready, &r->ready);
	if (!ready)
		list_remove(&r->ready);
}

void request_opened(struct locks *l, struct lock_entry *e)
{
	struct lock_request *r = e->r;

	if (e->group == 0)
		r->n_closed--;
	else if (--r->groups[e->group - 1].n_closed == 0)
		r->n_groups_open++;
	judge(l, r);
}

void request_closed(struct locks *l, struct lock_entry *e)
{
	struct lock_request *r = e->r;

	if (e->group == 0)
		r->n_closed++;
	else if (r->groups[e->group - 1].n_closed++ == 0)
		r->n_groups_open--;
	judge(l, r);
}

/* --- sets --- */

/* The mode in which a level's set has to be held for all wants of the
 * request. */
static enum mode set_mode(const struct lock_entry *e)
{
	if (e->n_for[X] > 0)
		return X;
	if (e->n_for[S] > 0)
		return e->n_for[IX] > 0 ? SIX : S;
	return e->n_for[IX] > 0 ? IX : IS;
}

static enum mode mode_in_set(const struct lock_entry *e)
{
	if (e->name == NULL)
		return e->mode;
	return e->mode == X ? IX : IS;
}

static struct lock_entry *find_set(struct lock_request *r,
				   enum lock_level level)
{
	for (size_t i = r->n_wants; i < r->n_entries; i++)
		if (r->entries[i].level == level)
			return &r->entries[i];
	return NULL;
}

/* The want of e no longer needs its level's set. */
static void set_forget(struct lock_entry *e)
{
	find_set(e->r, e->level)->n_for[mode_in_set(e)]--;
}

/* Hold the levels' sets only as strongly as the remaining wants need. */
static void weaken_sets(struct locks *l, struct lock_request *r)
{
	for (size_t i = r->n_wants; i < r->n_entries; i++) {
		struct lock_entry *set = &r->entries[i];
		size_t left = 0;

		if (set->lock == NULL)
			continue;
		for (int mode = 0; mode < N_MODES; mode++)
			left += set->n_for[mode];
		if (left == 0)
			entry_dequeue(l, set);
		else
			entry_weaken(l, set, set_mode(set));
	}
}

/* --- building --- */

static struct lock_entry *add_set(struct lock_request *r, enum lock_level level)
{
	struct lock_entry *set = find_set(r, level);

	if (set != NULL)
		return set;
	set = &r->entries[r->n_entries++];
	*set = (struct lock_entry){.r = r, .level = level};
	return set;
}

static void build_entries(struct lock_request *r)
{
	r->entries =
		xcalloc(r->n_wants + LOCK_LEVEL_COUNT, sizeof(*r->entries));
	r->n_entries = r->n_wants;
	r->n_groups = 0;
	for (size_t i = 0; i < r->n_wants; i++) {
		const struct lock_want *want = &r->wants[i];
		struct lock_entry *e = &r->entries[i];

		*e = (struct lock_entry){
			.r = r,
			.level = want->level,
			.name = want->name,
			.mode = want->exclusive ? X : S,
			.stands = true,
			.group = want->group,
		};
		add_set(r, want->level)->n_for[mode_in_set(e)]++;
		if (want->group > r->n_groups)
			r->n_groups = want->group;
	}
	for (size_t i = r->n_wants; i < r->n_entries; i++)
		r->entries[i].mode = set_mode(&r->entries[i]);
	r->groups = xcalloc(r->n_groups + 1, sizeof(*r->groups));
}

static void begin(struct locks *l, struct lock_request *r)
{
	assert(!r->active);
	r->active = true;
	r->held = false;
	list_init(&r->ready);
	list_append(&l->all, &r->all);
	build_entries(r);
	r->order = ++l->order;
}

/* --- granting --- */

/* Leave out the groups that are not free now. */
static void leave_groups(struct locks *l, struct lock_request *r)
{
	for (size_t i = 0; i < r->n_wants; i++) {
		struct lock_entry *e = &r->entries[i];

		if (e->group == 0 || e->held || !e->stands)
			continue;
		e->stands = false;
		set_forget(e);
		entry_dequeue(l, e);
	}
}

static void hold(struct locks *l, struct lock_request *r)
{
	r->held = true;
	for (size_t i = 0; i < r->n_entries; i++) {
		struct lock_entry *e = &r->entries[i];

		if (e->lock != NULL &&
		    (e->group == 0 || r->groups[e->group - 1].n_closed == 0))
			entry_hold(e);
	}
	if (r->n_groups == 0)
		return;
	leave_groups(l, r);
	weaken_sets(l, r);
}

/* The entry of the present stage of r is open: hold it and go to the next one.
 * Returns whether that was the last. */
static bool last_stage(struct locks *l, struct lock_request *r)
{
	if (r->stage < r->n_stages)
		entry_hold(&r->entries[r->stages[r->stage++]]);
	if (r->stage >= r->n_stages)
		return true;
	r->n_closed = 1;
	entry_enqueue(l, &r->entries[r->stages[r->stage]]);
	return false;
}

/* r has what it waited for. */
static void go_on(struct locks *l, struct lock_request *r)
{
	list_remove(&r->ready);
	if (r->stages == NULL)
		hold(l, r);
	else if (last_stage(l, r))
		r->held = true;
	if (r->held)
		r->granted(r);
}

/* Grant all requests that are ready.  A request that becomes ready meanwhile is
 * handled by the outermost of these loops, so that the stack stays flat. */
static void call_ready(struct locks *l)
{
	if (l->calling)
		return;
	l->calling = true;
	while (!list_empty(&l->ready))
		go_on(l, list_first(&l->ready, struct lock_request, ready));
	l->calling = false;
}

/* --- requests --- */

static void enqueue_all(struct locks *l, struct lock_request *r)
{
	for (size_t i = 0; i < r->n_entries; i++)
		if (request_has_queue(r, i) &&
		    (i >= r->n_wants || r->entries[i].stands))
			entry_enqueue(l, &r->entries[i]);
}

/* Count the entries that have to be open before r is granted.  Begin with one
 * too many, so that r is not granted before its last entry stands in its
 * queue. */
static void count_closed(struct lock_request *r)
{
	r->n_closed = 1;
	r->n_groups_open = 0;
	r->n_groups_left = r->n_groups;
	for (size_t i = 0; i < r->n_entries; i++) {
		struct lock_entry *e = &r->entries[i];

		if (!request_has_queue(r, i))
			continue;
		if (e->group == 0)
			r->n_closed++;
		else
			r->groups[e->group - 1].n_closed++;
	}
}

static void withdraw(struct locks *l, struct lock_request *r)
{
	struct lock_entry *entries = r->entries;

	/* r must not count as ready while it is being taken apart. */
	r->n_closed += r->n_entries + 1;
	list_remove(&r->ready);
	for (size_t i = 0; i < r->n_entries; i++)
		entry_dequeue(l, &entries[i]);
	list_remove(&r->all);
	r->active = r->held = false;
	r->n_entries = r->n_closed = 0;
	free(steal(&r->entries));
	free(steal(&r->groups));
	free(steal(&r->stages));
}

int locks_request(struct locks *l, struct lock_request *r, struct error *err)
{
	r->stages = NULL;
	begin(l, r);
	if (r->at_least > r->n_groups) {
		unsigned n = r->n_groups;

		withdraw(l, r);
		return error_set(err, ERR_LOCK, NULL,
				 "Of %u groups of locks %u cannot be had", n,
				 r->at_least);
	}
	count_closed(r);
	enqueue_all(l, r);
	r->n_closed--;
	judge(l, r);
	if (!list_empty(&r->ready)) /* at once, even in a granted() */
		go_on(l, r);
	call_ready(l);
	return 0;
}

void locks_release(struct locks *l, struct lock_request *r)
{
	if (!r->active)
		return;
	withdraw(l, r);
	call_ready(l);
}

bool locks_has(const struct lock_request *r, size_t i)
{
	return r->held && i < r->n_wants && r->entries[i].stands;
}

void locks_release_one(struct locks *l, struct lock_request *r, size_t i)
{
	struct lock_entry *e = &r->entries[i];

	assert(r->held && i < r->n_wants);
	if (!e->stands)
		return;
	e->stands = false;
	set_forget(e);
	entry_dequeue(l, e);
	weaken_sets(l, r);
	call_ready(l);
}

void locks_downgrade(struct locks *l, struct lock_request *r, size_t i)
{
	struct lock_entry *e = &r->entries[i];

	assert(r->held && i < r->n_wants && e->stands && e->mode == X);
	set_forget(e);
	if (e->lock != NULL)
		entry_weaken(l, e, S);
	else
		e->mode = S;
	find_set(r, e->level)->n_for[mode_in_set(e)]++;
	weaken_sets(l, r);
	call_ready(l);
}

void locks_set_priority(struct locks *l, struct lock_request *r, int priority)
{
	if (!r->active || r->held || r->priority == priority)
		return;
	r->n_closed++; /* keeps r from counting as ready meanwhile */
	for (size_t i = 0; i < r->n_entries; i++) {
		struct lock_entry *e = &r->entries[i];

		if (e->lock == NULL || e->held)
			continue;
		entry_dequeue(l, e);
		e->moving = true;
	}
	r->priority = priority;
	r->order = ++l->order;
	for (size_t i = 0; i < r->n_entries; i++)
		if (r->entries[i].moving) {
			r->entries[i].moving = false;
			entry_enqueue(l, &r->entries[i]);
		}
	r->n_closed--;
	judge(l, r);
	call_ready(l);
}

/* --- more --- */

int locks_request_more(struct locks *l, struct lock_request *r,
		       const struct lock_request *const held[], size_t n_held,
		       struct error *err)
{
	for (size_t i = 0; i < n_held; i++)
		if (request_check_order(held[i], r, err) < 0)
			return -1;
	begin(l, r);
	assert(r->n_groups == 0 && r->n_wants > 0);
	request_sort_stages(r);
	r->n_closed = 1;
	entry_enqueue(l, &r->entries[r->stages[0]]);
	while (!list_empty(&r->ready))
		go_on(l, r);
	call_ready(l);
	return 0;
}

/* --- removal --- */

/* Leave out the group of this want.  -1 when fewer groups are left than the
 * request needs. */
static int leave_group(struct locks *l, struct lock_request *r, unsigned group)
{
	r->n_groups_left--;
	for (size_t i = 0; i < r->n_wants; i++) {
		struct lock_entry *e = &r->entries[i];

		if (e->group != group || !e->stands)
			continue;
		e->stands = false;
		set_forget(e);
		entry_dequeue(l, e);
	}
	return r->n_groups_left < r->at_least ? -1 : 0;
}

/* The next waiting request that has to be told of the removal of this lock. */
static struct lock_entry *next_told(const struct locks *l,
				    enum lock_level level, const char *name)
{
	struct lock *lock = lock_find(l, level, name);
	struct lock_entry *e;

	if (lock == NULL)
		return NULL;
	list_each (e, &lock->waiting, link) {
		const struct lock_request *r = e->r;

		if (r->removed != NULL && !r->wants[e - r->entries].creates)
			return e;
	}
	return NULL;
}

void locks_remove(struct locks *l, enum lock_level level, const char *name,
		  const char *known_as)
{
	struct lock_entry *e;

	while ((e = next_told(l, level, name)) != NULL) {
		struct lock_request *r = e->r;
		const struct lock_want *want = &r->wants[e - r->entries];

		if (e->group != 0 && leave_group(l, r, e->group) == 0)
			continue;
		withdraw(l, r);
		r->removed(r, want, known_as);
	}
	call_ready(l);
}

struct locks *locks_create(void)
{
	struct locks *l = xalloc(sizeof(*l));

	list_init(&l->all);
	list_init(&l->ready);
	return l;
}

void locks_destroy(struct locks *l)
{
	if (l == NULL)
		return;
	assert(list_empty(&l->all) && l->table.n == 0);
	table_done(&l->table, NULL);
	free(l);
}
