/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading files through the overlay. */
#include <string.h>

#include "lib/store/store_private.h"

/* So often a folder is read beside the loop; then once while nothing else is
 * done. */
#define LIST_TRIES 3

static const struct overlay_entry *look(const struct store *s, const char *name)
{
	const struct overlay_entry *e = overlay_get(&s->dirty, name);

	return e != NULL ? e : overlay_get(&s->writing, name);
}

static WAITS char *read_path(struct store *s, const char *name, size_t max,
			     size_t *ret_len, struct error *err)
{
	auto_free char *path = xprintf("%s/%s", s->dir, name);
	struct disk *disk = s->config.disk;
	char *text;

	store_leave();
	text = disk->read(disk, path, max, ret_len, err);
	store_enter();
	return text;
}

char *store_read(struct store *s, const char *name, size_t max, size_t *ret_len,
		 struct error *err)
{
	const struct overlay_entry *e = look(s, name);
	auto_free char *from = NULL;
	char *text;

	if (e != NULL && e->kind == OVERLAY_MOVED) {
		from = xstrdup(e->text);
		if (overlay_get(&s->writing, from) != NULL)
			e = overlay_get(&s->writing, from);
	}
	if (e != NULL && e->kind == OVERLAY_FILE) {
		*ret_len = e->len;
		return xmemdup(e->text, e->len + 1);
	}
	if (e != NULL && e->kind == OVERLAY_GONE && from == NULL) {
		error_set(err, ERR_QUEUE, NULL, "There is no file %s", name);
		return NULL;
	}
	if (from == NULL)
		return read_path(s, name, max, ret_len, err);
	/* The move may happen right now. */
	text = read_path(s, from, max, ret_len, err);
	return text != NULL ? text : read_path(s, name, max, ret_len, err);
}

bool store_exists(struct store *s, const char *name)
{
	const struct overlay_entry *e = look(s, name);
	auto_free char *path = xprintf("%s/%s", s->dir, name);

	if (e != NULL)
		return e->kind != OVERLAY_GONE;
	return s->config.disk->exists(s->config.disk, path);
}

int store_read_if_there(struct store *s, const char *name, size_t max,
			char **ret_text, struct error *err)
{
	char *text = NULL;
	size_t len;

	if (store_exists(s, name)) {
		text = store_read(s, name, max, &len, err);
		if (text == NULL)
			return -1;
	}
	*ret_text = text;
	return 0;
}

struct listing {
	struct store *s;
	const char *folder;
	const struct strv *found; /* on the disk, sorted */
	struct strv *names;
	bool below; /* the layer below `dirty` */
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The next part of the name if it is below the folder, to be freed; and whether
 * that is a folder itself. */
static char *in_folder(const char *name, const char *folder,
		       bool *ret_is_folder)
{
	size_t n = strlen(folder);

	if (n > 0 && (strncmp(name, folder, n) != 0 || name[n] != '/'))
		return NULL;
	name += n > 0 ? n + 1 : 0;
	*ret_is_folder = strchr(name, '/') != NULL;
	return xstrndup(name, strcspn(name, "/"));
}

static bool is_listed(const struct listing *l, const char *name)
{
	return l->found->n > 0 && bsearch(&name, l->found->items, l->found->n,
					  sizeof(char *), by_bytes) != NULL;
}

/* Folders that are only in the overlay show up once; they are few. */
static void add_folder(struct listing *l, const char *name)
{
	if (!is_listed(l, name) && !strv_has(l->names, name))
		strv_add(l->names, name);
}

static void add_listed(const char *key, void *value, void *arg)
{
	const struct overlay_entry *e = value;
	struct listing *l = arg;
	bool is_folder;
	auto_free char *name = in_folder(key, l->folder, &is_folder);

	if (name == NULL || e->kind == OVERLAY_GONE ||
	    (l->below && overlay_get(&l->s->dirty, key) != NULL))
		return;
	if (is_folder)
		add_folder(l, name);
	else if (!is_listed(l, name))
		strv_add(l->names, name);
}

/* What is in the folder on the disk, while that holds.  A file that was only in
 * the overlay when the folder was read may have left that since. */
static WAITS int list_folder(struct store *s, const char *path,
			     struct strv *ret_found, struct error *err)
{
	struct disk *disk = s->config.disk;
	int rc = 0;

	for (int i = 0; i <= LIST_TRIES; i++) {
		uint64_t n_written = s->n_written;

		strv_done(ret_found);
		*ret_found = (struct strv){0};
		if (i < LIST_TRIES)
			store_leave();
		rc = disk->exists(disk, path)
			     ? disk->list(disk, path, ret_found, err)
			     : 0;
		if (i < LIST_TRIES)
			store_enter();
		if (n_written == s->n_written)
			break;
	}
	return rc;
}

int store_list(struct store *s, const char *folder, struct strv *ret_names,
	       struct error *err)
{
	bool top = folder[0] == '\0';
	auto_free char *path =
		top ? xstrdup(s->dir) : xprintf("%s/%s", s->dir, folder);
	auto_strv struct strv found = {0};
	struct listing l = {
		.s = s, .folder = folder, .found = &found, .names = ret_names};
	int rc = list_folder(s, path, &found, err);

	strv_sort(&found);
	for (size_t i = 0; i < found.n; i++) {
		auto_free char *name = xprintf("%s%s%s", folder, top ? "" : "/",
					       found.items[i]);
		const struct overlay_entry *e = look(s, name);

		if (e == NULL || e->kind != OVERLAY_GONE)
			strv_add(ret_names, found.items[i]);
	}
	table_each(&s->dirty.names, add_listed, &l);
	l.below = true;
	table_each(&s->writing.names, add_listed, &l);
	return rc;
}

int store_set_aside(struct store *s, const char *name, struct error *err)
{
	auto_free char *from = xprintf("%s/%s", s->dir, name);
	auto_free char *to = xprintf("%s/%s" STORE_ASIDE, s->dir, name);

	overlay_gone(&s->dirty, name);
	if (!s->config.disk->exists(s->config.disk, from))
		return 0;
	return s->config.disk->rename(s->config.disk, from, to, err);
}
