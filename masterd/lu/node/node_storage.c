/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_QUERY_STORAGE: what storage nodes have, a row each unit. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/node/storage_types.h"

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

static int storage_expand(struct lu *lu, struct error *err)
{
	const struct op_node_query_storage *op = lu->op;

	return lu_want_nodes(lu, op->nodes, false, &storage_of(lu)->nodes, err);
}

static bool is_field(const char *name)
{
	static const char *const known[] = {
		"node", "type", "name", "size", "used", "free", "allocatable"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eq(name, known[i]))
			return true;
	return false;
}

static int storage_check(struct lu *lu, struct error *err)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;

	q->type = storage_type_used(lu, op->storage_type, err);
	if (q->type == NULL)
		return -1;
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
	const char *node = node_name(r->node);

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

static struct rpc_request list_request(struct lu *lu)
{
	struct query_storage *q = storage_of(lu);
	const struct op_node_query_storage *op = lu->op;

	return rpc_storage_list(q->type, storage_type_args(lu, q->type),
				op->name, json_from_strv(&q->fields));
}

static WAITS json_t *storage_exec(struct lu *lu, struct error *err)
{
	size_t n;
	struct node_result *results =
		lu_call_nodes(lu, &storage_of(lu)->nodes, list_request(lu), &n);
	json_t *ret = json_array();

	(void)err;
	for (size_t i = 0; i < n; i++)
		add_rows(lu, &results[i], ret);
	node_results_free(results, n);
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
