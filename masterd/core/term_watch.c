/* SPDX-License-Identifier: BSD-2-Clause */
/* A task of its own reads the file with the node's term once a second.  It goes
 * on while the master stops, which may wait for what another one prevents. */
#include "masterd/core/term_watch.h"

#include "lib/base/clock.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/term.h"

#define LOOK_US INT64_C(1000000)

struct term_watch {
	struct disk *disk;
	const struct paths *paths;
	uint64_t term;
	void (*over)(void *arg, const struct error *err);
	void *arg;
	bool running, ended;
	struct cond changed;
};

/* Whether a newer term is noted; then err says so. */
static bool is_over(const struct term_watch *w, struct error *err)
{
	auto_term struct term term = {0};
	struct error ignored;

	if (term_load(w->disk, w->paths, &term, &ignored) < 0 ||
	    term.number <= w->term)
		return false;
	error_set(err, ERR_SYSTEM, ECODE_FENCED,
		  "Another master has taken over (term %ju)",
		  (uintmax_t)term.number);
	return true;
}

static WAITS void watch(void *arg)
{
	struct term_watch *w = arg;
	struct error err;

	while (!w->ended && !is_over(w, &err))
		cond_wait_until(&w->changed, clock_mono_us() + LOOK_US);
	w->running = false;
	cond_signal(&w->changed);
	if (!w->ended)
		w->over(w->arg, &err);
}

struct term_watch *
term_watch_begin(struct disk *disk, const struct paths *paths, uint64_t term,
		 void (*over)(void *arg, const struct error *err), void *arg)
{
	struct term_watch *w = xalloc(sizeof(*w));

	*w = (struct term_watch){.disk = disk,
				 .paths = paths,
				 .term = term,
				 .over = over,
				 .arg = arg,
				 .running = true};
	cond_init(&w->changed);
	task_spawn("watch term", watch, w);
	return w;
}

WAITS void term_watch_end(struct term_watch *w)
{
	if (w == NULL)
		return;
	w->ended = true;
	cond_signal(&w->changed);
	while (w->running)
		cond_wait(&w->changed);
	free(w);
}
