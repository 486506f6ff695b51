/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_SET_PARAMS: the roles of a node and its parameters.
 *
 * A node is a master candidate, drained, offline or none of these.  Setting one
 * flag ends the other role; unsetting a flag that is not set is ignored, with a
 * note.  A node that is no longer drained or offline becomes a candidate
 * automatically if the pool needs one. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/params/params.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/node/node_pool.h"
#include "masterd/lu/node/node_state.h"
#include "masterd/lu/parts/cluster_ssh.h"
#include "masterd/resources/running.h"

enum role { ROLE_REGULAR, ROLE_CANDIDATE, ROLE_DRAINED, ROLE_OFFLINE };

/* In the order in which changes are reported. */
static const char *const flag_names[] = {"master_candidate", "drained",
					 "offline"};
static const enum role flag_roles[] = {ROLE_CANDIDATE, ROLE_DRAINED,
				       ROLE_OFFLINE};
#define N_FLAGS 3

struct node_modify {
	struct lu lu;
	const json_t *node; /* as it was */
	json_t *changed;    /* as it will be, but for the role */
	op_tri flags[N_FLAGS];
	enum role role; /* the role it will have */
};

static struct node_modify *modify_of(struct lu *lu)
{
	return container_of(lu, struct node_modify, lu);
}

static enum role role_of(const json_t *node)
{
	for (size_t i = 0; i < N_FLAGS; i++)
		if (json_bool(node, flag_names[i], false))
			return flag_roles[i];
	return ROLE_REGULAR;
}

static const char *uuid_of(const struct node_modify *n)
{
	return node_uuid(n->node);
}

static const char *name_of(const struct node_modify *n)
{
	return node_name(n->node);
}

static int modify_expand(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;

	n->node = lu_node(lu, op->node_name, err);
	if (n->node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE, uuid_of(n), true);
	lu_want(lu, LOCK_NODE_RES, uuid_of(n), true);
	return 0;
}

/* --- check --- */

static int check_arguments(const struct op_node_set_params *op,
			   struct error *err)
{
	const op_tri states[] = {op->master_candidate, op->drained, op->offline,
				 op->master_capable, op->vm_capable};
	size_t n = 0;

	if (op->offline < 0 && op->master_candidate < 0 && op->drained < 0 &&
	    op->master_capable < 0 && op->vm_capable < 0 && op->powered < 0 &&
	    op->secondary_ip == NULL && op->ndparams == NULL &&
	    op->hv_state == NULL && op->disk_state == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Please pass at least one modification");
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		n += states[i] == 1;
	if (n <= 1)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can't set the node into more than one state at the "
			 "same time");
}

static int check_master(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;

	if (!config_is_master(lu->m->config, uuid_of(n)))
		return 0;
	if (op->master_candidate >= 0 || op->drained >= 0 || op->offline >= 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The master role can be changed only via "
				 "master-failover");
	if (op->master_capable == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Master must remain master capable");
	return 0;
}

static int check_capable(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	auto_strv struct strv instances = {0};

	if (op->master_candidate == 1 && op->master_capable != 1 &&
	    !node_master_capable(n->node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is not master capable, cannot make "
				 "it a master candidate",
				 name_of(n));
	if (op->vm_capable != 0)
		return 0;
	config_node_primaries(lu->m->config, uuid_of(n), &instances);
	config_node_secondaries(lu->m->config, uuid_of(n), &instances);
	if (instances.n == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s hosts instances, cannot unset the vm_capable "
			 "flag",
			 name_of(n));
}

/* A candidate must not leave the role if the pool becomes too small while other
 * nodes could take it. */
static int check_pool(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	struct node_pool pool = node_pool_stats(lu->m->config, uuid_of(n));
	bool might_demote = op->master_candidate == 0 || op->offline == 1 ||
			    op->drained == 1 || op->master_capable == 0;

	if (role_of(n->node) != ROLE_CANDIDATE || !might_demote ||
	    op->auto_promote || pool.now >= pool.should)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Not enough master candidates without node %s, please "
			 "pass auto promote option to allow promotion "
			 "(--auto-promote or RAPI auto_promote=True)",
			 name_of(n));
}

static bool has_oob(struct lu *lu, const json_t *node)
{
	const json_t *group =
		config_get(lu->m->config, CONFIG_GROUP, node_group(node));
	auto_json json_t *nd =
		params_fill_nd(config_cluster(lu->m->config), group, node);

	return *nd_oob_program(nd) != '\0';
}

static int check_power(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	bool oob = has_oob(lu, n->node);

	if (!oob && op->powered >= 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Unable to change powered state for node %s "
				 "as it does not support out-of-band handling",
				 name_of(n));
	if (oob && op->offline == 0 && op->powered != 1 &&
	    !node_powered(n->node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s needs to be turned on before its "
				 "offline status can be reset",
				 name_of(n));
	return 0;
}

/* Find the flags that really change, and from them the new role. */
static void compute_role(struct lu *lu)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	bool comes_back, unset = false;

	for (size_t i = 0; i < N_FLAGS; i++)
		if (n->flags[i] == 0 &&
		    !json_bool(n->node, flag_names[i], false)) {
			lu_info(lu,
				"Ignoring request to unset flag %s, already "
				"unset",
				flag_names[i]);
			n->flags[i] = -1;
		}
	comes_back = n->flags[1] == 0 || n->flags[2] == 0 ||
		     (op->master_capable == 1 && !node_master_capable(n->node));
	if (comes_back && op->master_capable != 0 && n->flags[1] != 1 &&
	    n->flags[2] != 1 && node_master_capable(n->changed) &&
	    node_pool_has_room(lu->m->config, uuid_of(n))) {
		n->flags[0] = 1;
		lu_info(lu, "Auto-promoting node to master candidate");
	}
	if (op->master_capable == 0 && role_of(n->node) == ROLE_CANDIDATE) {
		lu_info(lu, "Demoting from master candidate");
		n->flags[0] = 0;
	}
	n->role = role_of(n->node);
	for (size_t i = 0; i < N_FLAGS; i++)
		unset = unset || n->flags[i] == 0;
	if (unset)
		n->role = ROLE_REGULAR;
	for (size_t i = 0; i < N_FLAGS; i++)
		if (n->flags[i] == 1)
			n->role = flag_roles[i];
}

static int set_secondary_ip(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	auto_strv struct strv mirrored = {0};

	if (op->secondary_ip == NULL)
		return 0;
	if (node_check_secondary(lu->m->config, uuid_of(n), op->secondary_ip,
				 err) < 0 ||
	    (!(op->force && config_is_master(lu->m->config, uuid_of(n))) &&
	     node_check_homing(lu->m->config, node_primary_ip(n->node),
			       op->secondary_ip, err) < 0))
		return -1;
	config_node_secondaries(lu->m->config, uuid_of(n), &mirrored);
	if (mirrored.n > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot change the secondary ip of node %s: "
				 "instance %s mirrors its disks over it",
				 name_of(n),
				 config_name(lu->m->config, CONFIG_INSTANCE,
					     mirrored.items[0]));
	node_set_secondary_ip(n->changed, op->secondary_ip);
	return 0;
}

static int set_parameters(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;

	if (op->powered >= 0)
		node_set_powered(n->changed, op->powered);
	if (op->master_capable >= 0)
		node_set_master_capable(n->changed, op->master_capable);
	if (op->vm_capable >= 0)
		node_set_vm_capable(n->changed, op->vm_capable);
	if (op->offline >= 0)
		node_state_drop_watcher_tag(n->changed);
	if (set_secondary_ip(lu, err) < 0 ||
	    node_change_ndparams(n->changed, op->ndparams, err) < 0 ||
	    state_set_hv(n->changed, op->hv_state, err) < 0)
		return -1;
	return state_set_disk(n->changed, op->disk_state, err);
}

/* --- a node with running instances is not set offline by mistake --- */

/* As many instances are named in an error. */
#define IN_USE_NAMES 10

/* A node that answers but cannot tell what runs may run anything. */
static bool may_run(const struct node_result *answer, const json_t *inst)
{
	if (answer->payload == NULL)
		return answer->err->kind == ERR_EXEC;
	return json_get(answer->payload, inst_name(inst)) != NULL ||
	       !running_is_known(answer, inst_hypervisor(inst));
}

/* Its primary instances that may be running, according to the node; none when
 * it does not answer. */
static WAITS void find_running(struct lu *lu, struct strv *ret)
{
	const char *uuid = uuid_of(modify_of(lu));
	const struct config *c = lu->m->config;
	auto_strv struct strv primaries = {0};
	struct node_result *answer;

	config_node_primaries(c, uuid, &primaries);
	if (primaries.n == 0)
		return;
	answer = node_results_new(1);
	answer->node = json_ref(config_get(c, CONFIG_NODE, uuid));
	running_look(lu->m->rpc, c, answer, 1);
	for (size_t i = 0; i < primaries.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, primaries.items[i]);

		if (inst != NULL && may_run(answer, inst))
			strv_add(ret, inst_name(inst));
	}
	node_results_free(answer, 1);
	strv_sort_nice(ret);
}

/* "a, b and 3 more"; to be freed. */
static char *some_names(const struct strv *names)
{
	auto_strv struct strv shown = {0};
	auto_free char *text = NULL;

	for (size_t i = 0; i < names->n && i < IN_USE_NAMES; i++)
		strv_add(&shown, names->items[i]);
	text = strv_join(&shown, ", ");
	if (names->n <= IN_USE_NAMES)
		return steal(&text);
	return xprintf("%s and %zu more", text, names->n - IN_USE_NAMES);
}

/* The master does not look at offline nodes: instances there would go on
 * unnoticed, and could be started a second time elsewhere.  If the node does
 * not answer, it may be set offline: that is what the flag is for. */
static WAITS int check_unused(struct lu *lu, struct error *err)
{
	const struct op_node_set_params *op = lu->op;
	struct node_modify *n = modify_of(lu);
	auto_strv struct strv running = {0};
	auto_free char *names = NULL;

	if (op->force || n->role != ROLE_OFFLINE ||
	    role_of(n->node) == ROLE_OFFLINE)
		return 0;
	find_running(lu, &running);
	if (running.n == 0)
		return 0;
	names = some_names(&running);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s answers, and instances of which it is the "
			 "primary node run there, or it cannot tell: %s. Move "
			 "them away first (gnt-node evacuate -p, gnt-node "
			 "migrate), stop them, or use --force",
			 name_of(n), names);
}

/* While it was offline its instances may have been started elsewhere, and still
 * run here as well: nobody may work with its disks before they are ended.  With
 * --force it comes back all the same. */
static WAITS int check_strays(struct lu *lu, struct error *err)
{
	const struct op_node_set_params *op = lu->op;
	struct node_result *answer;
	auto_strv struct strv strays = {0};
	auto_free char *names = NULL;
	const char *name;
	json_t *info;

	if (op->force)
		return 0;
	answer = node_results_new(1);
	answer->node = json_copy(json_unconst(modify_of(lu)->node));
	node_set_offline(json_unconst(answer->node), false);
	running_look(lu->m->rpc, lu->m->config, answer, 1);
	json_object_foreach (json_unconst(answer->payload), name, info) {
		const json_t *inst =
			config_find(lu->m->config, CONFIG_INSTANCE, name);

		if (inst != NULL &&
		    !str_eq(inst_primary_node(inst), uuid_of(modify_of(lu))))
			strv_addf(&strays, "%s (of %s)", name,
				  config_name(lu->m->config, CONFIG_NODE,
					      inst_primary_node(inst)));
	}
	node_results_free(answer, 1);
	if (strays.n == 0)
		return 0;
	names = some_names(&strays);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instances run on node %s that belong to another node "
			 "by now: %s. End them there first, or use --force",
			 name_of(modify_of(lu)), names);
}

/* A node that was offline must answer before it is set online. */
static WAITS int check_alive(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);

	if (role_of(n->node) != ROLE_OFFLINE || n->role == ROLE_OFFLINE)
		return 0;
	if (node_check_version(lu, n->node, err) < 0) {
		err->ecode = ECODE_STATE;
		return error_wrap(err,
				  "Node %s is being de-offlined but fails to "
				  "report its version",
				  name_of(n));
	}
	if (check_strays(lu, err) < 0)
		return -1;
	lu_warn(lu, "Transitioning node from offline to online state without "
		    "using re-add. Please make sure the node is healthy!");
	return 0;
}

static WAITS int modify_check(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;

	if (check_arguments(op, err) < 0 || check_master(lu, err) < 0 ||
	    check_capable(lu, err) < 0 || check_pool(lu, err) < 0 ||
	    check_power(lu, err) < 0)
		return -1;
	n->flags[0] = op->master_candidate;
	n->flags[1] = op->drained;
	n->flags[2] = op->offline;
	n->changed = config_edit(n->node);
	if (set_parameters(lu, err) < 0)
		return -1;
	compute_role(lu);
	if (check_unused(lu, err) < 0)
		return -1;
	return check_alive(lu, err);
}

/* --- hooks --- */

static void env_tri(json_t *env, const char *key, op_tri value)
{
	json_set_str(env, key,
		     value < 0	  ? "None"
		     : value == 1 ? "True"
				  : "False");
}

static void modify_hook_env(struct lu *lu, json_t *env)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;

	json_set_str(env, "OP_TARGET", name_of(n));
	env_tri(env, "MASTER_CANDIDATE", n->flags[0]);
	env_tri(env, "OFFLINE", n->flags[2]);
	env_tri(env, "DRAINED", n->flags[1]);
	env_tri(env, "MASTER_CAPABLE", op->master_capable);
	env_tri(env, "VM_CAPABLE", op->vm_capable);
}

static void modify_hook_nodes(struct lu *lu, struct strv *ret_pre,
			      struct strv *ret_post)
{
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add(ret_pre, master);
	strv_add(ret_pre, uuid_of(modify_of(lu)));
	strv_add(ret_post, master);
	strv_add(ret_post, uuid_of(modify_of(lu)));
}

/* --- exec --- */

static void report(json_t *result, const char *what, const char *value)
{
	json_array_append_new(result, json_make("[s, s]", what, value));
}

static void report_flag(json_t *result, const char *what, bool value)
{
	report(result, what, value ? "True" : "False");
}

/* Set the flags of the new role. */
static void set_role(struct node_modify *n, json_t *result)
{
	if (n->role == role_of(n->node))
		return;
	for (size_t i = 0; i < N_FLAGS; i++) {
		bool before = json_bool(n->node, flag_names[i], false);
		bool after = n->role == flag_roles[i];

		json_set_bool(n->changed, flag_names[i], after);
		if (before != after)
			report_flag(result, flag_names[i], after);
	}
}

static json_t *changes(struct lu *lu)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	json_t *result = json_array();

	if (op->master_capable >= 0)
		report_flag(result, "master_capable", op->master_capable);
	if (op->vm_capable >= 0)
		report_flag(result, "vm_capable", op->vm_capable);
	if (op->secondary_ip != NULL)
		report(result, "secondary_ip", op->secondary_ip);
	if (op->powered >= 0)
		report_flag(result, "powered", op->powered);
	set_role(n, result);
	return result;
}

static WAITS json_t *modify_exec(struct lu *lu, struct error *err)
{
	struct node_modify *n = modify_of(lu);
	const struct op_node_set_params *op = lu->op;
	bool was = role_of(n->node) == ROLE_CANDIDATE;
	bool is = n->role == ROLE_CANDIDATE;
	auto_json json_t *result = changes(lu);
	auto_free char *digest = NULL;

	if (is && !was) {
		/* n->node may have the old offline flag */
		digest = node_pool_digest(lu, n->changed, err);
		if (digest == NULL)
			return NULL;
	}
	/* We have its lock, but another job may have promoted it to fill the
	 * pool. */
	if (config_get(lu->m->config, CONFIG_NODE, uuid_of(n)) != n->node) {
		error_set(err, ERR_EXEC, NULL,
			  "Node %s was changed by another job meanwhile; try "
			  "again",
			  name_of(n));
		return NULL;
	}
	config_put(lu->m->config, CONFIG_NODE, json_copy(n->changed));
	if (is && !was)
		node_pool_set_digest(lu, uuid_of(n), digest);
	if (was && !is && op->auto_promote)
		node_pool_fill(lu, uuid_of(n));
	if (node_pool_commit(lu, err) < 0 ||
	    (was && !is && node_pool_shut_out(lu, n->node, err) < 0))
		return NULL;
	if (was && !is && n->role != ROLE_OFFLINE)
		node_pool_tell_demoted(lu, n->node);
	if (n->role != role_of(n->node) || op->master_capable >= 0)
		cluster_ssh_sync(lu);
	return steal(&result);
}

static void modify_done(struct lu *lu)
{
	json_decref(modify_of(lu)->changed);
}

const struct lu_class lu_node_set_params = {
	.op = &op_class_node_set_params,
	.size = sizeof(struct node_modify),
	.hook_path = "node-modify",
	.object_type = "NODE",
	.expand = modify_expand,
	.check = modify_check,
	.hook_env = modify_hook_env,
	.hook_nodes = modify_hook_nodes,
	.exec = modify_exec,
	.done = modify_done,
};
