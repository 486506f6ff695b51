/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns at the memory of a node's running instances: only one job at a time
 * changes it, so that what a job has seen stays true until it is done. */
#ifndef MASTERD_CORE_BALLOON_TURNS_H
#define MASTERD_CORE_BALLOON_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/task.h"

struct balloon_turns;

/* Nobody has a turn.  destroy: NULL is fine. */
struct balloon_turns *balloon_turns_create(void);
void balloon_turns_destroy(struct balloon_turns *t);

/* Wait for the turn at this node; false when the task was interrupted. */
WAITS bool balloon_turns_take(struct balloon_turns *t, const char *node);
void balloon_turns_give(struct balloon_turns *t, const char *node);

/* The job noted for the node, 0 for none. */
uint64_t balloon_turns_job(const struct balloon_turns *t, const char *node);
void balloon_turns_note_job(struct balloon_turns *t, const char *node,
			    uint64_t job);

#endif
