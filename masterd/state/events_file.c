/* SPDX-License-Identifier: BSD-2-Clause */
/* Events outlive the process: one that ends in order leaves them for the next
 * one, as a daemon that stands by does for the one that takes over on its node.
 * After a crash they are gone, and who follows is told of the gap.
 *
 * The file is read once and removed: what it says is true only of the log as it
 * was when it was written. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/pack.h"
#include "masterd/state/events_private.h"

/* The first number in the file. */
#define VERSION 2
#define BYTES_MAX (64u * 1024 * 1024)
#define FILE_MODE 0600

/* Topics, types and kinds, which a struct event has as literals. */
static const char *word(const char *text, size_t len)
{
	static const char *const words[] = {
		"job",	     "instance",     "node",	      "group",
		"network",   "disk",	     "cluster",	      "audit",
		"filter",    "token",	     "queued",	      "waiting",
		"canceling", "running",	     "canceled",      "success",
		"error",     "archived",     "removed",	      "created",
		"modified",  "submit",	     "many",	      "login",
		"logout",    "login_failed", "token_created", "token_removed",
		"address"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len &&
		    memcmp(words[i], text == NULL ? "" : text, len) == 0)
			return words[i];
	return NULL;
}

static void pack_text(struct buf *b, const char *text)
{
	pack_number(b, text != NULL);
	if (text != NULL)
		pack_bytes(b, text, strlen(text));
}

static char *unpack_text(struct pack_reader *r)
{
	const char *bytes;
	size_t len;

	if (unpack_number(r) == 0)
		return NULL;
	bytes = unpack_bytes(r, &len);
	return r->bad ? NULL : xstrndup(bytes == NULL ? "" : bytes, len);
}

static const char *unpack_word(struct pack_reader *r)
{
	size_t len;
	const char *bytes = unpack_bytes(r, &len);
	const char *known = word(bytes, len);

	r->bad |= known == NULL;
	return known;
}

static void pack_event(struct buf *b, const struct event *ev)
{
	pack_number(b, ev->index);
	pack_number(b, (uint64_t)ev->time_us);
	pack_bytes(b, ev->topic, strlen(ev->topic));
	pack_bytes(b, ev->type, strlen(ev->type));
	pack_text(b, ev->name);
	pack_number(b, ev->job);
	pack_number(b, ev->log);
	pack_text(b, ev->user);
	pack_text(b, ev->opcode);
	pack_text(b, ev->kind);
	pack_text(b, ev->object);
}

static void unpack_event(struct pack_reader *r, struct event *ret)
{
	ret->index = unpack_number(r);
	ret->time_us = (int64_t)unpack_number(r);
	ret->topic = unpack_word(r);
	ret->type = unpack_word(r);
	ret->name = unpack_text(r);
	ret->job = unpack_number(r);
	ret->log = unpack_number(r);
	ret->user = unpack_text(r);
	ret->opcode = unpack_text(r);
	ret->kind = unpack_number(r) == 0 ? NULL : unpack_word(r);
	ret->object = unpack_text(r);
	r->bad |= ret->name == NULL;
}

void events_pack(const struct events *e, struct buf *b)
{
	pack_number(b, VERSION);
	pack_number(b, e->applied);
	pack_number(b, e->floor);
	pack_number(b, e->last);
	pack_number(b, e->n);
	for (size_t i = 0; i < e->n; i++)
		pack_event(b, &e->ring[(e->first + i) % EVENTS_KEPT]);
}

bool events_unpack(struct events *e, const void *data, size_t len)
{
	struct pack_reader r = {.at = data, .end = (const char *)data + len};
	uint64_t version = unpack_number(&r), applied = unpack_number(&r);
	uint64_t floor = unpack_number(&r), last = unpack_number(&r);
	uint64_t n = unpack_number(&r);

	if (r.bad || version != VERSION || n > EVENTS_KEPT)
		return false;
	for (uint64_t i = 0; i < n && !r.bad; i++) {
		struct event ev = {0};

		unpack_event(&r, &ev);
		if (!r.bad)
			events_add(e, &ev);
		else
			events_drop(&ev);
	}
	if (r.bad) {
		events_other_log(e);
		return false;
	}
	e->applied = applied;
	e->floor = floor;
	e->last = e->shown = last;
	return true;
}

void events_load(struct events *e, struct disk *disk, const char *file)
{
	struct error err;
	auto_free char *data = NULL;
	size_t len;

	if (!disk->exists(disk, file))
		return;
	data = disk->read(disk, file, BYTES_MAX, &len, &err);
	if (data == NULL || !events_unpack(e, data, len))
		log_warning("%s is no list of events, ignoring", file);
	if (disk->remove(disk, file, &err) < 0) {
		events_other_log(e);
		log_warning("%s, ignoring", err.text);
	}
}

void events_save(struct events *e, struct disk *disk, const char *file,
		 uint64_t reached)
{
	auto_buf struct buf b = {0};
	struct error err;

	if (reached > e->applied)
		e->applied = reached;
	events_pack(e, &b);
	if (disk->write_atomic(disk, file, b.data, b.len, FILE_MODE, &err) < 0)
		log_warning("Those who follow the events will miss some: %s, "
			    "ignoring",
			    err.text);
}
