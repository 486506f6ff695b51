/* SPDX-License-Identifier: BSD-2-Clause */
/* All sums are computed anew at each call.  A node's bookings are those of its
 * primary instances, for disks also of its secondary ones, and those of jobs
 * (config_bookings()).  The table of templates says where the space of each is
 * recorded and whether all nodes share it. */
#include "masterd/resources/resources.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

static const json_t *group_of(const struct config *c, const json_t *node)
{
	return config_get(c, CONFIG_GROUP, node_group(node));
}

static bool is_offline(const json_t *inst)
{
	return str_eq(inst_admin_state(inst), "offline");
}

bool resources_exclusive(const struct config *c, const json_t *node)
{
	auto_json json_t *nd =
		params_fill_nd(config_cluster(c), group_of(c, node), node);

	return nd_exclusive_storage(nd);
}

/* --- memory and CPUs --- */

/* Add to ret the instances for which jobs have booked `what` on the node,
 * unless they are in it already. */
static void add_booked(const struct config *c, const char *node_uuid,
		       unsigned what, struct strv *ret)
{
	size_t n;
	const struct config_booking *b = config_bookings(c, &n);

	for (size_t i = 0; i < n; i++)
		if ((b[i].what & what) != 0 && str_eq(b[i].node, node_uuid) &&
		    config_get(c, CONFIG_INSTANCE, b[i].instance) != NULL)
			strv_add_unique(ret, b[i].instance);
}

static void book_memory(const struct config *c, const char *node_uuid,
			struct node_memory *ret)
{
	const json_t *cluster = config_cluster(c);
	auto_strv struct strv instances = {0};

	config_node_primaries(c, node_uuid, &instances);
	add_booked(c, node_uuid, BOOK_MEMORY, &instances);
	for (size_t i = 0; i < instances.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, instances.items[i]);
		auto_json json_t *be = NULL;

		if (is_offline(inst))
			continue;
		be = params_fill_be(cluster, inst_beparams(inst));
		ret->min += be_minmem(be);
		ret->max += be_maxmem(be);
		ret->vcpus += be_vcpus(be);
	}
}

/* The memory that an instance needs where it fails over to. */
static int64_t failover_memory(const struct config *c, const json_t *inst)
{
	auto_json json_t *be = NULL;

	if (is_offline(inst))
		return 0;
	be = params_fill_be(config_cluster(c), inst_beparams(inst));
	return be_auto_balance(be) ? be_minmem(be) : 0;
}

int64_t resources_failover_memory(const struct config *c, const char *node_uuid,
				  const char *lost_uuid)
{
	auto_strv struct strv secondaries = {0};
	int64_t sum = 0;

	config_node_secondaries(c, node_uuid, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, secondaries.items[i]);

		if (str_eq(inst_primary_node(inst), lost_uuid))
			sum += failover_memory(c, inst);
	}
	return sum;
}

static int64_t reserved_memory(const struct config *c, const char *node_uuid)
{
	auto_strv struct strv secondaries = {0}, peers = {0};
	int64_t most = 0;

	config_node_secondaries(c, node_uuid, &secondaries);
	for (size_t i = 0; i < secondaries.n; i++)
		strv_add_unique(&peers, inst_primary_node(config_get(
						c, CONFIG_INSTANCE,
						secondaries.items[i])));
	for (size_t i = 0; i < peers.n; i++) {
		int64_t one =
			resources_failover_memory(c, node_uuid, peers.items[i]);

		most = one > most ? one : most;
	}
	return most;
}

int64_t resources_spindle_use(const struct config *c, const char *node_uuid)
{
	auto_strv struct strv instances = {0};
	int64_t sum = 0;

	config_node_primaries(c, node_uuid, &instances);
	config_node_secondaries(c, node_uuid, &instances);
	add_booked(c, node_uuid, BOOK_MEMORY | BOOK_DISKS, &instances);
	for (size_t i = 0; i < instances.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, instances.items[i]);
		auto_json json_t *be =
			params_fill_be(config_cluster(c), inst_beparams(inst));

		if (template_is_on_volumes(config_instance_template(c, inst)))
			sum += be_spindle_use(be);
	}
	return sum;
}

static const char *first_hypervisor(const json_t *cluster)
{
	const char *name = json_string_value(
		json_array_get(cluster_enabled_hypervisors(cluster), 0));

	return name == NULL ? "" : name;
}

static json_t *hv_state(const struct config *c, const json_t *node,
			const char *hypervisor)
{
	const json_t *cluster = config_cluster(c);

	return state_fill_hv(cluster, group_of(c, node), node,
			     hypervisor == NULL ? first_hypervisor(cluster)
						: hypervisor);
}

void resources_memory(const struct config *c, const char *node_uuid,
		      const char *hypervisor, struct node_memory *ret)
{
	const json_t *cluster = config_cluster(c);
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	const json_t *group = group_of(c, node);
	auto_json json_t *policy = params_fill_ipolicy(cluster, group);
	auto_json json_t *state = hv_state(c, node, hypervisor);

	*ret = (struct node_memory){
		.total = json_int(state, "mem_total", 0),
		.node = json_int(state, "mem_node", 0),
		.hv = json_int(state, "mem_hv", 0),
		.cpu_total = json_int(state, "cpu_total", 0),
		.cpu_node = json_int(state, "cpu_node", 0),
		.ratio = params_memory_ratio(policy),
	};
	ret->recorded = ret->total > 0;
	book_memory(c, node_uuid, ret);
	ret->reserved = reserved_memory(c, node_uuid);
}

int64_t resources_mem_capacity(const struct node_memory *m)
{
	return m->total - m->node - m->hv;
}

int64_t resources_mem_free(const struct node_memory *m)
{
	return resources_mem_capacity(m) - m->max;
}

int64_t resources_mem_promise(const struct node_memory *m)
{
	return (int64_t)((double)resources_mem_capacity(m) * m->ratio) - m->max;
}

int64_t resources_mem_available(const struct node_memory *m)
{
	return resources_mem_capacity(m) - m->min;
}

int64_t resources_mem_guarantee(const struct node_memory *m)
{
	return resources_mem_available(m) - m->reserved;
}

/* --- disks --- */

/* The storage below a template, NULL where its space is not recorded. */
static const struct storage_info *find(const char *template)
{
	const struct storage_info *s = template_storage(template_get(template));

	return s->recorded_as == NULL ? NULL : s;
}

bool resources_storage(const json_t *cluster, const char *template,
		       const char **ret_type, const char **ret_name)
{
	const struct storage_info *s = find(template);
	const char *name = s == NULL ? NULL : json_str(cluster, s->place, NULL);

	if (name == NULL || *name == '\0')
		return false;
	*ret_type = s->recorded_as;
	*ret_name = name;
	return true;
}

const char *resources_template(const json_t *cluster)
{
	const json_t *list = cluster_enabled_disk_templates(cluster);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (find(name) != NULL)
			return template_get(name)->name;
	}
	return NULL;
}

int64_t resources_disk_sum(const json_t *disks, const char *template)
{
	int64_t overhead = template_get(template)->overhead_mib, sum = 0;
	size_t i;
	json_t *disk;

	json_array_foreach (disks, i, disk)
		sum += disk_size_mib(disk) + overhead;
	return sum;
}

/* How much of the storage the disks of an instance take. */
static int64_t disks_on(const struct config *c, const json_t *inst,
			const struct storage_info *on)
{
	const char *template = config_instance_template(c, inst);
	auto_json json_t *disks = NULL;

	if (find(template) != on)
		return 0;
	disks = config_instance_disks(c, inst);
	return resources_disk_sum(disks, template);
}

static int64_t booked_shared(const struct config *c,
			     const struct storage_info *on)
{
	int64_t sum = 0;
	const char *uuid;
	json_t *inst;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst)
		sum += disks_on(c, inst, on);
	return sum;
}

static int64_t disks_of_all(const struct config *c, const struct strv *uuids,
			    const struct storage_info *on)
{
	int64_t sum = 0;

	for (size_t i = 0; i < uuids->n; i++)
		sum += disks_on(
			c, config_get(c, CONFIG_INSTANCE, uuids->items[i]), on);
	return sum;
}

static int64_t booked_here(const struct config *c, const char *node_uuid,
			   const struct storage_info *on)
{
	auto_strv struct strv instances = {0}, copies = {0};

	config_node_primaries(c, node_uuid, &instances);
	config_node_secondaries(c, node_uuid, &instances);
	add_booked(c, node_uuid, BOOK_DISKS, &instances);
	add_booked(c, node_uuid, BOOK_COPY, &copies);
	return disks_of_all(c, &instances, on) + disks_of_all(c, &copies, on);
}

/* A disk for which nobody said how many has at least one. */
static int64_t spindles_of(const struct config *c, const char *uuid)
{
	auto_json json_t *disks =
		config_instance_disks(c, config_get(c, CONFIG_INSTANCE, uuid));
	size_t i;
	json_t *disk;
	int64_t sum = 0;

	json_array_foreach (disks, i, disk)
		if (template_is_on_volumes(disk_dev_type(disk)))
			sum += disk_spindles_or(disk, 1);
	return sum;
}

int64_t resources_coming_spindles(const struct config *c, const char *node_uuid)
{
	auto_strv struct strv here = {0}, copies = {0};
	int64_t sum = 0;
	size_t recorded;

	config_node_primaries(c, node_uuid, &here);
	config_node_secondaries(c, node_uuid, &here);
	recorded = here.n;
	add_booked(c, node_uuid, BOOK_DISKS, &here);
	for (size_t i = 0; i < here.n; i++)
		if (i >= recorded ||
		    inst_forthcoming(
			    config_get(c, CONFIG_INSTANCE, here.items[i])))
			sum += spindles_of(c, here.items[i]);
	add_booked(c, node_uuid, BOOK_COPY, &copies);
	for (size_t i = 0; i < copies.n; i++)
		sum += spindles_of(c, copies.items[i]);
	return sum;
}

int64_t resources_shared(const struct config *c, const char *template)
{
	const struct storage_info *s = find(template);

	return s == NULL || !template_is_everywhere(template)
		       ? 0
		       : booked_shared(c, s);
}

/* The recorded numbers; zeroed where there is no such storage. */
static json_t *disk_state(const struct config *c, const char *node_uuid,
			  const char *template)
{
	const json_t *cluster = config_cluster(c);
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	const char *type, *name;

	if (!resources_storage(cluster, template, &type, &name))
		return json_object();
	return state_fill_disk(cluster, group_of(c, node), node, type, name);
}

void resources_disk_of(const struct config *c, const char *node_uuid,
		       const char *template, int64_t shared,
		       struct node_disk *ret)
{
	const struct storage_info *s = find(template);
	auto_json json_t *state = disk_state(c, node_uuid, template);

	*ret = (struct node_disk){
		.total = json_int(state, "disk_total", 0),
		.reserved = json_int(state, "disk_reserved", 0),
		.overhead = json_int(state, "disk_overhead", 0),
	};
	ret->recorded = ret->total > 0;
	if (s != NULL)
		ret->used = template_is_everywhere(template)
				    ? shared
				    : booked_here(c, node_uuid, s);
}

void resources_disk(const struct config *c, const char *node_uuid,
		    const char *template, struct node_disk *ret)
{
	resources_disk_of(c, node_uuid, template, resources_shared(c, template),
			  ret);
}

bool resources_recorded(const struct config *c, const char *node_uuid,
			const char *hypervisor, const char *template)
{
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	auto_json json_t *hv = hv_state(c, node, hypervisor);
	auto_json json_t *disk = disk_state(c, node_uuid, template);

	return json_int(hv, "mem_total", 0) > 0 &&
	       (json_object_size(disk) == 0 ||
		json_int(disk, "disk_total", 0) > 0);
}

int64_t resources_disk_free(const struct node_disk *d)
{
	return d->total - d->reserved - d->overhead - d->used;
}

json_t *resources_units(const json_t *cluster, const char *template,
			bool exclusive)
{
	const struct storage_info *s = find(template);
	const char *type, *name;

	if (!resources_storage(cluster, template, &type, &name) ||
	    s->unit == NULL)
		return json_array();
	if (!template_is_on_volumes(template))
		return json_make("[[s, s, []]]", s->unit, name);
	return json_make("[[s, s, [b]], [s, s, [b]]]", s->unit, name, exclusive,
			 storage_table[STORAGE_LVM_PV].name, name, exclusive);
}

static bool has_unit(const json_t *units, const json_t *unit)
{
	size_t i;
	json_t *other;

	json_array_foreach (units, i, other)
		if (json_equal(other, unit))
			return true;
	return false;
}

json_t *resources_all_units(const json_t *cluster)
{
	const json_t *list = cluster_enabled_disk_templates(cluster);
	json_t *all = json_array(), *unit;
	size_t k;

	for (size_t i = 0; i < json_array_size(list); i++) {
		auto_json json_t *own = resources_units(
			cluster, json_string_value(json_array_get(list, i)),
			false);

		json_array_foreach (own, k, unit)
			if (!has_unit(all, unit))
				json_array_append(all, unit);
	}
	return all;
}

static bool is_enabled(const json_t *cluster, const char *template)
{
	const json_t *list = cluster_enabled_disk_templates(cluster);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (str_eq(json_string_value(json_array_get(list, i)),
			   template))
			return true;
	return false;
}

const char *resources_unit_type(const json_t *cluster, const json_t *unit)
{
	const char *type = json_str(unit, "type", "");
	const char *name = json_str(unit, "name", "");

	for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
		const struct storage_info *s =
			template_storage(&template_table[i]);

		if (str_eq(s->unit, type) &&
		    is_enabled(cluster, template_table[i].name) &&
		    str_eq(json_str(cluster, s->place, ""), name))
			return s->recorded_as;
	}
	return NULL;
}
