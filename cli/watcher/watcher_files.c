/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance-status files, which sites read: a line "NAME STATUS" for each
 * instance; one file a group, and one of all, in which the newest counts where
 * an instance is in several. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

#define FILE_BYTES_MAX (64 * 1024 * 1024)
#define FILE_MODE 0644
#define LOCK_SUFFIX ".lock"
#define LOCK_MODE 0600
/* The others write it in milliseconds. */
#define LOCK_POLLS 500
#define LOCK_POLL_NS (20 * 1000 * 1000)

static int write_lines(const char *file, struct strv *lines, struct error *err)
{
	auto_free char *text = NULL;

	strv_sort(lines);
	text = strv_join(lines, "\n");
	return fs_write_atomic(file, text, strlen(text), FILE_MODE, err);
}

static int write_own(const char *file, const json_t *instances,
		     struct error *err)
{
	auto_strv struct strv lines = {0};
	json_t *inst;
	size_t i;

	json_array_foreach (instances, i, inst)
		strv_addf(&lines, "%s %s", json_str(inst, "name", ""),
			  json_str(inst, "status", ""));
	return write_lines(file, &lines, err);
}

/* Add what the file of a group says: all[name] = [mtime, status]. */
static void add_file(json_t *all, const char *file)
{
	struct error ignored;
	auto_free char *text =
		fs_read_file(file, FILE_BYTES_MAX, NULL, &ignored);
	auto_strv struct strv lines = {0};
	struct stat st;
	double when;

	if (text == NULL || stat(file, &st) < 0)
		return;
	when = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *blank = strchr(lines.items[i], ' ');
		const json_t *known;

		if (blank == NULL)
			continue;
		*blank = '\0';
		known = json_get(all, lines.items[i]);
		if (known != NULL &&
		    json_number_value(json_array_get(known, 0)) > when)
			continue;
		json_object_set_new(all, lines.items[i],
				    json_make("[f, s]", when, blank + 1));
	}
}

static int merge(const struct watcher *w, struct error *err)
{
	auto_strv struct strv groups = {0}, lines = {0};
	auto_json json_t *all = json_object();
	const char *name;
	json_t *value;

	ssconf_read_lines(w->paths, "nodegroups", &groups);
	for (size_t i = 0; i < groups.n; i++) {
		auto_free char *file = NULL;

		groups.items[i][strcspn(groups.items[i], " ")] = '\0';
		file = watcher_group_file(w->paths, groups.items[i],
					  "instance-status");
		add_file(all, file);
	}
	json_object_foreach (all, name, value)
		strv_addf(&lines, "%s %s", name,
			  json_string_value(json_array_get(value, 1)));
	return write_lines(path(w->paths, PATH_INSTANCE_STATUS), &lines, err);
}

/* All groups write the one file of all.  Whoever may read it could lock it, so
 * the lock is on a file beside it, which is the watcher's alone. */
static int lock_merged(const struct watcher *w, struct error *err)
{
	auto_free char *file =
		xprintf("%s" LOCK_SUFFIX, path(w->paths, PATH_INSTANCE_STATUS));
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      LOCK_MODE);

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot open %s: %s", file, strerror(errno));
	for (int i = 0; i < LOCK_POLLS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_POLL_NS}, NULL);
	}
	close(fd);
	return error_set(err, ERR_LOCK, ECODE_STATE,
			 "Somebody keeps the lock of %s", file);
}

static int write_merged(const struct watcher *w, struct error *err)
{
	auto_close int fd = lock_merged(w, err);

	return fd < 0 ? -1 : merge(w, err);
}

void watcher_write_status(const struct watcher *w, const char *uuid,
			  const json_t *instances)
{
	auto_free char *own =
		watcher_group_file(w->paths, uuid, "instance-status");
	struct error err;

	if (write_own(own, instances, &err) < 0 || write_merged(w, &err) < 0)
		watcher_did_not(w->report,
				"The states of instances are not written for "
				"others: %s",
				err.text);
}
