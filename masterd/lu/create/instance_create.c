/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_CREATE: place, reserve, make disks, install, start.
 *
 * The resources of nodes are locked only while the state of the nodes is read
 * and the instance is booked (masterd/lu/spec/instance_booking.h), which is the
 * last part of check.  Everything slow comes after that, under the lock of the
 * instance alone: questions to the node, hooks, disks, installation.  A failure
 * removes the booking. */
#include <stdio.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/create/instance_create_private.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_adopt.h"
#include "masterd/lu/spec/instance_booking.h"

struct create *create_of(struct lu *lu)
{
	return container_of(lu, struct create, lu);
}

const struct op_instance_create *create_op(struct lu *lu)
{
	struct create *c = create_of(lu);

	return c->imports && c->import.images != NULL ? &c->import.op : lu->op;
}

/* --- expand --- */

/* An instance booked by a bulk creation already has its final name. */
static WAITS int create_arguments(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = lu->op;
	struct create *c = create_of(lu);
	const char *whole;

	c->name = spec_name(lu, op);
	if (op->ip_check && !op->name_check)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot do IP address check without a name "
				 "check");
	if (!op->name_check)
		return 0;
	if (!str_valid_hostname(c->name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid instance name '%s'", c->name);
	if (inst_resolve(lu, c->name, &whole, &c->ip, err) < 0)
		return -1;
	if (config_find_reserved(lu->m->config, c->name, lu->job_id) == NULL)
		c->name = lu_keep_str(lu, spec_lowered(whole));
	return 0;
}

static int choose_placement(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	const char *fallback = cluster_default_iallocator_or(
		config_cluster(lu->m->config), NULL);

	c->iallocator = op->iallocator;
	if (c->iallocator != NULL && op->pnode != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give either a node or an iallocator, not "
				 "both");
	if (op->explain && op->pnode != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There is nothing to explain where the node "
				 "is given");
	if (op->group_name != NULL &&
	    config_expect(lu->m->config, CONFIG_GROUP, op->group_name, err) ==
		    NULL)
		return -1;
	if (op->pnode != NULL)
		return 0;
	if (c->iallocator == NULL || strcmp(c->iallocator, ".") == 0)
		c->iallocator = fallback == NULL
					? ""
					: lu_keep_str(lu, xstrdup(fallback));
	if (*c->iallocator == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No node and no iallocator given (-n or -I), "
				 "and the cluster has no default iallocator");
	return 0;
}

static int create_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	const char *name = spec_name(lu, op);

	c->imports = strcmp(op->mode, "import") == 0;
	c->receives = strcmp(op->mode, "remote-import") == 0;
	c->commits = op->commit;
	if ((!c->commits && choose_placement(lu, err) < 0) ||
	    (c->imports && import_expand(lu, op, err) < 0))
		return -1;
	lu_want_new(lu, LOCK_INSTANCE, name);
	c->booked =
		config_find_reserved(lu->m->config, name, lu->job_id) != NULL;
	if (c->booked || c->commits)
		return 0; /* the room is ours already */
	if (c->iallocator != NULL && op->explain) {
		lu_want_all(lu, LOCK_NODE_RES, false);
		return 0;
	}
	if (c->iallocator != NULL)
		return instance_place_want_nodes(lu, op->opportunistic_locking,
						 op->disk_template, err);
	if (instance_place_named_nodes(lu, op, &c->nodes, err) < 0)
		return -1;
	lu_want(lu, LOCK_NODE_RES, c->nodes.primary, true);
	if (c->nodes.secondary != NULL)
		lu_want(lu, LOCK_NODE_RES, c->nodes.secondary, true);
	return 0;
}

/* --- check --- */

static int check_name(struct lu *lu, struct error *err)
{
	const char *name = create_of(lu)->spec.name;

	if (inst_check_name_is_free(lu, name, err) < 0)
		return -1;
	if (reserve_name(lu->m->reserve, lu->job_id, name, err) < 0)
		return error_as(err, ERR_PREREQ, ECODE_EXISTS);
	return 0;
}

static json_t *placement_request(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	json_t *request = spec_request(lu, &create_of(lu)->spec, err);

	if (request != NULL && op->opportunistic_locking)
		json_object_set_new(request, "restrict-to-nodes",
				    instance_place_nodes(lu));
	if (request != NULL && op->ignore_ipolicy)
		json_set_bool(request, "ignore_ipolicy", true);
	return request;
}

/* An allocator's "FailMem" does not tell that the policy forbids the instance,
 * so say it. */
static void tell_policy(struct lu *lu, struct error *err)
{
	auto_free char *text = NULL;
	struct error why = *err;

	if (create_op(lu)->ignore_ipolicy || !str_eq(err->ecode, ECODE_NORES))
		return;
	text = spec_forbidden(lu, &create_of(lu)->spec);
	if (text != NULL)
		error_set(err, why.kind, why.ecode, "%s; %s", why.text, text);
}

static WAITS int run_iallocator(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	json_t *request = placement_request(lu, err);
	auto_json json_t *nodes =
		request == NULL ? NULL
				: lu_allocator(lu, request,
					       (struct iallocator_how){
						       .name = c->iallocator,
						       .disk_template =
							       c->spec.template,
					       },
					       err);
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;

	if (nodes == NULL) {
		tell_policy(lu, err);
		if (op->opportunistic_locking &&
		    str_eq(err->ecode, ECODE_NORES))
			err->ecode = ECODE_TEMP_NORES; /* busy nodes */
		return -1;
	}
	if (instance_place_chosen_nodes(lu, c->iallocator, c->spec.template,
					nodes, &c->nodes, err) < 0)
		return -1;
	json_to_strv(nodes, &names);
	text = strv_join(&names, ", ");
	lu_info(lu, "Selected nodes for instance %s via iallocator %s: %s",
		c->spec.name, c->iallocator, text);
	return 0;
}

/* Choose a node and book the resources; except in a dry run the booking is
 * recorded, so that other jobs can choose while this one goes on. */
static WAITS int book(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);

	uuid_new(c->uuid);
	if (c->iallocator != NULL && run_iallocator(lu, err) < 0)
		return -1;
	if (adopt_find(lu, &c->spec, c->nodes.primary, err) < 0 ||
	    spec_reserve_addresses(lu, create_op(lu), &c->spec,
				   c->nodes.primary, err) < 0 ||
	    instance_place_check_room(lu, create_op(lu), &c->spec, &c->nodes,
				      err) < 0)
		return -1;
	if (lu->common.dry_run)
		return 0;
	if (spec_reserve_port(lu, &c->spec, err) < 0 ||
	    instance_place_check_capacity(lu, create_op(lu), &c->spec,
					  &c->nodes, err) < 0 ||
	    spec_link_nics(lu, &c->spec, c->nodes.primary, err) < 0 ||
	    booking_put(lu, create_op(lu), &c->spec, c->uuid, &c->nodes, err) <
		    0)
		return -1;
	c->recorded = true;
	lu_release(lu, LOCK_NODE_RES);
	return config_commit(lu->m->config, err);
}

/* UUID, or NULL. */
static const char *booked_secondary(struct lu *lu, const json_t *inst)
{
	auto_strv struct strv others = {0};

	config_instance_secondaries(lu->m->config, inst, &others);
	return others.n == 0 ? NULL : lu_keep_str(lu, xstrdup(others.items[0]));
}

/* Continue with an instance that is booked already: by a bulk creation for this
 * job, or as a forthcoming one. */
static void take_over(struct lu *lu, const json_t *inst)
{
	struct create *c = create_of(lu);

	snprintf(c->uuid, sizeof(c->uuid), "%s", inst_uuid(inst));
	c->nodes = (struct inst_nodes){
		.primary = inst_primary_node(lu_keep(lu, inst)),
		.secondary = booked_secondary(lu, inst),
	};
	json_decref(c->spec.nics);
	c->spec.nics = json_ref(inst_nics(inst));
	c->recorded = c->booked;
}

/* --explain: ask the allocator and return its reasons; nothing is created. */
static WAITS int explain(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);
	auto_json json_t *request = placement_request(lu, err);

	if (request == NULL)
		return -1;
	lu->answer = lu_allocator_explain(lu, request, c->iallocator,
					  c->spec.template, err);
	return lu->answer == NULL ? -1 : 0;
}

json_t *create_node_names(struct lu *lu)
{
	const struct inst_nodes *nodes = &create_of(lu)->nodes;
	json_t *names = json_make("[s]", lu_node_name(lu, nodes->primary));

	if (nodes->secondary != NULL)
		json_array_append_new(
			names, json_string(lu_node_name(lu, nodes->secondary)));
	return names;
}

/* The name must be free, or belong to what is booked for this job. */
static int take_name(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);
	struct config *config = lu->m->config;
	const json_t *inst =
		c->commits ? booking_planned(config, &c->spec, err)
			   : config_find_reserved(config, c->spec.name,
						  lu->job_id);

	if (inst != NULL)
		take_over(lu, inst);
	else if (c->commits || check_name(lu, err) < 0)
		return -1;
	return 0;
}

static WAITS int claim(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);

	if (lu->common.dry_run)
		return 0;
	if (spec_reserve_port(lu, &c->spec, err) < 0)
		return -1;
	booking_claim(lu, &c->spec, c->uuid);
	c->recorded = true;
	return config_commit(lu->m->config, err);
}

static WAITS int create_check(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = lu->op;
	struct create *c = create_of(lu);

	if ((c->imports && import_read(lu, op, &c->import, err) < 0) ||
	    (c->receives && receive_check(lu, op, &c->receive, err) < 0))
		return -1;
	op = create_op(lu);
	if (op->no_install == 1 && op->start)
		lu_info(lu, "No-installation mode selected, disabling startup");
	c->spec.name = c->name;
	c->spec.ip = c->ip;
	if (spec_read(lu, op, &c->spec, err) < 0)
		return -1;
	if (take_name(lu, err) < 0)
		return -1;
	if (op->ip_check && inst_check_ip(lu, c->name, c->ip, err) < 0)
		return -1;
	if (op->explain)
		return explain(lu, err);
	if (c->commits ? claim(lu, err) < 0 : !c->booked && book(lu, err) < 0)
		return -1;
	lu->dry_run_result = create_node_names(lu);
	if (instance_place_check_host(lu, op, &c->spec, &c->nodes, err) < 0)
		return -1;
	if ((c->imports || c->receives) && c->spec.os != NULL &&
	    inst_check_os_supports(lu, c->nodes.primary, c->spec.os, NULL,
				   "import", true, err) < 0)
		return -1;
	return c->imports || c->receives || op->forthcoming
		       ? 0
		       : install_check(lu, op, &c->spec, c->nodes.primary,
				       &c->install, err);
}

/* --- hooks --- */

/* What it will have of storage: hooks are told the same before and after, so
 * the sizes of disks, but not where they are. */
static void storage_env(struct lu *lu, json_t *env)
{
	const struct create *c = create_of(lu);
	const json_t *disks = c->spec.disks;
	auto_free char *count = xprintf("%zu", json_array_size(disks));

	for (size_t i = 0; i < json_array_size(disks); i++)
		inst_env_disk(i, json_array_get(disks, i), env);
	json_set_str(env, "INSTANCE_DISK_COUNT", count);
	json_set_str(env, "INSTANCE_DISK_TEMPLATE", c->spec.template);
	json_set_str(env, "INSTANCE_SECONDARIES",
		     c->nodes.secondary == NULL
			     ? ""
			     : lu_node_name(lu, c->nodes.secondary));
}

static void create_hook_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	auto_json json_t *inst =
		booking_object(&c->spec, c->uuid, c->nodes.primary, op->start);

	inst_hook_env(lu, inst, ret_env);
	storage_env(lu, ret_env);
	json_set_str(ret_env, "ADD_MODE", c->imports ? "import" : op->mode);
	if (c->imports)
		import_env(lu, &c->import, ret_env);
	json_set_str(ret_env, "INSTANCE_STATUS",
		     op->start && op->no_install != 1 ? "True" : "False");
}

static void create_hook_nodes(struct lu *lu, struct strv *ret_pre,
			      struct strv *ret_post)
{
	const char *master = node_uuid(config_master(lu->m->config));

	const struct inst_nodes *nodes = &create_of(lu)->nodes;

	strv_add_unique(ret_pre, master);
	strv_add_unique(ret_pre, nodes->primary);
	if (nodes->secondary != NULL)
		strv_add_unique(ret_pre, nodes->secondary);
	for (size_t i = 0; i < ret_pre->n; i++)
		strv_add_unique(ret_post, ret_pre->items[i]);
}

static void create_done(struct lu *lu)
{
	spec_done(&create_of(lu)->spec);
	import_done(&create_of(lu)->import);
	receive_done(&create_of(lu)->receive);
}

const struct lu_class lu_instance_create = {
	.op = &op_class_instance_create,
	.size = sizeof(struct create),
	.hook_path = "instance-add",
	.object_type = "INSTANCE",
	.complete = spec_complete,
	.arguments = create_arguments,
	.expand = create_expand,
	.check = create_check,
	.hook_env = create_hook_env,
	.hook_nodes = create_hook_nodes,
	.exec = create_exec,
	.undo = create_undo,
	.done = create_done,
};
