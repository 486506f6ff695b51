/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns at the memory of a node's running instances: only one job at a time
 * changes it, so that what a job has seen stays true until it is done. */
#ifndef MASTERD_CORE_ROOM_TURNS_H
#define MASTERD_CORE_ROOM_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/task.h"

struct room_turns;

/* Nobody has a turn.  destroy: NULL is fine. */
struct room_turns *room_turns_create(void);
void room_turns_destroy(struct room_turns *t);

/* Wait for the turn at this node; false when the task was interrupted. */
WAITS bool room_turns_take(struct room_turns *t, const char *node);
void room_turns_give(struct room_turns *t, const char *node);

/* The job noted for the node, 0 for none. */
uint64_t room_turns_job(const struct room_turns *t, const char *node);
void room_turns_note_job(struct room_turns *t, const char *node, uint64_t job);

#endif
