/* SPDX-License-Identifier: BSD-2-Clause */
/* How the configuration becomes safe.  The text of each object is kept, so that
 * a change costs only the text of what it changed; the file is put together
 * from these pieces.  One task writes as long as there is something to write,
 * and all changes made during a write share the next one. */
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/config/ssconf.h"
#include "masterd/config/config_private.h"

void config_text_forget(struct config *c, enum config_kind kind,
			const char *uuid)
{
	free(table_remove(&c->texts[kind], uuid));
}

static const char *object_text(struct config *c, enum config_kind kind,
			       const char *uuid, const json_t *object)
{
	char *text = table_get(&c->texts[kind], uuid);

	if (text == NULL) {
		text = json_text(object);
		table_put(&c->texts[kind], uuid, text);
	}
	return text;
}

static void add_key(struct buf *b, const char *key)
{
	auto_json json_t *name = json_string(key);
	auto_free char *text = json_text(name);

	buf_adds(b, text);
	buf_addc(b, ':');
}

static void add_container(struct config *c, struct buf *b,
			  enum config_kind kind)
{
	const char *uuid, *separator = "";
	json_t *object;

	buf_addc(b, '{');
	json_object_foreach (c->objects[kind], uuid, object) {
		buf_adds(b, separator);
		add_key(b, uuid);
		buf_adds(b, object_text(c, kind, uuid, object));
		separator = ",";
	}
	buf_addc(b, '}');
}

static void add_member(struct config *c, struct buf *b, const char *key,
		       const json_t *value)
{
	int kind = config_kind_by_container(key);
	auto_free char *text = NULL;

	add_key(b, key);
	if (kind >= 0) {
		add_container(c, b, (enum config_kind)kind);
	} else if (value == config_cluster(c)) {
		if (c->cluster_text == NULL)
			c->cluster_text = json_text(value);
		buf_adds(b, c->cluster_text);
	} else {
		text = json_text(value);
		buf_adds(b, text);
	}
}

/* The whole file, to be freed. */
static char *config_text(struct config *c, size_t *ret_len)
{
	struct buf b = {0};
	const char *key, *separator = "{";
	json_t *value;

	json_object_foreach (c->top, key, value) {
		buf_adds(&b, separator);
		add_member(c, &b, key, value);
		separator = ",";
	}
	buf_addc(&b, '}');
	*ret_len = b.len;
	return buf_steal(&b);
}

/* The members of `now` that differ from those of `old`; NULL: none. */
static json_t *difference(const json_t *old, const json_t *now)
{
	json_t *changed = json_object(), *value;
	const char *key;

	json_object_foreach (json_unconst(now), key, value)
		if (!json_equal(value, json_get(old, key)))
			json_object_set(changed, key, value);
	if (json_object_size(changed) > 0)
		return changed;
	json_decref(changed);
	return NULL;
}

/* The ssconf values that the nodes do not have yet; NULL: none. */
static json_t *changed_ssconf(struct config *c, bool all)
{
	auto_json json_t *document = NULL;
	json_t *values, *changed;

	if (!c->ssconf_dirty && !all)
		return NULL;
	document = config_document(c);
	values = ssconf_values(document);
	changed = difference(all ? NULL : c->ssconf, values);
	c->ssconf_dirty = false;
	json_decref(c->ssconf);
	c->ssconf = values;
	return changed;
}

/* One write of the configuration. */
struct round {
	uint64_t changes;
	struct buf record; /* for the log; or */
	char *text;	   /* of config.data */
	size_t len;
	json_t *ssconf; /* NULL: nothing to bring to the nodes */
};

static void round_done(struct round *r)
{
	free(r->text);
	buf_done(&r->record);
	json_decref(r->ssconf);
}

static void round_begin(struct config *c, struct round *r)
{
	*r = (struct round){.changes = c->changes};
	if (c->state != NULL)
		config_undo_record(c, &r->record);
	else
		r->text = config_text(c, &r->len);
	r->ssconf = changed_ssconf(c, c->redistribute);
	c->redistribute = false;
}

/* If the disk is too full for the note, the file just counts as newer than
 * it. */
static int note_digest(struct config *c, const struct round *r,
		       struct error *err)
{
	if (config_digest_note(c->disk, c->paths, r->text, r->len, err) == 0)
		return 0;
	return error_is(err, ECODE_NOSPACE) ? 0 : -1;
}

/* A log goes on with a full disk for a while; its files do not. */
static WAITS int commit_record(struct config *c, struct round *r,
			       struct error *err)
{
	if (state_full(c->state, err)) {
		err->ecode = ECODE_NOSPACE;
		return -1;
	}
	return state_commit_config(c->state, &r->record, err);
}

static WAITS int write_file(struct config *c, const struct round *r,
			    struct error *err)
{
	const char *file = path(c->paths, PATH_CONFIG_DATA);
	int rc;

	task_leave(); /* only this task uses r; the rest is constant */
	rc = c->disk->write_atomic(c->disk, file, r->text, r->len,
				   CONFIG_FILE_MODE, err);
	if (rc == 0)
		rc = note_digest(c, r, err);
	task_enter();
	return rc < 0 ? error_wrap(err, "Cannot write the configuration") : 0;
}

/* Report which file system is full, and that the change was undone. */
static void tell_full(struct config *c, struct error *err)
{
	const char *file = path(c->paths, PATH_CONFIG_DATA);
	auto_free char *mount = fs_mount_point(file);

	error_set(err, ERR_SYSTEM, ECODE_NOSPACE,
		  "The file system %s is full: %s cannot be written, and "
		  "nothing was changed; make room there and try again",
		  mount, file);
	if (!c->full)
		log_error("%s", err->text);
	c->full = true;
}

static void tell_room(struct config *c)
{
	if (c->full)
		log_info("The configuration can be written again");
	c->full = false;
}

static void fail(struct config *c, const struct error *err)
{
	c->failed = true;
	c->failure = *err;
}

static WAITS void write_round(struct config *c)
{
	__attribute__((cleanup(round_done))) struct round r = {0};
	struct error err;

	round_begin(c, &r);
	if ((c->state != NULL ? commit_record(c, &r, &err)
			      : write_file(c, &r, &err)) < 0) {
		/* Nobody else has got any of it yet. */
		if (error_is(&err, ECODE_NOSPACE)) {
			tell_full(c, &err);
			config_undo_all(c, &err);
		} else {
			fail(c, &err);
			if (c->fatal != NULL && c->state == NULL)
				c->fatal(c->fatal_arg, &err);
		}
		cond_signal(&c->written);
		return;
	}
	tell_room(c);
	if (c->distribute != NULL)
		c->distribute(c->distribute_arg, r.ssconf);
	c->durable = r.changes;
	config_undo_forget(c, c->durable);
	cond_signal(&c->written);
}

static WAITS void writer(void *arg)
{
	struct config *c = arg;

	while (!c->failed && c->durable < c->changes)
		write_round(c);
	c->writing = false;
}

WAITS int config_commit(struct config *c, struct error *err)
{
	uint64_t mine = c->changes;

	if (c->committed != NULL) {
		c->committed(c->committed_arg);
		return 0;
	}
	if (!c->writing && !c->failed && c->durable < mine) {
		c->writing = true;
		task_spawn("config-writer", writer, c);
	}
	while (!config_undo_was_mine(c, err)) {
		if (c->durable >= mine)
			return 0;
		if (c->failed) {
			*err = c->failure;
			return -1;
		}
		cond_wait(&c->written);
	}
	return -1;
}

WAITS int config_redistribute(struct config *c, struct error *err)
{
	if (c->edited)
		config_raise_serial(c);
	config_undo_nothing(c);
	c->redistribute = true;
	c->ssconf_dirty = true;
	c->changes++;
	return config_commit(c, err);
}
