/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are images in Ceph, by its program rbd: logical_id ["rbd", name],
 * and the pool from the disk's parameters.  Names and commands are Ganeti's.
 *
 * An image is used as a device of the kernel's, which looking for it maps;
 * where its way of access is "userspace", QEMU opens it by librbd, and the
 * device is there for all others (OS scripts, copies).  A snapshot is called
 * NAME@SNAPSHOT, as Ceph does. */
#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "noded/storage/bdev_device.h"
#include "noded/storage/rbd.h"
#include "noded/storage/storage_tool.h"
#include "noded/storage/storage_turn.h"

/* rbd's exit status where there is no such image. */
#define NOT_THERE 2
/* Larger sizes are mistakes; and sums cannot overflow. */
#define SIZE_MIB_MAX (INT64_C(1) << 40)

static int need_size(int64_t mib, struct error *err)
{
	if (mib >= 0 && mib <= SIZE_MIB_MAX)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%" PRId64 " MiB is not a size of a disk", mib);
}

/* rbd VERB -p POOL NAME [--snap SNAPSHOT] [OPTION VALUE] */
static void command(struct strv *argv, const char *verb,
		    const struct rbd_image *image, const char *option,
		    const char *value)
{
	auto_strv struct strv words = {0};

	strv_add(argv, "rbd");
	str_split(&words, verb, ' ');
	for (size_t i = 0; i < words.n; i++)
		strv_add(argv, words.items[i]);
	strv_add(argv, "-p");
	strv_add(argv, image->pool);
	strv_add(argv, image->name);
	if (image->snapshot != NULL) {
		strv_add(argv, "--snap");
		strv_add(argv, image->snapshot);
	}
	if (option != NULL) {
		strv_add(argv, option);
		strv_add(argv, value);
	}
}

static WAITS int run(const struct paths *p, const char *verb,
		     const struct rbd_image *image, const char *option,
		     const char *value, struct error *err)
{
	auto_strv struct strv argv = {0};

	command(&argv, verb, image, option, value);
	return storage_tool_check_strv(p, &argv, err);
}

/* --- what there is --- */

/* 1 and its size, 0: there is no such image, -1. */
static WAITS int look_up(const struct paths *p, const struct rbd_image *image,
			 int64_t *ret_bytes, struct error *err)
{
	const char *const argv[] = {"rbd",	 "info",      "-p",
				    image->pool, image->name, "--format",
				    "json",	 NULL};
	auto_proc struct proc_result result = {0};
	auto_json json_t *info = NULL;

	if (storage_tool_run(p, argv, NULL, &result, err) < 0)
		return -1;
	if (!proc_succeeded(&result))
		return result.status == NOT_THERE && !result.timed_out
			       ? 0
			       : storage_tool_failed("rbd info", &result, err);
	info = json_parse(result.out, result.out_len, err);
	if (info == NULL)
		return error_wrap_as(err, ERR_BLOCKDEV,
				     "What rbd info printed is no JSON");
	*ret_bytes = rbd_bytes(info, err);
	return *ret_bytes < 0 ? -1 : 1;
}

/* Its virtual device, to be freed: 1, 0, -1. */
static WAITS int mapped_device(const struct paths *p,
			       const struct rbd_image *image, char **ret,
			       struct error *err)
{
	static const char *const argv[] = {"rbd", "showmapped", "--format",
					   "json", NULL};
	auto_json json_t *mapped = storage_tool_json(p, argv, err);
	const char *device = NULL;
	int rc = mapped != NULL ? rbd_device(mapped, image, &device, err) : -1;

	if (rc == 1)
		*ret = xstrdup(device);
	return rc;
}

/* Two that look at the same time would map it twice. */
static WAITS void take_turn(struct storage_turn *turn,
			    const struct rbd_image *image)
{
	storage_turn_begin(turn,
			   xprintf("rbd %s/%s", image->pool, image->name));
}

/* The local path of its device, mapped if it is not yet; to be freed. */
static WAITS char *map(const struct paths *p, const struct rbd_image *image,
		       struct error *err)
{
	auto_turn struct storage_turn turn = {0};
	auto_free char *device = NULL;
	int rc;

	take_turn(&turn, image);
	rc = mapped_device(p, image, &device, err);
	if (rc == 0) {
		if (run(p, "map", image, NULL, NULL, err) < 0)
			return NULL;
		rc = mapped_device(p, image, &device, err);
		if (rc == 0)
			error_set(err, ERR_BLOCKDEV, NULL,
				  "rbd has mapped %s/%s, but showmapped does "
				  "not have it",
				  image->pool, image->name);
	}
	return rc == 1 ? paths_local(p, device) : NULL;
}

static WAITS int unmap(const struct paths *p, const struct rbd_image *image,
		       struct error *err)
{
	auto_turn struct storage_turn turn = {0};
	auto_free char *device = NULL;
	int rc;

	take_turn(&turn, image);
	rc = mapped_device(p, image, &device, err);
	if (rc <= 0)
		return rc;
	return storage_tool_check(
		p, (const char *const[]){"rbd", "unmap", device, NULL}, err);
}

/* --- the class --- */

static WAITS int rbd_create(const struct paths *p, const json_t *disk,
			    const struct bdev_new *new, struct error *err)
{
	auto_free char *size = xprintf("%" PRId64, new->size_mib);
	auto_rbd struct rbd_image image = {0};

	if (need_size(new->size_mib, err) < 0 ||
	    rbd_image_of(disk, &image, err) < 0)
		return -1;
	if (run(p, "create", &image, "--size", size, err) == 0)
		return 0;
	return error_wrap(err, "Can't make the image %s/%s", image.pool,
			  image.name);
}

static WAITS int rbd_shutdown(const struct paths *p, const json_t *disk,
			      struct error *err)
{
	auto_rbd struct rbd_image image = {0};

	return rbd_image_of(disk, &image, err) < 0 ? -1 : unmap(p, &image, err);
}

static WAITS int rbd_remove(const struct paths *p, const json_t *disk,
			    struct error *err)
{
	auto_rbd struct rbd_image image = {0};
	auto_strv struct strv argv = {0};
	int64_t bytes;
	int rc;

	if (rbd_image_of(disk, &image, err) < 0 || unmap(p, &image, err) < 0)
		return -1;
	rc = look_up(p, &image, &bytes, err);
	if (rc <= 0)
		return rc;
	/* Object by object: of a big image that takes minutes, and one that was
	 * cut off begins anew. */
	command(&argv, image.snapshot != NULL ? "snap rm" : "rm", &image, NULL,
		NULL);
	return storage_tool_check_long(p, &argv, err);
}

static WAITS int rbd_find(const struct paths *p, const json_t *disk,
			  char **ret_path, struct error *err)
{
	auto_rbd struct rbd_image image = {0};
	int64_t bytes;
	int rc;

	if (rbd_image_of(disk, &image, err) < 0)
		return -1;
	rc = look_up(p, &image, &bytes, err);
	if (rc <= 0)
		return rc;
	*ret_path = map(p, &image, err);
	return *ret_path != NULL ? 1 : -1;
}

static WAITS char *rbd_assemble(const struct paths *p, const json_t *disk,
				struct error *err)
{
	auto_rbd struct rbd_image image = {0};

	return rbd_image_of(disk, &image, err) < 0 ? NULL : map(p, &image, err);
}

static WAITS int64_t rbd_size(const struct paths *p, const json_t *disk,
			      struct error *err)
{
	auto_rbd struct rbd_image image = {0};
	int64_t bytes;
	int rc;

	if (rbd_image_of(disk, &image, err) < 0)
		return -1;
	rc = look_up(p, &image, &bytes, err);
	if (rc == 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "There is no image %s in the pool %s",
				 image.name, image.pool);
	return rc < 0 ? -1 : bytes;
}

/* To a size, not by an amount: a repeated call does nothing. */
static WAITS int rbd_grow(const struct paths *p, const json_t *disk,
			  const struct bdev_growth *growth, struct error *err)
{
	int64_t size_mib = json_int(disk, "size", 0) + growth->amount_mib;
	auto_free char *size = xprintf("%" PRId64, size_mib);
	auto_rbd struct rbd_image image = {0};
	int64_t bytes;

	if (need_size(growth->amount_mib, err) < 0 ||
	    need_size(size_mib, err) < 0 || rbd_image_of(disk, &image, err) < 0)
		return -1;
	bytes = rbd_size(p, disk, err);
	if (bytes < 0)
		return -1;
	/* An image has no room of its own that could be missing. */
	if (!growth->backing_store || growth->dry_run ||
	    bytes >= size_mib * MIB)
		return 0;
	return run(p, "resize", &image, "--size", size, err);
}

static WAITS int rbd_wipe(const struct paths *p, const json_t *disk,
			  int64_t offset_mib, int64_t size_mib,
			  struct error *err)
{
	auto_free char *local = rbd_assemble(p, disk, err);

	return local == NULL
		       ? -1
		       : bdev_device_wipe(local, offset_mib, size_mib, err);
}

/* One that an earlier export has left is made anew. */
static WAITS json_t *rbd_snapshot(const struct paths *p, const json_t *disk,
				  const char *name, int64_t size_mib,
				  struct error *err)
{
	auto_json json_t *snapshot = json_copy(json_unconst(disk));
	auto_rbd struct rbd_image image = {0};
	auto_json json_t *id = NULL;
	struct error ignored;

	(void)size_mib;
	if (rbd_image_of(disk, &image, err) < 0)
		return NULL;
	id = json_make("[s, o]", "rbd",
		       json_sprintf("%s@%s", image.name, name));
	rbd_image_done(&image);
	json_object_set(snapshot, "logical_id", id);
	if (rbd_image_of(snapshot, &image, err) < 0)
		return NULL;
	unmap(p, &image, &ignored);
	run(p, "snap rm", &image, NULL, NULL, &ignored);
	if (run(p, "snap create", &image, NULL, NULL, err) < 0)
		return NULL;
	return steal(&id);
}

static char *rbd_uri(const json_t *disk)
{
	auto_rbd struct rbd_image image = {0};
	struct error ignored;

	if (rbd_image_of(disk, &image, &ignored) < 0)
		return NULL;
	return xprintf("rbd:%s/%s", image.pool, image.name);
}

const struct bdev_class bdev_rbd = {
	.dev_type = "rbd",
	.create = rbd_create,
	.remove = rbd_remove,
	.find = rbd_find,
	.assemble = rbd_assemble,
	.shutdown = rbd_shutdown,
	.size = rbd_size,
	.grow = rbd_grow,
	.wipe = rbd_wipe,
	.snapshot = rbd_snapshot,
	.uri = rbd_uri,
};
