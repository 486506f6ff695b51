/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns at something that only one job at a time may use, such as a port of a
 * node: a lock for each name.  Unlike the locks of the queue, a turn is taken
 * in the middle of a job, and costs nothing while nobody wants the same. */
#ifndef MASTERD_CORE_TURNS_H
#define MASTERD_CORE_TURNS_H

#include <stdbool.h>

#include "lib/base/str.h"
#include "lib/event/task.h"

struct turns {
	struct strv taken; /* names */
	struct cond given;
};

/* Nobody has a turn. */
void turns_init(struct turns *t);
void turns_done(struct turns *t);

/* Whether a task has this turn, so that who wants it has to wait. */
bool turns_is_taken(const struct turns *t, const char *name);

/* Wait for the turn; false when the task was interrupted. */
WAITS bool turns_take(struct turns *t, const char *name);
void turns_give(struct turns *t, const char *name);

#endif
