/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections of several devices at once: both nodes of an instance change
 * them at the same time.  A side that connects before the other has left meets
 * the old connection, and goes alone; it tries again until the time is up. */

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "noded/storage/drbd.h"
#include "noded/storage/drbd_dev.h"

#define ATTACH_US (INT64_C(120) * 1000000)
#define ATTACH_MIN_MS 100
#define ATTACH_MAX_MS 5000
/* How long a device may be without a peer when a sync is waited for. */
#define LINK_US (INT64_C(15) * 1000000)
#define LINK_PAUSE_MS 1000

WAITS int drbd_disconnect_net(const struct paths *p, const json_t *disks,
			      struct error *err)
{
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		auto_show struct drbd_show show = {0};
		struct drbd_status s;
		struct drbd_dev d;

		if (drbd_dev_read(disk, &d, err) < 0 ||
		    drbd_dev_need(p, &d, &s, &show, err) < 0 ||
		    drbd_dev_disconnect(p, &d, err) < 0)
			return error_wrap(err,
					  "Can't change network configuration "
					  "to standalone mode");
	}
	return 0;
}

/* Connect it to the peer of the disk in that mode, if it is not. */
static WAITS int connect_one(const struct paths *p, const json_t *disk,
			     bool multimaster, struct error *err)
{
	auto_show struct drbd_show show = {0};
	struct drbd_status s;
	struct drbd_dev d;

	if (drbd_dev_read(disk, &d, err) < 0 ||
	    drbd_dev_need(p, &d, &s, &show, err) < 0)
		return -1;
	if (d.port == 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: it has no port to connect with", d.name);
	if (drbd_dev_has_net(&d, &show) && show.two_primaries == multimaster)
		return 0;
	if (show.remote != NULL && drbd_dev_disconnect(p, &d, err) < 0)
		return -1;
	return drbd_dev_connect(p, &d, multimaster, err);
}

/* Both sides have all of it, and hear each other. */
static bool is_whole(const struct drbd_status *s)
{
	return drbd_status_is_connected(s) && drbd_status_is_synced_here(s) &&
	       str_eq(s->peer_disk, "UpToDate");
}

/* Whether the device is as its master wants it.  Before both sides become
 * primaries they have to be equal: a side that is not would lose its
 * connection. */
static bool is_ready(const struct drbd_status *s, bool multimaster)
{
	return multimaster ? is_whole(s) : drbd_status_is_linked(s);
}

/* 1: all are; 0: not yet, and *ret_last is one that is not. */
static WAITS int look(const struct paths *p, const json_t *disks,
		      bool multimaster, struct drbd_status *ret_last,
		      int64_t *ret_minor, struct error *err)
{
	const json_t *disk;
	int ready = 1;
	size_t i;

	json_array_foreach (disks, i, disk) {
		struct drbd_status s;
		struct drbd_dev d;
		int rc;

		if (drbd_dev_read(disk, &d, err) < 0)
			return -1;
		rc = drbd_dev_look(p, &d, NULL, &s, err);
		if (rc < 0)
			return -1;
		if (rc == 1 && is_ready(&s, multimaster))
			continue;
		ready = 0;
		*ret_minor = d.minor;
		*ret_last = s;
		if (rc == 1 && drbd_status_is(&s, "StandAlone") &&
		    !s.split_brain &&
		    connect_one(p, disk, multimaster, err) < 0)
			return -1;
	}
	return ready;
}

static int not_connected(const struct drbd_status *s, int64_t minor,
			 struct error *err)
{
	auto_free char *advice = drbd_status_advice(s, minor);

	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Timeout in disk reconnecting: drbd%jd is %s, disks "
			 "%s/%s; %s",
			 (intmax_t)minor, s->state, s->disk, s->peer_disk,
			 advice != NULL ? advice : "see the other node");
}

static WAITS int wait_ready(const struct paths *p, const json_t *disks,
			    bool multimaster, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + ATTACH_US, minor = 0;
	unsigned pause_ms = ATTACH_MIN_MS;
	struct drbd_status last = {0};

	for (;;) {
		int rc = look(p, disks, multimaster, &last, &minor, err);

		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (last.split_brain || clock_mono_us() > deadline_us ||
		    task_interrupted())
			return not_connected(&last, minor, err);
		task_sleep(pause_ms);
		if (pause_ms < ATTACH_MAX_MS)
			pause_ms = pause_ms * 3 / 2;
	}
}

WAITS int drbd_attach_net(const struct paths *p, const json_t *disks,
			  bool multimaster, struct error *err)
{
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk)
		if (connect_one(p, disk, multimaster, err) < 0)
			return error_wrap(err, "Can't change network "
					       "configuration");
	return wait_ready(p, disks, multimaster, err);
}

/* The state of one that is connected, or becomes so soon. */
static WAITS int wait_linked(const struct paths *p, const struct drbd_dev *d,
			     struct drbd_status *ret, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + LINK_US;

	for (;;) {
		auto_free char *advice = NULL;
		int rc = drbd_dev_look(p, d, NULL, ret, err);

		if (rc < 0 || (rc == 1 && drbd_status_is_linked(ret)))
			return rc < 0 ? -1 : 0;
		if (rc == 0)
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "Can't find device %s: it is not "
					 "active (gnt-instance activate-disks)",
					 d->name);
		if (ret->split_brain || clock_mono_us() > deadline_us ||
		    task_interrupted()) {
			advice = drbd_status_advice(ret, d->minor);
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "DRBD device %s is not in sync: %s",
					 d->name,
					 advice != NULL ? advice : ret->state);
		}
		task_sleep(LINK_PAUSE_MS);
	}
}

WAITS json_t *drbd_wait_sync(const struct paths *p, const json_t *disks,
			     struct error *err)
{
	const json_t *disk;
	double lowest = 100;
	bool done = true;
	size_t i;

	json_array_foreach (disks, i, disk) {
		struct drbd_status s;
		struct drbd_dev d;

		if (drbd_dev_read(disk, &d, err) < 0 ||
		    wait_linked(p, &d, &s, err) < 0)
			return NULL;
		done &= !drbd_status_is_syncing(&s);
		if (s.percent >= 0 && s.percent < lowest)
			lowest = s.percent;
	}
	return json_make("[b, f]", done, lowest);
}

static bool is_mirror(const json_t *disk)
{
	return str_eq(json_str(disk, "dev_type", ""), "drbd");
}

WAITS json_t *drbd_needs_activation(const struct paths *p, const json_t *disks,
				    struct error *err)
{
	auto_look struct bdev_look look = {0};
	auto_json json_t *list = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		struct drbd_status s;
		struct drbd_dev d;
		int rc;

		if (!is_mirror(disk))
			continue;
		if (drbd_dev_read(disk, &d, err) < 0)
			return NULL;
		rc = drbd_dev_look(p, &d, &look, &s, err);
		if (rc < 0)
			return NULL;
		if (rc == 0 || drbd_status_is(&s, "StandAlone") ||
		    drbd_status_is_diskless(&s))
			json_array_append_new(
				list, json_string(json_str(disk, "uuid", "")));
	}
	return steal(&list);
}

/* No program is run: a guest stands still meanwhile. */
WAITS int drbd_check_whole(const struct paths *p, const json_t *disks,
			   struct error *err)
{
	auto_look struct bdev_look look = {0};
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		auto_free char *advice = NULL;
		struct drbd_status s;
		struct drbd_dev d;
		int rc;

		if (!is_mirror(disk))
			continue;
		if (drbd_dev_read(disk, &d, err) < 0)
			return -1;
		rc = drbd_dev_status(p, d.minor, &look, &s, err);
		if (rc < 0)
			return -1;
		if (rc == 1 && is_whole(&s))
			continue;
		advice = rc == 1 ? drbd_status_advice(&s, d.minor) : NULL;
		return error_set(err, ERR_BLOCKDEV, ECODE_STATE,
				 "The other side of disk %zu has not all that "
				 "was written: %s",
				 i,
				 advice != NULL
					 ? advice
					 : "run gnt-instance activate-disks");
	}
	return 0;
}

/* NULL: all is well, or it is no mirror. */
static WAITS char *advice_for(const struct paths *p, const json_t *disk,
			      struct bdev_look *look)
{
	struct drbd_status s;
	struct drbd_dev d;
	struct error bad;
	int rc = -1;

	if (!is_mirror(disk))
		return NULL;
	if (drbd_dev_read(disk, &d, &bad) == 0)
		rc = drbd_dev_look(p, &d, look, &s, &bad);
	if (rc == 0)
		return xprintf("%s is not active: gnt-instance activate-disks "
			       "brings it up",
			       d.name);
	return rc < 0 ? xstrdup(bad.text) : drbd_status_advice(&s, d.minor);
}

WAITS json_t *drbd_advice(const struct paths *p, const json_t *disks,
			  struct error *err)
{
	auto_look struct bdev_look look = {0};
	json_t *list = json_array();
	const json_t *disk;
	size_t i;

	(void)err;
	json_array_foreach (disks, i, disk) {
		auto_free char *advice = advice_for(p, disk, &look);

		json_array_append_new(list, advice != NULL ? json_string(advice)
							   : json_null());
	}
	return list;
}
