/* SPDX-License-Identifier: BSD-2-Clause */
/* From the overlay into the files. */
#include <assert.h>
#include <malloc.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/store/store_private.h"

/* A full disk is reported this often. */
#define FULL_LOG_US 60000000

static WAITS void write_files_task(void *arg);

void store_start_writing(struct store *s)
{
	if (s->writing_files || s->failed)
		return;
	s->writing_files = true;
	task_spawn("queue files", write_files_task, s);
}

/* A write that is under way may have done all but give its memory back, and
 * look at nothing any more: so the time comes again. */
void store_on_timer(struct timer *t)
{
	struct store *s = container_of(t, struct store, timer);

	if (s->writing_files)
		timer_start(t, clock_mono_us() + STORE_IDLE_US);
	else
		store_start_writing(s);
}

void store_plan_writing(struct store *s)
{
	int64_t now = clock_mono_us(), deadline = now + STORE_IDLE_US;

	if (s->dirty.names.n == 0)
		return;
	if (s->dirty_since_us == 0)
		s->dirty_since_us = now;
	if (deadline > s->dirty_since_us + STORE_LAG_US)
		deadline = s->dirty_since_us + STORE_LAG_US;
	timer_start(&s->timer, deadline);
}

void store_end(struct store *s, const struct error *err)
{
	if (s->failed)
		return;
	s->failed = true;
	s->why = *err;
	timer_stop(&s->timer);
}

void store_set_failed(struct store *s, const struct error *err)
{
	if (s->failed)
		return;
	store_end(s, err);
	if (s->settled) /* else store_settle() returns it */
		s->config.fatal(s->config.arg, err);
}

static void set_full(struct store *s, const struct error *err)
{
	int64_t now = clock_mono_us();

	if (!s->full || now - s->full_logged_us >= FULL_LOG_US) {
		log_error("Cannot write the files of the job queue (new jobs "
			  "are refused): %s",
			  err->text);
		s->full_logged_us = now;
	}
	s->full = true;
	s->why = *err;
	overlay_merge(&s->dirty, &s->writing);
	timer_start(&s->timer, now + STORE_RETRY_US);
}

static WAITS void files_are_written(struct store *s)
{
	struct overlay written = s->writing;

	if (s->full)
		log_info("The files of the job queue can be written again");
	s->full = false;
	s->covered = s->covering;
	s->writing = (struct overlay){0};
	s->n_written++;
	store_plan_writing(s);
	store_leave(); /* nobody else has it, and it may be large */
	overlay_done(&written);
	store_enter();
	store_tell_written(s);
}

int store_write_files(struct store *s)
{
	struct disk *disk = s->config.disk;
	struct error err;
	bool written, synced;

	assert(s->writing.names.n == 0);
	timer_stop(&s->timer);
	s->writing = s->dirty;
	s->dirty = (struct overlay){0};
	s->dirty_since_us = 0;
	s->covering = s->applied;
	store_leave();
	written = overlay_write(&s->writing, disk, s->dir, &err) == 0;
	synced = written && disk->sync_all(disk, s->dir, &err) == 0;
	store_enter();
	if (synced) {
		files_are_written(s);
		return 0;
	}
	set_full(s, &err);
	if (written) /* a sync that failed is never tried again */
		store_set_failed(s, &err);
	return -1;
}

/* Mark in the journal what need not be replayed any more. */
static void put_cut(struct store *s)
{
	struct store_change *c = store_change_new();

	store_change_add(c, JOURNAL_CUT, "")->number = s->covered;
	store_put(s, c);
}

/* A burst of jobs leaves much free memory between what stays; libc would keep
 * it. */
static WAITS void give_memory_back(void)
{
	store_leave();
	malloc_trim(0);
	store_enter();
}

static WAITS void write_files_task(void *arg)
{
	struct store *s = arg;

	if (store_write_files(s) == 0 && s->config.commit == NULL &&
	    s->dirty.names.n == 0 && list_empty(&s->pending) &&
	    list_empty(&s->batch))
		put_cut(s);
	give_memory_back();
	s->writing_files = false;
	cond_signal(&s->changed);
}
