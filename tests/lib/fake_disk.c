/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/fake_disk.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

#define SECTOR 512

struct blob {
	char *data;
	size_t len;
};

enum change_kind { PUT, DROP, MOVE, NEW_LOG };

/* A change of names that is not durable yet. */
struct change {
	struct list link;
	enum change_kind kind;
	char *path, *to;
	struct blob blob;
	bool named; /* the name is durable, the content perhaps not */
	bool solid; /* the content is durable */
};

struct write {
	struct list link;
	size_t offset, len;
	char *data;
};

struct log {
	char *now, *safe;
	size_t size;
	struct list writes; /* since the last sync */
	int handle;
	bool gone; /* removed, which is not durable yet */
};

static struct fake_disk *fake(struct disk *d)
{
	return container_of(d, struct fake_disk, disk);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int fail(struct error *err, const char *what, const char *path, int why)
{
	return error_set(err, ERR_SYSTEM,
			 why == ENOSPC ? ECODE_NOSPACE : ECODE_ENVIRON,
			 "Cannot %s %s: %s", what, path, strerror(why));
}

bool fake_disk_dead(const struct fake_disk *d)
{
	return d->die_at != 0 && d->n_ops >= d->die_at;
}

/* Count an operation that changes something; -1 if it has to fail. */
static int count(struct fake_disk *d, const char *what, const char *path,
		 bool needs_space, struct error *err)
{
	if (!fake_disk_dead(d))
		d->n_ops++;
	if (fake_disk_dead(d) || (d->fail_at != 0 && d->n_ops == d->fail_at))
		return fail(err, what, path, EIO);
	if (d->full && needs_space)
		return fail(err, what, path, ENOSPC);
	return 0;
}

/* --- names --- */

static void blob_free(void *value)
{
	struct blob *b = value;

	if (b == NULL)
		return;
	free(b->data);
	free(b);
}

static void blob_put(struct table *t, const char *path, const void *data,
		     size_t len)
{
	struct blob *b = xalloc(sizeof(*b));

	b->data = xalloc(len + 1);
	if (len > 0)
		memcpy(b->data, data, len);
	b->len = len;
	blob_free(table_put(t, path, b));
}

static void blob_move(struct table *t, const char *from, const char *to)
{
	struct blob *b = table_remove(t, from);

	if (b != NULL)
		blob_free(table_put(t, to, b));
}

static void change_free(struct change *c)
{
	list_remove(&c->link);
	free(c->path);
	free(c->to);
	free(c->blob.data);
	free(c);
}

static void pend(struct fake_disk *d, enum change_kind kind, const char *path,
		 const char *to, const void *data, size_t len)
{
	struct change *c = xalloc(sizeof(*c));

	c->kind = kind;
	c->path = xstrdup(path);
	c->to = to == NULL ? NULL : xstrdup(to);
	c->blob.data = xalloc(len + 1);
	c->blob.len = len;
	if (len > 0)
		memcpy(c->blob.data, data, len);
	list_append(&d->pending, &c->link);
}

static void log_free(void *value);

static struct log *log_at(const struct fake_disk *d, const char *path)
{
	struct log *log = table_get(&d->logs, path);

	return log == NULL || log->gone ? NULL : log;
}

static void drop(struct fake_disk *d, const char *path)
{
	blob_free(table_remove(&d->safe, path));
	if (table_get(&d->logs, path) != NULL && log_at(d, path) == NULL)
		log_free(table_remove(&d->logs, path));
}

/* Make a change durable; its content only `len` bytes of it. */
static void settle(struct fake_disk *d, struct change *c, size_t len)
{
	if (c->kind == PUT)
		blob_put(&d->safe, c->path, c->blob.data, len);
	else if (c->kind == DROP)
		drop(d, c->path);
	else if (c->kind == MOVE)
		blob_move(&d->safe, c->path, c->to);
	change_free(c);
}

static void settle_all(struct fake_disk *d)
{
	while (!list_empty(&d->pending)) {
		struct change *c = list_first(&d->pending, struct change, link);

		settle(d, c, c->blob.len);
	}
}

/* Changes that no crash can undo any more are removed from the list. */
static void settle_solid(struct fake_disk *d)
{
	while (!list_empty(&d->pending)) {
		struct change *c = list_first(&d->pending, struct change, link);

		if (!c->named || (c->kind == PUT && !c->solid))
			return;
		settle(d, c, c->blob.len);
	}
}

static char *parent(const char *path)
{
	return xstrndup(path, (size_t)(strrchr(path, '/') - path));
}

static int check_parent(struct fake_disk *d, const char *path,
			struct error *err)
{
	auto_free char *folder = parent(path);

	if (table_get(&d->folders, folder) == NULL)
		return fail(err, "write", path, ENOENT);
	return 0;
}

/* --- the interface --- */

static char *fake_read(struct disk *disk, const char *path, size_t max,
		       size_t *ret_len, struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct blob *b = table_get(&d->now, path);
	struct log *log = log_at(d, path);
	const char *data = log != NULL ? log->now : b != NULL ? b->data : NULL;
	size_t len = log != NULL ? log->size : b != NULL ? b->len : 0;
	char *copy;

	if (fake_disk_dead(d) || data == NULL || len > max) {
		fail(err, "read", path, data == NULL ? ENOENT : EIO);
		return NULL;
	}
	copy = xalloc(len + 1);
	memcpy(copy, data, len);
	if (ret_len != NULL)
		*ret_len = len;
	return copy;
}

static int fake_write_lazy(struct disk *disk, const char *path,
			   const void *data, size_t len, mode_t mode,
			   struct error *err)
{
	struct fake_disk *d = fake(disk);

	(void)mode;
	if (count(d, "write", path, true, err) < 0 ||
	    check_parent(d, path, err) < 0)
		return -1;
	blob_put(&d->now, path, data, len);
	pend(d, PUT, path, NULL, data, len);
	return 0;
}

static int fake_write_atomic(struct disk *disk, const char *path,
			     const void *data, size_t len, mode_t mode,
			     struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct change *c;

	if (fake_write_lazy(disk, path, data, len, mode, err) < 0)
		return -1;
	/* The sync of the folder commits all names before, too, but not the
	 * content of other files. */
	list_each (c, &d->pending, link)
		c->named = true;
	container_of(d->pending.prev, struct change, link)->solid = true;
	settle_solid(d);
	return 0;
}

static int fake_mkdirs(struct disk *disk, const char *path, mode_t mode,
		       struct error *err)
{
	struct fake_disk *d = fake(disk);
	auto_free char *folder = xstrdup(path);
	char *slash;

	(void)mode;
	if (count(d, "create", path, table_get(&d->folders, path) == NULL,
		  err) < 0)
		return -1;
	while ((slash = strrchr(folder, '/')) != NULL) {
		table_put(&d->folders, folder, d);
		*slash = '\0';
	}
	return 0;
}

struct listing {
	const char *folder;
	struct strv *names;
};

static void list_one(const char *key, void *value, void *arg)
{
	struct listing *l = arg;
	size_t n = strlen(l->folder);

	(void)value;
	if (strncmp(key, l->folder, n) == 0 && key[n] == '/' &&
	    strchr(key + n + 1, '/') == NULL)
		strv_add(l->names, key + n + 1);
}

static void list_log(const char *key, void *value, void *arg)
{
	const struct log *log = value;

	if (!log->gone)
		list_one(key, value, arg);
}

static int fake_list(struct disk *disk, const char *path,
		     struct strv *ret_names, struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct listing l = {.folder = path, .names = ret_names};

	if (fake_disk_dead(d))
		return fail(err, "list", path, EIO);
	if (table_get(&d->folders, path) == NULL)
		return fail(err, "list", path, ENOENT);
	table_each(&d->now, list_one, &l);
	table_each(&d->folders, list_one, &l);
	table_each(&d->logs, list_log, &l);
	strv_sort(ret_names);
	return 0;
}

static int fake_remove(struct disk *disk, const char *path, struct error *err)
{
	struct fake_disk *d = fake(disk);

	if (count(d, "remove", path, false, err) < 0)
		return -1;
	if (log_at(d, path) != NULL)
		log_at(d, path)->gone = true;
	else if (table_get(&d->now, path) == NULL)
		return 0;
	blob_free(table_remove(&d->now, path));
	pend(d, DROP, path, NULL, NULL, 0);
	return 0;
}

static bool fake_exists(struct disk *disk, const char *path)
{
	struct fake_disk *d = fake(disk);

	return table_get(&d->now, path) != NULL || log_at(d, path) != NULL ||
	       table_get(&d->folders, path) != NULL;
}

struct below {
	const char *folder;
	struct strv paths;
};

static void add_if_below(const char *key, void *value, void *arg)
{
	struct below *b = arg;
	size_t n = strlen(b->folder);

	(void)value;
	if (strncmp(key, b->folder, n) == 0 &&
	    (key[n] == '/' || key[n] == '\0'))
		strv_add(&b->paths, key);
}

static void move_below(struct table *t, const char *from, const char *to)
{
	struct below b = {.folder = from};

	table_each(t, add_if_below, &b);
	for (size_t i = 0; i < b.paths.n; i++) {
		const char *old = b.paths.items[i];
		auto_free char *path = xprintf("%s%s", to, old + strlen(from));

		table_put(t, path, table_remove(t, old));
	}
	strv_done(&b.paths);
}

/* With all that is in it; durable at once. */
static void move_folder(struct fake_disk *d, const char *from, const char *to)
{
	struct table *tables[] = {&d->now, &d->safe, &d->folders, &d->logs};

	settle_all(d);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		move_below(tables[i], from, to);
}

static int fake_rename(struct disk *disk, const char *from, const char *to,
		       struct error *err)
{
	struct fake_disk *d = fake(disk);

	if (count(d, "rename", from, false, err) < 0 ||
	    check_parent(d, to, err) < 0)
		return -1;
	if (table_get(&d->folders, from) != NULL) {
		move_folder(d, from, to);
		return 0;
	}
	if (table_get(&d->now, from) == NULL)
		return fail(err, "rename", from, ENOENT);
	blob_move(&d->now, from, to);
	pend(d, MOVE, from, to, NULL, 0);
	return 0;
}

static int fake_sync_all(struct disk *disk, const char *folder,
			 struct error *err)
{
	struct fake_disk *d = fake(disk);

	if (count(d, "sync", folder, false, err) < 0)
		return -1;
	if (d->fail_syncs)
		return fail(err, "sync", folder, EIO);
	settle_all(d);
	return 0;
}

/* --- logs --- */

static void writes_free(struct log *log)
{
	while (!list_empty(&log->writes)) {
		struct write *w = list_first(&log->writes, struct write, link);

		list_remove(&w->link);
		free(w->data);
		free(w);
	}
}

static void log_free(void *value)
{
	struct log *log = value;

	if (log == NULL)
		return;
	writes_free(log);
	free(log->now);
	free(log->safe);
	free(log);
}

static void lengthen(struct log *log, size_t size)
{
	log->now = xrealloc(log->now, size);
	log->safe = xrealloc(log->safe, size);
	memset(log->now + log->size, 0, size - log->size);
	memset(log->safe + log->size, 0, size - log->size);
	log->size = size;
}

static int fake_log_open(struct disk *disk, const char *path, size_t size,
			 struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct log *log = log_at(d, path);

	if (count(d, "open", path, log == NULL, err) < 0)
		return -1;
	if (log == NULL) {
		log = xalloc(sizeof(*log));
		log->now = xalloc(size);
		log->safe = xalloc(size);
		log->size = size;
		log->handle = d->next_handle++;
		list_init(&log->writes);
		log_free(table_put(&d->logs, path, log));
		pend(d, NEW_LOG, path, NULL, NULL, 0);
	}
	if (log->size < size)
		lengthen(log, size);
	return log->handle;
}

struct by_handle {
	int handle;
	struct log *found;
};

static void match_handle(const char *key, void *value, void *arg)
{
	struct by_handle *search = arg;
	struct log *log = value;

	(void)key;
	if (log->handle == search->handle)
		search->found = log;
}

static struct log *log_of(struct fake_disk *d, int handle)
{
	struct by_handle search = {.handle = handle};

	table_each(&d->logs, match_handle, &search);
	assert(search.found != NULL);
	return search.found;
}

static int fake_log_write(struct disk *disk, int handle, size_t offset,
			  const void *data, size_t len, struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct log *log = log_of(d, handle);
	struct write *w;

	if (count(d, "write", "the log", false, err) < 0)
		return -1;
	if (d->fail_log_after != 0 && --d->fail_log_after == 0)
		d->fail_log = true;
	if (d->fail_log)
		return fail(err, "write", "the log", ENOSPC);
	assert(offset + len <= log->size);
	memcpy(log->now + offset, data, len);
	w = xalloc(sizeof(*w));
	w->offset = offset;
	w->len = len;
	w->data = xmemdup(data, len);
	list_append(&log->writes, &w->link);
	return 0;
}

static int fake_log_sync(struct disk *disk, int handle, struct error *err)
{
	struct fake_disk *d = fake(disk);
	struct log *log = log_of(d, handle);
	struct write *w;

	if (count(d, "sync", "the log", false, err) < 0)
		return -1;
	if (d->fail_syncs) {
		/* Like the kernel: after a failed sync, writes that failed
		 * count as written. */
		writes_free(log);
		return fail(err, "sync", "the log", EIO);
	}
	d->n_log_sync++;
	list_each (w, &log->writes, link)
		memcpy(log->safe + w->offset, w->data, w->len);
	writes_free(log);
	return 0;
}

static void fake_log_close(struct disk *disk, int handle)
{
	(void)disk;
	(void)handle;
}

/* --- for tests --- */

void fake_disk_init(struct fake_disk *d)
{
	*d = (struct fake_disk){
		.disk = {.read = fake_read,
			 .write_atomic = fake_write_atomic,
			 .mkdirs = fake_mkdirs,
			 .list = fake_list,
			 .remove = fake_remove,
			 .exists = fake_exists,
			 .write_lazy = fake_write_lazy,
			 .rename = fake_rename,
			 .sync_all = fake_sync_all,
			 .log_open = fake_log_open,
			 .log_write = fake_log_write,
			 .log_sync = fake_log_sync,
			 .log_close = fake_log_close},
	};
	list_init(&d->pending);
}

void fake_disk_done(struct fake_disk *d)
{
	while (!list_empty(&d->pending))
		change_free(list_first(&d->pending, struct change, link));
	table_done(&d->now, blob_free);
	table_done(&d->safe, blob_free);
	table_done(&d->folders, NULL);
	table_done(&d->logs, log_free);
}

static void copy_safe(const char *key, void *value, void *arg)
{
	struct blob *b = value;

	blob_put(arg, key, b->data, b->len);
}

struct crash {
	struct fake_disk *disk;
	uint64_t random;
};

static void crash_log(const char *key, void *value, void *arg)
{
	struct crash *crash = arg;
	struct log *log = value;
	struct write *w;

	(void)key;
	log->gone = false; /* its removal was lost */
	list_each (w, &log->writes, link)
		for (size_t at = 0; at < w->len; at += SECTOR) {
			size_t n = w->len - at < SECTOR ? w->len - at : SECTOR;

			if (next_random(&crash->random) % 2 == 0)
				memcpy(log->safe + w->offset + at, w->data + at,
				       n);
		}
	writes_free(log);
	memcpy(log->now, log->safe, log->size);
}

/* After a crash a file whose content was not synced may be whole, cut or
 * empty. */
static size_t torn(const struct change *c, uint64_t *random)
{
	uint64_t r = next_random(random);

	if (c->solid || r % 3 == 0)
		return c->blob.len;
	return r % 3 == 1 ? 0 : c->blob.len / 2;
}

void fake_disk_crash(struct fake_disk *d, uint64_t seed)
{
	struct crash crash = {.disk = d, .random = seed};
	bool lost = false;

	while (!list_empty(&d->pending)) {
		struct change *c = list_first(&d->pending, struct change, link);

		lost = lost ||
		       (!c->named && next_random(&crash.random) % 4 == 0);
		if (!lost) {
			settle(d, c, torn(c, &crash.random));
			continue;
		}
		if (c->kind == NEW_LOG)
			log_free(table_remove(&d->logs, c->path));
		change_free(c);
	}
	table_done(&d->now, blob_free);
	table_each(&d->safe, copy_safe, &d->now);
	table_each(&d->logs, crash_log, &crash);
	d->die_at = d->fail_at = d->n_ops = 0;
	d->full = d->fail_syncs = d->fail_log = false;
	d->fail_log_after = 0;
}

static void copy_folder(const char *key, void *value, void *arg)
{
	struct fake_disk *to = arg;

	(void)value;
	table_put(&to->folders, key, to);
}

static void copy_log(const char *key, void *value, void *arg)
{
	const struct log *log = value;
	struct fake_disk *to = arg;
	struct log *copy;

	if (log->gone)
		return;
	copy = xalloc(sizeof(*copy));

	copy->now = xmemdup(log->safe, log->size);
	copy->safe = xmemdup(log->safe, log->size);
	copy->size = log->size;
	copy->handle = to->next_handle++;
	list_init(&copy->writes);
	table_put(&to->logs, key, copy);
}

/* Names that are not durable yet would be, in their order. */
static void copy_pending(struct table *to, const struct fake_disk *from)
{
	const struct change *c;

	list_each (c, &from->pending, link)
		if (c->kind == PUT)
			blob_put(to, c->path, c->blob.data, c->blob.len);
		else if (c->kind == DROP)
			blob_free(table_remove(to, c->path));
		else if (c->kind == MOVE)
			blob_move(to, c->path, c->to);
}

void fake_disk_copy(struct fake_disk *to, const struct fake_disk *from)
{
	table_each(&from->safe, copy_safe, &to->safe);
	copy_pending(&to->safe, from);
	table_each(&to->safe, copy_safe, &to->now);
	table_each(&from->folders, copy_folder, to);
	table_each(&from->logs, copy_log, to);
}

static const char *text_in(const struct table *files, const char *path)
{
	struct blob *b = table_get(files, path);

	return b == NULL ? NULL : b->data;
}

const char *fake_disk_text(struct fake_disk *d, const char *path)
{
	return text_in(&d->now, path);
}

const char *fake_disk_safe_text(struct fake_disk *d, const char *path)
{
	return text_in(&d->safe, path);
}

void fake_disk_put(struct fake_disk *d, const char *path, const char *text)
{
	auto_free char *folder = parent(path);

	table_put(&d->folders, folder, d);
	blob_put(&d->now, path, text, strlen(text));
	blob_put(&d->safe, path, text, strlen(text));
}

char *fake_disk_log(struct fake_disk *d, const char *path, size_t *ret_size)
{
	struct log *log = table_get(&d->logs, path);

	*ret_size = log->size;
	return log->now;
}
