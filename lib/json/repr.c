/* SPDX-License-Identifier: BSD-2-Clause */
/* One recursive walk over the value appends to a buffer.  Strings get Python's
 * choice of quotes and escapes.  A real is written with the fewest digits that
 * read back as the same number, with an exponent only where Python has one. */
#include "lib/json/repr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

/* More digits than a double needs. */
#define DIGITS_MAX 17

static void add_string(struct buf *out, const char *s)
{
	char quote =
		strchr(s, '\'') != NULL && strchr(s, '"') == NULL ? '"' : '\'';

	buf_addc(out, quote);
	for (; *s != '\0'; s++) {
		if (*s == quote || *s == '\\')
			buf_addf(out, "\\%c", *s);
		else if (*s == '\n')
			buf_adds(out, "\\n");
		else if (*s == '\t')
			buf_adds(out, "\\t");
		else if (*s == '\r')
			buf_adds(out, "\\r");
		else if ((unsigned char)*s < ' ' || *s == 0x7f)
			buf_addf(out, "\\x%02x", (unsigned char)*s);
		else
			buf_addc(out, *s);
	}
	buf_addc(out, quote);
}

/* The fewest digits that read back as the same number. */
static void add_real(struct buf *out, double value)
{
	char text[40];

	for (int n = 1; n <= DIGITS_MAX; n++) {
		snprintf(text, sizeof(text), "%.*g", n, value);
		if (strtod(text, NULL) == value)
			break;
	}
	if (fabs(value) >= 1e16 || strchr(text, 'e') == NULL ||
	    fabs(value) < 1e-4)
		buf_adds(out, text);
	else
		buf_addf(out, "%.0f", value);
	if (strspn(text, "-0123456789") == strlen(text) ||
	    (strchr(text, 'e') != NULL && fabs(value) < 1e16 &&
	     fabs(value) >= 1e-4))
		buf_adds(out, ".0");
}

static void add_repr(struct buf *out, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	switch (value == NULL ? JSON_NULL : json_typeof(value)) {
	case JSON_STRING:
		add_string(out, json_string_value(value));
		return;
	case JSON_INTEGER:
		buf_addf(out, "%lld", (long long)json_integer_value(value));
		return;
	case JSON_REAL:
		add_real(out, json_real_value(value));
		return;
	case JSON_ARRAY:
		buf_addc(out, '[');
		json_array_foreach (value, i, member) {
			buf_adds(out, i > 0 ? ", " : "");
			add_repr(out, member);
		}
		buf_addc(out, ']');
		return;
	case JSON_OBJECT:
		buf_addc(out, '{');
		i = 0;
		json_object_foreach (json_unconst(value), key, member) {
			buf_adds(out, i++ > 0 ? ", " : "");
			add_string(out, key);
			buf_adds(out, ": ");
			add_repr(out, member);
		}
		buf_addc(out, '}');
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		buf_adds(out, json_is_true(value) ? "True" : "False");
		return;
	default:
		buf_adds(out, "None");
	}
}

char *json_repr(const json_t *value)
{
	auto_buf struct buf out = {0};

	add_repr(&out, value);
	return buf_steal(&out);
}
