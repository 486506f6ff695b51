/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are mirrors: logical_id [node, node, port, minor, minor, secret],
 * children [data, metadata].
 *
 * Assembling brings a device from whatever it is to what the disk says, if it
 * is this disk's at all: one that is not there is made, one without volumes
 * gets them, one with another peer leaves it.  A volume that cannot be used is
 * no obstacle, the device then works with the peer's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "noded/storage/bdev_device.h"
#include "noded/storage/drbd_dev.h"
#include "noded/storage/storage_tool.h"

#define SECTOR 512
#define SIZE_TEXT_MAX 64
/* How long a sync may take to begin; without a peer there is none. */
#define RESIZE_US 3000000
#define RESIZE_PAUSE_MS 100

static char *local_path(const struct paths *p, const struct drbd_dev *d)
{
	return paths_local(p, d->path);
}

static int check_kernel(const struct paths *p, struct error *err)
{
	auto_free char *proc = drbd_dev_proc(p, err);

	return proc == NULL ? -1 : drbd_dev_check_version(proc, err);
}

/* Activate a volume below; -1 with err. */
static WAITS int start_child(const struct paths *p, const json_t *child,
			     struct error *err)
{
	const struct bdev_class *class = bdev_of(child, err);
	auto_free char *file = NULL;

	if (class == NULL)
		return -1;
	file = class->assemble(p, child, err);
	return file != NULL ? 0 : -1;
}

/* --- assemble --- */

static WAITS bool start_children(const struct paths *p,
				 const struct drbd_dev *d)
{
	struct error err;

	if (d->data == NULL)
		return false;
	if (start_child(p, d->data, &err) == 0 &&
	    start_child(p, d->meta, &err) == 0)
		return true;
	log_warning("%s: works without a disk of this node: %s", d->name,
		    err.text);
	return false;
}

/* Volumes that cannot be attached are an error, but the device gets its peer
 * all the same: so it is usable, and can be given new ones. */
static WAITS int join(const struct paths *p, const struct drbd_dev *d,
		      int attached, struct error *err)
{
	struct error second;

	if (d->port != 0 &&
	    drbd_dev_connect(p, d, false, attached < 0 ? &second : err) < 0)
		return -1;
	return attached;
}

static WAITS int make_new(const struct paths *p, const struct drbd_dev *d,
			  bool has_disk, struct error *err)
{
	int attached = 0;

	if (drbd_dev_make(p, d, err) < 0)
		return -1;
	if (has_disk)
		attached = drbd_dev_attach(p, d, d->data, d->meta, err);
	return join(p, d, attached, err);
}

static WAITS int complete(const struct paths *p, const struct drbd_dev *d,
			  const struct drbd_show *show, bool has_disk,
			  struct error *err)
{
	bool has_net = drbd_dev_has_net(d, show);
	int attached = 0;

	if (show->data != NULL) {
		if (drbd_dev_tune(p, d, err) < 0 ||
		    drbd_dev_customize_disk(p, d, err) < 0)
			return -1;
	} else if (has_disk) {
		attached = drbd_dev_attach(p, d, d->data, d->meta, err);
	}
	if (show->remote != NULL && !has_net &&
	    drbd_dev_disconnect(p, d, err) < 0)
		return -1;
	if (!has_net)
		return join(p, d, attached, err);
	return attached < 0 ? -1 : drbd_dev_customize_net(p, d, show, err);
}

static WAITS int bring_up(const struct paths *p, const struct drbd_dev *d,
			  struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	bool has_disk;
	int rc;

	if (check_kernel(p, err) < 0)
		return -1;
	rc = drbd_dev_find(p, d, &s, &show, err);
	if (rc < 0)
		return -1;
	has_disk = start_children(p, d);
	return rc == 0 ? make_new(p, d, has_disk, err)
		       : complete(p, d, &show, has_disk, err);
}

static WAITS char *drbd_assemble(const struct paths *p, const json_t *disk,
				 struct error *err)
{
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 || bring_up(p, &d, err) < 0)
		return NULL;
	return local_path(p, &d);
}

/* --- create --- */

static WAITS int check_free(const struct paths *p, const struct drbd_dev *d,
			    struct error *err)
{
	struct drbd_status s;
	int rc = drbd_dev_status(p, d->minor, NULL, &s, err);

	if (rc <= 0)
		return rc;
	return error_set(err, ERR_BLOCKDEV, ECODE_EXISTS,
			 "%s: minor is already in use, by another device "
			 "(%s); gnt-cluster verify tells whose it is",
			 d->name, s.state);
}

static WAITS int drbd_create(const struct paths *p, const json_t *disk,
			     const struct bdev_new *new, struct error *err)
{
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 || check_kernel(p, err) < 0 ||
	    check_free(p, &d, err) < 0)
		return -1;
	if (new->exclusive)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "Mirrors cannot have physical volumes for "
				 "themselves (exclusive_storage)");
	if (d.data == NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: a mirror needs two volumes", d.name);
	if (start_child(p, d.data, err) < 0 ||
	    start_child(p, d.meta, err) < 0 ||
	    drbd_dev_make_meta(p, &d, d.meta, err) < 0 ||
	    bring_up(p, &d, err) < 0)
		return -1;
	/* The first side has the data, whatever they are. */
	return new->primary ? drbd_dev_run(p, &d, "primary", "--force", err)
			    : 0;
}

/* --- shutdown, remove, find --- */

/* 1: it was or is not there any more; a device of somebody else's that has the
 * minor is not this disk's, which is not active then. */
static WAITS int stop(const struct paths *p, const struct drbd_dev *d,
		      struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	int rc =
		drbd_dev_is_loaded(p) ? drbd_dev_find(p, d, &s, &show, err) : 0;

	if (rc == 1)
		return drbd_dev_down(p, d, err);
	if (rc == 0 || !error_is(err, ECODE_EXISTS))
		return rc;
	log_warning("%s, ignoring", err->text);
	return 0;
}

static WAITS int drbd_shutdown(const struct paths *p, const json_t *disk,
			       struct error *err)
{
	struct drbd_dev d;

	return drbd_dev_read(disk, &d, err) < 0 ? -1 : stop(p, &d, err);
}

static WAITS int remove_child(const struct paths *p, const json_t *child,
			      struct error *err)
{
	const struct bdev_class *class = bdev_of(child, err);

	return class == NULL ? -1 : class->remove(p, child, err);
}

static WAITS int drbd_remove(const struct paths *p, const json_t *disk,
			     struct error *err)
{
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 || stop(p, &d, err) < 0)
		return -1;
	if (d.data == NULL)
		return 0;
	if (remove_child(p, d.data, err) < 0)
		return -1;
	return remove_child(p, d.meta, err);
}

static WAITS int drbd_find(const struct paths *p, const json_t *disk,
			   char **ret_path, struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;
	int rc;

	if (drbd_dev_read(disk, &d, err) < 0)
		return -1;
	if (!drbd_dev_is_loaded(p))
		return 0;
	rc = drbd_dev_find(p, &d, &s, &show, err);
	if (rc == 1)
		*ret_path = local_path(p, &d);
	return rc < 0 && error_is(err, ECODE_EXISTS) ? 0 : rc;
}

/* --- open and close --- */

static WAITS int drbd_open(const struct paths *p, const json_t *disk,
			   bool exclusive, struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;

	(void)exclusive; /* the connection says whether both may */
	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	if (strcmp(s.role, "Primary") == 0)
		return 0;
	return drbd_dev_run(p, &d, "primary", NULL, err);
}

static WAITS int drbd_close(const struct paths *p, const json_t *disk,
			    struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;
	int rc;

	if (drbd_dev_read(disk, &d, err) < 0)
		return -1;
	/* As a rule: nothing has to be done, whosever it is. */
	rc = drbd_dev_status(p, d.minor, NULL, &s, err);
	if (rc < 0 || (rc == 1 && strcmp(s.role, "Secondary") == 0))
		return rc < 0 ? -1 : 0;
	if (drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	return drbd_dev_run(p, &d, "secondary", NULL, err);
}

/* --- what it is --- */

static enum bdev_local local_state(const struct drbd_status *s)
{
	if (drbd_status_is_synced_here(s))
		return BDEV_OKAY;
	if (drbd_status_is_diskless(s))
		return BDEV_FAULTY;
	return drbd_status_is_syncing(s) ? BDEV_SYNC : BDEV_UNKNOWN;
}

/* Join the state of a volume below. */
static WAITS int join_child(const struct paths *p, const json_t *child,
			    struct bdev_look *look, bool *degraded,
			    enum bdev_local *local, struct error *err)
{
	auto_json json_t *status = NULL;
	int64_t own;

	if (child == NULL)
		return 0;
	status = bdev_status(p, child, look, err);
	if (status == NULL)
		return -1;
	own = json_int(status, "ldisk_status", BDEV_FAULTY);
	*degraded |= json_bool(status, "is_degraded", true);
	if (own > (int64_t)*local)
		*local = (enum bdev_local)own;
	return 0;
}

static WAITS json_t *drbd_status(const struct paths *p, const json_t *disk,
				 struct bdev_look *look, struct error *err)
{
	enum bdev_local local;
	struct drbd_status s;
	struct drbd_dev d;
	bool degraded;
	int rc;

	if (drbd_dev_read(disk, &d, err) < 0)
		return NULL;
	rc = drbd_dev_look(p, &d, look, &s, err);
	if (rc <= 0)
		return rc < 0 ? NULL : json_null();
	local = local_state(&s);
	degraded = !drbd_status_is_connected(&s) ||
		   !drbd_status_is_synced_here(&s);
	if (join_child(p, d.data, look, &degraded, &local, err) < 0 ||
	    join_child(p, d.meta, look, &degraded, &local, err) < 0)
		return NULL;
	return json_make("{s:s, s:i, s:I, s:o, s:o, s:b, s:i}", "dev_path",
			 d.path, "major", DRBD_MAJOR, "minor",
			 (json_int_t)d.minor, "sync_percent",
			 s.percent < 0 ? json_null() : json_real(s.percent),
			 "estimated_time",
			 s.left_s < 0 ? json_null() : json_integer(s.left_s),
			 "is_degraded", degraded, "ldisk_status", (int)local);
}

/* From the kernel's own files: a secondary cannot be opened. */
static int64_t kernel_size(const struct paths *p, const struct drbd_dev *d,
			   struct error *err)
{
	auto_free char *file = xprintf("/sys/block/%s/size", d->name);
	auto_free char *local = paths_local(p, file);
	auto_free char *text = fs_read(local, SIZE_TEXT_MAX, NULL, err);
	int64_t sectors;

	if (text == NULL)
		return error_wrap_as(err, ERR_BLOCKDEV,
				     "%s: its size is not known", d->name);
	text[strcspn(text, "\n")] = '\0';
	if (str_to_int64(text, &sectors) && sectors > 0 &&
	    sectors < INT64_MAX / SECTOR)
		return sectors * SECTOR;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s: it has no size, it is not active (gnt-instance "
			 "activate-disks)",
			 d->name);
}

static WAITS int64_t drbd_size(const struct paths *p, const json_t *disk,
			       struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	return kernel_size(p, &d, err);
}

/* --- grow, wipe, info, snapshot --- */

/* The volume below is as large as the mirror, whatever is recorded for it. */
static json_t *data_as_large(const struct drbd_dev *d)
{
	json_t *data = json_copy(json_unconst(d->data));

	json_set_int(data, "size", d->size_mib);
	return data;
}

/* The sync of what is new begins a moment after the command; who asks at once
 * whether there is one shall hear of it. */
static WAITS void await_sync(const struct paths *p, const struct drbd_dev *d)
{
	int64_t deadline_us = clock_mono_us() + RESIZE_US;

	while (clock_mono_us() < deadline_us && !task_interrupted()) {
		struct drbd_status s;
		struct error ignored;

		if (drbd_dev_status(p, d->minor, NULL, &s, &ignored) != 1 ||
		    !drbd_status_is(&s, "Connected"))
			return;
		task_sleep(RESIZE_PAUSE_MS);
	}
}

static WAITS int resize(const struct paths *p, const struct drbd_dev *d,
			int64_t mib, struct error *err)
{
	auto_free char *minor = xprintf("%" PRId64, d->minor);
	auto_free char *size = xprintf("%" PRId64 "m", mib);
	int64_t bytes = kernel_size(p, d, err);

	if (bytes < 0 || bytes >= mib * MIB)
		return bytes < 0 ? -1 : 0;
	if (storage_tool_check(p,
			       (const char *const[]){"drbdsetup", "resize",
						     minor, "--size", size,
						     NULL},
			       err) < 0)
		return error_wrap(err, "%s: resize failed", d->name);
	await_sync(p, d);
	return 0;
}

static WAITS int drbd_grow(const struct paths *p, const json_t *disk,
			   const struct bdev_growth *growth, struct error *err)
{
	const struct bdev_class *below;
	auto_show struct drbd_show show = {0};
	auto_json json_t *data = NULL;
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	if (d.data == NULL || show.data == NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: cannot grow diskless device", d.name);
	below = bdev_of(d.data, err);
	if (below == NULL || below->grow == NULL)
		return -1;
	data = data_as_large(&d);
	if (below->grow(p, data, growth, err) < 0)
		return -1;
	if (growth->dry_run || growth->backing_store)
		return 0;
	return resize(p, &d, d.size_mib + growth->amount_mib, err);
}

static WAITS int drbd_wipe(const struct paths *p, const json_t *disk,
			   int64_t offset_mib, int64_t size_mib,
			   struct error *err)
{
	auto_show struct drbd_show show = {0};
	auto_free char *local = NULL;
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	local = local_path(p, &d);
	return bdev_device_wipe(local, offset_mib, size_mib, err);
}

static WAITS int drbd_setinfo(const struct paths *p, const json_t *disk,
			      const char *text, struct error *err)
{
	const json_t *children = json_get(disk, "children"), *child;
	size_t i;

	json_array_foreach (children, i, child) {
		const struct bdev_class *class = bdev_of(child, err);

		if (class == NULL || (class->setinfo != NULL &&
				      class->setinfo(p, child, text, err) < 0))
			return -1;
	}
	return 0;
}

/* Of the volume with the data. */
static WAITS json_t *drbd_snapshot(const struct paths *p, const json_t *disk,
				   const char *name, int64_t size_mib,
				   struct error *err)
{
	const json_t *data = json_array_get(json_get(disk, "children"), 0);
	const struct bdev_class *class = bdev_of(data, err);

	if (class != NULL && class->snapshot != NULL)
		return class->snapshot(p, data, name, size_mib, err);
	error_set(err, ERR_BLOCKDEV, NULL,
		  "A DRBD device without backing storage cannot be "
		  "snapshotted");
	return NULL;
}

const struct bdev_class bdev_drbd = {
	.dev_type = "drbd",
	.create_keeps_info = true, /* its volumes were made with it */
	.create = drbd_create,
	.remove = drbd_remove,
	.find = drbd_find,
	.assemble = drbd_assemble,
	.shutdown = drbd_shutdown,
	.size = drbd_size,
	.grow = drbd_grow,
	.wipe = drbd_wipe,
	.setinfo = drbd_setinfo,
	.open = drbd_open,
	.close = drbd_close,
	.status = drbd_status,
	.snapshot = drbd_snapshot,
};
