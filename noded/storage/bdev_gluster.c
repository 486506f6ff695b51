/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are files on a volume of Gluster: logical_id [driver, path in the
 * volume].  The volume is mounted below the cluster's folder for it whenever it
 * is needed, and stays mounted, as other disks may be on it.  From there a disk
 * is a file like others (bdev_file.c).  Where its way of access is "userspace",
 * QEMU opens it by libgfapi. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "noded/storage/bdev.h"
#include "noded/storage/storage_tool.h"

#define MOUNTS "/proc/mounts"
#define MOUNTS_MAX (4u * 1024 * 1024)
#define PORT 24007
#define MOUNT_MODE 0755

static const char *param(const json_t *disk, const char *key)
{
	return json_str(json_get(disk, "params"), key, "");
}

static int64_t port_of(const json_t *disk)
{
	return json_int(json_get(disk, "params"), "port", PORT);
}

/* The path in the volume, borrowed; NULL with err. */
static const char *path_in_volume(const json_t *disk, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *file = json_string_value(json_array_get(id, 1));
	auto_free char *whole = xprintf("/%s", file != NULL ? file : "");

	if (json_array_size(id) == 2 && file != NULL && *file != '/' &&
	    paths_is_normal(whole))
		return file;
	error_set(err, ERR_BLOCKDEV, NULL,
		  "The logical_id of a disk on Gluster must be [driver, path "
		  "in the volume]");
	return NULL;
}

/* --- mount --- */

/* The virtual folder; to be freed, NULL with err. */
static char *mount_folder(const struct paths *p, struct error *err)
{
	auto_free char *folder = ssconf_read(p, "gluster_storage_dir");

	if (folder != NULL && paths_is_normal(folder))
		return steal(&folder);
	error_set(err, ERR_BLOCKDEV, NULL,
		  "The cluster has no folder for Gluster (gnt-cluster modify "
		  "--gluster-storage-dir)");
	return NULL;
}

/* What is mounted there, to be freed; NULL: nothing.  The kernel's list has a
 * line "what where type options ..." for each, the newest last; a virtual node
 * has a list of its own. */
static char *mounted(const struct paths *p, const char *folder)
{
	auto_free char *file = paths_local(p, MOUNTS);
	/* /var/run is a link on most hosts, and the list has the target. */
	auto_free char *real = realpath(folder, NULL);
	struct error ignored;
	auto_free char *text = fs_read(file, MOUNTS_MAX, NULL, &ignored);
	auto_strv struct strv lines = {0};
	char *what = NULL;

	if (text != NULL)
		str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv words = {0};

		str_split(&words, lines.items[i], ' ');
		if (words.n < 2 || (!str_eq(words.items[1], folder) &&
				    !str_eq(words.items[1], real)))
			continue;
		free(what);
		what = xstrdup(words.items[0]);
	}
	return what;
}

/* Whether "HOST:VOLUME" or "HOST:/VOLUME" is this one.  The host may be another
 * one of the same servers. */
static bool is_volume(const char *what, const char *volume)
{
	const char *colon = strrchr(what, ':');
	const char *name = colon == NULL ? what : colon + 1;

	return strcmp(name + (*name == '/'), volume) == 0;
}

/* 1 if the disk's volume is mounted there, 0 if nothing is, or -1: another
 * one's files would be taken for its own. */
static int is_mounted(const struct paths *p, const json_t *disk,
		      const char *folder, struct error *err)
{
	auto_free char *what = mounted(p, folder);
	const char *volume = param(disk, "volume");

	if (what == NULL)
		return 0;
	if (is_volume(what, volume))
		return 1;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s is mounted on %s in place of the volume \"%s\"; "
			 "when nothing uses it, umount %s",
			 what, folder, volume, folder);
}

static bool is_word(const char *text)
{
	return !str_empty(text) && *text != '-' &&
	       strcspn(text, "/, \t\n") == strlen(text);
}

static WAITS int run_mount(const struct paths *p, const json_t *disk,
			   const char *folder, struct error *err)
{
	const char *host = param(disk, "host"), *volume = param(disk, "volume");
	auto_free char *local = paths_local(p, folder);
	auto_free char *port =
		xprintf("server-port=%jd", (intmax_t)port_of(disk));
	auto_free char *what = xprintf("%s:/%s", host, volume);
	const char *const argv[] = {"mount", "-t", "glusterfs", "-o",
				    port,    what, local,	NULL};
	int is;

	if (!is_word(host) || !is_word(volume))
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "\"%s\" of \"%s\" is no volume of Gluster",
				 volume, host);
	if (fs_mkdirs(local, MOUNT_MODE, err) < 0 ||
	    storage_tool_check(p, argv, err) < 0)
		return -1;
	/* mount.glusterfs also succeeds when it fails. */
	is = is_mounted(p, disk, folder, err);
	if (is != 0)
		return is < 0 ? -1 : 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "mount says nothing, but %s is not mounted; is the "
			 "volume started (gluster volume info %s), and does "
			 "%s answer at port %jd?",
			 folder, volume, host, (intmax_t)port_of(disk));
}

/* The disk as a file below the mounted folder; to be freed, NULL with err. */
static WAITS json_t *as_file(const struct paths *p, const json_t *disk,
			     struct error *err)
{
	auto_free char *folder = mount_folder(p, err);
	const char *file = path_in_volume(disk, err);
	const json_t *driver = json_array_get(json_get(disk, "logical_id"), 0);
	json_t *copy;
	int is;

	if (folder == NULL || file == NULL)
		return NULL;
	is = is_mounted(p, disk, folder, err);
	if (is < 0 || (is == 0 && run_mount(p, disk, folder, err) < 0))
		return NULL;
	copy = json_copy(json_unconst(disk));
	json_object_set_new(copy, "logical_id",
			    json_make("[O, o]", driver,
				      json_sprintf("%s/%s", folder, file)));
	json_object_set_new(copy, "params", json_object());
	return copy;
}

/* --- the class --- */

static WAITS int make_folder(const struct paths *p, const json_t *file,
			     struct error *err)
{
	const char *path = json_string_value(
		json_array_get(json_get(file, "logical_id"), 1));
	auto_free char *folder =
		xstrndup(path, (size_t)(strrchr(path, '/') - path));

	return bdev_file_make_folder(p, folder, err);
}

static WAITS int gluster_create(const struct paths *p, const json_t *disk,
				const struct bdev_new *new, struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	if (file == NULL || make_folder(p, file, err) < 0)
		return -1;
	return bdev_file.create(p, file, new, err);
}

static WAITS int gluster_remove(const struct paths *p, const json_t *disk,
				struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.remove(p, file, err) : -1;
}

static WAITS int gluster_find(const struct paths *p, const json_t *disk,
			      char **ret_path, struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.find(p, file, ret_path, err) : -1;
}

static WAITS char *gluster_assemble(const struct paths *p, const json_t *disk,
				    struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.assemble(p, file, err) : NULL;
}

static int gluster_shutdown(const struct paths *p, const json_t *disk,
			    struct error *err)
{
	(void)p, (void)disk, (void)err;
	return 0;
}

static WAITS int64_t gluster_size(const struct paths *p, const json_t *disk,
				  struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.size(p, file, err) : -1;
}

static WAITS int gluster_grow(const struct paths *p, const json_t *disk,
			      const struct bdev_growth *growth,
			      struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.grow(p, file, growth, err) : -1;
}

static WAITS int gluster_wipe(const struct paths *p, const json_t *disk,
			      int64_t offset_mib, int64_t size_mib,
			      struct error *err)
{
	auto_json json_t *file = as_file(p, disk, err);

	return file != NULL ? bdev_file.wipe(p, file, offset_mib, size_mib, err)
			    : -1;
}

static char *gluster_uri(const json_t *disk)
{
	struct error ignored;
	const char *file = path_in_volume(disk, &ignored);
	const char *host = param(disk, "host"), *volume = param(disk, "volume");
	bool six = strchr(host, ':') != NULL;

	if (file == NULL || !is_word(host) || !is_word(volume))
		return NULL;
	return xprintf("gluster://%s%s%s:%jd/%s/%s", six ? "[" : "", host,
		       six ? "]" : "", (intmax_t)port_of(disk), volume, file);
}

const struct bdev_class bdev_gluster = {
	.dev_type = "gluster",
	.create = gluster_create,
	.remove = gluster_remove,
	.find = gluster_find,
	.assemble = gluster_assemble,
	.shutdown = gluster_shutdown,
	.size = gluster_size,
	.grow = gluster_grow,
	.wipe = gluster_wipe,
	.uri = gluster_uri,
};
