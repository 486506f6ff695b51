/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are devices of the host, which somebody else keeps: logical_id
 * ["manual", path below /dev].  They are there or not; nothing makes, grows or
 * removes them. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "noded/storage/bdev_device.h"

/* Its path, borrowed; NULL with err. */
static const char *path_of(const json_t *disk, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *path = json_string_value(json_array_get(id, 1));

	if (json_array_size(id) == 2 && path != NULL && paths_is_normal(path) &&
	    paths_is_below(path, "/dev") && strcmp(path, "/dev") != 0)
		return path;
	error_set(err, ERR_BLOCKDEV, NULL,
		  "The logical_id of a disk that is a device must be "
		  "[\"manual\", path below /dev]");
	return NULL;
}

static int look(const struct paths *p, const json_t *disk, char **ret_path,
		struct error *err)
{
	const char *path = path_of(disk, err);
	auto_free char *local = NULL;
	struct stat st;

	if (path == NULL)
		return -1;
	local = paths_local(p, path);
	if (stat(local, &st) < 0)
		return errno == ENOENT ? 0
				       : error_set(err, ERR_BLOCKDEV, NULL,
						   "%s: can't look at: %s",
						   path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s is not a block device", path);
	*ret_path = steal(&local);
	return 1;
}

static char *block_assemble(const struct paths *p, const json_t *disk,
			    struct error *err)
{
	char *local = NULL;

	if (look(p, disk, &local, err) == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "%s: there is no such device on this node",
			  path_of(disk, err));
	return local;
}

static int block_create(const struct paths *p, const json_t *disk,
			const struct bdev_new *new, struct error *err)
{
	auto_free char *local = block_assemble(p, disk, err);

	(void)new;
	return local != NULL ? 0 : -1;
}

/* What is on it stays. */
static int block_leave(const struct paths *p, const json_t *disk,
		       struct error *err)
{
	(void)p;
	return path_of(disk, err) != NULL ? 0 : -1;
}

static WAITS int64_t block_size(const struct paths *p, const json_t *disk,
				struct error *err)
{
	auto_free char *local = block_assemble(p, disk, err);

	return local != NULL ? bdev_device_bytes(local, err) : -1;
}

static WAITS int block_wipe(const struct paths *p, const json_t *disk,
			    int64_t offset_mib, int64_t size_mib,
			    struct error *err)
{
	auto_free char *local = block_assemble(p, disk, err);

	return local != NULL
		       ? bdev_device_wipe(local, offset_mib, size_mib, err)
		       : -1;
}

const struct bdev_class bdev_blockdev = {
	.dev_type = "blockdev",
	.create = block_create,
	.remove = block_leave,
	.find = look,
	.assemble = block_assemble,
	.shutdown = block_leave,
	.size = block_size,
	.wipe = block_wipe,
};
