/* SPDX-License-Identifier: BSD-2-Clause */
/* Nested values in a form that people read and YAML parsers take. */
#include <stdio.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_text.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define INDENT 2

static void print_value(const json_t *value, int level, bool behind_key);

static void begin_item(size_t i, int level, bool behind_key)
{
	if (i > 0 || behind_key)
		printf("%*s", level * INDENT, "");
}

static void print_list(const json_t *list, int level, bool behind_key)
{
	const json_t *member;
	size_t i;

	json_array_foreach (list, i, member) {
		begin_item(i, level, behind_key);
		printf("- ");
		print_value(member, level + 1, false);
	}
}

static void print_object(const json_t *object, int level, bool behind_key)
{
	const char *key;
	json_t *member;
	size_t i = 0;

	json_object_foreach (json_unconst(object), key, member) {
		begin_item(i++, level, behind_key);
		printf("%s: ", key);
		print_value(member, level + 1, true);
	}
}

static void print_value(const json_t *value, int level, bool behind_key)
{
	bool is_list = json_is_array(value);

	if (!is_list && !json_is_object(value)) {
		auto_free char *text = cli_str(value);

		printf("%s\n", text);
		return;
	}
	if (behind_key ||
	    (is_list ? json_array_size(value) : json_object_size(value)) == 0)
		printf("\n");
	if (is_list)
		print_list(value, level, behind_key);
	else
		print_object(value, level, behind_key);
}

json_t *cli_sorted(const json_t *value)
{
	auto_strv struct strv keys = {0};
	json_t *result, *member;
	const char *key;

	if (!json_is_object(value))
		return json_deep_copy(value);
	result = json_object();
	json_object_foreach (json_unconst(value), key, member)
		strv_add(&keys, key);
	strv_sort(&keys);
	for (size_t i = 0; i < keys.n; i++)
		json_object_set_new(
			result, keys.items[i],
			cli_sorted(json_object_get(value, keys.items[i])));
	return result;
}

void cli_print_info(const json_t *value)
{
	print_value(value, 0, false);
}

/* --- parameters with their defaults --- */

static json_t *param_view(const json_t *custom, const json_t *actual)
{
	auto_free char *text = NULL, *shown = NULL;

	if (custom != NULL) {
		text = cli_str(custom);
		return json_string(text);
	}
	text = cli_str(actual);
	shown = xprintf("default (%s)", text);
	return json_string(shown);
}

void cli_info_params(json_t *object, const char *key, const json_t *custom,
		     const json_t *actual)
{
	auto_strv struct strv names = {0};
	json_t *view = json_object();
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(actual), name, value)
		strv_add_unique(&names, name);
	strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		const json_t *all = json_object_get(actual, names.items[i]);
		const json_t *own = json_object_get(custom, names.items[i]);

		if (json_is_object(all) && json_object_size(all) > 0)
			cli_info_params(view, names.items[i], own, all);
		else
			json_object_set_new(view, names.items[i],
					    param_view(own, all));
	}
	json_object_set_new(object, key, view);
}
