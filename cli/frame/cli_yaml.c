/* SPDX-License-Identifier: BSD-2-Clause */
/* YAML and CSV.  Few words are written plain: they begin with a letter or
 * slash, no version of YAML reads them as a truth value, and they contain no
 * character with a meaning.  Everything else is in double quotes. */
#include "cli/frame/cli_yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

#define INDENT 2

/* --- YAML: words --- */

static bool is_reserved(const char *s)
{
	static const char *const words[] = {"y",   "n",	   "yes",   "no",  "on",
					    "off", "true", "false", "null"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return false;
}

static bool is_plain(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || !(isalpha((unsigned char)*s) || *s == '/') ||
	    s[n - 1] == ' ' || is_reserved(s))
		return false;
	for (; *s != '\0'; s++)
		if (!isascii(*s) || !(isalnum((unsigned char)*s) ||
				      strchr(" _./+@()-", *s) != NULL))
			return false;
	return true;
}

/* Characters beyond ASCII that a YAML parser need not take as they are. */
static const struct {
	const char *bytes, *escape;
} unprintable[] = {
	{"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"},
	{"\xef\xbb\xbf", "\\ufeff"}, {"\xef\xbf\xbe", "\\ufffe"},
	{"\xef\xbf\xbf", "\\uffff"},
};

/* One character of a quoted word; how many bytes it had. */
static size_t add_quoted(struct buf *out, const char *s)
{
	unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];

	if (c == '"' || c == '\\') {
		buf_addf(out, "\\%c", c);
		return 1;
	}
	if (c == '\n' || c == '\t') {
		buf_adds(out, c == '\n' ? "\\n" : "\\t");
		return 1;
	}
	if (c < 0x20 || c == 0x7f) {
		buf_addf(out, "\\x%02x", c);
		return 1;
	}
	if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
		buf_addf(out, "\\x%02x", next);
		return 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++)
		if (str_starts(s, unprintable[i].bytes)) {
			buf_adds(out, unprintable[i].escape);
			return strlen(unprintable[i].bytes);
		}
	buf_addc(out, *s);
	return 1;
}

static void add_word(struct buf *out, const char *s)
{
	if (is_plain(s)) {
		buf_adds(out, s);
		return;
	}
	buf_addc(out, '"');
	while (*s != '\0')
		s += add_quoted(out, s);
	buf_addc(out, '"');
}

/* YAML 1.1 knows a number with an exponent by its point and sign. */
static void add_real(struct buf *out, const json_t *value)
{
	auto_free char *text = json_text(value);
	const char *e = strchr(text, 'e');

	if (e == NULL) {
		buf_adds(out, text);
		return;
	}
	buf_add(out, text, (size_t)(e - text));
	if (memchr(text, '.', (size_t)(e - text)) == NULL)
		buf_adds(out, ".0");
	buf_adds(out, isdigit((unsigned char)e[1]) ? "e+" : "e");
	buf_adds(out, e + 1);
}

static void add_scalar(struct buf *out, const json_t *value)
{
	if (json_is_string(value)) {
		add_word(out, json_string_value(value));
	} else if (json_is_real(value)) {
		add_real(out, value);
	} else {
		auto_free char *text = json_text(value);

		buf_adds(out, text);
	}
}

/* --- YAML: blocks --- */

static void add_node(struct buf *out, const json_t *value, int level);

static bool is_block(const json_t *value)
{
	return json_array_size(value) > 0 || json_object_size(value) > 0;
}

/* A value after "key:": on the same line, or as a block below. */
static void add_behind_key(struct buf *out, const json_t *value, int level)
{
	buf_addc(out, is_block(value) ? '\n' : ' ');
	if (is_block(value))
		buf_addf(out, "%*s", level * INDENT, "");
	add_node(out, value, level);
}

/* The first line of a block is written at the present position. */
static void add_node(struct buf *out, const json_t *value, int level)
{
	const char *key;
	json_t *member;
	size_t i = 0;

	if (!is_block(value)) {
		add_scalar(out, value);
		buf_addc(out, '\n');
		return;
	}
	json_array_foreach (value, i, member) {
		if (i > 0)
			buf_addf(out, "%*s", level * INDENT, "");
		buf_adds(out, "- ");
		add_node(out, member, level + 1);
	}
	i = 0;
	json_object_foreach (json_unconst(value), key, member) {
		if (i++ > 0)
			buf_addf(out, "%*s", level * INDENT, "");
		add_word(out, key);
		buf_addc(out, ':');
		add_behind_key(out, member, level + 1);
	}
}

void cli_yaml(struct buf *out, const json_t *value)
{
	add_node(out, value, 0);
}

/* --- CSV --- */

static void add_field(struct buf *out, const char *text, bool first)
{
	if (!first)
		buf_addc(out, ',');
	if (strpbrk(text, ",\"\r\n") == NULL) {
		buf_adds(out, text);
		return;
	}
	buf_addc(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			buf_addc(out, '"');
		buf_addc(out, *text);
	}
	buf_addc(out, '"');
}

static void add_cell(struct buf *out, const json_t *value, bool first)
{
	auto_free char *text = NULL;

	if (value == NULL || json_is_null(value))
		text = xstrdup("");
	else if (json_is_string(value))
		text = xstrdup(json_string_value(value));
	else
		text = json_text(value);
	add_field(out, text, first);
}

static void add_titles(struct buf *out, const struct strv *columns)
{
	for (size_t i = 0; i < columns->n; i++)
		add_field(out, columns->items[i], i == 0);
	buf_addc(out, '\n');
}

static void find_columns(const json_t *rows, struct strv *ret)
{
	const char *key;
	json_t *row, *member;
	size_t i;

	json_array_foreach (rows, i, row)
		json_object_foreach (row, key, member)
			strv_add_unique(ret, key);
	if (ret->n == 0 && json_array_size(rows) > 0)
		strv_add(ret, "value");
}

static void add_row(struct buf *out, const json_t *row,
		    const struct strv *columns)
{
	if (json_is_object(row))
		for (size_t i = 0; i < columns->n; i++)
			add_cell(out, json_object_get(row, columns->items[i]),
				 i == 0);
	else
		add_cell(out, row, true);
	buf_addc(out, '\n');
}

/* {"a": 1} as [{"key": "a", "value": 1}] */
static json_t *pairs(const json_t *object)
{
	json_t *list = json_array(), *value;
	const char *key;

	json_object_foreach (json_unconst(object), key, value)
		json_array_append_new(list, json_make("{s: s, s: O}", "key",
						      key, "value", value));
	return list;
}

void cli_csv(struct buf *out, const json_t *value, const struct strv *columns,
	     bool headers)
{
	auto_json json_t *rows = NULL;
	auto_strv struct strv found = {0};
	const json_t *row;
	size_t i;

	if (json_is_object(value))
		rows = pairs(value);
	else if (json_is_array(value))
		rows = json_ref(value);
	else
		rows = json_make("[O]", value);
	if (columns == NULL) {
		find_columns(rows, &found);
		columns = &found;
	}
	if (headers && columns->n > 0)
		add_titles(out, columns);
	json_array_foreach (rows, i, row)
		add_row(out, row, columns);
}
