/* SPDX-License-Identifier: BSD-2-Clause */
/* The task of a lane: one call after the other while the peer lacks something;
 * after a failure a pause. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "masterd/rpc/noderpc.h"

/* Somebody may start our node daemon there. */
#define GANETIS_RETRY_MS 60000

void lane_init(struct lane *l, struct peer *p, const struct lane_class *class)
{
	l->peer = p;
	l->class = class;
	cond_init(&l->kick);
}

void lane_done(struct lane *l)
{
	free(l->said);
}

static unsigned limit_ms(const char *args)
{
	return DISTRIBUTE_MS +
	       (unsigned)(strlen(args) >> 20) * DISTRIBUTE_MIB_MS;
}

WAITS json_t *lane_call(struct lane *l, const char *procedure, const char *args,
			struct error *err)
{
	return lane_call_for(l, procedure, args, 0, err);
}

WAITS json_t *lane_call_for(struct lane *l, const char *procedure,
			    const char *args, unsigned more_ms,
			    struct error *err)
{
	return noderpc_call_text(l->peer->d->m->rpc, l->peer->node, procedure,
				 args, limit_ms(args) + more_ms, err);
}

static void note_failed(struct lane *l, const struct error *err)
{
	struct peer *p = l->peer;

	l->failing = true;
	l->declined = false;
	l->refused = error_is(err, ECODE_REFUSED);
	free(l->said);
	l->said = err->kind == ERR_EXEC ? xstrdup(err->text) : NULL;
	l->class->failed(l);
	if (!p->logged && p->ganetis && !p->gone)
		log_warning("%s", err->text);
	else if (!p->logged && !p->gone && !p->d->stopping)
		log_warning("%s; it will get the cluster's files when it "
			    "answers again",
			    err->text);
	else
		log_debug("%s", err->text);
	p->logged = true;
}

static void note_well(struct lane *l)
{
	struct peer *p = l->peer;

	l->failing = l->refused = false;
	l->declined = l->declined && l->class->wants(l);
	free(steal(&l->said));
	if (!p->logged || p->files.failing || p->queue.failing)
		return;
	p->logged = false;
	log_info("node %s answers again", peer_name(p));
}

/* What it does not take waits; it answers, and all else is in order. */
static void note_declined(struct lane *l, const struct error *err)
{
	bool known = l->declined;

	note_well(l);
	l->declined = true;
	if (!known)
		log_warning("%s; it will get this when it takes it", err->text);
}

static bool is_over(const struct lane *l)
{
	const struct peer *p = l->peer;

	return p->gone || p->d->stopping || noderpc_is_fenced(p->d->m->rpc);
}

/* Whether there is no time to rest: somebody has to know whether the host still
 * refuses connections, or the peer, which took not all, lacks something else.
 */
static bool is_urgent(const struct lane *l)
{
	return (l->refused && l->peer->d->asked > l->tried) ||
	       (l->declined && l->class->lacks(l));
}

/* Until it is time to try again. */
static WAITS void rest(struct lane *l)
{
	int64_t ms = l->peer->ganetis && l == &l->peer->queue
			     ? GANETIS_RETRY_MS
			     : DISTRIBUTE_RETRY_MS;
	int64_t until = clock_mono_us() + ms * 1000;

	while (!is_over(l) && !is_urgent(l) && cond_wait_until(&l->kick, until))
		;
}

static WAITS void lane_task(void *arg)
{
	struct lane *l = arg;
	struct distribute *d = l->peer->d;
	struct error err;
	int rc;

	while (!is_over(l) && l->class->wants(l)) {
		l->tried = ++d->stamp;
		l->asking = true;
		rc = l->class->work(l, &err);
		if (rc == LANE_DECLINED)
			note_declined(l, &err);
		else if (rc < 0)
			note_failed(l, &err);
		else
			note_well(l);
		l->asking = false;
		safe_log(d);
		cond_signal(&d->changed);
		if (l->failing || l->declined)
			rest(l);
	}
	l->runs = false;
	peer_release(l->peer);
	cond_signal(&d->changed);
}

void lane_wake(struct lane *l)
{
	struct distribute *d = l->peer->d;

	if (is_urgent(l))
		cond_signal(&l->kick);
	if (l->runs || !d->started || is_over(l) || !l->class->wants(l))
		return;
	l->runs = true;
	task_spawn(l->class->name, lane_task, l);
}
