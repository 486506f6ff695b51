/* SPDX-License-Identifier: BSD-2-Clause */
/* What an allocator is told of the cluster: configuration, and what the nodes
 * say of themselves.
 *
 * The nodes are asked first; after that nothing waits, so the message is one
 * consistent view.  A node that does not answer is shown as offline: it gets
 * nothing, and the others can still be used. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/params.h"
#include "masterd/config.h"
#include "masterd/iallocator.h"
#include "masterd/iallocator_private.h"
#include "masterd/master.h"
#include "masterd/noderpc.h"

#define PROTOCOL 2
#define DRBD_META_MIB 128

/* The two answers of one node. */
struct node_data {
	const json_t *info; /* node_info: [boot id, storage, hypervisors] */
	const json_t *instances; /* all_instances_info: {name: {...}} */
};

struct gather {
	struct master *m;
	struct node_result *info, *instances;
	size_t n;
	struct table by_uuid; /* of struct node_data */
};

/* --- asking the nodes --- */

static const char *hypervisor_of(const struct master *m, const json_t *request)
{
	const json_t *cluster = config_cluster(m->config);
	const json_t *enabled = json_get(cluster, "enabled_hypervisors");
	const char *first = json_string_value(json_array_get(enabled, 0));

	return json_str(request, "hypervisor", first == NULL ? "" : first);
}

/* The storage behind a template: [[type, name, parameters], ...]. */
static json_t *storage_units(const json_t *cluster, const char *template,
			     bool exclusive)
{
	static const struct {
		const char *template, *type, *place;
	} files[] = {
		{"file", "file", "file_storage_dir"},
		{"sharedfile", "sharedfile", "shared_file_storage_dir"},
		{"gluster", "gluster", "gluster_storage_dir"},
	};
	const char *vg = json_str(cluster, "volume_group_name", NULL);

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (str_eq(template, files[i].template))
			return json_make("[[s, s, []]]", files[i].type,
					 json_str(cluster, files[i].place, ""));
	if (vg != NULL &&
	    (str_eq(template, "plain") || str_eq(template, "drbd")))
		return json_make("[[s, s, [b]], [s, s, [b]]]", "lvm-vg", vg,
				 exclusive, "lvm-pv", vg, exclusive);
	return json_array();
}

static json_t *filled_nd(const struct master *m, const json_t *node)
{
	const json_t *group = config_get(m->config, CONFIG_GROUP,
					 json_str(node, "group", ""));

	return params_fill_nd(config_cluster(m->config), group, node);
}

static json_t *info_args(const struct master *m, const json_t *node,
			 const char *hypervisor, const char *template)
{
	const json_t *cluster = config_cluster(m->config);
	auto_json json_t *nd = filled_nd(m, node);
	json_t *hvparams = params_fill_hv(cluster, hypervisor, NULL, NULL);

	return json_make(
		"[o, [[s, o]]]",
		storage_units(cluster, template,
			      json_bool(nd, "exclusive_storage", false)),
		hypervisor, hvparams == NULL ? json_object() : hvparams);
}

static json_t *instances_args(const struct master *m)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *enabled = json_object_get(cluster, "enabled_hypervisors");
	json_t *hvparams = json_object();
	size_t i;
	json_t *name;

	json_array_foreach (enabled, i, name) {
		json_t *filled = params_fill_hv(
			cluster, json_string_value(name), NULL, NULL);

		if (filled != NULL)
			json_object_set_new(hvparams, json_string_value(name),
					    filled);
	}
	return json_make("[O, o]", enabled, hvparams);
}

static bool is_live(const json_t *node)
{
	return !json_bool(node, "offline", false) &&
	       json_bool(node, "vm_capable", true);
}

static void gather_done(struct gather *g)
{
	table_done(&g->by_uuid, free);
	if (g->info != NULL)
		node_results_free(g->info, g->n);
	if (g->instances != NULL)
		node_results_free(g->instances, g->n);
}

static void add_data(struct gather *g, size_t i)
{
	const struct error *err =
		g->info[i].err != NULL ? g->info[i].err : g->instances[i].err;
	struct node_data *data;

	if (err != NULL) {
		log_warning("The allocator is told that node %s is offline: %s",
			    json_str(g->info[i].node, "name", ""), err->text);
		return;
	}
	data = xalloc(sizeof(*data));
	data->info = g->info[i].payload;
	data->instances = g->instances[i].payload;
	free(table_put(&g->by_uuid, json_str(g->info[i].node, "uuid", ""),
		       data));
}

/* Ask all online nodes that run instances. */
static WAITS void gather(struct gather *g, const char *hypervisor,
			 const char *template)
{
	auto_strv struct strv uuids = {0};

	config_sorted(g->m->config, CONFIG_NODE, &uuids);
	g->info = node_results_new(uuids.n);
	g->instances = node_results_new(uuids.n);
	for (size_t i = 0; i < uuids.n; i++) {
		json_t *node = (json_t *)config_get(g->m->config, CONFIG_NODE,
						    uuids.items[i]);

		if (!is_live(node))
			continue;
		g->info[g->n].args =
			info_args(g->m, node, hypervisor, template);
		g->info[g->n].node = json_incref(node);
		g->instances[g->n++].node = json_incref(node);
	}
	noderpc_look_many(g->m->rpc, g->info, g->n, "node_info", NULL);
	noderpc_look_many(g->m->rpc, g->instances, g->n, "all_instances_info",
			  instances_args(g->m));
	for (size_t i = 0; i < g->n; i++)
		add_data(g, i);
}

/* --- nodes --- */

/* Free memory less what instances there may still take, and their sums. */
static void add_memory(struct master *m, const char *uuid,
		       const struct node_data *data, int64_t free_memory,
		       json_t *ret)
{
	const json_t *cluster = config_cluster(m->config);
	int64_t all = 0, up = 0;
	auto_strv struct strv primaries = {0};

	config_node_primaries(m->config, uuid, &primaries);
	for (size_t i = 0; i < primaries.n; i++) {
		const json_t *inst = config_get(m->config, CONFIG_INSTANCE,
						primaries.items[i]);
		auto_json json_t *be =
			params_fill_be(cluster, json_get(inst, "beparams"));
		int64_t memory = json_int(be, "maxmem", 0);
		int64_t used = json_int(
			json_get(data->instances, json_str(inst, "name", "")),
			"memory", 0);

		all += memory;
		if (!str_eq(json_str(inst, "admin_state", ""), "up"))
			continue;
		up += memory;
		if (used < memory)
			free_memory -= memory - used;
	}
	json_set_int(ret, "free_memory", free_memory);
	json_set_int(ret, "i_pri_memory", all);
	json_set_int(ret, "i_pri_up_memory", up);
}

/* The storage unit of spindles (lvm-pv), or the one of space. */
static const json_t *find_unit(const json_t *units, bool spindles)
{
	size_t i;
	json_t *unit;

	json_array_foreach ((json_t *)units, i, unit)
		if (str_eq(json_str(unit, "type", ""), "lvm-pv") == spindles)
			return unit;
	return NULL;
}

static void add_live(struct master *m, const char *uuid,
		     const struct node_data *data, json_t *ret)
{
	const json_t *units = json_array_get(data->info, 1);
	const json_t *hv = json_array_get(json_array_get(data->info, 2), 0);
	const json_t *disk = find_unit(units, false);
	const json_t *spindles = find_unit(units, true);

	json_set_int(ret, "total_memory", json_int(hv, "memory_total", 0));
	json_set_int(ret, "reserved_memory", json_int(hv, "memory_dom0", 0));
	json_set_int(ret, "total_disk", json_int(disk, "storage_size", 0));
	json_set_int(ret, "free_disk", json_int(disk, "storage_free", 0));
	json_set_int(ret, "total_spindles",
		     json_int(spindles, "storage_size", 0));
	json_set_int(ret, "free_spindles",
		     json_int(spindles, "storage_free", 0));
	json_set_int(ret, "total_cpus", json_int(hv, "cpu_total", 0));
	json_set_int(ret, "reserved_cpus", json_int(hv, "cpu_dom0", 0));
	add_memory(m, uuid, data, json_int(hv, "memory_free", 0), ret);
}

static json_t *or_empty_list(const json_t *object, const char *key)
{
	const json_t *value = json_get(object, key);

	return value == NULL ? json_array() : json_incref((json_t *)value);
}

static json_t *node_entry(struct gather *g, const json_t *node)
{
	static const char *const flags[] = {"drained", "master_candidate",
					    "master_capable", "vm_capable"};
	const char *uuid = json_str(node, "uuid", "");
	const struct node_data *data = table_get(&g->by_uuid, uuid);
	json_t *entry = json_object();

	if (data != NULL)
		add_live(g->m, uuid, data, entry);
	json_object_set_new(entry, "tags", or_empty_list(node, "tags"));
	json_set_str(entry, "primary_ip", json_str(node, "primary_ip", ""));
	json_set_str(entry, "secondary_ip", json_str(node, "secondary_ip", ""));
	json_set_bool(entry, "offline",
		      json_bool(node, "offline", false) ||
			      (is_live(node) && data == NULL));
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		json_set_bool(entry, flags[i],
			      json_bool(node, flags[i], false));
	json_set_str(entry, "group", json_str(node, "group", ""));
	json_object_set_new(entry, "ndparams", filled_nd(g->m, node));
	return entry;
}

static json_t *nodes_part(struct gather *g)
{
	json_t *part = json_object(), *node;
	const char *uuid;

	json_object_foreach ((json_t *)config_all(g->m->config, CONFIG_NODE),
			     uuid, node)
		json_object_set_new(part, json_str(node, "name", uuid),
				    node_entry(g, node));
	return part;
}

/* --- groups and instances --- */

static json_t *groups_part(struct master *m)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *part = json_object(), *group;
	const char *uuid;

	json_object_foreach ((json_t *)config_all(m->config, CONFIG_GROUP),
			     uuid, group) {
		json_t *networks = json_array(), *netparams;
		const char *network;

		json_object_foreach (json_object_get(group, "networks"),
				     network, netparams)
			json_array_append_new(networks, json_string(network));
		json_object_set_new(
			part, uuid,
			json_make("{s:s, s:s, s:o, s:o, s:o}", "name",
				  json_str(group, "name", ""), "alloc_policy",
				  json_str(group, "alloc_policy", "preferred"),
				  "networks", networks, "ipolicy",
				  params_fill_ipolicy(cluster, group), "tags",
				  or_empty_list(group, "tags")));
	}
	return part;
}

static json_t *nics_entry(struct master *m, const json_t *inst)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *list = json_array(), *nic;
	size_t i;

	json_array_foreach (json_object_get(inst, "nics"), i, nic) {
		auto_json json_t *filled =
			params_fill_nic(cluster, json_get(nic, "nicparams"));
		const char *mode = json_str(filled, "mode", "");
		json_t *entry = json_object();

		json_set_str(entry, "mac", json_str(nic, "mac", ""));
		json_set_str(entry, "ip", json_str(nic, "ip", NULL));
		json_set_str(entry, "mode", mode);
		json_set_str(entry, "link", json_str(filled, "link", ""));
		if (str_eq(mode, "bridged"))
			json_set_str(entry, "bridge",
				     json_str(filled, "link", ""));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *disks_entry(const json_t *disks)
{
	json_t *list = json_array(), *disk;
	size_t i;

	json_array_foreach ((json_t *)disks, i, disk) {
		json_t *entry =
			json_make("{s:s, s:I, s:s}", "dev_type",
				  json_str(disk, "dev_type", ""), "size",
				  (json_int_t)json_int(disk, "size", 0), "mode",
				  json_str(disk, "mode", "rw"));
		json_t *spindles = json_object_get(disk, "spindles");

		json_object_set_new(entry, "spindles",
				    spindles == NULL ? json_null()
						     : json_incref(spindles));
		json_array_append_new(list, entry);
	}
	return list;
}

int64_t iallocator_disk_space(const json_t *disks, const char *template)
{
	int64_t sum = 0;
	size_t i;
	json_t *disk;

	json_array_foreach ((json_t *)disks, i, disk)
		sum += json_int(disk, "size", 0) +
		       (str_eq(template, "drbd") ? DRBD_META_MIB : 0);
	return sum;
}

static json_t *node_names(struct master *m, const json_t *inst)
{
	auto_strv struct strv secondaries = {0};
	json_t *list = json_array();

	json_array_append_new(
		list,
		json_string(config_name(m->config, CONFIG_NODE,
					json_str(inst, "primary_node", ""))));
	config_instance_secondaries(m->config, inst, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		json_array_append_new(
			list, json_string(config_name(m->config, CONFIG_NODE,
						      secondaries.items[i])));
	return list;
}

static json_t *instance_entry(struct master *m, const json_t *inst)
{
	auto_json json_t *be = params_fill_be(config_cluster(m->config),
					      json_get(inst, "beparams"));
	auto_json json_t *disks = config_instance_disks(m->config, inst);
	const char *template = config_instance_template(m->config, inst);
	json_t *entry = json_object();

	json_object_set_new(entry, "tags", or_empty_list(inst, "tags"));
	json_set_str(entry, "admin_state", json_str(inst, "admin_state", ""));
	json_set_int(entry, "vcpus", json_int(be, "vcpus", 0));
	json_set_int(entry, "memory", json_int(be, "maxmem", 0));
	json_set_int(entry, "spindle_use", json_int(be, "spindle_use", 0));
	json_set_str(entry, "os", json_str(inst, "os", ""));
	json_object_set_new(entry, "nodes", node_names(m, inst));
	json_object_set_new(entry, "nics", nics_entry(m, inst));
	json_object_set_new(entry, "disks", disks_entry(disks));
	json_set_str(entry, "disk_template", template);
	json_set_bool(entry, "disks_active",
		      json_bool(inst, "disks_active", false));
	json_set_str(entry, "hypervisor", json_str(inst, "hypervisor", ""));
	json_set_int(entry, "disk_space_total",
		     iallocator_disk_space(disks, template));
	return entry;
}

static json_t *instances_part(struct master *m)
{
	json_t *part = json_object(), *inst;
	const char *uuid;

	json_object_foreach ((json_t *)config_all(m->config, CONFIG_INSTANCE),
			     uuid, inst)
		json_object_set_new(part, json_str(inst, "name", uuid),
				    instance_entry(m, inst));
	return part;
}

json_t *iallocator_message(struct master *m, json_t *request STEALS,
			   const char *disk_template, struct error *err)
{
	__attribute__((cleanup(gather_done))) struct gather g = {.m = m};
	auto_json json_t *own = request;
	const json_t *cluster;
	json_t *message = json_object();

	(void)err; /* nodes that fail are left out */
	gather(&g, hypervisor_of(m, own), disk_template);
	cluster = config_cluster(m->config);
	json_set_int(message, "version", PROTOCOL);
	json_set_str(message, "cluster_name",
		     json_str(cluster, "cluster_name", ""));
	json_object_set_new(message, "cluster_tags",
			    or_empty_list(cluster, "tags"));
	json_object_set_new(message, "enabled_hypervisors",
			    or_empty_list(cluster, "enabled_hypervisors"));
	json_object_set_new(message, "ipolicy",
			    params_fill_ipolicy(cluster, NULL));
	json_object_set_new(message, "nodegroups", groups_part(m));
	json_object_set_new(message, "nodes", nodes_part(&g));
	json_object_set_new(message, "instances", instances_part(m));
	json_object_set(message, "request", own);
	return message;
}
