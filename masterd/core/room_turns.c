/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock for each node: its UUID is in the list `busy` while a job has it.  All
 * waiting tasks share one condition, so each looks at the list again when it
 * wakes up.  The numbers of jobs are only stored here for their users. */
#include "masterd/core/room_turns.h"

#include <string.h>

#include "lib/json/json.h"

struct room_turns {
	struct strv busy; /* UUIDs of nodes */
	struct cond freed;
	json_t *jobs; /* {node's UUID: the last job that lets them grow} */
};

struct room_turns *room_turns_create(void)
{
	struct room_turns *t = xalloc(sizeof(*t));

	*t = (struct room_turns){.jobs = json_object()};
	cond_init(&t->freed);
	return t;
}

void room_turns_destroy(struct room_turns *t)
{
	if (t == NULL)
		return;
	strv_done(&t->busy);
	json_decref(t->jobs);
	free(t);
}

bool room_turns_take(struct room_turns *t, const char *node)
{
	while (strv_has(&t->busy, node) && !task_interrupted())
		cond_wait(&t->freed);
	if (task_interrupted())
		return false;
	strv_add(&t->busy, node);
	return true;
}

void room_turns_give(struct room_turns *t, const char *node)
{
	struct strv left = {0};

	for (size_t i = 0; i < t->busy.n; i++)
		if (strcmp(t->busy.items[i], node) != 0)
			strv_add(&left, t->busy.items[i]);
	strv_done(&t->busy);
	t->busy = left;
	cond_signal(&t->freed);
}

uint64_t room_turns_job(const struct room_turns *t, const char *node)
{
	return (uint64_t)json_int(t->jobs, node, 0);
}

void room_turns_note_job(struct room_turns *t, const char *node, uint64_t job)
{
	json_set_int(t->jobs, node, (int64_t)job);
}
