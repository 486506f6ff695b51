/* SPDX-License-Identifier: BSD-2-Clause */
/* What all "list" and "list-fields" commands do, and how "info" is shown. */
#ifndef CLI_FRAME_CLI_LIST_H
#define CLI_FRAME_CLI_LIST_H

#include "cli/frame/cli.h"
#include "cli/frame/cli_table.h"

struct cli_list {
	const char *what;	/* "instance", as the query calls it */
	const char *fields;	/* shown without -o, with commas between */
	const char *name_field; /* the field that names are compared with */
	bool numeric;		/* arguments are numbers: the ids of jobs */
	const char *always;	/* a field that is shown whatever is chosen */
	const struct cli_format *formats;

	/* For kinds of which the master ignores unknown names: rows are those
	 * found for the arguments; report a name that has no row.  0, or -1
	 * with err; called after the table was printed. */
	int (*check_rows)(struct cli *cli, const json_t *rows,
			  struct error *err);
};

/* Query and print what the arguments, a filter or names, and filter (may be
 * NULL) let through. */
int cli_list(struct cli *cli, const struct cli_list *list,
	     json_t *filter STEALS, struct error *err);
/* For `run` of commands that only print a list: it is in cli->command->list. */
int cli_run_list(struct cli *cli, struct error *err);
int cli_run_list_fields(struct cli *cli, struct error *err);

/* ["|", ["==", field, 3], ...]: the arguments as numbers. */
json_t *cli_number_filter(const struct cli *cli, const char *field,
			  struct error *err);

/* The style that the options ask for. */
void cli_table_style(const struct cli *cli, struct cli_table_style *ret);

/* Whether --format asks for a format for programs. */
bool cli_wants_data(const struct cli *cli);
/* Print a value in that format: a list of objects, of words, or an object. */
void cli_print_data(const struct cli *cli, const json_t *value);
/* Rows of bare values as a list of objects, for cli_print_data(). */
json_t *cli_objects(const json_t *rows, const char *const *names, size_t n);

/* Print nested objects and lists with indentation; what stands in them is
 * shown as cli_str() does. */
void cli_print_info(const json_t *value);
/* A copy with sorted keys, at every depth; to be freed. */
json_t *cli_sorted(const json_t *value);

/* Set key to the text for a parameter: its value, or "default (value)" if
 * custom does not have it. */
void cli_info_params(json_t *object, const char *key, const json_t *custom,
		     const json_t *actual);

#endif
