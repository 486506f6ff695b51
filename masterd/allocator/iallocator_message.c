/* SPDX-License-Identifier: BSD-2-Clause */
/* The message for an allocator: the cluster as the configuration has it, with
 * the resources of nodes and how much of them is booked.
 *
 * Nodes whose resources are not recorded are asked first, all at once
 * (iallocator_nodes.c).  After that nothing waits, so the message is one
 * consistent view.
 *
 * Our own hail is asked by a call and is not told by a message, but has to see
 * the same: who changes this changes iallocator_cluster.c, too. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/allocator/iallocator_nodes.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/resources/resources.h"

#define PROTOCOL 2

/* --- groups and instances --- */

/* Values that Ganeti's allocators do not know are in a member of their own, as
 * they would refuse them elsewhere. */
static void set_extra(json_t *entry, const struct master *m,
		      const json_t *group)
{
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(m->config), group);
	json_t *extra = params_ipolicy_extra(policy);

	if (json_object_size(extra) > 0)
		json_object_set(entry, "ipolicy_extra", extra);
	json_decref(extra);
}

static json_t *groups_part(struct master *m)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *part = json_object(), *group;
	const char *uuid;

	json_object_foreach (json_unconst(config_all(m->config, CONFIG_GROUP)),
			     uuid, group) {
		json_t *networks = json_array(), *netparams;
		const char *network;

		json_object_foreach (json_unconst(group_networks(group)),
				     network, netparams)
			json_array_append_new(networks, json_string(network));
		json_object_set_new(
			part, uuid,
			json_make("{s:s, s:s, s:o, s:o, s:o}", "name",
				  group_name(group), "alloc_policy",
				  group_alloc_policy(group), "networks",
				  networks, "ipolicy",
				  params_ipolicy_known(
					  params_fill_ipolicy(cluster, group)),
				  "tags", iallocator_list(group_tags(group))));
		set_extra(json_object_get(part, uuid), m, group);
	}
	return part;
}

static json_t *nics_entry(struct master *m, const json_t *inst)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *list = json_array(), *nic;
	size_t i;

	json_array_foreach (inst_nics(inst), i, nic) {
		auto_json json_t *filled =
			params_fill_nic(cluster, nic_nicparams(nic));
		const char *mode = nicparams_mode(filled);
		json_t *entry = json_object();

		json_set_str(entry, "mac", nic_mac(nic));
		json_set_str(entry, "ip", nic_ip(nic));
		json_set_str(entry, "mode", mode);
		json_set_str(entry, "link", nicparams_link(filled));
		if (str_eq(mode, "bridged"))
			json_set_str(entry, "bridge", nicparams_link(filled));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *disks_entry(const json_t *disks)
{
	json_t *list = json_array(), *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		json_t *entry = json_make("{s:s, s:I, s:s}", "dev_type",
					  disk_dev_type(disk), "size",
					  (json_int_t)disk_size_mib(disk),
					  "mode", disk_mode(disk));

		json_object_set_new(entry, "spindles",
				    disk_has_spindles(disk)
					    ? json_integer(disk_spindles(disk))
					    : json_null());
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *node_names(struct master *m, const json_t *inst)
{
	auto_strv struct strv secondaries = {0};
	json_t *list = json_array();

	json_array_append_new(
		list, json_string(config_name(m->config, CONFIG_NODE,
					      inst_primary_node(inst))));
	config_instance_secondaries(m->config, inst, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		json_array_append_new(
			list, json_string(config_name(m->config, CONFIG_NODE,
						      secondaries.items[i])));
	return list;
}

static json_t *instance_entry(struct master *m, const json_t *inst, bool extra)
{
	auto_json json_t *be =
		params_fill_be(config_cluster(m->config), inst_beparams(inst));
	auto_json json_t *disks = config_instance_disks(m->config, inst);
	const char *template = config_instance_template(m->config, inst);
	json_t *entry = json_object();

	if (extra)
		iallocator_set_extra(entry, be_maxmem(be), be_minmem(be),
				     !be_auto_balance(be));
	json_object_set_new(entry, "tags", iallocator_list(inst_tags(inst)));
	json_set_str(entry, "admin_state", inst_admin_state(inst));
	json_set_int(entry, "vcpus", be_vcpus(be));
	json_set_int(entry, "memory", be_maxmem(be));
	json_set_int(entry, "spindle_use", be_spindle_use(be));
	json_set_str(entry, "os", inst_os(inst));
	json_object_set_new(entry, "nodes", node_names(m, inst));
	json_object_set_new(entry, "nics", nics_entry(m, inst));
	json_object_set_new(entry, "disks", disks_entry(disks));
	json_set_str(entry, "disk_template", template);
	json_set_bool(entry, "disks_active", inst_disks_active(inst));
	json_set_str(entry, "hypervisor", inst_hypervisor(inst));
	json_set_int(entry, "disk_space_total",
		     resources_disk_sum(disks, template));
	return entry;
}

void iallocator_set_extra(json_t *entry, int64_t maxmem, int64_t minmem,
			  bool stays)
{
	if ((minmem == 0 || minmem == maxmem) && !stays)
		return;
	json_object_set_new(
		entry, "beparams_extra",
		json_make("{s:I, s:b}", "minmem",
			  (json_int_t)(minmem == 0 ? maxmem : minmem),
			  "auto_balance", !stays));
}

bool iallocator_promises_failures(const struct master *m)
{
	const json_t *cluster = config_cluster(m->config);
	json_t *group;
	const char *uuid;

	json_object_foreach (json_unconst(config_all(m->config, CONFIG_GROUP)),
			     uuid, group) {
		auto_json json_t *policy = params_fill_ipolicy(cluster, group);

		if (params_max_node_failures(policy) > 0)
			return true;
	}
	return false;
}

static json_t *instances_part(struct master *m)
{
	json_t *part = json_object(), *inst;
	bool extra = iallocator_promises_failures(m);
	const char *uuid;

	json_object_foreach (
		json_unconst(config_all(m->config, CONFIG_INSTANCE)), uuid,
		inst)
		json_object_set_new(part, inst_name_or(inst, uuid),
				    instance_entry(m, inst, extra));
	return part;
}

/* The hypervisor of one that the request names: a new instance, which comes
 * with it, or one that is there, of which it has the name alone; NULL. */
static const char *hypervisor_of(const struct master *m, const json_t *entry)
{
	const char *name = json_is_string(entry) ? json_string_value(entry)
						 : json_str(entry, "name", "");
	const json_t *inst = config_find(m->config, CONFIG_INSTANCE, name);

	return json_str(entry, "hypervisor",
			inst == NULL ? NULL : inst_hypervisor(inst));
}

const char *iallocator_hypervisor(const struct master *m, const json_t *request)
{
	const json_t *enabled =
		cluster_enabled_hypervisors(config_cluster(m->config));
	const char *first = json_string_value(json_array_get(enabled, 0));
	const json_t *list = json_get(request, "instances");
	const char *found = hypervisor_of(m, json_array_size(list) == 1
						     ? json_array_get(list, 0)
						     : request);

	if (found != NULL)
		return found;
	return first == NULL ? "" : first;
}

json_t *iallocator_message(struct master *m, json_t *request STEALS,
			   const struct iallocator_how *how)
{
	auto_json json_t *own = request;
	const json_t *cluster;
	json_t *message = json_object();
	/* This waits; the rest does not. */
	struct iallocator_nodes *nodes =
		iallocator_nodes_ask(m, iallocator_hypervisor(m, own), how);

	cluster = config_cluster(m->config);
	json_set_int(message, "version", PROTOCOL);
	json_set_str(message, "cluster_name", cluster_name(cluster));
	json_object_set_new(message, "cluster_tags",
			    iallocator_list(cluster_tags(cluster)));
	json_object_set_new(
		message, "enabled_hypervisors",
		iallocator_list(cluster_enabled_hypervisors(cluster)));
	json_object_set_new(
		message, "ipolicy",
		params_ipolicy_known(params_fill_ipolicy(cluster, NULL)));
	json_object_set_new(message, "nodegroups", groups_part(m));
	json_object_set_new(message, "nodes", iallocator_nodes_part(nodes));
	json_object_set_new(message, "instances", instances_part(m));
	json_object_set(message, "request", own);
	iallocator_nodes_free(nodes);
	return message;
}
