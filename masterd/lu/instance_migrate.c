/* SPDX-License-Identifier: BSD-2-Clause */
/* Migration and failover: another node becomes the primary.
 *
 * Both choose the target alike: instances on storage that every node sees go to
 * the node given or to the allocator's; others are refused here.  Failover
 * stops the instance and starts it over there; migration keeps it running. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/params.h"
#include "masterd/iallocator.h"
#include "masterd/lu_instance.h"

/* Status polls of a transfer: every 100 ms first, then every second. */
#define POLL_FIRST_MS 100
#define POLL_MS 1000
#define POLL_FAST_ROUNDS 10

struct move {
	struct lu lu;
	const json_t *inst;
	const char *source, *target; /* UUIDs; both outlive the waits */
	const char *iallocator;
	bool cleanup;	  /* after a broken migration */
	bool as_failover; /* also a migration may turn into one */
	bool live;
};

static struct move *move_of(struct lu *lu)
{
	return container_of(lu, struct move, lu);
}

/* What both opcodes have. */
struct wanted {
	const char *instance, *target, *iallocator;
};

/* --- expand --- */

static int choose(struct lu *lu, const struct wanted *w, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node;

	m->target = m->iallocator = NULL;
	if (w->target != NULL && w->iallocator != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give either a target node or an iallocator, "
				 "not both");
	if (w->target != NULL) {
		node = lu_node(lu, w->target, err);
		if (node == NULL)
			return -1;
		m->target = json_str(node, "uuid", "");
		return 0;
	}
	if (m->cleanup) {
		m->target = m->source;
		return 0;
	}
	m->iallocator = w->iallocator;
	if (m->iallocator == NULL || strcmp(m->iallocator, ".") == 0)
		m->iallocator = json_str(config_cluster(lu->m->config),
					 "default_iallocator", "");
	if (*m->iallocator == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No target node and no iallocator given (-n "
				 "or -I), and the cluster has no default one");
	m->iallocator = lu_keep_str(lu, xstrdup(m->iallocator));
	return 0;
}

static int move_expand(struct lu *lu, const struct wanted *w, struct error *err)
{
	struct move *m = move_of(lu);

	m->inst = lu_instance(lu, w->instance, err);
	if (m->inst == NULL)
		return -1;
	m->source = inst_primary(m->inst);
	if (choose(lu, w, err) < 0)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(m->inst), true);
	if (m->target == NULL) {
		lu_want_all(lu, LOCK_NODE_RES, true);
		lu_want_all(lu, LOCK_NODE, false);
		return 0;
	}
	lu_want(lu, LOCK_NODE_RES, m->source, false);
	lu_want(lu, LOCK_NODE_RES, m->target, true);
	lu_want(lu, LOCK_NODE, m->source, false);
	lu_want(lu, LOCK_NODE, m->target, false);
	return 0;
}

/* --- check --- */

static WAITS int run_iallocator(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const char *template = config_instance_template(lu->m->config, m->inst);
	auto_strv struct strv from = {0};
	auto_free char *output = NULL;
	auto_json json_t *nodes = NULL;
	const json_t *node;

	strv_add(&from, lu_node_name(lu, m->source));
	nodes = iallocator_run(lu->m, m->iallocator,
			       iallocator_relocate(lu->m, m->inst, &from),
			       template, false, &output, err);
	if (nodes == NULL) {
		if (output != NULL)
			lu_warn(lu, "Output of iallocator %s: %s",
				m->iallocator, output);
		return -1;
	}
	node = lu_node(lu, json_string_value(json_array_get(nodes, 0)), err);
	if (node == NULL)
		return -1;
	m->target = json_str(node, "uuid", "");
	lu_info(lu, "Selected nodes for instance %s via iallocator %s: %s",
		inst_name(m->inst), m->iallocator, json_str(node, "name", ""));
	return 0;
}

static int check_template(struct lu *lu, const char *verb, struct error *err)
{
	struct move *m = move_of(lu);
	const char *template = config_instance_template(lu->m->config, m->inst);

	if (params_template_is_ext_mirrored(template))
		return 0;
	if (params_template_is_mirrored(template))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Disk template '%s' can't be moved by this "
				 "version",
				 template);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance's disk layout '%s' does not allow %s",
			 template, verb);
}

static int check_target(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (m->cleanup)
		return 0;
	if (strcmp(m->source, m->target) == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot move instance %s to its own primary "
				 "node %s",
				 inst_name(m->inst),
				 lu_node_name(lu, m->source));
	return inst_check_node(lu, m->target, true, err);
}

static WAITS int check_memory(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	auto_free char *why = xprintf("failing over/migrating instance %s",
				      inst_name(m->inst));

	if (m->cleanup)
		return 0;
	if (m->as_failover &&
	    strcmp(json_str(m->inst, "admin_state", ""), "up") != 0) {
		lu_info(lu, "Not checking memory on the secondary node as "
			    "instance will not be started");
		return 0;
	}
	return inst_check_memory(lu, m->target, why, json_int(be, "minmem", 0),
				 json_str(m->inst, "hypervisor", ""), err);
}

static WAITS int move_check(struct lu *lu, const char *verb, struct error *err)
{
	if (check_template(lu, verb, err) < 0)
		return -1;
	if (move_of(lu)->target == NULL && run_iallocator(lu, err) < 0)
		return -1;
	if (check_target(lu, err) < 0)
		return -1;
	return check_memory(lu, err);
}

/* --- hooks --- */

static void move_env(struct lu *lu, json_t *ret_env)
{
	struct move *m = move_of(lu);

	inst_hook_env(lu, m->inst, ret_env);
	json_set_str(ret_env, "OLD_PRIMARY", lu_node_name(lu, m->source));
	json_set_str(ret_env, "NEW_PRIMARY", lu_node_name(lu, m->target));
	json_set_str(ret_env, "OLD_SECONDARY", "");
	json_set_str(ret_env, "NEW_SECONDARY", "");
}

static void move_nodes(struct lu *lu, struct strv *ret_pre,
		       struct strv *ret_post)
{
	struct move *m = move_of(lu);
	const char *master = json_str(config_master(lu->m->config), "uuid", "");

	strv_add_unique(ret_pre, master);
	strv_add_unique(ret_pre, m->target);
	strv_add_unique(ret_post, master);
	strv_add_unique(ret_post, m->target);
	strv_add_unique(ret_post, m->source);
}

/* --- the steps that both share --- */

static WAITS int set_primary(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *now = config_get(lu->m->config, CONFIG_INSTANCE,
				       json_str(m->inst, "uuid", ""));
	json_t *changed = config_edit(now);

	json_set_str(changed, "primary_node", m->target);
	m->inst = lu_keep(lu,
			  config_put(lu->m->config, CONFIG_INSTANCE, changed));
	return config_commit(lu->m->config, err);
}

/* A call about the instance's disks as a whole. */
static WAITS int disks_call(struct lu *lu, const char *node, bool open,
			    bool exclusive, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *disks = inst_rpc_disks(lu, m->inst);
	json_t *args = open ? json_make("[s, O, b]", inst_name(m->inst), disks,
					exclusive)
			    : json_make("[s, O]", inst_name(m->inst), disks);
	auto_json json_t *done = NULL;

	if (open)
		lu_feedback(lu,
			    "* opening instance disks on node %s in %s mode",
			    lu_node_name(lu, node),
			    exclusive ? "exclusive" : "shared");
	else
		lu_feedback(lu, "* closing instance disks on node %s",
			    lu_node_name(lu, node));
	done = lu_call(lu, node, open ? "blockdev_open" : "blockdev_close",
		       args, err);
	return done == NULL ? -1 : 0;
}

/* --- failover --- */

static WAITS int stop_source(struct lu *lu, struct error *err)
{
	const struct op_instance_failover *op = lu->op;
	struct move *m = move_of(lu);
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, m->source);
	bool offline = json_bool(node, "offline", false);
	bool forgiving = lu->class->op == &op_class_instance_failover &&
			 op->ignore_consistency;
	int64_t timeout = lu->class->op == &op_class_instance_failover
				  ? op->shutdown_timeout
				  : 120;
	auto_json json_t *done = NULL;

	lu_feedback(lu, "* shutting down instance on source node");
	done = lu_call(lu, m->source, "instance_shutdown",
		       json_make("[o, I, o]", inst_rpc(lu, m->inst, NULL, NULL),
				 (json_int_t)timeout, lu_reason(lu)),
		       err);
	if (done == NULL) {
		if (!offline && !forgiving)
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
	if (disks_call(lu, m->source, false, false, err) < 0)
		lu_warn(lu, "Could not close the disks, ignoring: %s",
			err->text);
	lu_feedback(lu, "* deactivating the instance's disks on source node");
	return inst_stop_disks(lu, m->inst, m->source, true, err);
}

static WAITS int start_target(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *done = NULL;

	lu_feedback(lu, "* activating the instance's disks on target node %s",
		    lu_node_name(lu, m->target));
	lu_info(lu, "Starting instance %s on node %s", inst_name(m->inst),
		lu_node_name(lu, m->target));
	if (inst_start_disks(lu, m->inst, m->target, err) < 0)
		return -1;
	lu_feedback(lu, "* starting the instance on the target node %s",
		    lu_node_name(lu, m->target));
	done = lu_call(lu, m->target, "instance_start",
		       json_make("[o, b, o]", inst_rpc(lu, m->inst, NULL, NULL),
				 0, lu_reason(lu)),
		       err);
	if (done == NULL)
		return error_wrap(err, "Could not start instance %s on node %s",
				  inst_name(m->inst),
				  lu_node_name(lu, m->target));
	return 0;
}

static WAITS int failover(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	bool up = strcmp(json_str(m->inst, "admin_state", ""), "up") == 0;

	lu_feedback(lu, "Failover instance %s", inst_name(m->inst));
	lu_feedback(lu, up ? "* checking disk consistency between source and "
			     "target"
			   : "* not checking disk consistency as instance is "
			     "not running");
	if (stop_source(lu, err) < 0 || set_primary(lu, err) < 0)
		return -1;
	return up ? start_target(lu, err) : 0;
}

static struct wanted failover_wanted(struct lu *lu)
{
	const struct op_instance_failover *op = lu->op;

	return (struct wanted){op->instance_name, op->target_node,
			       op->iallocator};
}

static int failover_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_failover *op = lu->op;
	struct wanted w = failover_wanted(lu);

	move_of(lu)->as_failover = true;
	move_of(lu)->cleanup = op->cleanup;
	return move_expand(lu, &w, err);
}

static int failover_check(struct lu *lu, struct error *err)
{
	return move_check(lu, "failover", err);
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

static json_t *failover_exec(struct lu *lu, struct error *err)
{
	if (!move_of(lu)->cleanup && failover(lu, err) < 0)
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
};

/* --- migrate --- */

static struct wanted migrate_wanted(struct lu *lu)
{
	const struct op_instance_migrate *op = lu->op;

	return (struct wanted){op->instance_name, op->target_node,
			       op->iallocator};
}

static int migrate_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct wanted w = migrate_wanted(lu);

	move_of(lu)->cleanup = op->cleanup;
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

static WAITS int check_running(struct lu *lu, struct error *err)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	bool running;

	if (m->cleanup)
		return 0;
	if (json_bool(be, "always_failover", false)) {
		m->as_failover = true;
		return 0;
	}
	if (inst_is_running(lu, m->inst, NULL, &running, err) < 0)
		return -1;
	if (running)
		return 0;
	if (!op->allow_failover)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s is not running, please use "
				 "failover",
				 inst_name(m->inst));
	lu_info(lu, "Instance is not running, fallback to failover");
	m->as_failover = true;
	return 0;
}

static int migrate_check(struct lu *lu, struct error *err)
{
	if (choose_mode(lu, err) < 0 || check_running(lu, err) < 0)
		return -1;
	return move_check(lu, "migrations", err);
}

static void migrate_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_migrate *op = lu->op;
	struct move *m = move_of(lu);

	move_env(lu, ret_env);
	json_set_str(ret_env, "MIGRATE_LIVE", m->live ? "True" : "False");
	json_set_str(ret_env, "MIGRATE_CLEANUP", m->cleanup ? "True" : "False");
	json_set_str(ret_env, "ALLOW_RUNTIME_CHANGES",
		     op->allow_runtime_changes ? "True" : "False");
}

static WAITS int finish_on(struct lu *lu, const char *node,
			   const char *procedure, json_t *args STEALS,
			   struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, procedure, args, err);

	return done == NULL ? -1 : 0;
}

/* Wait for the end of the transfer; -1 with err when it failed. */
static WAITS int transfer(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	lu_feedback(lu, "* starting memory transfer");
	for (unsigned round = 0;; round++) {
		auto_json json_t *state = lu_call(
			lu, m->source, "instance_get_migration_status",
			json_make("[o]", inst_rpc(lu, m->inst, NULL, NULL)),
			err);
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
		task_sleep(round < POLL_FAST_ROUNDS ? POLL_FIRST_MS : POLL_MS);
	}
	lu_feedback(lu, "* memory transfer complete");
	return 0;
}

/* Back to the source after a failure; what fails here is only said. */
static WAITS void revert(struct lu *lu, const json_t *info)
{
	struct move *m = move_of(lu);
	struct error err;

	if (finish_on(lu, m->target, "instance_finalize_migration_dst",
		      json_make("[o, O, b]", inst_rpc(lu, m->inst, NULL, NULL),
				info, 0),
		      &err) < 0)
		lu_warn(lu, "Aborting the migration on the target failed: %s",
			err.text);
	if (finish_on(lu, m->source, "instance_finalize_migration_src",
		      json_make("[o, b, b]", inst_rpc(lu, m->inst, NULL, NULL),
				0, m->live),
		      &err) < 0)
		lu_warn(lu, "Aborting the migration on the source failed: %s",
			err.text);
	if (inst_stop_disks(lu, m->inst, m->target, true, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

static WAITS int send_memory(struct lu *lu, const json_t *info,
			     struct error *err)
{
	struct move *m = move_of(lu);
	auto_free char *address = xstrdup(
		json_str(config_get(lu->m->config, CONFIG_NODE, m->target),
			 "secondary_ip", ""));
	auto_free char *cluster = xstrdup(
		json_str(config_cluster(lu->m->config), "cluster_name", ""));

	lu_feedback(lu, "* preparing %s to accept the instance",
		    lu_node_name(lu, m->target));
	if (finish_on(lu, m->target, "accept_instance",
		      json_make("[o, O, s]", inst_rpc(lu, m->inst, NULL, NULL),
				info, address),
		      err) < 0)
		return -1;
	lu_feedback(lu, "* migrating instance to %s",
		    lu_node_name(lu, m->target));
	if (finish_on(lu, m->source, "instance_migrate",
		      json_make("[s, o, s, b]", cluster,
				inst_rpc(lu, m->inst, NULL, NULL), address,
				m->live),
		      err) < 0)
		return -1;
	return transfer(lu, err);
}

/* The target has it: the source lets go, the configuration says so first, so
 * that a crash finds the instance where it runs. */
static WAITS int take_over(struct lu *lu, const json_t *info, struct error *err)
{
	struct move *m = move_of(lu);

	if (finish_on(lu, m->source, "instance_finalize_migration_src",
		      json_make("[o, b, b]", inst_rpc(lu, m->inst, NULL, NULL),
				1, m->live),
		      err) < 0)
		return error_wrap(err, "Finalizing the migration on the "
				       "source failed");
	if (set_primary(lu, err) < 0)
		return -1;
	if (finish_on(lu, m->target, "instance_finalize_migration_dst",
		      json_make("[o, O, b]", inst_rpc(lu, m->inst, NULL, NULL),
				info, 1),
		      err) < 0)
		return error_wrap(err, "Finalizing the migration on the "
				       "target failed");
	if (disks_call(lu, m->source, false, false, err) < 0 ||
	    inst_stop_disks(lu, m->inst, m->source, true, err) < 0)
		return -1;
	return disks_call(lu, m->target, true, true, err);
}

static WAITS json_t *migration_info(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	return lu_call(lu, m->source, "migration_info",
		       json_make("[o]", inst_rpc(lu, m->inst, NULL, NULL)),
		       err);
}

static WAITS int migrate(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *info = NULL;

	lu_feedback(lu, "Migrating instance %s", inst_name(m->inst));
	lu_feedback(lu, "* checking disk consistency between source and "
			"target");
	info = migration_info(lu, err);
	if (info == NULL)
		return -1;
	if (inst_start_disks(lu, m->inst, m->target, err) < 0)
		return -1;
	if (disks_call(lu, m->target, false, false, err) < 0 ||
	    disks_call(lu, m->source, true, false, err) < 0 ||
	    disks_call(lu, m->target, true, false, err) < 0 ||
	    send_memory(lu, info, err) < 0) {
		revert(lu, info);
		return -1;
	}
	if (take_over(lu, info, err) < 0)
		return -1;
	lu_feedback(lu, "* done");
	return 0;
}

/* After a broken migration: find out where it runs and record that. */
static WAITS int clean_up(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_strv struct strv nodes = {0};
	const char *found = NULL;

	lu_feedback(lu, "* checking where the instance actually runs (if this "
			"hangs, the hypervisor might be in a bad state)");
	config_sorted(lu->m->config, CONFIG_NODE, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		bool running = false;

		if (inst_is_running(lu, m->inst, nodes.items[i], &running,
				    err) < 0)
			continue; /* offline or away: it cannot tell */
		if (running && found != NULL)
			return error_set(err, ERR_EXEC, NULL,
					 "Instance %s seems to run on two "
					 "nodes: %s and %s; stop one of them",
					 inst_name(m->inst),
					 lu_node_name(lu, found),
					 lu_node_name(lu, nodes.items[i]));
		if (running)
			found = nodes.items[i];
	}
	if (found == NULL)
		return error_set(err, ERR_EXEC, NULL,
				 "Instance %s runs on no node; start it with "
				 "gnt-instance startup",
				 inst_name(m->inst));
	m->target = lu_keep_str(lu, xstrdup(found));
	if (strcmp(found, m->source) != 0 && set_primary(lu, err) < 0)
		return -1;
	lu_feedback(lu, "* done");
	return 0;
}

static json_t *migrate_exec(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	int rc;

	if (m->cleanup)
		rc = clean_up(lu, err);
	else if (m->as_failover)
		rc = failover(lu, err);
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
	.hook_nodes = move_nodes,
	.exec = migrate_exec,
};
