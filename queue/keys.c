/* SPDX-License-Identifier: BSD-2-Clause */
/* Submissions under a key: who does not know whether his job has been taken
 * asks again with the same key, and gets the same job.
 *
 * A key is in a file of its own, which becomes durable together with its job;
 * so each server of the log has it.  It is kept for QUEUE_KEY_S seconds, also
 * when the job is archived. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/files/queue_files.h"
#include "queue/queue_private.h"

#define PREFIX "key-"
#define FILE_MAX 4096
#define KEEP_US (QUEUE_KEY_S * INT64_C(1000000))
/* How often is looked which are too old. */
#define SWEEP_US (3600 * INT64_C(1000000))

struct key {
	uint64_t job; /* 0: its job is being submitted */
	int64_t time_us;
	char *digest;
};

static void key_free(void *key)
{
	struct key *k = key;

	free(k->digest);
	free(k);
}

void keys_done(struct queue *q)
{
	table_done(&q->keys, key_free);
}

/* --- reading --- */

static WAITS void load_one(struct queue *q, const char *name)
{
	struct error err;
	size_t len;
	auto_free char *text = store_read(q->store, name, FILE_MAX, &len, &err);
	auto_json json_t *value =
		text == NULL ? NULL : json_parse(text, len, &err);
	const char *digest = json_str(value, "digest", NULL);
	struct key *k;

	if (digest == NULL) {
		log_warning("%s/%s is no key of a submission, ignoring", q->dir,
			    name);
		return;
	}
	k = xalloc(sizeof(*k));
	k->job = (uint64_t)json_int(value, "job", 0);
	k->time_us = json_int(value, "time", 0);
	k->digest = xstrdup(digest);
	table_put(&q->keys, name + strlen(PREFIX), k);
}

int keys_load(struct queue *q, struct error *err)
{
	auto_strv struct strv names = {0};

	if (store_list(q->store, "", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (queue_file_is_key(names.items[i]))
			load_one(q, names.items[i]);
	return 0;
}

/* --- those that are too old --- */

struct sweep {
	struct strv old;
	int64_t now_us;
};

static void find_old(const char *name, void *value, void *arg)
{
	struct key *k = value;
	struct sweep *s = arg;

	/* It is from a clock that was ahead. */
	if (k->time_us > s->now_us)
		k->time_us = s->now_us;
	if (k->job != 0 && s->now_us - k->time_us > KEEP_US)
		strv_add(&s->old, name);
}

static void drop(struct queue *q, const char *name)
{
	struct key *k = table_remove(&q->keys, name);

	if (k != NULL)
		key_free(k);
}

static void sweep(struct queue *q, int64_t now_us)
{
	struct sweep s = {.now_us = now_us};
	int64_t since_us = now_us - q->keys_swept_us;
	struct store_change *c;

	/* A clock that was set back says nothing of how long ago it was. */
	if (since_us >= 0 && since_us < SWEEP_US)
		return;
	q->keys_swept_us = now_us;
	table_each(&q->keys, find_old, &s);
	if (s.old.n == 0)
		return;
	c = store_change_new();
	for (size_t i = 0; i < s.old.n; i++) {
		auto_free char *file = xprintf(PREFIX "%s", s.old.items[i]);

		store_change_remove(c, file);
		drop(q, s.old.items[i]);
	}
	store_put(q->store, c);
	strv_done(&s.old);
}

/* --- submitting --- */

struct once {
	const char *name;
	const struct key *key;
};

/* The key's file becomes durable with the job, however large that is: a job
 * without its key would be taken a second time. */
static void add_file(struct store_change *c, uint64_t id, void *arg)
{
	const struct once *o = arg;
	auto_free char *file = xprintf(PREFIX "%s", o->name);
	auto_json json_t *value =
		json_make("{s:I, s:s, s:I}", "job", (json_int_t)id, "digest",
			  o->key->digest, "time", (json_int_t)o->key->time_us);

	c->whole = true;
	store_change_write(c, file, json_text(value));
}

/* 1: this key is known, and *ret_id is its job. */
static int find(struct queue *q, const char *name, const char *digest,
		int64_t now_us, uint64_t *ret_id, struct error *err)
{
	const struct key *k = table_get(&q->keys, name);

	if (k == NULL || (k->job != 0 && now_us - k->time_us > KEEP_US))
		return 0;
	if (strcmp(k->digest, digest) != 0)
		return error_set(err, ERR_PREREQ, ECODE_REUSED,
				 "This key was used for another request");
	if (k->job == 0)
		return error_set(err, ERR_PREREQ, ECODE_UNDERWAY,
				 "A request with this key is under way");
	*ret_id = k->job;
	return 1;
}

int queue_submitted_once(struct queue *q, const char *name, const char *digest,
			 uint64_t *ret_id, struct error *err)
{
	*ret_id = 0;
	return find(q, name, digest, clock_wall_us(), ret_id, err) < 0 ? -1 : 0;
}

int queue_submit_once(struct queue *q, const json_t *ops, const char *name,
		      const char *digest, uint64_t *ret_id, struct error *err)
{
	int64_t now_us = clock_wall_us();
	int found = find(q, name, digest, now_us, ret_id, err);
	struct key *k;
	uint64_t id;

	if (found != 0)
		return found < 0 ? -1 : 0;
	sweep(q, now_us);
	if (q->keys.n >= QUEUE_KEYS_MAX)
		return error_set(err, ERR_QUEUE_FULL, NULL,
				 "There are %d keys of submissions of the last "
				 "day, which is the limit; submit without one",
				 QUEUE_KEYS_MAX);
	drop(q, name);
	k = xalloc(sizeof(*k));
	k->time_us = now_us;
	k->digest = xstrdup(digest);
	table_put(&q->keys, name, k);
	if (submit_one(q, ops, add_file, &(struct once){name, k}, &id, err) <
	    0) {
		drop(q, name);
		return -1;
	}
	*ret_id = k->job = id;
	return 0;
}
