/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables: columns, alignment, units, separators, cells without data. */
#ifndef CLI_FRAME_CLI_TABLE_H
#define CLI_FRAME_CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/str.h"

/* Makes the text of a cell that is not a plain value; to be freed. */
typedef char *(*cli_format_fn)(const json_t *value);

struct cli_format {
	const char *field;
	cli_format_fn format;
};

struct cli_table_style {
	bool headers;
	bool pad_titles;		  /* also behind the last title */
	bool colours;			  /* of states; not with separator */
	bool verbose;			  /* (nodata) instead of ? */
	const char *separator;		  /* NULL: aligned columns */
	char unit;			  /* h, m, g or t */
	const struct cli_format *formats; /* NULL or ended by field NULL */
};

/* The text of a table.  fields: [{name, title, kind}, ...] as QueryFields
 * gives them; rows: [[[status, value], ...], ...]. */
void cli_table(struct buf *out, const struct cli_table_style *style,
	       const json_t *fields, const json_t *rows);

/* The same as a list of objects; cells without data are null. */
json_t *cli_table_json(const json_t *fields, const json_t *rows);

/* Add the names of fields that the master did not know. */
void cli_table_unknown(const json_t *fields, struct strv *ret);

#endif
