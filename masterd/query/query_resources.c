/* SPDX-License-Identifier: BSD-2-Clause */
/* QueryResources: the resources of the cluster, its groups and its nodes, what
 * is booked of them, and the policies in force, in one answer.
 *
 * All of it comes from the configuration; no node is asked
 * (masterd/resources/resources.h).  The query works in slices, so that a large
 * cluster holds up nobody; the numbers of one node are consistent and of one
 * moment. */
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/query/query.h"
#include "masterd/resources/resources.h"

/* So many nodes are looked at before others may run: a node with a hundred
 * instances takes 0.2 ms. */
#define SLICE 50

/* A storage of the cluster; if all nodes share it, with what they have booked
 * of it. */
struct place {
	const char *template; /* the first template whose disks are there */
	char *type, *name;
	int64_t shared;
};

/* There is at most one for each template. */
#define PLACES_MAX 16

struct places {
	struct place items[PLACES_MAX];
	size_t n;
};

static void places_done(struct places *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->items[i].type);
		free(p->items[i].name);
	}
}

static bool has_place(const struct places *p, const char *type,
		      const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->items[i].type, type) == 0 &&
		    strcmp(p->items[i].name, name) == 0)
			return true;
	return false;
}

/* Storages of the enabled templates, in that order. */
static void find_places(const struct config *c, struct places *ret)
{
	const json_t *cluster = config_cluster(c);
	const char *const *all = template_names;
	const json_t *enabled = cluster_enabled_disk_templates(cluster);

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *type, *name, *const *t = all;
		const char *wanted =
			json_string_value(json_array_get(enabled, i));

		while (*t != NULL && !str_eq(*t, wanted))
			t++;
		if (*t == NULL || ret->n == PLACES_MAX ||
		    !resources_storage(cluster, *t, &type, &name) ||
		    has_place(ret, type, name))
			continue;
		ret->items[ret->n++] =
			(struct place){.template = *t,
				       .type = xstrdup(type),
				       .name = xstrdup(name),
				       .shared = resources_shared(c, *t)};
	}
}

/* --- the parts --- */

/* Null where nothing is recorded, as no number would be true. */
static void set_if(json_t *object, const char *key, bool known, int64_t number)
{
	json_object_set_new(object, key,
			    known ? json_integer(number) : json_null());
}

static json_t *memory_part(const struct node_memory *m)
{
	json_t *part = json_object();
	bool known = m->recorded;

	json_set_bool(part, "recorded", known);
	set_if(part, "total", known, m->total);
	set_if(part, "node", known, m->node);
	set_if(part, "hypervisor", known, m->hv);
	json_set_int(part, "booked_min", m->min);
	json_set_int(part, "booked_max", m->max);
	set_if(part, "free", known, resources_mem_free(m));
	json_set_int(part, "reserved", m->reserved);
	set_if(part, "guarantee", known, resources_mem_guarantee(m));
	set_if(part, "promise", known, resources_mem_promise(m));
	return part;
}

static json_t *cpus_part(const struct node_memory *m)
{
	json_t *part = json_object();

	set_if(part, "total", m->recorded, m->cpu_total);
	set_if(part, "node", m->recorded, m->cpu_node);
	json_set_int(part, "booked", m->vcpus);
	return part;
}

static json_t *storage_part(const struct config *c, const char *uuid,
			    const struct place *place)
{
	json_t *part = json_make("{s:s, s:s}", "type", place->type, "name",
				 place->name);
	struct node_disk d;

	resources_disk_of(c, uuid, place->template, place->shared, &d);
	json_set_bool(part, "recorded", d.recorded);
	set_if(part, "total", d.recorded, d.total);
	set_if(part, "reserved", d.recorded, d.reserved);
	set_if(part, "overhead", d.recorded, d.overhead);
	json_set_int(part, "booked", d.used);
	set_if(part, "free", d.recorded, resources_disk_free(&d));
	return part;
}

static json_t *node_part(const struct config *c, const json_t *node,
			 const struct places *places)
{
	const char *uuid = node_uuid(node);
	auto_json json_t *nd = params_fill_nd(
		config_cluster(c),
		config_get(c, CONFIG_GROUP, node_group(node)), node);
	json_t *part, *storage = json_array();
	struct node_memory m;

	resources_memory(c, uuid, NULL, &m);
	for (size_t i = 0; i < places->n; i++)
		json_array_append_new(storage,
				      storage_part(c, uuid, &places->items[i]));
	part = json_make("{s:s, s:s, s:b, s:b, s:b, s:b}", "uuid", uuid,
			 "group", node_group(node), "offline",
			 node_offline(node), "drained", node_drained(node),
			 "vm_capable", node_vm_capable(node),
			 "exclusive_storage", nd_exclusive_storage(nd));
	json_object_set_new(part, "memory", memory_part(&m));
	json_object_set_new(part, "cpus", cpus_part(&m));
	json_object_set_new(
		part, "spindles",
		json_make("{s:I, s:I}", "total",
			  (json_int_t)nd_spindle_count(nd), "booked",
			  (json_int_t)resources_spindle_use(c, uuid)));
	json_object_set_new(part, "storage", storage);
	return part;
}

/* The policy in force, of a group or (NULL) of the cluster; values that
 * Ganeti's policy does not have are a member of their own, as everywhere. */
static void set_policy(json_t *part, const struct config *c,
		       const json_t *group)
{
	json_t *policy = params_fill_ipolicy(config_cluster(c), group);
	json_t *extra = json_make("{s:I, s:o}", "max-node-failures",
				  (json_int_t)params_max_node_failures(policy),
				  "oversubscription-ratio",
				  json_real(params_memory_ratio(policy)));

	json_object_set_new(part, "ipolicy", params_ipolicy_known(policy));
	json_object_set_new(part, "ipolicy_extra", extra);
}

/* The numbers of nodes that are shown unchanged. */
static void set_state(json_t *part, const struct config *c, const json_t *group)
{
	const json_t *cluster = config_cluster(c);

	json_object_set_new(part, "hv_state",
			    state_fill_hv_all(cluster, group, NULL));
	json_object_set_new(part, "disk_state",
			    state_fill_disk_all(cluster, group, NULL));
}

static json_t *group_part(const struct config *c, const json_t *group)
{
	json_t *part = json_make("{s:s, s:s}", "uuid", group_uuid(group),
				 "alloc_policy", group_alloc_policy(group));

	set_policy(part, c, group);
	set_state(part, c, group);
	return part;
}

static json_t *groups_part(const struct config *c)
{
	json_t *part = json_object(), *group;
	const char *uuid;

	json_object_foreach (json_unconst(config_all(c, CONFIG_GROUP)), uuid,
			     group)
		json_object_set_new(part, group_name_or(group, uuid),
				    group_part(c, group));
	return part;
}

static json_t *cluster_part(const struct config *c)
{
	const json_t *enabled = cluster_enabled_hypervisors(config_cluster(c));
	json_t *part = json_object();

	json_set_str(part, "hypervisor",
		     json_string_value(json_array_get(enabled, 0)));
	set_policy(part, c, NULL);
	set_state(part, c, NULL);
	return part;
}

json_t *query_resources(const struct config *c)
{
	__attribute__((cleanup(places_done))) struct places places = {.n = 0};
	auto_strv struct strv uuids = {0};
	json_t *nodes = json_object();

	find_places(c, &places);
	config_sorted(c, CONFIG_NODE, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *node;

		if (i % SLICE == SLICE - 1)
			task_yield();
		node = config_get(c, CONFIG_NODE, uuids.items[i]);
		if (node != NULL)
			json_object_set_new(nodes, node_name(node),
					    node_part(c, node, &places));
	}
	return json_make("{s:o, s:o, s:o}", "cluster", cluster_part(c),
			 "groups", groups_part(c), "nodes", nodes);
}
