/* SPDX-License-Identifier: BSD-2-Clause */
/* All waiting tasks share one condition, so each looks at the list again when
 * it wakes up. */
#include "masterd/core/turns.h"

#include <string.h>

void turns_init(struct turns *t)
{
	*t = (struct turns){0};
	cond_init(&t->given);
}

void turns_done(struct turns *t)
{
	strv_done(&t->taken);
}

bool turns_is_taken(const struct turns *t, const char *name)
{
	return strv_has(&t->taken, name);
}

bool turns_take(struct turns *t, const char *name)
{
	while (turns_is_taken(t, name) && !task_interrupted())
		cond_wait(&t->given);
	if (task_interrupted())
		return false;
	strv_add(&t->taken, name);
	return true;
}

void turns_give(struct turns *t, const char *name)
{
	struct strv left = {0};

	for (size_t i = 0; i < t->taken.n; i++)
		if (strcmp(t->taken.items[i], name) != 0)
			strv_add(&left, t->taken.items[i]);
	strv_done(&t->taken);
	t->taken = left;
	cond_signal(&t->given);
}
