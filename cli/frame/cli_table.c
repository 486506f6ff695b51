/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables.  All cells become text first; then widths are known. */
#include "cli/frame/cli_table.h"

#include <string.h>

#include "cli/frame/cli_colour.h"
#include "cli/frame/cli_text.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

/* States of a cell in the answer to a query. */
enum { CELL_NORMAL, CELL_UNKNOWN, CELL_NODATA, CELL_UNAVAIL, CELL_OFFLINE };

static const struct {
	const char *brief, *verbose;
} missing[] = {
	[CELL_UNKNOWN] = {"??", "(unknown)"},
	[CELL_NODATA] = {"?", "(nodata)"},
	[CELL_UNAVAIL] = {"-", "(unavail)"},
	[CELL_OFFLINE] = {"*", "(offline)"},
};

static bool is_number(const char *kind)
{
	return str_eq(kind, "number") || str_eq(kind, "float") ||
	       str_eq(kind, "unit");
}

static char *value_text(const struct cli_table_style *style,
			const json_t *field, const json_t *value)
{
	const char *name = json_str(field, "name", "");
	const char *kind = json_str(field, "kind", "other");

	for (const struct cli_format *f = style->formats;
	     f != NULL && f->field != NULL; f++)
		if (strcmp(f->field, name) == 0)
			return f->format(value);
	if (str_eq(kind, "bool") && json_is_boolean(value))
		return xstrdup(json_is_true(value) ? "Y" : "N");
	if (str_eq(kind, "unit") && json_is_number(value))
		return cli_size(json_number_value(value), style->unit);
	if (str_eq(kind, "timestamp") && json_is_number(value))
		return cli_time(json_number_value(value));
	return cli_str(value);
}

static char *cell_text(const struct cli_table_style *style, const json_t *field,
		       const json_t *cell)
{
	json_int_t state = json_integer_value(json_array_get(cell, 0));

	if (state == CELL_NORMAL)
		return value_text(style, field, json_array_get(cell, 1));
	if (state < 0 || state > CELL_OFFLINE)
		state = CELL_UNKNOWN;
	return xstrdup(style->verbose ? missing[state].verbose
				      : missing[state].brief);
}

/* Characters, not bytes. */
static size_t text_width(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void add_blanks(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_addc(out, ' ');
}

static void add_cell(struct buf *out, const char *text, const char *colour,
		     size_t width, bool right, bool last)
{
	size_t own = text_width(text);
	size_t fill = width > own ? width - own : 0;

	if (right)
		add_blanks(out, fill);
	if (colour != NULL)
		buf_adds(out, colour);
	buf_adds(out, text);
	if (colour != NULL)
		buf_adds(out, CLI_COLOUR_END);
	if (!right && !last)
		add_blanks(out, fill);
}

static void add_line(struct buf *out, const struct cli_table_style *style,
		     const json_t *fields, const struct strv *cells,
		     size_t first, const size_t *widths)
{
	bool pad = style->pad_titles && style->headers && first == 0;
	size_t n = json_array_size(fields);

	for (size_t i = 0; i < n; i++) {
		const json_t *field = json_array_get(fields, i);
		const char *kind = json_str(field, "kind", "other");
		const char *text = cells->items[first + i];
		bool title = style->headers && first == 0;
		const char *colour =
			style->colours && !title
				? cli_colour(json_str(field, "name", ""), text)
				: NULL;

		if (i > 0)
			buf_adds(out,
				 style->separator ? style->separator : " ");
		if (style->separator != NULL)
			buf_adds(out, text);
		else
			add_cell(out, text, colour, widths[i], is_number(kind),
				 i + 1 == n && !pad);
	}
	buf_addc(out, '\n');
}

void cli_table(struct buf *out, const struct cli_table_style *style,
	       const json_t *fields, const json_t *rows)
{
	size_t n = json_array_size(fields), i, j;
	auto_free size_t *widths = xcalloc(n + 1, sizeof(*widths));
	auto_strv struct strv cells = {0};
	const json_t *field, *row;

	if (style->headers)
		json_array_foreach (fields, i, field)
			strv_add(&cells, json_str(field, "title", "?"));
	json_array_foreach (rows, i, row)
		json_array_foreach (fields, j, field) {
			auto_free char *text =
				cell_text(style, field, json_array_get(row, j));

			strv_add(&cells, text);
		}
	for (i = 0; i < cells.n; i++) {
		size_t width = text_width(cells.items[i]);

		if (width > widths[i % n])
			widths[i % n] = width;
	}
	for (i = 0; i < cells.n; i += n)
		add_line(out, style, fields, &cells, i, widths);
}

json_t *cli_table_json(const json_t *fields, const json_t *rows)
{
	json_t *list = json_array();
	const json_t *field, *row;
	size_t i, j;

	json_array_foreach (rows, i, row) {
		json_t *object = json_object();

		json_array_foreach (fields, j, field) {
			const json_t *cell = json_array_get(row, j);
			json_t *value = json_array_get(cell, 1);

			if (json_integer_value(json_array_get(cell, 0)) !=
			    CELL_NORMAL)
				value = NULL;
			json_object_set_new(object,
					    json_str(field, "name", "?"),
					    value == NULL ? json_null()
							  : json_incref(value));
		}
		json_array_append_new(list, object);
	}
	return list;
}

void cli_table_unknown(const json_t *fields, struct strv *ret)
{
	const json_t *field;
	size_t i;

	json_array_foreach (fields, i, field)
		if (str_eq(json_str(field, "kind", ""), "unknown"))
			strv_add(ret, json_str(field, "name", "?"));
}
