/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/random.h"
#include "tests/lib/lock_jobs.h"

TestSuite(locks, .init = setup, .fini = teardown);

Test(locks, readers_share)
{
	struct job a = job('a', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, "n1");

	request(&a);
	request(&b);
	expect("a b ");
	release(&a);
	release(&a); /* again: nothing */
	release(&b);
}

/* A reader that comes after a waiting writer must not overtake it. */
Test(locks, writer_does_not_starve)
{
	struct job a = job('a', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   c = job('c', LOCK_NODE, "n1");

	request(&a);
	request(&B);
	request(&c);
	expect("a ");
	release(&a);
	expect("a B ");
	release(&B);
	expect("a B c ");
	release(&c);
}

Test(locks, all_of_a_level_conflicts_with_its_members)
{
	struct job A = job('A', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, NULL),
		   C = job('C', LOCK_NODE, "n2"), d = job('d', LOCK_NODE, "n3"),
		   e = job('e', LOCK_INSTANCE, NULL);

	request(&A);
	request(&b); /* all shared waits for the writer of n1 */
	request(&C); /* and stops this one */
	request(&e); /* another level does not care */
	expect("A e ");
	release(&A);
	expect("A e b ");
	release(&b);
	expect("A e b C ");
	request(&d);
	expect("A e b C d ");
	release(&C);
	release(&d);
	release(&e);
}

Test(locks, all_shared_goes_with_shared_members)
{
	struct job a = job('a', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, NULL),
		   C = job('C', LOCK_NODE, NULL);

	request(&a);
	request(&b);
	request(&C);
	expect("a b ");
	release(&b);
	expect("a b ");
	release(&a);
	expect("a b C ");
	release(&C);
}

Test(locks, all_or_nothing)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n2");

	also(&B, LOCK_NODE, "n2");
	request(&A);
	request(&B);
	request(&C); /* behind B, which has nothing yet */
	expect("A ");
	release(&B); /* gives up waiting */
	expect("A C ");
	release(&A);
	release(&C);
}

Test(locks, one_request_may_want_all_and_change_one)
{
	struct job a = job('a', LOCK_NODE, NULL), b = job('b', LOCK_NODE, "n2"),
		   c = job('c', LOCK_NODE, "n1"), D = job('D', LOCK_NODE, "n3");

	also(&a, LOCK_NODE, "n1");
	a.wants[1].exclusive = true;
	request(&a);
	request(&b);
	expect("a b ");
	request(&c);
	request(&D);
	expect("a b ");
	release(&a);
	expect("a b c D ");
	release(&b);
	release(&c);
	release(&D);
}

Test(locks, priority_goes_first_among_the_waiting)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n1"), D = job('D', LOCK_NODE, "n1");

	D.request.priority = -10;
	request(&A);
	request(&B);
	request(&C);
	request(&D);
	locks_set_priority(locks, &C.request, -5);
	locks_set_priority(locks, &A.request, 19); /* holds: no effect */
	release(&A);
	expect("A D ");
	release(&D);
	expect("A D C ");
	release(&C);
	expect("A D C B ");
	release(&B);
}

/* c could have n2 at once but waits for n1; the later, more urgent D takes n2
 * away from it. */
Test(locks, urgent_request_passes_one_that_waits_elsewhere)
{
	struct job A = job('A', LOCK_NODE, "n1"), c = job('c', LOCK_NODE, "n2"),
		   D = job('D', LOCK_NODE, "n2");

	also(&c, LOCK_NODE, "n1");
	D.request.priority = -10;
	request(&A);
	request(&c);
	request(&D);
	expect("A D ");
	release(&A);
	expect("A D ");
	release(&D);
	expect("A D c ");
	release(&c);
}

Test(locks, downgrade_and_partial_release_let_others_in)
{
	struct job A = job('A', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, "n1"),
		   c = job('c', LOCK_NODE, "n2"), d = job('d', LOCK_NODE, NULL);

	also(&A, LOCK_NODE, "n2");
	request(&A);
	request(&b);
	request(&c);
	request(&d);
	expect("A ");
	locks_downgrade(locks, &A.request, 0);
	expect("A b ");
	locks_release_one(locks, &A.request, 1);
	expect("A b c d ");
	locks_release_one(locks, &A.request, 1); /* again: nothing */
	locks_release_one(locks, &A.request, 0);
	release(&A);
	release(&b);
	release(&c);
	release(&d);
}

Test(locks, a_request_for_nothing_is_granted)
{
	struct job a = job('a', LOCK_NODE, "n1");

	a.request.n_wants = 0;
	request(&a);
	expect("a ");
	release(&a);
}

/* --- granted() that calls back --- */

static void release_at_once(struct lock_request *r)
{
	on_granted(r);
	locks_release(locks, r);
}

Test(locks, granted_may_release_others_may_follow)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n1");

	B.request.granted = release_at_once;
	request(&A);
	request(&B);
	request(&C);
	release(&A);
	expect("A B C ");
	release(&C);
}

static struct job inner;

static void request_inner(struct lock_request *r)
{
	on_granted(r);
	request(&inner);
	cr_assert(locks_held(&inner.request), "granted before it returns");
}

Test(locks, granted_may_request)
{
	struct job A = job('A', LOCK_NODE, "n1");

	inner = job('I', LOCK_NODE, "n2");
	A.request.granted = request_inner;
	request(&A);
	expect("A I ");
	release(&inner);
	release(&A);
}

static size_t n_granted, depth, depth_max;

static void chain(struct lock_request *r)
{
	n_granted++;
	if (++depth > depth_max)
		depth_max = depth;
	locks_release(locks, r);
	depth--;
}

Test(locks, many_waiters_need_no_deep_stack)
{
	enum { N = 10000 };
	struct job first = job('F', LOCK_NODE, "n1");
	struct job *jobs = xcalloc(N, sizeof(*jobs));

	request(&first);
	for (size_t i = 0; i < N; i++) {
		jobs[i] = job('W', LOCK_NODE, "n1");
		jobs[i].request.granted = chain;
		request(&jobs[i]);
	}
	release(&first);
	cr_assert_eq(n_granted, N);
	cr_assert_eq(depth_max, 1);
	free(jobs);
}

/* --- what queries see --- */

static void show(const struct lock_info *info, void *arg)
{
	struct buf *out = arg;

	buf_addf(out, "%s %s", info->name, info->mode ? info->mode : "-");
	for (size_t i = 0; i < info->n_owners; i++)
		buf_addf(out, " %c", (char)info->owners[i]);
	for (size_t i = 0; i < info->n_pending; i++)
		buf_addf(out, " %s:%c", info->pending[i].exclusive ? "X" : "S",
			 (char)info->pending[i].owner);
	buf_adds(out, "\n");
}

Test(locks, description_shows_owners_and_waiters)
{
	struct job a = job('a', LOCK_NODE, "n2"), B = job('B', LOCK_NODE, "n2"),
		   c = job('c', LOCK_CLUSTER, LOCK_BGL),
		   d = job('d', LOCK_INSTANCE, NULL),
		   E = job('E', LOCK_INSTANCE, "i1");
	auto_buf struct buf out = {0};

	request(&a);
	request(&B);
	request(&c);
	request(&d);
	request(&E);
	locks_describe(locks, show, &out);
	cr_assert_str_eq(out.data, "cluster/BGL shared c\n"
				   "instance/[lockset] shared d X:E\n"
				   "instance/i1 - X:E\n"
				   "node/n2 shared a X:B\n");
	release(&a);
	release(&B);
	release(&c);
	release(&d);
	release(&E);
}

/* --- against a model that is too simple to be wrong --- */

enum { N_SLOTS = 24, N_REQUESTS = 10000, N_NAMES = 5 };

struct slot {
	struct job job;
	bool active, model_held;
	uint64_t order;
	bool gone[WANTS_MAX]; /* given back */
};

static struct slot slots[N_SLOTS];
static uint64_t order;
static const char *const names[N_NAMES] = {"a", "b", "c", "d", "e"};

/* Whether two wants of different requests cannot be granted together. */
static bool want_conflict(const struct lock_want *a, const struct lock_want *b)
{
	if (a->level != b->level || (!a->exclusive && !b->exclusive))
		return false;
	return a->name == NULL || b->name == NULL ||
	       strcmp(a->name, b->name) == 0;
}

static bool conflict(const struct slot *a, const struct slot *b)
{
	for (size_t i = 0; i < a->job.request.n_wants; i++)
		for (size_t k = 0; k < b->job.request.n_wants; k++)
			if (!a->gone[i] && !b->gone[k] &&
			    want_conflict(&a->job.wants[i], &b->job.wants[k]))
				return true;
	return false;
}

static bool in_front(const struct slot *a, const struct slot *b)
{
	if (a->model_held != b->model_held)
		return a->model_held;
	if (a->job.request.priority != b->job.request.priority)
		return a->job.request.priority < b->job.request.priority;
	return a->order < b->order;
}

/* How a slot stands in the queue of one lock (name NULL: the level's set):
 * -1 not at all; bits: 1 a member, 2 all; 4 exclusive on a member, 8 on all. */
static int stands(const struct slot *s, enum lock_level level, const char *name)
{
	int bits = 0;

	for (size_t i = 0; i < s->job.request.n_wants; i++) {
		const struct lock_want *w = &s->job.wants[i];

		if (s->gone[i] || w->level != level)
			continue;
		if (name == NULL)
			bits |= (w->name ? 1 : 2) << (w->exclusive ? 2 : 0);
		else if (w->name != NULL && strcmp(w->name, name) == 0)
			bits |= w->exclusive ? 8 : 2;
	}
	return bits == 0 ? -1 : bits;
}

static bool stand_conflict(int a, int b)
{
	bool a_all = a & (2 | 8), b_all = b & (2 | 8);

	return (a_all && (b & (4 | 8))) || (b_all && (a & (4 | 8))) ||
	       (a & 8) || (b & 8);
}

/* Whether s is in the compatible head of the lock's queue. */
static bool model_open(const struct slot *s, enum lock_level level,
		       const char *name)
{
	for (size_t i = 0; i < N_SLOTS; i++) {
		const struct slot *a = &slots[i];
		int sa = a->active ? stands(a, level, name) : -1;

		if (sa < 0 || !(a == s || in_front(a, s)))
			continue;
		for (size_t k = 0; k < N_SLOTS; k++) {
			const struct slot *b = &slots[k];
			int sb = b->active ? stands(b, level, name) : -1;

			if (sb >= 0 && b != a && in_front(b, a) &&
			    stand_conflict(sa, sb))
				return false;
		}
	}
	return true;
}

static bool model_may_go(const struct slot *s)
{
	for (size_t i = 0; i < s->job.request.n_wants; i++) {
		const struct lock_want *w = &s->job.wants[i];

		if (!model_open(s, w->level, NULL) ||
		    (w->name != NULL && !model_open(s, w->level, w->name)))
			return false;
	}
	return true;
}

static void model_settle(void)
{
	bool again = true;

	while (again) {
		bool go[N_SLOTS] = {false};

		again = false;
		for (size_t i = 0; i < N_SLOTS; i++)
			go[i] = slots[i].active && !slots[i].model_held &&
				model_may_go(&slots[i]);
		for (size_t i = 0; i < N_SLOTS; i++) {
			slots[i].model_held |= go[i];
			again |= go[i];
		}
	}
}

static void check_all(void)
{
	model_settle();
	for (size_t i = 0; i < N_SLOTS; i++) {
		const struct slot *a = &slots[i];

		if (!a->active)
			continue;
		cr_assert_eq(locks_held(&a->job.request), a->model_held);
		for (size_t k = i + 1; a->model_held && k < N_SLOTS; k++)
			cr_assert(!slots[k].active || !slots[k].model_held ||
				  !conflict(a, &slots[k]));
	}
}

static void count_granted(struct lock_request *r)
{
	(void)r;
	n_granted++;
}

static void add_random_wants(struct job *j)
{
	size_t n = 1 + random_below(4);

	while (j->request.n_wants < n) {
		struct lock_want want = {
			.level = LOCK_INSTANCE + random_below(2),
			.name = random_below(8) == 0
					? NULL
					: names[random_below(N_NAMES)],
			.exclusive = random_below(3) == 0,
		};
		size_t k = 0;

		while (k < j->request.n_wants &&
		       (j->wants[k].level != want.level ||
			!str_eq(j->wants[k].name, want.name)))
			k++;
		if (k < j->request.n_wants)
			n--;
		else
			j->wants[j->request.n_wants++] = want;
	}
}

static void start_slot(struct slot *s)
{
	*s = (struct slot){.active = true, .order = ++order};
	s->job.request.granted = count_granted;
	s->job.request.priority = random_below(4) == 0 ? -10 : 0;
	add_random_wants(&s->job);
	request(&s->job);
}

static void end_slot(struct slot *s)
{
	s->active = false;
	release(&s->job);
}

static void change_slot(struct slot *s)
{
	size_t i = random_below(s->job.request.n_wants);

	if (!s->model_held) {
		int priority = (int)random_below(3) * 10 - 10;

		if (priority == s->job.request.priority)
			return;
		s->order = ++order;
		locks_set_priority(locks, &s->job.request, priority);
	} else if (!s->gone[i] && s->job.wants[i].exclusive) {
		locks_downgrade(locks, &s->job.request, i);
		s->job.wants[i].exclusive = false;
	} else {
		s->gone[i] = true;
		locks_release_one(locks, &s->job.request, i);
	}
}

static size_t active_count(bool held_only)
{
	size_t n = 0;

	for (size_t i = 0; i < N_SLOTS; i++)
		n += slots[i].active && (!held_only || slots[i].model_held);
	return n;
}

Test(locks, random_requests_behave_as_the_model, .timeout = 100)
{
	size_t requested = 0, canceled = 0;

	random_seed(4711);
	while (requested < N_REQUESTS) {
		struct slot *s = &slots[random_below(N_SLOTS)];

		if (!s->active) {
			start_slot(s);
			requested++;
		} else if (random_below(4) == 0) {
			change_slot(s);
		} else if (s->model_held || random_below(20) == 0) {
			canceled += !s->model_held;
			end_slot(s);
		}
		check_all();
		cr_assert(active_count(false) == 0 || active_count(true) > 0,
			  "deadlock");
	}
	while (active_count(false) > 0) {
		for (size_t i = 0; i < N_SLOTS; i++)
			if (slots[i].active && slots[i].model_held)
				end_slot(&slots[i]);
		check_all();
		cr_assert(active_count(false) == 0 || active_count(true) > 0);
	}
	cr_assert_eq(n_granted + canceled, N_REQUESTS);
}
