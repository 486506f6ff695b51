/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_MIGRATE: another node becomes the primary while the instance
 * runs on. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/instance/move.h"
#include "masterd/lu/instance/move_anywhere.h"
#include "masterd/lu/instance/move_mirror.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"

/* Status polls of a transfer.  While the last one is awaited the instance
 * stands still. */
#define POLL_FIRST_MS 100
#define POLL_MS 250
#define POLL_FAST_ROUNDS 10

/* Polls in a row without an answer.  One of them completes the transfer, and
 * the next one says so again. */
#define POLL_TRIES 3

/* How often a transfer tells that it does not come to its end. */
#define BUSY_EVERY_US 60000000

/* Fail over in place of migrating: the instance does not run, or is set to do
 * so always. */
#define SHUTDOWN_TIMEOUT_S 120

static struct move_wanted migrate_wanted(struct lu *lu)
{
	const struct op_instance_migrate *op = lu->op;

	return (struct move_wanted){
		.instance = op->instance_name,
		.target = op->target_node,
		.iallocator = op->iallocator,
		.ignore_ipolicy = op->ignore_ipolicy,
	};
}

static int migrate_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct move_wanted w = migrate_wanted(lu);

	move_of(lu)->cleanup = op->cleanup;
	if (op->cleanup)
		w.target = w.iallocator = NULL; /* it is where it is found */
	return move_expand(lu, &w, err);
}

static int choose_mode(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);
	auto_json json_t *hv = inst_filled_hv(lu, m->inst);
	const char *mode = op->mode != NULL
				   ? op->mode
				   : json_str(hv, "migration_mode", "live");

	if (op->live >= 0 && op->mode != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only one of the 'live' and 'mode' parameters "
				 "are accepted");
	m->live = op->live >= 0 ? op->live == 1 : strcmp(mode, "live") == 0;
	return 0;
}

/* It does not run, or its node does not answer; err says which. */
static int fall_back(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);

	if (!op->allow_failover) {
		error_as(err, ERR_PREREQ, ECODE_STATE);
		return error_wrap(err, "Can't migrate, please use failover");
	}
	if (strcmp(inst_admin_state(m->inst), "up") == 0)
		lu_info(lu, "Can't migrate, instance offline, fallback to "
			    "failover");
	else
		lu_info(lu, "Instance is marked down or offline, fallback "
			    "allowed, switching to failover");
	m->as_failover = true;
	return 0;
}

/* An instance marked down may nevertheless run, and would then be stopped
 * without need. */
static WAITS int check_running(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	bool running = false;

	if (m->cleanup)
		return 0;
	if (be_always_failover(be)) {
		m->as_failover = true;
		return 0;
	}
	if (inst_is_running(lu, m->inst, NULL, &running, err) == 0 && !running)
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "Instance %s is not running", inst_name(m->inst));
	return running ? 0 : fall_back(lu, err);
}

static WAITS int migrate_check(struct lu *lu, struct error *err)
{
	if (choose_mode(lu, err) < 0 ||
	    move_check_template(lu, "migrations", err) < 0 ||
	    check_running(lu, err) < 0)
		return -1;
	return move_check(lu, err);
}

static void migrate_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);

	move_env(lu, ret_env);
	json_set_str(ret_env, "MIGRATE_LIVE",
		     m->live && !m->as_failover ? "True" : "False");
	json_set_str(ret_env, "MIGRATE_CLEANUP", m->cleanup ? "True" : "False");
	json_set_str(ret_env, "ALLOW_RUNTIME_CHANGES",
		     op->allow_runtime_changes ? "True" : "False");
}

/* The hooks get the instance's state before and after, unlike with a
 * failover. */
static void migrate_nodes(struct lu *lu, struct strv *ret_pre,
			  struct strv *ret_post)
{
	move_nodes(lu, ret_pre, ret_post);
	strv_add_unique(ret_pre, move_of(lu)->source);
}

static WAITS int finish_on(struct lu *lu, const char *node,
			   struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

struct transfer {
	struct progress progress;
	int64_t busy_us; /* when the last word on that was due; 0: not yet */
};

/* Memory that changes meanwhile is sent again.  A guest that changes it as fast
 * as it is sent does not arrive, unless somebody does something. */
static void tell_busy(struct transfer *t, struct lu *lu, int64_t sent,
		      int64_t total)
{
	int64_t now = clock_mono_us();

	if (t->busy_us == 0)
		t->busy_us = now;
	if (now - t->busy_us < BUSY_EVERY_US)
		return;
	t->busy_us = now;
	lu_feedback(lu,
		    "* %" PRId64 " MiB were sent for %" PRId64
		    " MiB of memory, which the instance goes on changing; with "
		    "a greater migration_bandwidth or migration_downtime "
		    "(hypervisor parameters) another migration would end "
		    "sooner, and \"gnt-job cancel --kill %" PRIu64
		    "\" gives this one up",
		    sent / MIB, total / MIB, lu->job_id);
}

static void tell_transfer(struct transfer *t, struct lu *lu,
			  const json_t *state)
{
	int64_t total = json_int(state, "total_ram", 0);
	int64_t sent = json_int(state, "transferred_ram", 0);

	if (total <= 0)
		return;
	if (sent < total)
		progress_tell(&t->progress, lu, (double)sent / (double)total);
	else
		tell_busy(t, lu, sent, total);
}

/* Its state, to be freed; NULL with err. */
static WAITS json_t *poll(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	for (unsigned tries = 1;; tries++) {
		json_t *state =
			lu_call(lu, m->source,
				rpc_instance_get_migration_status(
					inst_rpc(lu, m->inst, NULL, NULL)),
				err);

		if (state != NULL || err->kind != ERR_RPC ||
		    tries == POLL_TRIES || lu->run->killed)
			return state;
		task_sleep(POLL_MS);
	}
}

/* Wait for the end of the transfer; -1 with err when it failed. */
static WAITS int transfer(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	struct transfer t = {0};

	lu_feedback(lu, "* starting memory transfer");
	progress_begin(&t.progress, "memory transfer");
	for (unsigned round = 0;; round++) {
		auto_json json_t *state = poll(lu, err);
		const char *status = json_str(state, "status", "");

		if (state == NULL)
			return error_wrap(err, "Could not poll the migration");
		if (strcmp(status, "completed") == 0)
			break;
		if (strcmp(status, "active") != 0)
			return error_set(err, ERR_EXEC, NULL,
					 "Could not migrate instance %s: the "
					 "transfer ended as '%s'",
					 inst_name(m->inst), status);
		tell_transfer(&t, lu, state);
		task_sleep(round < POLL_FAST_ROUNDS ? POLL_FIRST_MS : POLL_MS);
	}
	lu_feedback(lu, "* memory transfer complete");
	return 0;
}

/* The disks on the target as they were before. */
static WAITS void drop_target(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct error err;
	int rc = move_mirror_is(lu)
			 ? move_mirror_unshare(lu, m->target, &err)
			 : disks_stop(lu, m->inst, m->target, true, &err);

	if (rc < 0)
		lu_warn(lu, "%s", err.text);
}

WAITS int move_abort(struct lu *lu, const json_t *info)
{
	struct move *m = move_of(lu);
	struct error err;
	int rc = 0;

	/* The source first: it knows whether the instance has arrived, and the
	 * target ends nothing that has. */
	if (finish_on(
		    lu, m->source,
		    rpc_instance_finalize_migration_src(
			    inst_rpc(lu, m->inst, NULL, NULL), false, m->live),
		    &err) < 0) {
		lu_warn(lu, "Aborting the migration on the source failed: %s",
			err.text);
		rc = -1;
	}
	if (finish_on(lu, m->target,
		      rpc_instance_finalize_migration_dst(
			      inst_rpc(lu, m->inst, NULL, NULL),
			      json_string_value(info), false),
		      &err) == 0)
		return rc;
	lu_warn(lu, "Aborting the migration on the target failed: %s",
		err.text);
	return -1;
}

/* Return to the source after a failure; further failures are only warnings. */
static WAITS void revert(struct lu *lu, const json_t *info)
{
	move_abort(lu, info);
	drop_target(lu);
}

/* The addresses, which outlive the waits. */
static const char *target_address(struct lu *lu)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, move_of(lu)->target);

	return lu_keep_str(lu, xstrdup(node_secondary_ip(node)));
}

WAITS int move_accept(struct lu *lu, const json_t *info, struct error *err)
{
	struct move *m = move_of(lu);

	lu_feedback(lu, "* preparing %s to accept the instance",
		    lu_node_name(lu, m->target));
	return finish_on(lu, m->target,
			 rpc_accept_instance(inst_rpc(lu, m->inst, NULL, NULL),
					     json_string_value(info),
					     target_address(lu)),
			 err);
}

WAITS int move_send(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_free char *cluster =
		xstrdup(cluster_name(config_cluster(lu->m->config)));

	lu_feedback(lu, "* migrating instance to %s",
		    lu_node_name(lu, m->target));
	if (finish_on(lu, m->source,
		      rpc_instance_migrate(cluster,
					   inst_rpc(lu, m->inst, NULL, NULL),
					   target_address(lu), m->live),
		      err) < 0)
		return -1;
	return transfer(lu, err);
}

static WAITS int send_memory(struct lu *lu, const json_t *info,
			     struct error *err)
{
	return move_accept(lu, info, err) < 0 ? -1 : move_send(lu, err);
}

/* A mirror stays on the source, as its secondary. */
static WAITS int leave_source(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (move_mirror_is(lu))
		return move_mirror_unshare(lu, m->source, err);
	if (move_disks(lu, m->source, false, false, err) < 0)
		return -1;
	return disks_stop(lu, m->inst, m->source, true, err);
}

/* The disks can be used on both nodes. */
static WAITS int share_disks(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (move_mirror_is(lu) && move_mirror_share(lu, err) < 0)
		return -1;
	if ((!move_mirror_is(lu) &&
	     move_disks(lu, m->target, false, false, err) < 0) ||
	    move_disks(lu, m->source, true, false, err) < 0)
		return -1;
	return move_disks(lu, m->target, true, false, err);
}

static WAITS int end_source(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (finish_on(lu, m->source,
		      rpc_instance_finalize_migration_src(
			      inst_rpc(lu, m->inst, NULL, NULL), true, m->live),
		      err) == 0)
		return 0;
	return error_wrap(err, "Finalizing the migration on the source failed");
}

static WAITS int end_target(struct lu *lu, const json_t *info,
			    struct error *err)
{
	struct move *m = move_of(lu);

	if (finish_on(lu, m->target,
		      rpc_instance_finalize_migration_dst(
			      inst_rpc(lu, m->inst, NULL, NULL),
			      json_string_value(info), true),
		      err) == 0)
		return 0;
	return error_wrap(err, "Finalizing the migration on the target failed");
}

WAITS int move_end_both(struct lu *lu, const json_t *info, struct error *err)
{
	struct error later;
	int rc = end_source(lu, err);

	if (end_target(lu, info, rc == 0 ? err : &later) == 0)
		return rc;
	if (rc < 0)
		lu_warn(lu, "%s", later.text);
	return -1;
}

/* The target has taken over.  Record that before the source's process is ended,
 * so that whatever is lost then, nobody starts the instance anew there. */
static WAITS int take_over(struct lu *lu, const json_t *info, struct error *err)
{
	struct move *m = move_of(lu);

	if (move_set_primary(lu, err) < 0 || move_end_both(lu, info, err) < 0 ||
	    leave_source(lu, err) < 0)
		return -1;
	return move_disks(lu, m->target, true, true, err);
}

WAITS json_t *move_info(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	return lu_call(lu, m->source,
		       rpc_migration_info(inst_rpc(lu, m->inst, NULL, NULL)),
		       err);
}

/* The target becomes the secondary, with all data, before the instance goes
 * there. */
static WAITS int to_third_node(struct lu *lu, struct error *err)
{
	if (move_anywhere_prepare(lu, false, err) < 0 ||
	    move_anywhere_switch(lu, false, err) < 0 ||
	    move_anywhere_sync(lu, err) < 0)
		return -1;
	move_anywhere_remove_old(lu);
	return 0;
}

static WAITS int migrate_in_turn(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);
	auto_json json_t *info = NULL;

	if (lu_balloon_move(lu, m->inst, m->target, !op->allow_runtime_changes,
			    err) < 0)
		return -1;
	lu_feedback(lu, "* checking disk consistency between source and "
			"target");
	info = move_info(lu, err);
	if (info == NULL)
		return -1;
	if (!move_mirror_is(lu) && disks_start(lu, m->inst, m->target, err) < 0)
		return -1;
	if (share_disks(lu, err) < 0 || send_memory(lu, info, err) < 0) {
		revert(lu, info);
		lu_balloon_freed(lu, m->source);
		lu_balloon_freed(lu, m->target);
		return -1;
	}
	if (take_over(lu, info, err) < 0)
		return -1;
	lu_balloon_freed(lu, m->source);
	lu_balloon_freed(lu, m->target); /* it may have been shrunk */
	lu_feedback(lu, "* done");
	return 0;
}

static WAITS int migrate(struct lu *lu, struct error *err)
{
	int rc;

	lu_feedback(lu, "Migrating instance %s", inst_name(move_of(lu)->inst));
	if (move_anywhere_is(lu) && to_third_node(lu, err) < 0)
		return -1;
	if (move_take_turn(lu, err) < 0)
		return -1;
	rc = migrate_in_turn(lu, err);
	move_give_turn(lu);
	return rc;
}

static WAITS json_t *migrate_exec(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	int rc;

	if (m->cleanup)
		rc = move_clean_up(lu, err);
	else if (m->as_failover)
		rc = move_by_failover(
			lu, SHUTDOWN_TIMEOUT_S,
			"gnt-instance failover --shutdown-timeout", false, err);
	else
		rc = migrate(lu, err);
	return rc < 0 ? NULL : json_null();
}

const struct lu_class lu_instance_migrate = {
	.op = &op_class_instance_migrate,
	.size = sizeof(struct move),
	.hook_path = "instance-migrate",
	.object_type = "INSTANCE",
	.expand = migrate_expand,
	.check = migrate_check,
	.hook_env = migrate_env,
	.hook_nodes = migrate_nodes,
	.exec = migrate_exec,
	.undo = move_undo,
	.done = move_done,
};
