/* SPDX-License-Identifier: BSD-2-Clause */
/* A candidate that comes (back) gets what differs between its copy of the queue
 * and ours, told by the hash of each file.  Until it has all of it the copy has
 * the position "0 0", older than any other; what changes meanwhile gathers as
 * batches, which go after it.
 *
 * A folder of the archive to which no live job can come is taken for equal when
 * it has as many files: what is archived never changes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/model/files/copy_position.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "queue/queue.h"

/* Content in one call, unless one file alone is larger. */
#define CHUNK_BYTES (1024u * 1024)

/* A node that lists a folder reads each file of it; a disk that is slow and
 * cold brings so many of them a second. */
#define LISTED_PER_S 1000

/* Hashing a job costs some 5 us: let others run after so many. */
#define YIELD_EVERY 200

struct catch_up {
	struct lane *lane;
	struct queue *queue;
	json_t *theirs;	  /* {name: hash} without what we have seen */
	struct buf chunk; /* entries to be sent */
	bool differs;	  /* something is sent */
	uint64_t *ids;	  /* of our live jobs */
	size_t n_ids, cap_ids;
	struct error *err;
};

static void catch_up_done(struct catch_up *c)
{
	json_decref(c->theirs);
	buf_done(&c->chunk);
	free(c->ids);
}

/* --- calls --- */

/* {name: hash} of what the node has for good, to be freed; a node that knows
 * nothing of it has nothing. */
static WAITS json_t *list_theirs(struct catch_up *c, const char *folder,
				 size_t n_files)
{
	auto_free char *args = xprintf("[\"%s\", true]", folder);
	unsigned more_ms = (unsigned)(n_files / LISTED_PER_S) * 1000;
	auto_json json_t *payload =
		lane_call_for(c->lane, "jobqueue_list", args, more_ms, c->err);

	if (payload == NULL)
		return NULL;
	return json_is_object(payload) ? steal(&payload) : json_object();
}

static WAITS int flush(struct catch_up *c)
{
	const struct peer *p = c->lane->peer;
	auto_json json_t *payload = NULL;
	auto_free char *args = NULL;

	if (c->chunk.len == 0)
		return 0;
	if (p->gone || p->d->stopping)
		return error_set(c->err, ERR_QUEUE, NULL,
				 "Node %s does not get the job queue: nobody "
				 "waits for it any more",
				 peer_name(p));
	args = xprintf("[[%s]]", c->chunk.data);
	buf_done(&c->chunk);
	payload = lane_call(c->lane, "jobqueue_update_many", args, c->err);
	return payload == NULL ? -1 : 0;
}

static void add_entry(struct catch_up *c, const char *name, const char *text)
{
	auto_free char *entry = batch_entry(name, text);

	if (c->chunk.len > 0)
		buf_addc(&c->chunk, ',');
	buf_adds(&c->chunk, entry);
}

/* text NULL: the file is gone. */
static WAITS int give(struct catch_up *c, const char *name, const char *text)
{
	if (!c->differs)
		add_entry(c, "position", COPY_POSITION_HALF);
	c->differs = true;
	add_entry(c, name, text);
	return c->chunk.len >= CHUNK_BYTES ? flush(c) : 0;
}

/* --- live files --- */

static bool add_id(const struct job *job, void *arg)
{
	struct catch_up *c = arg;

	if (c->n_ids == c->cap_ids) {
		c->cap_ids = c->cap_ids == 0 ? 256 : 2 * c->cap_ids;
		c->ids = xrealloc(c->ids, c->cap_ids * sizeof(*c->ids));
	}
	c->ids[c->n_ids++] = job->id;
	return true;
}

static bool is_same(const json_t *theirs, const char *name, const char *text)
{
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64,
		 bytes_hash(text, strlen(text)));
	return strcmp(json_str(theirs, name, ""), hash) == 0;
}

/* Send it if theirs is another one; it is seen then. */
static WAITS int compare(struct catch_up *c, const char *name, const char *text)
{
	bool same = is_same(c->theirs, name, text);

	json_object_del(c->theirs, name);
	return same ? 0 : give(c, name, text);
}

static WAITS int compare_jobs(struct catch_up *c)
{
	for (size_t i = 0; i < c->n_ids; i++) {
		const struct job *job = queue_job(c->queue, c->ids[i]);
		auto_free char *name = xprintf("job-%" PRIu64, c->ids[i]);
		auto_free char *text = job == NULL ? NULL : job_to_text(job);

		/* What left meanwhile is in a batch. */
		if (text != NULL && compare(c, name, text) < 0)
			return -1;
		if (i % YIELD_EVERY == YIELD_EVERY - 1)
			task_yield();
	}
	return 0;
}

static WAITS int compare_small(struct catch_up *c)
{
	static const char *const names[] = {"version", "serial", "drain",
					    "archive-head"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *text = queue_file(c->queue, names[i], c->err);

		if (text != NULL && compare(c, names[i], text) < 0)
			return -1;
		if (text == NULL && json_get(c->theirs, names[i]) != NULL &&
		    give(c, names[i], NULL) < 0)
			return -1;
	}
	return 0;
}

/* What is left of theirs is no live job of ours. */
static WAITS int prune(struct catch_up *c)
{
	const char *name;
	json_t *hash;

	json_object_foreach (c->theirs, name, hash)
		if (str_starts(name, "job-") && give(c, name, NULL) < 0)
			return -1;
	return 0;
}

/* --- the archive --- */

static WAITS int bring_archived(struct catch_up *c, const char *folder,
				const struct strv *ours, const json_t *theirs)
{
	for (size_t i = 0; i < ours->n; i++) {
		auto_free char *name = xprintf("%s/%s", folder, ours->items[i]);
		auto_free char *text = NULL;

		if (!str_starts(ours->items[i], "job-"))
			continue;
		text = queue_file(c->queue, name, c->err);
		if (text == NULL ||
		    (!is_same(theirs, name, text) && give(c, name, text) < 0))
			return -1;
	}
	return 0;
}

/* Theirs of jobs that live here: they were archived by a master that is none
 * any more, and nobody else knows of it. */
static WAITS int prune_archived(struct catch_up *c, const char *folder,
				const json_t *theirs)
{
	for (size_t i = 0; i < c->n_ids; i++) {
		auto_free char *name =
			xprintf("%s/job-%" PRIu64, folder, c->ids[i]);

		if (json_get(theirs, name) != NULL && give(c, name, NULL) < 0)
			return -1;
	}
	return 0;
}

/* Whether no job can come to the folder any more. */
static bool is_closed(const struct catch_up *c, const char *folder)
{
	uint64_t first = c->n_ids > 0 ? c->ids[0] : queue_last_id(c->queue);
	int64_t number;

	return str_to_int64(folder + strlen("archive/"), &number) &&
	       (uint64_t)number < queue_archive_folder(first);
}

static WAITS int compare_folder(struct catch_up *c, const char *folder)
{
	size_t count = (size_t)json_int(c->theirs, folder, 0);
	auto_strv struct strv ours = {0};
	auto_json json_t *theirs = NULL;

	if (queue_files(c->queue, folder, &ours, c->err) < 0)
		return -1;
	if (count == ours.n && is_closed(c, folder))
		return 0;
	theirs = count == 0 ? json_object() : list_theirs(c, folder, count);
	if (theirs == NULL || bring_archived(c, folder, &ours, theirs) < 0)
		return -1;
	return prune_archived(c, folder, theirs);
}

static WAITS int compare_archive(struct catch_up *c)
{
	auto_strv struct strv folders = {0};

	if (queue_files(c->queue, "archive", &folders, c->err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *folder =
			xprintf("archive/%s", folders.items[i]);

		if (compare_folder(c, folder) < 0)
			return -1;
	}
	return 0;
}

/* --- all of it --- */

/* Everything but batches is there: the copy is as new as ours. */
static WAITS int finish(struct catch_up *c)
{
	struct peer *p = c->lane->peer;
	uint64_t number = p->d->n_batches;
	auto_free char *position = queue_position(c->queue);

	/* A batch has the position with it. */
	if (p->n_batches == 0 &&
	    (c->differs || !is_same(c->theirs, "position", position)))
		add_entry(c, "position", position);
	if (flush(c) < 0)
		return -1;
	if (p->state != PEER_QUEUE_CATCHING)
		return 0;
	p->state = PEER_QUEUE_GOOD;
	if (p->n_batches == 0 || p->batches[0]->number > number)
		c->lane->has = number;
	return 0;
}

WAITS int distribute_catch_up(struct lane *l, struct error *err)
{
	__attribute__((cleanup(catch_up_done))) struct catch_up c = {
		.lane = l, .queue = l->peer->d->m->queue, .err = err};

	queue_each(c.queue, add_id, &c);
	c.theirs = list_theirs(&c, "", c.n_ids);
	if (c.theirs == NULL || compare_small(&c) < 0 || compare_jobs(&c) < 0 ||
	    compare_archive(&c) < 0 || prune(&c) < 0 || flush(&c) < 0)
		return -1;
	return finish(&c);
}
