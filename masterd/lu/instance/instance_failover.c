/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_FAILOVER: stop the instance and start it on another node. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/instance/move.h"
#include "masterd/lu/instance/move_anywhere.h"
#include "masterd/lu/instance/move_mirror.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_stop.h"

static WAITS int stop_source(struct lu *lu, int64_t timeout, const char *option,
			     bool forgiving, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, m->source);
	bool offline = node_offline(node);
	const struct stop how = {m->inst, m->source, timeout, option};

	lu_feedback(lu, "* shutting down instance on source node");
	if (inst_stop(lu, &how, err) < 0) {
		if ((!offline && !forgiving) || lu->run->killed)
			return error_wrap(err,
					  "Could not shutdown instance %s on "
					  "node %s (with a dead node: mark it "
					  "offline, or --ignore-consistency)",
					  inst_name(m->inst),
					  lu_node_name(lu, m->source));
		lu_warn(lu,
			"Could not shutdown instance %s on node %s, "
			"proceeding anyway; please make sure node %s is "
			"down",
			inst_name(m->inst), lu_node_name(lu, m->source),
			lu_node_name(lu, m->source));
		return 0;
	}
	if (move_disks(lu, m->source, false, false, err) < 0)
		lu_warn(lu, "Could not close the disks, ignoring: %s",
			err->text);
	if (move_anywhere_is(
		    lu)) /* one side stays, the other is let go later */
		return 0;
	lu_feedback(lu, "* deactivating the instance's disks on source node");
	return disks_stop(lu, m->inst, m->source, true, err);
}

static WAITS int start_target(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const struct balloon_start how = {.node = m->target};

	lu_feedback(lu, "* activating the instance's disks on target node %s",
		    lu_node_name(lu, m->target));
	if (disks_start(lu, m->inst, m->target, err) < 0)
		return -1;
	lu_feedback(lu, "* starting the instance on the target node %s",
		    lu_node_name(lu, m->target));
	if (lu_start_instance(lu, m->inst, &how, err) < 0)
		return error_wrap(err, "Could not start instance %s on node %s",
				  inst_name(m->inst),
				  lu_node_name(lu, m->target));
	return 0;
}

/* Check before anything is stopped that the target has enough memory. */
static WAITS int make_room(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	const struct balloon_want want = {
		.node = m->target,
		.inst = m->inst,
		.min = be_minmem(be),
		.most = be_maxmem(be),
	};

	return lu_balloon_make(lu, &want, err) < 0 ? -1 : 0;
}

/* What the target has of mirrored disks must be the newest data.  A side that
 * lost its connection is whole, but does not know what the other one wrote
 * since. */
static WAITS int check_disks(struct lu *lu, bool ignore_consistency,
			     struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, m->source);

	if (!move_mirror_is(lu) ||
	    (move_mirror_check(lu, m->target, err) == 0 &&
	     move_mirror_check_linked(lu, m->target, err) == 0))
		return 0;
	if (lu->run->killed || (!ignore_consistency && !node_offline(node)))
		return -1;
	lu_warn(lu, "%s, ignoring", err->text);
	return 0;
}

/* The target gets a side of the mirrors; the instance is down between its stop
 * and the connection, or until the sync is over. */
static WAITS int to_third_node(struct lu *lu, const struct stop *how,
			       bool forgiving, struct error *err)
{
	struct move *m = move_of(lu);
	bool up = strcmp(inst_admin_state(m->inst), "up") == 0;

	if (move_anywhere_prepare(lu, forgiving, err) < 0 ||
	    (up && make_room(lu, err) < 0) ||
	    stop_source(lu, how->limit_s, how->option, forgiving, err) < 0 ||
	    move_anywhere_check_data(lu, forgiving, err) < 0 ||
	    move_anywhere_switch(lu, true, err) < 0)
		return -1;
	lu_balloon_freed(lu, m->source);
	if (m->sync_first && move_anywhere_sync(lu, err) < 0)
		return -1;
	if (up && start_target(lu, err) < 0)
		return -1;
	if (!m->sync_first && move_anywhere_sync(lu, err) < 0)
		return -1;
	move_anywhere_remove_old(lu);
	return up || inst_disks_active(m->inst)
		       ? 0
		       : disks_stop(lu, m->inst, NULL, true, err);
}

WAITS int move_by_failover(struct lu *lu, int64_t shutdown_timeout,
			   const char *option, bool ignore_consistency,
			   struct error *err)
{
	struct move *m = move_of(lu);
	bool up = strcmp(inst_admin_state(m->inst), "up") == 0;
	const struct stop how = {m->inst, m->source, shutdown_timeout, option};

	lu_feedback(lu, "Failover instance %s", inst_name(m->inst));
	if (move_anywhere_is(lu))
		return to_third_node(lu, &how, ignore_consistency, err);
	lu_feedback(lu, up ? "* checking disk consistency between source and "
			     "target"
			   : "* not checking disk consistency as instance is "
			     "not running");
	if (up && check_disks(lu, ignore_consistency, err) < 0)
		return -1;
	if (up && make_room(lu, err) < 0)
		return -1;
	if (stop_source(lu, shutdown_timeout, option, ignore_consistency, err) <
		    0 ||
	    move_set_primary(lu, err) < 0)
		return -1;
	lu_balloon_freed(lu, m->source);
	return up ? start_target(lu, err) : 0;
}

static struct move_wanted failover_wanted(struct lu *lu)
{
	const struct op_instance_failover *op = lu->op;

	return (struct move_wanted){op->instance_name,	op->target_node,
				    op->iallocator,	op->keep_node,
				    op->ignore_ipolicy, op->sync_first};
}

static int failover_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_failover *op = lu->op;
	struct move_wanted w = failover_wanted(lu);

	if (op->cleanup)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A failover has no cleanup in this version; "
				 "use gnt-instance migrate --cleanup");
	move_of(lu)->as_failover = true;
	return move_expand(lu, &w, err);
}

static WAITS int failover_check(struct lu *lu, struct error *err)
{
	return move_check_template(lu, "failovers", err) < 0
		       ? -1
		       : move_check(lu, err);
}

static void failover_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_failover *op = lu->op;
	auto_free char *timeout =
		xprintf("%jd", (intmax_t)op->shutdown_timeout);

	move_env(lu, ret_env);
	json_set_str(ret_env, "IGNORE_CONSISTENCY",
		     op->ignore_consistency ? "True" : "False");
	json_set_str(ret_env, "SHUTDOWN_TIMEOUT", timeout);
	json_set_str(ret_env, "FAILOVER_CLEANUP",
		     op->cleanup ? "True" : "False");
}

static WAITS json_t *failover_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_failover *op = lu->op;

	if (move_by_failover(lu, op->shutdown_timeout, "--shutdown-timeout",
			     op->ignore_consistency, err) < 0)
		return NULL;
	return json_null();
}

const struct lu_class lu_instance_failover = {
	.op = &op_class_instance_failover,
	.size = sizeof(struct move),
	.hook_path = "instance-failover",
	.object_type = "INSTANCE",
	.expand = failover_expand,
	.check = failover_check,
	.hook_env = failover_env,
	.hook_nodes = move_nodes,
	.exec = failover_exec,
	.undo = move_undo,
	.done = move_done,
};
