/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-os: operating system definitions. */
#include <stdio.h>

#include "cli/cli_job.h"
#include "cli/cli_list.h"
#include "cli/cli_opts.h"
#include "cli/cli_text.h"
#include "cli/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define DIAGNOSE_FIELDS "name,valid,variants,node_status,hidden,blacklisted"
#define INFO_FIELDS                                                            \
	"name,valid,variants,parameters,api_versions,blacklisted,hidden,"      \
	"os_hvp,osparams,trusted"

/* The rows of OP_OS_DIAGNOSE with these fields. */
static json_t *diagnose_rows(struct cli *cli, const char *fields,
			     struct error *err)
{
	json_t *op = cli_op(cli, &op_class_os_diagnose);
	auto_strv struct strv names = {0};

	str_split(&names, fields, ',');
	json_object_set_new(op, "output_fields", json_from_strv(&names));
	json_object_set_new(op, "names", json_array());
	return cli_run_op(cli, op, err);
}

/* Rows of these fields, for programs. */
static void print_rows(const struct cli *cli, const json_t *rows,
		       const char *fields)
{
	auto_strv struct strv names = {0};
	auto_json json_t *objects = NULL;

	str_split(&names, fields, ',');
	objects = cli_objects(rows, (const char *const *)names.items, names.n);
	cli_print_data(cli, objects);
}

/* --- list --- */

static void print_names(const struct cli *cli, const json_t *names)
{
	const struct cli_table_style style = {
		.headers = !cli_given(cli, &OPT_NO_HEADERS),
		.pad_titles = true,
		.unit = 'h'};
	auto_json json_t *fields =
		json_make("[{s: s, s: s}]", "title", "Name", "kind", "text");
	auto_json json_t *rows = json_array();
	auto_buf struct buf text = {0};
	json_t *name;
	size_t i;

	json_array_foreach (names, i, name)
		json_array_append_new(rows, json_make("[[i, O]]", 0, name));
	cli_table(&text, &style, fields, rows);
	fwrite(text.data, 1, text.len, stdout);
}

static int list(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = NULL, *names = json_array();
	const json_t *row, *variant;
	size_t i, j;

	rows = diagnose_rows(cli, "name,variants", err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const json_t *variants = json_array_get(row, 1);

		if (json_array_size(variants) == 0)
			json_array_append_new(names, json_string(name));
		json_array_foreach (variants, j, variant) {
			auto_free char *text = xprintf(
				"%s+%s", name, json_string_value(variant));

			json_array_append_new(names, json_string(text));
		}
	}
	if (cli_wants_data(cli)) {
		cli_print_data(cli, names);
		return CLI_OK;
	}
	print_names(cli, names);
	return CLI_OK;
}

/* --- diagnose --- */

/* One place where a node found the definition: [path, valid, message,
 * variants, parameters, versions, trusted]. */
static void print_place(const char *node, const json_t *place)
{
	bool valid = json_is_true(json_array_get(place, 1));
	auto_free char *path = cli_str(json_array_get(place, 0));
	auto_free char *message = cli_str(json_array_get(place, 2));
	auto_free char *variants = cli_join(json_array_get(place, 3), ", ");
	auto_free char *versions = cli_join(json_array_get(place, 5), ", ");
	auto_strv struct strv names = {0};
	auto_free char *params = NULL;
	const json_t *param;
	size_t i;

	json_array_foreach (json_array_get(place, 4), i, param)
		strv_add(&names, json_string_value(json_array_get(param, 0)));
	params = strv_join(&names, ", ");
	printf("  Node: %s, status: ", node);
	if (!valid)
		printf("invalid - %s (path: %s)", message, path);
	else
		printf("valid (path: %s)", path);
	if (*versions != '\0')
		printf(" [API versions: %s]", versions);
	else
		printf(" [no API versions declared]");
	if (*variants != '\0')
		printf(" [variants: %s]", variants);
	if (*params != '\0')
		printf(" [parameters: %s]", params);
	printf(json_is_false(json_array_get(place, 6)) ? " [untrusted]\n"
						       : " [trusted]\n");
}

static void print_os(const json_t *row)
{
	auto_free char *name = cli_str(json_array_get(row, 0));
	auto_free char *variants = cli_join(json_array_get(row, 1 + 1), ", ");
	bool valid = json_is_true(json_array_get(row, 1));
	const json_t *status = json_array_get(row, 3);
	auto_strv struct strv nodes = {0};
	const char *node;
	json_t *places;

	printf("OS: %s [global status: %s]\n", name,
	       valid ? "valid" : "invalid");
	if (*variants != '\0')
		printf("  Variants: [%s]\n", variants);
	json_object_foreach ((json_t *)status, node, places)
		strv_add(&nodes, node);
	strv_sort_nice(&nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const json_t *all = json_object_get(status, nodes.items[i]);

		if (json_array_size(all) == 0)
			printf("  Node: %s, status: OS not found\n",
			       nodes.items[i]);
		else
			print_place(nodes.items[i], json_array_get(all, 0));
	}
	printf("\n");
}

static int diagnose(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = diagnose_rows(cli, DIAGNOSE_FIELDS, err);
	const json_t *row;
	size_t i;
	bool bad = false;

	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		print_rows(cli, rows, DIAGNOSE_FIELDS);
		return CLI_OK;
	}
	json_array_foreach (rows, i, row) {
		print_os(row);
		bad |= !json_is_true(json_array_get(row, 1));
	}
	return bad ? CLI_FAILURE : CLI_OK;
}

/* --- info --- */

static void print_list(const char *title, const json_t *values)
{
	const json_t *value;
	size_t i;

	printf("  - %s:\n", title);
	json_array_foreach (values, i, value) {
		auto_free char *text = json_is_array(value)
					       ? cli_join(value, ": ")
					       : cli_str(value);

		printf("    - %s\n", text);
	}
}

static void print_flag(const char *title, const json_t *value)
{
	auto_free char *text = cli_str(value);

	printf("  - %s: %s\n", title, text);
}

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = diagnose_rows(cli, INFO_FIELDS, err);
	const json_t *row;
	size_t i;

	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		print_rows(cli, rows, INFO_FIELDS);
		return CLI_OK;
	}
	json_array_foreach (rows, i, row) {
		auto_free char *name = cli_str(json_array_get(row, 0));

		printf("%s:\n", name);
		print_flag("valid", json_array_get(row, 1));
		print_flag("hidden", json_array_get(row, 6));
		print_flag("blacklisted", json_array_get(row, 5));
		print_list("API versions", json_array_get(row, 4));
		print_list("variants", json_array_get(row, 2));
		print_list("parameters", json_array_get(row, 3));
		print_flag("trusted", json_array_get(row, 9));
		printf("\n");
	}
	return CLI_OK;
}

static const struct cli_command list_command = {
	.name = "list",
	.args = "",
	.help = "List the operating system definitions that all nodes have",
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = list,
};

static const struct cli_command diagnose_command = {
	.name = "diagnose",
	.args = "",
	.help = "Show what each node says of each definition",
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = diagnose,
};

static const struct cli_command info_command = {
	.name = "info",
	.alias = "show",
	.args = "",
	.help = "Show variants and parameters of each definition",
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = info,
};

static const struct cli_command *const commands[] = {
	&diagnose_command, &info_command, &list_command, NULL};

const struct cli_tool tool_os = {
	.name = "gnt-os",
	.help = "Operating system definitions",
	.commands = commands,
};
