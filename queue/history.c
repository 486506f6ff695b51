/* SPDX-License-Identifier: BSD-2-Clause */
/* The task "history" exists while there is something to do.  In this order it:
 * opens the database, compares the archive with it, stores jobs that were
 * archived, and stores live jobs that changed.  The last waits until nothing
 * has changed for a while, since a job changes several times in its life.
 *
 * Queries have connections of their own, for reading, and see only committed
 * data; so a query first waits until the jobs that were archived before it are
 * stored. */
#include "queue/history.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/event/timer.h"
#include "queue/history/history_row.h"
#include "queue/history_private.h"

/* Live jobs are stored when nothing has changed for this long, or when the
 * oldest change is that old. */
#define IDLE_US 2000000
#define LAG_US 30000000
/* How long to wait after an error. */
#define RETRY_US 60000000
/* When so many archived jobs wait to be stored, archiving waits; beyond twice
 * as many they are dropped from memory, and a comparison finds them in the
 * archive. */
#define BACKLOG 2000
#define KEEP_UP_US 5000000
/* A query waits so long for a history that is comparing or storing. */
#define READY_US 5000000
/* A query reads so many rows at a time. */
#define ROWS 200
/* After collecting so many live jobs, let others run. */
#define MARK_SLICE 500

static WAITS void work_task(void *arg);

static void kick(struct history *h)
{
	if (h->working || h->stopping)
		return;
	h->working = true;
	task_spawn("history", work_task, h);
}

static void on_timer(struct timer *t)
{
	struct history *h = container_of(t, struct history, timer);

	h->changed_due = true;
	kick(h);
}

struct history *history_create(struct queue *q)
{
	struct history *h = xalloc(sizeof(*h));

	h->queue = q;
	h->path = xprintf("%s/history.db", q->dir);
	h->timer.fired = on_timer;
	list_init(&h->archived);
	cond_init(&h->progress);
	cond_init(&h->work.changed);
	return h;
}

static void drop_archived(struct history *h)
{
	while (!list_empty(&h->archived)) {
		struct pending *p =
			list_first(&h->archived, struct pending, link);

		list_remove(&p->link);
		job_free(p->job);
		free(p);
	}
	h->n_archived = 0;
}

void history_free(struct history *h)
{
	if (h == NULL)
		return;
	timer_stop(&h->timer);
	history_db_close(h->db);
	drop_archived(h);
	free(h->changed);
	free(h->work.text);
	free(h->path);
	free(h);
}

struct work *history_work(struct history *h)
{
	return &h->work;
}

/* --- what has to be stored --- */

/* When the changed live jobs have to be stored. */
static void plan(struct history *h)
{
	int64_t now = clock_mono_us(), at = now + IDLE_US;

	if (h->changed_since_us == 0)
		h->changed_since_us = now;
	if (at > h->changed_since_us + LAG_US)
		at = h->changed_since_us + LAG_US;
	timer_start(&h->timer, at);
}

void history_changed(struct history *h, struct job *j)
{
	if (h == NULL || h->stopping)
		return;
	if (!j->private->in_history_list) {
		j->private->in_history_list = true;
		if (h->n_changed == h->cap_changed) {
			h->cap_changed =
				h->cap_changed == 0 ? 64 : 2 * h->cap_changed;
			h->changed =
				xrealloc(h->changed,
					 h->cap_changed * sizeof(*h->changed));
		}
		h->changed[h->n_changed++] = j->id;
	}
	if (h->state == HISTORY_READY)
		plan(h);
}

void history_archived(struct history *h, const struct job *j)
{
	struct pending *p;

	if (h == NULL || h->state == HISTORY_CLOSED)
		return; /* the comparison will find it */
	if (h->n_archived >= 2 * BACKLOG) {
		drop_archived(h);
		h->forgot = true;
	}
	p = xalloc(sizeof(*p));
	p->job = history_excerpt(j);
	p->job->archived = true;
	list_append(&h->archived, &p->link);
	h->n_archived++;
	kick(h);
}

void history_keep_up(struct history *h)
{
	int64_t deadline = clock_mono_us() + KEEP_UP_US;

	while (h != NULL && h->working && h->n_archived > BACKLOG &&
	       cond_wait_until(&h->progress, deadline))
		;
}

/* --- the task: storing --- */

int history_write(struct history_db *db, struct job *const *jobs, size_t n,
		  const uint64_t *removed, size_t n_removed, struct error *err)
{
	int rc = history_db_begin(db, err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = history_db_put(db, jobs[i], err);
	for (size_t i = 0; rc == 0 && i < n_removed; i++)
		rc = history_db_remove_job(db, removed[i], err);
	if (rc == 0)
		rc = history_db_commit(db, err);
	if (rc < 0)
		history_db_rollback(db);
	return rc;
}

WAITS int history_put(struct history *h, struct job **jobs, size_t n,
		      struct error *err)
{
	int rc;

	task_leave(); /* only this task uses the database and these jobs */
	rc = history_write(h->db, jobs, n, NULL, 0, err);
	for (size_t i = 0; i < n; i++)
		job_free(jobs[i]);
	task_enter();
	cond_signal(&h->progress);
	return rc;
}

static WAITS int put_archived(struct history *h, struct error *err)
{
	struct job *jobs[HISTORY_BATCH];
	size_t n = 0;

	while (n < HISTORY_BATCH && !list_empty(&h->archived)) {
		struct pending *p =
			list_first(&h->archived, struct pending, link);

		list_remove(&p->link);
		jobs[n++] = p->job;
		free(p);
	}
	/* They count as waiting until they are stored. */
	if (history_put(h, jobs, n, err) < 0) {
		h->forgot = true;
		return -1;
	}
	h->n_archived = h->n_archived > n ? h->n_archived - n : 0;
	return 0;
}

WAITS int history_put_waiting(struct history *h, struct error *err)
{
	while (!list_empty(&h->archived))
		if (put_archived(h, err) < 0)
			return -1;
	return 0;
}

static WAITS int put_changed(struct history *h, struct error *err)
{
	struct job *jobs[HISTORY_BATCH];
	size_t n = 0;

	while (n < HISTORY_BATCH && h->n_changed > 0) {
		struct job *j =
			job_find_live(h->queue, h->changed[--h->n_changed]);

		if (j == NULL)
			continue;
		j->private->in_history_list = false;
		jobs[n++] = history_excerpt(j);
	}
	if (h->n_changed == 0) {
		h->changed_due = false;
		h->changed_since_us = 0;
	}
	return history_put(h, jobs, n, err);
}

/* --- the task: comparing with the archive --- */

static WAITS void mark_all_changed(struct history *h)
{
	const struct job *j = queue_next(h->queue, 0);

	for (size_t n = 1; j != NULL && !h->stopping; n++) {
		uint64_t id = j->id;

		history_changed(h, mem_unconst(j));
		if (n % MARK_SLICE == 0)
			task_yield();
		j = queue_next(h->queue, id);
	}
}

/* Live jobs of an earlier run of the daemon may have changed: remove them; they
 * are stored again. */
static WAITS int forget_live(struct history *h, struct error *err)
{
	int rc;

	task_leave();
	rc = history_db_begin(h->db, err);
	if (rc == 0)
		rc = history_db_remove_live(h->db, err);
	if (rc == 0)
		rc = history_db_commit(h->db, err);
	if (rc < 0)
		history_db_rollback(h->db);
	task_enter();
	mark_all_changed(h);
	return rc;
}

static WAITS int compare(struct history *h, struct error *err)
{
	int64_t start = clock_mono_us();

	h->forgot = false;
	h->work.done = 0;
	if (forget_live(h, err) < 0)
		return -1;
	if (history_compare_archive(h, err) < 0)
		return -1;
	if (h->stopping || h->remake || h->forgot)
		return 0;
	h->state = HISTORY_READY;
	if (h->complained || clock_mono_us() - start > READY_US)
		log_info("The job history is complete: %ju archived jobs",
			 (uintmax_t)h->work.done);
	h->complained = false;
	if (h->work.running)
		work_end(&h->work, true, 0,
			 xprintf("The history is made anew: %ju archived jobs",
				 (uintmax_t)h->work.done));
	if (h->n_changed > 0)
		plan(h);
	cond_signal(&h->progress);
	return 0;
}

/* --- the task: opening, errors --- */

static WAITS void close_db(struct history *h)
{
	struct history_db *db = steal(&h->db);

	h->state = HISTORY_CLOSED;
	task_leave(); /* no other task has it yet */
	history_db_close(db);
	task_enter();
	drop_archived(h);
}

static WAITS int open_db(struct history *h, struct error *err)
{
	bool damaged = false, remake = h->remake;
	struct history_db *db = NULL;

	h->remake = false;
	/* From now on newly archived jobs are noted; the comparison finds the
	 * earlier ones. */
	h->state = HISTORY_COMPARING;
	task_leave(); /* the path does not change */
	if (!remake || history_db_remove(h->path, err) == 0)
		db = history_db_open(h->path, &damaged, err);
	task_enter();
	h->db = db;
	if (db == NULL && damaged)
		h->remake = true;
	return db == NULL ? -1 : 0;
}

/* A damaged database is made anew at once, but not again and again. */
static WAITS void went_wrong(struct history *h, const struct error *err)
{
	bool again = !h->complained;

	if (h->db != NULL && history_db_damaged(h->db))
		h->remake = true;
	again = again && h->remake;
	if (!h->complained)
		log_warning("The job history %s cannot be used: %s; %s, and "
			    "queries of archived jobs read their files until "
			    "then",
			    h->path, err->text,
			    again ? "it is made anew" : "it is tried again");
	h->complained = true;
	close_db(h);
	if (h->work.running && !again)
		work_end(&h->work, false, 0,
			 xprintf("The history %s cannot be made: %s", h->path,
				 err->text));
	if (!again)
		timer_start(&h->timer, clock_mono_us() + RETRY_US);
	cond_signal(&h->progress);
}

/* One step: 1: there may be more to do, 0: there is not, -1 with err. */
static WAITS int work_step(struct history *h, struct error *err)
{
	if (h->remake && h->state != HISTORY_CLOSED)
		close_db(h);
	if (h->state == HISTORY_CLOSED)
		return open_db(h, err) < 0 ? -1 : 1;
	if (h->forgot)
		h->state = HISTORY_COMPARING;
	if (h->state == HISTORY_COMPARING)
		return compare(h, err) < 0 ? -1 : 1;
	if (!list_empty(&h->archived))
		return put_archived(h, err) < 0 ? -1 : 1;
	if (h->changed_due && h->n_changed > 0)
		return put_changed(h, err) < 0 ? -1 : 1;
	return 0;
}

static WAITS void work_task(void *arg)
{
	struct history *h = arg;
	struct error err;
	int rc = 1;

	while (rc > 0 && !h->stopping) {
		rc = work_step(h, &err);
		if (rc < 0) {
			bool was = h->complained;

			went_wrong(h, &err);
			rc = !was && h->remake; /* at once */
		}
	}
	h->working = false;
	cond_signal(&h->progress);
}

void history_start(struct history *h)
{
	if (h != NULL)
		kick(h);
}

void history_stop(struct history *h)
{
	if (h == NULL)
		return;
	timer_stop(&h->timer);
	h->stopping = true;
	while (h->working)
		cond_wait(&h->progress);
	if (h->db != NULL)
		close_db(h);
	if (h->work.running)
		work_end(&h->work, false, 0, xstrdup("The master daemon ends"));
}

void history_reindex(struct history *h)
{
	if (h->work.running || h->stopping)
		return;
	work_begin(&h->work);
	h->complained = false;
	h->remake = true;
	kick(h);
}

/* --- queries --- */

/* Wait until all jobs that were archived before are stored. */
static WAITS bool settled(struct history *h)
{
	int64_t deadline = clock_mono_us() + READY_US;

	if (h->state == HISTORY_CLOSED && !h->working)
		return false;
	while ((h->state != HISTORY_READY || h->n_archived > 0) && !h->stopping)
		if (!cond_wait_until(&h->progress, deadline) ||
		    (h->state == HISTORY_CLOSED && !h->working))
			return false;
	return !h->stopping;
}

struct reading {
	struct history_db *db;
	struct history_cursor *cursor;
	struct job *jobs[ROWS];
	int n;
};

/* Runs beside the loop, so it must free nothing that a job in memory shares. */
static int read_some(struct reading *r, struct history *h,
		     const json_t *qfilter, struct error *err)
{
	if (r->db == NULL)
		r->db = history_db_open_reader(h->path, err);
	if (r->db != NULL && r->cursor == NULL)
		r->cursor = history_db_find(r->db, qfilter, err);
	r->n = r->cursor == NULL
		       ? -1
		       : history_cursor_next(r->cursor, r->jobs, ROWS, err);
	return r->n;
}

static void reading_done(struct reading *r)
{
	history_cursor_close(r->cursor);
	history_db_close(r->db);
}

/* Returns false when fn wants no more jobs. */
static WAITS bool hand_over(struct reading *r,
			    WAITS bool (*fn)(const struct job *j, void *arg),
			    void *arg)
{
	bool more = true;

	for (int i = 0; i < r->n; i++) {
		more = more && fn(r->jobs[i], arg);
		job_free(r->jobs[i]);
	}
	return more;
}

int history_each(struct history *h, const json_t *qfilter,
		 WAITS bool (*fn)(const struct job *j, void *arg), void *arg)
{
	__attribute__((cleanup(reading_done))) struct reading r = {0};
	struct error err;

	if (h == NULL || !settled(h))
		return 0;
	for (;;) {
		task_leave(); /* no other task uses this connection */
		read_some(&r, h, qfilter, &err);
		task_enter();
		if (r.n == 0)
			return 1;
		if (r.n > 0 && !hand_over(&r, fn, arg))
			return -1;
		if (r.n > 0)
			continue;
		log_warning("The job history %s cannot be read: %s; the files "
			    "of the archive are read instead",
			    h->path, err.text);
		if (r.db != NULL && history_db_damaged(r.db))
			history_reindex(h);
		return 0;
	}
}
