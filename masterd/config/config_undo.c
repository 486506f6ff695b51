/* SPDX-License-Identifier: BSD-2-Clause */
/* When the disk is full, changes are undone: the memory is then what the file
 * is, and each task that made one of them gets an error when it commits.  All
 * changes since the last durable write are undone together, as later ones may
 * build on earlier ones. */
#include <string.h>

#include "lib/base/pulse.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config_private.h"

/* Instead of a kind. */
enum { UNDO_CLUSTER = -1, UNDO_NOTHING = -2 };

struct config_undo {
	int kind;
	char *uuid;	 /* NULL for the cluster */
	json_t *before;	 /* NULL: it was not there */
	json_t *top;	 /* members of the cluster that every change touches */
	uint64_t change; /* the number of the change */
	uint64_t task;
};

static void entry_done(struct config_undo *e)
{
	free(e->uuid);
	json_decref(e->before);
	json_decref(e->top);
}

static void note(struct config *c, int kind, const char *uuid,
		 const json_t *before)
{
	if (c->committed != NULL)
		return; /* a copy is never written */
	if (c->n_undo == c->cap_undo) {
		c->cap_undo = c->cap_undo == 0 ? 16 : 2 * c->cap_undo;
		c->undo = xrealloc(c->undo, c->cap_undo * sizeof(*c->undo));
	}
	c->undo[c->n_undo++] = (struct config_undo){
		.kind = kind,
		.uuid = uuid == NULL ? NULL : xstrdup(uuid),
		.before = json_ref(before),
		.top = json_make("{s:O?, s:O?}", "serial_no",
				 document_serial_no_value(c->top), "mtime",
				 document_mtime_value(c->top)),
		.change = c->changes + 1,
		.task = task_number(),
	};
}

void config_undo_object(struct config *c, enum config_kind kind,
			const char *uuid, const json_t *before)
{
	note(c, (int)kind, uuid, before);
}

void config_undo_cluster(struct config *c)
{
	note(c, UNDO_CLUSTER, NULL, config_cluster(c));
}

void config_undo_nothing(struct config *c)
{
	note(c, UNDO_NOTHING, NULL, NULL);
}

void config_undo_forget(struct config *c, uint64_t durable)
{
	size_t n = 0;

	while (n < c->n_undo && c->undo[n].change <= durable)
		entry_done(&c->undo[n++]);
	if (n == 0)
		return;
	c->n_undo -= n;
	memmove(c->undo, c->undo + n, c->n_undo * sizeof(*c->undo));
}

/* --- as a record --- */

static void record_object(const struct config *c, const struct config_undo *e,
			  json_t *seen, struct buf *record)
{
	enum config_kind kind = (enum config_kind)e->kind;
	auto_free char *name =
		xprintf("%s/%s", config_kinds[kind].container, e->uuid);
	const json_t *now = json_object_get(c->objects[kind], e->uuid);
	auto_free char *text = now == NULL ? NULL : json_text(now);

	if (json_get(seen, name) != NULL)
		return;
	json_object_set_new(seen, name, json_true());
	config_image_record(record, name, text);
}

static void record_member(const struct config *c, const char *name,
			  struct buf *record)
{
	const json_t *value = json_get(c->top, name);
	auto_free char *text = value == NULL ? NULL : json_text(value);

	config_image_record(record, name, text);
}

void config_undo_record(struct config *c, struct buf *record)
{
	auto_json json_t *seen = json_object();
	bool cluster = false;

	for (size_t i = 0; i < c->n_undo; i++) {
		cluster |= c->undo[i].kind == UNDO_CLUSTER;
		if (c->undo[i].kind >= 0)
			record_object(c, &c->undo[i], seen, record);
	}
	if (cluster)
		record_member(c, "cluster", record);
	record_member(c, "serial_no", record);
	record_member(c, "mtime", record);
}

void config_undo_done(struct config *c)
{
	config_undo_forget(c, UINT64_MAX);
	free(c->undo);
	free(c->losers);
}

/* --- undo --- */

static void put_back_object(struct config *c, const struct config_undo *e)
{
	enum config_kind kind = (enum config_kind)e->kind;
	auto_json json_t *now =
		json_incref(json_object_get(c->objects[kind], e->uuid));

	if (now != NULL)
		config_index_leave(c, kind, now);
	config_text_forget(c, kind, e->uuid);
	if (e->before != NULL) {
		json_object_set(c->objects[kind], e->uuid, e->before);
		config_index_enter(c, kind, e->before);
		return;
	}
	json_object_del(c->objects[kind], e->uuid);
	if (kind == CONFIG_DISK)
		config_index_disk_changed(c, e->uuid);
}

static void put_back(struct config *c, const struct config_undo *e)
{
	const char *key;
	json_t *value;

	pulse_beat();
	json_object_foreach (e->top, key, value)
		if (!json_is_null(value))
			json_object_set(c->top, key, value);
	if (e->kind >= 0)
		put_back_object(c, e);
	if (e->kind == UNDO_CLUSTER) {
		document_set_cluster(c->top, json_ref(e->before));
		free(steal(&c->cluster_text));
	}
}

static void add_loser(struct config *c, uint64_t task)
{
	for (size_t i = 0; i < c->n_losers; i++)
		if (c->losers[i] == task)
			return;
	c->losers = xrealloc(c->losers, (c->n_losers + 1) * sizeof(*c->losers));
	c->losers[c->n_losers++] = task;
}

void config_undo_all(struct config *c, const struct error *why)
{
	for (size_t i = c->n_undo; i-- > 0;) {
		put_back(c, &c->undo[i]);
		add_loser(c, c->undo[i].task);
	}
	config_undo_forget(c, UINT64_MAX);
	c->loss = *why;
	c->durable = c->changes;
	/* The ssconf values for the nodes did not change after all. */
	json_decref(c->ssconf);
	c->ssconf = NULL;
	c->ssconf_dirty = true;
	if (c->lost != NULL)
		c->lost(c->lost_arg);
}

bool config_undo_was_mine(struct config *c, struct error *err)
{
	uint64_t task = task_number();

	for (size_t i = 0; i < c->n_losers; i++)
		if (c->losers[i] == task) {
			c->losers[i] = c->losers[--c->n_losers];
			*err = c->loss;
			return true;
		}
	return false;
}
