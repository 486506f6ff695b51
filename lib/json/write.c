/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON values as text, in one line.  A number gets the shortest
 * text that reads back the same: jansson writes 1e-6 as 9.9999999999999995e-7.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

/* How: keys in their order, blanks as Python writes them. */
enum { SORTED = 1, SPACED = 2 };

static void write_value(struct buf *b, const json_t *value, unsigned how);

/* --- numbers --- */

/* So many digits a double always keeps, and so many are always enough. */
#define DIGITS_SURE 15
#define DIGITS_MAX 17

/* "1e-06" becomes 1e-6, "1e+20" 1e20. */
static void write_exponent(struct buf *b, const char *exponent)
{
	buf_addc(b, 'e');
	if (*exponent == '-')
		buf_addc(b, '-');
	exponent += strspn(exponent, "+-");
	exponent += strspn(exponent, "0");
	buf_adds(b, exponent);
}

static void write_real(struct buf *b, double value)
{
	const char *exponent;
	char text[40];

	for (int digits = DIGITS_SURE; digits <= DIGITS_MAX; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	exponent = strchr(text, 'e');
	if (exponent == NULL) {
		buf_adds(b, text);
		if (strchr(text, '.') == NULL) /* keep it a real */
			buf_adds(b, ".0");
		return;
	}
	buf_add(b, text, (size_t)(exponent - text));
	write_exponent(b, exponent + 1);
}

/* --- strings --- */

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

static void write_escaped(struct buf *b, char c)
{
	static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; i + 1 < sizeof(letters); i += 2)
		if (letters[i] == c) {
			buf_addc(b, '\\');
			buf_addc(b, letters[i + 1]);
			return;
		}
	buf_addf(b, "\\u%04X", (unsigned)(unsigned char)c);
}

static void write_string(struct buf *b, const char *s, size_t len)
{
	size_t begin = 0;

	buf_addc(b, '"');
	for (size_t i = 0; i < len; i++) {
		if (is_plain(s[i]))
			continue;
		buf_add(b, s + begin, i - begin);
		write_escaped(b, s[i]);
		begin = i + 1;
	}
	buf_add(b, s + begin, len - begin);
	buf_addc(b, '"');
}

/* --- containers --- */

static void write_array(struct buf *b, const json_t *array, unsigned how)
{
	buf_addc(b, '[');
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			buf_adds(b, how & SPACED ? ", " : ",");
		write_value(b, json_array_get(array, i), how);
	}
	buf_addc(b, ']');
}

static void write_member(struct buf *b, const char *key, const json_t *value,
			 unsigned how)
{
	if (b->data[b->len - 1] != '{')
		buf_adds(b, how & SPACED ? ", " : ",");
	write_string(b, key, strlen(key));
	buf_adds(b, how & SPACED ? ": " : ":");
	write_value(b, value, how);
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_members_sorted(struct buf *b, const json_t *object,
				 unsigned how)
{
	auto_free const char **keys =
		xcalloc(json_object_size(object) + 1, sizeof(*keys));
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach (json_unconst(object), key, value)
		keys[n++] = key;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		write_member(b, keys[i], json_object_get(object, keys[i]), how);
}

static void write_object(struct buf *b, const json_t *object, unsigned how)
{
	const char *key;
	json_t *value;

	buf_addc(b, '{');
	if (how & SORTED)
		write_members_sorted(b, object, how);
	else
		json_object_foreach (json_unconst(object), key, value)
			write_member(b, key, value, how);
	buf_addc(b, '}');
}

static void write_value(struct buf *b, const json_t *value, unsigned how)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		write_object(b, value, how);
		break;
	case JSON_ARRAY:
		write_array(b, value, how);
		break;
	case JSON_STRING:
		write_string(b, json_string_value(value),
			     json_string_length(value));
		break;
	case JSON_INTEGER:
		buf_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		write_real(b, json_real_value(value));
		break;
	case JSON_TRUE:
		buf_adds(b, "true");
		break;
	case JSON_FALSE:
		buf_adds(b, "false");
		break;
	case JSON_NULL:
		buf_adds(b, "null");
		break;
	}
}

static char *to_text(const json_t *value, unsigned how)
{
	struct buf b = {0};
	size_t len;

	if (value == NULL)
		return NULL;
	write_value(&b, value, how);
	len = b.len;
	return xrealloc(buf_steal(&b), len + 1); /* without spare room */
}

void json_write(struct buf *b, const json_t *value)
{
	write_value(b, value, 0);
}

void json_write_spaced(struct buf *b, const json_t *value)
{
	write_value(b, value, SPACED);
}

char *json_text(const json_t *value)
{
	return to_text(value, 0);
}

char *json_text_sorted(const json_t *value)
{
	return to_text(value, SORTED);
}

/* --- length --- */

/* The estimated length of a number, a bracket or a comma. */
#define ATOM_BYTES 8

static void measure(const json_t *value, size_t *left)
{
	size_t own = ATOM_BYTES, i;
	const char *key;
	json_t *part;

	if (json_is_string(value))
		own += json_string_length(value);
	*left = own > *left ? 0 : *left - own;
	json_array_foreach (value, i, part) {
		if (*left == 0)
			return;
		measure(part, left);
	}
	json_object_foreach (json_unconst(value), key, part) {
		size_t len = strlen(key);

		*left = len > *left ? 0 : *left - len;
		if (*left == 0)
			return;
		measure(part, left);
	}
}

bool json_is_longer(const json_t *value, size_t max)
{
	size_t left = max;

	measure(value, &left);
	return left == 0;
}
