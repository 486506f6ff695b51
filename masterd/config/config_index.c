/* SPDX-License-Identifier: BSD-2-Clause */
/* Data derived from the objects of the configuration.  Names, instances of a
 * node and nodes of a group are in tables that are updated with each change, so
 * that no question has to walk over all objects. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/config/config_private.h"

void config_index_init(struct config_index *x)
{
	*x = (struct config_index){
		.primaries = json_object(),
		.secondaries = json_object(),
		.members = json_object(),
		.disk_owner = json_object(),
		.instance_mirrors = json_object(),
	};
}

void config_index_done(struct config_index *x)
{
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		table_done(&x->names[kind], NULL);
	json_decref(x->primaries);
	json_decref(x->secondaries);
	json_decref(x->members);
	json_decref(x->disk_owner);
	json_decref(x->instance_mirrors);
}

static void set_add(json_t *sets, const char *key, const char *member)
{
	json_t *set = json_object_get(sets, key);

	if (set == NULL) {
		set = json_object();
		json_object_set_new(sets, key, set);
	}
	json_object_set_new(set, member, json_true());
}

static void set_del(json_t *sets, const char *key, const char *member)
{
	json_t *set = json_object_get(sets, key);

	json_object_del(set, member);
	if (set != NULL && json_object_size(set) == 0)
		json_object_del(sets, key);
}

static void set_list(const json_t *sets, const char *key, struct strv *ret)
{
	const char *member;
	json_t *value;

	json_object_foreach (json_object_get(sets, key), member, value)
		strv_add(ret, member);
}

static bool is_pair(const json_t *disk)
{
	return template_is_pair(disk_dev_type_or(disk, NULL));
}

/* The nodes of a disk in two nodes are the first parts of its logical id. */
void config_disk_secondaries(const json_t *disk, const char *primary,
			     struct strv *ret)
{
	const json_t *id = disk_logical_id(disk);

	for (size_t i = 0; is_pair(disk) && i < 2; i++) {
		const char *node = json_string_value(json_array_get(id, i));

		if (node != NULL && !str_eq(node, primary))
			strv_add_unique(ret, node);
	}
}

void config_instance_secondaries(const struct config *c, const json_t *instance,
				 struct strv *ret)
{
	const char *primary = inst_primary_node_or(instance, NULL);
	size_t i;
	json_t *uuid;

	json_array_foreach (inst_disks(instance), i, uuid)
		config_disk_secondaries(
			config_get(c, CONFIG_DISK, json_string_value(uuid)),
			primary, ret);
}

static void mirrors_leave(struct config *c, const char *instance)
{
	struct config_index *x = &c->index;
	size_t i;
	json_t *node;

	json_array_foreach (json_object_get(x->instance_mirrors, instance), i,
			    node)
		set_del(x->secondaries, json_string_value(node), instance);
	json_object_del(x->instance_mirrors, instance);
}

static void mirrors_enter(struct config *c, const json_t *instance)
{
	struct config_index *x = &c->index;
	const char *uuid = inst_uuid(instance);
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(c, instance, &nodes);
	if (nodes.n == 0)
		return;
	for (size_t i = 0; i < nodes.n; i++)
		set_add(x->secondaries, nodes.items[i], uuid);
	json_object_set_new(x->instance_mirrors, uuid, json_from_strv(&nodes));
}

/* A disk came, went or changed: the secondaries of its instance may be others
 * now. */
void config_index_disk_changed(struct config *c, const char *disk)
{
	const char *uuid = json_str(c->index.disk_owner, disk, NULL);
	const json_t *instance = config_get(c, CONFIG_INSTANCE, uuid);

	if (instance == NULL)
		return;
	mirrors_leave(c, uuid);
	mirrors_enter(c, instance);
}

static void instance_enter(struct config *c, const json_t *instance)
{
	const char *uuid = inst_uuid(instance);
	const char *primary = inst_primary_node_or(instance, NULL);
	size_t i;
	json_t *disk;

	if (primary != NULL)
		set_add(c->index.primaries, primary, uuid);
	json_array_foreach (inst_disks(instance), i, disk)
		if (json_is_string(disk))
			json_set_str(c->index.disk_owner,
				     json_string_value(disk), uuid);
	mirrors_enter(c, instance);
}

static void instance_leave(struct config *c, const json_t *instance)
{
	const char *uuid = inst_uuid(instance);
	const char *primary = inst_primary_node_or(instance, NULL);
	size_t i;
	json_t *disk;

	if (primary != NULL)
		set_del(c->index.primaries, primary, uuid);
	json_array_foreach (inst_disks(instance), i, disk)
		if (json_is_string(disk))
			json_object_del(c->index.disk_owner,
					json_string_value(disk));
	mirrors_leave(c, uuid);
}

void config_index_enter(struct config *c, enum config_kind kind,
			const json_t *object)
{
	const char *name = object_name_or(object, NULL);

	if (config_kinds[kind].named && name != NULL)
		table_put(&c->index.names[kind], name, mem_unconst(object));
	if (kind == CONFIG_NODE && node_group_or(object, NULL) != NULL)
		set_add(c->index.members, node_group_or(object, NULL),
			object_uuid(object));
	if (kind == CONFIG_INSTANCE)
		instance_enter(c, object);
	if (kind == CONFIG_DISK)
		config_index_disk_changed(c, object_uuid(object));
}

void config_index_leave(struct config *c, enum config_kind kind,
			const json_t *object)
{
	const char *name = object_name_or(object, NULL);

	if (config_kinds[kind].named && name != NULL &&
	    table_get(&c->index.names[kind], name) == object)
		table_remove(&c->index.names[kind], name);
	if (kind == CONFIG_NODE && node_group_or(object, NULL) != NULL)
		set_del(c->index.members, node_group_or(object, NULL),
			object_uuid(object));
	if (kind == CONFIG_INSTANCE)
		instance_leave(c, object);
}

void config_node_primaries(const struct config *c, const char *node_uuid,
			   struct strv *ret)
{
	set_list(c->index.primaries, node_uuid, ret);
}

void config_node_secondaries(const struct config *c, const char *node_uuid,
			     struct strv *ret)
{
	set_list(c->index.secondaries, node_uuid, ret);
}

void config_group_nodes(const struct config *c, const char *group_uuid,
			struct strv *ret)
{
	set_list(c->index.members, group_uuid, ret);
}

const char *config_disk_owner(const struct config *c, const char *disk_uuid)
{
	return json_str(c->index.disk_owner, disk_uuid, NULL);
}

const char *config_instance_template(const struct config *c,
				     const json_t *instance)
{
	const json_t *disks = inst_disks(instance);
	const json_t *disk = config_get(
		c, CONFIG_DISK, json_string_value(json_array_get(disks, 0)));

	return disk_dev_type_or(disk, "diskless");
}

json_t *config_instance_disks(const struct config *c, const json_t *instance)
{
	json_t *result = json_array();
	size_t i;
	json_t *uuid;

	json_array_foreach (inst_disks(instance), i, uuid) {
		const json_t *disk =
			config_get(c, CONFIG_DISK, json_string_value(uuid));

		if (disk != NULL)
			json_array_append(result, json_unconst(disk));
	}
	return result;
}

void config_candidate_stats(const struct config *c, size_t *ret_now,
			    size_t *ret_max, size_t *ret_should)
{
	size_t pool = (size_t)cluster_candidate_pool_size(config_cluster(c));
	size_t now = 0, max = 0;
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node) {
		if (node_master_candidate(node))
			now++;
		if (node_master_capable(node) && !node_offline(node) &&
		    !node_drained(node))
			max++;
	}
	*ret_now = now;
	*ret_max = max;
	*ret_should = max < pool ? max : pool;
}

struct sort_key {
	const char *name;
	const char *uuid;
	json_t *object;
};

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int order = str_nice_cmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->uuid, y->uuid);
}

/* In nice order of the names; to be freed. */
static struct sort_key *sorted_keys(const struct config *c,
				    enum config_kind kind, size_t *ret_n)
{
	size_t n = json_object_size(c->objects[kind]), i = 0;
	struct sort_key *keys = xcalloc(n + 1, sizeof(*keys));
	const char *uuid;
	json_t *object;

	json_object_foreach (c->objects[kind], uuid, object)
		keys[i++] = (struct sort_key){
			.name = object_name_or(object, uuid),
			.uuid = uuid,
			.object = object,
		};
	qsort(keys, n, sizeof(*keys), compare_keys);
	*ret_n = n;
	return keys;
}

void config_sorted(const struct config *c, enum config_kind kind,
		   struct strv *ret_uuids)
{
	size_t n;
	auto_free struct sort_key *keys = sorted_keys(c, kind, &n);

	for (size_t i = 0; i < n; i++)
		strv_add(ret_uuids, keys[i].uuid);
}

json_t *config_sorted_objects(const struct config *c, enum config_kind kind)
{
	size_t n;
	auto_free struct sort_key *keys = sorted_keys(c, kind, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append(list, keys[i].object);
	return list;
}
