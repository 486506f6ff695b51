/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_OS_DIAGNOSE: which OS definitions the nodes have, and whether they are
 * the same everywhere (the fields of its query resource "os"). */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/misc/diagnose.h"

/* Places in a node's row [name, path, valid, reason, variants, parameters, api
 * versions, trusted]. */
enum {
	ROW_NAME,
	ROW_PATH,
	ROW_VALID,
	ROW_WHY,
	ROW_VARIANTS,
	ROW_PARAMETERS,
	ROW_API,
	ROW_TRUSTED
};

/* What is known of one OS. */
struct os_facts {
	json_t *node_status; /* {node uuid: [row without the name, ...]} */
	bool valid, trusted, seen;
	json_t *variants, *parameters, *api_versions; /* common to all nodes */
};

static void facts_free(void *p)
{
	struct os_facts *f = p;

	json_decref(f->node_status);
	json_decref(f->variants);
	json_decref(f->parameters);
	json_decref(f->api_versions);
	free(f);
}

static bool has_equal(const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_same(json_array_get(list, i), value))
			return true;
	return false;
}

/* Keep in *common what is in list too; the first list is taken whole. */
static void intersect(json_t **common, const json_t *list, bool first)
{
	json_t *both = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);

		if (first || has_equal(*common, item))
			json_array_append(both, item);
	}
	json_decref(*common);
	*common = both;
}

/* All definitions that the nodes have. */
struct found {
	struct table facts; /* by name: struct os_facts */
	struct strv names;
};

static void add_row(void *all, const json_t *row, const char *node_uuid)
{
	struct found *found = all;
	const char *name = json_string_value(json_array_get(row, ROW_NAME));
	struct os_facts *f;

	if (name == NULL || json_array_size(row) <= ROW_TRUSTED)
		return;
	f = table_get(&found->facts, name);
	if (f == NULL) {
		f = xalloc(sizeof(*f));
		f->node_status = json_object();
		table_put(&found->facts, name, f);
		strv_add(&found->names, name);
	}
	diagnose_add(f->node_status, row, node_uuid);
}

/* Only the first definition found on a node counts, as that one is used. */
static void judge(struct os_facts *f, const struct strv *nodes)
{
	f->valid = f->trusted = true;
	for (size_t i = 0; i < nodes->n; i++) {
		json_t *rows = json_object_get(f->node_status, nodes->items[i]);
		const json_t *row = json_array_get(rows, 0);
		bool first = !f->seen;

		if (row == NULL) {
			json_object_set_new(f->node_status, nodes->items[i],
					    json_array());
			f->valid = false;
			continue;
		}
		f->seen = true;
		f->valid = f->valid &&
			   json_is_true(json_array_get(row, ROW_VALID - 1));
		f->trusted = f->trusted &&
			     json_is_true(json_array_get(row, ROW_TRUSTED - 1));
		intersect(&f->variants, json_array_get(row, ROW_VARIANTS - 1),
			  first);
		intersect(&f->parameters,
			  json_array_get(row, ROW_PARAMETERS - 1), first);
		intersect(&f->api_versions, json_array_get(row, ROW_API - 1),
			  first);
	}
}

static int cmp_json(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

	if (json_is_integer(x) && json_is_integer(y))
		return json_integer_value(x) < json_integer_value(y) ? -1 : 1;
	x = json_is_array(x) ? json_array_get(x, 0) : x;
	y = json_is_array(y) ? json_array_get(y, 0) : y;
	return strcmp(json_string_value(x) ?: "", json_string_value(y) ?: "");
}

static json_t *sorted(const json_t *list)
{
	size_t n = json_array_size(list);
	json_t **items = xcalloc(n, sizeof(*items));
	json_t *result = json_array();

	for (size_t i = 0; i < n; i++)
		items[i] = json_array_get(list, i);
	if (n > 1)
		qsort(items, n, sizeof(*items), cmp_json);
	for (size_t i = 0; i < n; i++)
		json_array_append(result, items[i]);
	free(items);
	return result;
}

static void add_kept(json_t *all, const json_t *of_all, const char *os)
{
	json_t *value = json_object_get(of_all, os);

	if (value != NULL)
		json_object_set(all, os, value);
}

/* What the cluster keeps of an OS and its variants: {name: value}. */
static json_t *kept_of(const json_t *cluster, const char *what, const char *os,
		       const struct os_facts *f)
{
	const json_t *of_all = json_get(cluster, what);
	json_t *all = json_object();

	add_kept(all, of_all, os);
	for (size_t i = 0; i < json_array_size(f->variants); i++) {
		auto_free char *name = xprintf(
			"%s+%s", os,
			json_string_value(json_array_get(f->variants, i)));

		add_kept(all, of_all, name);
	}
	return all;
}

static json_t *field(struct lu *lu, const char *name, const struct os_facts *f,
		     const char *which)
{
	const json_t *cluster = config_cluster(lu->m->config);

	if (strcmp(which, "name") == 0)
		return json_string(name);
	if (strcmp(which, "valid") == 0)
		return json_boolean(f->valid);
	if (strcmp(which, "trusted") == 0)
		return json_boolean(f->trusted);
	if (strcmp(which, "node_status") == 0)
		return json_incref(f->node_status);
	if (strcmp(which, "variants") == 0)
		return sorted(f->variants);
	if (strcmp(which, "parameters") == 0)
		return sorted(f->parameters);
	if (strcmp(which, "api_versions") == 0)
		return sorted(f->api_versions);
	if (strcmp(which, "hidden") == 0)
		return json_boolean(
			json_array_has_str(cluster_hidden_os(cluster), name));
	if (strcmp(which, "blacklisted") == 0)
		return json_boolean(json_array_has_str(
			cluster_blacklisted_os(cluster), name));
	if (strcmp(which, "os_hvp") == 0 || strcmp(which, "osparams") == 0)
		return kept_of(cluster, which, name, f);
	return NULL;
}

static int os_diagnose_check(struct lu *lu, struct error *err)
{
	const struct op_os_diagnose *op = lu->op;
	struct os_facts none = {.node_status = NULL};

	for (size_t i = 0; i < json_array_size(op->output_fields); i++) {
		const char *which =
			json_string_value(json_array_get(op->output_fields, i));
		auto_json json_t *value = NULL;

		if (strcmp(which, "node_status") == 0)
			continue;
		value = field(lu, "", &none, which);
		if (value == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown output field '%s'", which);
	}
	return 0;
}

/* Who does not ask whether an OS is hidden, blacklisted or valid wants those
 * that may be used. */
static bool is_wanted(struct lu *lu, const char *name, const struct os_facts *f)
{
	static const struct {
		const char *field;
		bool wanted;
	} rules[] = {
		{"hidden", false}, {"blacklisted", false}, {"valid", true}};
	const struct op_os_diagnose *op = lu->op;

	if (json_array_size(op->names) > 0 &&
	    !json_array_has_str(op->names, name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		auto_json json_t *value = field(lu, name, f, rules[i].field);

		if (!json_array_has_str(op->output_fields, rules[i].field) &&
		    json_is_true(value) != rules[i].wanted)
			return false;
	}
	return true;
}

static WAITS json_t *os_diagnose_exec(struct lu *lu, struct error *err)
{
	const struct op_os_diagnose *op = lu->op;
	auto_strv struct strv nodes = {0};
	struct found all = {0};
	json_t *result = json_array();

	(void)err;
	diagnose_nodes(lu, rpc_os_diagnose(), add_row, &all, &nodes);
	strv_sort_nice(&all.names);
	for (size_t i = 0; i < all.names.n; i++) {
		const char *name = all.names.items[i];
		struct os_facts *f = table_get(&all.facts, name);
		json_t *row;

		judge(f, &nodes);
		if (!is_wanted(lu, name, f))
			continue;
		row = json_array();
		for (size_t j = 0; j < json_array_size(op->output_fields); j++)
			json_array_append_new(
				row, field(lu, name, f,
					   json_string_value(json_array_get(
						   op->output_fields, j))));
		json_array_append_new(result, row);
	}
	table_done(&all.facts, facts_free);
	strv_done(&all.names);
	return result;
}

const struct lu_class lu_os_diagnose = {
	.op = &op_class_os_diagnose,
	.size = sizeof(struct lu),
	.check = os_diagnose_check,
	.exec = os_diagnose_exec,
};
