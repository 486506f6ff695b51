/* SPDX-License-Identifier: BSD-2-Clause */
/* The state file of a group, in Ganeti's form:
 * {"instance": {name: {"restart_count", "restart_when", "cleanup_count",
 * "cleanup_when"}}, "node": {name: {"bootid"}}}; a node also has "missed",
 * which Ganeti's watcher keeps as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <utime.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

#define STATE_BYTES_MAX (64 * 1024 * 1024)
#define STATE_MODE 0600

struct watcher_state {
	char *file;
	int fd; /* locked; -1: there is no file */
	json_t *data, *instances, *nodes;
	char *saved; /* the text that the file has */
};

/* The object that stands there, made if it does not. */
static json_t *member(json_t *data, const char *key)
{
	json_t *value = json_object_get(data, key);

	if (json_is_object(value))
		return value;
	json_object_set_new(data, key, json_object());
	return json_object_get(data, key);
}

struct watcher_state *watcher_state_of(json_t *data STEALS)
{
	struct watcher_state *s = xalloc(sizeof(*s));

	if (!json_is_object(data)) {
		json_decref(data);
		data = json_object();
	}
	s->fd = -1;
	s->data = data;
	s->instances = member(data, "instance");
	s->nodes = member(data, "node");
	return s;
}

static int lock(const char *file, struct error *err)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      STATE_MODE);

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot open %s: %s", file, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return error_set(err, ERR_LOCK, ECODE_STATE,
			 "Another watcher works on this group (it has %s)",
			 file);
}

struct watcher_state *watcher_state_open(const char *file, struct error *err)
{
	struct watcher_state *s;
	struct error unreadable;
	json_t *data = NULL;
	struct stat st;
	int fd = lock(file, err);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		data = json_read_file(file, STATE_BYTES_MAX, &unreadable);
		if (data == NULL)
			log_warning("beginning with an empty state: %s",
				    unreadable.text);
	}
	s = watcher_state_of(data);
	s->fd = fd;
	s->file = xstrdup(file);
	s->saved = json_text(s->data);
	return s;
}

void watcher_state_close(struct watcher_state *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	json_decref(s->data);
	free(s->file);
	free(s->saved);
	free(s);
}

/* The new file is another one, which is locked as well. */
int watcher_state_save(struct watcher_state *s, struct error *err)
{
	auto_free char *text = json_text(s->data);
	int fd;

	if (strcmp(text, s->saved) == 0) {
		utime(s->file, NULL); /* its age says that the watcher runs */
		return 0;
	}
	if (fs_write_atomic(s->file, text, strlen(text), STATE_MODE, err) < 0)
		return -1;
	free(s->saved);
	s->saved = steal(&text);
	fd = lock(s->file, err);
	if (fd < 0)
		return -1;
	close(s->fd);
	s->fd = fd;
	return 0;
}

const json_t *watcher_state_data(const struct watcher_state *s)
{
	return s->data;
}

/* --- instances --- */

void watcher_state_clean(struct watcher_state *s, const json_t *names,
			 double now)
{
	const char *name;
	json_t *record;
	void *next;

	json_object_foreach_safe(s->instances, next, name, record)
	{
		double last = json_num(record, "restart_when", 0);
		double cleanup = json_num(record, "cleanup_when", 0);

		if (cleanup > last)
			last = cleanup;
		if (!json_array_has_str(names, name) ||
		    last < now - WATCHER_EXPIRE_S)
			json_object_del(s->instances, name);
	}
}

int64_t watcher_state_tries(const struct watcher_state *s, const char *name,
			    const char *what)
{
	auto_free char *key = xprintf("%s_count", what);

	return json_int(json_object_get(s->instances, name), key, 0);
}

void watcher_state_tried(struct watcher_state *s, const char *name,
			 const char *what, double now)
{
	json_t *record = member(s->instances, name);
	auto_free char *count = xprintf("%s_count", what);
	auto_free char *when = xprintf("%s_when", what);

	json_set_int(record, count, json_int(record, count, 0) + 1);
	json_object_set_new(record, when, json_real(now));
}

void watcher_state_not_tried(struct watcher_state *s, const char *name,
			     const char *what)
{
	json_t *record = json_object_get(s->instances, name);
	auto_free char *count = xprintf("%s_count", what);
	int64_t n = json_int(record, count, 0);

	if (n > 0)
		json_set_int(record, count, n - 1);
}

void watcher_state_forget(struct watcher_state *s, const char *name)
{
	json_object_del(s->instances, name);
}

/* --- nodes --- */

const char *watcher_state_boot(const struct watcher_state *s, const char *node)
{
	return json_str(json_object_get(s->nodes, node), "bootid", NULL);
}

void watcher_state_set_boot(struct watcher_state *s, const char *node,
			    const char *boot)
{
	json_set_str(member(s->nodes, node), "bootid", boot);
}

int64_t watcher_state_missed(struct watcher_state *s, const char *node,
			     bool answers)
{
	int64_t n = json_int(json_object_get(s->nodes, node), "missed", 0) + 1;

	if (!answers) {
		json_set_int(member(s->nodes, node), "missed", n);
		return n;
	}
	if (n > 1)
		json_object_del(member(s->nodes, node), "missed");
	return 0;
}
