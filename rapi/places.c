/* SPDX-License-Identifier: BSD-2-Clause */
/* A place that is given back goes to who has waited longest, without being free
 * in between: so nobody who comes meanwhile is before him. */
#include "rapi/places.h"

#include <stddef.h>

#include "lib/base/clock.h"

/* How often somebody who waits is asked whether he still does. */
#define LOOK_US INT64_C(1000000)

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

bool places_take(struct places *p, bool (*gone)(void *arg), void *arg)
{
	struct wait w = {0};

	if (p->taken < p->max) {
		p->taken++;
		return true;
	}
	cond_init(&w.given);
	list_append(&p->waiting, &w.link);
	while (!w.has_place && (gone == NULL || !gone(arg)))
		cond_wait_until(&w.given, clock_mono_us() + LOOK_US);
	list_remove(&w.link);
	return w.has_place;
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
