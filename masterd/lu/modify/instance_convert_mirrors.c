/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks on volumes become mirrors, and mirrors become disks on volumes: the
 * volume with the data stays, as a part of a mirror or alone.
 *
 * It also keeps its name.  So until the mirrors are recorded nothing has
 * happened to the disks that are, and wherever a job is cut off the instance
 * has them. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/modify/instance_convert_private.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

/* --- devices that are made, and taken back --- */

/* Make a device on a node.  It is noted in `made`, [[node, disk], ...], before
 * the call, since a call that failed may have made it. */
static WAITS int make(struct lu *lu, const struct conversion *c,
		      const char *node, const json_t *disk, json_t *made,
		      struct error *err)
{
	auto_free char *info = xprintf("originstname+%s", inst_name(c->inst));
	auto_json json_t *carried = inst_rpc_disk(lu, c->inst, disk);
	bool exclusive = resources_exclusive(
		lu->m->config, config_get(lu->m->config, CONFIG_NODE, node));
	auto_json json_t *done = NULL;

	json_array_append_new(made, json_make("[s, O]", node, carried));
	done = lu_call(lu, node,
		       rpc_blockdev_create(
			       json_ref(carried), disk_size_mib(disk),
			       inst_name(c->inst),
			       strcmp(node, inst_primary_node(c->inst)) == 0,
			       info, exclusive),
		       err);
	if (done != NULL)
		return 0;
	return error_wrap(err,
			  "Can't create a device for instance %s on node %s",
			  inst_name(c->inst), lu_node_name(lu, node));
}

/* A mirror is only stopped: the volumes that were made for it are noted
 * themselves. */
static struct rpc_request unmake(const json_t *disk)
{
	return template_is_pair(disk_dev_type(disk))
		       ? rpc_blockdev_shutdown(json_ref(disk))
		       : rpc_blockdev_remove(json_ref(disk));
}

/* Undo: now, or (later not NULL) after the job was killed. */
static WAITS void unmake_one(struct lu *lu, struct aftermath *later,
			     const char *node, const json_t *disk)
{
	auto_json json_t *done = NULL;
	struct error err;

	if (later != NULL) {
		aftermath_add(later, node, unmake(disk));
		return;
	}
	done = lu_call(lu, node, unmake(disk), &err);
	if (done == NULL)
		lu_warn(lu,
			"Could not remove a device on node %s, ignoring: %s",
			lu_node_name(lu, node), err.text);
}

/* Undo: remove the devices that were made, the last one first. */
static WAITS void unmake_all(struct lu *lu, const json_t *made)
{
	struct aftermath *later =
		lu->run->killed ? aftermath_create(lu->m) : NULL;

	for (size_t i = json_array_size(made); i > 0; i--) {
		const json_t *one = json_array_get(made, i - 1);

		unmake_one(lu, later, json_string_value(json_array_get(one, 0)),
			   json_array_get(one, 1));
	}
	if (later != NULL)
		aftermath_begin(later);
}

/* --- volumes become mirrors --- */

static const json_t *part(const json_t *mirror, size_t i)
{
	return json_array_get(disk_children(mirror), i);
}

void convert_keep_name(const json_t *old, const json_t *mirror)
{
	disk_set_logical_id(json_unconst(part(mirror, 0)),
			    json_ref(disk_logical_id(old)));
}

/* A volume of this name on the other node is a copy of the disk that nobody has
 * noted: it may be somebody's.  A plan, whose nodes answer that all disks are
 * there once some were changed, goes on. */
static WAITS int check_free(struct lu *lu, const struct conversion *c,
			    struct error *err)
{
	for (size_t i = 0; i < json_array_size(c->disks) && !lu_plans(lu);
	     i++) {
		const json_t *data = part(json_array_get(c->disks, i), 0);
		const json_t *id = disk_logical_id(data);
		auto_json json_t *found = lu_call(
			lu, c->secondary,
			rpc_blockdev_find(inst_rpc_disk(lu, c->inst, data)),
			err);

		if (found == NULL)
			return -1;
		if (json_is_null(found))
			continue;
		return error_set(
			err, ERR_EXEC, ECODE_EXISTS,
			"Node %s has a volume %s/%s already; if nobody needs "
			"it, remove it there (lvremove), or choose another "
			"node",
			lu_node_name(lu, c->secondary),
			json_string_value(json_array_get(id, 0)),
			json_string_value(json_array_get(id, 1)));
	}
	return 0;
}

/* The other node gets volumes with the names of those that the instance has.
 * That is noted first, as for a move: what a job that is cut off has made there
 * goes when the next one needs the place, or the instance is removed. */
static WAITS int note_copies(struct lu *lu, const struct conversion *c,
			     struct error *err)
{
	disks_drop_copies(lu, c->inst);
	if (check_free(lu, c, err) < 0)
		return -1;
	return disks_note_copy(lu, c->inst, c->secondary, err);
}

/* Undo: what was made there is removed, or was tried to.  The note does not
 * stay where that failed: an instance with copies is not started while their
 * node is silent. */
static WAITS void forget_copies(struct lu *lu, const struct conversion *c)
{
	struct config *config = lu->m->config;
	struct error err;

	for (size_t i = 0; i < json_array_size(c->old); i++) {
		const json_t *old = json_array_get(c->old, i);
		json_t *disk = config_edit(
			config_get(config, CONFIG_DISK, disk_uuid(old)));

		disk_set_nodes(disk, json_ref(disk_nodes(old)));
		config_put(config, CONFIG_DISK, disk);
	}
	if (config_commit(config, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

/* Make the missing volumes: metadata on the primary, both on the secondary. */
static WAITS int make_volumes(struct lu *lu, const struct conversion *c,
			      json_t *made, struct error *err)
{
	const char *primary = inst_primary_node(c->inst);

	lu_feedback(lu, "Creating additional volumes...");
	for (size_t i = 0; i < json_array_size(c->disks); i++) {
		const json_t *disk = json_array_get(c->disks, i);

		if (make(lu, c, primary, part(disk, 1), made, err) < 0 ||
		    make(lu, c, c->secondary, part(disk, 0), made, err) < 0 ||
		    make(lu, c, c->secondary, part(disk, 1), made, err) < 0)
			return -1;
	}
	return 0;
}

static WAITS int make_mirrors(struct lu *lu, const struct conversion *c,
			      json_t *made, struct error *err)
{
	lu_feedback(lu, "Initializing DRBD devices...");
	for (size_t i = 0; i < json_array_size(c->disks); i++) {
		const json_t *disk = json_array_get(c->disks, i);

		if (make(lu, c, inst_primary_node(c->inst), disk, made, err) <
			    0 ||
		    make(lu, c, c->secondary, disk, made, err) < 0)
			return -1;
	}
	return lu_check_killed(lu, err);
}

WAITS int convert_mirror_volumes(struct lu *lu, const struct conversion *c,
				 struct error *err)
{
	auto_json json_t *made = json_array();

	if (note_copies(lu, c, err) < 0)
		return -1;
	if (make_volumes(lu, c, made, err) == 0 &&
	    make_mirrors(lu, c, made, err) == 0 &&
	    convert_record(lu, c, err) == 0)
		return convert_wait(lu, c, err);
	if (!convert_is_undone(lu, c))
		return -1;
	unmake_all(lu, made);
	if (!lu->run->killed)
		forget_copies(lu, c);
	return -1;
}

/* --- mirrors become volumes --- */

json_t *convert_data_of(const struct conversion *c, const json_t *mirror)
{
	static const char *const members[] = {"size", "mode", "name",
					      "iv_name"};
	json_t *data = json_copy(json_unconst(part(mirror, 0)));
	char uuid[37];

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(mirror, members[i]);

		if (value != NULL)
			json_object_set(data, members[i], value);
	}
	uuid_new(uuid);
	if (!disk_has_uuid(data))
		disk_set_uuid(data, uuid);
	disk_set_nodes(data, json_make("[s]", inst_primary_node(c->inst)));
	return data;
}

/* Remove what is left of the old disks, which are not used any more: a failure
 * is a warning. */
static WAITS void remove_at(struct lu *lu, const struct conversion *c,
			    const char *node, const json_t *disk)
{
	auto_json json_t *carried = inst_rpc_disk(lu, c->inst, disk);
	auto_json json_t *done = NULL;
	struct error err;

	done = lu_call(lu, node, rpc_blockdev_remove(json_ref(carried)), &err);
	if (done == NULL)
		lu_warn(lu,
			"Could not remove a volume on node %s, ignoring: %s",
			lu_node_name(lu, node), err.text);
}

WAITS int convert_take_data(struct lu *lu, const struct conversion *c,
			    struct error *err)
{
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(lu->m->config, c->inst, &secondaries);
	if (disks_stop(lu, c->inst, NULL, false, err) < 0)
		return error_wrap(err, "Cannot shutdown instance disks, unable "
				       "to proceed with disk template "
				       "conversion");
	if (convert_record(lu, c, err) < 0)
		return -1;
	lu_feedback(lu, "Removing volumes on the secondary node...");
	for (size_t i = 0; i < json_array_size(c->old); i++)
		for (size_t k = 0; k < secondaries.n; k++)
			remove_at(lu, c, secondaries.items[k],
				  json_array_get(c->old, i));
	lu_feedback(lu, "Removing unneeded volumes on the primary node...");
	for (size_t i = 0; i < json_array_size(c->old); i++)
		remove_at(lu, c, inst_primary_node(c->inst),
			  part(json_array_get(c->old, i), 1));
	return 0;
}
