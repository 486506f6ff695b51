/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as text. */
#include "cli/frame/cli_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"

/* Seconds until which the C library can make dates. */
#define TIME_MAX_S 253402300799.0

char *cli_str(const json_t *value)
{
	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	return json_repr(value);
}

/* The character at *text, valid UTF-8, which moves on behind it. */
static uint32_t next_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
	uint32_t c = more == 0 ? *s : *s & (0x3fu >> more);

	*text += 1 + more;
	while (more-- > 0)
		c = c << 6 | (*++s & 0x3fu);
	return c;
}

char *cli_printable(const char *text)
{
	struct buf b = {0};

	buf_adds(&b, "");
	while (*text != '\0') {
		uint32_t c = next_character(&text);

		if (c == '\t' || c == '\n' || c == '\r')
			buf_addf(&b, "\\%c",
				 c == '\t'   ? 't'
				 : c == '\n' ? 'n'
					     : 'r');
		else if (c < ' ' || (c >= 0x7f && c <= 0xff))
			buf_addf(&b, "\\x%02x", c);
		else if (c <= 0xff)
			buf_addc(&b, (char)c);
		else
			buf_addf(&b, c <= 0xffff ? "\\u%04x" : "\\U%08x", c);
	}
	return buf_steal(&b);
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

char *cli_counted(size_t n, const char *what)
{
	return xprintf("%zu %s%s", n, what, n == 1 ? "" : "s");
}

char *cli_errors(int n)
{
	auto_free char *errors = cli_counted((size_t)n, "error");

	return xprintf("There %s %s", n == 1 ? "was" : "were", errors);
}
