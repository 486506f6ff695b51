/* SPDX-License-Identifier: BSD-2-Clause */
/* A snapshot is a volume like others, in the group of the one with the data,
 * and may grow to its size.  Its name is made of the disk's, so that one that
 * was left behind is replaced the next time. */
#include "masterd/lu/instance/snapshots.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/parts/lu_instance.h"

/* Images keep snapshots inside of them. */
static bool are_images(const json_t *disks)
{
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *params = disk_params(json_array_get(disks, i));

		if (strcmp(json_str(params, "format", "raw"), "raw") == 0)
			return false;
	}
	return json_array_size(disks) > 0;
}

bool snapshots_can(const char *template, const json_t *disks)
{
	return template_get(template)->snapshots ||
	       (template_get(template)->formats && are_images(disks));
}

/* The volume that holds the data of a disk. */
static const json_t *volume_of(const json_t *disk)
{
	return template_is_pair(disk_dev_type(disk))
		       ? json_array_get(disk_children(disk), 0)
		       : disk;
}

/* What a call leaves that was made though nobody knows it.  Images have theirs
 * inside, where the next one takes its place. */
static bool may_be_there(const json_t *volume, const struct error *err)
{
	return err->kind != ERR_EXEC &&
	       template_is_volume(disk_dev_type(volume));
}

/* Make one and add it to `taken`, also one that may have been made by a call
 * that failed. */
static WAITS int take_one(struct lu *lu, const json_t *disk, const char *node,
			  json_t *taken, struct error *err)
{
	const json_t *volume = volume_of(disk);
	auto_free char *name = xprintf(
		"%s.snap",
		json_string_value(json_array_get(disk_logical_id(volume), 1))
			?: "");
	auto_json json_t *snapshot = json_copy(json_unconst(volume));
	auto_json json_t *id = NULL;

	json_object_set_new(snapshot, "dynamic_params", json_object());
	disk_set_size_mib(snapshot, disk_size_mib(disk));
	disk_set_logical_id(
		snapshot,
		json_make("[O, s]", json_array_get(disk_logical_id(volume), 0),
			  name));
	id = lu_call(lu, node,
		     rpc_blockdev_snapshot(json_ref(disk), name,
					   disk_size_mib(disk)),
		     err);
	if (json_array_size(id) == 2 || json_array_size(id) == 3) {
		disk_set_logical_id(snapshot, json_incref(id));
		json_array_append(taken, snapshot);
		return 0;
	}
	if (id != NULL)
		error_set(err, ERR_EXEC, NULL,
			  "its answer is no name of a volume");
	if (may_be_there(volume, err))
		json_array_append(taken, snapshot);
	return error_wrap(err, "Could not snapshot %s on node %s",
			  disk_iv_name(disk), lu_node_name(lu, node));
}

WAITS json_t *snapshots_take(struct lu *lu, const json_t *inst,
			     const char *node, struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_json json_t *taken = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		lu_feedback(lu, "Creating a snapshot of disk/%zu on node %s", i,
			    lu_node_name(lu, node));
		if (take_one(lu, json_array_get(disks, i), node, taken, err) <
		    0) {
			snapshots_drop(lu, taken, node);
			return NULL;
		}
	}
	return steal(&taken);
}

WAITS void snapshots_drop(struct lu *lu, const json_t *snapshots,
			  const char *node)
{
	json_t *snapshot;
	size_t i;

	if (lu->run->killed) {
		aftermath_remove_on(lu->m, node, snapshots);
		return;
	}
	json_array_foreach (snapshots, i, snapshot) {
		auto_json json_t *done = NULL;
		struct error err;

		lu_feedback(lu, "Removing snapshot of disk/%zu on node %s", i,
			    lu_node_name(lu, node));
		done = lu_call(lu, node,
			       rpc_blockdev_remove(json_incref(snapshot)),
			       &err);
		if (done == NULL)
			lu_warn(lu,
				"Could not remove the snapshot of disk/%zu "
				"from node %s: %s",
				i, lu_node_name(lu, node), err.text);
	}
}
