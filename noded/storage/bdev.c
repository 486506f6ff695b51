/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of storage classes, and the links by which hypervisors find an
 * instance's disks.  A link is replaced by renaming a new one over it.
 * bdev_unlink_target() reads all links, since nothing else records which of
 * them lead to a device. */
#include "noded/storage/bdev.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"

static const struct bdev_class *const classes[] = {
#define STORAGE(...)
#define DRIVEN(class) &bdev_##class,
#define UNDRIVEN(class)
#define DISK_TEMPLATE(id, class, driver, ...) driver(class)
#include "lib/model/kinds/templates.def"
#undef STORAGE
#undef DRIVEN
#undef UNDRIVEN
#undef DISK_TEMPLATE
};

#define N_CLASSES ARRAY_SIZE(classes)

const struct bdev_class *bdev_of(const json_t *disk, struct error *err)
{
	const char *type = json_str(disk, "dev_type", "");

	for (size_t i = 0; i < N_CLASSES; i++)
		if (strcmp(classes[i]->dev_type, type) == 0)
			return classes[i];
	error_set(err, ERR_BLOCKDEV, NULL,
		  "Disks of type '%s' are not supported by this node daemon",
		  type);
	return NULL;
}

void bdev_look_done(struct bdev_look *look)
{
	json_decref(steal(&look->volumes));
	free(steal(&look->drbd));
	free(steal(&look->drbd_show));
}

/* Two names with the same numbers mean one device. */
static void add_numbers(const char *file, json_t *status)
{
	struct stat st;

	if (stat(file, &st) < 0 || !S_ISBLK(st.st_mode))
		return;
	json_set_int(status, "major", major(st.st_rdev));
	json_set_int(status, "minor", minor(st.st_rdev));
}

/* Of a class that knows nothing but whether the disk is there. */
static WAITS json_t *simple_status(const struct paths *p, const json_t *disk,
				   const struct bdev_class *class,
				   struct error *err)
{
	auto_free char *file = NULL, *virtual_file = NULL;
	int rc = class->find(p, disk, &file, err);
	json_t *status;

	if (rc <= 0)
		return rc < 0 ? NULL : json_null();
	virtual_file = paths_virtual(p, file);
	status = json_make("{s:s, s:b, s:i}", "dev_path", virtual_file,
			   "is_degraded", 0, "ldisk_status", BDEV_OKAY);
	add_numbers(file, status);
	return status;
}

WAITS json_t *bdev_status(const struct paths *p, const json_t *disk,
			  struct bdev_look *look, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	auto_look struct bdev_look own = {0};

	if (class == NULL)
		return NULL;
	if (class->status == NULL)
		return simple_status(p, disk, class, err);
	return class->status(p, disk, look != NULL ? look : &own, err);
}

char *bdev_uri(const json_t *disk)
{
	const char *access =
		json_str(json_get(disk, "params"), "access", "kernelspace");
	struct error ignored;
	const struct bdev_class *class = bdev_of(disk, &ignored);

	return class != NULL && class->uri != NULL &&
			       strcmp(access, "userspace") == 0
		       ? class->uri(disk)
		       : NULL;
}

char *bdev_link_path(const struct paths *p, const char *instance, int64_t index)
{
	return xprintf("%s/%s:%" PRId64, path(p, PATH_INSTANCE_DISKS_DIR),
		       instance, index);
}

static bool links_to(const char *link, const char *target)
{
	char found[PATH_MAX];
	ssize_t n = readlink(link, found, sizeof(found) - 1);

	if (n < 0)
		return false;
	found[n] = '\0';
	return strcmp(found, target) == 0;
}

int bdev_link(const struct paths *p, const char *instance, int64_t index,
	      const char *target, struct error *err)
{
	auto_free char *link = bdev_link_path(p, instance, index);
	auto_free char *fresh = NULL;

	if (links_to(link, target))
		return 0;
	if (fs_mkdirs(path(p, PATH_INSTANCE_DISKS_DIR), 0755, err) < 0)
		return -1;
	/* Made beside the folder and renamed into it, so that a link is never
	 * missing. */
	fresh = xprintf("%s.new", path(p, PATH_INSTANCE_DISKS_DIR));
	unlink(fresh);
	if (symlink(target, fresh) < 0 || rename(fresh, link) < 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "Cannot link %s to %s: %s", link, target,
				 strerror(errno));
	return 0;
}

int bdev_unlink(const struct paths *p, const char *instance, int64_t index,
		struct error *err)
{
	auto_free char *link = bdev_link_path(p, instance, index);

	return fs_remove(link, err);
}

void bdev_unlink_target(const struct paths *p, const char *target)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (fs_list(path(p, PATH_INSTANCE_DISKS_DIR), &names, &err) < 0)
		return; /* no folder, no links */
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *link =
			xprintf("%s/%s", path(p, PATH_INSTANCE_DISKS_DIR),
				names.items[i]);

		if (links_to(link, target))
			unlink(link);
	}
}

char *bdev_user(const struct paths *p, const char *target)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (fs_list(path(p, PATH_INSTANCE_DISKS_DIR), &names, &err) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *link =
			xprintf("%s/%s", path(p, PATH_INSTANCE_DISKS_DIR),
				names.items[i]);
		const char *colon = strrchr(names.items[i], ':');

		if (colon != NULL && links_to(link, target))
			return xstrndup(names.items[i],
					(size_t)(colon - names.items[i]));
	}
	return NULL;
}

int64_t bdev_index(const json_t *disk, int64_t fallback)
{
	const char *name = json_str(disk, "iv_name", "");
	int64_t index;

	if (str_starts(name, "disk/") && str_to_int64(name + 5, &index) &&
	    index >= 0)
		return index;
	return fallback;
}
