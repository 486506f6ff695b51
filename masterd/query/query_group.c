/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of node groups. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/query/query_private.h"

static void list_nodes(const struct query *q, const struct query_row *row,
		       struct strv *ret)
{
	config_group_nodes(q->m->config, group_uuid(row->object), ret);
}

static void list_instances(const struct query *q, const struct query_row *row,
			   struct strv *ret)
{
	auto_strv struct strv nodes = {0};

	list_nodes(q, row, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		config_node_primaries(q->m->config, nodes.items[i], ret);
}

static struct query_cell get_node_count(const struct query *q,
					struct query_row *row,
					const struct query_field *field)
{
	auto_strv struct strv nodes = {0};

	(void)field;
	list_nodes(q, row, &nodes);
	return query_value(json_integer((json_int_t)nodes.n));
}

static struct query_cell get_nodes(const struct query *q, struct query_row *row,
				   const struct query_field *field)
{
	auto_strv struct strv nodes = {0};

	(void)field;
	list_nodes(q, row, &nodes);
	return query_value(query_names(q, CONFIG_NODE, &nodes));
}

static struct query_cell get_instance_count(const struct query *q,
					    struct query_row *row,
					    const struct query_field *field)
{
	auto_strv struct strv instances = {0};

	(void)field;
	list_instances(q, row, &instances);
	return query_value(json_integer((json_int_t)instances.n));
}

static struct query_cell get_instances(const struct query *q,
				       struct query_row *row,
				       const struct query_field *field)
{
	auto_strv struct strv instances = {0};

	(void)field;
	list_instances(q, row, &instances);
	return query_value(query_names(q, CONFIG_INSTANCE, &instances));
}

static struct query_cell get_ipolicy(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	(void)field;
	return query_value(params_ipolicy_known(params_fill_ipolicy(
		config_cluster(q->m->config), row->object)));
}

static struct query_cell get_ipolicy_extra(const struct query *q,
					   struct query_row *row,
					   const struct query_field *field)
{
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(q->m->config), row->object);

	(void)field;
	return query_value(params_ipolicy_extra(policy));
}

static struct query_cell get_diskparams(const struct query *q,
					struct query_row *row,
					const struct query_field *field)
{
	const json_t *cluster = config_cluster(q->m->config);
	json_t *all = json_object();

	(void)field;
	for (const char *const *t = template_names; *t != NULL; t++)
		json_object_set_new(all, *t,
				    params_fill_disk(cluster, row->object, *t));
	return query_value(all);
}

/* clang-format off */
static const struct query_field fields[] = {
	{"name", "Group", KIND_TEXT, "Name of the node group",
	 query_get_member, "name"},
	{"alloc_policy", "AllocPolicy", KIND_TEXT,
	 "How allocators use it: preferred, last_resort or unallocable",
	 query_get_member, "alloc_policy"},
	{"node_cnt", "Nodes", KIND_NUMBER, "Number of its nodes",
	 get_node_count},
	{"node_list", "NodeList", KIND_OTHER, "Its nodes", get_nodes},
	{"pinst_cnt", "Instances", KIND_NUMBER,
	 "How many instances have their primary node here",
	 get_instance_count},
	{"pinst_list", "InstanceList", KIND_OTHER,
	 "Instances that have their primary node here", get_instances},
	{"ipolicy", "InstancePolicy", KIND_OTHER, "Instance policy in force",
	 get_ipolicy},
	{"ipolicy_extra", "InstancePolicyExtra", KIND_OTHER,
	 "Values of the policy that Ganeti does not have", get_ipolicy_extra,
	 .own = true},
	{"custom_ipolicy", "CustomInstancePolicy", KIND_OTHER,
	 "Instance policy of its own", query_get_dict, "ipolicy"},
	{"diskparams", "DiskParameters", KIND_OTHER,
	 "Disk parameters in force", get_diskparams},
	{"custom_diskparams", "CustomDiskParameters", KIND_OTHER,
	 "Disk parameters of its own", query_get_dict, "diskparams"},
	{"ndparams", "NDParams", KIND_OTHER, "Node parameters in force",
	 query_get_ndparams},
	{"custom_ndparams", "CustomNDParams", KIND_OTHER,
	 "Node parameters of its own", query_get_dict, "ndparams"},
	QUERY_ND_FIELDS,
	QUERY_COMMON_FIELDS("node group"),
};
/* clang-format on */

const struct query_class query_class_group = {
	.what = "group",
	.title = "Group",
	.name_field = "name",
	QUERY_TABLE(fields),
	.kind = CONFIG_GROUP,
};
