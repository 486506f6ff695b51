/* SPDX-License-Identifier: BSD-2-Clause */
/* Another node becomes the secondary: it gets volumes, the primary lets the old
 * one go and connects to the new one, which it fills while the instance runs.
 *
 * The configuration changes between letting go and connecting: at that moment
 * the old secondary gets no more data and the new one has nothing to lose. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/replace/instance_replace_disks.h"

static void take_minors(struct lu *lu, size_t n)
{
	struct replace *r = replace_of(lu);

	r->minors = xcalloc(n + 1, sizeof(*r->minors));
	for (size_t i = 0; i < n; i++)
		r->minors[i] =
			reserve_minor(lu->m->reserve, lu->job_id, r->new_node);
}

/* The disks as they will be: [{...}, ...] */
static json_t *moved_disks(struct lu *lu, const json_t *disks, bool with_port)
{
	struct replace *r = replace_of(lu);

	return disks_paired(lu, r->inst, disks,
			    &(struct disks_pair){r->primary, r->new_node,
						 r->minors, with_port});
}

static WAITS int allocate(struct lu *lu, const json_t *disks, struct error *err)
{
	struct replace *r = replace_of(lu);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		const json_t *children = disk_children(disk);

		lu_info(lu, "Adding new local storage on %s for %s",
			lu_node_name(lu, r->new_node), disk_iv_name(disk));
		for (size_t k = 0; k < json_array_size(children); k++)
			if (replace_create(lu, r->new_node,
					   json_array_get(children, k),
					   err) < 0)
				return -1;
	}
	return 0;
}

/* Devices on the new node, alone for now. */
static WAITS int activate_new(struct lu *lu, const json_t *disks,
			      struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_json json_t *alone = moved_disks(lu, disks, false);

	for (size_t i = 0; i < json_array_size(alone); i++) {
		const json_t *disk = json_array_get(alone, i);

		lu_info(lu, "activating a new drbd on %s for %s",
			lu_node_name(lu, r->new_node), disk_iv_name(disk));
		if (replace_create(lu, r->new_node, disk, err) < 0)
			return -1;
	}
	return 0;
}

/* The old one may be dead: a warning. */
static WAITS void stop_old(struct lu *lu, const json_t *disks)
{
	struct replace *r = replace_of(lu);
	struct error err;

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		const char *name = disk_iv_name(disk);

		lu_info(lu, "Shutting down drbd for %s on old node", name);
		if (replace_call(lu, r->secondary,
				 rpc_blockdev_shutdown(json_ref(disk)),
				 &err) < 0)
			lu_warn(lu,
				"Failed to shutdown drbd for %s on node %s, "
				"clean it up by hand as soon as possible: %s",
				name, lu_node_name(lu, r->secondary), err.text);
	}
}

static WAITS int record(struct lu *lu, const json_t *disks, struct error *err)
{
	disks_put_pairs(lu, disks);
	return config_commit(lu->m->config, err);
}

/* Each side waits for the other, so both are told at the same time. */
static WAITS int attach(struct lu *lu, const char *peer, const json_t *disks,
			struct error *err)
{
	const char *const nodes[2] = {replace_of(lu)->primary, peer};

	return disks_mirror_join(lu, disks, nodes, false, err);
}

static WAITS int connect_new(struct lu *lu, const json_t *disks,
			     struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_json json_t *moved = moved_disks(lu, disks, true);

	lu_info(lu, "Detaching primary drbds from the network (=> "
		    "standalone)");
	if (replace_call(lu, r->primary,
			 rpc_drbd_disconnect_net(json_ref(disks)), err) < 0)
		return error_wrap(err, "Can't detach the disks from the "
				       "network on the primary node");
	lu_info(lu, "Updating instance configuration");
	r->recorded = true;
	if (record(lu, moved, err) < 0)
		return -1;
	lu_info(lu, "Attaching primary drbds to new secondary (standalone => "
		    "connected)");
	if (attach(lu, r->new_node, moved, err) < 0)
		return -1;
	/* From here on the new one has data: there is no way back. */
	r->moved = true;
	json_decref(r->before);
	r->before = NULL;
	json_array_clear(r->created);
	return 0;
}

/* The volumes of the old secondary: [{...}, ...] */
static json_t *volumes_of(const json_t *disks)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++)
		json_array_extend(list, json_unconst(disk_children(
						json_array_get(disks, i))));
	return list;
}

static WAITS int prepare(struct lu *lu, const json_t *disks, struct error *err)
{
	struct replace *r = replace_of(lu);

	replace_step(lu, 1, "Check device existence");
	if (replace_find(lu, r->primary, err) < 0)
		return -1;
	replace_step(lu, 2, "Check peer consistency");
	if (replace_check_data(lu, r->primary, err) < 0)
		return -1;
	replace_step(lu, 3, "Allocate new storage");
	if (allocate(lu, disks, err) < 0)
		return -1;
	replace_step(lu, 4, "Changing drbd configuration");
	return activate_new(lu, disks, err);
}

WAITS int replace_secondary(struct lu *lu, struct error *err)
{
	const struct op_instance_replace_disks *op = lu->op;
	struct replace *r = replace_of(lu);
	auto_json json_t *disks = replace_disks(lu), *old = volumes_of(disks);

	take_minors(lu, json_array_size(disks));
	if (prepare(lu, disks, err) < 0)
		return -1;
	r->before = json_incref(disks);
	stop_old(lu, disks);
	if (connect_new(lu, disks, err) < 0)
		return -1;
	if (op->early_release) {
		replace_step(lu, 5, "Removing old storage");
		replace_remove(lu, r->secondary, old);
		json_array_clear(old);
	}
	replace_step(lu, op->early_release ? 6 : 5, "Sync devices");
	if (replace_sync(lu, err) < 0) {
		replace_leave(lu, r->secondary, old);
		return -1;
	}
	if (!op->early_release) {
		replace_step(lu, 6, "Removing old storage");
		replace_remove(lu, r->secondary, old);
	}
	return 0;
}

static void warn_not_mirrored(struct lu *lu, const struct error *err)
{
	lu_warn(lu,
		"The disks are not mirrored now: %s; gnt-instance "
		"activate-disks connects them",
		err->text);
}

/* The old secondary was stopped, and the primary let it go, perhaps for some of
 * the disks only. */
WAITS void replace_secondary_undo(struct lu *lu)
{
	struct replace *r = replace_of(lu);
	struct error err;

	if (r->before == NULL)
		return;
	lu_info(lu, "Node %s is the secondary again",
		lu_node_name(lu, r->secondary));
	if (r->recorded && record(lu, r->before, &err) < 0)
		lu_warn(lu, "%s", err.text);
	if (replace_assemble(lu, r->secondary, &err) < 0)
		warn_not_mirrored(lu, &err);
	if (attach(lu, r->secondary, r->before, &err) < 0)
		warn_not_mirrored(lu, &err);
}
