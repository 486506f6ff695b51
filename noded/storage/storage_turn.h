/* SPDX-License-Identifier: BSD-2-Clause */
/* Who looks at storage and then changes it by what he saw takes a turn.
 * Meanwhile nobody else has one for the same object, so that what was seen
 * still holds. */
#ifndef NODED_STORAGE_STORAGE_TURN_H
#define NODED_STORAGE_STORAGE_TURN_H

#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

/* Zeroed is none. */
struct storage_turn {
	struct list link;
	char *object;
};

#define auto_turn __attribute__((cleanup(storage_turn_end), unused))

/* Wait until nobody has a turn for this object ("rbd POOL/NAME") and take it.
 * Who has one begins no second. */
WAITS void storage_turn_begin(struct storage_turn *t, char *object STEALS);
void storage_turn_end(struct storage_turn *t);

#endif
