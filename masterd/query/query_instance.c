/* SPDX-License-Identifier: BSD-2-Clause */
/* What the configuration says of an instance. */
#include "masterd/query/query_instance.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

/* A DRBD disk has this much beside its data, in MiB. */

static const json_t *cluster_of(const struct query *q)
{
	return config_cluster(q->m->config);
}

/* --- members --- */

struct query_cell query_instance_admin_up(const struct query *q,
					  struct query_row *row,
					  const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_value(json_boolean(
		str_eq(inst_admin_state_or(row->object, NULL), "up")));
}

struct query_cell query_instance_forthcoming(const struct query *q,
					     struct query_row *row,
					     const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_value(json_boolean(inst_forthcoming(row->object)));
}

struct query_cell query_instance_template(const struct query *q,
					  struct query_row *row,
					  const struct query_field *field)
{
	(void)field;
	return query_text(config_instance_template(q->m->config, row->object));
}

struct query_cell query_instance_port(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_maybe(inst_network_port_value(row->object));
}

const json_t *query_node_group(const struct query *q, const char *node_uuid)
{
	const json_t *node = config_get(q->m->config, CONFIG_NODE, node_uuid);

	return config_get(q->m->config, CONFIG_GROUP,
			  node_group_or(node, NULL));
}

/* arg: "name", "group" or "group.uuid" of the node; NULL if there is none. */
static const json_t *of_node(const struct query *q, const char *uuid,
			     const char *arg)
{
	const json_t *group = query_node_group(q, uuid);

	if (strcmp(arg, "name") == 0)
		return node_name_value(
			config_get(q->m->config, CONFIG_NODE, uuid));
	return strcmp(arg, "group") == 0 ? group_name_value(group)
					 : group_uuid_value(group);
}

struct query_cell query_instance_node(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	return query_maybe(of_node(q, inst_primary_node_or(row->object, NULL),
				   field->arg));
}

struct query_cell query_instance_secondaries(const struct query *q,
					     struct query_row *row,
					     const struct query_field *field)
{
	auto_strv struct strv uuids = {0};
	json_t *list = json_array();

	config_instance_secondaries(q->m->config, row->object, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *text = of_node(q, uuids.items[i], field->arg);

		if (text != NULL)
			json_array_append(list, json_unconst(text));
	}
	return query_value(list);
}

/* --- parameters --- */

/* Without those that are the same for all instances. */
static json_t *fill_hv(const struct query *q, const struct query_row *row)
{
	const json_t *i = row->object;
	json_t *filled = params_fill_hv(cluster_of(q), inst_hypervisor(i),
					inst_os_or(i, NULL), inst_hvparams(i));
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(filled, next, name,
				 value) if (params_hv_is_global(name))
		json_object_del(filled, name);
	return filled;
}

static json_t *fill_be(const struct query *q, const struct query_row *row)
{
	return params_fill_be(cluster_of(q), inst_beparams(row->object));
}

static json_t *fill_os(const struct query *q, const struct query_row *row)
{
	return params_fill_os(cluster_of(q), inst_os(row->object),
			      inst_osparams(row->object));
}

static json_t *list_disks(const struct query *q, const struct query_row *row)
{
	return config_instance_disks(q->m->config, row->object);
}

/* {mac, ip, uuid, name, network, network.name, mode, link, vlan, bridge} of
 * each NIC, as far as it has them. */
static json_t *nic_values(const struct query *q, const json_t *nic)
{
	auto_json json_t *filled =
		params_fill_nic(cluster_of(q), nic_nicparams(nic));
	const char *network = nic_network(nic);
	json_t *values = json_copy(json_unconst(nic));

	json_object_update(values, filled);
	if (str_eq(nicparams_mode(filled), "bridged"))
		json_set_str(values, "bridge", nicparams_link(filled));
	if (!str_eq(nicparams_mode(filled), "openvswitch"))
		json_object_del(values, "vlan");
	if (network != NULL)
		json_set_str(
			values, "network.name",
			network_name_or(config_get(q->m->config, CONFIG_NETWORK,
						   network),
					NULL));
	return values;
}

static json_t *list_nics(const struct query *q, const struct query_row *row)
{
	const json_t *nics = inst_nics(row->object);
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(nics); i++)
		json_array_append_new(list,
				      nic_values(q, json_array_get(nics, i)));
	return list;
}

/* Values that several fields of a row need are computed once. */
static const json_t *
cached(const struct query *q, struct query_row *row, const char *key,
       json_t *(*make)(const struct query *q, const struct query_row *row))
{
	if (row->cache == NULL)
		row->cache = json_object();
	if (json_object_get(row->cache, key) == NULL)
		json_object_set_new(row->cache, key, make(q, row));
	return json_object_get(row->cache, key);
}

struct query_cell query_instance_hvparams(const struct query *q,
					  struct query_row *row,
					  const struct query_field *field)
{
	(void)field;
	return query_maybe(cached(q, row, "hv", fill_hv));
}

struct query_cell query_instance_beparams(const struct query *q,
					  struct query_row *row,
					  const struct query_field *field)
{
	(void)field;
	return query_maybe(cached(q, row, "be", fill_be));
}

struct query_cell query_instance_osparams(const struct query *q,
					  struct query_row *row,
					  const struct query_field *field)
{
	(void)field;
	return query_value(fill_os(q, row));
}

struct query_cell query_instance_hv(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	return query_maybe(
		json_object_get(cached(q, row, "hv", fill_hv), field->arg));
}

struct query_cell query_instance_be(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	return query_maybe(
		json_object_get(cached(q, row, "be", fill_be), field->arg));
}

struct query_cell query_instance_custom_nics(const struct query *q,
					     struct query_row *row,
					     const struct query_field *field)
{
	const json_t *nics = inst_nics(row->object);
	json_t *list = json_array();

	(void)q;
	(void)field;
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *own = nic_nicparams(json_array_get(nics, i));

		json_array_append_new(list, json_overlay(own, NULL));
	}
	return query_value(list);
}

/* --- disks and NICs --- */

static struct query_cell member_of_all(const json_t *list, const char *member)
{
	json_t *values = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *value =
			json_object_get(json_array_get(list, i), member);

		json_array_append_new(values, value == NULL
						      ? json_null()
						      : json_incref(value));
	}
	return query_value(values);
}

static struct query_cell member_of_one(const json_t *list,
				       const struct query_field *field)
{
	return query_maybe(json_object_get(
		json_array_get(list, (size_t)field->index), field->arg));
}

struct query_cell query_instance_disk_count(const struct query *q,
					    struct query_row *row,
					    const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_value(json_integer(
		(json_int_t)json_array_size(inst_disks(row->object))));
}

struct query_cell query_instance_disk_usage(const struct query *q,
					    struct query_row *row,
					    const struct query_field *field)
{
	const json_t *disks = cached(q, row, "disks", list_disks);
	int64_t usage = 0;

	(void)field;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		usage += disk_size_mib(disk);
		usage += template_get(disk_dev_type_or(disk, NULL))
				 ->overhead_mib;
	}
	return query_value(json_integer(usage));
}

struct query_cell query_instance_disks(const struct query *q,
				       struct query_row *row,
				       const struct query_field *field)
{
	return member_of_all(cached(q, row, "disks", list_disks), field->arg);
}

struct query_cell query_instance_disk(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	return member_of_one(cached(q, row, "disks", list_disks), field);
}

struct query_cell query_instance_nic_count(const struct query *q,
					   struct query_row *row,
					   const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_value(json_integer(
		(json_int_t)json_array_size(inst_nics(row->object))));
}

struct query_cell query_instance_nics(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	return member_of_all(cached(q, row, "nics", list_nics), field->arg);
}

struct query_cell query_instance_nic(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	return member_of_one(cached(q, row, "nics", list_nics), field);
}

const struct query_class query_class_instance = {
	.what = "instance",
	.title = "Instance",
	.name_field = "name",
	.make_fields = query_instance_fields,
	.kind = CONFIG_INSTANCE,
	.collect = query_instance_collect,
	.live_done = query_instance_live_done,
};
