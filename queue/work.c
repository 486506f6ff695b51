/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that takes longer than a client waits: a client begins it, and asks
 * again later how far it is. */
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "queue/queue_private.h"

void work_begin(struct work *w)
{
	free(steal(&w->text));
	w->running = true;
	w->ended = false;
	w->done = 0;
}

void work_end(struct work *w, bool ok, uint64_t job, char *text STEALS)
{
	w->running = false;
	w->ended = true;
	w->ok = ok;
	w->job = job;
	w->text = text;
	cond_signal(&w->changed);
}

json_t *work_answer(struct work *w, unsigned wait_s)
{
	unsigned limit =
		wait_s < QUEUE_WORK_WAIT_MAX_S ? wait_s : QUEUE_WORK_WAIT_MAX_S;
	int64_t deadline = clock_mono_us() + limit * INT64_C(1000000);

	while (w->running && cond_wait_until(&w->changed, deadline))
		;
	return json_make("{s:b, s:I, s:o, s:o, s:s?}", "running", w->running,
			 "done", (json_int_t)w->done, "ok",
			 w->ended ? json_boolean(w->ok) : json_null(), "job",
			 w->ended && w->job != 0
				 ? json_integer((json_int_t)w->job)
				 : json_null(),
			 "text", w->text);
}
