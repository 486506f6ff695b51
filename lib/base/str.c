/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers and lists double their capacity when they are full.  Formatted text
 * is printed twice; the first time only measures it.  The readers of numbers
 * refuse leading white space, which the C library accepts, and also anything
 * behind the number unless the caller asks for the rest. */
#include "lib/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"

static void buf_reserve(struct buf *b, size_t extra)
{
	size_t cap = b->cap == 0 ? 64 : b->cap;

	while (cap < b->len + extra + 1)
		cap *= 2;
	if (cap == b->cap)
		return;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	buf_reserve(b, len);
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		buf_reserve(b, (size_t)n);
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_consume(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len + 1);
}

char *buf_steal(struct buf *b)
{
	char *data = b->data == NULL ? xstrdup("") : b->data;

	*b = (struct buf){0};
	return data;
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

static void strv_take(struct strv *v, char *s)
{
	if (v->n + 2 > v->cap) {
		v->cap = v->cap == 0 ? 8 : v->cap * 2;
		v->items = xrealloc(v->items, v->cap * sizeof(*v->items));
	}
	v->items[v->n++] = s;
	v->items[v->n] = NULL;
}

void strv_add(struct strv *v, const char *s)
{
	strv_take(v, xstrdup(s));
}

void strv_addf(struct strv *v, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	buf_reserve(&b, n < 0 ? 0 : (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b.data, b.cap, fmt, ap);
	va_end(ap);
	strv_take(v, b.data);
}

bool strv_has(const struct strv *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->items[i], s) == 0)
			return true;
	return false;
}

void strv_add_unique(struct strv *v, const char *s)
{
	if (!strv_has(v, s))
		strv_add(v, s);
}

static int cmp_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int cmp_nice(const void *a, const void *b)
{
	return str_nice_cmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *v)
{
	if (v->n > 1)
		qsort(v->items, v->n, sizeof(*v->items), cmp_bytes);
}

void strv_sort_nice(struct strv *v)
{
	if (v->n > 1)
		qsort(v->items, v->n, sizeof(*v->items), cmp_nice);
}

char *strv_join(const struct strv *v, const char *separator)
{
	struct buf b = {0};

	for (size_t i = 0; i < v->n; i++) {
		if (i > 0)
			buf_adds(&b, separator);
		buf_adds(&b, v->items[i]);
	}
	return buf_steal(&b);
}

void strv_done(struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->items[i]);
	free(v->items);
	*v = (struct strv){0};
}

void str_split(struct strv *ret_parts, const char *s, char separator)
{
	for (;;) {
		const char *end = strchr(s, separator);

		if (end == NULL) {
			strv_add(ret_parts, s);
			return;
		}
		strv_take(ret_parts, xstrndup(s, (size_t)(end - s)));
		s = end + 1;
	}
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool str_empty(const char *s)
{
	return s == NULL || *s == '\0';
}

bool str_eq(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

/* Compare two runs of digits by value and move both pointers behind their
 * run. */
static int cmp_digits(const char **a, const char **b)
{
	size_t n, m;
	int c;

	while (**a == '0' && isdigit((unsigned char)(*a)[1]))
		++*a;
	while (**b == '0' && isdigit((unsigned char)(*b)[1]))
		++*b;
	n = strspn(*a, "0123456789");
	m = strspn(*b, "0123456789");
	if (n != m)
		return n < m ? -1 : 1;
	c = strncmp(*a, *b, n);
	*a += n;
	*b += n;
	return c;
}

int str_nice_cmp(const char *a, const char *b)
{
	const char *p = a, *q = b;

	while (*p != '\0' && *q != '\0') {
		if (isdigit((unsigned char)*p) && isdigit((unsigned char)*q)) {
			int c = cmp_digits(&p, &q);

			if (c != 0)
				return c;
		} else if (*p != *q) {
			break;
		} else {
			p++;
			q++;
		}
	}
	if (*p != *q)
		return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
	return strcmp(a, b); /* the names differ only in leading zeros */
}

bool str_to_int64(const char *s, int64_t *ret_value)
{
	char *end;
	long long value;

	if (*s == '\0' || isspace((unsigned char)*s))
		return false;
	errno = 0;
	value = strtoll(s, &end, 10);
	if (errno != 0 || *end != '\0')
		return false;
	*ret_value = value;
	return true;
}

bool str_to_number(const char *s, uint64_t max, uint64_t *ret_value,
		   const char **ret_rest)
{
	uint64_t value = 0;
	const char *at = s;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (digit > max || value > (max - digit) / 10)
			return false;
		value = 10 * value + digit;
	}
	if (at == s || (ret_rest == NULL && *at != '\0'))
		return false;
	*ret_value = value;
	if (ret_rest != NULL)
		*ret_rest = at;
	return true;
}

bool str_to_double(const char *s, double *ret_value)
{
	char *end;
	double value;

	if (*s == '\0' || isspace((unsigned char)*s))
		return false;
	errno = 0;
	value = strtod(s, &end);
	if (errno != 0 || *end != '\0' || !isfinite(value))
		return false;
	*ret_value = value;
	return true;
}

char *str_trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

bool str_valid_hostname(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > 255 || !isalnum((unsigned char)*s))
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("-_.", *s) == NULL)
			return false;
	return true;
}

bool str_valid_filename(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > 255 || *s == '-' || strcmp(s, ".") == 0 ||
	    strcmp(s, "..") == 0)
		return false;
	for (; *s != '\0'; s++)
		if (*s == '/' || iscntrl((unsigned char)*s))
			return false;
	return true;
}

bool str_valid_line(const char *s)
{
	for (; *s != '\0'; s++)
		if (iscntrl((unsigned char)*s))
			return false;
	return true;
}

/* Length of the UTF-8 sequence at s, 0 when it is not valid. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	static const struct {
		unsigned char mask, lead;
		unsigned min;
	} forms[] = {{0x80, 0x00, 0x01},
		     {0xe0, 0xc0, 0x80},
		     {0xf0, 0xe0, 0x800},
		     {0xf8, 0xf0, 0x10000}};

	for (size_t i = 0; i < 4; i++) {
		unsigned code;

		if ((s[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (left < i + 1)
			return 0;
		code = s[0] & (unsigned char)~forms[i].mask;
		for (size_t j = 1; j <= i; j++) {
			if ((s[j] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[j] & 0x3f);
		}
		if (code < forms[i].min || code > 0x10ffff ||
		    (code >= 0xd800 && code <= 0xdfff))
			return 0;
		return i + 1;
	}
	return 0;
}

bool str_valid_utf8(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	while (n > 0) {
		size_t k = utf8_length(p, n);

		if (k == 0)
			return false;
		p += k;
		n -= k;
	}
	return true;
}

void str_repair_utf8(char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		size_t k = utf8_length((const unsigned char *)s, left);

		if (k == 0) {
			*s = '?';
			k = 1;
		}
		s += k;
		left -= k;
	}
}

void str_hex(char *ret, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++) {
		*ret++ = digits[bytes[i] >> 4];
		*ret++ = digits[bytes[i] & 15];
	}
	*ret = '\0';
}

char *str_from_bytes(const void *data, size_t len)
{
	char *hex = xalloc(2 * len + 1);

	str_hex(hex, data, len);
	return hex;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

char *str_to_bytes(const char *hex, size_t len, size_t *ret_len)
{
	auto_free char *bytes = xalloc(len / 2 + 1);

	for (size_t i = 0; i < len / 2; i++) {
		int high = hex_value(hex[2 * i]);
		int low = hex_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return NULL;
		bytes[i] = (char)(high << 4 | low);
	}
	*ret_len = len / 2;
	return len % 2 == 0 ? steal(&bytes) : NULL;
}

uint64_t bytes_hash(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	return hash;
}

bool str_all_digits(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

char *str_lower(const char *s)
{
	char *lower = xstrdup(s);

	for (char *c = lower; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return lower;
}

bool str_valid_mac_prefix(const char *s)
{
	if (strlen(s) != strlen("aa:00:00"))
		return false;
	for (size_t i = 0; s[i] != '\0'; i++)
		if (i % 3 == 2 ? s[i] != ':'
			       : strchr("0123456789abcdef", s[i]) == NULL)
			return false;
	return true;
}
