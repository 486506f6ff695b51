/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-storage: providers of external storage. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static json_t *diagnose_op(const struct cli *cli, const char *second,
			   const char *third)
{
	json_t *op = cli_op(cli, &op_class_ext_storage_diagnose);

	json_object_set_new(op, "output_fields",
			    json_make("[s, s, s]", "name", second, third));
	json_object_set_new(op, "names", json_array());
	return op;
}

/* The names of an object's members in nice order. */
static void sorted_keys(const json_t *object, struct strv *ret)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(object), key, value)
		strv_add(ret, key);
	strv_sort_nice(ret);
}

/* For programs: the providers of these names, or all. */
static void print_data(const struct cli *cli, const json_t *rows,
		       const struct strv *names, const char *second,
		       const char *third)
{
	const char *const fields[] = {"name", second, third};
	auto_json json_t *chosen = json_array(), *objects = NULL;
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (names == NULL || names->n == 0 ||
		    strv_has(names, json_string_value(json_array_get(row, 0))))
			json_array_append(chosen, json_unconst(row));
	objects = cli_objects(chosen, fields, 3);
	cli_print_data(cli, objects);
}

/* --- info --- */

static void print_valid(const struct strv *groups, const json_t *parameters)
{
	puts("  - Valid for nodegroups:");
	for (size_t i = 0; i < groups->n; i++)
		printf("      %s\n", groups->items[i]);
	puts("  - Supported parameters:");
	for (size_t i = 0; i < json_array_size(parameters); i++) {
		auto_free char *text =
			cli_join(json_array_get(parameters, i), ": ");

		printf("      %s\n", text);
	}
}

static void print_provider(const json_t *row)
{
	const json_t *status = json_array_get(row, 1);
	auto_strv struct strv all = {0}, valid = {0};

	sorted_keys(status, &all);
	for (size_t i = 0; i < all.n; i++)
		if (json_bool(status, all.items[i], false))
			strv_add(&valid, all.items[i]);
	printf("%s:\n", json_string_value(json_array_get(row, 0)));
	if (valid.n > 0)
		print_valid(&valid, json_array_get(row, 2));
	else
		puts("  - Invalid for all nodegroups");
	puts("");
}

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = cli_run_op(
		cli, diagnose_op(cli, "nodegroup_status", "parameters"), err);
	auto_strv struct strv missing = {0}, seen = {0};
	bool data = cli_wants_data(cli);
	const char *unknown = NULL;

	if (rows == NULL)
		return -1;
	if (json_array_size(rows) == 0 && cli->n_args == 0) {
		fprintf(stderr, "Can't get the ExtStorage providers list\n");
		return CLI_FAILURE;
	}
	for (int i = 0; i < cli->n_args; i++)
		strv_add(&missing, cli->args[i]);
	if (data)
		print_data(cli, rows, &missing, "nodegroup_status",
			   "parameters");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = json_string_value(json_array_get(row, 0));

		strv_add(&seen, name);
		if (!data && (missing.n == 0 || strv_has(&missing, name)))
			print_provider(row);
	}
	for (size_t i = 0; i < missing.n; i++)
		if (!strv_has(&seen, missing.items[i])) {
			if (!data)
				printf("%s: Not Found\n\n", missing.items[i]);
			unknown = missing.items[i];
		}
	if (unknown == NULL)
		return CLI_OK;
	return tool_unknown("ExtStorage provider", unknown, err);
}

/* --- diagnose --- */

/* The state of the first provider of this name on a node; [path, valid, reason,
 * parameters]. */
static void print_node(const char *node, const json_t *first)
{
	const json_t *parameters = json_array_get(first, 3);
	auto_buf struct buf names = {0};

	for (size_t i = 0; i < json_array_size(parameters); i++)
		buf_addf(&names, "%s%s", i > 0 ? ", " : "",
			 json_string_value(json_array_get(
				 json_array_get(parameters, i), 0)));
	printf("  Node: %s, status: %s%s (path: %s) [%s%s]\n", node,
	       json_is_true(json_array_get(first, 1)) ? "valid" : "invalid - ",
	       json_is_true(json_array_get(first, 1))
		       ? ""
		       : json_string_value(json_array_get(first, 2)),
	       json_string_value(json_array_get(first, 0)),
	       names.len > 0 ? "parameters: " : "no parameters",
	       names.len > 0 ? names.data : "");
}

/* Nodes on which it is valid come first. */
static void print_nodes(const json_t *status, bool valid)
{
	auto_strv struct strv nodes = {0};

	sorted_keys(status, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const json_t *first = json_array_get(
			json_object_get(status, nodes.items[i]), 0);

		if (json_is_true(json_array_get(first, 1)) != valid)
			continue;
		if (first == NULL)
			printf("  Node: %s, status: ExtStorage provider not "
			       "found\n",
			       nodes.items[i]);
		else
			print_node(nodes.items[i], first);
	}
}

static void print_groups(const json_t *status, bool valid)
{
	auto_strv struct strv groups = {0};

	sorted_keys(status, &groups);
	for (size_t i = 0; i < groups.n; i++)
		if (json_bool(status, groups.items[i], false) == valid)
			printf("  For nodegroup: %s --> %s\n", groups.items[i],
			       valid ? "valid" : "invalid");
}

static int diagnose(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = cli_run_op(
		cli, diagnose_op(cli, "node_status", "nodegroup_status"), err);

	if (rows == NULL)
		return -1;
	if (json_array_size(rows) == 0) {
		fprintf(stderr, "Can't get the list of ExtStorage providers\n");
		return CLI_FAILURE;
	}
	if (cli_wants_data(cli)) {
		print_data(cli, rows, NULL, "node_status", "nodegroup_status");
		return CLI_OK;
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		printf("Provider: %s\n---\n",
		       json_string_value(json_array_get(row, 0)));
		print_nodes(json_array_get(row, 1), true);
		print_nodes(json_array_get(row, 1), false);
		puts("  --");
		print_groups(json_array_get(row, 2), true);
		print_groups(json_array_get(row, 2), false);
		puts("");
	}
	return CLI_OK;
}

static const struct cli_command diagnose_command = {
	.name = "diagnose",
	.args = "",
	.help = "Show what each node says of each provider",
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = diagnose,
};

static const struct cli_command info_command = {
	.name = "info",
	.args = "[<provider>...]",
	.help = "Show the parameters of providers, and which groups have them",
	.max_args = -1,
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = info,
};

static const struct cli_command *const commands[] = {&diagnose_command,
						     &info_command, NULL};

const struct cli_tool tool_storage = {
	.name = "gnt-storage",
	.help = "Providers of external storage",
	.commands = commands,
};
