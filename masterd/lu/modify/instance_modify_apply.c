/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: disks are added and removed.  A new disk is made
 * before it is recorded, and removed again if that fails.  A disk that leaves
 * is first unplugged from a running instance, then removed from the
 * configuration, then from the node; so no half-removed disk is recorded or in
 * use. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_instance.h"

/* --- exec: files --- */

/* The call that renames a disk's file as its objects say. */
static struct rpc_request renaming(struct lu *lu, const json_t *from,
				   const json_t *to)
{
	return rpc_blockdev_rename(json_make(
		"[[o, O]]", inst_rpc_disk(lu, modify_of(lu)->inst, from),
		disk_logical_id(to)));
}

/* Undo that: now, or after the job was killed. */
static WAITS void rename_back(struct lu *lu, const json_t *from,
			      const json_t *to)
{
	struct error err;

	if (json_equal(disk_logical_id(to), disk_logical_id(from)))
		return;
	if (aftermath_undo(lu, inst_primary_node(modify_of(lu)->inst),
			   renaming(lu, from, to), &err) < 0)
		lu_warn(lu, "Could not take a disk back: %s", err.text);
}

/* A call that failed may have been done, unless the node says it was not. */
static WAITS int rename_file(struct lu *lu, const json_t *from,
			     const json_t *to, struct error *err)
{
	auto_json json_t *done = NULL;

	if (json_equal(disk_logical_id(to), disk_logical_id(from)))
		return 0;
	done = lu_call(lu, inst_primary_node(modify_of(lu)->inst),
		       renaming(lu, from, to), err);
	if (done == NULL && err->kind != ERR_EXEC)
		rename_back(lu, to, from);
	return done == NULL ? -1 : 0;
}

/* The disk as it was before it was attached; borrowed. */
static const json_t *recorded(struct lu *lu, const json_t *disk)
{
	return config_get(lu->m->config, CONFIG_DISK, disk_uuid(disk));
}

static WAITS int bring_in(struct lu *lu, const json_t *disk, struct error *err)
{
	const json_t *inst = modify_of(lu)->inst;
	auto_json json_t *from = json_copy(json_unconst(recorded(lu, disk)));

	if (disks_make_folder(lu, inst, disk, err) < 0 ||
	    rename_file(lu, from, disk, err) < 0)
		return error_wrap(err, "Failed before attach");
	return 0;
}

/* Undo: remove the first n disks that were added. */
static WAITS void take_back(struct lu *lu, size_t n)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < n; i++) {
		const json_t *disk = json_array_get(m->disks, i);
		auto_json json_t *before = json_ref(recorded(lu, disk));

		if (before == NULL)
			disks_remove_one(lu, m->inst, disk, i);
		else
			rename_back(lu, disk, before);
	}
}

static WAITS int bring_one(struct lu *lu, const json_t *disk, size_t i,
			   struct error *err)
{
	const json_t *inst = modify_of(lu)->inst;

	if (recorded(lu, disk) != NULL)
		return bring_in(lu, disk, err);
	disks_say_one(lu, disk, i);
	if (disks_create_one(lu, inst, disk, i, err) < 0)
		return -1;
	if (disks_wipe_one(lu, inst, disk, i, 0, err) == 0)
		return 0;
	disks_remove_one(lu, inst, disk, i);
	return -1;
}

/* A disk that failed has left nothing. */
static WAITS int bring_all(struct lu *lu, struct error *err)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < json_array_size(m->disks); i++)
		if (bring_one(lu, json_array_get(m->disks, i), i, err) < 0) {
			take_back(lu, i);
			return -1;
		}
	return 0;
}

/* <folder>/<instance>/<file> becomes <folder>/<file>; others stay in place. */
static json_t *detached(const json_t *disk)
{
	json_t *copy = config_edit(disk);
	const json_t *id = disk_logical_id(disk);
	const char *file = json_string_value(json_array_get(id, 1));
	auto_free char *folder = NULL, *path = NULL;

	disk_set_iv_name(copy, "");
	if (template_get(disk_dev_type(disk))->named != NAMED_AS_FILE ||
	    file == NULL || strrchr(file, '/') == NULL)
		return copy;
	folder = xstrndup(file, (size_t)(strrchr(file, '/') - file));
	if (strrchr(folder, '/') == NULL)
		return copy;
	*strrchr(folder, '/') = '\0';
	path = xprintf("%s%s", folder, strrchr(file, '/'));
	disk_set_logical_id(copy,
			    json_make("[O, s]", json_array_get(id, 0), path));
	return copy;
}

/* --- exec: a running instance --- */

static WAITS json_t *assemble(struct lu *lu, const json_t *disk, size_t i,
			      struct error *err)
{
	const json_t *inst = modify_of(lu)->inst;
	auto_json json_t *carried =
		inst_rpc_disk(lu, modify_of(lu)->inst, disk);

	return lu_call(lu, inst_primary_node(inst),
		       rpc_blockdev_assemble(json_ref(carried),
					     inst_rpc(lu, inst, NULL, NULL),
					     true, i),
		       err);
}

static WAITS void plug(struct lu *lu, const json_t *disk, size_t i,
		       json_t *rows)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *carried =
		inst_rpc_disk(lu, modify_of(lu)->inst, disk);
	auto_json json_t *extra = NULL, *device = NULL;
	struct error err;
	bool done;

	device = assemble(lu, disk, i, &err);
	if (device == NULL) {
		lu_warn(lu, "Can't assemble newly created disk %zu: %s", i,
			err.text);
		modify_row(rows, json_string("assemble:failed"), "disk/%zu", i);
		return;
	}
	if (!m->hotplug)
		return;
	extra = json_make("[O?, O?]", json_array_get(device, 1),
			  json_array_get(device, 2));
	done = modify_plug(lu, "hotadd", "disk", carried, extra, i);
	modify_row(rows, json_string(modify_plugged(done)), "disk/%zu", i);
}

static WAITS void plug_new(struct lu *lu)
{
	struct modify *m = modify_of(lu);
	bool active = m->hotplug || inst_disks_active(m->inst);

	for (size_t i = 0; active && i < json_array_size(m->disk_steps); i++) {
		const json_t *step = json_array_get(m->disk_steps, i);

		if (*json_str(step, "action", "") == 'a' &&
		    recorded(lu, json_get(step, "device")) != NULL)
			plug(lu, json_get(step, "device"),
			     (size_t)json_int(step, "index", 0),
			     json_object_get(step, "rows"));
	}
}

static const json_t *step_of(const struct modify *m, const json_t *leaving)
{
	return json_array_get(m->disk_steps,
			      (size_t)json_int(leaving, "step", 0));
}

/* A disk that the instance does not release stays: removing it would destroy
 * data in use. */
static WAITS int unplug(struct lu *lu, json_t *leaving, struct error *err)
{
	struct modify *m = modify_of(lu);
	const json_t *step = step_of(m, leaving);
	size_t i = (size_t)json_int(step, "index", 0);
	const json_t *disk = json_get(leaving, "disk");
	auto_json json_t *carried = inst_rpc_disk(lu, m->inst, disk);

	if (m->hotplug &&
	    !modify_plug(lu, "hotremove", "disk", carried, NULL, i))
		return error_set(err, ERR_EXEC, NULL,
				 "Disk %zu is still in use by instance %s; it "
				 "can be removed when the instance is down",
				 i, inst_name(m->inst));
	json_set_bool(leaving, "unplugged", m->hotplug);
	if (m->hotplug)
		modify_row(json_object_get(step, "rows"),
			   json_string(modify_plugged(true)), "disk/%zu", i);
	return disks_stop_one(lu, m->inst, disk, i, err);
}

/* Undo: the first n of the disks that leave belong to the instance again, as
 * far as they had left. */
static WAITS void call_back(struct lu *lu, size_t n)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *rows = json_array();

	for (size_t k = 0; k < n; k++) {
		const json_t *one = json_array_get(m->leaving, k);
		const json_t *disk = json_get(one, "disk");
		const json_t *after = json_get(one, "after");
		const json_t *step = step_of(m, one);
		size_t i = (size_t)json_int(step, "index", 0);

		if (after != NULL)
			rename_back(lu, after, disk);
		if (json_bool(one, "unplugged", false))
			plug(lu, disk, i, rows);
	}
}

static WAITS int rename_out(struct lu *lu, json_t *leaving, struct error *err)
{
	const json_t *disk = json_get(leaving, "disk");
	auto_json json_t *after = NULL;

	if (!json_bool(leaving, "stays", false))
		return 0;
	after = detached(disk);
	if (rename_file(lu, disk, after, err) < 0)
		return error_wrap(err, "Failed before detach");
	json_object_set(leaving, "after", after);
	return 0;
}

static WAITS int let_go(struct lu *lu, struct error *err)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < json_array_size(m->leaving); i++) {
		json_t *one = json_array_get(m->leaving, i);

		if (unplug(lu, one, err) == 0 && rename_out(lu, one, err) == 0)
			continue;
		call_back(lu, i + 1);
		return -1;
	}
	return 0;
}

/* --- exec --- */

/* Record the disks, with new indices, and their list. */
static void put_all(struct lu *lu, json_t *inst)
{
	struct modify *m = modify_of(lu);
	json_t *uuids = json_array();

	for (size_t i = 0; i < json_array_size(m->disks); i++) {
		const json_t *disk = json_array_get(m->disks, i);
		const char *uuid = disk_uuid(disk);
		auto_free char *iv_name = xprintf("disk/%zu", i);
		json_t *copy = config_edit(disk);

		json_array_append_new(uuids, json_string(uuid));
		disk_set_iv_name(copy, iv_name);
		config_put(lu->m->config, CONFIG_DISK, copy);
	}
	inst_set_disks(inst, uuids);
}

static void put_leaving(struct lu *lu)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < json_array_size(m->leaving); i++) {
		const json_t *one = json_array_get(m->leaving, i);
		json_t *after = json_object_get(one, "after");

		if (after != NULL)
			config_put(lu->m->config, CONFIG_DISK,
				   json_incref(after));
		else
			config_remove(lu->m->config, CONFIG_DISK,
				      disk_uuid(json_get(one, "disk")));
	}
}

static WAITS void remove_storage(struct lu *lu)
{
	struct modify *m = modify_of(lu);

	for (size_t i = 0; i < json_array_size(m->leaving); i++) {
		const json_t *one = json_array_get(m->leaving, i);

		if (!json_bool(one, "stays", false))
			disks_remove_one(lu, m->inst, json_get(one, "disk"), i);
	}
}

/* Undo all, where the configuration has the old disks: a change that could not
 * be written may be in force all the same. */
static WAITS void undo(struct lu *lu)
{
	struct modify *m = modify_of(lu);
	const json_t *now =
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid(m->inst));

	if (!json_equal(inst_disks(now), inst_disks(m->inst)))
		return;
	call_back(lu, json_array_size(m->leaving));
	take_back(lu, json_array_size(m->disks));
}

/* Those that this job makes; to be freed. */
static json_t *new_ones(struct lu *lu)
{
	struct modify *m = modify_of(lu);
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(m->disks); i++)
		if (recorded(lu, json_array_get(m->disks, i)) == NULL)
			json_array_append(list, json_array_get(m->disks, i));
	return list;
}

WAITS int modify_sync_disks(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_json json_t *mirrors = json_array();
	struct error ignored;
	int rc;

	for (size_t i = 0; i < json_array_size(m->made); i++) {
		const json_t *disk = json_array_get(m->made, i);

		if (template_is_pair(disk_dev_type(disk)))
			json_array_append_new(mirrors,
					      inst_rpc_disk(lu, m->inst, disk));
	}
	if (json_array_size(m->made) == 0)
		return 0;
	rc = disks_wait_sync(lu, m->inst, mirrors, !op->wait_for_sync, err);
	for (size_t i = 0; i < json_array_size(m->made); i++)
		if (!m->hotplug && !inst_disks_active(m->inst))
			disks_stop_one(lu, m->inst, json_array_get(m->made, i),
				       i, &ignored);
	return rc;
}

WAITS int modify_apply_disks(struct lu *lu, json_t *inst STEALS,
			     struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *own = inst;

	m->made = new_ones(lu);
	if (bring_all(lu, err) < 0)
		return -1;
	if (let_go(lu, err) < 0) {
		take_back(lu, json_array_size(m->disks));
		return -1;
	}
	put_all(lu, own);
	put_leaving(lu);
	config_put(lu->m->config, CONFIG_INSTANCE, steal(&own));
	if (config_commit(lu->m->config, err) < 0) {
		undo(lu);
		return -1;
	}
	remove_storage(lu);
	plug_new(lu);
	return 0;
}
