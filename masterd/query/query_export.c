/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of the exports that nodes keep: the nodes are asked for the rows. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/query/query_private.h"
#include "masterd/rpc/noderpc.h"

/* A node that did not answer is a row without an export. */
static struct query_cell get_export(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	(void)q;
	if (node_offline(row->object))
		return query_none(QUERY_OFFLINE);
	if (json_get(row->object, field->name) == NULL)
		return query_none(QUERY_NODATA);
	return query_get_member(q, row, field);
}

static const struct query_field fields[] = {
	{"node", "Node", KIND_TEXT, "Node that has the export",
	 query_get_member, "node", 0, false, FILTER_HOSTNAME},
	{"export", "Export", KIND_TEXT, "Name of the export", get_export,
	 "export"},
};

/* So many comparisons of names count as one step. */
#define NAMES_A_STEP 50

static WAITS int find_nodes(struct query *q, const struct strv *names,
			    struct strv *ret_uuids, struct error *err)
{
	if (names == NULL) {
		config_sorted(q->m->config, CONFIG_NODE, ret_uuids);
		return 0;
	}
	for (size_t i = 0; i < names->n; i++) {
		const json_t *node = config_expect(q->m->config, CONFIG_NODE,
						   names->items[i], err);

		if (node == NULL)
			return -1;
		strv_add_unique(ret_uuids, node_uuid(node));
		slice_steps(&q->work, 1 + ret_uuids->n / NAMES_A_STEP);
	}
	return 0;
}

static WAITS int add_row(struct query *q, const struct node_result *r,
			 const json_t *name)
{
	auto_json json_t *object =
		json_make("{s:O, s:b}", "node", node_name_value(r->node),
			  "offline", r->offline);

	if (name != NULL)
		json_object_set(object, "export", json_unconst(name));
	return query_add_row(q, &(struct query_row){.object = object});
}

static WAITS int add_rows(struct query *q, const struct node_result *r)
{
	if (r->payload == NULL)
		return add_row(q, r, NULL);
	for (size_t i = 0; i < json_array_size(r->payload); i++)
		if (add_row(q, r, json_array_get(r->payload, i)) < 0)
			return -1;
	return 0;
}

static WAITS int export_rows(struct query *q, const struct strv *names,
			     struct error *err)
{
	auto_strv struct strv uuids = {0};
	struct node_result *results;
	int rc = 0;

	if (find_nodes(q, names, &uuids, err) < 0)
		return -1;
	results = node_results_new(uuids.n);
	for (size_t i = 0; i < uuids.n; i++)
		results[i].node = json_ref(
			config_get(q->m->config, CONFIG_NODE, uuids.items[i]));
	query_ask(q);
	noderpc_look_many(q->m->rpc, results, uuids.n, rpc_export_list(NULL));
	query_asked(q);
	for (size_t i = 0; i < uuids.n && rc == 0; i++)
		rc = add_rows(q, &results[i]);
	node_results_free(results, uuids.n);
	return rc;
}

static bool rows_wait(const struct query *q, const struct strv *names)
{
	(void)q, (void)names;
	return true;
}

const struct query_class query_class_export = {
	.what = "export",
	.title = "Export",
	.name_field = "node",
	QUERY_TABLE(fields),
	.rows = export_rows,
	.rows_wait = rows_wait,
};
