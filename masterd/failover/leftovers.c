/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that fails removes what it has recorded, but a full disk may prevent
 * that.  Then the record stays, with the mark of a job that has ended
 * (reserved_by_job), as after a crash.  It is cleaned up as after a crash, but
 * while jobs run: what belongs to a job that has not ended is left alone. */
#include "masterd/failover/leftovers.h"

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/failover/recover.h"
#include "queue/queue.h"

/* How often to check whether the disk has space again, and whether jobs have
 * ended. */
#define LOOK_MS 1000

struct leftovers {
	struct config *config;
	struct queue *queue;
	struct recover *recover;
	bool lost;     /* since the task has looked last */
	bool clearing; /* the task runs */
	bool ended;
	struct cond cleared;
};

struct leftovers *leftovers_create(struct config *config, struct queue *queue,
				   struct recover *recover)
{
	struct leftovers *l = xalloc(sizeof(*l));

	*l = (struct leftovers){
		.config = config, .queue = queue, .recover = recover};
	cond_init(&l->cleared);
	return l;
}

void leftovers_destroy(struct leftovers *l)
{
	free(l);
}

static bool is_marked(const json_t *object)
{
	return inst_has_reserved_by_job(object);
}

static uint64_t job_of(const json_t *object)
{
	return (uint64_t)inst_reserved_by_job(object);
}

/* Whether some job that began before the disk was full has not ended, and so
 * may still leave something. */
static bool lists(struct leftovers *l, enum config_kind kind, uint64_t limit,
		  struct strv *ret_dead)
{
	bool more = false;
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(config_all(l->config, kind)), uuid,
			     object) {
		if (!is_marked(object))
			continue;
		if (!queue_lives(l->queue, job_of(object)))
			strv_add(ret_dead, uuid);
		else if (job_of(object) <= limit)
			more = true;
	}
	return more;
}

/* Clean up what is not in `done` yet, and add it there. */
static WAITS void clear(struct leftovers *l, enum config_kind kind,
			const struct strv *dead, struct strv *done)
{
	for (size_t i = 0; i < dead->n && !l->ended; i++) {
		auto_json json_t *object =
			json_ref(config_get(l->config, kind, dead->items[i]));

		if (object == NULL || !is_marked(object) ||
		    strv_has(done, dead->items[i]))
			continue;
		if (recover_one(l->recover, kind, object) == 0)
			strv_add(done, dead->items[i]);
	}
}

/* Whether something may still have to be cleaned up later. */
static WAITS bool clear_all(struct leftovers *l, uint64_t limit,
			    struct strv *done)
{
	static const enum config_kind kinds[] = {CONFIG_INSTANCE, CONFIG_DISK};
	bool more = false;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_strv struct strv dead = {0};

		more |= lists(l, kinds[i], limit, &dead);
		clear(l, kinds[i], &dead, done);
		for (size_t k = 0; k < dead.n; k++)
			more |= !strv_has(done, dead.items[k]);
	}
	return more;
}

static WAITS void task(void *arg)
{
	struct leftovers *l = arg;
	auto_strv struct strv done = {0};
	struct error ignored; /* it is in the log already */
	uint64_t limit = 0;
	bool more = true;

	while (more && !l->ended) {
		task_sleep(LOOK_MS);
		if (l->ended || (config_is_full(l->config) &&
				 config_redistribute(l->config, &ignored)))
			continue;
		if (l->lost) { /* full again */
			l->lost = false;
			limit = queue_last_id(l->queue);
			strv_done(&done);
		}
		more = clear_all(l, limit, &done) || l->lost;
	}
	l->clearing = false;
	cond_signal(&l->cleared);
}

void leftovers_begin(void *arg)
{
	struct leftovers *l = arg;

	l->lost = true;
	if (l->clearing || l->ended)
		return;
	l->clearing = true;
	task_spawn("leftovers", task, l);
}

void leftovers_end(struct leftovers *l)
{
	l->ended = true;
	while (l->clearing)
		cond_wait(&l->cleared);
}
