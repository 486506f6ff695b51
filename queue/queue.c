/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing the queue, and looking at it. */
#include "queue/queue.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "queue/queue_private.h"

static void on_fatal(void *arg, const struct error *err)
{
	struct queue *q = arg;

	q->stopping = true; /* start nothing more */
	q->config.hooks.fatal(q->config.hooks.arg, err);
}

static int on_replicate(void *arg, const char *const *names,
			const char *const *contents, size_t n,
			struct error *err)
{
	struct queue *q = arg;
	const struct queue_hooks *hooks = &q->config.hooks;

	return hooks->replicate(hooks->arg, names, contents, n, err);
}

/* Two daemons must never work on the same files. */
static int take_lock(struct queue *q, struct error *err)
{
	auto_free char *path = xprintf("%s/lock", q->dir);
	struct disk *disk = q->config.disk;

	if (disk->lock == NULL)
		return 0;
	if (disk->mkdirs(disk, q->dir, 0750, err) < 0)
		return -1;
	q->lock = disk->lock(disk, path, err);
	return q->lock < 0 ? -1 : 0;
}

static int open_store(struct queue *q, struct error *err)
{
	struct store_config config = {
		.disk = q->config.disk,
		.dir = q->dir,
		.journal_size = q->config.journal_size,
		.numbered = true,
		.term = q->config.term,
		.arg = q,
		.replicate =
			q->config.hooks.replicate == NULL ? NULL : on_replicate,
		.fatal = on_fatal,
	};

	q->store = store_open(&config, err);
	return q->store == NULL ? -1 : 0;
}

struct queue *queue_open(const struct queue_config *config, struct error *err)
{
	struct queue *q = xalloc(sizeof(*q));

	q->config = *config;
	q->dir = xstrdup(config->dir);
	q->config.dir = q->dir;
	q->lock = -1;
	cond_init(&q->idle);
	if (take_lock(q, err) == 0 && open_store(q, err) == 0 &&
	    load_all(q, err) == 0)
		return q;
	queue_close(q);
	return NULL;
}

void queue_start(struct queue *q)
{
	q->started = true;
	queue_gates_changed(q);
}

void queue_stop(struct queue *q)
{
	q->stopping = true;
	while (q->n_running > 0 || q->n_saving > 0)
		cond_wait(&q->idle);
	store_flush(q->store);
}

void queue_close(struct queue *q)
{
	struct job *j;

	if (q == NULL)
		return;
	q->closed = true;
	store_close(q->store);
	while ((j = job_index_next(&q->jobs, 0)) != NULL) {
		job_index_remove(&q->jobs, j->id);
		job_destroy(j);
	}
	job_index_done(&q->jobs);
	heap_done(&q->ready);
	if (q->lock >= 0)
		q->config.disk->unlock(q->config.disk, q->lock);
	free(q->dir);
	free(q);
}

void queue_set_max_running(struct queue *q, unsigned n)
{
	q->config.max_running = n;
	sched_kick(q);
}

uint64_t queue_last_id(const struct queue *q)
{
	return q->last_id;
}

const struct job *queue_job(struct queue *q, uint64_t id)
{
	struct job *j = job_index_get(&q->jobs, id);

	return j == NULL || j->private->unborn ? NULL : j;
}

void queue_each(struct queue *q, bool (*fn)(const struct job *j, void *arg),
		void *arg)
{
	for (struct job *j = job_index_next(&q->jobs, 0); j != NULL;
	     j = job_index_next(&q->jobs, j->id))
		if (!j->private->unborn && !fn(j, arg))
			return;
}

/* --- the archive --- */

struct job *queue_archived(struct queue *q, uint64_t id, struct error *err)
{
	auto_free char *name = queue_archive_name(id);
	struct job *j = load_file(q, name, id, err);

	if (j != NULL)
		j->archived = true;
	return j;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The ids in a folder of the archive, sorted. */
static uint64_t *list_ids(struct queue *q, const char *folder, size_t *ret_n,
			  struct error *err)
{
	auto_strv struct strv names = {0};
	uint64_t *ids;
	size_t n = 0;

	if (store_list(q->store, folder, &names, err) < 0)
		return NULL;
	ids = xcalloc(names.n + 1, sizeof(*ids));
	for (size_t i = 0; i < names.n; i++)
		n += load_id(names.items[i], &ids[n]);
	qsort(ids, n, sizeof(*ids), by_value);
	*ret_n = n;
	return ids;
}

/* 1: fn wants no more. */
static int each_in_folder(struct queue *q, uint64_t folder,
			  bool (*fn)(struct job *j STEALS, void *arg),
			  void *arg, struct error *err)
{
	auto_free char *name = xprintf("archive/%ju", (uintmax_t)folder);
	auto_free uint64_t *ids = NULL;
	size_t n;

	ids = list_ids(q, name, &n, err);
	if (ids == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct error ignored; /* a damaged file hides no other */
		struct job *j = queue_archived(q, ids[i], &ignored);

		if (j != NULL && !fn(j, arg))
			return 1;
	}
	return 0;
}

int queue_each_archived(struct queue *q,
			bool (*fn)(struct job *j STEALS, void *arg), void *arg,
			struct error *err)
{
	int rc = 0;

	for (uint64_t folder = 0;
	     rc == 0 && folder <= q->last_id / ARCHIVE_FOLDER; folder++)
		rc = each_in_folder(q, folder, fn, arg, err);
	return rc < 0 ? -1 : 0;
}
