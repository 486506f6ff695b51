/* SPDX-License-Identifier: BSD-2-Clause */
/* The turn is a token (`taken`) that one work has.  Work that has used up a
 * slice gives the token back and waits until it gets it again; of those that
 * wait, the one with the fewest steps is next.  Work in its first slice needs
 * no token. */
#include "masterd/core/slices.h"

#include "lib/base/list.h"

void slices_init(struct slices *s)
{
	*s = (struct slices){0};
	list_init(&s->waiting);
	cond_init(&s->asked);
}

void slices_ask(struct slices *s, unsigned max)
{
	while (s != NULL && s->n_asking >= max)
		cond_wait(&s->asked);
	if (s != NULL)
		s->n_asking++;
}

void slices_asked(struct slices *s)
{
	if (s == NULL)
		return;
	s->n_asking--;
	cond_signal(&s->asked);
}

void slice_begin(struct slice_work *w, struct slices *slices)
{
	*w = (struct slice_work){.slices = slices};
	list_init(&w->link);
	cond_init(&w->changed);
}

static struct slice_work *least(struct slices *s)
{
	struct slice_work *w, *best = NULL;

	list_each (w, &s->waiting, link)
		if (best == NULL || w->steps < best->steps)
			best = w;
	return best;
}

/* If nobody has the turn, give it to the waiting work with the fewest steps. */
static void pass_on(struct slices *s)
{
	struct slice_work *next = s->taken ? NULL : least(s);

	if (next == NULL)
		return;
	s->taken = true;
	next->holds = true;
	list_remove(&next->link);
	cond_signal(&next->changed);
}

void slice_rest(struct slice_work *w)
{
	struct slices *s = w->slices;
	uint64_t used = w->steps - w->begun;

	if (s == NULL)
		return;
	if (used > s->longest)
		s->longest = used;
	s->steps += used;
	w->begun = w->steps;
	if (!w->holds)
		return;
	w->holds = false;
	s->taken = false;
	pass_on(s);
}

bool slice_steps(struct slice_work *w, uint64_t n)
{
	struct slices *s = w->slices;

	w->steps += n;
	if (s == NULL || task_self() == NULL ||
	    w->steps - w->begun < SLICE_STEPS)
		return false;
	s->ended++;
	slice_rest(w);
	list_append(&s->waiting, &w->link);
	pass_on(s);
	if (w->holds)
		task_yield();
	while (!w->holds)
		cond_wait(&w->changed);
	return true;
}
