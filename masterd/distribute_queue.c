/* SPDX-License-Identifier: BSD-2-Clause */
/* The job files on the other candidates.  The queue hands over what changed,
 * one batch at a time; each candidate gets a batch in one call and all of them
 * get it at the same time.  A candidate that comes (back) gets all live jobs
 * in the background, and after them what changed meanwhile. */
#include <inttypes.h>

#include "lib/base/log.h"
#include "masterd/distribute.h"
#include "masterd/distribute_private.h"
#include "masterd/master.h"
#include "queue/queue.h"

/* Jobs in one call while catching up. */
#define CATCH_UP_JOBS 100

/* More changes than these meanwhile: begin again some time later. */
#define MISSED_MAX 20000

static json_t *file_entry(const char *name, const char *content)
{
	auto_free char *file = xprintf("/var/lib/ganeti/queue/%s", name);

	return content == NULL ? json_make("[s, n]", file)
			       : json_make("[s, [i, s]]", file, 0, content);
}

static bool wants_batch(const struct peer *p)
{
	return p->candidate && !p->away && p->queue == PEER_QUEUE_GOOD;
}

static void note_missed(struct peer *p, const char *const *names,
			const char *const *contents, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_set_str(p->missed, names[i], contents[i]);
	if (json_object_size(p->missed) > MISSED_MAX)
		p->queue = PEER_QUEUE_UNKNOWN;
}

static int check_fenced(const struct distribute *d, struct error *err)
{
	if (!noderpc_is_fenced(d->m->rpc))
		return 0;
	return error_set(err, ERR_RPC, ECODE_FENCED,
			 "There is another master by now");
}

WAITS int distribute_queue(void *arg, const char *const *names,
			   const char *const *contents, size_t n,
			   struct error *err)
{
	struct distribute *d = arg;
	bool wanted = false;
	json_t *files;
	struct peer *p;

	list_each (p, &d->peers, link) {
		if (p->queue == PEER_QUEUE_CATCHING)
			note_missed(p, names, contents, n);
		wanted |= wants_batch(p);
	}
	if (!wanted)
		return check_fenced(d, err);
	files = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(files, file_entry(names[i], contents[i]));
	distribute_call(d, wants_batch, "jobqueue_update_many",
			json_make("[o]", files));
	return check_fenced(d, err);
}

/* --- catching up --- */

struct ids {
	uint64_t *items;
	size_t n, cap;
};

static bool add_id(const struct job *job, void *arg)
{
	struct ids *ids = arg;

	if (ids->n == ids->cap) {
		ids->cap = ids->cap == 0 ? 256 : 2 * ids->cap;
		ids->items =
			xrealloc(ids->items, ids->cap * sizeof(*ids->items));
	}
	ids->items[ids->n++] = job->id;
	return true;
}

/* Send files to the peer; false when it failed or is no longer there. */
static WAITS bool send_files(struct distribute *d, const char *uuid,
			     json_t *files STEALS)
{
	struct peer *p = distribute_peer(d, uuid);
	const json_t *node = p == NULL ? NULL : distribute_node(d, p);
	auto_json json_t *args = json_make("[o]", files);
	auto_json json_t *kept = json_incref((json_t *)node);
	auto_json json_t *payload = NULL;
	struct error err;

	if (kept == NULL)
		return false;
	payload = noderpc_call_for(d->m->rpc, kept, "jobqueue_update_many",
				   steal(&args), DISTRIBUTE_MS, &err);
	p = distribute_peer(d, uuid);
	if (payload == NULL && p != NULL)
		distribute_failed(d, p, &err);
	return payload != NULL && p != NULL && p->queue == PEER_QUEUE_CATCHING;
}

static json_t *serial_entry(struct distribute *d)
{
	auto_free char *text =
		xprintf("%ju\n", (uintmax_t)queue_last_id(d->m->queue));

	return file_entry("serial", text);
}

static json_t *some_jobs(struct distribute *d, const struct ids *ids,
			 size_t *at)
{
	json_t *files = json_array();
	size_t end = *at + CATCH_UP_JOBS;

	for (; *at < ids->n && *at < end; (*at)++) {
		const struct job *job = queue_job(d->m->queue, ids->items[*at]);
		auto_free char *name =
			xprintf("job-%ju", (uintmax_t)ids->items[*at]);
		auto_free char *text = job == NULL ? NULL : job_to_text(job);

		if (job != NULL)
			json_array_append_new(files, file_entry(name, text));
	}
	return files;
}

static json_t *take_missed(struct peer *p)
{
	json_t *files = json_array();
	const char *name;
	json_t *content;

	json_object_foreach (p->missed, name, content)
		json_array_append_new(
			files, file_entry(name, json_string_value(content)));
	json_object_clear(p->missed);
	return files;
}

static WAITS bool send_all(struct distribute *d, const char *uuid)
{
	struct ids ids = {0};
	auto_free uint64_t *owned = NULL;
	size_t at = 0;

	queue_each(d->m->queue, add_id, &ids);
	owned = ids.items;
	if (!send_files(d, uuid, json_make("[o]", serial_entry(d))))
		return false;
	while (at < ids.n)
		if (d->stopping ||
		    !send_files(d, uuid, some_jobs(d, &ids, &at)))
			return false;
	return true;
}

WAITS bool distribute_catch_up(struct distribute *d, const char *uuid)
{
	struct peer *p = distribute_peer(d, uuid);

	if (d->m->queue == NULL)
		return false;
	p->queue = PEER_QUEUE_CATCHING;
	json_decref(p->missed);
	p->missed = json_object();
	if (!send_all(d, uuid))
		p = distribute_peer(d, uuid);
	else
		while ((p = distribute_peer(d, uuid)) != NULL &&
		       p->queue == PEER_QUEUE_CATCHING &&
		       json_object_size(p->missed) > 0)
			if (!send_files(d, uuid, take_missed(p)))
				break;
	p = distribute_peer(d, uuid);
	if (p == NULL || p->queue != PEER_QUEUE_CATCHING)
		return false;
	p->queue = json_object_size(p->missed) == 0 && !d->stopping
			   ? PEER_QUEUE_GOOD
			   : PEER_QUEUE_UNKNOWN;
	json_decref(steal(&p->missed));
	return p->queue == PEER_QUEUE_GOOD;
}
