/* SPDX-License-Identifier: BSD-2-Clause */
/* A turn for each node's UUID.  The numbers of jobs are only stored here for
 * their users. */
#include "masterd/core/balloon_turns.h"

#include "lib/json/json.h"
#include "masterd/core/turns.h"

struct balloon_turns {
	struct turns turns;
	json_t *jobs; /* {node's UUID: the last job that lets them grow} */
};

struct balloon_turns *balloon_turns_create(void)
{
	struct balloon_turns *t = xalloc(sizeof(*t));

	*t = (struct balloon_turns){.jobs = json_object()};
	turns_init(&t->turns);
	return t;
}

void balloon_turns_destroy(struct balloon_turns *t)
{
	if (t == NULL)
		return;
	turns_done(&t->turns);
	json_decref(t->jobs);
	free(t);
}

bool balloon_turns_take(struct balloon_turns *t, const char *node)
{
	return turns_take(&t->turns, node);
}

void balloon_turns_give(struct balloon_turns *t, const char *node)
{
	turns_give(&t->turns, node);
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
