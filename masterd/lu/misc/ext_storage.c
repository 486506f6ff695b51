/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_EXT_STORAGE_DIAGNOSE: which providers of external storage the nodes have,
 * and in which groups all nodes have them. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/misc/diagnose.h"

/* Places in a node's row [name, path, valid, reason, parameters]. */
enum { ROW_NAME, ROW_PATH, ROW_VALID, ROW_WHY, ROW_PARAMETERS, ROW_N };

/* {provider: {node's UUID: [[path, valid, reason, parameters], ...]}} */
static void add_row(void *all, const json_t *row, const char *uuid)
{
	const char *name = json_string_value(json_array_get(row, ROW_NAME));
	json_t *nodes;

	if (name == NULL || json_array_size(row) != ROW_N)
		return;
	nodes = json_object_get(all, name);
	if (nodes == NULL) {
		nodes = json_object();
		json_object_set_new(all, name, nodes);
	}
	diagnose_add(nodes, row, uuid);
}

static bool is_valid(const json_t *nodes, const char *uuid)
{
	const json_t *first = json_array_get(json_object_get(nodes, uuid), 0);

	return json_is_true(json_array_get(first, ROW_VALID - 1));
}

/* {group: whether all its nodes that answered have it} */
static json_t *group_status(struct lu *lu, const json_t *nodes,
			    const struct strv *answered)
{
	json_t *status = json_object(), *group;
	const char *uuid;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_GROUP)), uuid,
		group) {
		bool valid = true;

		for (size_t i = 0; i < answered->n; i++) {
			const json_t *node = config_get(
				lu->m->config, CONFIG_NODE, answered->items[i]);

			if (str_eq(node_group_or(node, NULL), uuid))
				valid &= is_valid(nodes, answered->items[i]);
		}
		json_set_bool(status, group_name(group), valid);
	}
	return status;
}

static bool has_equal(const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_same(json_array_get(list, i), value))
			return true;
	return false;
}

/* What it takes on every node. */
static json_t *common_parameters(const json_t *nodes,
				 const struct strv *answered)
{
	json_t *common = NULL;

	for (size_t i = 0; i < answered->n; i++) {
		const json_t *list = json_array_get(
			json_array_get(
				json_object_get(nodes, answered->items[i]), 0),
			ROW_PARAMETERS - 1);
		json_t *both = json_array();

		for (size_t k = 0; k < json_array_size(list); k++) {
			json_t *one = json_array_get(list, k);

			if (common == NULL || has_equal(common, one))
				json_array_append(both, one);
		}
		json_decref(common);
		common = both;
	}
	return common == NULL ? json_array() : common;
}

/* By the names of the nodes, with an empty list where it is not. */
static json_t *node_status(struct lu *lu, const json_t *nodes,
			   const struct strv *answered)
{
	json_t *status = json_object();

	for (size_t i = 0; i < answered->n; i++) {
		json_t *rows = json_object_get(nodes, answered->items[i]);

		json_object_set_new(status,
				    config_name(lu->m->config, CONFIG_NODE,
						answered->items[i]),
				    rows == NULL ? json_array()
						 : json_incref(rows));
	}
	return status;
}

static json_t *field(struct lu *lu, const char *which, const char *name,
		     const json_t *nodes, const struct strv *answered)
{
	if (str_eq(which, "name"))
		return json_string(name);
	if (str_eq(which, "node_status"))
		return node_status(lu, nodes, answered);
	if (str_eq(which, "nodegroup_status"))
		return group_status(lu, nodes, answered);
	return common_parameters(nodes, answered);
}

static int diagnose_check(struct lu *lu, struct error *err)
{
	static const char *const known[] = {"name", "node_status",
					    "nodegroup_status", "parameters"};
	const struct op_ext_storage_diagnose *op = lu->op;

	for (size_t i = 0; i < json_array_size(op->output_fields); i++) {
		const char *which =
			json_string_value(json_array_get(op->output_fields, i));
		bool found = false;

		for (size_t k = 0; k < ARRAY_SIZE(known); k++)
			found |= str_eq(known[k], which);
		if (!found)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown output fields selected: %s",
					 which);
	}
	return 0;
}

static WAITS json_t *diagnose_exec(struct lu *lu, struct error *err)
{
	const struct op_ext_storage_diagnose *op = lu->op;
	auto_strv struct strv answered = {0}, names = {0};
	auto_json json_t *all = json_object();
	json_t *ret = json_array(), *nodes;
	const char *name;

	(void)err;
	diagnose_nodes(lu, rpc_extstorage_diagnose(), add_row, all, &answered);
	json_object_foreach (all, name, nodes)
		if (json_array_size(op->names) == 0 ||
		    json_array_has_str(op->names, name))
			strv_add(&names, name);
	strv_sort_nice(&names);
	for (size_t i = 0; i < names.n; i++) {
		json_t *row = json_array();

		for (size_t k = 0; k < json_array_size(op->output_fields); k++)
			json_array_append_new(
				row, field(lu,
					   json_string_value(json_array_get(
						   op->output_fields, k)),
					   names.items[i],
					   json_object_get(all, names.items[i]),
					   &answered));
		json_array_append_new(ret, row);
	}
	return ret;
}

const struct lu_class lu_ext_storage_diagnose = {
	.op = &op_class_ext_storage_diagnose,
	.size = sizeof(struct lu),
	.check = diagnose_check,
	.exec = diagnose_exec,
};
