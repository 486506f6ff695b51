/* SPDX-License-Identifier: BSD-2-Clause */
/* The task of a lane: one call after the other while the peer lacks something;
 * after a failure a pause. */
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "masterd/distribute_private.h"
#include "masterd/master.h"
#include "masterd/noderpc.h"

/* Somebody may start our node daemon there. */
#define GANETIS_RETRY_MS 60000

void lane_init(struct lane *l, struct peer *p, const struct lane_class *class)
{
	l->peer = p;
	l->class = class;
	cond_init(&l->kick);
}

WAITS json_t *lane_call(struct lane *l, const char *procedure, const char *args,
			struct error *err)
{
	return noderpc_call_text(l->peer->d->m->rpc, l->peer->node, procedure,
				 args, DISTRIBUTE_MS, err);
}

static void note_failed(struct lane *l, const struct error *err)
{
	struct peer *p = l->peer;

	l->failing = true;
	l->refused = error_is(err, ECODE_REFUSED);
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
	if (!p->logged || p->files.failing || p->queue.failing)
		return;
	p->logged = false;
	log_info("node %s answers again", peer_name(p));
}

static bool is_over(const struct lane *l)
{
	const struct peer *p = l->peer;

	return p->gone || p->d->stopping || noderpc_is_fenced(p->d->m->rpc);
}

/* Until it is time to try again: at once when somebody has to know whether the
 * host still refuses connections. */
static WAITS void rest(struct lane *l)
{
	const struct distribute *d = l->peer->d;
	int64_t ms = l->peer->ganetis && l == &l->peer->queue
			     ? GANETIS_RETRY_MS
			     : DISTRIBUTE_RETRY_MS;
	int64_t until = clock_mono_us() + ms * 1000;

	while (!is_over(l) && !(l->refused && d->asked > l->tried) &&
	       cond_wait_until(&l->kick, until))
		;
}

static WAITS void lane_task(void *arg)
{
	struct lane *l = arg;
	struct distribute *d = l->peer->d;
	struct error err;

	while (!is_over(l) && l->class->wants(l)) {
		l->tried = ++d->stamp;
		l->asking = true;
		if (l->class->work(l, &err) < 0)
			note_failed(l, &err);
		else
			note_well(l);
		l->asking = false;
		safe_log(d);
		cond_signal(&d->changed);
		if (l->failing)
			rest(l);
	}
	l->runs = false;
	peer_release(l->peer);
	cond_signal(&d->changed);
}

void lane_wake(struct lane *l)
{
	struct distribute *d = l->peer->d;

	if (l->refused && d->asked > l->tried)
		cond_signal(&l->kick);
	if (l->runs || !d->started || is_over(l) || !l->class->wants(l))
		return;
	l->runs = true;
	task_spawn(l->class->name, lane_task, l);
}
