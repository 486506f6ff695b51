/* SPDX-License-Identifier: BSD-2-Clause */
/* A few tasks take the items one after the other, in their order. */
#include "cli/remote/loop.h"

#include <uv.h>

struct work {
	task_fn *fn;
	char *items;
	size_t size, n, next;
};

static WAITS void work_on(void *arg)
{
	struct work *w = arg;

	while (w->next < w->n)
		w->fn(w->items + w->size * w->next++);
}

static bool all_done(void *arg)
{
	(void)arg;
	return tasks_count() == 0;
}

void loop_each(task_fn *fn, void *items, size_t size, size_t n)
{
	struct work w = {.fn = fn, .items = items, .size = size, .n = n};
	uv_loop_t loop;

	uv_loop_init(&loop);
	tasks_init(&loop);
	for (size_t i = 0; i < n && i < LOOP_TASKS_MAX; i++)
		task_spawn("remote", work_on, &w);
	tasks_drive(all_done, NULL);
	tasks_close();
	uv_run(&loop, UV_RUN_DEFAULT); /* handles close */
	uv_loop_close(&loop);
}
