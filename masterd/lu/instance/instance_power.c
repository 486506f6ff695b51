/* SPDX-License-Identifier: BSD-2-Clause */
/* Startup, shutdown and reboot of an instance. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/lu_stop.h"

struct power {
	struct lu lu;
	const json_t *inst;
	bool node_offline;
	json_t *hv, *be; /* parameters of this start only, checked */
};

static struct power *power_of(struct lu *lu)
{
	return container_of(lu, struct power, lu);
}

/* Lock the instance, but not the resources of its node: its resources are
 * booked all the time, so a start need not wait while somebody places. */
static int power_expand(struct lu *lu, const char *name, struct error *err)
{
	struct power *p = power_of(lu);

	p->inst = lu_instance(lu, name, err);
	if (p->inst == NULL)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(p->inst), true);
	lu_want_free(lu, LOCK_INSTANCE_DISKS, inst_name(p->inst), true, 1);
	lu_want(lu, LOCK_NODE, inst_primary_node(p->inst), false);
	return 0;
}

/* Stop the disks, except those that a job replaces at the moment: that job
 * stops them when they are in sync. */
static WAITS int stop_disks(struct lu *lu, struct error *err)
{
	struct power *p = power_of(lu);

	if (lu_has(lu, LOCK_INSTANCE_DISKS, inst_name(p->inst)))
		return disks_stop(lu, p->inst, NULL, true, err);
	lu_info(lu,
		"The disks of instance %s stay active until the job that "
		"replaces them has ended",
		inst_name(p->inst));
	return 0;
}

static int check_not_offline(const struct power *p, struct error *err)
{
	if (strcmp(inst_admin_state(p->inst), "offline") != 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance '%s' is marked to be offline; bring it "
			 "online first (gnt-instance modify --online)",
			 inst_name(p->inst));
}

/* Note whether the primary is offline, which is an error unless ignored. */
static int check_primary(struct lu *lu, bool ignore_offline, struct error *err)
{
	struct power *p = power_of(lu);
	const json_t *node = config_get(lu->m->config, CONFIG_NODE,
					inst_primary_node(p->inst));

	p->node_offline = node_offline(node);
	if (p->node_offline && ignore_offline)
		return 0;
	return inst_check_node(lu, inst_primary_node(p->inst), false, err);
}

/* Nodes besides its primary that reach the disks: the instance may have been
 * brought there without that being recorded.  Where many do, they are asked
 * about an instance that should run and does not: to start others needs no call
 * to each node of a big group. */
static void other_homes(const struct lu *lu, const json_t *inst,
			struct strv *ret)
{
	const struct config *c = lu->m->config;
	const char *template = config_instance_template(c, inst);
	auto_strv struct strv group = {0};

	config_instance_secondaries(c, inst, ret);
	if (!template_is_everywhere(template) ||
	    !str_eq(inst_admin_state(inst), "up"))
		return;
	config_group_nodes(
		c,
		node_group(config_get(c, CONFIG_NODE, inst_primary_node(inst))),
		&group);
	for (size_t i = 0; i < group.n; i++)
		if (!str_eq(group.items[i], inst_primary_node(inst)))
			strv_add(ret, group.items[i]);
}

/* A second copy of it would destroy its disks.  A node that does not answer
 * stops nobody, as it may be dead. */
static WAITS int check_nowhere_else(struct lu *lu, const json_t *inst,
				    struct error *err)
{
	auto_json json_t *hv =
		params_fill_hv(config_cluster(lu->m->config),
			       inst_hypervisor(inst), NULL, NULL);
	auto_strv struct strv nodes = {0};
	struct node_result *results;
	int rc = 0;

	other_homes(lu, inst, &nodes);
	results = node_results_new(nodes.n);
	for (size_t i = 0; i < nodes.n; i++)
		results[i].node = json_ref(
			config_get(lu->m->config, CONFIG_NODE, nodes.items[i]));
	noderpc_look_many(lu->m->rpc, results, nodes.n,
			  rpc_instance_info(inst_name(inst),
					    inst_hypervisor(inst),
					    json_ref(hv)));
	for (size_t i = 0; i < nodes.n && rc == 0; i++)
		if (inst_info_runs(results[i].payload))
			rc = error_set(err, ERR_PREREQ, ECODE_STATE,
				       "Instance %s runs on node %s, which is "
				       "not its primary; gnt-instance migrate "
				       "--cleanup %s records that",
				       inst_name(inst),
				       node_name(results[i].node),
				       inst_name(inst));
	node_results_free(results, nodes.n);
	return rc;
}

static void power_nodes(struct lu *lu, struct strv *ret_pre,
			struct strv *ret_post)
{
	inst_hook_nodes(lu, power_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, power_of(lu)->inst, ret_post);
}

/* The hooks get the present state, before and after. */
static void power_env(struct lu *lu, json_t *ret_env)
{
	const json_t *inst = power_of(lu)->inst;
	const json_t *now =
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid(inst));

	inst_hook_env(lu, now != NULL ? now : inst, ret_env);
}

/* --- startup --- */

static int startup_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_startup *op = lu->op;

	return power_expand(lu, op->instance_name, err);
}

static int startup_check_params(struct lu *lu, struct error *err)
{
	const struct op_instance_startup *op = lu->op;
	struct power *p = power_of(lu);

	if (params_update_hv(inst_hypervisor(p->inst), NULL, op->hvparams,
			     &p->hv, err) < 0)
		return -1;
	return params_update_be(NULL, op->beparams, &p->be, err);
}

/* Ask the nodes of the instance whether it could run with the parameters of
 * this start, while it is still marked down. */
static WAITS int check_overrides(struct lu *lu, struct error *err)
{
	struct power *p = power_of(lu);
	auto_json json_t *own = inst_filled_hv(lu, p->inst);
	auto_json json_t *filled = json_overlay(own, p->hv);
	auto_strv struct strv nodes = {0};

	if (json_object_size(p->hv) == 0)
		return 0;
	strv_add(&nodes, inst_primary_node(p->inst));
	config_instance_secondaries(lu->m->config, p->inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const char *node = nodes.items[i];
		auto_json json_t *done = NULL;

		if (node_offline(config_get(lu->m->config, CONFIG_NODE, node)))
			continue;
		done = lu_call(
			lu, node,
			rpc_hypervisor_validate_params(inst_hypervisor(p->inst),
						       json_ref(filled)),
			err);
		if (done != NULL)
			continue;
		lu_not_valid(err);
		return error_wrap(err,
				  "Hypervisor parameter validation failed on "
				  "node %s",
				  lu_node_name(lu, node));
	}
	return 0;
}

static WAITS int check_memory(struct lu *lu, struct error *err)
{
	struct power *p = power_of(lu);
	auto_json json_t *own = inst_filled_be(lu, p->inst);
	auto_json json_t *be = json_overlay(own, p->be);
	auto_free char *why =
		xprintf("starting instance %s", inst_name(p->inst));
	int64_t min = be_minmem(be);
	const struct memory_need need = {
		.node = inst_primary_node(p->inst),
		.reason = why,
		.hypervisor = inst_hypervisor(p->inst),
		.min = min,
		.booked_min = be_minmem(own),
		.live = min,
	};

	return lu_check_memory(lu, &need, err);
}

static WAITS int startup_check(struct lu *lu, struct error *err)
{
	const struct op_instance_startup *op = lu->op;
	struct power *p = power_of(lu);
	bool running;

	if (check_not_offline(p, err) < 0 ||
	    check_primary(lu, op->ignore_offline_nodes, err) < 0 ||
	    startup_check_params(lu, err) < 0 || check_overrides(lu, err) < 0)
		return -1;
	if (p->node_offline) {
		lu_warn(lu, "Ignoring offline primary node");
		if (json_object_size(p->hv) + json_object_size(p->be) > 0)
			lu_warn(lu, "Overridden parameters are ignored");
		return 0;
	}
	if (inst_check_bridges(lu, inst_nics(p->inst),
			       inst_primary_node(p->inst), err) < 0)
		return -1;
	if (inst_is_running(lu, p->inst, NULL, &running, err) < 0)
		return error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	if (running)
		return 0;
	if (disks_check_copies(lu, p->inst, op->force, err) < 0 ||
	    check_nowhere_else(lu, p->inst, err) < 0)
		return -1;
	return check_memory(lu, err);
}

static void startup_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_startup *op = lu->op;

	power_env(lu, ret_env);
	json_set_str(ret_env, "FORCE", op->force ? "True" : "False");
}

static WAITS json_t *startup_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_startup *op = lu->op;
	struct power *p = power_of(lu);
	const struct balloon_start start = {
		.node = inst_primary_node(p->inst),
		.hv = p->hv,
		.be = p->be,
		.paused = op->startup_paused,
	};
	struct error ignored;

	if (!op->no_remember &&
	    inst_mark(lu, inst_name(p->inst), "up", 1, err) < 0)
		return NULL;
	if (p->node_offline) {
		lu_info(lu, "Primary node offline, marked instance as started");
		return json_null();
	}
	if (disks_start_primary(lu, p->inst, op->force, err) < 0)
		return NULL;
	if (lu_start_instance(lu, p->inst, &start, err) < 0) {
		stop_disks(lu, &ignored);
		error_wrap(err, "Could not start instance '%s'",
			   inst_name(p->inst));
		return NULL;
	}
	return json_null();
}

static void startup_done(struct lu *lu)
{
	json_decref(power_of(lu)->hv);
	json_decref(power_of(lu)->be);
}

const struct lu_class lu_instance_startup = {
	.op = &op_class_instance_startup,
	.spares_disks = true,
	.size = sizeof(struct power),
	.hook_path = "instance-start",
	.object_type = "INSTANCE",
	.expand = startup_expand,
	.check = startup_check,
	.hook_env = startup_env,
	.hook_nodes = power_nodes,
	.exec = startup_exec,
	.done = startup_done,
};

/* --- shutdown --- */

static int shutdown_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_shutdown *op = lu->op;

	return power_expand(lu, op->instance_name, err);
}

static int shutdown_check(struct lu *lu, struct error *err)
{
	const struct op_instance_shutdown *op = lu->op;
	struct power *p = power_of(lu);

	if (op->force)
		lu_warn(lu, "Ignoring offline instance check");
	else if (check_not_offline(p, err) < 0)
		return -1;
	if (check_primary(lu, op->ignore_offline_nodes, err) < 0)
		return -1;
	if (p->node_offline)
		lu_warn(lu, "Ignoring offline primary node");
	return 0;
}

static void shutdown_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_shutdown *op = lu->op;
	auto_free char *timeout = xprintf("%jd", (intmax_t)op->timeout);

	power_env(lu, ret_env);
	json_set_str(ret_env, "TIMEOUT", timeout);
}

static WAITS json_t *shutdown_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_shutdown *op = lu->op;
	struct power *p = power_of(lu);
	const struct stop how = {p->inst, inst_primary_node(p->inst),
				 op->timeout, "--timeout"};
	/* With force also an instance that is marked offline; it stays
	 * offline. */
	bool online = strcmp(inst_admin_state(p->inst), "offline") != 0;

	if (!op->no_remember && online &&
	    inst_mark(lu, inst_name(p->inst), "down", -1, err) < 0)
		return NULL;
	if (p->node_offline) {
		lu_info(lu, "Primary node offline, marked instance as stopped");
		return json_null();
	}
	if (inst_stop(lu, &how, err) < 0) {
		error_wrap(err, "Could not shutdown instance '%s'",
			   inst_name(p->inst));
		return NULL;
	}
	if (stop_disks(lu, err) < 0)
		return NULL;
	if (lu_has(lu, LOCK_INSTANCE_DISKS, inst_name(p->inst)) &&
	    inst_mark(lu, inst_name(p->inst), NULL, 0, err) < 0)
		return NULL;
	lu_balloon_freed(lu, inst_primary_node(p->inst));
	return json_null();
}

const struct lu_class lu_instance_shutdown = {
	.op = &op_class_instance_shutdown,
	.spares_disks = true,
	.size = sizeof(struct power),
	.hook_path = "instance-stop",
	.object_type = "INSTANCE",
	.expand = shutdown_expand,
	.check = shutdown_check,
	.hook_env = shutdown_env,
	.hook_nodes = power_nodes,
	.exec = shutdown_exec,
};

/* --- reboot --- */

static int reboot_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_reboot *op = lu->op;

	return power_expand(lu, op->instance_name, err);
}

static WAITS int reboot_check(struct lu *lu, struct error *err)
{
	const json_t *inst = power_of(lu)->inst;

	if (check_not_offline(power_of(lu), err) < 0 ||
	    check_primary(lu, false, err) < 0)
		return -1;
	return inst_check_bridges(lu, inst_nics(inst), inst_primary_node(inst),
				  err);
}

static void reboot_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_reboot *op = lu->op;
	auto_free char *timeout =
		xprintf("%jd", (intmax_t)op->shutdown_timeout);

	power_env(lu, ret_env);
	json_set_str(ret_env, "IGNORE_SECONDARIES",
		     op->ignore_secondaries ? "True" : "False");
	json_set_str(ret_env, "REBOOT_TYPE", op->reboot_type);
	json_set_str(ret_env, "SHUTDOWN_TIMEOUT", timeout);
}

static struct stop reboot_stop(struct lu *lu)
{
	const struct op_instance_reboot *op = lu->op;
	const json_t *inst = power_of(lu)->inst;

	return (struct stop){inst, inst_primary_node(inst),
			     op->shutdown_timeout, "--shutdown-timeout"};
}

/* A reboot from inside keeps the memory; otherwise the instance starts with
 * what is free. */
static WAITS int reboot_running(struct lu *lu, struct error *err)
{
	const struct op_instance_reboot *op = lu->op;
	struct power *p = power_of(lu);
	bool anew = strcmp(op->reboot_type, "hard") == 0;
	const struct stop how = reboot_stop(lu);
	int64_t most = lu_balloon_restart(lu, p->inst, anew, err);
	auto_json json_t *done = NULL;

	if (most < 0)
		return -1;
	done = inst_stop_by(
		lu, &how,
		rpc_instance_reboot(inst_rpc(lu, p->inst, NULL, NULL),
				    op->reboot_type, op->shutdown_timeout,
				    lu_reason(lu)),
		err);
	if (done == NULL)
		return error_wrap(err, "Could not reboot instance");
	return anew ? lu_balloon_restarted(lu, p->inst, most, err) : 0;
}

/* Stop it, if it runs, and start it. */
static WAITS int reboot_full(struct lu *lu, bool running, struct error *err)
{
	const struct op_instance_reboot *op = lu->op;
	struct power *p = power_of(lu);
	const struct stop how = reboot_stop(lu);
	const struct balloon_start start = {.node = inst_primary_node(p->inst)};

	if (running) {
		if (inst_stop(lu, &how, err) < 0)
			return error_wrap(err, "Could not shutdown instance "
					       "for full reboot");
		if (stop_disks(lu, err) < 0)
			return -1;
	} else {
		if (check_nowhere_else(lu, p->inst, err) < 0)
			return -1;
		lu_info(lu, "Instance %s was already stopped, starting now",
			inst_name(p->inst));
	}
	if (disks_start_primary(lu, p->inst, op->ignore_secondaries, err) < 0)
		return -1;
	return lu_start_instance(lu, p->inst, &start, err) < 0
		       ? error_wrap(err, "Could not start instance for full "
					 "reboot")
		       : 0;
}

static WAITS json_t *reboot_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_reboot *op = lu->op;
	struct power *p = power_of(lu);
	bool running, in_place;

	if (inst_is_running(lu, p->inst, NULL, &running, err) < 0)
		return NULL;
	in_place = running && strcmp(op->reboot_type, "full") != 0;
	if ((in_place ? reboot_running(lu, err)
		      : reboot_full(lu, running, err)) < 0)
		return NULL;
	if (inst_mark(lu, inst_name(p->inst), "up", 1, err) < 0)
		return NULL;
	return json_null();
}

const struct lu_class lu_instance_reboot = {
	.op = &op_class_instance_reboot,
	.spares_disks = true,
	.size = sizeof(struct power),
	.hook_path = "instance-reboot",
	.object_type = "INSTANCE",
	.expand = reboot_expand,
	.check = reboot_check,
	.hook_env = reboot_env,
	.hook_nodes = power_nodes,
	.exec = reboot_exec,
};
