/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as text. */
#include "cli/cli_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* Seconds until which the C library can make dates. */
#define TIME_MAX_S 253402300799.0
/* More digits than a double has. */
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

/* The fewest digits that mean the number. */
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
		json_object_foreach ((json_t *)value, key, member) {
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

char *cli_repr(const json_t *value)
{
	auto_buf struct buf out = {0};

	add_repr(&out, value);
	return buf_steal(&out);
}

char *cli_str(const json_t *value)
{
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	return cli_repr(value);
}

char *cli_join(const json_t *list, const char *separator)
{
	auto_strv struct strv words = {0};
	const json_t *member;
	size_t i;

	if (!json_is_array(list))
		return cli_str(list);
	json_array_foreach (list, i, member) {
		auto_free char *text = cli_str(member);

		strv_add(&words, text);
	}
	return strv_join(&words, separator);
}

static char *format_time(double seconds, const char *format)
{
	char text[64];
	struct tm tm;
	time_t t;

	if (!(fabs(seconds) <= TIME_MAX_S))
		return xstrdup("N/A");
	t = (time_t)seconds;
	if (localtime_r(&t, &tm) == NULL)
		return xstrdup("N/A");
	strftime(text, sizeof(text), format, &tm);
	return xstrdup(text);
}

char *cli_ctime(double seconds)
{
	return format_time(seconds, "%a %b %e %H:%M:%S %Y");
}

char *cli_time(double seconds)
{
	return format_time(seconds, "%Y-%m-%d %H:%M:%S");
}

char *cli_stamp(const json_t *pair)
{
	auto_free char *text = NULL;

	if (json_array_size(pair) != 2)
		return xstrdup("N/A");
	text = cli_time((double)json_integer_value(json_array_get(pair, 0)));
	return xprintf("%s.%06lld", text,
		       (long long)json_integer_value(json_array_get(pair, 1)));
}

char *cli_size(double mib, char unit)
{
	const char *suffix = unit == 'h' ? "M" : "";

	if (unit == 'm' || (unit == 'h' && mib < 1024))
		return xprintf("%.0f%s", mib, suffix);
	if (unit == 'g' || (unit == 'h' && mib < 1024 * 1024))
		return xprintf("%.1f%s", mib / 1024, unit == 'h' ? "G" : "");
	return xprintf("%.1f%s", mib / 1024 / 1024, unit == 'h' ? "T" : "");
}
