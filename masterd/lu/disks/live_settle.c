/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs that were cut off have left of copies that a running instance
 * makes.
 *
 * The configuration says where the instance is and which disks it has; the node
 * is asked which ones it uses, and that decides.  A move is known by the copies
 * of the disks that are noted on another node: either the instance has arrived
 * there, which is recorded, or the process that waits for it is ended.  Then
 * each disk in use that is not the recorded one is copied to that and left, and
 * other copies are given up. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/failover/recover.h"
#include "masterd/lu/disks/live_copy.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

static WAITS int call(struct lu *lu, const char *node,
		      struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

static const json_t *again(struct lu *lu, const json_t *inst)
{
	return lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE,
				      inst_uuid(inst)));
}

/* --- a move --- */

static WAITS bool has_arrived(struct lu *lu, const json_t *inst)
{
	struct error ignored;
	auto_json json_t *state =
		lu_call(lu, inst_primary_node(inst),
			rpc_instance_get_migration_status(
				inst_rpc(lu, inst, NULL, NULL)),
			&ignored);

	return str_eq(json_str(state, "status", ""), "completed");
}

static WAITS int take_over(struct lu *lu, const json_t *inst, const char *node,
			   struct error *err)
{
	auto_free char *source = xstrdup(inst_primary_node(inst));

	lu_feedback(lu, "* instance %s has arrived on node %s", inst_name(inst),
		    lu_node_name(lu, node));
	if (call(lu, source,
		 rpc_instance_finalize_migration_src(
			 inst_rpc(lu, inst, NULL, NULL), true, true),
		 err) < 0 ||
	    disks_record_move(lu, inst, node, err) < 0)
		return -1;
	inst = again(lu, inst);
	if (call(lu, node,
		 rpc_instance_finalize_migration_dst(
			 inst_rpc(lu, inst, NULL, NULL), "", true),
		 err) < 0)
		return -1;
	disks_drop_copies(lu, inst);
	return 0;
}

/* *ret_arrived: it is on the other node, with its own disks. */
static WAITS int settle_move(struct lu *lu, const json_t *inst,
			     bool *ret_arrived, struct error *err)
{
	auto_json json_t *all = config_instance_disks(lu->m->config, inst);
	auto_strv struct strv nodes = {0};
	auto_free char *source = xstrdup(inst_primary_node(inst));
	const char *node;

	*ret_arrived = false;
	disks_copy_nodes(inst, all, &nodes);
	if (nodes.n == 0)
		return 0;
	node = nodes.items[0]; /* one move at a time leaves some */
	/* In this order: to ask for the state of a migration that waits for its
	 * disks makes it go on. */
	if (call(lu, source,
		 rpc_instance_finalize_migration_src(
			 inst_rpc(lu, inst, NULL, NULL), false, true),
		 err) < 0) {
		*ret_arrived = has_arrived(lu, inst);
		return *ret_arrived ? take_over(lu, inst, node, err) : -1;
	}
	if (disks_copy_is_gone(lu, node))
		return 0;
	return call(lu, node,
		    rpc_instance_finalize_migration_dst(
			    inst_rpc(lu, inst, NULL, NULL), "", false),
		    err);
}

/* It does not run where it is recorded.  If a move has ended it there and the
 * answer was lost, it runs where its disks have been copied to; a process that
 * still waits for it there is ended. */
static WAITS int settle_absent(struct lu *lu, const json_t *inst,
			       struct error *err)
{
	auto_json json_t *all = config_instance_disks(lu->m->config, inst);
	auto_strv struct strv nodes = {0};
	struct error ignored;
	bool runs = false;

	disks_copy_nodes(inst, all, &nodes);
	if (nodes.n == 0 || !str_eq(inst_hypervisor(inst), "kvm") ||
	    disks_copy_is_gone(lu, nodes.items[0]))
		return 0;
	if (inst_is_running(lu, inst, NULL, &runs, err) < 0)
		return -1;
	if (runs || call(lu, nodes.items[0],
			 rpc_instance_finalize_migration_dst(
				 inst_rpc(lu, inst, NULL, NULL), "", false),
			 err) == 0)
		return 0;
	if (inst_is_running(lu, inst, nodes.items[0], &runs, &ignored) < 0 ||
	    !runs)
		return -1;
	return take_over(lu, inst, nodes.items[0], err);
}

/* --- disks --- */

static WAITS int settle_disk(struct lu *lu, const struct live_copy *c,
			     struct error *err)
{
	auto_json json_t *state =
		lu_call(lu, c->node,
			rpc_instance_mirror_status(
				inst_rpc(lu, c->inst, NULL, NULL),
				json_ref(json_array_get(c->disks, 0)),
				(int64_t)c->first),
			err);
	bool other = str_eq(json_str(state, "uses", ""), "other");
	bool copying = !str_eq(json_str(state, "status", ""), "none") ||
		       json_bool(state, "open", false);
	enum live_copy_use use;

	if (state == NULL)
		return -1;
	if (!other)
		return copying ? live_copy_end(lu, c, "cancel", err) : 0;
	lu_feedback(lu,
		    "* disk %zu: the instance uses another one than the "
		    "recorded one",
		    c->first);
	if (live_copy_end(lu, c, "pivot", err) == 0)
		return 0;
	if (live_copy_run(lu, c, err) < 0)
		return -1;
	return live_copy_pivot(lu, c, &use, err);
}

WAITS int live_settle(struct lu *lu, const json_t *inst, struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	auto_free char *node = xstrdup(inst_primary_node(inst));
	bool can = false, arrived = false;

	if (live_copy_can(lu, inst, &can, err) < 0)
		return -1;
	if (!can)
		return settle_absent(lu, inst, err);
	if (noderpc_is_ganetis(lu->m->rpc,
			       config_get(lu->m->config, CONFIG_NODE, node)))
		return 0;
	if (settle_move(lu, inst, &arrived, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(disks) && !arrived; i++) {
		auto_json json_t *one =
			json_make("[O]", json_array_get(disks, i));
		const struct live_copy copy = {
			.inst = inst,
			.node = node,
			.disks = one,
			.first = i,
		};

		if (settle_disk(lu, &copy, err) < 0)
			return error_wrap(err,
					  "Cannot end the copy of disk %zu of "
					  "instance %s",
					  i, inst_name(inst));
	}
	return 0;
}

WAITS void live_settle_later(struct lu *lu, const json_t *inst)
{
	struct error err;
	uint64_t id;

	if (recover_disks(lu->m->queue, inst_name(inst), &id, &err) < 0)
		lu_warn(lu, "%s", err.text);
	else
		lu_warn(lu,
			"Job %ju sees to it that instance %s uses the disks "
			"that are recorded",
			(uintmax_t)id, inst_name(inst));
}
