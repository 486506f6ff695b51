/* SPDX-License-Identifier: BSD-2-Clause */
/* Operating systems: valid, and the same on all nodes of the group.  Each node
 * is compared with the first one that answered. */
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/verify/verify_group.h"

/* The columns of oslist. */
enum {
	OS_NAME,
	OS_PATH,
	OS_VALID,
	OS_DIAGNOSE,
	OS_VARIANTS,
	OS_PARAMETERS,
	OS_VERSIONS,
	OS_TRUSTED,
	N_COLUMNS
};

static const char *text(const json_t *row, size_t column)
{
	const char *value = json_string_value(json_array_get(row, column));

	return value == NULL ? "" : value;
}

static const json_t *find(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (str_eq(text(json_array_get(list, i), OS_NAME), name))
			return json_array_get(list, i);
	return NULL;
}

/* Members in order, with commas; of a pair "name: description". */
static char *as_text(const json_t *list)
{
	auto_strv struct strv parts = {0};

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (json_is_array(one))
			strv_addf(&parts, "%s: %s", text(one, 0), text(one, 1));
		else if (json_is_string(one))
			strv_add(&parts, json_string_value(one));
		else
			strv_addf(&parts, "%jd",
				  (intmax_t)json_integer_value(one));
	}
	strv_sort(&parts);
	return strv_join(&parts, ", ");
}

static void compare(struct verify_group *g, const char *name, const json_t *row,
		    const json_t *base)
{
	static const struct {
		size_t column;
		const char *what;
	} columns[] = {{OS_VERSIONS, "API version"},
		       {OS_VARIANTS, "variants list"},
		       {OS_PARAMETERS, "parameters"}};
	bool trusted = json_is_true(json_array_get(row, OS_TRUSTED));
	bool expected = json_is_true(json_array_get(base, OS_TRUSTED));

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		size_t column = columns[i].column;
		auto_free char *a = as_text(json_array_get(row, column));
		auto_free char *b = as_text(json_array_get(base, column));

		verify_if(&g->v, !str_eq(a, b), "ENODEOS", name,
			  "OS %s for %s differs from reference node %s: [%s] "
			  "vs. [%s]",
			  columns[i].what, text(row, OS_NAME), g->os_node, a,
			  b);
	}
	verify_if(&g->v, trusted != expected, "ENODEOS", name,
		  "OS trusted for %s differs from reference node %s",
		  text(row, OS_NAME), g->os_node);
}

static void check_row(struct verify_group *g, const char *name,
		      const json_t *row)
{
	const json_t *base = find(g->os, text(row, OS_NAME));

	verify_if(&g->v, !json_is_true(json_array_get(row, OS_VALID)),
		  "ENODEOS", name, "Invalid OS %s (located at %s): %s",
		  text(row, OS_NAME), text(row, OS_PATH),
		  text(row, OS_DIAGNOSE));
	verify_if(&g->v, base == NULL, "ENODEOS", name,
		  "Extra OS %s not present on reference node (%s)",
		  text(row, OS_NAME), g->os_node);
	if (base != NULL && json_is_true(json_array_get(base, OS_VALID)))
		compare(g, name, row, base);
}

static void check_missing(struct verify_group *g, const char *name,
			  const json_t *list)
{
	auto_strv struct strv missing = {0};
	auto_free char *names = NULL;

	for (size_t i = 0; i < json_array_size(g->os); i++) {
		const char *os = text(json_array_get(g->os, i), OS_NAME);

		if (find(list, os) == NULL)
			strv_add_unique(&missing, os);
	}
	names = strv_join(&missing, ", ");
	verify_if(&g->v, missing.n > 0, "ENODEOS", name,
		  "OSes present on reference node %s but missing on this node: "
		  "%s",
		  g->os_node, names);
}

static bool is_list(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_array_size(json_array_get(list, i)) != N_COLUMNS)
			return false;
	return json_is_array(list);
}

void verify_os(struct verify_group *g, const struct node_result *r)
{
	const char *name = node_name(r->node);
	const json_t *list = json_get(r->payload, "oslist");

	verify_if(&g->v, !is_list(list), "ENODEOS", name,
		  "node hasn't returned valid OS data");
	if (!is_list(list))
		return;
	if (g->os == NULL) {
		g->os = json_ref(list);
		g->os_node = name;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);

		if (find(list, text(row, OS_NAME)) == row)
			check_row(g, name, row);
		else
			verify_error(&g->v, "ENODEOS", name,
				     "OS '%s' has multiple entries (the first "
				     "one shadows the rest): %s",
				     text(row, OS_NAME), text(row, OS_PATH));
	}
	check_missing(g, name, list);
}
