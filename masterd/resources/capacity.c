/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns a group of the configuration into the numbers that survive() takes,
 * with nodes and instances known by their index, and its answer back into
 * names.  Instances that are offline are left out.  An instance that is about
 * to change counts with its new numbers only. */
#include "masterd/resources/capacity.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/survive.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/resources/resources.h"

/* So many names are in a message; more would not help anybody. */
#define NAMES_MAX 10

struct capacity {
	const struct config *config;
	const json_t *group, *policy;
	const struct capacity_new *new; /* or NULL */
	struct strv uuids;		/* of nodes, by index */
	struct strv names;		/* of instances, by index */
	struct survive_node *nodes;
	struct survive_instance *instances;
	size_t cap; /* of instances */
};

static void capacity_done(struct capacity *k)
{
	strv_done(&k->uuids);
	strv_done(&k->names);
	free(k->nodes);
	free(k->instances);
}

static size_t index_of(const struct capacity *k, const char *uuid)
{
	for (size_t i = 0; i < k->uuids.n; i++)
		if (str_eq(k->uuids.items[i], uuid))
			return i;
	return SURVIVE_NOWHERE;
}

/* Where an instance could be started if its node is lost. */
static size_t refuge(const struct capacity *k, const char *template,
		     const char *secondary, bool moves)
{
	if (!moves)
		return SURVIVE_NOWHERE;
	if (secondary != NULL)
		return index_of(k, secondary);
	return template_is_everywhere(template) ? SURVIVE_ANYWHERE
						: SURVIVE_NOWHERE;
}

static void add(struct capacity *k, const char *name,
		struct survive_instance inst)
{
	if (k->names.n == k->cap) {
		k->cap = k->cap == 0 ? 64 : 2 * k->cap;
		k->instances =
			xrealloc(k->instances, k->cap * sizeof(*k->instances));
	}
	k->instances[k->names.n] = inst;
	strv_add(&k->names, name);
}

static void add_instance(struct capacity *k, const json_t *inst, size_t node)
{
	auto_json json_t *be =
		params_fill_be(config_cluster(k->config), inst_beparams(inst));
	auto_strv struct strv secondaries = {0};

	if (str_eq(inst_admin_state(inst), "offline") ||
	    (k->new != NULL &&str_eq(k->new->uuid, inst_uuid(inst))))
		return;
	config_instance_secondaries(k->config, inst, &secondaries);
	add(k, inst_name(inst),
	    (struct survive_instance){
		    .memory = be_minmem(be),
		    .vcpus = be_vcpus(be),
		    .node = node,
		    .secondary = refuge(
			    k, config_instance_template(k->config, inst),
			    secondaries.n > 0 ? secondaries.items[0] : NULL,
			    be_auto_balance(be))});
}

static int add_node(struct capacity *k, size_t i, struct error *err)
{
	const char *uuid = k->uuids.items[i];
	const json_t *node = config_get(k->config, CONFIG_NODE, uuid);
	double ratio = ipolicy_vcpu_ratio_or(k->policy, 1.0);
	struct node_memory m;

	resources_memory(k->config, uuid, NULL, &m);
	k->nodes[i] = (struct survive_node){
		.memory = resources_mem_capacity(&m),
		.vcpus = (double)m.cpu_total * ratio - (double)m.cpu_node,
		.lost = node_offline(node),
		.closed = node_drained(node) || !node_vm_capable(node),
	};
	if (m.recorded || k->nodes[i].lost || !node_vm_capable(node))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "The policy of group %s lets it survive node failures "
			 "(max-node-failures), but the resources of node %s "
			 "are not recorded; gnt-node refresh-state does it",
			 group_name(k->group), node_name(node));
}

static int gather(struct capacity *k, struct error *err)
{
	config_group_nodes(k->config, group_uuid(k->group), &k->uuids);
	k->nodes = xcalloc(k->uuids.n + 1, sizeof(*k->nodes));
	for (size_t i = 0; i < k->uuids.n; i++)
		if (add_node(k, i, err) < 0)
			return -1;
	for (size_t i = 0; i < k->uuids.n; i++) {
		auto_strv struct strv primaries = {0};

		config_node_primaries(k->config, k->uuids.items[i], &primaries);
		for (size_t n = 0; n < primaries.n; n++)
			add_instance(k,
				     config_get(k->config, CONFIG_INSTANCE,
						primaries.items[n]),
				     i);
	}
	if (k->new != NULL)
		add(k, k->new->name,
		    (struct survive_instance){
			    .memory = k->new->memory,
			    .vcpus = k->new->vcpus,
			    .node = index_of(k, k->new->node),
			    .secondary =
				    refuge(k, k->new->template,
					   k->new->secondary, k->new->moves)});
	return 0;
}

static char *lost_names(const struct capacity *k,
			const struct survive_loss *loss)
{
	auto_strv struct strv names = {0};

	for (size_t i = 0; i < loss->n_nodes; i++)
		strv_add(&names, config_name(k->config, CONFIG_NODE,
					     k->uuids.items[loss->nodes[i]]));
	return strv_join(&names, ", ");
}

static char *homeless_names(const struct capacity *k,
			    const struct survive_loss *loss)
{
	auto_strv struct strv names = {0};

	for (size_t i = 0; i < k->names.n && names.n < NAMES_MAX; i++)
		if (loss->homeless[i])
			strv_add(&names, k->names.items[i]);
	if (loss->n_homeless > names.n)
		strv_addf(&names, "and %zu more", loss->n_homeless - names.n);
	return strv_join(&names, ", ");
}

static int explain(const struct capacity *k, int64_t failures,
		   const struct survive_loss *loss, struct error *err)
{
	auto_free char *lost = lost_names(k, loss);
	auto_free char *homeless = homeless_names(k, loss);

	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "group %s would not survive %jd node failures "
			 "(max-node-failures): without %s there is no place "
			 "(memory or CPUs) for %s",
			 group_name(k->group), (intmax_t)failures,
			 loss->n_nodes == 0 ? "its offline nodes" : lost,
			 homeless);
}

static int check(const struct config *c, const json_t *group,
		 const struct capacity_new *new, struct error *err)
{
	__attribute__((cleanup(capacity_done))) struct capacity k = {
		.config = c, .group = group, .new = new};
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(c), group);
	int64_t failures = params_max_node_failures(policy);
	auto_free bool *homeless = NULL;
	struct survive_group numbers;
	struct survive_loss loss;

	if (failures == 0)
		return 0;
	k.policy = policy;
	if (gather(&k, err) < 0)
		return -1;
	numbers = (struct survive_group){.nodes = k.nodes,
					 .n_nodes = k.uuids.n,
					 .instances = k.instances,
					 .n_instances = k.names.n};
	homeless = xcalloc(k.names.n + 1, sizeof(*homeless));
	loss = (struct survive_loss){.homeless = homeless};
	if (survive(&numbers, (size_t)failures, &loss))
		return 0;
	return explain(&k, failures, &loss, err);
}

int capacity_check_new(const struct config *c, const struct capacity_new *new,
		       struct error *err)
{
	const json_t *node = config_get(c, CONFIG_NODE, new->node);

	if (check(c, config_get(c, CONFIG_GROUP, node_group(node)), new, err) <
	    0)
		return error_wrap(err, "With instance %s on node %s", new->name,
				  node_name(node));
	return 0;
}

int capacity_check_group(const struct config *c, const char *group_uuid,
			 struct error *err)
{
	return check(c, config_get(c, CONFIG_GROUP, group_uuid), NULL, err);
}
