/* SPDX-License-Identifier: BSD-2-Clause */
/* One entry for each name holds its newest state.  A move of a file whose text
 * is in memory moves the text; otherwise it is noted under the new name.  The
 * old name is marked as gone.  When entries are written again, a move whose
 * source is missing counts as done. */
#include "lib/store/overlay.h"

#include <string.h>

#include "lib/base/array.h"

#define FILE_MODE 0640
#define FOLDER_MODE 0750

static void entry_free(void *value)
{
	struct overlay_entry *e = value;

	if (e == NULL)
		return;
	free(e->text);
	free(e);
}

static void set(struct overlay *o, const char *name, enum overlay_kind kind,
		char *text STEALS, size_t len)
{
	struct overlay_entry *e = xalloc(sizeof(*e));

	*e = (struct overlay_entry){.kind = kind, .text = text, .len = len};
	entry_free(table_put(&o->names, name, e));
}

void overlay_file(struct overlay *o, const char *name, char *text STEALS,
		  size_t len)
{
	set(o, name, OVERLAY_FILE, text, len);
}

void overlay_gone(struct overlay *o, const char *name)
{
	set(o, name, OVERLAY_GONE, NULL, 0);
}

const struct overlay_entry *overlay_get(const struct overlay *o,
					const char *name)
{
	return table_get(&o->names, name);
}

void overlay_move(struct overlay *o, const char *from, const char *to)
{
	struct overlay_entry *e = table_get(&o->names, from);

	if (e != NULL && e->kind == OVERLAY_GONE)
		return; /* its file was moved before: happens in a replay */
	if (e != NULL) {
		table_remove(&o->names, from);
		entry_free(table_put(&o->names, to, e));
	} else {
		set(o, to, OVERLAY_MOVED, xstrdup(from), strlen(from));
	}
	overlay_gone(o, from);
}

void overlay_done(struct overlay *o)
{
	table_done(&o->names, entry_free);
}

/* The content that a MOVE refers to is not in a file yet, so it moves along. */
static void resolve_move(const char *name, void *value, void *arg)
{
	struct overlay_entry *e = value;
	struct overlay *older = arg;
	struct overlay_entry *source;

	(void)name;
	if (e->kind != OVERLAY_MOVED)
		return;
	source = table_get(&older->names, e->text);
	if (source == NULL)
		return;
	free(e->text);
	*e = *source;
	source->text = NULL;
	source->kind = OVERLAY_GONE;
}

static void merge_one(const char *name, void *value, void *arg)
{
	struct overlay *o = arg;

	if (table_get(&o->names, name) == NULL)
		table_put(&o->names, name, value);
	else
		entry_free(value);
}

void overlay_merge(struct overlay *o, struct overlay *older)
{
	table_each(&o->names, resolve_move, older);
	table_each(&older->names, merge_one, o);
	table_done(&older->names, NULL);
}

struct writing {
	struct disk *disk;
	const char *dir;
	struct error *err;
	char *folder; /* the folder that was made last */
	enum overlay_kind kind;
	bool failed;
};

static int make_folder(struct writing *w, const char *path)
{
	auto_free char *folder =
		xstrndup(path, (size_t)(strrchr(path, '/') - path));

	if (strcmp(folder, w->dir) == 0 || str_eq(folder, w->folder))
		return 0;
	if (w->disk->mkdirs(w->disk, folder, FOLDER_MODE, w->err) < 0)
		return -1;
	free(w->folder);
	w->folder = steal(&folder);
	return 0;
}

static int move_file(struct writing *w, const char *from_name, const char *to)
{
	auto_free char *from = xprintf("%s/%s", w->dir, from_name);

	if (!w->disk->exists(w->disk, from))
		return 0; /* the move was done before a crash */
	return w->disk->rename(w->disk, from, to, w->err);
}

static int write_entry(struct writing *w, const char *name,
		       const struct overlay_entry *e)
{
	auto_free char *path = xprintf("%s/%s", w->dir, name);

	if (e->kind == OVERLAY_GONE)
		return w->disk->remove(w->disk, path, w->err);
	if (make_folder(w, path) < 0)
		return -1;
	if (e->kind == OVERLAY_MOVED)
		return move_file(w, e->text, path);
	return w->disk->write_lazy(w->disk, path, e->text, e->len, FILE_MODE,
				   w->err);
}

static void write_one(const char *name, void *value, void *arg)
{
	const struct overlay_entry *e = value;
	struct writing *w = arg;

	if (!w->failed && e->kind == w->kind)
		w->failed = write_entry(w, name, e) < 0;
}

int overlay_write(const struct overlay *o, struct disk *disk, const char *dir,
		  struct error *err)
{
	/* The old name of a moved file is noted as gone.  Moves must be made
	 * before removals. */
	static const enum overlay_kind order[] = {OVERLAY_MOVED, OVERLAY_FILE,
						  OVERLAY_GONE};
	struct writing w = {.disk = disk, .dir = dir, .err = err};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		w.kind = order[i];
		table_each(&o->names, write_one, &w);
	}
	free(w.folder);
	return w.failed ? -1 : 0;
}
