/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_QUERYVOLS: the logical volumes of nodes, and whose they are. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/frame/lu.h"

struct volumes {
	struct lu lu;
	struct strv nodes; /* UUIDs, in nice order of the names */
};

static struct volumes *volumes_of(struct lu *lu)
{
	return container_of(lu, struct volumes, lu);
}

static int volumes_expand(struct lu *lu, struct error *err)
{
	const struct op_node_queryvols *op = lu->op;

	return lu_want_nodes(lu, op->nodes, false, &volumes_of(lu)->nodes, err);
}

static const struct field {
	const char *name, *member; /* of what the node says; NULL: ours */
} fields[] = {
	{"node", NULL},	  {"phys", "dev"},  {"vg", "vg"},
	{"name", "name"}, {"size", "size"}, {"instance", NULL},
};

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (str_eq(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int volumes_check(struct lu *lu, struct error *err)
{
	const struct op_node_queryvols *op = lu->op;

	for (size_t i = 0; i < json_array_size(op->output_fields); i++) {
		const char *name =
			json_string_value(json_array_get(op->output_fields, i));

		if (find_field(name) == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown output fields selected: %s",
					 name);
	}
	return 0;
}

/* --- whose is a volume? --- */

static char *volume_key(const char *node, const char *vg, const char *name)
{
	return xprintf("%s %s/%s", node, vg, name);
}

/* A disk, or those below it, on each of the nodes. */
static void add_disk(struct table *owners, const json_t *disk,
		     const struct strv *nodes, const json_t *inst)
{
	const json_t *id = disk_logical_id(disk);
	const json_t *children = disk_children(disk);

	for (size_t i = 0; i < json_array_size(children); i++)
		add_disk(owners, json_array_get(children, i), nodes, inst);
	if (!template_is_volume(disk_dev_type(disk)))
		return;
	for (size_t i = 0; i < nodes->n; i++) {
		auto_free char *key = volume_key(
			nodes->items[i],
			json_string_value(json_array_get(id, 0)) ?: "",
			json_string_value(json_array_get(id, 1)) ?: "");

		table_put(owners, key, mem_unconst(inst_name(inst)));
	}
}

static void find_owners(const struct config *c, struct table *owners)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst) {
		auto_json json_t *disks = config_instance_disks(c, inst);
		auto_strv struct strv nodes = {0};

		strv_add(&nodes, inst_primary_node(inst));
		config_instance_secondaries(c, inst, &nodes);
		for (size_t i = 0; i < json_array_size(disks); i++)
			add_disk(owners, json_array_get(disks, i), &nodes,
				 inst);
	}
}

/* --- rows --- */

static json_t *cell(const struct field *f, const json_t *node,
		    const json_t *volume, const struct table *owners)
{
	auto_free char *key = NULL;
	const char *owner;

	if (strcmp(f->name, "node") == 0)
		return json_string(node_name(node));
	if (strcmp(f->name, "size") == 0)
		return json_sprintf("%lld",
				    (long long)json_num(volume, "size", 0));
	if (f->member != NULL)
		return json_string(json_str(volume, f->member, ""));
	key = volume_key(node_uuid(node), json_str(volume, "vg", ""),
			 json_str(volume, "name", ""));
	owner = table_get(owners, key);
	return json_string(owner == NULL ? "-" : owner);
}

static int by_device(const void *a, const void *b)
{
	return strcmp(json_str(*(json_t *const *)a, "dev", ""),
		      json_str(*(json_t *const *)b, "dev", ""));
}

static void add_rows(struct lu *lu, const struct node_result *r,
		     const struct table *owners, json_t *ret)
{
	const struct op_node_queryvols *op = lu->op;
	size_t n = json_array_size(r->payload);
	const json_t **rows = xcalloc(n + 1, sizeof(*rows));

	for (size_t i = 0; i < n; i++)
		rows[i] = json_array_get(r->payload, i);
	qsort(rows, n, sizeof(*rows), by_device);
	for (size_t i = 0; i < n; i++) {
		json_t *row = json_array();

		for (size_t k = 0; k < json_array_size(op->output_fields); k++)
			json_array_append_new(
				row,
				cell(find_field(
					     json_string_value(json_array_get(
						     op->output_fields, k))),
				     r->node, rows[i], owners));
		json_array_append_new(ret, row);
	}
	free(rows);
}

static WAITS json_t *volumes_exec(struct lu *lu, struct error *err)
{
	size_t n;
	struct node_result *results = lu_call_nodes(lu, &volumes_of(lu)->nodes,
						    rpc_node_volumes(), &n);
	struct table owners = {0};
	json_t *ret = json_array();

	(void)err;
	find_owners(lu->m->config, &owners);
	for (size_t i = 0; i < n; i++) {
		if (results[i].payload == NULL && !results[i].offline)
			lu_warn(lu, "Can't compute volume data on node %s: %s",
				node_name(results[i].node),
				results[i].err->text);
		add_rows(lu, &results[i], &owners, ret);
	}
	table_done(&owners, NULL);
	node_results_free(results, n);
	return ret;
}

static void volumes_done(struct lu *lu)
{
	strv_done(&volumes_of(lu)->nodes);
}

const struct lu_class lu_node_queryvols = {
	.op = &op_class_node_queryvols,
	.size = sizeof(struct volumes),
	.expand = volumes_expand,
	.check = volumes_check,
	.exec = volumes_exec,
	.done = volumes_done,
};
