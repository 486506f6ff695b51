/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node list-storage, modify-storage, repair-storage, volumes. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"

#define FIELDS "node,type,name,size,used,free,allocatable"
#define VOLUME_FIELDS "node,phys,vg,name,size,instance"

struct column {
	const char *name, *title, *kind;
};

static const struct column storage_columns[] = {
	{"node", "Node", "text"},
	{"type", "Type", "text"},
	{"name", "Name", "text"},
	{"size", "Size", "unit"},
	{"used", "Used", "unit"},
	{"free", "Free", "unit"},
	{"allocatable", "Allocatable", "bool"},
	{NULL, NULL, NULL},
};

static const struct column volume_columns[] = {
	{"node", "Node", "text"}, {"phys", "PhysDev", "text"},
	{"vg", "VG", "text"},	  {"name", "Name", "text"},
	{"size", "Size", "unit"}, {"instance", "Instance", "text"},
	{NULL, NULL, NULL},
};

static json_t *column(const struct column *columns, const char *name)
{
	for (size_t i = 0; columns[i].name != NULL; i++)
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
	json_t *nodes = cli_args(cli, 0);

	json_object_set_new(op, "nodes", nodes);
	json_object_set_new(op, "output_fields", json_from_strv(names));
	cli_op_set(cli, op, "storage_type", &OPT_STORAGE_TYPE);
	return op;
}

/* An object a row, as --format=json shows it. */
static json_t *row_objects(const struct strv *names, const json_t *result)
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

/* The fields that -o asks for. */
static void take_fields(const struct cli *cli, const char *usual,
			struct strv *ret)
{
	const char *output = cli_text(cli, &OPT_OUTPUT);
	auto_free char *all = NULL;

	if (output != NULL && *output == '+')
		output = all = xprintf("%s,%s", usual, output + 1);
	str_split(ret, output == NULL ? usual : output, ',');
}

static void print_rows(const struct cli *cli, const struct column *columns,
		       const struct strv *names, const json_t *result)
{
	auto_json json_t *fields = json_array(), *rows = json_array();
	auto_buf struct buf text = {0};
	struct cli_table_style style;
	const json_t *row;
	size_t i;

	if (cli_wants_data(cli)) {
		auto_json json_t *list = row_objects(names, result);

		cli_print_data(cli, list);
		return;
	}
	cli_table_style(cli, &style);
	style.pad_titles = true;
	for (i = 0; i < names->n; i++)
		json_array_append_new(fields, column(columns, names->items[i]));
	json_array_foreach (result, i, row)
		json_array_append_new(rows, cells(row));
	cli_table(&text, &style, fields, rows);
	fwrite(text.data, 1, text.len, stdout);
}

static int list_storage(struct cli *cli, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_json json_t *result = NULL;

	take_fields(cli, FIELDS, &names);
	result = cli_run_op(cli, query_op(cli, &names), err);
	if (result == NULL)
		return -1;
	print_rows(cli, storage_columns, &names, result);
	return CLI_OK;
}

/* --- volumes --- */

/* All values come as text, as in Ganeti; sizes are shown with units. */
static void sizes_to_numbers(const struct strv *names, json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		for (size_t f = 0; f < names->n; f++) {
			const char *text =
				json_string_value(json_array_get(row, f));
			int64_t mib;

			if (str_eq(names->items[f], "size") && text != NULL &&
			    str_to_int64(text, &mib))
				json_array_set_new(row, f, json_integer(mib));
		}
}

static int volumes(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_node_queryvols);
	json_t *nodes = cli_args(cli, 0);
	auto_strv struct strv names = {0};
	auto_json json_t *result = NULL;

	take_fields(cli, VOLUME_FIELDS, &names);
	json_object_set_new(op, "nodes", nodes);
	json_object_set_new(op, "output_fields", json_from_strv(&names));
	result = cli_run_op(cli, op, err);
	if (result == NULL)
		return -1;
	sizes_to_numbers(&names, result);
	print_rows(cli, volume_columns, &names, result);
	return CLI_OK;
}

/* --- changes --- */

static json_t *unit_op(const struct cli *cli, const struct op_class *class)
{
	json_t *op = cli_op(cli, class);

	json_set_str(op, "node_name", cli->args[0]);
	json_set_str(op, "storage_type", cli->args[1]);
	json_set_str(op, "name", cli->args[2]);
	return op;
}

static int check_type(const char *type, struct error *err)
{
	for (size_t i = 0; storage_listed_names[i] != NULL; i++)
		if (strcmp(storage_listed_names[i], type) == 0)
			return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Unknown storage type: %s", type);
}

static int modify_storage(struct cli *cli, struct error *err)
{
	json_t *op;

	if (check_type(cli->args[1], err) < 0)
		return -1;
	if (!cli_given(cli, &OPT_ALLOCATABLE)) {
		fprintf(stderr, "No changes to perform, exiting.\n");
		return CLI_OK;
	}
	op = unit_op(cli, &op_class_node_modify_storage);
	json_object_set_new(op, "changes",
			    json_make("{s:O}", "allocatable",
				      cli_value(cli, &OPT_ALLOCATABLE)));
	return cli_submit(cli, op, NULL, err);
}

static int repair_storage(struct cli *cli, struct error *err)
{
	json_t *op = unit_op(cli, &op_class_repair_node_storage);

	cli_op_flag(cli, op, "ignore_consistency", &OPT_IGNORE_CONSISTENCY);
	return cli_submit(cli, op, NULL, err);
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

const struct cli_command node_volumes = {
	.name = "volumes",
	.args = "[<node-name>...]",
	.help = "List the logical volumes of nodes. Fields: node, phys, vg, "
		"name, size, instance.",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_UNITS, &OPT_OUTPUT, OPTS_PLAN,
		    &OPT_PRIORITY},
	.run = volumes,
};

const struct cli_command node_modify_storage = {
	.name = "modify-storage",
	.args = "<node-name> <storage-type> <volume-name>",
	.help = "Change a storage unit of a node (lvm-pv: --allocatable)",
	.min_args = 3,
	.max_args = 3,
	.options = {&OPT_ALLOCATABLE, OPTS_JOB},
	.run = modify_storage,
};

const struct cli_command node_repair_storage = {
	.name = "repair-storage",
	.args = "<node-name> <storage-type> <volume-name>",
	.help = "Take what is broken out of a storage unit (lvm-vg)",
	.min_args = 3,
	.max_args = 3,
	.options = {&OPT_IGNORE_CONSISTENCY, OPTS_JOB},
	.run = repair_storage,
};
