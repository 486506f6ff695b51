/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-filter: rules about which jobs may run. */
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

/* Whether a row of QueryFilters is the rule with this UUID. */
static bool has_rule(const json_t *rows, const char *uuid)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (str_eq(json_string_value(json_array_get(row, 0)), uuid))
			return true;
	return false;
}

static int check_known(const struct cli *cli, const json_t *rows,
		       struct error *err)
{
	for (int i = 0; i < cli->n_args; i++)
		if (!has_rule(rows, cli->args[i]))
			return tool_unknown("Filter rule", cli->args[i], err);
	return 0;
}

/* The rows of the list need not have the UUID. */
static int check_listed(struct cli *cli, const json_t *rows, struct error *err)
{
	auto_json json_t *known = NULL;

	if (json_array_size(rows) >= (size_t)cli->n_args)
		return 0;
	known = cli_call(cli, "QueryFilters",
			 json_make("[o, [s]]", cli_args(cli, 0), "uuid"), err);
	return known == NULL ? -1 : check_known(cli, known, err);
}

static const struct cli_list filter_list = {
	.what = "filter",
	.fields = "uuid,watermark,priority,predicates,action,reason_trail",
	.name_field = "uuid",
	.check_rows = check_listed,
};

/* --- add, replace, delete --- */

/* "PAUSE" as it is; "RATE_LIMIT 3", or the same as JSON, as ["RATE_LIMIT", 3].
 * The master knows which ones there are. */
static json_t *action(const struct cli *cli, struct error *err)
{
	const char *text = cli_text(cli, &OPT_ACTION);
	int64_t limit;

	if (text == NULL)
		return json_string("CONTINUE");
	if (*text == '[')
		return json_parse(text, strlen(text), err);
	if (str_starts(text, "RATE_LIMIT ") &&
	    str_to_int64(text + strlen("RATE_LIMIT "), &limit))
		return json_make("[s, I]", "RATE_LIMIT", (json_int_t)limit);
	return json_string(text);
}

static json_t *predicates(const struct cli *cli, struct error *err)
{
	const char *text = cli_text(cli, &OPT_PREDICATES);
	json_t *list;

	if (text == NULL)
		return json_array();
	list = json_parse(text, strlen(text), err);
	if (list == NULL) {
		error_as(err, ERR_PREREQ, ECODE_INVAL);
		error_wrap(err, "--predicates is no JSON");
	}
	return list;
}

/* uuid NULL: a new rule, whose UUID is printed. */
static int put(struct cli *cli, const char *uuid, struct error *err)
{
	auto_json json_t *what = action(cli, err);
	auto_json json_t *when = what == NULL ? NULL : predicates(cli, err);
	auto_json json_t *answer = NULL;

	if (when == NULL)
		return -1;
	answer = cli_call(
		cli, "ReplaceFilter",
		json_make("[s?, I, O, O, o]", uuid,
			  (json_int_t)cli_count(cli, &OPT_FILTER_PRIORITY),
			  when, what, cli_user_reason(cli)),
		err);
	if (answer == NULL)
		return -1;
	puts(json_string_value(answer));
	return CLI_OK;
}

static int add(struct cli *cli, struct error *err)
{
	return put(cli, NULL, err);
}

static int replace(struct cli *cli, struct error *err)
{
	return put(cli, cli->args[0], err);
}

static int delete (struct cli *cli, struct error *err)
{
	auto_json json_t *answer = cli_call(
		cli, "DeleteFilter", json_make("[s]", cli->args[0]), err);

	return answer == NULL ? -1 : CLI_OK;
}

/* --- info --- */

static const struct {
	const char *field, *title;
} info_fields[] = {
	{"uuid", "UUID"},	    {"watermark", "  Watermark"},
	{"priority", "  Priority"}, {"predicates", "  Predicates"},
	{"action", "  Action"},	    {"reason_trail", "  Reason trail"},
};

#define N_INFO ARRAY_SIZE(info_fields)

static json_t *info_args(const struct cli *cli)
{
	json_t *uuids = cli_args(cli, 0), *fields = json_array();

	for (size_t i = 0; i < N_INFO; i++)
		json_array_append_new(fields,
				      json_string(info_fields[i].field));
	return json_make("[o, o]", uuids, fields);
}

static void print_data(const struct cli *cli, const json_t *rows)
{
	const char *names[N_INFO];
	auto_json json_t *objects = NULL;

	for (size_t i = 0; i < N_INFO; i++)
		names[i] = info_fields[i].field;
	objects = cli_objects(rows, names, N_INFO);
	cli_print_data(cli, objects);
}

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *rows =
		cli_call(cli, "QueryFilters", info_args(cli), err);

	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		print_data(cli, rows);
		return check_known(cli, rows, err) < 0 ? -1 : CLI_OK;
	}
	for (size_t r = 0; r < json_array_size(rows); r++) {
		const json_t *row = json_array_get(rows, r);

		for (size_t i = 0; i < N_INFO; i++) {
			auto_free char *text = cli_str(json_array_get(row, i));

			printf("%s: %s\n", info_fields[i].title, text);
		}
	}
	return check_known(cli, rows, err) < 0 ? -1 : CLI_OK;
}

/* --- the table --- */

#define OPTS_RULE &OPT_FILTER_PRIORITY, &OPT_PREDICATES, &OPT_ACTION

static const struct cli_command *const commands[] = {
	&(const struct cli_command){
		.name = "add",
		.args = "",
		.help = "Add a rule and print its UUID",
		.options = {OPTS_RULE},
		.run = add,
	},
	&(const struct cli_command){
		.name = "replace",
		.args = "<filter-uuid>",
		.help = "Put another rule in the place of one, or make one "
			"with this UUID",
		.min_args = 1,
		.max_args = 1,
		.options = {OPTS_RULE},
		.run = replace,
	},
	&(const struct cli_command){
		.name = "delete",
		.args = "<filter-uuid>",
		.help = "Remove a rule",
		.min_args = 1,
		.max_args = 1,
		.run = delete,
	},
	&(const struct cli_command){
		.name = "list",
		.args = "[<filter-uuid>...]",
		.help = "List the rules. Fields: uuid, watermark, priority, "
			"predicates, action, reason_trail.",
		.max_args = -1,
		.options = {OPTS_LIST},
		.run = cli_run_list,
		.list = &filter_list,
	},
	&(const struct cli_command){
		.name = "list-fields",
		.args = "[<fields>...]",
		.help = "List all fields of rules",
		.max_args = -1,
		.options = {OPTS_TABLE, &OPT_FORMAT},
		.run = cli_run_list_fields,
		.list = &filter_list,
	},
	&(const struct cli_command){
		.name = "info",
		.args = "[<filter-uuid>...]",
		.help = "Show rules",
		.max_args = -1,
		.options = {OPTS_INFO},
		.run = info,
	},
	NULL,
};

const struct cli_tool tool_filter = {
	.name = "gnt-filter",
	.help = "Rules about which jobs may run",
	.commands = commands,
};
