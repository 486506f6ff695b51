/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings: a builder, vectors of strings, conversions that check. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A growing byte buffer; data is NULL or ends with a NUL that len does not
 * count.  Zeroed is empty. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
};

#define auto_buf __attribute__((cleanup(buf_done), unused))

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Drop the first n bytes. */
void buf_consume(struct buf *b, size_t n);
/* The text, never NULL; the caller frees it.  *b is empty afterwards. */
char *buf_steal(struct buf *b);
void buf_done(struct buf *b);

/* A list of strings that it owns; items[n] is NULL.  Zeroed is empty. */
struct strv {
	char **items;
	size_t n;
	size_t cap;
};

#define auto_strv __attribute__((cleanup(strv_done), unused))

void strv_add(struct strv *v, const char *s);
void strv_addf(struct strv *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool strv_has(const struct strv *v, const char *s);
/* Add s unless it is there. */
void strv_add_unique(struct strv *v, const char *s);
void strv_sort(struct strv *v);	     /* byte order */
void strv_sort_nice(struct strv *v); /* by str_nice_cmp() */
char *strv_join(const struct strv *v, const char *separator);
void strv_done(struct strv *v);

/* Split at each separator character; empty parts are kept. */
void str_split(struct strv *ret_parts, const char *s, char separator);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_empty(const char *s);		   /* NULL, or "" */

/* Natural order: digits inside names are compared as numbers, so node2 <
 * node10. */
int str_nice_cmp(const char *a, const char *b);

/* The whole of s as a number; false when it is not one or does not fit. */
bool str_to_int64(const char *s, int64_t *ret_value);
/* The number at the beginning of s, at most max; false when s does not begin
 * with a digit or the number is larger.  *ret_rest points behind the digits; if
 * ret_rest is NULL, nothing may follow them. */
bool str_to_number(const char *s, uint64_t max, uint64_t *ret_value,
		   const char **ret_rest);
/* A finite one: JSON and most who count with it know no others. */
bool str_to_double(const char *s, double *ret_value);

/* The text without white space at both ends, a part of s, which is changed. */
char *str_trim(char *s);

/* A host or instance name: letters, digits, '-', '_', '.', at most 255 bytes,
 * beginning with a letter or digit. */
bool str_valid_hostname(const char *s);

/* A file name without a folder: not empty, no '/', not "." or "..", at most
 * 255 bytes, no control characters, no leading '-'. */
bool str_valid_filename(const char *s);

/* No control characters: it may stand in a line of a file.  May be empty. */
bool str_valid_line(const char *s);

/* Whether s is valid UTF-8 of n bytes without NUL. */
bool str_valid_utf8(const char *s, size_t n);

/* Replace each byte that is not part of valid UTF-8 by '?'. */
void str_repair_utf8(char *s);

/* Whether s has at least one digit and nothing else. */
bool str_all_digits(const char *s);

/* ASCII letters in lower case; to be freed. */
char *str_lower(const char *s);

/* The first three bytes of a MAC address, lower case: "aa:00:00". */
bool str_valid_mac_prefix(const char *s);

/* Write two lower case hexadecimal digits for each byte, and NUL: 2 * len + 1
 * characters. */
void str_hex(char *ret, const void *data, size_t len);
/* The same; to be freed. */
char *str_from_bytes(const void *data, size_t len);
/* The bytes of such digits, to be freed; NULL: they are none. */
char *str_to_bytes(const char *hex, size_t len, size_t *ret_len);

/* A 64-bit hash of the bytes (FNV-1a), to see whether two copies differ; not
 * for what somebody may forge. */
uint64_t bytes_hash(const void *data, size_t len);

#endif
