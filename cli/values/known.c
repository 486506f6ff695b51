/* SPDX-License-Identifier: BSD-2-Clause */
/* Unknown names in cases where the master ignores them: they are typing errors,
 * and are reported in the master's usual words. */
#include <string.h>

#include "cli/frame/tools.h"
#include "lib/json/json.h"

int tool_unknown(const char *kind, const char *name, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_NOENT, "%s '%s' not known",
			 kind, name);
}

int tool_nodes_known(struct cli *cli, const json_t *names, struct error *err)
{
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name) {
		auto_json json_t *rows = cli_call(
			cli, "QueryNodes",
			json_make("[[O], [s], b]", name, "name", 0), err);

		if (rows == NULL)
			return -1;
		if (json_array_size(rows) == 0)
			return tool_unknown("Node", json_string_value(name),
					    err);
	}
	return 0;
}

json_t *tool_query_nodes(struct cli *cli, json_t *names STEALS,
			 json_t *fields STEALS, struct error *err)
{
	auto_json json_t *own = names;
	auto_json json_t *rows = cli_call(
		cli, "QueryNodes", json_make("[O, o, b]", own, fields, 0), err);

	/* Fewer rows than names are no error: a name may be given twice. */
	if (rows == NULL || (json_array_size(rows) < json_array_size(own) &&
			     tool_nodes_known(cli, own, err) < 0))
		return NULL;
	return steal(&rows);
}

static int group_known(struct cli *cli, const char *name, struct error *err)
{
	auto_json json_t *rows =
		cli_call(cli, "QueryGroups",
			 json_make("[[s], [s], b]", name, "name", 0), err);

	return rows == NULL ? -1 : 0;
}

/* Whether a row's first cell is the name, or begins with it and a dot. */
static bool is_named(const json_t *rows, const char *name)
{
	size_t len = strlen(name), i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		const char *full = json_string_value(
			json_array_get(json_array_get(row, 0), 1));

		if (full != NULL && strncmp(full, name, len) == 0 &&
		    (full[len] == '\0' || full[len] == '.'))
			return true;
	}
	return false;
}

int tool_check_choice(struct cli *cli, const json_t *rows, const json_t *nodes,
		      const char *group, struct error *err)
{
	auto_json json_t *doubtful = json_array();
	json_t *name;
	size_t i;

	if (group != NULL && json_array_size(rows) == 0 &&
	    group_known(cli, group, err) < 0)
		return -1;
	json_array_foreach (nodes, i, name)
		if (!is_named(rows, json_string_value(name)))
			json_array_append(doubtful, name);
	return tool_nodes_known(cli, doubtful, err);
}
