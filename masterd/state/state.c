/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the log become changes of the queue's store or of the image of the
 * configuration. */
#include "masterd/state/state.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/store/store.h"
#include "masterd/state/state_private.h"

#define FOLDER_MODE 0750
#define LOCK_TRIES 20
#define LOCK_RETRY_MS 50

/* --- what is committed --- */

/* One entry with the part of a record that begins at `at`. */
static struct buf make_entry(enum state_kind kind, const char *bytes,
			     size_t len, size_t at, size_t n)
{
	struct buf entry = {0};

	buf_addc(&entry, (char)kind);
	buf_addc(&entry, (char)((at + n < len ? STATE_MORE : 0) |
				(at > 0 ? STATE_LATER : 0)));
	buf_add(&entry, bytes + at, n);
	return entry;
}

/* The first format that has a kind of record. */
static const unsigned kind_since[STATE_KINDS] = {
	[STATE_QUEUE] = 1,
	[STATE_CONFIG] = 1,
};

static int check_known(struct state *s, enum state_kind kind, struct error *err)
{
	unsigned all = s->config.format(s->config.arg);

	if (kind_since[kind] <= all)
		return 0;
	return error_set(err, ERR_QUEUE, ECODE_STATE,
			 "This needs format %u of the cluster's log, and a "
			 "master candidate knows only %u: upgrade Gantry on "
			 "all of them",
			 kind_since[kind], all);
}

static WAITS int commit_entry(struct state *s, struct buf *entry STEALS,
			      struct error *err)
{
	size_t len = entry->len;

	return s->config.commit(s->config.arg, buf_steal(entry), len, err);
}

/* A record in as many entries as it takes. */
static WAITS int commit(struct state *s, enum state_kind kind,
			const char *bytes, size_t len, struct error *err)
{
	size_t at = 0;

	if (check_known(s, kind, err) < 0)
		return -1;
	while (at < len) {
		size_t n = len - at < STATE_PART_BYTES ? len - at
						       : STATE_PART_BYTES;
		struct buf entry = make_entry(kind, bytes, len, at, n);

		if (commit_entry(s, &entry, err) < 0)
			return -1;
		at += n;
	}
	return 0;
}

static WAITS int commit_queue(void *arg, char *bytes STEALS, size_t len,
			      struct error *err)
{
	auto_free char *owned = bytes;
	struct state *s = arg;
	int rc;

	s->queue_commits = true;
	rc = commit(s, STATE_QUEUE, owned, len, err);
	s->queue_commits = false;
	/* The store tells the queue before anybody else has control. */
	if (rc == 0)
		events_show(s->events);
	return rc;
}

int state_commit_config(struct state *s, struct buf *record STEALS,
			struct error *err)
{
	size_t len = record->len;
	auto_free char *bytes = buf_steal(record);

	return commit(s, STATE_CONFIG, bytes, len, err);
}

int state_commit_image(struct state *s, struct error *err)
{
	struct buf record = {0};

	config_image_record_image(s->image, &record);
	return state_commit_config(s, &record, err);
}

/* The next record of a kind is the end of one that was left: here one that
 * changes nothing. */
int state_end_left(struct state *s, struct error *err)
{
	for (int kind = STATE_QUEUE; kind < STATE_KINDS; kind++) {
		struct buf entry = {0};

		if (s->parts[kind].first == 0)
			continue;
		entry = make_entry((enum state_kind)kind, "", 0, 0, 0);
		if (commit_entry(s, &entry, err) < 0)
			return -1;
	}
	return 0;
}

/* --- what comes from the log --- */

static int take_config(struct state *s, uint64_t index, const void *data,
		       size_t len, struct error *err)
{
	bool nodes;

	events_of_config(s->events, index, s->image, data, len);
	if (config_image_take(s->image, data, len, &nodes, err) < 0)
		return -1;
	state_config_changed(s);
	if (nodes && s->config.nodes_changed != NULL)
		s->config.nodes_changed(s->config.arg);
	return 0;
}

static int take(struct state *s, uint64_t index, enum state_kind kind,
		const char *data, size_t len, struct error *err)
{
	if (kind == STATE_CONFIG)
		return take_config(s, index, data, len, err);
	if (store_take_record(s->store, index, data, len, err) < 0)
		return -1;
	events_of_queue(s->events, index, data, len);
	return 0;
}

static void forget_part(struct state_part *p)
{
	buf_done(&p->bytes);
	*p = (struct state_part){0};
}

/* Every leader begins its records anew, so what another one has left undone is
 * no beginning of this: the first entry of a record says so. */
static int take_entry(struct state *s, uint64_t index, const char *data,
		      size_t len, struct error *err)
{
	enum state_kind kind = (enum state_kind)data[0];
	bool more = (data[1] & STATE_MORE) != 0;
	bool first = (data[1] & STATE_LATER) == 0;
	struct state_part *p = &s->parts[kind];
	int rc;

	if (first)
		forget_part(p);
	if (first && !more)
		return take(s, index, kind, data + STATE_HEAD_BYTES,
			    len - STATE_HEAD_BYTES, err);
	if (first)
		p->first = index;
	if (p->first == 0)
		return error_set(err, ERR_SYSTEM, ECODE_FAULT,
				 "Entry %" PRIu64 " of the log goes on with a "
				 "record whose beginning is not there",
				 index);
	buf_add(&p->bytes, data + STATE_HEAD_BYTES, len - STATE_HEAD_BYTES);
	if (more)
		return 0;
	rc = take(s, index, kind, p->bytes.data, p->bytes.len, err);
	forget_part(p);
	return rc;
}

void state_apply(struct state *s, uint64_t index, const void *data, size_t len)
{
	const char *bytes = data;
	struct error err;
	int rc;

	s->applied = index;
	if (len < STATE_HEAD_BYTES || bytes[0] < STATE_QUEUE ||
	    bytes[0] >= STATE_KINDS ||
	    (bytes[1] & ~(STATE_MORE | STATE_LATER)) != 0)
		rc = error_set(&err, ERR_SYSTEM, ECODE_STATE,
			       "Entry %" PRIu64
			       " of the log is of a kind that this version "
			       "does not know; upgrade this node",
			       index);
	else
		rc = take_entry(s, index, bytes, len, &err);
	if (rc < 0)
		s->config.fatal(s->config.arg, &err);
	else if (!s->queue_commits)
		events_show(s->events);
}

int state_adopt(struct state *s, uint64_t index, struct error *err)
{
	for (size_t i = 0; i < STATE_KINDS; i++)
		forget_part(&s->parts[i]);
	s->applied = index;
	/* What is not in the files yet is older than what is taken from now on,
	 * and numbers of a former log mean nothing in this one. */
	s->covered = s->covering = 0;
	store_begin_at(s->store, index);
	events_begin(s->events, index);
	return state_end_half(s, index, err);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t state_written(const struct state *s)
{
	uint64_t index = least(s->applied, store_written(s->store));

	if (s->dirty || s->writing)
		index = least(index, s->covered);
	for (size_t i = 0; i < STATE_KINDS; i++)
		if (s->parts[i].first != 0)
			index = least(index, s->parts[i].first - 1);
	return index;
}

/* --- looking at it --- */

void state_other_log(struct state *s)
{
	events_other_log(s->events);
}

void state_keep_events(struct state *s, uint64_t reached)
{
	task_leave(); /* nothing is committed any more */
	events_save(s->events, s->config.disk,
		    path(s->config.paths, PATH_EVENTS), reached);
	task_enter();
}

struct events *state_events(struct state *s)
{
	return s->events;
}

struct store *state_store(struct state *s)
{
	return s->store;
}

const struct config_image *state_config(const struct state *s)
{
	return s->image;
}

enum config_origin state_origin(const struct state *s)
{
	return s->origin;
}

bool state_full(const struct state *s, struct error *err)
{
	if (!s->full)
		return store_full(s->store, err);
	*err = s->why;
	return true;
}

/* --- begin and end --- */

static void on_fatal(void *arg, const struct error *err)
{
	struct state *s = arg;

	s->config.fatal(s->config.arg, err);
}

static void on_written(void *arg)
{
	struct state *s = arg;

	if (s->config.written != NULL)
		s->config.written(s->config.arg);
}

/* Two daemons must never work on the same files.  One that has just ended, and
 * has made way for this one, may hold the lock for a moment. */
static WAITS int take_lock(struct state *s, struct error *err)
{
	struct disk *disk = s->config.disk;
	const struct paths *p = s->config.paths;

	if (disk->mkdirs(disk, path(p, PATH_QUEUE_DIR), FOLDER_MODE, err) < 0)
		return -1;
	if (disk->lock == NULL)
		return 0;
	for (int i = 0; i < LOCK_TRIES; i++) {
		s->lock = disk->lock(disk, path(p, PATH_QUEUE_LOCK), err);
		if (s->lock >= 0)
			return 0;
		task_sleep(LOCK_RETRY_MS);
	}
	return -1;
}

/* The queue of a cluster that had no log has a journal of its own: what is in
 * it goes into the files, and that was its last use. */
static WAITS int end_journal(struct state *s, struct error *err)
{
	struct disk *disk = s->config.disk;
	const char *journal = path(s->config.paths, PATH_QUEUE_JOURNAL);
	struct store_config config = {
		.disk = disk,
		.dir = path(s->config.paths, PATH_QUEUE_DIR),
		.arg = s,
		.fatal = on_fatal,
	};
	struct store *store;
	bool full;

	if (!disk->exists(disk, journal))
		return 0;
	store = store_open(&config, err);
	if (store == NULL)
		return -1;
	if (store_settle(store, err) < 0) {
		store_close(store);
		return -1;
	}
	store_flush(store);
	full = store_full(store, err);
	store_close(store);
	return full ? -1 : disk->remove(disk, journal, err);
}

static WAITS int open_store(struct state *s, struct error *err)
{
	struct store_config config = {
		.disk = s->config.disk,
		.dir = path(s->config.paths, PATH_QUEUE_DIR),
		.arg = s,
		.commit = commit_queue,
		.written = on_written,
		.fatal = on_fatal,
	};

	if (end_journal(s, err) < 0)
		return -1;
	s->store = store_open(&config, err);
	return s->store == NULL ? -1 : 0;
}

struct state *state_open(const struct state_config *config, struct error *err)
{
	struct state *s = xalloc(sizeof(*s));

	s->config = *config;
	s->lock = -1;
	s->image = config_image_create();
	s->events = events_create();
	cond_init(&s->changed);
	if (take_lock(s, err) == 0 && open_store(s, err) == 0 &&
	    state_config_read(s, err) == 0) {
		events_load(s->events, config->disk,
			    path(config->paths, PATH_EVENTS));
		return s;
	}
	state_close(s);
	return NULL;
}

int state_write_out(struct state *s, struct error *err)
{
	if (store_write_out(s->store, err) < 0)
		return -1;
	return state_config_write_out(s, err);
}

void state_begin(struct state *s)
{
	if (!config_image_is_empty(s->image))
		state_config_changed(s);
}

int state_flush(struct state *s, struct error *err)
{
	store_flush(s->store);
	if (state_config_flush(s, err) < 0)
		return -1;
	return store_full(s->store, err) ? -1 : 0;
}

void state_close(struct state *s)
{
	if (s == NULL)
		return;
	store_close(s->store);
	config_image_free(s->image);
	events_free(s->events);
	for (size_t i = 0; i < STATE_KINDS; i++)
		forget_part(&s->parts[i]);
	if (s->lock >= 0)
		s->config.disk->unlock(s->config.disk, s->lock);
	free(s);
}
