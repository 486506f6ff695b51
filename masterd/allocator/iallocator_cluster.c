/* SPDX-License-Identifier: BSD-2-Clause */
/* All that placement reads of the configuration's objects is read here.
 *
 * It is the same that iallocator_message.c tells an allocator which is a
 * program; tests compare the answers. */
#include "masterd/allocator/iallocator_cluster.h"

#include <math.h>
#include <string.h>

#include "iallocators/input/request.h"
#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/params/params.h"
#include "masterd/resources/resources.h"

/* --- the cluster --- */

/* Members that change often and say nothing of nodes and instances. */
static bool is_volatile(const char *key)
{
	static const char *const keys[] = {
		"serial_no", "mtime", "highest_used_port", "tcpudp_port_pool"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

/* A changed object shares the members that did not change. */
bool iallocator_cluster_same(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	if (a == b)
		return true;
	if (a == NULL || json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach (json_unconst(a), key, value)
		if (!is_volatile(key) && json_object_get(b, key) != value)
			return false;
	return true;
}

/* --- values --- */

const char **iallocator_cluster_strings(struct arena *a, const json_t *list,
					size_t *ret_n)
{
	size_t n = json_array_size(list);
	const char **ret = arena_calloc(a, n, sizeof(*ret));

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text != NULL)
			ret[(*ret_n)++] = text;
	}
	return ret;
}

static void add_item(struct jval *container, struct jval ***end,
		     struct jval *item)
{
	**end = item;
	*end = &item->next;
	container->n++;
}

static struct jval *jval_of(struct arena *a, const json_t *value)
{
	struct jval *ret = arena_alloc(a, sizeof(*ret)), **end = &ret->first;
	const char *key;
	json_t *member;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_NULL:
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		ret->kind = JT_BOOL;
		ret->flag = json_is_true(value);
		break;
	case JSON_INTEGER:
		ret->kind = JT_NUMBER;
		ret->i = json_integer_value(value);
		ret->d = (double)ret->i;
		break;
	case JSON_REAL:
		ret->kind = JT_NUMBER;
		ret->d = json_real_value(value);
		ret->i = model_trunc(rint(ret->d));
		break;
	case JSON_STRING:
		ret->kind = JT_STRING;
		ret->str = json_string_value(value);
		break;
	case JSON_ARRAY:
		ret->kind = JT_ARRAY;
		json_array_foreach (value, i, member)
			add_item(ret, &end, jval_of(a, member));
		break;
	case JSON_OBJECT:
		ret->kind = JT_OBJECT;
		json_object_foreach (json_unconst(value), key, member) {
			struct jval *item = jval_of(a, member);

			item->key = key;
			add_item(ret, &end, item);
		}
		break;
	}
	return ret;
}

const struct jval *iallocator_cluster_jval(struct arena *a, const json_t *value)
{
	return jval_of(a, value);
}

/* --- the cluster, groups and nodes --- */

int iallocator_cluster_hypervisor(const json_t *cluster, const char **ret,
				  struct error *err)
{
	const json_t *list = cluster_enabled_hypervisors(cluster);

	*ret = json_string_value(json_array_get(list, 0));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (hypervisor_find(name) == NULL)
			return error_set(err, ERR_REQUEST, NULL,
					 "invalid iallocator message: key "
					 "'enabled_hypervisors': Invalid "
					 "string value for type Hypervisor: "
					 "\"%.200s\"",
					 name == NULL ? "" : name);
	}
	return 0;
}

static int read_policy(const struct config *c, const json_t *group,
		       struct arena *a, struct policy *ret, struct error *err)
{
	json_t *filled = params_fill_ipolicy(config_cluster(c), group);
	auto_json json_t *known = NULL;

	ret->max_node_failures = (int)params_max_node_failures(filled);
	known = params_ipolicy_known(filled);
	if (request_policy(a, jval_of(a, known), ret, err) == 0)
		return 0;
	return error_wrap(err, "key 'ipolicy'");
}

static int read_alloc_policy(const json_t *group, enum alloc_policy *ret,
			     struct error *err)
{
	const char *text = group_alloc_policy(group);

	for (int i = 0; i < ALLOC_POLICY_COUNT; i++)
		if (str_eq(alloc_policy_names[i], text)) {
			*ret = (enum alloc_policy)i;
			return 0;
		}
	return error_set(err, ERR_REQUEST, NULL,
			 "key 'alloc_policy': Invalid string value for type "
			 "AllocPolicy: \"%.200s\"",
			 text);
}

static void read_networks(const json_t *group, struct arena *a,
			  struct group *ret)
{
	json_t *networks = json_unconst(group_networks(group)), *netparams;
	const char *uuid;

	ret->networks = arena_calloc(a, json_object_size(networks),
				     sizeof(*ret->networks));
	json_object_foreach (networks, uuid, netparams)
		ret->networks[ret->n_networks++] = uuid;
}

int iallocator_cluster_group(const struct config *c, const char *uuid,
			     struct arena *a, struct group *ret,
			     struct error *err)
{
	const json_t *group = config_get(c, CONFIG_GROUP, uuid);

	*ret = (struct group){.name = group_name(group),
			      .uuid = group_uuid(group)};
	ret->tags =
		iallocator_cluster_strings(a, group_tags(group), &ret->n_tags);
	read_networks(group, a, ret);
	if (read_alloc_policy(group, &ret->alloc_policy, err) < 0 ||
	    read_policy(c, group, a, &ret->policy, err) < 0)
		return error_wrap(err, "invalid data for group '%s'", uuid);
	return 0;
}

void iallocator_cluster_node(const struct config *c, const json_t *node,
			     struct build_node *ret)
{
	const json_t *group = config_get(c, CONFIG_GROUP, node_group(node));
	auto_json json_t *nd = params_fill_nd(config_cluster(c), group, node);

	*ret = (struct build_node){
		.name = node_name(node),
		.group = NO_INDEX,
		.offline = node_offline(node),
		.drained = node_drained(node),
		.vm_capable = node_vm_capable(node),
		.exclusive_storage = nd_exclusive_storage(nd),
		.spindle_count = nd_spindle_count(nd),
	};
}

/* --- instances --- */

static void read_memory(const struct config *c, const json_t *object,
			struct build_instance *ret)
{
	auto_json json_t *be =
		params_fill_be(config_cluster(c), inst_beparams(object));
	int64_t minmem = be_minmem(be);

	ret->memory = be_maxmem(be);
	ret->minmem = minmem == 0 ? ret->memory : minmem;
	ret->vcpus = be_vcpus(be);
	ret->spindle_use = be_spindle_use(be);
	ret->stays = !be_auto_balance(be);
}

static void read_disks(const json_t *disks, struct build_instance *ret)
{
	size_t i;
	json_t *disk;

	ret->disks = xcalloc(json_array_size(disks), sizeof(*ret->disks));
	json_array_foreach (disks, i, disk)
		ret->disks[ret->n_disks++] = (struct disk_need){
			.size = disk_size_mib(disk),
			.spindles = disk_spindles_or(disk, SPINDLES_UNKNOWN)};
}

static void read_tags(const json_t *object, struct build_instance *ret)
{
	const json_t *tags = inst_tags(object);
	size_t n = json_array_size(tags);

	ret->tags = xcalloc(n, sizeof(*ret->tags));
	for (size_t i = 0; i < n; i++) {
		const char *tag = json_string_value(json_array_get(tags, i));

		if (tag != NULL)
			ret->tags[ret->n_tags++] = tag;
	}
}

static int check_nics(const struct config *c, const json_t *object,
		      struct error *err)
{
	const json_t *cluster = config_cluster(c);
	size_t i;
	json_t *nic;

	json_array_foreach (inst_nics(object), i, nic) {
		auto_json json_t *filled =
			params_fill_nic(cluster, nic_nicparams(nic));

		if (!build_knows_nic_mode(nicparams_mode(filled)))
			return error_set(err, ERR_REQUEST, NULL,
					 "invalid NIC mode in instance %s",
					 inst_name(object));
	}
	return 0;
}

static int read_template(const char *name, const json_t *object,
			 enum template *ret, struct error *err)
{
	int i = cluster_find_template(name);

	if (i == NO_INDEX)
		return error_set(err, ERR_REQUEST, NULL,
				 "unknown disk template '%.200s' of instance "
				 "%s",
				 name, inst_name(object));
	*ret = (enum template)i;
	return 0;
}

int iallocator_cluster_instance(const struct config *c, const json_t *object,
				struct iallocator_placed *ret,
				struct error *err)
{
	const char *template = config_instance_template(c, object);
	struct build_instance v = {
		.name = inst_name(object),
		.admin_state = inst_admin_state(object),
	};
	int rc = 0;

	*ret = (struct iallocator_placed){
		.disks = config_instance_disks(c, object),
		.primary = inst_primary_node(object),
	};
	config_instance_secondaries(c, object, &ret->secondaries);
	read_memory(c, object, &v);
	read_disks(ret->disks, &v);
	read_tags(object, &v);
	v.disk_space = resources_disk_sum(ret->disks, template);
	if (read_template(template, object, &v.template, err) < 0 ||
	    check_nics(c, object, err) < 0)
		rc = -1;
	build_instance(&v, &ret->inst);
	return rc;
}

void iallocator_cluster_instance_done(struct iallocator_placed *p)
{
	free(p->inst.disks);
	free(p->inst.tags);
	json_decref(p->disks);
	strv_done(&p->secondaries);
}

bool iallocator_cluster_same_disks(const struct config *c, const json_t *object,
				   const json_t *disks)
{
	size_t i, n = 0;
	json_t *uuid;

	json_array_foreach (inst_disks(object), i, uuid) {
		const json_t *disk =
			config_get(c, CONFIG_DISK, json_string_value(uuid));

		if (disk != NULL && json_array_get(disks, n++) != disk)
			return false;
	}
	return n == json_array_size(disks);
}
