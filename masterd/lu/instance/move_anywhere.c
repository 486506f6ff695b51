/* SPDX-License-Identifier: BSD-2-Clause */
/* The target gets volumes and devices while the instance runs, so that it is
 * down only between its stop and the moment when the target is connected: a
 * side that is being filled reads what it lacks from the other one.  The old
 * data of the node that leaves are kept until the target has all. */
#include "masterd/lu/instance/move_anywhere.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/sanitize.h"
#include "lib/model/kinds/template.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/group/group_mirror.h"
#include "masterd/lu/instance/move_mirror.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/plan.h"

static bool is_offline(struct lu *lu, const char *node)
{
	return node_offline(config_get(lu->m->config, CONFIG_NODE, node));
}

bool move_anywhere_is(struct lu *lu)
{
	return move_of(lu)->stays != NULL;
}

/* --- who goes where --- */

/* The node that stays where nobody has named it. */
static const char *usual(struct lu *lu)
{
	struct move *m = move_of(lu);

	return !m->as_failover || is_offline(lu, m->secondary) ? m->source
							       : m->secondary;
}

static int choose_stays(struct lu *lu, const char *name, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node = name == NULL ? NULL : lu_node(lu, name, err);

	if (name != NULL && node == NULL)
		return -1;
	m->stays = node == NULL ? usual(lu) : node_uuid(node);
	m->leaves = str_eq(m->stays, m->source) ? m->secondary : m->source;
	if (str_eq(m->stays, m->source) || str_eq(m->stays, m->secondary))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Node %s has no data of instance %s; the node that "
			 "keeps its side can be %s or %s",
			 name, inst_name(m->inst), lu_node_name(lu, m->source),
			 lu_node_name(lu, m->secondary));
}

static int choose_allocator(struct lu *lu, const char *name, struct error *err)
{
	struct move *m = move_of(lu);

	m->iallocator = plan_iallocator(lu, name);
	if (m->iallocator != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The cluster has no default iallocator; name one, or "
			 "a node");
}

int move_anywhere_choose(struct lu *lu, const struct move_wanted *w,
			 struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node;

	m->stays = m->leaves = m->target = m->iallocator = NULL;
	m->secondary = move_mirror_secondary(lu, err);
	if (m->secondary == NULL)
		return -1;
	if (w->target != NULL && w->iallocator != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give either a target node or an iallocator, "
				 "not both");
	if (w->iallocator != NULL)
		return choose_allocator(lu, w->iallocator, err) < 0
			       ? -1
			       : choose_stays(lu, w->stays, err);
	m->target = m->secondary;
	if (w->target != NULL) {
		node = lu_node(lu, w->target, err);
		if (node == NULL)
			return -1;
		m->target = node_uuid(node);
	}
	if (!str_eq(m->target, m->secondary) && !str_eq(m->target, m->source))
		return choose_stays(lu, w->stays, err);
	if (w->stays == NULL && !w->sync_first)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Only where the target has no data yet can a node be "
			 "named that keeps its side, or a sync be waited for");
}

/* --- check --- */

int move_anywhere_check(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	struct group_mirror room = {m->inst, m->target, m->stays, m->target,
				    m->ignore_ipolicy};

	if (str_eq(m->target, m->secondary))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is the secondary node of instance %s",
				 lu_node_name(lu, m->target),
				 inst_name(m->inst));
	if (is_offline(lu, m->stays))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s, which would keep its side of the "
				 "disks of instance %s, is offline",
				 lu_node_name(lu, m->stays),
				 inst_name(m->inst));
	if (inst_check_node(lu, m->stays, false, err) < 0 ||
	    group_mirror_room(lu, &room, err) < 0)
		return -1;
	lu_book(lu, m->inst, m->target, BOOK_DISKS);
	return 0;
}

/* --- the steps --- */

/* A call of which only success or failure matters. */
static WAITS int call(struct lu *lu, const char *node,
		      struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

/* The disks as they will be; to be freed. */
static json_t *future(struct lu *lu, bool connected)
{
	struct move *m = move_of(lu);

	return disks_paired(lu, m->inst, m->before,
			    &(struct disks_pair){m->stays, m->target, m->minors,
						 connected});
}

static WAITS int create(struct lu *lu, const json_t *device, struct error *err)
{
	struct move *m = move_of(lu);
	auto_free char *info = xprintf("originstname+%s", inst_name(m->inst));

	/* Noted first: a call that failed may have made it all the same. */
	json_array_append(m->created, json_unconst(device));
	if (call(lu, m->target,
		 rpc_blockdev_create(json_ref(device), disk_size_mib(device),
				     inst_name(m->inst), false, info, false),
		 err) == 0)
		return 0;
	return error_wrap(err, "Can't create new storage on node %s",
			  lu_node_name(lu, m->target));
}

/* Volumes first, then the device over them, alone for now. */
static WAITS int create_all(struct lu *lu, struct error *err)
{
	auto_json json_t *alone = future(lu, false);

	for (size_t i = 0; i < json_array_size(alone); i++) {
		const json_t *disk = json_array_get(alone, i);
		const json_t *children = disk_children(disk);

		for (size_t k = 0; k < json_array_size(children); k++)
			if (create(lu, json_array_get(children, k), err) < 0)
				return -1;
		if (create(lu, disk, err) < 0)
			return -1;
	}
	return 0;
}

/* The side that stays must be whole.  While the other one is there it must be
 * connected as well: one that was alone for a while may be old. */
WAITS int move_anywhere_check_data(struct lu *lu, bool ignore,
				   struct error *err)
{
	struct move *m = move_of(lu);

	if (move_mirror_check(lu, m->stays, err) < 0)
		return -1;
	if (str_eq(m->stays, m->source) || is_offline(lu, m->source) ||
	    move_mirror_check_linked(lu, m->stays, err) == 0)
		return 0;
	if (!ignore || lu->run->killed)
		return -1;
	lu_warn(lu, "%s, ignoring", err->text);
	return 0;
}

/* Disks of an instance that is down are in use only for this job. */
static WAITS int connect_old(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (inst_disks_active(m->inst))
		return 0;
	m->activated = true;
	for (size_t i = 0; i < json_array_size(m->before); i++) {
		json_t *disk = json_array_get(m->before, i);
		json_t *owner = inst_rpc(lu, m->inst, NULL, NULL);
		auto_json json_t *one = lu_call(
			lu, m->stays,
			rpc_blockdev_assemble(json_ref(disk), owner, false, i),
			err);

		if (one == NULL)
			return -1;
	}
	if (!is_offline(lu, m->leaves) && disks_connect(lu, m->inst, err) < 0) {
		if (lu->run->killed)
			return -1;
		lu_warn(lu, "%s, ignoring", err->text);
	}
	return 0;
}

WAITS int move_anywhere_prepare(struct lu *lu, bool ignore_consistency,
				struct error *err)
{
	struct move *m = move_of(lu);
	size_t n;

	m->before = inst_rpc_disks(lu, m->inst);
	m->created = json_array();
	n = json_array_size(m->before);
	m->minors = xcalloc(n + 1, sizeof(*m->minors));
	for (size_t i = 0; i < n; i++)
		m->minors[i] =
			reserve_minor(lu->m->reserve, lu->job_id, m->target);
	lu_feedback(lu, "* checking the data on node %s, which keeps them",
		    lu_node_name(lu, m->stays));
	if (connect_old(lu, err) < 0 ||
	    move_anywhere_check_data(lu, ignore_consistency, err) < 0)
		return -1;
	lu_feedback(lu, "* making new storage on node %s",
		    lu_node_name(lu, m->target));
	return create_all(lu, err);
}

/* It may be dead: a warning. */
static WAITS void let_go(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct error err;

	if (!is_offline(lu, m->leaves))
		disks_stop(lu, m->inst, m->leaves, true, &err);
}

WAITS int move_anywhere_switch(struct lu *lu, bool as_primary,
			       struct error *err)
{
	struct move *m = move_of(lu);
	const char *const nodes[2] = {m->stays, m->target};
	auto_json json_t *then = future(lu, true);

	lu_feedback(lu, "* connecting node %s to %s in place of %s",
		    lu_node_name(lu, m->stays), lu_node_name(lu, m->target),
		    lu_node_name(lu, m->leaves));
	m->disconnected = true;
	let_go(lu);
	if (call(lu, m->stays, rpc_drbd_disconnect_net(json_ref(m->before)),
		 err) < 0)
		return -1;
	m->recorded = true;
	disks_put_pairs(lu, then);
	if ((as_primary ? move_set_primary(lu, err)
			: config_commit(lu->m->config, err)) < 0 ||
	    disks_mirror_join(lu, then, nodes, false, err) < 0)
		return -1;
	/* From here on the target has data: there is no way back. */
	m->disconnected = false;
	json_array_clear(m->created);
	m->activated = false;
	return 0;
}

/* A loss now is nobody's fault but is to be known. */
WAITS int move_anywhere_sync(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (disks_wait_sync(lu, m->inst, NULL, false, err) == 0)
		return 0;
	return error_wrap(err,
			  "The disks of instance %s are not in sync; its old "
			  "volumes stay on node %s",
			  inst_name(m->inst), lu_node_name(lu, m->leaves));
}

static WAITS void remove_devices(struct lu *lu, const char *node,
				 const json_t *devices)
{
	struct error err;

	/* Devices come after the volumes below them; so remove them first. */
	for (size_t i = json_array_size(devices); i-- > 0;) {
		json_t *device = json_array_get(devices, i);
		auto_free char *id = sanitize_disk_id(device);

		if (call(lu, node, rpc_blockdev_remove(json_ref(device)),
			 &err) < 0)
			lu_warn(lu,
				"Can't remove the unused volume %s on node "
				"%s, remove it by hand: %s",
				id, lu_node_name(lu, node), err.text);
	}
}

WAITS void move_anywhere_remove_old(struct lu *lu)
{
	struct move *m = move_of(lu);

	lu_feedback(lu, "* removing the old storage on node %s",
		    lu_node_name(lu, m->leaves));
	for (size_t i = 0; i < json_array_size(m->before); i++)
		remove_devices(lu, m->leaves,
			       disk_children(json_array_get(m->before, i)));
}

/* --- undo --- */

static WAITS void reconnect(struct lu *lu)
{
	struct move *m = move_of(lu);
	const char *const nodes[2] = {m->source, m->secondary};
	struct error err;

	if (is_offline(lu, m->leaves))
		return;
	lu_info(lu, "Node %s has its side again", lu_node_name(lu, m->leaves));
	if (disks_connect(lu, m->inst, &err) < 0 ||
	    disks_mirror_join(lu, m->before, nodes, false, &err) < 0)
		lu_warn(lu,
			"The disks are not mirrored now: %s; gnt-instance "
			"activate-disks connects them",
			err.text);
}

/* The disks and the primary as they were. */
static WAITS void record_old(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct config *c = lu->m->config;
	json_t *inst =
		config_edit(config_get(c, CONFIG_INSTANCE, inst_uuid(m->inst)));
	struct error err;

	disks_put_pairs(lu, m->before);
	inst_set_primary_node(inst, m->source);
	m->inst = lu_keep(lu, config_put(c, CONFIG_INSTANCE, inst));
	if (config_commit(c, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

WAITS void move_anywhere_undo(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct error err;

	if (m->disconnected && m->recorded)
		record_old(lu);
	if (m->disconnected)
		reconnect(lu);
	m->disconnected = false;
	if (lu->run->killed && m->created != NULL)
		aftermath_remove_on(lu->m, m->target, m->created);
	else if (m->created != NULL)
		remove_devices(lu, m->target, m->created);
	json_array_clear(m->created);
	if (m->activated && disks_stop(lu, m->inst, NULL, true, &err) < 0)
		lu_warn(lu, "%s", err.text);
	m->activated = false;
}
