/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the disks of instances and the folders of file-based ones. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/sanitize.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"
#include "noded/instance/image.h"
#include "noded/scripts/lent.h"
#include "noded/storage/bdev.h"

static json_t *null_or_error(int rc)
{
	return rc < 0 ? NULL : json_null();
}

/* Store the owner's name with the disk, if its storage can do that. */
static WAITS int keep_info(struct call *c, const struct bdev_class *class,
			   const json_t *disk, const char *info,
			   struct error *err)
{
	if (class->setinfo == NULL || info == NULL)
		return 0;
	if (calls_in_force(c, err) < 0)
		return -1;
	return class->setinfo(c->paths, disk, info, err);
}

WAITS json_t *call_blockdev_create(struct call *c,
				   const struct rpc_args_blockdev_create *args,
				   struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	const struct bdev_new new = {
		.size_mib = args->size_mib,
		.info = args->info,
		.primary = args->on_primary,
		.exclusive = args->exclusive_storage,
	};

	if (class == NULL)
		return NULL;
	if (class->create(c->paths, args->disk, &new, err) < 0 ||
	    (!class->create_keeps_info &&
	     keep_info(c, class, args->disk, args->info, err) < 0)) {
		error_wrap(err, "Can't create block device");
		return NULL;
	}
	return json_deep_copy(json_object_get(args->disk, "logical_id"));
}

/* The guest that runs and has the image of the disk open: 1 and its name, to be
 * freed; 0: there is none; -1. */
static WAITS int user_of_image(struct call *c, const struct bdev_class *class,
			       const json_t *disk, char **ret,
			       struct error *err)
{
	const struct hv_class *hv = hv_find("kvm", err);
	auto_free char *file = NULL, *name = NULL;
	struct hv_info info = {0};
	int rc;

	if (!lent_needed(disk) || hv == NULL)
		return 0;
	rc = class->find(c->paths, disk, &file, err);
	name = rc == 1 ? bdev_user(c->paths, file) : NULL;
	if (name == NULL)
		return rc < 0 ? -1 : 0;
	rc = hv->info(c->paths, name, NULL, &info, err);
	if (rc <= 0 || calls_in_force(c, err) < 0)
		return rc == 0 ? 0 : -1;
	*ret = steal(&name);
	return 1;
}

/* Have it keep a snapshot, or let it go: 1 when it did, 0: there is no such
 * guest, -1. */
static WAITS int by_guest(struct call *c, const struct bdev_class *class,
			  const json_t *disk, const char *snapshot, bool keep,
			  struct error *err)
{
	auto_free char *name = NULL;
	int rc = user_of_image(c, class, disk, &name, err);

	if (rc == 1 && hv_find("kvm", err)
				       ->snapshot(c->paths, name, disk,
						  snapshot, keep, err) < 0)
		return -1;
	return rc;
}

/* A snapshot inside of an image; the links to the image stay. */
static WAITS json_t *remove_snapshot(struct call *c,
				     const struct bdev_class *class,
				     const json_t *disk, struct error *err)
{
	int rc = by_guest(c, class, disk, lent_snapshot(disk), false, err);

	if (rc == 0)
		rc = class->remove(c->paths, disk, err);
	return null_or_error(rc);
}

WAITS json_t *call_blockdev_remove(struct call *c,
				   const struct rpc_args_blockdev_remove *args,
				   struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	auto_free char *file = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	if (lent_needed(args->disk) && *lent_snapshot(args->disk) != '\0')
		return remove_snapshot(c, class, args->disk, err);
	if (image_end(c->paths, args->disk, err) < 0)
		return NULL;
	rc = class->find(c->paths, args->disk, &file, err);
	if (calls_in_force(c, err) < 0)
		return NULL;
	if (rc == 1)
		bdev_unlink_target(c->paths, file);
	return null_or_error(class->remove(c->paths, args->disk, err));
}

static int check_instance_name(const struct call *c, const char *name,
			       struct error *err)
{
	if (str_valid_hostname(name))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Call %s: \"%s\" is not a valid instance name",
			 c->procedure, name);
}

/* After it was assembled. */
static WAITS int open_disk(struct call *c, const struct bdev_class *class,
			   const json_t *disk, bool exclusive,
			   struct error *err)
{
	if (calls_in_force(c, err) < 0)
		return -1;
	if (class->open == NULL)
		return 0;
	if (class->open(c->paths, disk, exclusive, err) < 0)
		return -1;
	return calls_in_force(c, err);
}

WAITS json_t *
call_blockdev_assemble(struct call *c,
		       const struct rpc_args_blockdev_assemble *args,
		       struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	const char *instance = json_is_string(args->owner)
				       ? json_string_value(args->owner)
				       : json_str(args->owner, "name", "");
	auto_free char *file = NULL, *link = NULL;
	auto_free char *virtual_file = NULL, *virtual_link = NULL;
	auto_free char *uri = NULL;

	if (class == NULL || check_instance_name(c, instance, err) < 0)
		return NULL;
	file = class->assemble(c->paths, args->disk, err);
	if (file == NULL) {
		error_wrap(err, "Can't assemble block device");
		return NULL;
	}
	if (!args->on_primary)
		return json_make("[b, b]", 1, 1);
	if (open_disk(c, class, args->disk, true, err) < 0 ||
	    bdev_link(c->paths, instance, args->index, file, err) < 0)
		return NULL;
	link = bdev_link_path(c->paths, instance, args->index);
	virtual_file = paths_virtual(c->paths, file);
	virtual_link = paths_virtual(c->paths, link);
	uri = bdev_uri(args->disk);
	return json_make("[s, s, s?]", virtual_file, virtual_link, uri);
}

WAITS json_t *
call_blockdev_shutdown(struct call *c,
		       const struct rpc_args_blockdev_shutdown *args,
		       struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	auto_free char *file = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, args->disk, &file, err);
	if (rc < 0 || calls_in_force(c, err) < 0)
		return NULL;
	if (rc == 1)
		bdev_unlink_target(c->paths, file);
	return null_or_error(class->shutdown(c->paths, args->disk, err));
}

static WAITS int open_one(struct call *c,
			  const struct rpc_args_blockdev_open *args,
			  int64_t index, const json_t *disk, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	auto_free char *file = NULL;

	if (class == NULL)
		return -1;
	file = class->assemble(c->paths, disk, err);
	if (file == NULL)
		return error_wrap(err, "Can't make device primary");
	if (open_disk(c, class, disk, args->exclusive, err) < 0)
		return -1;
	return bdev_link(c->paths, args->instance_name, index, file, err);
}

WAITS json_t *call_blockdev_open(struct call *c,
				 const struct rpc_args_blockdev_open *args,
				 struct error *err)
{
	const json_t *disk;
	size_t i;

	if (check_instance_name(c, args->instance_name, err) < 0)
		return NULL;
	json_array_foreach (args->disks, i, disk)
		if (calls_in_force(c, err) < 0 ||
		    open_one(c, args, bdev_index(disk, (int64_t)i), disk, err) <
			    0)
			return NULL;
	return json_null();
}

static WAITS int close_one(struct call *c, const char *instance, int64_t index,
			   const json_t *disk, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);

	if (class == NULL || bdev_unlink(c->paths, instance, index, err) < 0)
		return -1;
	return class->close != NULL ? class->close(c->paths, disk, err) : 0;
}

WAITS json_t *call_blockdev_close(struct call *c,
				  const struct rpc_args_blockdev_close *args,
				  struct error *err)
{
	const json_t *disk;
	size_t i;

	if (check_instance_name(c, args->instance_name, err) < 0)
		return NULL;
	json_array_foreach (args->disks, i, disk)
		if (calls_in_force(c, err) < 0 ||
		    close_one(c, args->instance_name,
			      bdev_index(disk, (int64_t)i), disk, err) < 0)
			return NULL;
	return json_null();
}

WAITS json_t *call_blockdev_find(struct call *c,
				 const struct rpc_args_blockdev_find *args,
				 struct error *err)
{
	return bdev_status(c->paths, args->disk, NULL, err);
}

/* Of a disk that has to exist. */
static WAITS json_t *need_status(const struct paths *p, const json_t *disk,
				 struct bdev_look *look, struct error *err)
{
	json_t *status = bdev_status(p, disk, look, err);
	auto_free char *id = NULL;

	if (!json_is_null(status))
		return status;
	id = sanitize_disk_id(disk);
	error_set(err, ERR_BLOCKDEV, NULL, "Can't find device %s", id);
	return NULL;
}

WAITS json_t *call_blockdev_getmirrorstatus(
	struct call *c, const struct rpc_args_blockdev_getmirrorstatus *args,
	struct error *err)
{
	auto_look struct bdev_look look = {0};
	auto_json json_t *result = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (args->disks, i, disk) {
		json_t *status = need_status(c->paths, disk, &look, err);

		if (status == NULL)
			return NULL;
		json_array_append_new(result, status);
	}
	return steal(&result);
}

/* The master may send this call to several nodes, each with a list of its own;
 * what arrives here is only this node's list. */
WAITS json_t *call_blockdev_getmirrorstatus_multi(
	struct call *c,
	const struct rpc_args_blockdev_getmirrorstatus_multi *args,
	struct error *err)
{
	auto_look struct bdev_look look = {0};
	json_t *result = json_array();
	const json_t *disk;
	size_t i;

	(void)err;
	json_array_foreach (args->disks, i, disk) {
		struct error bad;
		json_t *status = need_status(c->paths, disk, &look, &bad);

		json_array_append_new(
			result, status != NULL
					? json_make("[b, o]", 1, status)
					: json_make("[b, s]", 0, bad.text));
	}
	return result;
}

WAITS json_t *
call_blockdev_getdimensions(struct call *c,
			    const struct rpc_args_blockdev_getdimensions *args,
			    struct error *err)
{
	json_t *result = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (args->disks, i, disk) {
		const struct bdev_class *class = bdev_of(disk, err);
		int64_t bytes =
			class != NULL ? class->size(c->paths, disk, err) : -1;
		int64_t spindles = bytes < 0 || class->spindles == NULL
					   ? -1
					   : class->spindles(c->paths, disk);

		json_array_append_new(
			result,
			bytes < 0
				? json_null()
				: json_make("[I, o]", (json_int_t)bytes,
					    spindles < 0
						    ? json_null()
						    : json_integer(spindles)));
	}
	return result;
}

/* An image that a guest has open grows by QEMU, and the guest sees it. */
static WAITS int grow(struct call *c, const struct bdev_class *class,
		      const json_t *disk, const struct bdev_growth *growth,
		      struct error *err)
{
	int64_t bytes = (json_int(disk, "size", 0) + growth->amount_mib) * MIB;
	bool now = growth->backing_store && !growth->dry_run &&
		   growth->amount_mib >= 0;
	auto_free char *name = NULL;
	int rc = now ? user_of_image(c, class, disk, &name, err) : 0;

	if (rc < 0)
		return -1;
	if (rc == 0)
		return class->grow(c->paths, disk, growth, err);
	if (class->size(c->paths, disk, err) >= bytes)
		return 0; /* done before */
	return hv_find("kvm", err)->resize(c->paths, name, disk, bytes, err);
}

WAITS json_t *call_blockdev_grow(struct call *c,
				 const struct rpc_args_blockdev_grow *args,
				 struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	const struct bdev_growth growth = {
		.amount_mib = args->more_mib,
		.dry_run = args->dry_run,
		.backing_store = args->backing_store,
		.exclusive = args->exclusive_storage,
	};

	if (class == NULL)
		return NULL;
	if (class->grow == NULL) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Disks of type '%s' cannot grow", class->dev_type);
		return NULL;
	}
	if (grow(c, class, args->disk, &growth, err) < 0) {
		error_wrap(err, "Failed to grow block device");
		return NULL;
	}
	return json_null();
}

/* A text for the storage to keep with the disk; files have no place for it. */
WAITS json_t *
call_blockdev_setinfo(struct call *c,
		      const struct rpc_args_blockdev_setinfo *args,
		      struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	auto_free char *file = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, args->disk, &file, err);
	if (rc == 1 && keep_info(c, class, args->disk, args->info, err) < 0)
		return NULL;
	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot find block device %s to set its information",
			  json_str(args->disk, "iv_name", "disk"));
	return rc == 1 ? json_null() : NULL;
}

WAITS json_t *call_blockdev_rename(struct call *c,
				   const struct rpc_args_blockdev_rename *args,
				   struct error *err)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (args->pairs, i, pair) {
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
		if (calls_in_force(c, err) < 0 ||
		    class->rename(c->paths, disk, new_id, err) < 0)
			return NULL;
	}
	return json_null();
}

WAITS json_t *call_blockdev_wipe(struct call *c,
				 const struct rpc_args_blockdev_wipe *args,
				 struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);

	if (class == NULL)
		return NULL;
	if (class->wipe == NULL) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Disks of type '%s' cannot be wiped",
			  class->dev_type);
		return NULL;
	}
	return null_or_error(class->wipe(c->paths, args->disk, args->offset_mib,
					 args->size_mib, err));
}

/* Called by the last part of the name, which may be made of a path. */
static WAITS json_t *image_snapshot(struct call *c,
				    const struct bdev_class *class,
				    const json_t *disk, const char *name,
				    struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *last = strrchr(name, '/');
	int rc;

	last = last != NULL ? last + 1 : name;
	rc = by_guest(c, class, disk, last, true, err);
	if (rc == 0)
		return class->snapshot(c->paths, disk, last, 0, err);
	return rc < 0 ? NULL
		      : json_make("[O, O, s]", json_array_get(id, 0),
				  json_array_get(id, 1), last);
}

WAITS json_t *
call_blockdev_snapshot(struct call *c,
		       const struct rpc_args_blockdev_snapshot *args,
		       struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);

	if (class == NULL)
		return NULL;
	if (class->snapshot == NULL) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot snapshot block device of type '%s'",
			  class->dev_type);
		return NULL;
	}
	if (lent_needed(args->disk))
		return image_snapshot(c, class, args->disk, args->snapshot_name,
				      err);
	return class->snapshot(c->paths, args->disk, args->snapshot_name,
			       args->size_mib, err);
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

WAITS json_t *call_blockdev_image(struct call *c,
				  const struct rpc_args_blockdev_image *args,
				  struct error *err)
{
	const struct bdev_class *class = bdev_of(args->disk, err);
	auto_free char *file = NULL;
	int64_t bytes;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, args->disk, &file, err);
	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot image device: there is no %s on this node",
			  json_str(args->disk, "iv_name", "disk"));
	bytes = rc == 1 ? image_room(c, class, args->disk, args->size_mib, err)
			: -1;
	if (bytes < 0 || calls_in_force(c, err) < 0)
		return NULL;
	return null_or_error(
		image_put(c->n, args->disk, file, args->image, bytes, err));
}

WAITS json_t *call_file_storage_dir_create(
	struct call *c, const struct rpc_args_file_storage_dir_create *args,
	struct error *err)
{
	return null_or_error(
		bdev_file_make_folder(c->paths, args->folder, err));
}

WAITS json_t *call_file_storage_dir_remove(
	struct call *c, const struct rpc_args_file_storage_dir_remove *args,
	struct error *err)
{
	return null_or_error(
		bdev_file_remove_folder(c->paths, args->folder, err));
}

WAITS json_t *call_file_storage_dir_rename(
	struct call *c, const struct rpc_args_file_storage_dir_rename *args,
	struct error *err)
{
	return null_or_error(
		bdev_file_rename_folder(c->paths, args->from, args->to, err));
}
