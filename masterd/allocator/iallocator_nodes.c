/* SPDX-License-Identifier: BSD-2-Clause */
/* What an allocator is told of the nodes: asked for, as values, and as a part
 * of the message.
 *
 * Their resources come from the configuration where they are recorded; such a
 * node is only asked whether it is alive, and not even that if it has just
 * answered something.  One with exclusive storage is asked for its spindles,
 * which are never recorded; all else that it has comes from the record, too, as
 * the checks of the jobs go by that.  A node whose resources are not recorded
 * is asked for them.  A node that does not answer is shown as offline: it gets
 * no instance, and the other nodes can be used. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator_nodes.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/resources/resources.h"
#include "masterd/resources/running.h"
#include "masterd/rpc/noderpc.h"

/* What is known of one node. */
struct node_data {
	bool recorded;		 /* alive; its resources are recorded */
	const json_t *info;	 /* node_info: [boot id, storage, hypervisors];
				  * of a recorded node storage only, or NULL */
	const json_t *instances; /* all_instances_info: {name: {...}} */
};

struct iallocator_nodes {
	struct master *m;
	char *hypervisor, *template; /* copies, as the call waits */
	int64_t heard_since_us;
	struct node_result *signs, *spindles; /* of nodes with a record */
	size_t n_signs, n_spindles;
	struct node_result *info, *instances; /* of those without */
	size_t n;
	struct table by_uuid; /* of struct node_data */
};

/* --- asking the nodes --- */

static json_t *filled_nd(const struct master *m, const json_t *node)
{
	const json_t *group =
		config_get(m->config, CONFIG_GROUP, node_group(node));

	return params_fill_nd(config_cluster(m->config), group, node);
}

/* Whether all that this request needs of the node is recorded. */
static bool is_recorded(const struct iallocator_nodes *g, const json_t *node)
{
	return resources_recorded(g->m->config, node_uuid(node), g->hypervisor,
				  g->template);
}

/* Whether the node counts spindles, and the request needs some. */
static bool counts_spindles(const struct iallocator_nodes *g,
			    const json_t *node)
{
	return template_is_on_volumes(g->template) &&
	       resources_exclusive(g->m->config, node);
}

static json_t *units(const struct iallocator_nodes *g, const json_t *node)
{
	return resources_units(config_cluster(g->m->config), g->template,
			       resources_exclusive(g->m->config, node));
}

static struct rpc_request info_request(const struct iallocator_nodes *g,
				       const json_t *node)
{
	const json_t *cluster = config_cluster(g->m->config);
	json_t *hvparams = params_fill_hv(cluster, g->hypervisor, NULL, NULL);

	return rpc_node_info(
		units(g, node),
		json_make("[[s, o]]", g->hypervisor,
			  hvparams == NULL ? json_object() : hvparams));
}

static bool is_live(const json_t *node)
{
	return !node_offline(node) && node_vm_capable(node);
}

void iallocator_nodes_free(struct iallocator_nodes *g)
{
	if (g == NULL)
		return;
	table_done(&g->by_uuid, free);
	node_results_free(g->signs, g->n_signs);
	node_results_free(g->spindles, g->n_spindles);
	node_results_free(g->info, g->n);
	node_results_free(g->instances, g->n);
	free(g->hypervisor);
	free(g->template);
	free(g);
}

static void add_data(struct iallocator_nodes *g, const json_t *node,
		     const struct error *err, const struct node_data *data)
{
	struct node_data *copy;

	if (err != NULL) {
		log_warning("The allocator is told that node %s is offline: %s",
			    node_name(node), err->text);
		return;
	}
	copy = xalloc(sizeof(*copy));
	*copy = *data;
	free(table_put(&g->by_uuid, node_uuid(node), copy));
}

static void choose_sign(struct iallocator_nodes *g, json_t *node)
{
	if (noderpc_heard_since(g->m->rpc, node, g->heard_since_us))
		add_data(g, node, NULL, &(struct node_data){.recorded = true});
	else
		g->signs[g->n_signs++].node = json_incref(node);
}

static void choose_recorded(struct iallocator_nodes *g, json_t *node)
{
	struct node_result *call;

	if (!counts_spindles(g, node)) {
		choose_sign(g, node);
		return;
	}
	call = &g->spindles[g->n_spindles++];
	call->own = rpc_node_info(units(g, node), json_array());
	call->node = json_incref(node);
}

static void choose_calls(struct iallocator_nodes *g)
{
	auto_strv struct strv uuids = {0};

	config_sorted(g->m->config, CONFIG_NODE, &uuids);
	g->signs = node_results_new(uuids.n);
	g->spindles = node_results_new(uuids.n);
	g->info = node_results_new(uuids.n);
	g->instances = node_results_new(uuids.n);
	for (size_t i = 0; i < uuids.n; i++) {
		json_t *node = json_unconst(
			config_get(g->m->config, CONFIG_NODE, uuids.items[i]));

		if (!is_live(node))
			continue;
		if (is_recorded(g, node)) {
			choose_recorded(g, node);
			continue;
		}
		g->info[g->n].own = info_request(g, node);
		g->info[g->n].node = json_incref(node);
		g->instances[g->n++].node = json_incref(node);
	}
}

/* Ask all online nodes that run instances. */
static WAITS void gather(struct iallocator_nodes *g)
{
	choose_calls(g);
	noderpc_look_many(g->m->rpc, g->signs, g->n_signs, rpc_version());
	noderpc_look_each(g->m->rpc, g->spindles, g->n_spindles);
	noderpc_look_each(g->m->rpc, g->info, g->n);
	running_look(g->m->rpc, g->m->config, g->instances, g->n);
	for (size_t i = 0; i < g->n_signs; i++)
		add_data(g, g->signs[i].node, g->signs[i].err,
			 &(struct node_data){.recorded = true});
	for (size_t i = 0; i < g->n_spindles; i++)
		add_data(g, g->spindles[i].node, g->spindles[i].err,
			 &(struct node_data){.recorded = true,
					     .info = g->spindles[i].payload});
	for (size_t i = 0; i < g->n; i++)
		add_data(g, g->info[i].node,
			 g->info[i].err != NULL ? g->info[i].err
						: g->instances[i].err,
			 &(struct node_data){.info = g->info[i].payload,
					     .instances =
						     g->instances[i].payload});
}

/* --- nodes --- */

/* Sum up the memory of the node's primary instances: of all, and of those that
 * are up.  Returns how much more the latter may take of the memory that is free
 * now. */
static int64_t sum_memory(struct master *m, const char *uuid,
			  const struct node_data *data,
			  struct iallocator_live *ret)
{
	const json_t *cluster = config_cluster(m->config);
	int64_t missing = 0;
	auto_strv struct strv primaries = {0};

	config_node_primaries(m->config, uuid, &primaries);
	for (size_t i = 0; i < primaries.n; i++) {
		const json_t *inst = config_get(m->config, CONFIG_INSTANCE,
						primaries.items[i]);
		auto_json json_t *be =
			params_fill_be(cluster, inst_beparams(inst));
		int64_t memory = be_maxmem(be);
		int64_t used =
			json_int(json_get(data->instances, inst_name(inst)),
				 "memory", 0);

		ret->instances_memory += memory;
		if (!str_eq(inst_admin_state(inst), "up"))
			continue;
		ret->running_memory += memory;
		if (used < memory)
			missing += memory - used;
	}
	return missing;
}

/* The storage unit that counts spindles (lvm-pv), or the one that counts
 * space. */
static const json_t *find_unit(const json_t *units, bool spindles)
{
	size_t i;
	json_t *unit;

	json_array_foreach (units, i, unit)
		if (str_eq(json_str(unit, "type", ""), "lvm-pv") == spindles)
			return unit;
	return NULL;
}

static int64_t not_negative(int64_t n)
{
	return n > 0 ? n : 0;
}

/* The node does not know of disks that are not made yet. */
static void read_spindles(const struct master *m, const char *uuid,
			  const struct node_data *data,
			  struct iallocator_live *ret)
{
	const json_t *unit = find_unit(json_array_get(data->info, 1), true);

	if (unit == NULL)
		return;
	ret->total_spindles = json_int(unit, "storage_size", 0);
	ret->free_spindles =
		not_negative(json_int(unit, "storage_free", 0) -
			     resources_coming_spindles(m->config, uuid));
}

static void read_live(struct master *m, const char *uuid,
		      const struct node_data *data, struct iallocator_live *ret)
{
	const json_t *hv = json_array_get(json_array_get(data->info, 2), 0);
	const json_t *disk = find_unit(json_array_get(data->info, 1), false);

	*ret = (struct iallocator_live){
		.total_memory = json_int(hv, "memory_total", 0),
		.reserved_memory = json_int(hv, "memory_dom0", 0),
		.total_disk = json_int(disk, "storage_size", 0),
		.free_disk = json_int(disk, "storage_free", 0),
		.total_cpus = json_int(hv, "cpu_total", 0),
		.reserved_cpus = json_int(hv, "cpu_dom0", 0),
		.free_memory = json_int(hv, "memory_free", 0),
	};
	read_spindles(m, uuid, data, ret);
	ret->free_memory -= sum_memory(m, uuid, data, ret);
}

void iallocator_nodes_of_record(const struct node_memory *m,
				const struct node_disk *d,
				struct iallocator_live *ret)
{
	*ret = (struct iallocator_live){
		.booked = true,
		.total_memory = m->total,
		.reserved_memory = m->node,
		.hypervisor_memory = m->hv,
		.total_disk = d->total,
		.free_disk = not_negative(resources_disk_free(d)),
		.total_cpus = m->cpu_total,
		.reserved_cpus = m->cpu_node,
		.free_memory = not_negative(resources_mem_promise(m)),
	};
}

static void read_recorded(const struct iallocator_nodes *g, const char *uuid,
			  int64_t shared, struct iallocator_live *ret)
{
	const struct config *c = g->m->config;
	struct node_memory m;
	struct node_disk d;

	resources_memory(c, uuid, g->hypervisor, &m);
	resources_disk_of(c, uuid, g->template, shared, &d);
	iallocator_nodes_of_record(&m, &d, ret);
	iallocator_nodes_spindles(g, uuid, ret);
}

void iallocator_nodes_spindles(const struct iallocator_nodes *g,
			       const char *uuid, struct iallocator_live *ret)
{
	read_spindles(g->m, uuid, table_get(&g->by_uuid, uuid), ret);
}

const char *iallocator_nodes_hypervisor(const struct iallocator_nodes *g)
{
	return g->hypervisor;
}

const char *iallocator_nodes_template(const struct iallocator_nodes *g)
{
	return g->template;
}

enum iallocator_sign iallocator_nodes_sign(const struct iallocator_nodes *g,
					   const json_t *node)
{
	const struct node_data *data = table_get(&g->by_uuid, node_uuid(node));

	if (data == NULL)
		return is_live(node) ? IALLOCATOR_SILENT : IALLOCATOR_UNASKED;
	return data->recorded ? IALLOCATOR_RECORDED : IALLOCATOR_TOLD;
}

void iallocator_nodes_told(const struct iallocator_nodes *g, const json_t *node,
			   struct iallocator_live *ret)
{
	const char *uuid = node_uuid(node);

	read_live(g->m, uuid, table_get(&g->by_uuid, uuid), ret);
}

/* --- the part of the message --- */

static void add_sums(const struct iallocator_live *live, json_t *ret)
{
	json_set_int(ret, "i_pri_memory", live->instances_memory);
	json_set_int(ret, "i_pri_up_memory", live->running_memory);
}

static void add_live(const struct iallocator_live *live, json_t *ret)
{
	json_set_int(ret, "total_memory", live->total_memory);
	json_set_int(ret, "reserved_memory", live->reserved_memory);
	if (live->booked)
		json_set_bool(ret, "booked", true);
	if (live->hypervisor_memory > 0)
		json_set_int(ret, "hypervisor_memory", live->hypervisor_memory);
	json_set_int(ret, "total_disk", live->total_disk);
	json_set_int(ret, "free_disk", live->free_disk);
	json_set_int(ret, "total_spindles", live->total_spindles);
	json_set_int(ret, "free_spindles", live->free_spindles);
	json_set_int(ret, "total_cpus", live->total_cpus);
	json_set_int(ret, "reserved_cpus", live->reserved_cpus);
	if (!live->booked)
		add_sums(live, ret);
	json_set_int(ret, "free_memory", live->free_memory);
	if (live->booked)
		add_sums(live, ret);
}

json_t *iallocator_list(const json_t *value)
{
	return value == NULL ? json_array() : json_ref(value);
}

static void add_numbers(const struct iallocator_nodes *g, const json_t *node,
			int64_t shared, json_t *ret)
{
	static const struct node_data nobody = {.recorded = true};
	const char *uuid = node_uuid(node);
	struct iallocator_live live;

	switch (iallocator_nodes_sign(g, node)) {
	case IALLOCATOR_RECORDED:
		read_recorded(g, uuid, shared, &live);
		sum_memory(g->m, uuid, &nobody, &live);
		break;
	case IALLOCATOR_TOLD:
		iallocator_nodes_told(g, node, &live);
		break;
	default:
		return;
	}
	add_live(&live, ret);
}

static json_t *node_entry(const struct iallocator_nodes *g, const json_t *node,
			  int64_t shared)
{
	static const char *const flags[] = {"drained", "master_candidate",
					    "master_capable", "vm_capable"};
	json_t *entry = json_object();

	add_numbers(g, node, shared, entry);
	json_object_set_new(entry, "tags", iallocator_list(node_tags(node)));
	json_set_str(entry, "primary_ip", node_primary_ip(node));
	json_set_str(entry, "secondary_ip", node_secondary_ip(node));
	json_set_bool(entry, "offline",
		      node_offline(node) || iallocator_nodes_sign(g, node) ==
						    IALLOCATOR_SILENT);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		json_set_bool(entry, flags[i],
			      json_bool(node, flags[i], false));
	json_set_str(entry, "group", node_group(node));
	json_object_set_new(entry, "ndparams", filled_nd(g->m, node));
	return entry;
}

json_t *iallocator_nodes_part(const struct iallocator_nodes *g)
{
	const struct config *c = g->m->config;
	int64_t shared = resources_shared(c, g->template);
	json_t *part = json_object(), *node;
	const char *uuid;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node)
		json_object_set_new(part, node_name_or(node, uuid),
				    node_entry(g, node, shared));
	return part;
}

struct iallocator_nodes *iallocator_nodes_ask(struct master *m,
					      const char *hypervisor,
					      const struct iallocator_how *how)
{
	struct iallocator_nodes *g = xalloc(sizeof(*g));

	g->m = m;
	g->hypervisor = xstrdup(hypervisor);
	g->template =
		how->disk_template == NULL ? NULL : xstrdup(how->disk_template);
	g->heard_since_us = how->heard_since_us;
	gather(g);
	return g;
}
