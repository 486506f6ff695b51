/* SPDX-License-Identifier: BSD-2-Clause */
/* A number of places for what must not be done too often at the same time.  Who
 * finds none waits, and they are given in the order in which they were asked
 * for. */
#ifndef RAPI_PLACES_H
#define RAPI_PLACES_H

#include <stdbool.h>

#include "lib/base/list.h"
#include "lib/event/task.h"

struct places {
	unsigned max, taken;
	struct list waiting; /* private */
};

void places_init(struct places *p, unsigned max);

/* Wait for a place; false: gone() says that it is not wanted any more (NULL: it
 * always is).  Each task that has one gives it back. */
WAITS bool places_take(struct places *p, bool (*gone)(void *arg), void *arg);
void places_give(struct places *p);

#endif
