/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-os: operating system definitions. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define DIAGNOSE_FIELDS "name,valid,variants,node_status,hidden,blacklisted"
#define INFO_FIELDS                                                            \
	"name,valid,variants,parameters,api_versions,blacklisted,hidden,"      \
	"os_hvp,osparams,trusted"

/* Of the OS interface: those that came with variants and with parameters. */
#define API_WITH_VARIANTS 15
#define API_WITH_PARAMETERS 20

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
enum {
	AT_PATH,
	AT_VALID,
	AT_WHY,
	AT_VARIANTS,
	AT_PARAMS,
	AT_VERSIONS,
	AT_TRUST
};

static char *place_status(const json_t *place)
{
	auto_free char *why = cli_str(json_array_get(place, AT_WHY));

	return json_is_true(json_array_get(place, AT_VALID))
		       ? xstrdup("valid")
		       : xprintf("invalid - %s", why);
}

/* "[variants: a, b]" or "[no variants]". */
static void print_bracket(const char *what, const struct strv *names)
{
	auto_free char *text = strv_join(names, ", ");

	if (names->n > 0)
		printf(" [%s: %s]", what, text);
	else
		printf(" [no %s]", what);
}

static int64_t highest(const json_t *versions)
{
	int64_t max = 0;

	for (size_t i = 0; i < json_array_size(versions); i++) {
		int64_t one = json_integer_value(json_array_get(versions, i));

		max = one > max ? one : max;
	}
	return max;
}

/* Only the first definition counts. */
static void print_used(const char *node, const json_t *place)
{
	const json_t *versions = json_array_get(place, AT_VERSIONS);
	auto_free char *status = place_status(place);
	auto_free char *path = cli_str(json_array_get(place, AT_PATH));
	auto_free char *text = cli_join(versions, ", ");
	auto_strv struct strv variants = {0}, params = {0};
	const json_t *param;
	size_t i;

	json_to_strv(json_array_get(place, AT_VARIANTS), &variants);
	json_array_foreach (json_array_get(place, AT_PARAMS), i, param)
		strv_add(&params, json_string_value(json_array_get(param, 0)));
	printf("  Node: %s, status: %s (path: %s)", node, status, path);
	if (*text != '\0')
		printf(" [API versions: %s]", text);
	else
		printf(" [no API versions declared]");
	if (highest(versions) >= API_WITH_VARIANTS)
		print_bracket("variants", &variants);
	if (highest(versions) >= API_WITH_PARAMETERS)
		print_bracket("parameters", &params);
	printf(json_is_true(json_array_get(place, AT_TRUST))
		       ? " [trusted]\n"
		       : " [untrusted]\n");
}

static void print_node(const char *node, const json_t *places)
{
	if (json_array_size(places) == 0) {
		printf("  Node: %s, status: OS not found\n", node);
		return;
	}
	print_used(node, json_array_get(places, 0));
	for (size_t i = 1; i < json_array_size(places); i++) {
		const json_t *place = json_array_get(places, i);
		auto_free char *status = place_status(place);
		auto_free char *path = cli_str(json_array_get(place, AT_PATH));

		printf("    [hidden] path: %s, status: %s\n", path, status);
	}
}

static bool node_is_well(const json_t *places)
{
	return json_is_true(
		json_array_get(json_array_get(places, 0), AT_VALID));
}

/* Whether all nodes have it. */
static bool print_os(const json_t *row)
{
	auto_free char *name = cli_str(json_array_get(row, 0));
	auto_free char *variants = cli_join(json_array_get(row, 1 + 1), ", ");
	const json_t *status = json_array_get(row, 3);
	auto_strv struct strv good = {0}, bad = {0};
	const char *node;
	json_t *places;

	json_object_foreach (json_unconst(status), node, places)
		strv_add(node_is_well(places) ? &good : &bad, node);
	strv_sort_nice(&good);
	strv_sort_nice(&bad);
	printf("OS: %s [global status: %s]%s%s\n", name,
	       bad.n == 0    ? "valid"
	       : good.n == 0 ? "invalid"
			     : "partial valid",
	       json_is_true(json_array_get(row, 4)) ? " [hidden]" : "",
	       json_is_true(json_array_get(row, 5)) ? " [blacklisted]" : "");
	if (*variants != '\0')
		printf("  Variants: [%s]\n", variants);
	for (size_t i = 0; i < good.n; i++)
		print_node(good.items[i],
			   json_object_get(status, good.items[i]));
	for (size_t i = 0; i < bad.n; i++)
		print_node(bad.items[i], json_object_get(status, bad.items[i]));
	printf("\n");
	return bad.n == 0;
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
	json_array_foreach (rows, i, row)
		bad |= !print_os(row);
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

static void print_definition(const json_t *row)
{
	auto_free char *name = cli_str(json_array_get(row, 0));

	printf("%s:\n", name);
	print_flag("valid", json_array_get(row, 1));
	print_flag("hidden", json_array_get(row, 6));
	print_flag("blacklisted", json_array_get(row, 5));
	if (json_is_true(json_array_get(row, 1))) {
		print_list("API versions", json_array_get(row, 4));
		print_list("variants", json_array_get(row, 2));
		print_list("parameters", json_array_get(row, 3));
	}
	print_flag("trusted", json_array_get(row, 9));
	printf("\n");
}

/* The entry of this OS in the column of the rows; {} if there is none. */
static json_t *kept_of(const json_t *rows, size_t column, const char *os)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *kept = json_get(json_array_get(row, column), os);

		if (kept != NULL)
			return cli_sorted(kept);
	}
	return json_object();
}

/* Whether the cluster has recorded anything for this name. */
static bool is_kept(const json_t *rows, const char *os)
{
	auto_json json_t *hvp = kept_of(rows, 7, os);
	auto_json json_t *params = kept_of(rows, 8, os);

	return json_object_size(hvp) > 0 || json_object_size(params) > 0;
}

/* What it has, for a name that is not a definition's: a variant, or unknown. */
static void print_kept(const json_t *rows, const char *os)
{
	auto_json json_t *hvp = kept_of(rows, 7, os);
	auto_json json_t *params = kept_of(rows, 8, os);
	auto_json json_t *view = NULL;

	if (!is_kept(rows, os)) {
		printf("%s: \n\n", os);
		return;
	}
	view = json_make("{s:{s:O, s:O}}", os,
			 "OS-specific hypervisor parameters", hvp,
			 "OS parameters", params);
	cli_print_info(view);
	printf("\n");
}

static bool is_definition(const json_t *rows, const char *os)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (str_eq(json_string_value(json_array_get(row, 0)), os))
			return true;
	return false;
}

/* Whether it is a variant of the row's definition: "noop+small" of noop. */
static bool is_variant_of(const json_t *row, const char *os)
{
	const char *name = json_string_value(json_array_get(row, 0));
	size_t len = name == NULL ? 0 : strlen(name);

	return len > 0 && strncmp(os, name, len) == 0 && os[len] == '+' &&
	       json_array_has_str(json_array_get(row, 2), os + len + 1);
}

static bool is_variant(const json_t *rows, const char *os)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (is_variant_of(row, os))
			return true;
	return false;
}

static bool is_asked_for(const struct cli *cli, const json_t *row)
{
	const char *name = json_string_value(json_array_get(row, 0));

	for (int i = 0; i < cli->n_args; i++)
		if (str_eq(name, cli->args[i]))
			return true;
	return cli->n_args == 0;
}

/* For programs: the definitions that are asked for, also by a variant. */
static void print_info_rows(const struct cli *cli, const json_t *rows)
{
	auto_json json_t *chosen = json_array();
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		bool meant = is_asked_for(cli, row);

		for (int k = 0; k < cli->n_args; k++)
			meant |= is_variant_of(row, cli->args[k]);
		if (meant)
			json_array_append(chosen, row);
	}
	print_rows(cli, chosen, INFO_FIELDS);
}

static void print_info(const struct cli *cli, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (is_asked_for(cli, row))
			print_definition(row);
	for (int k = 0; k < cli->n_args; k++)
		if (!is_definition(rows, cli->args[k]))
			print_kept(rows, cli->args[k]);
}

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = diagnose_rows(cli, INFO_FIELDS, err);
	const char *unknown = NULL;

	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli))
		print_info_rows(cli, rows);
	else
		print_info(cli, rows);
	for (int k = 0; k < cli->n_args; k++)
		if (!is_definition(rows, cli->args[k]) &&
		    !is_kept(rows, cli->args[k]) &&
		    !is_variant(rows, cli->args[k]))
			unknown = cli->args[k];
	return unknown == NULL ? CLI_OK : tool_unknown("OS", unknown, err);
}

/* --- modify --- */

/* {os: the option's value} as a parameter of the opcode, if it was given. */
static void set_of_os(const struct cli *cli, json_t *op, const char *param,
		      const struct opt *option)
{
	if (json_object_size(cli_value(cli, option)) > 0)
		json_object_set_new(op, param,
				    json_make("{s:O}", cli->args[0],
					      cli_value(cli, option)));
}

static void set_list(const struct cli *cli, json_t *op, const char *param,
		     const struct opt *option)
{
	const json_t *value = cli_value(cli, option);

	if (value != NULL)
		json_object_set_new(
			op, param,
			json_make("[[s, s]]",
				  json_is_true(value) ? "add" : "remove",
				  cli->args[0]));
}

static int set_hvp(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *by_hv = tool_by_ident(cli_value(cli, &OPT_HVLIST), err), *one;
	const char *hv;

	if (by_hv == NULL)
		return -1;
	json_object_set_new(op, "os_hvp",
			    json_make("{s:o}", cli->args[0], by_hv));
	json_object_foreach (by_hv, hv, one)
		if (tool_type_hv(one, hv, true, err) < 0)
			return -1;
	return 0;
}

static bool changes_something(const json_t *op)
{
	static const char *const params[] = {"os_hvp", "osparams",
					     "osparams_private_cluster",
					     "hidden_os", "blacklisted_os"};

	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (json_get(op, params[i]) != NULL)
			return true;
	return false;
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *op = cli_op(cli, &op_class_cluster_set_params);

	set_of_os(cli, op, "osparams", &OPT_OSPARAMS);
	set_of_os(cli, op, "osparams_private_cluster", &OPT_OSPARAMS_PRIVATE);
	set_list(cli, op, "hidden_os", &OPT_OS_HIDDEN);
	set_list(cli, op, "blacklisted_os", &OPT_OS_BLACKLISTED);
	if (cli_given(cli, &OPT_HVLIST) && set_hvp(cli, op, err) < 0)
		return -1;
	if (!changes_something(op)) {
		fprintf(stderr, "At least one of OS parameters or hypervisor "
				"parameters must be passed\n");
		return CLI_FAILURE;
	}
	return cli_submit(cli, steal(&op), NULL, err);
}

static const struct cli_command modify_command = {
	.name = "modify",
	.args = "<os>",
	.help = "Change what the cluster keeps of an OS: parameters, "
		"visibility",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_HVLIST, &OPT_OSPARAMS, &OPT_OSPARAMS_PRIVATE,
		    &OPT_OS_HIDDEN, &OPT_OS_BLACKLISTED, OPTS_JOB},
	.run = modify,
};

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
	.args = "[<os>...]",
	.help = "Show variants and parameters of each definition, and what the "
		"cluster keeps of variants",
	.max_args = -1,
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = info,
};

static const struct cli_command *const commands[] = {
	&diagnose_command, &info_command, &list_command, &modify_command, NULL};

const struct cli_tool tool_os = {
	.name = "gnt-os",
	.help = "Operating system definitions",
	.commands = commands,
};
