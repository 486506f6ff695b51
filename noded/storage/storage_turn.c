/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns are few and short: a program or three each.  So all who wait look again
 * when any of them ends. */
#include "noded/storage/storage_turn.h"

#include <stdlib.h>
#include <string.h>

static struct {
	struct list taken;
	struct cond ended;
} turns = {
	.taken = LIST_INIT(turns.taken),
	.ended = {LIST_INIT(turns.ended.waiters)},
};

static bool is_taken(const char *object)
{
	const struct storage_turn *t;

	list_each (t, &turns.taken, link)
		if (strcmp(t->object, object) == 0)
			return true;
	return false;
}

WAITS void storage_turn_begin(struct storage_turn *t, char *object STEALS)
{
	while (is_taken(object))
		cond_wait(&turns.ended);
	t->object = object;
	list_append(&turns.taken, &t->link);
}

void storage_turn_end(struct storage_turn *t)
{
	if (t->object == NULL)
		return;
	list_remove(&t->link);
	free(t->object);
	cond_signal(&turns.ended);
}
