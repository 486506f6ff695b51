/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain is followed from its newest entry back, since each link says which
 * number and hash the entry before has to have.  Where an entry does not match
 * its link it was altered, and its own link proves nothing any more: the walk
 * then goes on at the next lower number.  The oldest fault that was found is
 * the answer. */
#include "queue/history/chain_check.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct chain_entry *entries; /* in order of number */
	size_t n;			   /* not yet looked at */
	struct chain_verdict *verdict;
	/* What the next entry has to be; id 0: only its number is known. */
	struct chain_link expected;
	uint64_t witness; /* the job whose link says so */
	bool trusted;	  /* whether that job itself matched its link */
};

static int by_number(const void *a, const void *b)
{
	const struct chain_entry *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void fault(struct walk *w, int kind, uint64_t id, uint64_t number)
{
	struct chain_verdict *v = w->verdict;

	v->kind = kind;
	v->id = id;
	v->number = number;
	v->witness = w->witness;
	v->unsure = false;
}

/* The entry with the expected number, or NULL.  If the expected id is known,
 * other entries with this number were added by somebody. */
static const struct chain_entry *take(struct walk *w)
{
	const struct chain_entry *found = NULL;

	while (w->n > 0 && w->entries[w->n - 1].number == w->expected.number) {
		const struct chain_entry *e = &w->entries[--w->n];

		if (e->id == w->expected.id || !w->trusted)
			found = e;
		else
			fault(w, CHAIN_ADDED, e->id, e->number);
	}
	return found;
}

/* Whether the entry is what the link to it says. */
static void look_at(struct walk *w, const struct chain_entry *e)
{
	bool same = e->id == w->expected.id &&
		    strcmp(e->sha256, w->expected.sha256) == 0;

	w->verdict->n_linked++;
	if (!same && w->trusted)
		fault(w, CHAIN_ALTERED, e->id, e->number);
	else if (!same && w->expected.id != 0 &&
		 w->verdict->number == e->number + 1)
		w->verdict->unsure = true;
	w->trusted = same;
	w->witness = e->id;
	w->expected = e->previous;
	w->expected.number = e->number - 1;
}

/* No entry has the expected number: continue with the next lower one. */
static void step_over(struct walk *w)
{
	uint64_t next = w->n == 0 ? 0 : w->entries[w->n - 1].number;

	if (w->trusted)
		fault(w, CHAIN_MISSING, w->expected.id, w->expected.number);
	w->trusted = false;
	w->expected = (struct chain_link){.number = next};
}

static void follow(struct walk *w)
{
	while (w->expected.number > 0) {
		const struct chain_entry *e = take(w);

		if (e != NULL)
			look_at(w, e);
		else
			step_over(w);
	}
}

/* Drop the entries that are newer than the head.  Those that are also above
 * `newest` were added by somebody. */
static void drop_newer(struct walk *w, const struct chain_link *head,
		       uint64_t newest)
{
	for (; w->n > 0 && w->entries[w->n - 1].number > head->number; w->n--)
		if (w->entries[w->n - 1].number > newest)
			fault(w, CHAIN_ADDED, w->entries[w->n - 1].id,
			      w->entries[w->n - 1].number);
}

/* A file that is there but has lost its place in the chain was altered, it is
 * not missing. */
static void find_missing(struct chain_verdict *v,
			 const struct chain_entry *entries, size_t n)
{
	for (size_t i = 0; v->kind == CHAIN_MISSING && i < n; i++)
		if (entries[i].id == v->id)
			v->kind = CHAIN_ALTERED;
}

void chain_check(const struct chain_link *head, uint64_t newest,
		 struct chain_entry *entries, size_t n,
		 struct chain_verdict *ret)
{
	struct walk w = {.verdict = ret, .expected = *head, .trusted = true};
	size_t before = 0;

	*ret = (struct chain_verdict){.kind = CHAIN_GOOD};
	if (n > 0)
		qsort(entries, n, sizeof(*entries), by_number);
	while (before < n && entries[before].number == 0)
		before++;
	ret->n_before = before;
	w.entries = n > 0 ? entries + before : NULL;
	w.n = n - before;
	drop_newer(&w, head, newest);
	follow(&w);
	find_missing(ret, entries, n);
}
