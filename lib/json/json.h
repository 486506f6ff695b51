/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON on top of jansson: reading with limits, access to members with
 * fallbacks, writing compact or with sorted keys. */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* jansson walks values recursively; more would not fit a task's stack. */
#define JSON_DEPTH_MAX 100
#define JSON_BYTES_MAX ((size_t)2 * 1024 * 1024 * 1024)

/* Longer texts are parsed beside the loop, and their values freed there: 4 MiB
 * take 40 ms. */
#define JSON_INLINE_MAX (256u * 1024)

/* Parse text from outside: any JSON value, at most JSON_DEPTH_MAX deep, no
 * duplicate keys, valid UTF-8.  NULL with ERR_REQUEST otherwise; never crashes
 * and uses memory in proportion to len, at most about JSON_BYTES_MAX. */
json_t *json_parse(const char *text, size_t len, struct error *err);

/* The same with another limit: the values may take about bytes_max bytes of
 * memory in place of JSON_BYTES_MAX. */
json_t *json_parse_within(const char *text, size_t len, size_t bytes_max,
			  struct error *err);

/* Compact, keys in the order of insertion, UTF-8 as is.  To be freed. */
char *json_text(const json_t *value);

/* Append the same to b. */
void json_write(struct buf *b, const json_t *value);

/* The same with a blank behind each comma and colon. */
void json_write_spaced(struct buf *b, const json_t *value);

/* As json_text(), with sorted keys, for comparison and hashes. */
char *json_text_sorted(const json_t *value);

/* Whether the text of value has more than about max bytes.  It looks at no more
 * of the value than that. */
bool json_is_longer(const json_t *value, size_t max);

/* json_pack() for formats that are literals of ours: a format that does not fit
 * its arguments is a bug and aborts. */
json_t *json_make(const char *fmt, ...);

/* The same value without const, for functions of jansson that ask for a value
 * that may change and do not change it: json_object_foreach, json_copy, the
 * source of json_object_update.  Also to take one more reference: json_incref,
 * json_object_set, json_array_append; nobody may change the value after that.
 * json_array_foreach, json_object_get and json_deep_copy do without. */
static inline json_t *json_unconst(const json_t *value)
{
	return mem_unconst(value);
}

/* Member access that never fails: the fallback stands for a missing member and
 * one of another kind.  Numbers: an integer is accepted where a real is asked,
 * and a real without fraction where an integer is asked. */
const char *json_str(const json_t *object, const char *key,
		     const char *fallback);
int64_t json_int(const json_t *object, const char *key, int64_t fallback);
double json_num(const json_t *object, const char *key, double fallback);
bool json_bool(const json_t *object, const char *key, bool fallback);
/* Borrowed; NULL when missing or null. */
const json_t *json_get(const json_t *object, const char *key);

/* A reference of its own, for functions that are given values away; NULL is
 * NULL.  Who gets it may not change the value. */
json_t *json_ref(const json_t *value);

/* Set a member to a string; NULL becomes null. */
void json_set_str(json_t *object, const char *key, const char *value);
void json_set_int(json_t *object, const char *key, int64_t value);
void json_set_bool(json_t *object, const char *key, bool value);

/* An array with the strings of v, to be freed; and the reverse, which leaves
 * out members that are no strings. */
json_t *json_from_strv(const struct strv *v);
void json_to_strv(const json_t *array, struct strv *ret_v);

/* Whether one of the items is that string. */
bool json_array_has_str(const json_t *array, const char *s);

/* A new object, to be freed: the members of base, replaced or joined by those
 * of over (one level deep; both may be NULL). */
json_t *json_overlay(const json_t *base, const json_t *over);

/* Whether the values are equal; 1 equals 1.0, as in Python. */
bool json_same(const json_t *a, const json_t *b);

/* Read and parse a file of at most max bytes. */
json_t *json_read_file(const char *path, size_t max, struct error *err);

#endif
