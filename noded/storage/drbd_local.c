/* SPDX-License-Identifier: BSD-2-Clause */
/* The volumes below a device that is active: taken off, and others put on. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/drbd.h"
#include "noded/storage/drbd_dev.h"

static int need_two(const struct drbd_dev *d, const json_t *children,
		    struct error *err)
{
	if (json_array_size(children) == 2)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s: a mirror has two volumes, not %zu", d->name,
			 json_array_size(children));
}

static bool is_on(const struct drbd_show *show, const json_t *data,
		  const json_t *meta)
{
	auto_free char *data_path = drbd_dev_child_path(data);
	auto_free char *meta_path = drbd_dev_child_path(meta);

	return str_eq(show->data, data_path) && str_eq(show->meta, meta_path);
}

static WAITS int start(const struct paths *p, const json_t *child,
		       struct error *err)
{
	const struct bdev_class *class = bdev_of(child, err);
	auto_free char *file = NULL;

	if (class == NULL)
		return -1;
	file = class->assemble(p, child, err);
	return file != NULL ? 0 : -1;
}

/* A secondary that stood alone and was detached counts as unconfigured: to the
 * kernel it is like one that was never there, and is made again. */
static WAITS int need_made(const struct paths *p, const struct drbd_dev *d,
			   struct drbd_show *ret_show, struct error *err)
{
	struct drbd_status s;
	int rc = drbd_dev_find(p, d, &s, ret_show, err);

	return rc == 0 ? drbd_dev_make(p, d, err) : rc < 0 ? -1 : 0;
}

/* Volumes that were attached in vain are free again: whoever gave them may
 * rename or remove them. */
static WAITS void let_go(const struct paths *p, const struct drbd_dev *d)
{
	struct drbd_status s;
	struct error err;
	int rc = drbd_dev_status(p, d->minor, NULL, &s, &err);

	if (rc == 0 || (rc == 1 && drbd_status_is_diskless(&s)))
		return;
	if (rc < 0 || drbd_dev_detach(p, d, &err) < 0)
		log_warning("%s", err.text);
}

WAITS int drbd_add_children(const struct paths *p, const json_t *disk,
			    const json_t *children, struct error *err)
{
	const json_t *data = json_array_get(children, 0);
	const json_t *meta = json_array_get(children, 1);
	auto_show struct drbd_show show = {0};
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    need_two(&d, children, err) < 0 || need_made(p, &d, &show, err) < 0)
		return -1;
	if (show.data != NULL && is_on(&show, data, meta))
		return 0;
	if (show.data != NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: already attached to a local disk",
				 d.name);
	if (start(p, data, err) < 0 || start(p, meta, err) < 0 ||
	    drbd_dev_make_meta(p, &d, meta, err) < 0)
		return -1;
	if (drbd_dev_attach(p, &d, data, meta, err) == 0)
		return 0;
	let_go(p, &d);
	return -1;
}

WAITS int drbd_remove_children(const struct paths *p, const json_t *disk,
			       const json_t *children, struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    need_two(&d, children, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	if (show.data == NULL)
		return 0;
	if (!is_on(&show, json_array_get(children, 0),
		   json_array_get(children, 1)))
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: its volumes are %s and %s, not those "
				 "that shall be taken off",
				 d.name, show.data, show.meta);
	return drbd_dev_detach(p, &d, err);
}

WAITS int drbd_pause_sync(const struct paths *p, const json_t *disk, bool pause,
			  struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	return drbd_dev_run(p, &d, pause ? "pause-sync" : "resume-sync", NULL,
			    err);
}
