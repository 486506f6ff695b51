/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_QUERY_STORAGE: what storage nodes have, a row each unit. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/lu.h"

struct query_storage {
	struct lu lu;
	const char *type;
	struct strv nodes;  /* UUIDs, in nice order of the names */
	struct strv fields; /* to ask the nodes for */
};

static struct query_storage *storage_of(struct lu *lu)
{
	return container_of(lu, struct query_storage, lu);
}

static int find_nodes(struct lu *lu, struct error *err)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;

	strv_done(&q->nodes);
	q->nodes = (struct strv){0};
	for (size_t i = 0; i < json_array_size(op->nodes); i++) {
		const json_t *node = lu_node(
			lu, json_string_value(json_array_get(op->nodes, i)),
			err);

		if (node == NULL)
			return -1;
		strv_add_unique(&q->nodes, json_str(node, "uuid", ""));
	}
	if (json_array_size(op->nodes) == 0)
		config_sorted(lu->m->config, CONFIG_NODE, &q->nodes);
	return 0;
}

static int storage_expand(struct lu *lu, struct error *err)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;

	if (find_nodes(lu, err) < 0)
		return -1;
	if (json_array_size(op->nodes) == 0)
		lu_want_all(lu, LOCK_NODE, false);
	else
		for (size_t i = 0; i < q->nodes.n; i++)
			lu_want(lu, LOCK_NODE, q->nodes.items[i], false);
	return 0;
}

/* The types of storage that can be listed, the template that each serves, and
 * where it is. */
static const struct storage {
	const char *type, *template, *place;
} storages[] = {
	{"file", "file", "file_storage_dir"},
	{"sharedfile", "sharedfile", "shared_file_storage_dir"},
	{"gluster", "gluster", "gluster_storage_dir"},
	{"lvm-vg", "plain", "volume_group_name"},
	{"lvm-vg", "drbd", "volume_group_name"},
	{"lvm-pv", "plain", "volume_group_name"},
	{"lvm-pv", "drbd", "volume_group_name"},
};
#define N_STORAGES (sizeof(storages) / sizeof(*storages))

/* The storage of that type, or (NULL) of the first enabled template that has
 * one. */
static const struct storage *find_storage(const json_t *cluster,
					  const char *type)
{
	const json_t *enabled = json_get(cluster, "enabled_disk_templates");

	for (size_t k = 0; k < json_array_size(enabled); k++)
		for (size_t i = 0; i < N_STORAGES; i++)
			if (str_eq(json_string_value(
					   json_array_get(enabled, k)),
				   storages[i].template) &&
			    (type == NULL || str_eq(type, storages[i].type)))
				return &storages[i];
	return NULL;
}

static bool is_field(const char *name)
{
	static const char *const known[] = {
		"node", "type", "name", "size", "used", "free", "allocatable"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_eq(name, known[i]))
			return true;
	return false;
}

static int storage_check(struct lu *lu, struct error *err)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;
	const struct storage *found =
		find_storage(config_cluster(lu->m->config), op->storage_type);

	if (found == NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Storage of type '%s' is not used by any "
				 "enabled disk template",
				 op->storage_type == NULL ? "any"
							  : op->storage_type);
	q->type = found->type;
	strv_add(&q->fields, "name"); /* rows are sorted by it */
	for (size_t i = 0; i < json_array_size(op->output_fields); i++) {
		const char *name =
			json_string_value(json_array_get(op->output_fields, i));

		if (!is_field(name))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown output fields selected: %s",
					 name);
		if (!str_eq(name, "node") && !str_eq(name, "type"))
			strv_add_unique(&q->fields, name);
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const json_t *const *x = a, *const *y = b;
	const char *p = json_string_value(json_array_get(*x, 0));
	const char *q = json_string_value(json_array_get(*y, 0));

	return str_nice_cmp(p == NULL ? "" : p, q == NULL ? "" : q);
}

/* One row in the order of output_fields. */
static json_t *output_row(struct lu *lu, const char *node, const json_t *values)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;
	json_t *row = json_array();

	for (size_t i = 0; i < json_array_size(op->output_fields); i++) {
		const char *name =
			json_string_value(json_array_get(op->output_fields, i));
		json_t *value = NULL;

		for (size_t k = 0; k < q->fields.n; k++)
			if (str_eq(name, q->fields.items[k]))
				value = json_array_get(values, k);
		if (str_eq(name, "node"))
			json_array_append_new(row, json_string(node));
		else if (str_eq(name, "type"))
			json_array_append_new(row, json_string(q->type));
		else if (value != NULL)
			json_array_append(row, value);
		else
			json_array_append_new(row, json_null());
	}
	return row;
}

static void add_rows(struct lu *lu, const struct node_result *r, json_t *ret)
{
	size_t n = json_array_size(r->payload);
	const json_t **rows = xcalloc(n == 0 ? 1 : n, sizeof(*rows));
	const char *node = json_str(r->node, "name", "");

	if (r->payload == NULL && !r->offline)
		lu_warn(lu, "Can't get storage data from node %s: %s", node,
			r->err->text);
	for (size_t i = 0; i < n; i++)
		rows[i] = json_array_get(r->payload, i);
	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(ret, output_row(lu, node, rows[i]));
	free(rows);
}

static json_t *call_args(struct lu *lu)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;
	const json_t *cluster = config_cluster(lu->m->config);
	const struct storage *s = find_storage(cluster, q->type);
	const char *place = json_str(cluster, s->place, "");

	if (str_starts(q->type, "lvm-"))
		return json_make("[s, [s], s?, o]", q->type, place, op->name,
				 json_from_strv(&q->fields));
	return json_make("[s, [[s]], s?, o]", q->type, place, op->name,
			 json_from_strv(&q->fields));
}

static WAITS json_t *storage_exec(struct lu *lu, struct error *err)
{
	struct query_storage *q = storage_of(lu);
	struct node_result *results = node_results_new(q->nodes.n);
	json_t *ret = json_array();
	size_t n = 0;

	(void)err;
	for (size_t i = 0; i < q->nodes.n; i++) {
		json_t *node = (json_t *)config_get(lu->m->config, CONFIG_NODE,
						    q->nodes.items[i]);

		if (node != NULL)
			results[n++].node = json_incref(node);
	}
	noderpc_call_many(lu->m->rpc, results, n, "storage_list",
			  call_args(lu));
	for (size_t i = 0; i < n; i++)
		add_rows(lu, &results[i], ret);
	node_results_free(results, q->nodes.n);
	return ret;
}

static void storage_done(struct lu *lu)
{
	strv_done(&storage_of(lu)->nodes);
	strv_done(&storage_of(lu)->fields);
}

const struct lu_class lu_node_query_storage = {
	.op = &op_class_node_query_storage,
	.size = sizeof(struct query_storage),
	.expand = storage_expand,
	.check = storage_check,
	.exec = storage_exec,
	.done = storage_done,
};
