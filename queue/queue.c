/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing the queue, and looking at it. */
#include "queue/queue.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "queue/queue_private.h"

static void on_fatal(void *arg, const struct error *err)
{
	struct queue *q = arg;

	q->stopping = true; /* queue_stop() was called: start no further job */
	q->config.hooks.fatal(q->config.hooks.arg, err);
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

static WAITS int open_store(struct queue *q, struct error *err)
{
	struct store_config config = {
		.disk = q->config.disk,
		.dir = q->dir,
		.journal_size = q->config.journal_size,
		.arg = q,
		.fatal = on_fatal,
	};

	q->store = q->config.store;
	if (q->store != NULL)
		return 0;
	if (take_lock(q, err) < 0)
		return -1;
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
	cond_init(&q->archived);
	cond_init(&q->born);
	cond_init(&q->verifying.changed);
	if (open_store(q, err) == 0 && load_all(q, err) == 0) {
		if (config->history)
			q->history = history_create(q);
		return q;
	}
	queue_close(q);
	return NULL;
}

void queue_start(struct queue *q)
{
	q->started = true;
	history_start(q->history);
	load_save_ends(q);
	gates_start(q);
}

void queue_stop(struct queue *q)
{
	q->stopping = true;
	while (q->n_running > 0 || q->n_saving > 0)
		cond_wait(&q->idle);
	while (q->verifying.running)
		cond_wait(&q->verifying.changed);
	history_stop(q->history);
	store_flush(q->store);
}

void queue_close(struct queue *q)
{
	struct job *j;

	if (q == NULL)
		return;
	q->closed = true;
	history_free(steal(&q->history));
	if (q->config.store == NULL)
		store_close(q->store);
	while ((j = job_index_next(&q->jobs, 0)) != NULL) {
		job_index_remove(&q->jobs, j->id);
		job_destroy(j);
	}
	job_index_done(&q->jobs);
	heap_done(&q->ready);
	table_done(&q->rate_limits, NULL); /* with its last job */
	keys_done(q);
	free(q->verifying.text);
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

int queue_damaged(struct queue *q, struct strv *ret_names, struct error *err)
{
	auto_strv struct strv names = {0};

	if (store_list(q->store, "", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (str_starts(names.items[i], "job-") &&
		    str_ends(names.items[i], STORE_ASIDE))
			strv_add(ret_names, names.items[i]);
	return 0;
}

const struct job *queue_job(struct queue *q, uint64_t id)
{
	struct job *j = job_index_get(&q->jobs, id);

	return j == NULL || j->private->unborn ? NULL : j;
}

bool queue_lives(struct queue *q, uint64_t id)
{
	const struct job *j = queue_job(q, id);

	return j != NULL && !job_is_final(job_newest(j));
}

const struct job *queue_next(struct queue *q, uint64_t after)
{
	struct job *j = job_index_next(&q->jobs, after);

	while (j != NULL && j->private->unborn)
		j = job_index_next(&q->jobs, j->id);
	return j;
}

bool queue_page_from(struct queue *q, uint64_t number, struct queue_page *ret)
{
	const struct job_index_page *page =
		job_index_page_from(&q->jobs, number);

	_Static_assert(QUEUE_PAGE == JOB_INDEX_PAGE, "what is asked for");
	if (page == NULL)
		return false;
	*ret = (struct queue_page){page->number, page->state};
	return true;
}

void queue_each(struct queue *q, bool (*fn)(const struct job *j, void *arg),
		void *arg)
{
	const struct job *j = queue_next(q, 0);

	while (j != NULL && fn(j, arg))
		j = queue_next(q, j->id);
}

void queue_each_cut_off(struct queue *q,
			void (*fn)(const struct job *j, void *arg), void *arg)
{
	struct job *j = NULL;

	while (!q->started &&
	       (j = job_index_next(&q->jobs, j == NULL ? 0 : j->id)) != NULL)
		if (j->private->draft != NULL && job_status(j) == JOB_RUNNING &&
		    job_is_final(j->private->draft))
			fn(j->private->draft, arg);
}

uint64_t queue_archive_folder(uint64_t id)
{
	return id / ARCHIVE_FOLDER;
}
