/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node list-storage. */
#include <stdio.h>

#include "cli/cli_job.h"
#include "cli/cli_list.h"
#include "cli/cli_opts.h"
#include "cli/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define FIELDS "node,type,name,size,used,free,allocatable"

static const struct {
	const char *name, *title, *kind;
} columns[] = {
	{"node", "Node", "text"},
	{"type", "Type", "text"},
	{"name", "Name", "text"},
	{"size", "Size", "unit"},
	{"used", "Used", "unit"},
	{"free", "Free", "unit"},
	{"allocatable", "Allocatable", "bool"},
};

static json_t *column(const char *name)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (str_eq(columns[i].name, name))
			return json_make("{s: s, s: s, s: s}", "name", name,
					 "title", columns[i].title, "kind",
					 columns[i].kind);
	return json_make("{s: s, s: s, s: s}", "name", name, "title", name,
			 "kind", "unknown");
}

/* Values as cells that have data. */
static json_t *cells(const json_t *row)
{
	json_t *list = json_array(), *value;
	size_t i;

	json_array_foreach (row, i, value)
		json_array_append_new(list, json_make("[i, O]", 0, value));
	return list;
}

static json_t *query_op(const struct cli *cli, const struct strv *names)
{
	json_t *op = cli_op(cli, &op_class_node_query_storage);
	json_t *nodes = json_array();

	for (int i = 0; i < cli->n_args; i++)
		json_array_append_new(nodes, json_string(cli->args[i]));
	json_object_set_new(op, "nodes", nodes);
	json_object_set_new(op, "output_fields", json_from_strv(names));
	cli_op_set(cli, op, "storage_type", &OPT_STORAGE_TYPE);
	return op;
}

/* An object a storage, as --format=json shows it. */
static json_t *storage_json(const struct strv *names, const json_t *result)
{
	json_t *list = json_array(), *object;
	const json_t *row;
	size_t i;

	json_array_foreach (result, i, row) {
		object = json_object();
		for (size_t f = 0; f < names->n; f++)
			json_object_set(object, names->items[f],
					json_array_get(row, f));
		json_array_append_new(list, object);
	}
	return list;
}

static int list_storage(struct cli *cli, struct error *err)
{
	const char *output = cli_text(cli, &OPT_OUTPUT);
	auto_free char *all = NULL;
	auto_strv struct strv names = {0};
	auto_json json_t *result = NULL;
	auto_json json_t *fields = json_array(), *rows = json_array();
	auto_buf struct buf text = {0};
	struct cli_table_style style;
	const json_t *row;
	size_t i;

	cli_table_style(cli, &style);
	if (output != NULL && *output == '+')
		output = all = xprintf(FIELDS ",%s", output + 1);
	style.pad_titles = true;
	str_split(&names, output == NULL ? FIELDS : output, ',');
	result = cli_run_op(cli, query_op(cli, &names), err);
	if (result == NULL)
		return -1;
	for (i = 0; i < names.n; i++)
		json_array_append_new(fields, column(names.items[i]));
	json_array_foreach (result, i, row)
		json_array_append_new(rows, cells(row));
	if (cli_wants_data(cli)) {
		auto_json json_t *list = storage_json(&names, result);

		cli_print_data(cli, list);
		return CLI_OK;
	}
	cli_table(&text, &style, fields, rows);
	fwrite(text.data, 1, text.len, stdout);
	return CLI_OK;
}

const struct cli_command node_list_storage = {
	.name = "list-storage",
	.args = "[<node-name>...]",
	.help = "List the storage of nodes. Fields: node, type, name, size, "
		"used, free, allocatable.",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_UNITS, &OPT_OUTPUT, &OPT_STORAGE_TYPE,
		    &OPT_FORMAT, &OPT_PRIORITY, &OPT_PLAN},
	.run = list_storage,
};
