/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks are in two groups.  instance_place_check_room() depends on other
 * jobs: it looks at each node, then at memory, ratios and the whole group.
 * instance_place_check_host() (OS, hypervisor, bridges) does not, so it needs
 * no lock of the nodes' resources. */
#include "masterd/lu/spec/instance_place.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/resources/capacity.h"
#include "masterd/resources/resources.h"

/* --- locks --- */

const char *instance_place_template(const struct lu *lu, const char *given)
{
	const json_t *enabled =
		cluster_enabled_disk_templates(config_cluster(lu->m->config));

	return given != NULL ? given
			     : json_string_value(json_array_get(enabled, 0));
}

/* Nobody holds the lock of one that does not: it would count as free. */
static bool takes_instances(const json_t *node)
{
	return node_vm_capable(node) && !node_offline(node) &&
	       !node_drained(node);
}

int instance_place_want_nodes(struct lu *lu, bool opportunistic,
			      const char *given, struct error *err)
{
	const char *template = instance_place_template(lu, given);
	const unsigned needed = (unsigned)iallocator_required_nodes(template);
	const char *uuid;
	unsigned group = 0;
	json_t *node;

	if (!opportunistic) {
		lu_want_all(lu, LOCK_NODE_RES, true);
		return 0;
	}
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node)
		if (takes_instances(node))
			lu_want_free(lu, LOCK_NODE_RES, uuid, true, ++group);
	/* It would wait for ever. */
	if (group < needed)
		return error_set(err, ERR_PREREQ, ECODE_NORES,
				 "An instance with the disk template %s needs "
				 "%u nodes, and the cluster has %u that can "
				 "take one",
				 template, needed, group);
	lu_want_at_least(lu, needed);
	return 0;
}

json_t *instance_place_nodes(struct lu *lu)
{
	json_t *names = json_array(), *node;
	const char *uuid;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_NODE)), uuid,
		node)
		if (lu_has(lu, LOCK_NODE_RES, uuid))
			json_array_append_new(names,
					      json_string(node_name(node)));
	return names;
}

static int check_held(struct lu *lu, const char *iallocator, const char *node,
		      struct error *err)
{
	if (lu_has(lu, LOCK_NODE_RES, NULL) || lu_has(lu, LOCK_NODE_RES, node))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "Iallocator %s chose node %s, which was not among "
			 "those that were free",
			 iallocator, lu_node_name(lu, node));
}

/* --- which nodes --- */

static int named_secondary(struct lu *lu, const struct op_instance_create *op,
			   struct inst_nodes *ret, struct error *err)
{
	const json_t *node;

	if (op->snode == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The networked disk templates need a mirror "
				 "node");
	node = lu_node(lu, op->snode, err);
	if (node == NULL)
		return -1;
	ret->secondary = node_uuid(node);
	if (strcmp(ret->primary, ret->secondary) != 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The secondary node cannot be the primary node");
}

int instance_place_named_nodes(struct lu *lu,
			       const struct op_instance_create *op,
			       struct inst_nodes *ret, struct error *err)
{
	const json_t *node = lu_node(lu, op->pnode, err);
	const char *template = instance_place_template(lu, op->disk_template);

	if (node == NULL)
		return -1;
	*ret = (struct inst_nodes){.primary = node_uuid(node)};
	if (iallocator_required_nodes(template) > 1)
		return named_secondary(lu, op, ret, err);
	if (op->snode == NULL)
		return 0;
	if (lu_node(lu, op->snode, err) == NULL)
		return -1;
	lu_warn(lu, "Secondary node will be ignored on non-mirrored disk "
		    "template");
	return 0;
}

static const char *chosen(struct lu *lu, const char *iallocator,
			  const char *name, struct error *err)
{
	const json_t *node = name == NULL ? NULL : lu_node(lu, name, err);
	const char *uuid = node_uuid(node);

	if (node != NULL)
		return check_held(lu, iallocator, uuid, err) < 0 ? NULL : uuid;
	error_set(err, ERR_EXEC, NULL,
		  "Iallocator %s answered with no known node", iallocator);
	return NULL;
}

int instance_place_chosen_nodes(struct lu *lu, const char *iallocator,
				const char *template, const json_t *names,
				struct inst_nodes *ret, struct error *err)
{
	*ret = (struct inst_nodes){0};
	ret->primary = chosen(lu, iallocator,
			      json_string_value(json_array_get(names, 0)), err);
	if (ret->primary == NULL || iallocator_required_nodes(template) < 2)
		return ret->primary == NULL ? -1 : 0;
	ret->secondary =
		chosen(lu, iallocator,
		       json_string_value(json_array_get(names, 1)), err);
	return ret->secondary == NULL ? -1 : 0;
}

/* --- checks --- */

static WAITS int check_os(struct lu *lu, const struct op_instance_create *op,
			  const struct inst_spec *s, const char *pnode,
			  struct error *err)
{
	if (s->os == NULL)
		return 0;
	if (inst_check_os(lu, pnode, s->os,
			  &(struct params_os){s->osparams, s->osparams_private,
					      s->osparams_secret},
			  op->force_variant, err) < 0)
		return -1;
	return inst_check_os_supports(lu, pnode, s->os, s->hypervisor, NULL,
				      true, err);
}

static WAITS int check_hypervisor(struct lu *lu, const struct inst_spec *s,
				  const char *pnode, struct error *err)
{
	auto_json json_t *answer =
		lu_call(lu, pnode,
			rpc_hypervisor_validate_params(s->hypervisor,
						       json_ref(s->filled_hv)),
			err);

	if (answer != NULL)
		return 0;
	if (inst_silent(lu, pnode, "the parameters of the hypervisor", err))
		return -1;
	lu_not_valid(err);
	return error_wrap(err, "Hypervisor parameter validation failed");
}

static WAITS int check_memory(struct lu *lu,
			      const struct op_instance_create *op,
			      const struct inst_spec *s, const char *pnode,
			      struct error *err)
{
	auto_free char *why = xprintf("creating instance %s", s->name);
	bool starts = op->start && op->no_install != 1;
	int64_t max = be_maxmem(s->filled_be);

	return lu_check_memory(
		lu,
		&(struct memory_need){.node = pnode,
				      .reason = why,
				      .hypervisor = s->hypervisor,
				      .min = be_minmem(s->filled_be),
				      .max = op->ignore_ipolicy ? 0 : max,
				      .spare_reserve = !op->ignore_ipolicy,
				      .live = starts ? max : 0},
		err);
}

/* The secondary has to be able to take over when the primary is lost. */
static int check_reserve(struct lu *lu, const struct op_instance_create *op,
			 const struct inst_spec *s,
			 const struct inst_nodes *nodes, struct error *err)
{
	auto_free char *why = xprintf("creating instance %s", s->name);

	if (op->ignore_ipolicy || nodes->secondary == NULL ||
	    !be_auto_balance(s->filled_be))
		return 0;
	return lu_check_reserve(lu, nodes->secondary, nodes->primary,
				be_minmem(s->filled_be), why, err);
}

/* Report a full file system before anything is made. */
static WAITS int check_space(struct lu *lu, const struct inst_spec *s,
			     const char *pnode, struct error *err)
{
	return lu_check_space(lu, pnode, s->template,
			      resources_disk_sum(s->disks, s->template), err);
}

static int check_ratios(struct lu *lu, const struct op_instance_create *op,
			const struct inst_spec *s,
			const struct inst_nodes *nodes, struct error *err)
{
	auto_free char *why = xprintf("creating instance %s", s->name);

	if (op->ignore_ipolicy)
		return 0;
	return lu_check_ratios(
		lu,
		&(struct ratio_need){
			.primary = nodes->primary,
			.secondary = nodes->secondary,
			.reason = why,
			.vcpus = be_vcpus(s->filled_be),
			.spindles = lu_spindles(s->template, s->filled_be)},
		err);
}

/* Disks have spindles of their own only as volumes of one node; only there, and
 * always there, they are specified. */
static int check_spindles(struct lu *lu, const struct inst_spec *s,
			  const char *node, struct error *err)
{
	bool exclusive = resources_exclusive(
		lu->m->config, config_get(lu->m->config, CONFIG_NODE, node));

	if (exclusive && !template_get(s->template)->exclusive)
		return error_set(
			err, ERR_PREREQ, ECODE_STATE,
			"Disk template %s not supported with exclusive "
			"storage",
			s->template);
	for (size_t i = 0; i < json_array_size(s->disks); i++)
		if (disks_check_spindles(json_array_get(s->disks, i), exclusive,
					 true, err) < 0)
			return -1;
	return 0;
}

/* Who names a group and nodes may contradict himself; and an allocator need not
 * listen.  What holds for a group alone, as a token of the remote API may, must
 * not end elsewhere. */
static int check_group(struct lu *lu, const char *group, const char *node,
		       struct error *err)
{
	const json_t *wanted =
		group == NULL ? NULL
			      : config_find(lu->m->config, CONFIG_GROUP, group);

	if (wanted == NULL || node == NULL ||
	    str_eq(node_group(config_get(lu->m->config, CONFIG_NODE, node)),
		   group_uuid(wanted)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Node %s is not in node group %s, where the instance "
			 "shall be",
			 lu_node_name(lu, node), group_name(wanted));
}

/* What depends on the group of the nodes, which another job may change. */
static int check_home(struct lu *lu, const struct op_instance_create *op,
		      const struct inst_spec *s, const struct inst_nodes *nodes,
		      struct error *err)
{
	if (check_group(lu, op->group_name, nodes->primary, err) < 0 ||
	    check_group(lu, op->group_name, nodes->secondary, err) < 0 ||
	    check_spindles(lu, s, nodes->primary, err) < 0 ||
	    (nodes->secondary != NULL &&
	     check_spindles(lu, s, nodes->secondary, err) < 0))
		return -1;
	return op->ignore_ipolicy
		       ? 0
		       : spec_check_policy(lu, s, nodes->primary, err);
}

int instance_place_check_capacity(struct lu *lu,
				  const struct op_instance_create *op,
				  const struct inst_spec *s,
				  const struct inst_nodes *nodes,
				  struct error *err)
{
	const struct capacity_new new = {
		.uuid = "",
		.name = s->name,
		.template = s->template,
		.node = nodes->primary,
		.secondary = nodes->secondary,
		.memory = be_minmem(s->filled_be),
		.vcpus = be_vcpus(s->filled_be),
		.moves = be_auto_balance(s->filled_be),
	};
	struct node_disk disk;

	/* Storage that nodes share is also booked by jobs on other nodes. */
	resources_disk(lu->m->config, nodes->primary, s->template, &disk);
	if ((disk.recorded && check_space(lu, s, nodes->primary, err) < 0) ||
	    check_home(lu, op, s, nodes, err) < 0)
		return -1;
	return op->ignore_ipolicy
		       ? 0
		       : capacity_check_new(lu->m->config, &new, err);
}

static WAITS int check_node(struct lu *lu, const struct inst_spec *s,
			    const char *node, struct error *err)
{
	if (inst_check_node(lu, node, true, err) < 0)
		return -1;
	return check_space(lu, s, node, err);
}

int instance_place_check_room(struct lu *lu,
			      const struct op_instance_create *op,
			      const struct inst_spec *s,
			      const struct inst_nodes *nodes, struct error *err)
{
	const char *primary = nodes->primary;

	if (check_node(lu, s, primary, err) < 0 ||
	    (nodes->secondary != NULL &&
	     check_node(lu, s, nodes->secondary, err) < 0) ||
	    check_home(lu, op, s, nodes, err) < 0 ||
	    check_memory(lu, op, s, primary, err) < 0 ||
	    check_reserve(lu, op, s, nodes, err) < 0 ||
	    check_ratios(lu, op, s, nodes, err) < 0)
		return -1;
	if (nodes->secondary != NULL)
		inst_warn_of_split(lu, primary, nodes->secondary);
	return instance_place_check_capacity(lu, op, s, nodes, err);
}

static WAITS int check_host(struct lu *lu, const struct op_instance_create *op,
			    const struct inst_spec *s, const char *node,
			    struct error *err)
{
	return check_os(lu, op, s, node, err) < 0
		       ? -1
		       : check_hypervisor(lu, s, node, err);
}

int instance_place_check_host(struct lu *lu,
			      const struct op_instance_create *op,
			      const struct inst_spec *s,
			      const struct inst_nodes *nodes, struct error *err)
{
	if (check_host(lu, op, s, nodes->primary, err) < 0 ||
	    (nodes->secondary != NULL &&
	     check_host(lu, op, s, nodes->secondary, err) < 0))
		return -1;
	return inst_check_bridges(lu, s->nics, nodes->primary, err);
}
