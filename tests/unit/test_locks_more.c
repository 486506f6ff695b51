/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes beyond "all at once": only what is free, more while some is held,
 * removed objects; and why somebody waits. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "tests/lib/lock_jobs.h"

TestSuite(locks_more, .init = setup, .fini = teardown);

/* The next want of j is one of a group. */
static void or_else(struct job *j, unsigned group, enum lock_level level,
		    const char *name)
{
	also(j, level, name);
	j->wants[j->request.n_wants - 1].group = group;
}

/* Wants one of the nodes n1, n2, n3 and as many as there are. */
static struct job some_of_three(char letter, unsigned at_least)
{
	struct job j = job(letter, LOCK_CLUSTER, LOCK_BGL);

	j.wants[0].exclusive = false;
	j.request.at_least = at_least;
	or_else(&j, 1, LOCK_NODE, "n1");
	or_else(&j, 2, LOCK_NODE, "n2");
	or_else(&j, 3, LOCK_NODE, "n3");
	return j;
}

static void expect_has(const struct job *j, const char *expected)
{
	auto_buf struct buf text = {0};

	for (size_t i = 0; i < j->request.n_wants; i++)
		buf_adds(&text, locks_has(&j->request, i) ? "+" : "-");
	cr_assert_str_eq(text.data, expected);
}

Test(locks_more, takes_what_is_free)
{
	struct job A = job('A', LOCK_NODE, "n2"), B = some_of_three('B', 1),
		   c = job('c', LOCK_NODE, "n2"), d = job('d', LOCK_NODE, "n3");

	request(&A);
	request(&B);
	request(&c);
	request(&d);
	expect("A B ");
	expect_has(&B, "++-+");
	release(&A); /* B does not stand there any more */
	expect("A B c ");
	release(&B);
	expect("A B c d ");
	release(&c);
	release(&d);
}

Test(locks_more, waits_until_enough_is_free)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n2"),
		   C = some_of_three('C', 2), d = job('d', LOCK_NODE, "n3");

	request(&A);
	request(&B);
	request(&C);
	request(&d); /* behind C, which might have to have n3 */
	expect("A B ");
	release(&B);
	expect("A B C ");
	expect_has(&C, "+-++");
	release(&A);
	release(&C);
	expect("A B C d ");
	release(&d);
}

Test(locks_more, more_groups_than_there_are_cannot_be_had)
{
	struct job A = some_of_three('A', 4), B = some_of_three('B', 3);
	struct error err;

	A.request.wants = A.wants;
	cr_assert_lt(locks_request(locks, &A.request, &err), 0);
	cr_assert_str_eq(err.text, "Of 3 groups of locks 4 cannot be had");
	release(&A);
	request(&B);
	expect("B ");
	release(&B);
}

Test(locks_more, a_group_comes_whole_or_not)
{
	struct job A = job('A', LOCK_NODE, "n1"),
		   B = job('B', LOCK_CLUSTER, LOCK_BGL);

	B.wants[0].exclusive = false;
	B.request.at_least = 1;
	or_else(&B, 1, LOCK_NODE_RES, "n1");
	or_else(&B, 1, LOCK_NODE, "n1");
	or_else(&B, 2, LOCK_NODE_RES, "n2");
	or_else(&B, 2, LOCK_NODE, "n2");
	request(&A);
	request(&B);
	expect("A B ");
	expect_has(&B, "+--++");
	release(&A);
	release(&B);
}

Test(locks_more, all_of_a_level_leaves_nothing_free)
{
	struct job A = job('A', LOCK_NODE, NULL), B = some_of_three('B', 1);

	request(&A);
	request(&B);
	expect("A ");
	release(&A);
	expect("A B ");
	expect_has(&B, "++++");
	release(&B);
}

/* What was left out does not count against who wants all of the level. */
Test(locks_more, released_parts_weaken_the_set)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = some_of_three('B', 1),
		   c = job('c', LOCK_NODE, NULL);

	request(&A);
	request(&B);
	request(&c);
	locks_release_one(locks, &B.request, 2);
	locks_release_one(locks, &B.request, 3);
	expect("A B ");
	release(&A);
	expect("A B c ");
	release(&B);
	release(&c);
}

/* --- more --- */

static int more(struct job *j, const struct job *held)
{
	const struct lock_request *list[] = {&held->request};
	struct error err;

	j->request.wants = j->wants;
	return locks_request_more(locks, &j->request, list, 1, &err);
}

Test(locks_more, is_taken_in_the_order_of_levels_and_names)
{
	static const struct {
		enum lock_level level;
		const char *name;
		int rc;
	} cases[] = {
		{LOCK_NODE, "n3", 0},	   {LOCK_NODE, "n2", -1},
		{LOCK_NODE, "n1", -1},	   {LOCK_NODE, NULL, -1},
		{LOCK_INSTANCE, "i1", -1}, {LOCK_NETWORK, NULL, 0},
		{LOCK_CONFIG, "c", 0},
	};
	struct job A = job('A', LOCK_NODE, "n2");

	request(&A);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job B = job('B', cases[i].level, cases[i].name);

		cr_assert_eq(more(&B, &A), cases[i].rc, "case %zu", i);
		release(&B);
	}
	release(&A);
}

Test(locks_more, nothing_shared_becomes_exclusive)
{
	struct job a = job('a', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1");
	const struct lock_request *held[] = {&a.request};
	struct error err;

	request(&a);
	B.request.wants = B.wants;
	cr_assert_eq(locks_request_more(locks, &B.request, held, 1, &err), -1);
	cr_assert_eq(err.kind, ERR_LOCK);
	cr_assert_str_eq(err.text,
			 "Lock node/n1 cannot be taken while node/n1 is held: "
			 "locks are taken in their order, none twice");
	release(&a);
}

Test(locks_more, released_parts_do_not_count)
{
	struct job A = job('A', LOCK_NODE, "n2"), B = job('B', LOCK_NODE, "n1");

	also(&A, LOCK_INSTANCE, "i1");
	request(&A);
	cr_assert_eq(more(&B, &A), -1);
	locks_release_one(locks, &A.request, 0);
	cr_assert_eq(more(&B, &A), 0);
	expect("A B ");
	release(&A);
	release(&B);
}

/* B would have n2 but waits for n1, which A holds: A goes first. */
Test(locks_more, who_holds_goes_before_who_does_not)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   M = job('M', LOCK_NODE, "n2");

	also(&B, LOCK_NODE, "n2");
	B.request.priority = -20;
	request(&A);
	request(&B);
	cr_assert_eq(more(&M, &A), 0);
	expect("A M ");
	release(&A);
	release(&M);
	expect("A M B ");
	release(&B);
}

/* C has y and wants z; A wants y and z: it must not take z first. */
Test(locks_more, many_are_taken_one_after_the_other)
{
	struct job A = job('A', LOCK_NODE, "a"), C = job('C', LOCK_NODE, "y"),
		   M = job('M', LOCK_NODE, "z"), N = job('N', LOCK_NODE, "z");

	also(&M, LOCK_NODE, "y");
	request(&A);
	request(&C);
	cr_assert_eq(more(&M, &A), 0);
	cr_assert_eq(more(&N, &C), 0);
	expect("A C N ");
	release(&N);
	release(&C);
	expect("A C N M ");
	release(&M);
	release(&A);
}

enum { N_SLOTS = 12, N_ROUNDS = 20000, N_NAMES = 5 };

/* A job that may ask for more; it can end when it has all that it asked. */
struct holder {
	struct job first, more;
	bool active, asked;
};

static struct holder slots[N_SLOTS];

static void count_only(struct lock_request *r)
{
	(void)r;
}

static struct job random_job(void)
{
	static const char *const names[N_NAMES] = {"a", "b", "c", "d", "e"};
	struct job j = {.request = {.granted = count_only}};

	for (size_t i = 0; i < N_NAMES && j.request.n_wants < 3; i++)
		if (random_below(3) == 0)
			j.wants[j.request.n_wants++] = (struct lock_want){
				.level = LOCK_NODE,
				.name = names[i],
				.exclusive = random_below(2) == 0,
			};
	if (j.request.n_wants == 0)
		j.wants[j.request.n_wants++] = (struct lock_want){
			.level = LOCK_INSTANCE, .exclusive = true};
	j.request.priority = (int)random_below(3);
	return j;
}

static bool can_end(const struct holder *h)
{
	return h->active && locks_held(&h->first.request) &&
	       (!h->asked || locks_held(&h->more.request));
}

static void act(struct holder *h)
{
	if (!h->active) {
		h->first = random_job();
		h->active = true;
		h->asked = false;
		request(&h->first);
	} else if (!h->asked && locks_held(&h->first.request) &&
		   random_below(2) == 0) {
		h->more = random_job();
		h->asked = more(&h->more, &h->first) == 0;
	} else if (can_end(h) || random_below(20) == 0) {
		release(&h->more);
		release(&h->first);
		h->active = false;
	}
}

static bool exclude(const struct job *a, const struct job *b)
{
	for (size_t i = 0; i < a->request.n_wants; i++)
		for (size_t k = 0; k < b->request.n_wants; k++) {
			const struct lock_want *x = &a->wants[i];
			const struct lock_want *y = &b->wants[k];

			if (locks_has(&a->request, i) &&
			    locks_has(&b->request, k) && x->level == y->level &&
			    str_eq(x->name, y->name) &&
			    (x->exclusive || y->exclusive))
				return true;
		}
	return false;
}

static void check_slots(void)
{
	size_t active = 0, able = 0;

	for (size_t i = 0; i < N_SLOTS; i++) {
		active += slots[i].active;
		able += can_end(&slots[i]);
		for (size_t k = 0; k < i; k++)
			cr_assert(!exclude(&slots[i].first, &slots[k].first) &&
				  !exclude(&slots[i].more, &slots[k].first) &&
				  !exclude(&slots[i].first, &slots[k].more) &&
				  !exclude(&slots[i].more, &slots[k].more));
	}
	cr_assert(active == 0 || able > 0, "deadlock");
}

Test(locks_more, at_random_somebody_can_always_go_on, .timeout = 100)
{
	random_seed(815);
	for (size_t i = 0; i < N_ROUNDS; i++) {
		act(&slots[random_below(N_SLOTS)]);
		check_slots();
	}
	for (size_t i = 0; i < N_SLOTS; i++) {
		release(&slots[i].more);
		release(&slots[i].first);
	}
}

/* --- removed objects --- */

static void on_removed(struct lock_request *r, const struct lock_want *want,
		       const char *known_as)
{
	struct job *j = container_of(r, struct job, request);

	cr_assert(!locks_held(r));
	buf_addf(&trace, "%c!%s ", j->letter, known_as);
	cr_assert_str_eq(want->name, "n1");
}

Test(locks_more, who_waits_for_a_removed_object_is_told)
{
	struct job A = job('A', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n2"), d = job('d', LOCK_NODE, NULL),
		   E = job('E', LOCK_NODE, "n1");

	also(&C, LOCK_NODE, "n1");
	b.request.removed = C.request.removed = on_removed;
	d.request.removed = E.request.removed = on_removed;
	E.wants[0].creates = true;
	request(&A);
	request(&b);
	request(&C);
	request(&d);
	request(&E);
	locks_remove(locks, LOCK_NODE, "n1", "node1");
	expect("A b!node1 C!node1 ");
	release(&A); /* those who want all, or to make it, go on */
	expect("A b!node1 C!node1 d ");
	release(&d);
	expect("A b!node1 C!node1 d E ");
	release(&E);
	release(&b); /* over already: nothing */
}

Test(locks_more, who_can_do_without_a_removed_object_goes_on)
{
	struct job A = job('A', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n2"),
		   C = some_of_three('C', 2), D = some_of_three('D', 3);

	C.request.removed = D.request.removed = on_removed;
	request(&A);
	request(&B);
	request(&C);
	request(&D);
	locks_remove(locks, LOCK_NODE, "n1", "node1");
	expect("A B D!node1 ");
	release(&A);
	release(&B);
	expect("A B D!node1 C ");
	expect_has(&C, "+-++");
	release(&C);
}

/* --- why --- */

static void expect_block(const struct job *j, const char *expected)
{
	auto_buf struct buf text = {0};
	struct lock_block b;

	cr_assert_not_null(locks_waiting(locks, (uint64_t)j->letter));
	locks_blocked(&j->request, &b);
	buf_addf(&text, "%s %s%s: %c %s%s, %zu before",
		 lock_level_name(b.level), b.name == NULL ? "*" : b.name,
		 b.exclusive ? " X" : "", (char)b.by->owner,
		 b.by_holds ? "holds" : "waits", b.by_exclusive ? " X" : "",
		 b.n_before);
	cr_assert_str_eq(text.data, expected);
}

Test(locks_more, says_why_somebody_waits)
{
	struct job a = job('a', LOCK_NODE, "n1"), B = job('B', LOCK_NODE, "n1"),
		   c = job('c', LOCK_NODE, "n1"), D = job('D', LOCK_NODE, NULL),
		   e = job('e', LOCK_NODE, "n2");

	request(&a);
	request(&B);
	request(&c);
	request(&D);
	request(&e);
	cr_assert_null(locks_waiting(locks, 'a'));
	expect_block(&B, "node n1 X: a holds, 0 before");
	expect_block(&c, "node n1: B waits X, 1 before");
	expect_block(&D, "node * X: a holds, 2 before");
	expect_block(&e, "node *: D waits X, 3 before");
	release(&a);
	expect_block(&c, "node n1: B holds X, 0 before");
	release(&B);
	release(&c);
	release(&D);
	release(&e);
}

static void add_letter(uint64_t owner, void *arg)
{
	buf_addf(arg, "%c", (char)owner);
}

/* Who holds what such a job would wait for. */
static void expect_holders(struct job j, const char *expected)
{
	auto_buf struct buf text = {0};

	locks_holders(locks, &j.wants[0], add_letter, &text);
	cr_assert_str_eq(text.data == NULL ? "" : text.data, expected);
}

Test(locks_more, says_who_holds_a_lock)
{
	struct job a = job('a', LOCK_NODE, "n1"), b = job('b', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n2"), D = job('D', LOCK_NODE, "n2"),
		   e = job('e', LOCK_INSTANCE, NULL);

	request(&a);
	request(&b);
	request(&C);
	request(&D); /* waits, so it holds nothing */
	request(&e);
	expect_holders(job('x', LOCK_NODE, "n1"), "");
	expect_holders(job('X', LOCK_NODE, "n1"), "ab");
	expect_holders(job('x', LOCK_NODE, "n2"), "C");
	expect_holders(job('x', LOCK_NODE, NULL), "C");
	expect_holders(job('X', LOCK_NODE, NULL), "abC");
	expect_holders(job('x', LOCK_INSTANCE, "web1"), "");
	expect_holders(job('X', LOCK_INSTANCE, "web1"), "e");
	expect_holders(job('X', LOCK_NETWORK, "net1"), "");
	release(&a);
	release(&b);
	release(&C);
	release(&D);
	release(&e);
}

Test(locks_more, prefers_who_holds_to_who_waits)
{
	struct job A = job('A', LOCK_NODE, "n2"), B = job('B', LOCK_NODE, "n1"),
		   C = job('C', LOCK_NODE, "n1");

	also(&B, LOCK_NODE, "n2");
	also(&C, LOCK_NODE, "n2");
	request(&A);
	request(&B);
	request(&C);
	expect_block(&C, "node n2 X: A holds X, 1 before");
	release(&A);
	release(&B);
	release(&C);
}
