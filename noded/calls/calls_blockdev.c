/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the disks of instances and the folders of file-based ones. */
#include <string.h>

#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/image.h"
#include "noded/storage/bdev.h"

/* Ganeti's ldisk_status of a disk that is fine. */
#define LDISK_OKAY 1

/* The class of the disk in argument i, and the disk itself; NULL and err. */
static const struct bdev_class *call_disk(const struct call *c, size_t i,
					  const json_t **ret_disk,
					  struct error *err)
{
	*ret_disk = call_object(c, i, err);
	return *ret_disk != NULL ? bdev_of(*ret_disk, err) : NULL;
}

static json_t *null_or_error(int rc)
{
	return rc < 0 ? NULL : json_null();
}

/* Store the owner's name with the disk, if its storage can do that. */
static int keep_info(struct call *c, const struct bdev_class *class,
		     const json_t *disk, const json_t *info, struct error *err)
{
	if (class->setinfo == NULL || !json_is_string(info))
		return 0;
	return class->setinfo(c->paths, disk, json_string_value(info), err);
}

/* Arguments: disk, size, owner, on_primary, info, exclusive_storage. */
json_t *call_blockdev_create(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	int64_t size;

	if (class == NULL || call_int(c, 1, &size, err) < 0)
		return NULL;
	if (class->create(c->paths, disk, size, err) < 0 ||
	    keep_info(c, class, disk, json_array_get(c->args, 4), err) < 0) {
		error_wrap(err, "Can't create block device");
		return NULL;
	}
	return json_deep_copy(json_object_get(disk, "logical_id"));
}

json_t *call_blockdev_remove(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	auto_free char *file = NULL;

	if (class == NULL)
		return NULL;
	if (image_end(c->paths, disk, err) < 0)
		return NULL;
	if (class->find(c->paths, disk, &file, err) == 1)
		bdev_unlink_target(c->paths, file);
	return null_or_error(class->remove(c->paths, disk, err));
}

/* The instance's name from an argument that is an instance object or a name. */
static const char *call_instance_name(const struct call *c, size_t i,
				      struct error *err)
{
	const json_t *value = json_array_get(c->args, i);
	const char *name = json_is_string(value) ? json_string_value(value)
						 : json_str(value, "name", "");

	if (str_valid_hostname(name))
		return name;
	error_set(err, ERR_REQUEST, NULL,
		  "Call %s: argument %zu must be an instance with a valid name",
		  c->procedure, i + 1);
	return NULL;
}

json_t *call_blockdev_assemble(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	const char *instance;
	auto_free char *file = NULL, *link = NULL;
	auto_free char *virtual_file = NULL, *virtual_link = NULL;
	int64_t index = json_integer_value(json_array_get(c->args, 3));

	if (class == NULL)
		return NULL;
	instance = call_instance_name(c, 1, err);
	if (instance == NULL)
		return NULL;
	file = class->assemble(c->paths, disk, err);
	if (file == NULL) {
		error_wrap(err, "Can't assemble block device");
		return NULL;
	}
	if (!call_flag(c, 2))
		return json_make("[b, b]", 1, 1);
	if (class->open != NULL && class->open(c->paths, disk, true, err) < 0)
		return NULL;
	if (bdev_link(c->paths, instance, index, file, err) < 0)
		return NULL;
	link = bdev_link_path(c->paths, instance, index);
	virtual_file = paths_virtual(c->paths, file);
	virtual_link = paths_virtual(c->paths, link);
	return json_make("[s, s, n]", virtual_file, virtual_link);
}

json_t *call_blockdev_shutdown(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	auto_free char *file = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, disk, &file, err);
	if (rc < 0)
		return NULL;
	if (rc == 1)
		bdev_unlink_target(c->paths, file);
	return null_or_error(class->shutdown(c->paths, disk, err));
}

/* Do one(c, instance, index, disk) for each disk of the list in argument 1. */
static json_t *each_disk(struct call *c,
			 int (*one)(struct call *c, const char *instance,
				    int64_t index, const json_t *disk,
				    struct error *err),
			 struct error *err)
{
	const char *instance = call_instance_name(c, 0, err);
	const json_t *disks, *disk;
	size_t i;

	if (instance == NULL)
		return NULL;
	disks = call_list(c, 1, err);
	if (disks == NULL)
		return NULL;
	json_array_foreach (disks, i, disk)
		if (one(c, instance, bdev_index(disk, (int64_t)i), disk, err) <
		    0)
			return NULL;
	return json_null();
}

static int open_one(struct call *c, const char *instance, int64_t index,
		    const json_t *disk, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	auto_free char *file = NULL;

	if (class == NULL)
		return -1;
	file = class->assemble(c->paths, disk, err);
	if (file == NULL)
		return error_wrap(err, "Can't make device primary");
	if (class->open != NULL &&
	    class->open(c->paths, disk, call_flag(c, 2), err) < 0)
		return -1;
	return bdev_link(c->paths, instance, index, file, err);
}

json_t *call_blockdev_open(struct call *c, struct error *err)
{
	return each_disk(c, open_one, err);
}

static int close_one(struct call *c, const char *instance, int64_t index,
		     const json_t *disk, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);

	if (class == NULL || bdev_unlink(c->paths, instance, index, err) < 0)
		return -1;
	return class->close != NULL ? class->close(c->paths, disk, err) : 0;
}

json_t *call_blockdev_close(struct call *c, struct error *err)
{
	return each_disk(c, close_one, err);
}

/* Ganeti's BlockDevStatus; JSON null when the disk does not exist, NULL with
 * err when that cannot be found out. */
static json_t *disk_status(const struct paths *p, const json_t *disk,
			   struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	auto_free char *file = NULL, *virtual_file = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(p, disk, &file, err);
	if (rc <= 0)
		return null_or_error(rc);
	virtual_file = paths_virtual(p, file);
	return json_make("{s:s, s:b, s:i}", "dev_path", virtual_file,
			 "is_degraded", 0, "ldisk_status", LDISK_OKAY);
}

json_t *call_blockdev_find(struct call *c, struct error *err)
{
	const json_t *disk = call_object(c, 0, err);

	return disk != NULL ? disk_status(c->paths, disk, err) : NULL;
}

/* The same; a disk that does not exist is an error. */
static json_t *need_status(const struct paths *p, const json_t *disk,
			   struct error *err)
{
	json_t *status = disk_status(p, disk, err);
	auto_free char *id = NULL;

	if (!json_is_null(status))
		return status;
	id = json_text(json_object_get(disk, "logical_id"));
	error_set(err, ERR_BLOCKDEV, NULL, "Can't find device %s",
		  id != NULL ? id : "without logical_id");
	return NULL;
}

json_t *call_blockdev_getmirrorstatus(struct call *c, struct error *err)
{
	const json_t *disks = call_list(c, 0, err), *disk;
	auto_json json_t *result = json_array();
	size_t i;

	if (disks == NULL)
		return NULL;
	json_array_foreach (disks, i, disk) {
		json_t *status = need_status(c->paths, disk, err);

		if (status == NULL)
			return NULL;
		json_array_append_new(result, status);
	}
	return steal(&result);
}

/* The master may send this call to several nodes, each with a list of its own;
 * what arrives here is only this node's list. */
json_t *call_blockdev_getmirrorstatus_multi(struct call *c, struct error *err)
{
	const json_t *disks = call_list(c, 0, err), *disk;
	json_t *result;
	size_t i;

	if (disks == NULL)
		return NULL;
	result = json_array();
	json_array_foreach (disks, i, disk) {
		struct error bad;
		json_t *status = need_status(c->paths, disk, &bad);

		json_array_append_new(
			result, status != NULL
					? json_make("[b, o]", 1, status)
					: json_make("[b, s]", 0, bad.text));
	}
	return result;
}

json_t *call_blockdev_getdimensions(struct call *c, struct error *err)
{
	const json_t *disks = call_list(c, 0, err), *disk;
	json_t *result;
	size_t i;

	if (disks == NULL)
		return NULL;
	result = json_array();
	json_array_foreach (disks, i, disk) {
		const struct bdev_class *class = bdev_of(disk, err);
		int64_t bytes =
			class != NULL ? class->size(c->paths, disk, err) : -1;

		json_array_append_new(
			result,
			bytes < 0 ? json_null()
				  : json_make("[I, n]", (json_int_t)bytes));
	}
	return result;
}

json_t *call_blockdev_grow(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	int64_t amount;

	if (class == NULL || call_int(c, 1, &amount, err) < 0)
		return NULL;
	if (class->grow == NULL) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Disks of type '%s' cannot grow", class->dev_type);
		return NULL;
	}
	if (class->grow(c->paths, disk, amount, call_flag(c, 2),
			call_flag(c, 3), err) < 0) {
		error_wrap(err, "Failed to grow block device");
		return NULL;
	}
	return json_null();
}

/* A text for the storage to keep with the disk; files have no place for it.
 * Arguments: disk, text. */
json_t *call_blockdev_setinfo(struct call *c, struct error *err)
{
	const json_t *disk;
	auto_free char *file = NULL;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, disk, &file, err);
	if (rc == 1 &&
	    keep_info(c, class, disk, json_array_get(c->args, 1), err) < 0)
		return NULL;
	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot find block device %s to set its information",
			  json_str(disk, "iv_name", "disk"));
	return rc == 1 ? json_null() : NULL;
}

json_t *call_blockdev_rename(struct call *c, struct error *err)
{
	const json_t *pairs = call_list(c, 0, err), *pair;
	size_t i;

	if (pairs == NULL)
		return NULL;
	json_array_foreach (pairs, i, pair) {
		const json_t *disk = json_array_get(pair, 0);
		const json_t *new_id = json_array_get(pair, 1);
		const struct bdev_class *class = bdev_of(disk, err);

		if (class == NULL)
			return NULL;
		if (class->rename == NULL || new_id == NULL) {
			error_set(err, ERR_BLOCKDEV, NULL,
				  "Disks of type '%s' cannot be renamed so",
				  class->dev_type);
			return NULL;
		}
		if (class->rename(c->paths, disk, new_id, err) < 0)
			return NULL;
	}
	return json_null();
}

json_t *call_blockdev_wipe(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	int64_t offset, size;

	if (class == NULL || call_int(c, 1, &offset, err) < 0 ||
	    call_int(c, 2, &size, err) < 0)
		return NULL;
	if (class->wipe == NULL) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Disks of type '%s' cannot be wiped",
			  class->dev_type);
		return NULL;
	}
	return null_or_error(class->wipe(c->paths, disk, offset, size, err));
}

/* How many bytes an image may have: the size of the instance's disk, even if
 * its storage has allocated more; -1 with err. */
static WAITS int64_t image_room(struct call *c, const struct bdev_class *class,
				const json_t *disk, int64_t size_mib,
				struct error *err)
{
	int64_t bytes = class->size(c->paths, disk, err);

	if (size_mib <= 0 || size_mib > INT64_MAX / MIB)
		return error_set(err, ERR_REQUEST, NULL,
				 "%jd MiB is no size of a disk",
				 (intmax_t)size_mib);
	return bytes < 0 || bytes < size_mib * MIB ? bytes : size_mib * MIB;
}

/* Arguments: disk, image, size. */
json_t *call_blockdev_image(struct call *c, struct error *err)
{
	const json_t *disk;
	const struct bdev_class *class = call_disk(c, 0, &disk, err);
	const char *image = class != NULL ? call_str(c, 1, err) : NULL;
	auto_free char *file = NULL;
	int64_t size, bytes;
	int rc;

	if (image == NULL || call_int(c, 2, &size, err) < 0)
		return NULL;
	rc = class->find(c->paths, disk, &file, err);
	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot image device: there is no %s on this node",
			  json_str(disk, "iv_name", "disk"));
	bytes = rc == 1 ? image_room(c, class, disk, size, err) : -1;
	if (bytes < 0)
		return NULL;
	return null_or_error(image_put(c->n, disk, file, image, bytes, err));
}

json_t *call_file_storage_dir_create(struct call *c, struct error *err)
{
	const char *folder = call_str(c, 0, err);

	if (folder == NULL)
		return NULL;
	return null_or_error(bdev_file_make_folder(c->paths, folder, err));
}

json_t *call_file_storage_dir_remove(struct call *c, struct error *err)
{
	const char *folder = call_str(c, 0, err);

	if (folder == NULL)
		return NULL;
	return null_or_error(bdev_file_remove_folder(c->paths, folder, err));
}

json_t *call_file_storage_dir_rename(struct call *c, struct error *err)
{
	const char *from = call_str(c, 0, err);
	const char *to = from != NULL ? call_str(c, 1, err) : NULL;

	if (to == NULL)
		return NULL;
	return null_or_error(bdev_file_rename_folder(c->paths, from, to, err));
}
