/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are logical volumes: logical_id [volume group, name].  What is
 * there is what lvs says (noded/storage/lvm.h).  Names, tags and options are
 * Ganeti's, so that each takes over the other's volumes.  Volumes stay active
 * from their first use on. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "noded/storage/bdev_device.h"
#include "noded/storage/lvm.h"
#include "noded/storage/lvm_place.h"
#include "noded/storage/lvm_thin.h"
#include "noded/storage/storage_tool.h"
#include "noded/storage/storage_turn.h"

/* Larger sizes are mistakes; and sums cannot overflow. */
#define SIZE_MIB_MAX (INT64_C(1) << 40)
/* A volume may be held open for moments by those who look at new devices. */
#define REMOVE_PAUSE_MS 3000
#define REMOVE_US 30000000

struct id {
	const char *group, *name;
};

static int read_id(const json_t *logical_id, struct id *ret, struct error *err)
{
	ret->group = json_string_value(json_array_get(logical_id, 0));
	ret->name = json_string_value(json_array_get(logical_id, 1));
	if (json_array_size(logical_id) == 2 && lvm_name_is_valid(ret->group) &&
	    lvm_name_is_valid(ret->name))
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "The logical_id of a disk on LVM must be [volume "
			 "group, name], not %s/%s",
			 ret->group != NULL ? ret->group : "?",
			 ret->name != NULL ? ret->name : "?");
}

static int id_of(const json_t *disk, struct id *ret, struct error *err)
{
	return read_id(json_get(disk, "logical_id"), ret, err);
}

static char *virtual_path(const struct id *id)
{
	return xprintf("/dev/%s/%s", id->group, id->name);
}

static char *local_path(const struct paths *p, const struct id *id)
{
	auto_free char *device = virtual_path(id);

	return paths_local(p, device);
}

static int need_size(int64_t mib, struct error *err)
{
	if (mib > 0 && mib <= SIZE_MIB_MAX)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%" PRId64 " MiB is not a size of a disk", mib);
}

/* 1: it is there, and *ret is to be freed by lvm_volume_done(), with *ret_rows
 * that it points into; 0: not there; -1 with err. */
static WAITS int look_up(const struct paths *p, const struct id *id,
			 json_t **ret_rows, struct lvm_volume *ret,
			 struct error *err)
{
	int rc;

	*ret_rows = lvm_volumes(p, err);
	if (*ret_rows == NULL)
		return -1;
	rc = lvm_volume_find(*ret_rows, id->group, id->name, ret, err);
	return rc;
}

static int not_there(const struct id *id, struct error *err)
{
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "There is no logical volume %s/%s on this node; gnt-"
			 "node volumes lists those that there are",
			 id->group, id->name);
}

/* --- tags --- */

/* One command: a volume is never without its owner. */
static WAITS int set_tag(const struct paths *p, const struct id *id,
			 const struct strv *old, const char *text,
			 struct error *err)
{
	auto_free char *device = virtual_path(id);
	auto_free char *tag = lvm_tag(text);
	auto_strv struct strv argv = {0};

	if (old->n == 1 && strcmp(old->items[0], tag) == 0)
		return 0;
	strv_add(&argv, "lvchange");
	for (size_t i = 0; i < old->n; i++) {
		if (strcmp(old->items[i], tag) == 0)
			continue;
		strv_add(&argv, "--deltag");
		strv_add(&argv, old->items[i]);
	}
	if (!strv_has(old, tag)) {
		strv_add(&argv, "--addtag");
		strv_add(&argv, tag);
	}
	strv_add(&argv, device);
	return storage_tool_check_strv(p, &argv, err);
}

static WAITS int plain_setinfo(const struct paths *p, const json_t *disk,
			       const char *text, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	struct id id;
	int rc = id_of(disk, &id, err) < 0 ? -1
					   : look_up(p, &id, &rows, &v, err);

	if (rc == 0)
		return not_there(&id, err);
	return rc < 0 ? -1 : set_tag(p, &id, &v.tags, text, err);
}

/* --- create --- */

/* The volume has its owner from its first moment. */
static void add_owner(struct strv *argv, const struct bdev_new *new)
{
	auto_free char *tag = new->info != NULL ? lvm_tag(new->info) : NULL;

	if (tag == NULL)
		return;
	strv_add(argv, "--addtag");
	strv_add(argv, tag);
}

/* On these physical volumes, with as many stripes as LVM can make. */
static WAITS int create_on(const struct paths *p, const struct id *id,
			   const struct bdev_new *new, int64_t stripes,
			   const struct strv *pvs, struct error *err)
{
	int rc = -1;

	for (int64_t n = stripes; n > 0 && rc < 0; n--) {
		auto_strv struct strv argv = {0};

		strv_add(&argv, "lvcreate");
		strv_add(&argv, "-Wn");
		strv_addf(&argv, "-L%" PRId64 "m", new->size_mib);
		strv_addf(&argv, "-n%s", id->name);
		add_owner(&argv, new);
		strv_addf(&argv, "-i%" PRId64, n);
		strv_add(&argv, id->group);
		for (size_t i = 0; i < pvs->n; i++)
			strv_add(&argv, pvs->items[i]);
		rc = storage_tool_check_strv(p, &argv, err);
	}
	return rc;
}

/* In the pool that the disk's parameters name. */
static WAITS int create_thin(const struct paths *p, const struct id *id,
			     const char *pool, const json_t *rows,
			     const struct bdev_new *new, struct error *err)
{
	auto_free char *tag = new->info != NULL ? lvm_tag(new->info) : NULL;
	const struct lvm_thin thin = {id->group, id->name, pool, tag,
				      new->size_mib};

	if (!new->exclusive)
		return lvm_thin_create(p, rows, &thin, err);
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "A thin volume shares the physical volumes of its "
			 "pool, which exclusive storage does not allow");
}

static WAITS int create_volume(const struct paths *p, const json_t *disk,
			       const struct id *id, const json_t *rows,
			       const struct bdev_new *new, struct error *err)
{
	auto_turn struct storage_turn turn = {0};
	auto_json json_t *physical = NULL;
	struct lvm_place place = {0};
	struct error first;
	int rc;

	/* Two that look at the same time would choose the same empty ones. */
	if (new->exclusive)
		storage_turn_begin(&turn, xprintf("lvm %s", id->group));
	physical = lvm_physical(p, err);
	if (physical == NULL ||
	    lvm_place_find(physical, rows,
			   &(struct lvm_wish){
				   .group = id->group,
				   .mib = new->size_mib,
				   .stripes = json_int(json_get(disk, "params"),
						       "stripes", 1),
				   .spindles = json_int(disk, "spindles", -1),
				   .exclusive = new->exclusive,
				   .owner = new->info,
			   },
			   &place, err) < 0)
		return -1;
	/* Where the instance's other volumes are, if that can be. */
	rc = place.near.n == 0 ? -1
			       : create_on(p, id, new, 1, &place.near, &first);
	if (rc < 0)
		rc = create_on(p, id, new, place.stripes, &place.pvs, err);
	lvm_place_done(&place);
	return rc;
}

static WAITS int plain_create(const struct paths *p, const json_t *disk,
			      const struct bdev_new *new, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	const char *pool;
	struct id id;
	int rc;

	if (need_size(new->size_mib, err) < 0 || id_of(disk, &id, err) < 0)
		return -1;
	rc = look_up(p, &id, &rows, &v, err);
	if (rc == 1)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "The logical volume %s/%s exists already; if "
				 "nobody on this node needs it, remove it "
				 "(lvremove %s/%s)",
				 id.group, id.name, id.group, id.name);
	if (rc < 0)
		return -1;
	pool = json_str(json_get(disk, "params"), "thin-pool", "");
	rc = *pool != '\0' ? create_thin(p, &id, pool, rows, new, err)
			   : create_volume(p, disk, &id, rows, new, err);
	if (rc < 0)
		return error_wrap(err, "Can't make the logical volume %s/%s",
				  id.group, id.name);
	return 0;
}

/* --- remove, find, activate --- */

static WAITS int plain_remove(const struct paths *p, const json_t *disk,
			      struct error *err)
{
	int64_t deadline_us = clock_mono_us() + REMOVE_US;
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	auto_free char *full = NULL;
	struct id id;
	int rc = id_of(disk, &id, err) < 0 ? -1
					   : look_up(p, &id, &rows, &v, err);

	if (rc <= 0)
		return rc;
	full = xprintf("%s/%s", id.group, id.name);
	for (;;) {
		const char *const argv[] = {"lvremove", "-f", full, NULL};

		if (storage_tool_check(p, argv, err) == 0)
			return 0;
		if (clock_mono_us() > deadline_us || task_interrupted())
			return error_wrap(err,
					  "Can't remove the logical volume %s",
					  full);
		task_sleep(REMOVE_PAUSE_MS);
	}
}

static WAITS int plain_find(const struct paths *p, const json_t *disk,
			    char **ret_path, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	struct id id;
	int rc = id_of(disk, &id, err) < 0 ? -1
					   : look_up(p, &id, &rows, &v, err);

	if (rc == 1)
		*ret_path = local_path(p, &id);
	return rc;
}

static WAITS char *plain_assemble(const struct paths *p, const json_t *disk,
				  struct error *err)
{
	auto_free char *device = NULL;
	struct id id;

	if (id_of(disk, &id, err) < 0)
		return NULL;
	device = virtual_path(&id);
	/* Always: a group may not have been activated after the boot.  -K, as
	 * thin snapshots are not activated without. */
	if (storage_tool_check(p,
			       (const char *const[]){"lvchange", "-ay", "-K",
						     device, NULL},
			       err) < 0) {
		error_wrap(err, "Can't activate the logical volume %s/%s",
			   id.group, id.name);
		return NULL;
	}
	return paths_local(p, device);
}

static int plain_shutdown(const struct paths *p, const json_t *disk,
			  struct error *err)
{
	(void)p, (void)disk, (void)err;
	return 0;
}

/* --- what it is --- */

static WAITS json_t *plain_status(const struct paths *p, const json_t *disk,
				  struct bdev_look *look, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_free char *device = NULL;
	struct id id;
	int rc;

	if (id_of(disk, &id, err) < 0)
		return NULL;
	if (look->volumes == NULL)
		look->volumes = lvm_volumes(p, err);
	if (look->volumes == NULL)
		return NULL;
	rc = lvm_volume_find(look->volumes, id.group, id.name, &v, err);
	if (rc <= 0)
		return rc < 0 ? NULL : json_null();
	device = virtual_path(&id);
	return json_make("{s:s, s:I, s:I, s:n, s:n, s:b, s:i}", "dev_path",
			 device, "major", (json_int_t)v.major, "minor",
			 (json_int_t)v.minor, "sync_percent", "estimated_time",
			 "is_degraded", v.lost, "ldisk_status",
			 v.lost ? BDEV_FAULTY : BDEV_OKAY);
}

static WAITS int64_t plain_size(const struct paths *p, const json_t *disk,
				struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	struct id id;
	int rc = id_of(disk, &id, err) < 0 ? -1
					   : look_up(p, &id, &rows, &v, err);

	if (rc == 0)
		return not_there(&id, err);
	return rc < 0 ? -1 : v.bytes;
}

static WAITS int64_t plain_spindles(const struct paths *p, const json_t *disk)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	struct error ignored;
	struct id id;

	if (id_of(disk, &id, &ignored) < 0 ||
	    look_up(p, &id, &rows, &v, &ignored) != 1)
		return -1;
	return (int64_t)v.devices.n;
}

/* --- grow --- */

/* Bytes to add, whole stripes; 0: it is as large already, perhaps since the
 * answer to an earlier call was lost. */
static int64_t missing_bytes(const json_t *disk, const struct lvm_volume *v,
			     const struct bdev_growth *growth)
{
	int64_t stripe = v->extent_bytes * v->stripes;
	int64_t want = (json_int(disk, "size", 0) + growth->amount_mib) * MIB;
	int64_t missing = want - v->bytes;

	return missing <= 0 ? 0 : (missing + stripe - 1) / stripe * stripe;
}

static WAITS int check_exclusive(const struct paths *p, const struct id *id,
				 const struct lvm_volume *v, int64_t bytes,
				 struct error *err)
{
	auto_json json_t *physical = lvm_physical(p, err);
	auto_free struct lvm_pv *pvs = NULL;
	double usable, room = 0;
	size_t n;

	if (physical == NULL)
		return -1;
	pvs = lvm_pvs_of(physical, id->group, false, &n);
	usable = lvm_pv_usable_mib(pvs, n);
	for (size_t i = 0; i < n; i++)
		if (strv_has(&v->devices, pvs[i].name))
			room += pvs[i].free_mib - (pvs[i].mib - usable);
	if ((double)bytes / MIB <= room)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Not enough free space to grow %s/%s on its own "
			 "physical volumes: %" PRId64 " MiB required, %.0f "
			 "available",
			 id->group, id->name, bytes / MIB, room);
}

static WAITS int extend(const struct paths *p, const struct id *id,
			const struct lvm_volume *v, int64_t bytes,
			const struct bdev_growth *growth, struct error *err)
{
	static const char *const policies[] = {"contiguous", "cling", "normal"};
	auto_free char *device = virtual_path(id);
	int rc = -1;

	if (*v->pool != '\0')
		return lvm_thin_grow(p, device, bytes, growth->dry_run, err);
	for (size_t i = 0; i < 3 && rc < 0; i++) {
		auto_strv struct strv argv = {0};

		strv_add(&argv, "lvextend");
		strv_add(&argv, "-L");
		strv_addf(&argv, "+%" PRId64 "k", bytes / 1024);
		if (growth->dry_run)
			strv_add(&argv, "--test");
		strv_add(&argv, "--alloc");
		strv_add(&argv, policies[i]);
		strv_add(&argv, device);
		for (size_t k = 0; growth->exclusive && k < v->devices.n; k++)
			strv_add(&argv, v->devices.items[k]);
		rc = storage_tool_check_strv(p, &argv, err);
	}
	return rc;
}

/* LVM has said that it did it. */
static WAITS int check_grown(const struct paths *p, const struct id *id,
			     int64_t bytes, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	int rc = look_up(p, id, &rows, &v, err);

	if (rc < 0 || (rc == 1 && v.bytes >= bytes))
		return rc < 0 ? -1 : 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "lvextend has told of no failure, but the volume has "
			 "%" PRId64 " MiB and not %" PRId64,
			 rc == 1 ? v.bytes / MIB : 0, bytes / MIB);
}

static WAITS int plain_grow(const struct paths *p, const json_t *disk,
			    const struct bdev_growth *growth, struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	int64_t bytes;
	struct id id;
	int rc;

	/* The volume may be as large already, when a mirror on it is not. */
	if ((growth->amount_mib != 0 &&
	     need_size(growth->amount_mib, err) < 0) ||
	    id_of(disk, &id, err) < 0)
		return -1;
	if (!growth->backing_store)
		return 0;
	rc = look_up(p, &id, &rows, &v, err);
	if (rc <= 0)
		return rc < 0 ? -1 : not_there(&id, err);
	bytes = missing_bytes(disk, &v, growth);
	if (bytes == 0)
		return 0;
	if (growth->exclusive && check_exclusive(p, &id, &v, bytes, err) < 0)
		return -1;
	if (extend(p, &id, &v, bytes, growth, err) == 0 &&
	    (growth->dry_run || check_grown(p, &id, v.bytes + bytes, err) == 0))
		return 0;
	return error_wrap(err, "Can't grow the logical volume %s/%s", id.group,
			  id.name);
}

/* --- rename, snapshot, wipe --- */

static WAITS int plain_rename(const struct paths *p, const json_t *disk,
			      const json_t *new_id, struct error *err)
{
	auto_volume struct lvm_volume from = {0}, to = {0};
	auto_json json_t *rows = NULL;
	struct id id, new;
	int rc, there;

	if (id_of(disk, &id, err) < 0 || read_id(new_id, &new, err) < 0)
		return -1;
	if (strcmp(id.group, new.group) != 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "A logical volume stays in its volume group, "
				 "%s/%s cannot become %s/%s",
				 id.group, id.name, new.group, new.name);
	rc = look_up(p, &id, &rows, &from, err);
	if (rc < 0)
		return -1;
	there = lvm_volume_find(rows, new.group, new.name, &to, err);
	if (there < 0)
		return -1;
	if (rc == 0) /* done before? */
		return there == 1 ? 0 : not_there(&id, err);
	return storage_tool_check(p,
				  (const char *const[]){"lvrename", new.group,
							id.name, new.name,
							NULL},
				  err);
}

/* What an earlier export left; any other volume of that name is somebody's. */
static WAITS int remove_old_snapshot(const struct paths *p, const json_t *rows,
				     const struct id *snap, struct error *err)
{
	auto_free char *full = xprintf("%s/%s", snap->group, snap->name);
	auto_volume struct lvm_volume v = {0};
	int rc = lvm_volume_find(rows, snap->group, snap->name, &v, err);

	if (rc <= 0)
		return rc;
	if (strchr("sSV", v.attr[0]) == NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s exists and is no snapshot", full);
	return storage_tool_check(
		p, (const char *const[]){"lvremove", "-f", full, NULL}, err);
}

static WAITS int make_snapshot(const struct paths *p, const struct id *id,
			       const struct lvm_volume *v, const char *name,
			       int64_t mib, struct error *err)
{
	auto_free char *device = virtual_path(id);
	auto_free char *named = xprintf("-n%s", name);
	auto_free char *size = xprintf("-L%" PRId64 "m", mib);

	if (*v->pool != '\0') /* takes space of the pool as it changes */
		return storage_tool_check(
			p,
			(const char *const[]){"lvcreate", "-kn", "-s", named,
					      device, NULL},
			err);
	return storage_tool_check(p,
				  (const char *const[]){"lvcreate", size, "-s",
							named, device, NULL},
				  err);
}

static WAITS json_t *plain_snapshot(const struct paths *p, const json_t *disk,
				    const char *name, int64_t size_mib,
				    struct error *err)
{
	auto_volume struct lvm_volume v = {0};
	auto_json json_t *rows = NULL;
	struct id id, snap;
	int rc;

	if (id_of(disk, &id, err) < 0 || need_size(size_mib, err) < 0)
		return NULL;
	snap = (struct id){id.group, name};
	if (!lvm_name_is_valid(name)) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "\"%s\" is not a name of a logical volume", name);
		return NULL;
	}
	rc = look_up(p, &id, &rows, &v, err);
	if (rc <= 0) {
		if (rc == 0)
			not_there(&id, err);
		return NULL;
	}
	if (remove_old_snapshot(p, rows, &snap, err) < 0 ||
	    make_snapshot(p, &id, &v, name, size_mib, err) < 0) {
		error_wrap(err, "Can't make a snapshot of %s/%s", id.group,
			   id.name);
		return NULL;
	}
	return json_make("[s, s]", id.group, name);
}

static WAITS int plain_wipe(const struct paths *p, const json_t *disk,
			    int64_t offset_mib, int64_t size_mib,
			    struct error *err)
{
	auto_free char *local = NULL;
	struct id id;

	if (id_of(disk, &id, err) < 0)
		return -1;
	local = local_path(p, &id);
	return bdev_device_wipe(local, offset_mib, size_mib, err);
}

const struct bdev_class bdev_plain = {
	.dev_type = "plain",
	.create_keeps_info = true,
	.create = plain_create,
	.remove = plain_remove,
	.find = plain_find,
	.assemble = plain_assemble,
	.shutdown = plain_shutdown,
	.size = plain_size,
	.grow = plain_grow,
	.rename = plain_rename,
	.wipe = plain_wipe,
	.setinfo = plain_setinfo,
	.status = plain_status,
	.snapshot = plain_snapshot,
	.spindles = plain_spindles,
};
