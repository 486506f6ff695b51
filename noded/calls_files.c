/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that write files: the configuration and its companions, ssconf, the job
 * queue of master candidates, the watcher's pause, /etc/hosts.  The master says
 * what is in a file; which files it may write is decided here. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/disk.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/ssconf.h"
#include "noded/calls.h"
#include "noded/content.h"
#include "noded/noded.h"

#define QUEUE_FILE_MODE 0640
#define QUEUE_FOLDER_MODE 0750
#define WATCHER_PAUSE_MAX 64
#define HOSTS_MAX (1024 * 1024)

/* Up to so many files of jobqueue_update_many are synced each. */
#define QUEUE_SYNC_EACH 4

/* Virtual paths that upload_file may write. */
static const char *const uploads[] = {
	"/var/lib/ganeti/config.data",
	"/var/lib/ganeti/known_hosts",
	"/var/lib/ganeti/rapi.pem",
	"/var/lib/ganeti/rapi/users",
	"/var/lib/ganeti/rapi_users",
	"/var/lib/ganeti/hmac.key",
	"/var/lib/ganeti/cluster-domain-secret",
	"/var/lib/ganeti/spice.pem",
	"/var/lib/ganeti/spice-ca.pem",
	"/etc/hosts",
	"/etc/ganeti/vnc-cluster-password",
	"/etc/ganeti/kvm-vif-bridge",
	"/etc/ganeti/scripts/master-ip-setup",
	"/etc/xen/xend-config.sxp",
	"/etc/xen/scripts/vif-bridge",
};

static bool may_upload(const char *virtual_path)
{
	for (size_t i = 0; i < sizeof(uploads) / sizeof(uploads[0]); i++)
		if (strcmp(uploads[i], virtual_path) == 0)
			return true;
	return false;
}

/* A file on its way to the disk. */
struct upload {
	const char *virtual_path;
	const json_t *content;
	int64_t mode;
	const char *user, *group;
	double atime, mtime; /* NaN: now */
};

/* Of files; the year 9999 is not far from it. */
#define SECONDS_MAX 2.5e11

static double time_or_nan(const json_t *value)
{
	double seconds = json_is_number(value) ? json_number_value(value) : NAN;

	return fabs(seconds) <= SECONDS_MAX ? seconds : NAN;
}

/* Ganeti's users need not exist here: what cannot be given to them stays ours.
 */
static void set_owner(const char *file, const struct upload *u)
{
	struct passwd *pw = u->user != NULL ? getpwnam(u->user) : NULL;
	struct group *gr = u->group != NULL ? getgrnam(u->group) : NULL;

	if (geteuid() != 0 || (pw == NULL && gr == NULL))
		return;
	if (chown(file, pw != NULL ? pw->pw_uid : (uid_t)-1,
		  gr != NULL ? gr->gr_gid : (gid_t)-1) < 0)
		return;
}

static struct timespec to_timespec(double seconds)
{
	struct timespec ts = {.tv_nsec = UTIME_NOW};

	if (isnan(seconds))
		return ts;
	ts.tv_sec = (time_t)floor(seconds);
	ts.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
	return ts;
}

/* Write a file and sync it, beside the loop. */
static int write_file(const char *file, const char *data, size_t len,
		      mode_t mode, struct error *err)
{
	int rc;

	task_leave(); /* all arguments are ours alone */
	rc = fs_write_atomic(file, data, len, mode, err);
	task_enter();
	return rc;
}

static int make_folder_of(const char *file, mode_t mode, struct error *err)
{
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	return fs_mkdirs(folder, mode, err);
}

static int do_upload(struct call *c, const struct upload *u, struct error *err)
{
	auto_free char *file = NULL, *data = NULL;
	size_t len;

	if (!may_upload(u->virtual_path))
		return error_set(
			err, ERR_REQUEST, NULL,
			"Filename passed to upload_file not in allowed "
			"upload targets: '%s'",
			u->virtual_path);
	if (u->mode < 0 || u->mode > 07777777)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid mode %" PRId64 " for %s", u->mode,
				 u->virtual_path);
	data = content_read(u->content, &len, err);
	if (data == NULL)
		return -1;
	file = paths_local(c->paths, u->virtual_path);
	if (make_folder_of(file, 0755, err) < 0 ||
	    write_file(file, data, len, (mode_t)u->mode & 07777, err) < 0)
		return -1;
	set_owner(file, u);
	utimensat(AT_FDCWD, file,
		  (struct timespec[2]){to_timespec(u->atime),
				       to_timespec(u->mtime)},
		  0);
	return 0;
}

/* [path, content, mode, user, group, atime, mtime]; the last four may miss. */
static json_t *upload_list(struct call *c, const json_t *list,
			   struct error *err)
{
	struct upload u = {
		.virtual_path = json_string_value(json_array_get(list, 0)),
		.content = json_array_get(list, 1),
		.mode = 0600,
		.user = json_string_value(json_array_get(list, 3)),
		.group = json_string_value(json_array_get(list, 4)),
		.atime = time_or_nan(json_array_get(list, 5)),
		.mtime = time_or_nan(json_array_get(list, 6)),
	};
	auto_free char *path_only = NULL;

	if (json_is_integer(json_array_get(list, 2)))
		u.mode = json_integer_value(json_array_get(list, 2));
	if (u.virtual_path == NULL) {
		error_set(err, ERR_REQUEST, NULL,
			  "Call %s: the file name must be a string",
			  c->procedure);
		return NULL;
	}
	/* Without the mark that Ganeti puts before virtual paths. */
	path_only = paths_local(c->paths, u.virtual_path);
	memmove(path_only, path_only + strlen(c->paths->root),
		strlen(path_only + strlen(c->paths->root)) + 1);
	u.virtual_path = path_only;
	return do_upload(c, &u, err) < 0 ? NULL : json_null();
}

json_t *call_upload_file(struct call *c, struct error *err)
{
	const json_t *list = call_list(c, 0, err);

	return list != NULL ? upload_list(c, list, err) : NULL;
}

json_t *call_upload_file_single(struct call *c, struct error *err)
{
	return upload_list(c, c->args, err);
}

json_t *call_write_ssconf_files(struct call *c, struct error *err)
{
	const json_t *values = call_object(c, 0, err);
	int rc;

	if (values == NULL)
		return NULL;
	task_leave(); /* the arguments are ours alone, the paths never change */
	rc = ssconf_write(c->paths, values, err);
	task_enter();
	return rc < 0 ? NULL : json_null();
}

static bool all_digits(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* The local file of a virtual path in the queue: "serial", "drain", "job-<n>"
 * or "archive/<n>/job-<n>"; to be freed.  NULL and err for anything else. */
static char *queue_file(const struct call *c, const char *virtual_path,
			struct error *err)
{
	const char *folder = path(c->paths, PATH_QUEUE_DIR);
	size_t len = strlen(folder);
	char *file = paths_local(c->paths, virtual_path);
	const char *name = file + len + 1;
	bool inside = strncmp(file, folder, len) == 0 && file[len] == '/';

	if (inside && str_starts(name, "archive/")) {
		const char *slash = strchr(name + 8, '/');
		auto_free char *number = NULL;

		if (slash != NULL) {
			number = xstrndup(name + 8, (size_t)(slash - name - 8));
			name = all_digits(number) ? slash + 1 : "";
		}
	}
	if (inside &&
	    (strcmp(name, "serial") == 0 || strcmp(name, "drain") == 0 ||
	     (str_starts(name, "job-") && all_digits(name + 4))))
		return file;
	error_set(err, ERR_REQUEST, NULL, "Not a file of the job queue: '%s'",
		  virtual_path);
	free(file);
	return NULL;
}

json_t *call_jobqueue_update(struct call *c, struct error *err)
{
	const char *name = call_str(c, 0, err);
	const json_t *content = name != NULL ? call_list(c, 1, err) : NULL;
	auto_free char *file = NULL, *data = NULL;
	size_t len;

	if (content == NULL)
		return NULL;
	file = queue_file(c, name, err);
	if (file == NULL)
		return NULL;
	data = content_read(content, &len, err);
	if (data == NULL || make_folder_of(file, QUEUE_FOLDER_MODE, err) < 0 ||
	    write_file(file, data, len, QUEUE_FILE_MODE, err) < 0)
		return NULL;
	return json_null();
}

/* One entry of jobqueue_update_many; data NULL: remove. */
struct queue_write {
	char *file, *data;
	size_t len;
};

static void queue_writes_free(struct queue_write *writes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(writes[i].file);
		free(writes[i].data);
	}
	free(writes);
}

static int read_queue_write(struct call *c, const json_t *entry,
			    struct queue_write *ret, struct error *err)
{
	const char *name = json_string_value(json_array_get(entry, 0));
	const json_t *content = json_array_get(entry, 1);

	if (name == NULL || content == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s takes a list of [file, content]",
				 c->procedure);
	ret->file = queue_file(c, name, err);
	if (ret->file == NULL)
		return -1;
	if (json_is_null(content))
		return 0;
	ret->data = content_read(content, &ret->len, err);
	if (ret->data == NULL)
		return -1;
	return make_folder_of(ret->file, QUEUE_FOLDER_MODE, err);
}

/* A few files are synced one by one, many together. */
static int do_queue_writes(const char *folder, const struct queue_write *writes,
			   size_t n, struct error *err)
{
	struct disk *d = disk_real();
	bool each = n <= QUEUE_SYNC_EACH;

	for (size_t i = 0; i < n; i++) {
		const struct queue_write *w = &writes[i];
		int rc = w->data == NULL ? d->remove(d, w->file, err)
			 : each ? d->write_atomic(d, w->file, w->data, w->len,
						  QUEUE_FILE_MODE, err)
				: d->write_lazy(d, w->file, w->data, w->len,
						QUEUE_FILE_MODE, err);

		if (rc < 0)
			return -1;
	}
	return each ? 0 : d->sync_all(d, folder, err);
}

/* Not of Ganeti: [[file, content or null], ...] in one call. */
json_t *call_jobqueue_update_many(struct call *c, struct error *err)
{
	const json_t *list = call_list(c, 0, err);
	const char *folder = path(c->paths, PATH_QUEUE_DIR);
	size_t n = json_array_size(list);
	struct queue_write *writes;
	int rc = 0;

	if (list == NULL)
		return NULL;
	writes = xcalloc(n + 1, sizeof(*writes));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = read_queue_write(c, json_array_get(list, i), &writes[i],
				      err);
	if (rc == 0) {
		task_leave(); /* the writes are ours alone */
		rc = do_queue_writes(folder, writes, n, err);
		task_enter();
	}
	queue_writes_free(writes, n);
	return rc < 0 ? NULL : json_null();
}

static int rename_queue_file(struct call *c, const json_t *pair,
			     struct error *err)
{
	const char *from = json_string_value(json_array_get(pair, 0));
	const char *to = json_string_value(json_array_get(pair, 1));
	auto_free char *old_file = NULL, *new_file = NULL;

	if (from == NULL || to == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s takes a list of [old, new]",
				 c->procedure);
	old_file = queue_file(c, from, err);
	new_file = old_file != NULL ? queue_file(c, to, err) : NULL;
	if (new_file == NULL ||
	    make_folder_of(new_file, QUEUE_FOLDER_MODE, err) < 0)
		return -1;
	if (rename(old_file, new_file) == 0)
		return 0;
	if (errno == ENOENT && fs_exists(new_file))
		return 0; /* done before */
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Error while executing backend function: %s: '%s' -> "
			 "'%s'",
			 strerror(errno), from, to);
}

json_t *call_jobqueue_rename(struct call *c, struct error *err)
{
	const json_t *pairs = call_list(c, 0, err), *pair;
	auto_json json_t *result = json_array();
	size_t i;

	if (pairs == NULL)
		return NULL;
	json_array_foreach ((json_t *)pairs, i, pair) {
		if (rename_queue_file(c, pair, err) < 0)
			return NULL;
		json_array_append_new(result, json_null());
	}
	return steal(&result);
}

json_t *call_jobqueue_purge(struct call *c, struct error *err)
{
	const char *folder = path(c->paths, PATH_QUEUE_DIR);
	auto_strv struct strv names = {0};

	if (!fs_is_dir(folder))
		return json_null();
	if (fs_list(folder, &names, err) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);

		/* Who holds the lock must not lose it. */
		if (strcmp(names.items[i], "lock") != 0 &&
		    fs_remove_tree(file, err) < 0)
			return NULL;
	}
	return json_null();
}

json_t *call_jobqueue_set_drain_flag(struct call *c, struct error *err)
{
	const char *file = path(c->paths, PATH_QUEUE_DRAIN);
	int rc;

	if (call_flag(c, 0))
		rc = make_folder_of(file, QUEUE_FOLDER_MODE, err) < 0
			     ? -1
			     : write_file(file, "", 0, QUEUE_FILE_MODE, err);
	else
		rc = fs_remove(file, err);
	return rc < 0 ? NULL : json_null();
}

json_t *call_set_watcher_pause(struct call *c, struct error *err)
{
	const char *file = path(c->paths, PATH_WATCHER_PAUSE);
	const json_t *until = json_array_get(c->args, 0);
	auto_free char *text = NULL;
	int rc;

	if (json_is_null(until)) {
		rc = fs_remove(file, err);
	} else if (isnan(time_or_nan(until))) {
		rc = error_set(err, ERR_REQUEST, NULL,
			       "Invalid value for watcher pause: a time or "
			       "null is needed");
	} else {
		text = xprintf("%.0f\n", json_number_value(until));
		rc = write_file(file, text, strlen(text), 0644, err);
	}
	return rc < 0 ? NULL : json_null();
}

json_t *call_get_watcher_pause(struct call *c, struct error *err)
{
	const char *file = path(c->paths, PATH_WATCHER_PAUSE);
	auto_free char *text = NULL;
	char *end;
	int64_t until;

	if (!fs_exists(file))
		return json_null();
	text = fs_read(file, WATCHER_PAUSE_MAX, NULL, err);
	if (text == NULL)
		return NULL;
	until = strtoll(text, &end, 10);
	return end != text ? json_integer(until) : json_null();
}

/* --- /etc/hosts --- */

/* Does this line map an address to the host? */
static bool line_names(const char *line, const char *host)
{
	auto_free char *copy = xstrndup(line, strcspn(line, "#"));
	char *rest = NULL;
	bool first = true;

	for (char *word = strtok_r(copy, " \t", &rest); word != NULL;
	     word = strtok_r(NULL, " \t", &rest)) {
		if (!first && strcmp(word, host) == 0)
			return true;
		first = false;
	}
	return false;
}

static char *edit_hosts(const char *text, const char *host, const char *ip)
{
	auto_strv struct strv lines = {0};
	struct buf out = {0};

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (!line_names(lines.items[i], host) &&
		    (i + 1 < lines.n || *lines.items[i] != '\0'))
			buf_addf(&out, "%s\n", lines.items[i]);
	if (ip != NULL)
		buf_addf(&out, "%s\t%s %.*s\n", ip, host,
			 (int)strcspn(host, "."), host);
	return buf_steal(&out);
}

/* Arguments: "add" or "remove", host, address.  The machine's file is not a
 * virtual node's to change. */
json_t *call_etc_hosts_modify(struct call *c, struct error *err)
{
	const char *mode = call_str(c, 0, err);
	const char *host = mode != NULL ? call_str(c, 1, err) : NULL;
	const char *ip = json_string_value(json_array_get(c->args, 2));
	bool add = str_eq(mode, "add");
	auto_free char *text = NULL, *new_text = NULL;

	if (host == NULL)
		return NULL;
	if (!str_valid_hostname(host) || (!add && !str_eq(mode, "remove")) ||
	    (add && (ip == NULL || strpbrk(ip, " \t\r\n#") != NULL))) {
		error_set(err, ERR_REQUEST, NULL,
			  "Call %s takes \"add\", host and address or "
			  "\"remove\", host, null",
			  c->procedure);
		return NULL;
	}
	if (noded_is_virtual(c->n))
		return json_true();
	text = fs_read("/etc/hosts", HOSTS_MAX, NULL, err);
	if (text == NULL)
		return NULL;
	new_text = edit_hosts(text, host, add ? ip : NULL);
	if (write_file("/etc/hosts", new_text, strlen(new_text), 0644, err) < 0)
		return NULL;
	return json_true();
}
