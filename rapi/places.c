/* SPDX-License-Identifier: BSD-2-Clause */
/* A place that is given back goes to who has waited longest, without being free
 * in between: so nobody who comes meanwhile is before him. */
#include "rapi/places.h"

#include <stdbool.h>

struct wait {
	struct list link;
	struct cond given;
	bool has_place;
};

void places_init(struct places *p, unsigned max)
{
	*p = (struct places){.max = max};
	list_init(&p->waiting);
}

void places_take(struct places *p)
{
	struct wait w = {.has_place = false};

	if (p->taken < p->max) {
		p->taken++;
		return;
	}
	cond_init(&w.given);
	list_append(&p->waiting, &w.link);
	while (!w.has_place)
		cond_wait(&w.given);
}

void places_give(struct places *p)
{
	struct wait *w;

	if (list_empty(&p->waiting)) {
		p->taken--;
		return;
	}
	w = list_first(&p->waiting, struct wait, link);
	list_remove(&w->link);
	w->has_place = true;
	cond_signal(&w->given);
}
