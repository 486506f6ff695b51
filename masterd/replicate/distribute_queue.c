/* SPDX-License-Identifier: BSD-2-Clause */
/* The lane of the job queue.  Each change of the queue is a batch; while one is
 * on its way to a peer the next ones gather and go together. */
#include <string.h>

#include "lib/model/files/content.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "masterd/rpc/noderpc.h"

/* Larger files are packed: a text in a text, full of quotes, could outgrow a
 * call.  Packing costs more than sending for others. */
#define PACK_BYTES (1024u * 1024)
/* As much goes into one call, */
#define CALL_BYTES (4u * 1024 * 1024)
/* and as much is kept for a peer that is slow; then it has to catch up. */
#define BATCH_BYTES_MAX (64u * 1024 * 1024)

void batches_drop(struct peer *p)
{
	for (size_t i = 0; i < p->n_batches; i++)
		parcel_unref(p->batches[i]);
	p->n_batches = 0;
	p->batch_bytes = 0;
}

static void add_batch(struct peer *p, struct parcel *batch)
{
	if (p->batch_bytes > BATCH_BYTES_MAX) {
		batches_drop(p);
		p->state = PEER_QUEUE_UNKNOWN;
		return;
	}
	if (p->n_batches == p->cap_batches) {
		p->cap_batches = p->cap_batches == 0 ? 16 : 2 * p->cap_batches;
		p->batches = xrealloc(p->batches,
				      p->cap_batches * sizeof(*p->batches));
	}
	p->batches[p->n_batches++] = parcel_ref(batch);
	p->batch_bytes += batch->len;
}

/* --- the lane --- */

static bool queue_wants(const struct lane *l)
{
	const struct peer *p = l->peer;

	return p->candidate && p->d->m->queue != NULL &&
	       (p->state != PEER_QUEUE_GOOD || p->n_batches > 0);
}

/* The arguments of a call with the first n batches. */
static char *join(const struct peer *p, size_t *ret_n, uint64_t *ret_number)
{
	struct buf b = {0};
	size_t n = 0;

	buf_adds(&b, "[[");
	while (n < p->n_batches &&
	       (n == 0 || b.len + p->batches[n]->len < CALL_BYTES)) {
		if (n > 0)
			buf_addc(&b, ',');
		buf_add(&b, p->batches[n]->text, p->batches[n]->len);
		*ret_number = p->batches[n++]->number;
	}
	buf_adds(&b, "]]");
	*ret_n = n;
	return buf_steal(&b);
}

static void drop_first(struct peer *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		p->batch_bytes -= p->batches[i]->len;
		parcel_unref(p->batches[i]);
	}
	p->n_batches -= n;
	memmove(p->batches, p->batches + n, p->n_batches * sizeof(*p->batches));
}

static WAITS int send_batches(struct lane *l, struct error *err)
{
	struct peer *p = l->peer;
	uint64_t number = 0;
	size_t n;
	auto_free char *args = join(p, &n, &number);
	auto_json json_t *payload =
		lane_call(l, "jobqueue_update_many", args, err);

	if (payload == NULL)
		return -1;
	if (p->state != PEER_QUEUE_GOOD) /* too slow meanwhile */
		return 0;
	drop_first(p, n);
	l->has = number;
	return 0;
}

/* -1: Ganeti's node daemon runs there. */
static WAITS int check_whose(struct peer *p, struct error *err)
{
	p->ganetis = noderpc_is_ganetis(p->d->m->rpc, p->node);
	if (!p->ganetis)
		return 0;
	return error_set(err, ERR_RPC, NULL,
			 "Node %s runs Ganeti's node daemon: it keeps the "
			 "configuration, but no copy of the job queue, and has "
			 "no vote on who is master. Start gantry-noded there, "
			 "or make another node a candidate",
			 peer_name(p));
}

static WAITS int queue_work(struct lane *l, struct error *err)
{
	struct peer *p = l->peer;

	if (p->state == PEER_QUEUE_GOOD)
		return send_batches(l, err);
	if (p->ganetis && check_whose(p, err) < 0)
		return -1;
	batches_drop(p);
	p->state = PEER_QUEUE_CATCHING;
	/* The newest is perhaps not safe yet, and so not in our files. */
	if (p->d->batch != NULL)
		add_batch(p, p->d->batch);
	if (distribute_catch_up(l, err) == 0)
		return 0;
	if (!error_is(err, ECODE_REFUSED) && !error_is(err, ECODE_FENCED))
		check_whose(p, err);
	return -1;
}

static void queue_failed(struct lane *l)
{
	batches_drop(l->peer);
	l->peer->state = PEER_QUEUE_UNKNOWN;
}

const struct lane_class lane_queue = {
	.name = "replicate",
	.wants = queue_wants,
	.lacks = queue_wants,
	.work = queue_work,
	.failed = queue_failed,
};

static const struct lane *queue_of(const struct peer *p)
{
	return &p->queue;
}

WAITS int distribute_queue_wait_safe(struct distribute *d, struct error *err)
{
	return d->m->queue == NULL ? 0
				   : safe_wait(d, queue_of, d->n_batches, err);
}

/* --- something new --- */

char *batch_entry(const char *name, const char *content)
{
	auto_free char *file = xprintf("/var/lib/ganeti/queue/%s", name);
	size_t len = content == NULL ? 0 : strlen(content);
	auto_json json_t *entry =
		content == NULL ? json_make("[s, n]", file)
		: len >= PACK_BYTES
			? json_make("[s, o]", file, content_pack(content, len))
			: json_make("[s, [i, s]]", file, 0, content);

	return json_text(entry);
}

static char *batch_text(const char *const *names, const char *const *contents,
			size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++) {
		auto_free char *entry = batch_entry(names[i], contents[i]);

		if (i > 0)
			buf_addc(&b, ',');
		buf_adds(&b, entry);
	}
	return buf_steal(&b);
}

WAITS int distribute_queue(void *arg, const char *const *names,
			   const char *const *contents, size_t n,
			   struct error *err)
{
	struct distribute *d = arg;
	struct peer *p;
	char *text;

	if (distribute_alone(d))
		return safe_wait(d, queue_of, 0, err);
	text = batch_text(names, contents, n);
	parcel_unref(d->batch);
	d->batch = parcel_new(++d->n_batches, text, strlen(text));
	list_each (p, &d->peers, link)
		if (p->candidate && p->state != PEER_QUEUE_UNKNOWN)
			add_batch(p, d->batch);
	return safe_wait(d, queue_of, d->n_batches, err);
}
