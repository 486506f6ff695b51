/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock for each node: its UUID is in the list `busy` while a job has it.  All
 * waiting tasks share one condition, so each looks at the list again when it
 * wakes up.  The numbers of jobs are only stored here for their users. */
#include "masterd/core/balloon_turns.h"

#include <string.h>

#include "lib/json/json.h"

struct balloon_turns {
	struct strv busy; /* UUIDs of nodes */
	struct cond freed;
	json_t *jobs; /* {node's UUID: the last job that lets them grow} */
};

struct balloon_turns *balloon_turns_create(void)
{
	struct balloon_turns *t = xalloc(sizeof(*t));

	*t = (struct balloon_turns){.jobs = json_object()};
	cond_init(&t->freed);
	return t;
}

void balloon_turns_destroy(struct balloon_turns *t)
{
	if (t == NULL)
		return;
	strv_done(&t->busy);
	json_decref(t->jobs);
	free(t);
}

bool balloon_turns_take(struct balloon_turns *t, const char *node)
{
	while (strv_has(&t->busy, node) && !task_interrupted())
		cond_wait(&t->freed);
	if (task_interrupted())
		return false;
	strv_add(&t->busy, node);
	return true;
}

void balloon_turns_give(struct balloon_turns *t, const char *node)
{
	struct strv left = {0};

	for (size_t i = 0; i < t->busy.n; i++)
		if (strcmp(t->busy.items[i], node) != 0)
			strv_add(&left, t->busy.items[i]);
	strv_done(&t->busy);
	t->busy = left;
	cond_signal(&t->freed);
}

uint64_t balloon_turns_job(const struct balloon_turns *t, const char *node)
{
	return (uint64_t)json_int(t->jobs, node, 0);
}

void balloon_turns_note_job(struct balloon_turns *t, const char *node,
			    uint64_t job)
{
	json_set_int(t->jobs, node, (int64_t)job);
}
