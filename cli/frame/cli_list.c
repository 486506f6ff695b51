/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists. */
#include "cli/frame/cli_list.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_colour.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_yaml.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter.h"

bool cli_wants_data(const struct cli *cli)
{
	const char *format = cli_text(cli, &OPT_FORMAT);

	return format != NULL && strcmp(format, "table") != 0;
}

/* columns: for CSV, NULL when the value tells. */
static void print_data(const struct cli *cli, const json_t *value,
		       const struct strv *columns)
{
	const char *format = cli_text(cli, &OPT_FORMAT);
	auto_buf struct buf text = {0};

	if (strcmp(format, "json") == 0) {
		json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
		putchar('\n');
		return;
	}
	if (strcmp(format, "yaml") == 0)
		cli_yaml(&text, value);
	else
		cli_csv(&text, value, columns,
			!cli_given(cli, &OPT_NO_HEADERS));
	fwrite(text.data, 1, text.len, stdout);
}

void cli_print_data(const struct cli *cli, const json_t *value)
{
	print_data(cli, value, NULL);
}

json_t *cli_objects(const json_t *rows, const char *const *names, size_t n)
{
	json_t *list = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		json_t *object = json_object();

		for (size_t f = 0; f < n; f++)
			json_object_set(object, names[f],
					json_array_get(row, f));
		json_array_append_new(list, object);
	}
	return list;
}

void cli_table_style(const struct cli *cli, struct cli_table_style *ret)
{
	const char *unit = cli_text(cli, &OPT_UNITS);

	*ret = (struct cli_table_style){
		.headers = !cli_given(cli, &OPT_NO_HEADERS),
		.colours = cli_colours_wanted(),
		.verbose = cli_given(cli, &OPT_VERBOSE),
		.separator = cli_text(cli, &OPT_SEPARATOR),
	};
	if (unit == NULL)
		unit = str_empty(ret->separator) ? "h" : "m";
	ret->unit = *unit;
}

/* -o name,pnode or -o +tags */
static json_t *chosen_fields(const struct cli *cli, const struct cli_list *list,
			     struct error *err)
{
	const char *usual = list->fields;
	const char *output = cli_text(cli, &OPT_OUTPUT);
	auto_free char *all = NULL;
	auto_strv struct strv names = {0};

	if (output == NULL)
		output = usual;
	else if (*output == '+')
		output = all = xprintf("%s,%s", usual, output + 1);
	str_split(&names, output, ',');
	if (strv_has(&names, "")) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The name of a field is empty in '%s'", output);
		return NULL;
	}
	if (list->always != NULL)
		strv_add_unique(&names, list->always);
	return json_from_strv(&names);
}

json_t *cli_number_filter(const struct cli *cli, const char *field,
			  struct error *err)
{
	auto_json json_t *filter = json_make("[s]", "|");

	for (int i = 0; i < cli->n_args; i++) {
		int64_t number;

		if (!str_to_int64(cli->args[i], &number)) {
			error_set(err, ERR_PREREQ, ECODE_INVAL,
				  "Invalid job ID '%s' (a number is wanted)",
				  cli->args[i]);
			return NULL;
		}
		json_array_append_new(filter,
				      json_make("[s, s, I]", "==", field,
						(json_int_t)number));
	}
	return steal(&filter);
}

/* Whether the arguments are names, not a filter. */
static bool are_names(const struct cli *cli)
{
	return cli->n_args > 0 && !cli_given(cli, &OPT_FILTER) &&
	       (cli->n_args > 1 || !filter_text_is_filter(cli->args[0]));
}

static int list_filter(const struct cli *cli, const struct cli_list *list,
		       json_t **ret, struct error *err)
{
	auto_strv struct strv names = {0};
	bool forced = cli_given(cli, &OPT_FILTER);

	if (forced && cli->n_args != 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Exactly one argument must be given as a "
				 "filter");
	if (cli->n_args > 0 && !are_names(cli)) {
		*ret = filter_from_text(cli->args[0], err);
		return *ret == NULL ? -1 : 0;
	}
	if (list->numeric && cli->n_args > 0) {
		*ret = cli_number_filter(cli, list->name_field, err);
		return *ret == NULL ? -1 : 0;
	}
	for (int i = 0; i < cli->n_args; i++)
		strv_add(&names, cli->args[i]);
	*ret = filter_from_names(&names, list->name_field, true);
	return 0;
}

static void print_rows_data(const struct cli *cli, const json_t *fields,
			    const json_t *rows)
{
	auto_json json_t *list = cli_table_json(fields, rows);
	auto_strv struct strv columns = {0};
	const json_t *field;
	size_t i;

	json_array_foreach (fields, i, field)
		strv_add(&columns, json_str(field, "name", "?"));
	print_data(cli, list, &columns);
}

/* Print the unknown fields on stderr; returns the exit code. */
static int tell_unknown(const json_t *fields)
{
	auto_strv struct strv unknown = {0};
	auto_free char *names = NULL;

	cli_table_unknown(fields, &unknown);
	if (unknown.n == 0)
		return CLI_OK;
	names = strv_join(&unknown, ", ");
	fprintf(stderr, "Warning: Queried for unknown fields %s\n", names);
	return CLI_UNKNOWN_FIELD;
}

static int print_list(const struct cli *cli,
		      const struct cli_table_style *style, const json_t *answer)
{
	const json_t *fields = json_get(answer, "fields");
	const json_t *rows = json_get(answer, "data");
	auto_buf struct buf text = {0};
	int code = tell_unknown(fields);

	if (cli_wants_data(cli)) {
		print_rows_data(cli, fields, rows);
	} else {
		cli_table(&text, style, fields, rows);
		fwrite(text.data, 1, text.len, stdout);
	}
	return code;
}

int cli_list(struct cli *cli, const struct cli_list *list,
	     json_t *filter STEALS, struct error *err)
{
	auto_json json_t *own = filter, *fields = NULL, *named = NULL;
	auto_json json_t *answer = NULL;
	struct cli_table_style style;
	int code;

	cli_table_style(cli, &style);
	fields = chosen_fields(cli, list, err);
	if (fields == NULL || list_filter(cli, list, &named, err) < 0)
		return -1;
	if (own == NULL)
		own = steal(&named);
	else if (!json_is_null(named))
		own = json_make("[s, O, o]", "&", named, own);
	style.formats = list->formats;
	answer = cli_call(cli, "Query",
			  json_make("[s, O, O]", list->what, fields, own), err);
	if (answer == NULL)
		return -1;
	code = print_list(cli, &style, answer);
	if (list->check_rows != NULL && are_names(cli) &&
	    list->check_rows(cli, json_get(answer, "data"), err) < 0)
		return -1;
	return code;
}

int cli_run_list(struct cli *cli, struct error *err)
{
	return cli_list(cli, cli->command->list, NULL, err);
}

/* --- list-fields --- */

static const char *kind_title(const char *kind)
{
	static const struct {
		const char *kind, *title;
	} titles[] = {
		{"unknown", "Unknown"},
		{"text", "Text"},
		{"bool", "Boolean"},
		{"number", "Number"},
		{"float", "Floating-point number"},
		{"unit", "Storage size"},
		{"timestamp", "Timestamp"},
		{"other", "Custom"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (str_eq(titles[i].kind, kind))
			return titles[i].title;
	return kind;
}

int cli_run_list_fields(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = NULL, *args = NULL, *columns = NULL;
	auto_json json_t *rows = json_array();
	auto_buf struct buf text = {0};
	struct cli_table_style style;
	const json_t *field;
	int code;
	size_t i;

	cli_table_style(cli, &style);
	if (cli->n_args == 0)
		args = json_make("[s, n, b]", cli->command->list->what, 1);
	else
		args = json_make("[s, o]", cli->command->list->what,
				 cli_args(cli, 0));
	answer = cli_call(cli, "QueryFields", steal(&args), err);
	if (answer == NULL)
		return -1;
	code = tell_unknown(json_get(answer, "fields"));
	if (cli_wants_data(cli)) {
		cli_print_data(cli, json_get(answer, "fields"));
		return code;
	}
	json_array_foreach (json_get(answer, "fields"), i, field)
		json_array_append_new(
			rows, json_make("[[i, s], [i, s], [i, s], [i, s]]", 0,
					json_str(field, "name", ""), 0,
					kind_title(json_str(field, "kind", "")),
					0, json_str(field, "title", ""), 0,
					json_str(field, "doc", "")));
	columns = json_make("[{s: s, s: s}, {s: s, s: s}, {s: s, s: s}, "
			    "{s: s, s: s}]",
			    "title", "Name", "kind", "text", "title", "Type",
			    "kind", "text", "title", "Title", "kind", "text",
			    "title", "Description", "kind", "text");
	cli_table(&text, &style, columns, rows);
	fwrite(text.data, 1, text.len, stdout);
	return code;
}
