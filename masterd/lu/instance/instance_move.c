/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_MOVE: stop the instance, copy its disks to another node, start it
 * there.  For storage that no other node sees (file, plain).
 *
 * Until the new primary is recorded, the old disks are the instance's, and a
 * failure removes the new ones.  Afterwards the new disks are the instance's; a
 * failure to remove the old ones is only a warning. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/instance/instance_move.h"
#include "masterd/lu/instance/start_again.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/lu_stop.h"
#include "masterd/resources/resources.h"

static struct inst_move *own(struct lu *lu)
{
	return container_of(move_of(lu), struct inst_move, base);
}

static int inst_move_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);
	const json_t *node;

	m->inst = lu_instance(lu, op->instance_name, err);
	node = m->inst != NULL ? lu_node(lu, op->target_node, err) : NULL;
	if (node == NULL)
		return -1;
	m->source = inst_primary_node(m->inst);
	m->target = node_uuid(node);
	lu_want(lu, LOCK_INSTANCE, inst_name(m->inst), true);
	lu_want(lu, LOCK_NODE, m->source, false);
	lu_want(lu, LOCK_NODE, m->target, false);
	lu_want(lu, LOCK_NODE_RES, m->source, true);
	lu_want(lu, LOCK_NODE_RES, m->target, true);
	return 0;
}

/* --- check --- */

static int check_disks(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	own(lu)->disks = inst_rpc_disks(lu, m->inst);
	for (size_t i = 0; i < json_array_size(own(lu)->disks); i++) {
		const char *type =
			disk_dev_type(json_array_get(own(lu)->disks, i));

		if (template_is_mirrored(type))
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "Instance disk %zu is of the type "
					 "'%s', which cannot be copied "
					 "(use migrate or failover)",
					 i, type);
	}
	return 0;
}

static int check_policy(struct lu *lu, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);

	if (group_check_policy(lu, m->inst, m->target, err) == 0)
		return 0;
	if (!op->ignore_ipolicy)
		return -1;
	lu_warn(lu, "%s", err->text);
	return 0;
}

static bool is_up(const json_t *inst)
{
	return strcmp(inst_admin_state(inst), "up") == 0;
}

static WAITS int check_room(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	auto_free char *why = xprintf("moving instance %s", inst_name(m->inst));
	const char *template;
	struct memory_need need = {
		.node = m->target,
		.reason = why,
		.hypervisor = inst_hypervisor(m->inst),
		.min = be_minmem(be),
		.live = be_maxmem(be),
	};

	if (!is_up(m->inst)) {
		lu_info(lu, "Not checking memory on the secondary node as "
			    "instance will not be started");
		need.live = 0;
	}
	if (strcmp(inst_admin_state(m->inst), "offline") == 0)
		need.min = 0; /* it books none */
	if (lu_check_memory(lu, &need, err) < 0)
		return -1;
	template = config_instance_template(lu->m->config, m->inst);
	if (lu_check_space(lu, m->target, template,
			   resources_disk_sum(own(lu)->disks, template),
			   err) < 0)
		return -1;
	/* The resources are booked, so release the locks: copying takes
	 * long. */
	lu_book(lu, m->inst, m->target,
		need.min > 0 ? BOOK_MEMORY | BOOK_DISKS : BOOK_DISKS);
	lu_release(lu, LOCK_NODE_RES);
	return 0;
}

static WAITS int inst_move_check(struct lu *lu, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);

	if (strcmp(m->source, m->target) == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s is already on the node %s",
				 inst_name(m->inst),
				 lu_node_name(lu, m->target));
	if (inst_check_node(lu, m->source, false, err) < 0 ||
	    check_disks(lu, err) < 0 ||
	    (op->live ? instance_move_check_live(lu, err)
		      : disks_check_copies(lu, m->inst, true, err)) < 0 ||
	    inst_check_node(lu, m->target, true, err) < 0 ||
	    transfer_check_tool(lu, op->compress, err) < 0 ||
	    check_policy(lu, err) < 0 ||
	    inst_check_bridges(lu, inst_nics(m->inst), m->target, err) < 0)
		return -1;
	return check_room(lu, err);
}

/* --- hooks --- */

static void inst_move_hook_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);
	auto_free char *timeout =
		xprintf("%jd", (intmax_t)op->shutdown_timeout);

	inst_hook_env(lu, m->inst, ret_env);
	json_set_str(ret_env, "TARGET_NODE", lu_node_name(lu, m->target));
	json_set_str(ret_env, "SHUTDOWN_TIMEOUT", timeout);
}

static void inst_move_hook_nodes(struct lu *lu, struct strv *ret_pre,
				 struct strv *ret_post)
{
	struct move *m = move_of(lu);
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add_unique(ret_pre, master);
	strv_add_unique(ret_pre, m->source);
	strv_add_unique(ret_pre, m->target);
	strv_add_unique(ret_post, master);
	strv_add_unique(ret_post, m->source);
	strv_add_unique(ret_post, m->target);
}

/* --- exec --- */

static WAITS int shut_down(struct lu *lu, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);
	const struct stop how = {m->inst, m->source, op->shutdown_timeout,
				 "--shutdown-timeout"};
	int rc;

	lu_info(lu, "Shutting down instance %s on source node %s",
		inst_name(m->inst), lu_node_name(lu, m->source));
	own(lu)->stopped = is_up(m->inst);
	rc = inst_stop(lu, &how, err);
	if (rc == 0)
		return 0;
	if (err->kind == ERR_EXEC ||
	    (op->ignore_consistency && !lu->run->killed))
		own(lu)->stopped = false;
	if (!op->ignore_consistency || lu->run->killed)
		return error_wrap(
			err, "Could not shutdown instance %s on node %s",
			inst_name(m->inst), lu_node_name(lu, m->source));
	lu_warn(lu,
		"Could not shutdown instance %s on node %s, proceeding "
		"anyway; please make sure node %s is down: %s",
		inst_name(m->inst), lu_node_name(lu, m->source),
		lu_node_name(lu, m->source), err->text);
	return 0;
}

/* What has the name of one of the disks on the target is somebody's.  A plan,
 * whose nodes answer that all disks are there once some were changed, goes on.
 */
static WAITS int check_target(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (lu_plans(lu))
		return 0;
	for (size_t i = 0; i < json_array_size(own(lu)->disks); i++) {
		json_t *disk = json_array_get(own(lu)->disks, i);
		auto_json json_t *found =
			lu_call(lu, m->target,
				rpc_blockdev_find(json_incref(disk)), err);

		if (found == NULL)
			return -1;
		if (!json_is_null(found))
			return error_set(err, ERR_EXEC, ECODE_EXISTS,
					 "Disk %zu of instance %s exists on "
					 "node %s already (%s); if nobody "
					 "needs it, remove it there",
					 i, inst_name(m->inst),
					 lu_node_name(lu, m->target),
					 json_string_value(json_array_get(
						 disk_logical_id(disk), 1)));
	}
	return 0;
}

/* Noted first: whatever happens then, what is made is known. */
WAITS int instance_move_make_disks(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	disks_drop_copies(lu, m->inst);
	if (disks_record_sizes(lu, m->inst, err) < 0 ||
	    check_target(lu, err) < 0 ||
	    disks_note_copy(lu, m->inst, m->target, err) < 0)
		return -1;
	own(lu)->has_disks = true;
	return disks_copy_on(lu, m->inst, m->target, err);
}

static WAITS int copy_disks(struct lu *lu, struct error *err)
{
	const struct op_instance_move *op = lu->op;
	struct move *m = move_of(lu);
	auto_json json_t *carried = inst_rpc(lu, m->inst, NULL, NULL);

	if (instance_move_make_disks(lu, err) < 0)
		return -1;
	if (disks_start(lu, m->inst, m->source, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(own(lu)->disks); i++) {
		auto_json json_t *end =
			transfer_raw(json_array_get(own(lu)->disks, i));
		struct transfer t = {
			.index = i,
			.inst = carried,
			.source = m->source,
			.target = m->target,
			.from = end,
			.to = end,
			.compress = op->compress,
			.bandwidth_mib = op->bandwidth_limit,
		};

		if (transfer_run(lu, &t, err) < 0)
			return error_wrap(err, "Errors during disk copy");
	}
	return 0;
}

WAITS int instance_move_put_primary(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (disks_record_move(lu, m->inst, m->target, err) < 0)
		return -1;
	m->inst = lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE,
					 inst_uuid(m->inst)));
	return 0;
}

static WAITS int start(struct lu *lu, const char *node, struct error *err)
{
	struct move *m = move_of(lu);
	const struct balloon_start how = {.node = node};

	lu_info(lu, "Starting instance %s on node %s", inst_name(m->inst),
		lu_node_name(lu, node));
	if (disks_start(lu, m->inst, node, err) < 0)
		return -1;
	if (lu_start_instance(lu, m->inst, &how, err) == 0)
		return 0;
	return error_wrap(err, "Could not start instance %s on node %s",
			  inst_name(m->inst), lu_node_name(lu, node));
}

static WAITS json_t *inst_move_exec(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const struct op_instance_move *op = lu->op;
	struct error ignored;

	if (op->live)
		return instance_move_live(lu, err) < 0 ? NULL : json_null();
	if (shut_down(lu, err) < 0 || copy_disks(lu, err) < 0 ||
	    lu_check_killed(lu, err) < 0)
		return NULL;
	disks_stop(lu, m->inst, m->source, true, &ignored);
	if (instance_move_put_primary(lu, err) < 0)
		return NULL;
	own(lu)->has_disks = false;
	own(lu)->moved = true;
	disks_drop_copies(lu, m->inst);
	lu_balloon_freed(lu, m->source);
	if (is_up(m->inst) && start(lu, m->target, err) < 0)
		return NULL;
	own(lu)->stopped = false;
	return json_null();
}

/* Undo: remove the new disks, and start the instance where it ran.  One that a
 * killed job has stopped is started wherever it is at home then. */
static WAITS void inst_move_undo(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct error err;

	if (own(lu)->has_disks && lu->run->killed)
		aftermath_remove_on(lu->m, m->target, own(lu)->disks);
	if (lu->run->killed && own(lu)->stopped)
		start_again(lu, inst_name(m->inst));
	if (lu->run->killed)
		return;
	if (own(lu)->has_disks)
		disks_drop_copies(lu, m->inst);
	if (own(lu)->stopped && !own(lu)->moved &&
	    start(lu, m->source, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

static void inst_move_done(struct lu *lu)
{
	json_decref(own(lu)->disks);
	move_done(lu);
}

const struct lu_class lu_instance_move = {
	.op = &op_class_instance_move,
	.size = sizeof(struct inst_move),
	.hook_path = "instance-move",
	.object_type = "INSTANCE",
	.expand = inst_move_expand,
	.check = inst_move_check,
	.hook_env = inst_move_hook_env,
	.hook_nodes = inst_move_hook_nodes,
	.exec = inst_move_exec,
	.undo = inst_move_undo,
	.done = inst_move_done,
};
