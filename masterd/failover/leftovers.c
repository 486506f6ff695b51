/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that fails takes back what it recorded, which needs room as well.
 * Without it the record stays, with the mark of a job that has ended
 * (reserved_by_job), as a crash would leave it; so it is cleared up as after
 * one, but while jobs run: what belongs to a job that lives is left alone. */
#include "masterd/failover/leftovers.h"

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/failover/recover.h"
#include "queue/queue.h"

/* How often it is looked whether there is room, and whether jobs have ended. */
#define LOOK_MS 1000

static bool is_marked(const json_t *object)
{
	return json_get(object, "reserved_by_job") != NULL;
}

static uint64_t job_of(const json_t *object)
{
	return (uint64_t)json_int(object, "reserved_by_job", 0);
}

/* Whether a job that began before the disk was full may leave something. */
static bool lists(struct master *m, enum config_kind kind, uint64_t limit,
		  struct strv *ret_dead)
{
	bool more = false;
	const char *uuid;
	json_t *object;

	json_object_foreach ((json_t *)config_all(m->config, kind), uuid,
			     object) {
		if (!is_marked(object))
			continue;
		if (!queue_lives(m->queue, job_of(object)))
			strv_add(ret_dead, uuid);
		else if (job_of(object) <= limit)
			more = true;
	}
	return more;
}

/* Clear up what is not in done yet, and note it there. */
static WAITS void clear(struct master *m, enum config_kind kind,
			const struct strv *dead, struct strv *done)
{
	for (size_t i = 0; i < dead->n && !m->stopping; i++) {
		auto_json json_t *object = json_incref(
			(json_t *)config_get(m->config, kind, dead->items[i]));

		if (object == NULL || !is_marked(object) ||
		    strv_has(done, dead->items[i]))
			continue;
		if (recover_one(m, kind, object) == 0)
			strv_add(done, dead->items[i]);
	}
}

/* Whether there may be more later. */
static WAITS bool clear_all(struct master *m, uint64_t limit, struct strv *done)
{
	static const enum config_kind kinds[] = {CONFIG_INSTANCE, CONFIG_DISK};
	bool more = false;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_strv struct strv dead = {0};

		more |= lists(m, kinds[i], limit, &dead);
		clear(m, kinds[i], &dead, done);
		for (size_t k = 0; k < dead.n; k++)
			more |= !strv_has(done, dead.items[k]);
	}
	return more;
}

static WAITS void task(void *arg)
{
	struct master *m = arg;
	auto_strv struct strv done = {0};
	struct error ignored; /* the configuration says it in the log */
	uint64_t limit = 0;
	bool more = true;

	while (more && !m->stopping) {
		task_sleep(LOOK_MS);
		if (m->stopping || (config_is_full(m->config) &&
				    config_redistribute(m->config, &ignored)))
			continue;
		if (m->lost) { /* again, maybe by what cleared up */
			m->lost = false;
			limit = queue_last_id(m->queue);
			strv_done(&done);
		}
		more = clear_all(m, limit, &done) || m->lost;
	}
	m->clearing = false;
	cond_signal(&m->cleared);
}

void leftovers_begin(void *arg)
{
	struct master *m = arg;

	m->lost = true;
	if (m->clearing || m->stopping)
		return;
	m->clearing = true;
	task_spawn("leftovers", task, m);
}

void leftovers_end(struct master *m)
{
	while (m->clearing)
		cond_wait(&m->cleared);
}
