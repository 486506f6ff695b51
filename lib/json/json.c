/* SPDX-License-Identifier: BSD-2-Clause */
/* A text is parsed in two steps.  A scan estimates how deep it nests and how
 * much memory its values take; only a text within the limits goes to jansson,
 * which would otherwise recurse too deeply or allocate too much.  This file
 * also has the access to members and the comparison of values. */
#include "lib/json/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"

/* Bytes that the parser takes for a list or an object, and for any other value;
 * a little more than jansson 2.14 needs on 64 bits. */
#define CONTAINER_BYTES 256
#define VALUE_BYTES 96

/* One pass over a text before it is parsed: whether its brackets nest at most
 * JSON_DEPTH_MAX deep, and about how much memory its values will take.  The
 * parser recurses, and a value of three bytes takes it hundreds. */
static bool scan(const char *text, size_t len, size_t *ret_bytes)
{
	size_t depth = 0, containers = 0, values = 1;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			containers++;
			if (++depth > JSON_DEPTH_MAX)
				return false;
		} else if (c == ',' || c == ':') {
			values++;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		}
	}
	*ret_bytes = len + containers * CONTAINER_BYTES + values * VALUE_BYTES;
	return true;
}

json_t *json_parse_within(const char *text, size_t len, size_t bytes_max,
			  struct error *err)
{
	json_error_t bad;
	json_t *value;
	size_t bytes;

	if (!scan(text, len, &bytes)) {
		error_set(err, ERR_REQUEST, NULL,
			  "Invalid JSON: nested more than %d levels deep",
			  JSON_DEPTH_MAX);
		return NULL;
	}
	if (bytes > bytes_max) {
		error_set(err, ERR_REQUEST, NULL,
			  "Invalid JSON: so many values that they take more "
			  "than %zu MiB of memory",
			  bytes_max / 1024 / 1024);
		return NULL;
	}
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			   &bad);
	if (value == NULL)
		error_set(err, ERR_REQUEST, NULL,
			  "Invalid JSON at line %d, column %d: %s", bad.line,
			  bad.column, bad.text);
	return value;
}

json_t *json_parse(const char *text, size_t len, struct error *err)
{
	return json_parse_within(text, len, JSON_BYTES_MAX, err);
}

json_t *json_make(const char *fmt, ...)
{
	json_error_t bad;
	json_t *value;
	va_list ap;

	va_start(ap, fmt);
	value = json_vpack_ex(&bad, 0, fmt, ap);
	va_end(ap);
	if (value == NULL) {
		fprintf(stderr, "json_make(\"%s\"): %s\n", fmt, bad.text);
		abort();
	}
	return value;
}

const char *json_str(const json_t *object, const char *key,
		     const char *fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? json_string_value(value) : fallback;
}

int64_t json_int(const json_t *object, const char *key, int64_t fallback)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_real(value) && fabs(json_real_value(value)) < 9e15 &&
	    trunc(json_real_value(value)) == json_real_value(value))
		return (int64_t)json_real_value(value);
	return fallback;
}

double json_num(const json_t *object, const char *key, double fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : fallback;
}

bool json_bool(const json_t *object, const char *key, bool fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

const json_t *json_get(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

json_t *json_ref(const json_t *value)
{
	return json_incref(json_unconst(value));
}

void json_set_str(json_t *object, const char *key, const char *value)
{
	json_object_set_new(object, key,
			    value == NULL ? json_null() : json_string(value));
}

void json_set_int(json_t *object, const char *key, int64_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

void json_set_bool(json_t *object, const char *key, bool value)
{
	json_object_set_new(object, key, json_boolean(value));
}

json_t *json_from_strv(const struct strv *v)
{
	json_t *array = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(array, json_string(v->items[i]));
	return array;
}

void json_to_strv(const json_t *array, struct strv *ret_v)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);

		if (json_is_string(item))
			strv_add(ret_v, json_string_value(item));
	}
}

bool json_array_has_str(const json_t *array, const char *s)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);

		if (json_is_string(item) &&
		    strcmp(json_string_value(item), s) == 0)
			return true;
	}
	return false;
}

json_t *json_overlay(const json_t *base, const json_t *over)
{
	json_t *result = json_object();

	if (base != NULL)
		json_object_update(result, json_unconst(base));
	if (over != NULL)
		json_object_update(result, json_unconst(over));
	return result;
}

static bool same_object(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach (json_unconst(a), key, value) {
		const json_t *other = json_object_get(b, key);

		if (other == NULL || !json_same(value, other))
			return false;
	}
	return true;
}

bool json_same(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	if (json_is_object(a) && json_is_object(b))
		return same_object(a, b);
	if (!json_is_array(a) || !json_is_array(b))
		return json_equal(a, b) == 1;
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!json_same(json_array_get(a, i), json_array_get(b, i)))
			return false;
	return true;
}

json_t *json_read_file(const char *path, size_t max, struct error *err)
{
	size_t len = 0;
	auto_free char *text = fs_read(path, max, &len, err);
	json_t *value = text == NULL ? NULL : json_parse(text, len, err);

	if (text != NULL && value == NULL)
		error_wrap(err, "Cannot read %s", path);
	return value;
}
