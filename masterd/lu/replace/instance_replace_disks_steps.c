/* SPDX-License-Identifier: BSD-2-Clause */
/* The single steps that a replacement of disks consists of.  Most work on the
 * chosen disks only; starting and stopping the disks of an instance that is
 * down concerns all of them.  Waiting for the sync releases the instance's
 * lock, so stopping takes it again and looks at the state anew. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/sanitize.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/replace/instance_replace_disks.h"

#define STEPS 6

/* Of a mirror's local storage, in a node's answer. */
#define LDISK_OKAY 1

struct replace *replace_of(struct lu *lu)
{
	return container_of(lu, struct replace, lu);
}

void replace_step(struct lu *lu, int number, const char *what)
{
	lu_feedback(lu, "STEP %d/%d %s", number, STEPS, what);
}

json_t *replace_disks(struct lu *lu)
{
	struct replace *r = replace_of(lu);
	auto_json json_t *all = inst_rpc_disks(lu, r->inst);
	json_t *wanted = json_array(), *disk;
	size_t i;

	json_array_foreach (all, i, disk)
		if (i < r->n && r->wanted[i])
			json_array_append(wanted, disk);
	return wanted;
}

WAITS int replace_call(struct lu *lu, const char *node,
		       struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

static WAITS int find_one(struct lu *lu, const char *node, const json_t *disk,
			  struct error *err)
{
	const char *name = disk_iv_name(disk);
	auto_json json_t *found = NULL;

	lu_info(lu, "Checking %s on %s", name, lu_node_name(lu, node));
	found = lu_call(lu, node, rpc_blockdev_find(json_ref(disk)), err);
	if (found == NULL)
		return error_wrap(err, "Can't find %s on node %s", name,
				  lu_node_name(lu, node));
	if (json_is_object(found))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "Can't find %s on node %s: disk not found (gnt-"
			 "instance activate-disks makes it usable)",
			 name, lu_node_name(lu, node));
}

WAITS int replace_find(struct lu *lu, const char *node, struct error *err)
{
	auto_json json_t *disks = replace_disks(lu);

	for (size_t i = 0; i < json_array_size(disks); i++)
		if (find_one(lu, node, json_array_get(disks, i), err) < 0)
			return -1;
	return 0;
}

/* A side without its peer: not in sync, nor on the way. */
static bool is_parted(const json_t *status)
{
	return json_bool(status, "is_degraded", true) &&
	       !json_is_number(json_get(status, "sync_percent"));
}

/* Whose data may be all that is left of the disk.  A secondary that is alone
 * does not know what it lacks. */
static int check_side(struct lu *lu, const char *node, const char *name,
		      const json_t *status, struct error *err)
{
	struct replace *r = replace_of(lu);

	if (json_int(status, "ldisk_status", 0) != LDISK_OKAY)
		return error_set(err, ERR_EXEC, NULL,
				 "Node %s has degraded storage (%s), unsafe to "
				 "replace disks for instance %s",
				 lu_node_name(lu, node), name,
				 inst_name(r->inst));
	if (!is_parted(status))
		return 0;
	r->parted = true;
	if (str_eq(node, r->primary))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "%s on node %s has no connection to the primary node, "
			 "so it may lack data; gnt-instance activate-disks "
			 "connects it. If its data are those that count, "
			 "gnt-instance failover --ignore-consistency makes it "
			 "the primary; then replace-disks -s",
			 name, lu_node_name(lu, node));
}

WAITS int replace_check_data(struct lu *lu, const char *node, struct error *err)
{
	auto_json json_t *disks = replace_disks(lu);
	auto_json json_t *all = disks_mirror_status(lu, node, disks, err);

	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(all); i++) {
		const char *name = disk_iv_name(json_array_get(disks, i));

		lu_info(lu, "Checking %s consistency on node %s", name,
			lu_node_name(lu, node));
		if (check_side(lu, node, name, json_array_get(all, i), err) < 0)
			return -1;
	}
	return 0;
}

WAITS int replace_create(struct lu *lu, const char *node, const json_t *volume,
			 struct error *err)
{
	struct replace *r = replace_of(lu);
	auto_free char *info = xprintf("originstname+%s", inst_name(r->inst));

	/* Noted first: a call that failed may have made it all the same. */
	json_array_append(r->created, json_unconst(volume));
	if (replace_call(lu, node,
			 rpc_blockdev_create(json_ref(volume),
					     disk_size_mib(volume),
					     inst_name(r->inst),
					     node == r->primary, info, false),
			 err) == 0)
		return 0;
	return error_wrap(err, "Can't create new storage on node %s",
			  lu_node_name(lu, node));
}

WAITS void replace_remove(struct lu *lu, const char *node,
			  const json_t *volumes)
{
	struct error err;
	json_t *volume;
	size_t i;

	json_array_foreach (volumes, i, volume) {
		auto_free char *id = sanitize_disk_id(volume);

		if (replace_call(lu, node,
				 rpc_blockdev_remove(json_ref(volume)),
				 &err) < 0)
			lu_warn(lu,
				"Can't remove the unused volume %s on node "
				"%s, remove it by hand: %s",
				id, lu_node_name(lu, node), err.text);
	}
}

void replace_leave(struct lu *lu, const char *node, const json_t *volumes)
{
	json_t *volume;
	size_t i;

	json_array_foreach (volumes, i, volume) {
		auto_free char *id = sanitize_disk_id(volume);

		lu_warn(lu,
			"The old volume %s stays on node %s, remove it by hand "
			"when the mirrors are in sync",
			id, lu_node_name(lu, node));
	}
}

/* The sync may take days, and what it does is safe whether the instance runs or
 * not: so others may start and stop it meanwhile.  The lock of its disks stays
 * with this job. */
WAITS int replace_sync(struct lu *lu, struct error *err)
{
	auto_json json_t *disks = replace_disks(lu);

	lu_release(lu, LOCK_INSTANCE);
	return disks_wait_sync(lu, replace_of(lu)->inst, disks, false, err);
}

/* --- disks of an instance that is down --- */

static WAITS int assemble_one(struct lu *lu, const char *node,
			      const json_t *disk, size_t i, struct error *err)
{
	struct replace *r = replace_of(lu);

	if (replace_call(
		    lu, node,
		    rpc_blockdev_assemble(json_ref(disk),
					  inst_rpc(lu, r->inst, NULL, NULL),
					  node == r->primary, i),
		    err) == 0)
		return 0;
	return error_wrap(err, "Can't start disk %zu of instance %s on node %s",
			  i, inst_name(r->inst), lu_node_name(lu, node));
}

/* Where nothing depends on this node, its failures are warnings.  Then each
 * disk is tried, unless the node is dead. */
static WAITS int assemble_all(struct lu *lu, const char *node, bool may_fail,
			      struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, replace_of(lu)->inst);

	for (size_t i = 0; i < json_array_size(disks); i++) {
		if (assemble_one(lu, node, json_array_get(disks, i), i, err) ==
		    0)
			continue;
		if (!may_fail || lu->run->killed)
			return -1;
		lu_warn(lu, "%s, ignoring", err->text);
		if (err->kind == ERR_RPC)
			return 0;
	}
	return 0;
}

WAITS int replace_assemble(struct lu *lu, const char *node, struct error *err)
{
	return assemble_all(lu, node, false, err);
}

/* The side that goes, or gets new storage, may be what is broken.  A mirror is
 * there even without its storage; step 1 looks for it. */
WAITS int replace_activate(struct lu *lu, struct error *err)
{
	struct replace *r = replace_of(lu);
	const char *broken = r->new_node != NULL ? r->secondary : r->target;

	if (inst_disks_active(r->inst))
		return 0;
	r->activated = true;
	if (assemble_all(lu, r->secondary, broken == r->secondary, err) < 0)
		return -1;
	return assemble_all(lu, r->primary, broken == r->primary, err);
}

/* The instance as it is now; NULL: it is gone. */
static const json_t *current(struct lu *lu)
{
	return config_get(lu->m->config, CONFIG_INSTANCE,
			  inst_uuid(replace_of(lu)->inst));
}

static bool is_active(struct lu *lu)
{
	return inst_disks_active(current(lu));
}

/* Whether its disks shall be in use no longer, by what the instance is now:
 * somebody may have started or stopped it during the sync. */
static bool shall_stop_disks(struct lu *lu)
{
	const struct replace *r = replace_of(lu);
	const json_t *now = current(lu);
	bool was_up = str_eq(inst_admin_state(r->inst), "up");

	if (now == NULL || str_eq(inst_admin_state(now), "up"))
		return false;
	/* One that was down with active disks had them by somebody's wish. */
	return r->activated || (was_up && is_active(lu));
}

/* The lock of the instance, which the sync has given up. */
static WAITS int lock_again(struct lu *lu, struct error *err)
{
	const char *name = inst_name(replace_of(lu)->inst);

	if (lu_has(lu, LOCK_INSTANCE, name))
		return 0;
	lu_release(lu, LOCK_NODE);
	lu_release(lu, LOCK_NODEGROUP);
	return lu_lock_more(lu, LOCK_INSTANCE, name, err);
}

WAITS void replace_deactivate(struct lu *lu)
{
	struct replace *r = replace_of(lu);
	struct error err;

	if (r->deactivated)
		return;
	r->deactivated = true;
	if (lock_again(lu, &err) < 0) {
		lu_warn(lu,
			"%s; gnt-instance deactivate-disks stops the disks "
			"of instance %s if it is down",
			err.text, inst_name(r->inst));
		return;
	}
	if (!shall_stop_disks(lu))
		return;
	disks_stop(lu, r->inst, NULL, true, &err);
	if (is_active(lu) &&
	    inst_mark(lu, inst_name(r->inst), NULL, 0, &err) < 0)
		lu_warn(lu, "%s", err.text);
}
