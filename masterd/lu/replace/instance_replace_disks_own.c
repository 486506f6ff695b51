/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks get other storage on the node that they are on: new volumes are made,
 * take the names of the old ones, and the mirror fills them from its peer.  The
 * configuration does not change. */
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/replace/instance_replace_disks.h"

/* The volume under another name, in the same group. */
static json_t *renamed(const json_t *volume, const char *name)
{
	json_t *copy = json_copy(json_unconst(volume));
	const json_t *id = disk_logical_id(volume);

	disk_set_logical_id(copy,
			    json_make("[O, s]", json_array_get(id, 0), name));
	json_object_set_new(copy, "dynamic_params", json_object());
	return copy;
}

static const char *volume_name(const json_t *volume)
{
	return json_string_value(json_array_get(disk_logical_id(volume), 1));
}

/* The children of a disk with new names: fresh ones, or those that old ones get
 * while they wait for their end. */
static json_t *fresh_volumes(const json_t *children)
{
	static const char *const kinds[] = {"data", "meta"};
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(children); i++) {
		auto_free char *name = NULL;
		char uuid[37];

		uuid_new(uuid);
		name = xprintf("%s.disk_%s", uuid, kinds[i == 0 ? 0 : 1]);
		json_array_append_new(
			list, renamed(json_array_get(children, i), name));
	}
	return list;
}

/* Those that the node has: with a drive that was lost volumes are gone, too. */
static WAITS json_t *volumes_there(struct lu *lu, const json_t *children)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(children); i++) {
		json_t *child = json_array_get(children, i);
		struct error ignored;
		auto_json json_t *found = lu_call(
			lu, replace_of(lu)->target,
			rpc_blockdev_find(json_incref(child)), &ignored);

		if (found != NULL && !json_is_null(found))
			json_array_append(list, child);
	}
	return list;
}

static json_t *retired_volumes(const json_t *children)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(children); i++) {
		const json_t *child = json_array_get(children, i);
		auto_free char *name =
			xprintf("%s_replaced-%.0f", volume_name(child),
				clock_seconds());

		json_array_append_new(list, renamed(child, name));
	}
	return list;
}

/* From the names of one list to those of the other. */
static WAITS int rename_all(struct lu *lu, const json_t *from, const json_t *to,
			    struct error *err)
{
	json_t *pairs = json_array();

	for (size_t i = 0; i < json_array_size(from); i++)
		json_array_append_new(
			pairs,
			json_make("[O, O]", json_array_get(from, i),
				  disk_logical_id(json_array_get(to, i))));
	return replace_call(lu, replace_of(lu)->target,
			    rpc_blockdev_rename(pairs), err);
}

static WAITS int attach(struct lu *lu, const json_t *disk,
			const json_t *children, struct error *err)
{
	return replace_call(
		lu, replace_of(lu)->target,
		rpc_blockdev_addchildren(json_ref(disk), json_ref(children)),
		err);
}

/* What one disk's change has to do with. */
struct swap {
	const json_t *disk, *children;
	const json_t *old; /* those of the children that are there */
	json_t *fresh, *retired;
};

static WAITS int detach(struct lu *lu, const struct swap *s, struct error *err)
{
	return replace_call(lu, replace_of(lu)->target,
			    rpc_blockdev_removechildren(json_ref(s->disk),
							json_ref(s->children)),
			    err);
}

enum step { DETACH, RETIRE, RENAME, ATTACH };

/* *step is the last one that was tried. */
static WAITS int swap_steps(struct lu *lu, const struct swap *s,
			    enum step *step, struct error *err)
{
	*step = DETACH;
	if (detach(lu, s, err) < 0)
		return error_wrap(err, "Can't detach the old storage");
	*step = RETIRE;
	lu_info(lu, "Renaming the old volumes on the target node");
	if (rename_all(lu, s->old, s->retired, err) < 0)
		return error_wrap(err, "Can't rename the old volumes");
	*step = RENAME;
	lu_info(lu, "Renaming the new volumes on the target node");
	if (rename_all(lu, s->fresh, s->children, err) < 0)
		return error_wrap(err, "Can't rename the new volumes");
	*step = ATTACH;
	lu_info(lu, "Adding new mirror component on %s",
		lu_node_name(lu, replace_of(lu)->target));
	if (attach(lu, s->disk, s->children, err) < 0)
		return error_wrap(err, "Can't attach the new storage");
	return 0;
}

static WAITS int take_back(struct lu *lu, const struct swap *s, enum step step,
			   struct error *err)
{
	switch (step) {
	case DETACH:
		return attach(lu, s->disk, s->children, err);
	case RETIRE:
		return rename_all(lu, s->retired, s->old, err);
	case RENAME:
		return rename_all(lu, s->children, s->fresh, err);
	case ATTACH:
		break;
	}
	return detach(lu, s, err);
}

/* The old storage is what the disk has again.  The step that failed may have
 * been done all the same, as a node daemon is killed or an answer lost; if not,
 * to take it back may fail.  But a device that has the new volumes keeps them,
 * by the old name, when they are renamed: so it must not have them. */
static WAITS void swap_back(struct lu *lu, const struct swap *s, enum step step)
{
	struct error err;
	bool back = take_back(lu, s, step, &err) == 0 || step != ATTACH;

	while (back && step-- > DETACH)
		back = take_back(lu, s, step, &err) == 0;
	if (!back)
		lu_warn(lu,
			"%s has no storage on node %s now, its mirror goes on "
			"alone; replace it again when the cause is gone: %s",
			disk_iv_name(s->disk),
			lu_node_name(lu, replace_of(lu)->target), err.text);
}

static void forget(json_t *list, const json_t *items)
{
	for (size_t i = 0; i < json_array_size(items); i++)
		for (size_t k = json_array_size(list); k-- > 0;)
			if (json_array_get(list, k) == json_array_get(items, i))
				json_array_remove(list, k);
}

/* One disk; what its storage was goes to *retired. */
static WAITS int swap(struct lu *lu, const json_t *disk, json_t *fresh,
		      json_t *ret_retired, struct error *err)
{
	const char *name = disk_iv_name(disk);
	const json_t *children = disk_children(disk);
	auto_json json_t *old = volumes_there(lu, children);
	auto_json json_t *retired = retired_volumes(old);
	struct swap s = {disk, children, old, fresh, retired};
	enum step step;

	lu_info(lu, "Detaching %s drbd from local storage", name);
	if (swap_steps(lu, &s, &step, err) < 0) {
		swap_back(lu, &s, step);
		return error_wrap(err, "Can't replace the storage of %s on %s",
				  name,
				  lu_node_name(lu, replace_of(lu)->target));
	}
	forget(replace_of(lu)->created, fresh);
	json_array_extend(ret_retired, retired);
	return 0;
}

/* New volumes for each disk: [[data, meta], ...] */
static WAITS json_t *allocate(struct lu *lu, const json_t *disks,
			      struct error *err)
{
	auto_json json_t *all = json_array();
	struct replace *r = replace_of(lu);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		json_t *fresh = fresh_volumes(disk_children(disk));

		json_array_append_new(all, fresh);
		lu_info(lu, "Creating new local storage on %s for %s",
			lu_node_name(lu, r->target), disk_iv_name(disk));
		for (size_t k = 0; k < json_array_size(fresh); k++)
			if (replace_create(lu, r->target,
					   json_array_get(fresh, k), err) < 0)
				return NULL;
	}
	return steal(&all);
}

static WAITS int change(struct lu *lu, const json_t *disks, const json_t *fresh,
			json_t *ret_retired, struct error *err)
{
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (swap(lu, json_array_get(disks, i), json_array_get(fresh, i),
			 ret_retired, err) < 0)
			return -1;
	return 0;
}

/* Storage that is new has nothing against the peer, as the old one of a split
 * brain had. */
static WAITS int connect_parted(struct lu *lu, const json_t *disks,
				struct error *err)
{
	const struct replace *r = replace_of(lu);
	const char *const nodes[2] = {r->primary, r->secondary};

	if (!r->parted)
		return 0;
	lu_info(lu, "Connecting the new storage");
	return disks_mirror_join(lu, disks, nodes, false, err);
}

/* The last steps: the old storage goes before the sync where nothing but the
 * mirror shall be waited for, else behind it. */
static WAITS int finish(struct lu *lu, json_t *retired, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);

	if (op->early_release) {
		replace_step(lu, 5, "Removing old storage");
		replace_remove(lu, r->target, retired);
		json_array_clear(retired);
	}
	replace_step(lu, op->early_release ? 6 : 5, "Sync devices");
	if (replace_sync(lu, err) < 0)
		return -1;
	if (!op->early_release) {
		replace_step(lu, 6, "Removing old storage");
		replace_remove(lu, r->target, retired);
	}
	return 0;
}

WAITS int replace_on_node(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_json json_t *disks = replace_disks(lu);
	auto_json json_t *fresh = NULL, *retired = json_array();

	replace_step(lu, 1, "Check device existence");
	if (replace_find(lu, r->primary, err) < 0 ||
	    replace_find(lu, r->secondary, err) < 0)
		return -1;
	replace_step(lu, 2, "Check peer consistency");
	if (replace_check_data(lu, r->other, err) < 0)
		return -1;
	replace_step(lu, 3, "Allocate new storage");
	fresh = allocate(lu, disks, err);
	if (fresh == NULL)
		return -1;
	replace_step(lu, 4, "Changing drbd configuration");
	if (change(lu, disks, fresh, retired, err) == 0 &&
	    connect_parted(lu, disks, err) == 0 &&
	    finish(lu, retired, err) == 0)
		return 0;
	replace_leave(lu, r->target, retired);
	return -1;
}
