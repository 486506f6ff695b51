/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that write files: the configuration and files beside it, ssconf, the
 * watcher's pause, /etc/hosts.  The master gives the content; which files may
 * be written is decided here. */
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

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/content.h"
#include "lib/model/files/etc_hosts.h"
#include "lib/model/opcode/os_image.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/image.h"

#define WATCHER_PAUSE_MAX 64

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
	for (size_t i = 0; i < ARRAY_SIZE(uploads); i++)
		if (strcmp(uploads[i], virtual_path) == 0)
			return true;
	return false;
}

/* Of files; the year 9999 is not far from it. */
#define SECONDS_MAX 2.5e11

/* The time, NaN if there is none. */
static double time_or_nan(double seconds)
{
	return seconds != 0 && fabs(seconds) <= SECONDS_MAX ? seconds : NAN;
}

/* Ganeti's users may not exist here; then the file belongs to us. */
static void set_owner(const char *file,
		      const struct rpc_args_upload_file_single *args)
{
	struct passwd *pw = args->user != NULL ? getpwnam(args->user) : NULL;
	struct group *gr = args->group != NULL ? getgrnam(args->group) : NULL;

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
static WAITS int write_file(const struct call *c, const char *file,
			    const char *data, size_t len, mode_t mode,
			    struct error *err)
{
	struct disk *disk = c->n->candidate.disk;
	int rc;

	task_leave(); /* all arguments are ours alone */
	rc = disk->write_atomic(disk, file, data, len, mode, err);
	task_enter();
	return rc;
}

static int make_folder_of(const struct call *c, const char *file, mode_t mode,
			  struct error *err)
{
	struct disk *disk = c->n->candidate.disk;
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	return disk->mkdirs(disk, folder, mode, err);
}

/* The file has its final times now; they are a part of the note. */
static WAITS int note_digest(const struct call *c, const char *data, size_t len,
			     struct error *err)
{
	int rc;

	task_leave(); /* all arguments are ours alone, the paths never change */
	rc = config_digest_note(c->n->candidate.disk, c->paths, data, len, err);
	task_enter();
	return rc;
}

static WAITS int do_upload(struct call *c, const char *virtual_path,
			   const struct rpc_args_upload_file_single *args,
			   struct error *err)
{
	auto_free char *file = NULL, *data = NULL;
	size_t len;

	if (!may_upload(virtual_path))
		return error_set(
			err, ERR_REQUEST, NULL,
			"Filename passed to upload_file not in allowed "
			"upload targets: '%s'",
			virtual_path);
	if (args->mode < 0 || args->mode > 07777777)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid mode %" PRId64 " for %s", args->mode,
				 virtual_path);
	data = content_read(args->content, &len, err);
	if (data == NULL)
		return -1;
	file = paths_local(c->paths, virtual_path);
	if (make_folder_of(c, file, 0755, err) < 0 ||
	    write_file(c, file, data, len, (mode_t)args->mode & 07777, err) < 0)
		return -1;
	set_owner(file, args);
	utimensat(AT_FDCWD, file,
		  (struct timespec[2]){to_timespec(time_or_nan(args->atime)),
				       to_timespec(time_or_nan(args->mtime))},
		  0);
	if (strcmp(file, path(c->paths, PATH_CONFIG_DATA)) == 0)
		return note_digest(c, data, len, err);
	return 0;
}

WAITS json_t *
call_upload_file_single(struct call *c,
			const struct rpc_args_upload_file_single *args,
			struct error *err)
{
	/* The path without the mark that Ganeti puts before virtual paths. */
	auto_free char *local = paths_local(c->paths, args->file);
	const char *virtual_path = local + strlen(c->paths->root);

	return do_upload(c, virtual_path, args, err) < 0 ? NULL : json_null();
}

/* A list of the arguments of upload_file_single. */
WAITS json_t *call_upload_file(struct call *c,
			       const struct rpc_args_upload_file *args,
			       struct error *err)
{
	struct rpc_args_upload_file_single single;

	if (rpc_read(&rpc_procedure_upload_file_single, args->file, &single,
		     err) < 0)
		return NULL;
	return call_upload_file_single(c, &single, err);
}

WAITS json_t *
call_write_ssconf_files(struct call *c,
			const struct rpc_args_write_ssconf_files *args,
			struct error *err)
{
	int rc;

	task_leave(); /* the arguments are ours alone, the paths never change */
	rc = ssconf_write(c->n->candidate.disk, c->paths, args->values, err);
	task_enter();
	return rc < 0 ? NULL : json_null();
}

WAITS json_t *
call_set_watcher_pause(struct call *c,
		       const struct rpc_args_set_watcher_pause *args,
		       struct error *err)
{
	struct disk *disk = c->n->candidate.disk;
	const char *file = path(c->paths, PATH_WATCHER_PAUSE);
	double until = json_number_value(args->until);
	auto_free char *text = NULL;
	int rc;

	if (args->until == NULL) {
		rc = disk->remove(disk, file, err);
	} else if (!json_is_number(args->until) || fabs(until) > SECONDS_MAX) {
		rc = error_set(err, ERR_REQUEST, NULL,
			       "Invalid value for watcher pause: a time or "
			       "null is needed");
	} else {
		text = xprintf("%.0f\n", until);
		rc = write_file(c, file, text, strlen(text), 0644, err);
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

/* A virtual node has a file of its own, below its root. */
WAITS json_t *
call_etc_hosts_modify(struct call *c,
		      const struct rpc_args_etc_hosts_modify *args,
		      struct error *err)
{
	const char *host = args->host, *ip = args->ip;
	bool add = strcmp(args->mode, "add") == 0;
	const char *file = path(c->paths, PATH_ETC_HOSTS);
	struct disk *disk = c->n->candidate.disk;
	size_t len;
	auto_free char *text = NULL, *new_text = NULL;

	if (!str_valid_hostname(host) ||
	    (!add && strcmp(args->mode, "remove") != 0) ||
	    (add &&
	     (ip == NULL || *ip == '\0' || strpbrk(ip, " \t\r\n#") != NULL))) {
		error_set(err, ERR_REQUEST, NULL,
			  "Call %s takes \"add\", host and address or "
			  "\"remove\", host, null",
			  c->procedure);
		return NULL;
	}
	text = disk->exists(disk, file)
		       ? disk->read(disk, file, ETC_HOSTS_MAX, &len, err)
		       : xstrdup("");
	if (text == NULL)
		return NULL;
	new_text = add ? etc_hosts_add(text, ip, host)
		       : etc_hosts_remove(text, host);
	if (make_folder_of(c, file, 0755, err) < 0 ||
	    write_file(c, file, new_text, strlen(new_text), 0644, err) < 0)
		return NULL;
	return json_true();
}

/* About an image on a server. */
static WAITS json_t *url_info(const char *url, struct error *err)
{
	int64_t bytes = image_size(url, err);

	return bytes < 0
		       ? NULL
		       : json_make("[b, {s:I}]", 1, "size", (json_int_t)bytes);
}

/* The file is a path on this machine, or a URL.  The answer is [whether it
 * exists, {"size": bytes}]. */
WAITS json_t *call_get_file_info(struct call *c,
				 const struct rpc_args_get_file_info *args,
				 struct error *err)
{
	struct stat st;
	int rc;

	(void)c;
	if (os_image_is_url(args->file))
		return url_info(args->file, err);
	task_leave(); /* it may be on another host */
	rc = stat(args->file, &st);
	task_enter();
	if (rc < 0 || !S_ISREG(st.st_mode))
		return json_make("[b, {}]", 0);
	return json_make("[b, {s:I}]", 1, "size", (json_int_t)st.st_size);
}
