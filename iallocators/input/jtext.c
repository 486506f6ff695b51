/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursive descent over a text in memory.  Errors quote at most eight
 * characters of what follows, as the reference does. */
#include "iallocators/input/jtext.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iallocators/model/hformat.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

/* A request has eight levels; more recursion than this would only serve to
 * exhaust the stack. */
#define DEPTH_MAX 500
#define CONTEXT_CHARS 8

struct parser {
	struct arena *arena;
	char *p;
	char *end;
	int depth;
	struct error *err;
};

static bool parse_value(struct parser *ps, struct jval *v);

/* The bytes of at most max characters from p on. */
static size_t chars_len(const struct parser *ps, const char *p, size_t max)
{
	size_t len = 0;

	while (p + len < ps->end && max > 0) {
		len++;
		while (p + len < ps->end && (p[len] & 0xc0) == 0x80)
			len++;
		max--;
	}
	return len;
}

static bool fail_at(struct parser *ps, const char *what, const char *p)
{
	size_t len = p < ps->end ? chars_len(ps, p, CONTEXT_CHARS) : 0;

	error_set(ps->err, ERR_REQUEST, NULL, "%s: %.*s", what, (int)len, p);
	return false;
}

/* As fail_at; this sentence has no colon. */
static bool fail_token(struct parser *ps)
{
	size_t len = chars_len(ps, ps->p, CONTEXT_CHARS);

	error_set(ps->err, ERR_REQUEST, NULL,
		  "Malformed JSON: invalid token in this context %.*s",
		  (int)len, ps->p);
	return false;
}

/* What Unicode calls a space, beyond ASCII. */
static const char *const wide_spaces[] = {
	"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
	"\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009",
	"\u200a", "\u202f", "\u205f", "\u3000"};

/* The bytes of the space at p; 0 if there is none. */
static size_t space_len(const struct parser *ps, const char *p)
{
	if (p >= ps->end)
		return 0;
	if ((unsigned char)*p < 0x80)
		return *p == ' ' || (*p >= '\t' && *p <= '\r');
	for (size_t i = 0; i < ARRAY_SIZE(wide_spaces); i++)
		if (str_starts(p, wide_spaces[i]))
			return strlen(wide_spaces[i]);
	return 0;
}

static void skip_space(struct parser *ps)
{
	size_t n;

	while ((n = space_len(ps, ps->p)) > 0)
		ps->p += n;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char *put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	}
	return out;
}

/* The second half of a surrogate pair: one character with the half before it.
 * A quote or a whole character stands before out. */
static char *put_pair(char *out, unsigned low)
{
	const unsigned char *u = (const unsigned char *)out;
	unsigned high;

	if ((u[-1] & 0xc0) != 0x80 || (u[-2] & 0xf0) != 0xa0 || u[-3] != 0xed)
		return put_utf8(out, low);
	high = (u[-2] & 0xfU) << 6 | (u[-1] & 0x3fU);
	return put_utf8(out - 3, 0x10000 + (high << 10) + (low - 0xdc00));
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char bad_hex[] = "Unable to parse JSON String: invalid hex";

/* A digit that is none comes after some that make code: both are quoted as the
 * reference shows pairs, cut like any other quotation. */
static bool fail_hex(struct parser *ps, unsigned code, const char *p)
{
	auto_buf struct buf shown = {0};

	buf_addf(&shown, "[(%u,", code);
	hf_show_string(&shown, p, chars_len(ps, p, CONTEXT_CHARS));
	error_set(ps->err, ERR_REQUEST, NULL, "%s: %.*s", bad_hex,
		  CONTEXT_CHARS, shown.data);
	return false;
}

/* The four hex digits after "\u"; NUL characters become blanks, as C strings
 * cannot hold them. */
static bool parse_hex(struct parser *ps, char **out)
{
	unsigned code = 0;

	if (ps->end - ps->p < 4)
		return fail_at(ps, bad_hex, ps->p);
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(ps->p[i]);

		if (digit < 0 && i == 0) {
			error_set(ps->err, ERR_REQUEST, NULL, "%s: []",
				  bad_hex);
			return false;
		}
		if (digit < 0)
			return fail_hex(ps, code, ps->p + i);
		code = code * 16 + (unsigned)digit;
	}
	if (code >= 0xdc00 && code < 0xe000)
		*out = put_pair(*out, code);
	else
		*out = put_utf8(*out, code == 0 ? ' ' : code);
	ps->p += 4;
	return true;
}

static bool parse_escape(struct parser *ps, char **out)
{
	static const char from[] = "\\\"nrtfb/", to[] = "\\\"\n\r\t\f\b/";
	char c = *ps->p;
	const char *found = c == '\0' ? NULL : strchr(from, c);

	if (c == 'u') {
		ps->p++;
		return parse_hex(ps, out);
	}
	if (found == NULL) {
		auto_buf struct buf shown = {0};
		size_t len = chars_len(ps, ps->p, 1);

		hf_show_char(&shown, ps->p, len);
		error_set(
			ps->err, ERR_REQUEST, NULL,
			"Unable to parse JSON String: invalid escape char: %s",
			shown.data);
		return false;
	}
	*(*out)++ = to[found - from];
	ps->p++;
	return true;
}

/* The string whose quote is at ps->p, unescaped in place. */
static bool parse_string(struct parser *ps, const char **ret)
{
	char *out;

	if (ps->p >= ps->end || *ps->p != '"')
		return fail_at(ps, "Malformed JSON: expecting string", ps->p);
	out = ++ps->p;
	*ret = out;
	while (ps->p < ps->end && *ps->p != '"') {
		if (*ps->p == '\\' && ps->p + 1 < ps->end) {
			ps->p++;
			if (!parse_escape(ps, &out))
				return false;
		} else if (*ps->p == '\\') {
			ps->p++;
		} else if ((unsigned char)*ps->p < 0x20) {
			return fail_at(ps,
				       "Illegal unescaped character in string",
				       ps->p);
		} else {
			*out++ = *ps->p++;
		}
	}
	if (ps->p >= ps->end)
		return fail_at(
			ps, "Unable to parse JSON String: unterminated String",
			ps->end);
	ps->p++;
	*out = '\0';
	return true;
}

/* mantissa * 10^exponent modulo 2^64; exponent >= 0. */
static uint64_t scale(uint64_t mantissa, long exponent)
{
	if (exponent >= 64)
		return 0; /* a multiple of 2^64 */
	while (exponent-- > 0)
		mantissa *= 10;
	return mantissa;
}

/* Half to even; what does not fit wraps. */
static int64_t round_to_int(double d)
{
	d = rint(d);
	if (d >= -0x1p63 && d < 0x1p63)
		return (int64_t)d;
	d = fmod(d, 0x1p64);
	if (!isfinite(d))
		return 0;
	return d < 0 ? -(int64_t)(uint64_t)-d : (int64_t)(uint64_t)d;
}

/* The exponent at ps->p, behind the 'e'. */
static bool parse_exponent(struct parser *ps, long *ret)
{
	bool minus = ps->p < ps->end && *ps->p == '-';
	long e = 0;

	if (ps->p < ps->end && (*ps->p == '-' || *ps->p == '+'))
		ps->p++;
	if (ps->p >= ps->end || !is_digit(*ps->p))
		return fail_at(ps, "Unable to parse JSON exponential", ps->p);
	for (; ps->p < ps->end && is_digit(*ps->p); ps->p++)
		e = e > 99999 ? e : e * 10 + (*ps->p - '0');
	*ret = minus ? -e : e;
	return true;
}

/* Digits from ps->p on: their value modulo 2^64 goes on from *value, their
 * count is returned. */
static long parse_digits(struct parser *ps, uint64_t *value)
{
	char *start = ps->p;

	for (; ps->p < ps->end && is_digit(*ps->p); ps->p++)
		*value = *value * 10 + (uint64_t)(*ps->p - '0');
	return ps->p - start;
}

static double to_double(const char *start, const char *end)
{
	size_t len = (size_t)(end - start);
	char small[64];
	char *copy = len < sizeof(small) ? small : xalloc(len + 1);
	double d;

	memcpy(copy, start, len);
	copy[len] = '\0';
	d = strtod(copy, NULL);
	if (copy != small)
		free(copy);
	return d;
}

static bool parse_number(struct parser *ps, struct jval *v)
{
	static const char bad[] = "Unable to parse JSON Rational";
	char *start = ps->p, *end;
	bool minus = *ps->p == '-';
	uint64_t mantissa = 0;
	long fraction = 0, exponent = 0;

	if (minus)
		ps->p++;
	if (ps->p >= ps->end || !is_digit(*ps->p))
		return fail_at(ps, bad, ps->p < ps->end ? ps->p + 1 : ps->p);
	if (*ps->p == '0')
		ps->p++;
	else
		parse_digits(ps, &mantissa);
	end = ps->p;
	if (ps->p < ps->end && *ps->p == '.') {
		ps->p++;
		fraction = parse_digits(ps, &mantissa);
		end = fraction > 0 ? ps->p : end;
	}
	if (end == ps->p && ps->p < ps->end && (*ps->p | 0x20) == 'e') {
		ps->p++;
		if (!parse_exponent(ps, &exponent))
			return false;
		end = ps->p;
	}
	v->kind = JT_NUMBER;
	v->d = to_double(start, end);
	if (exponent < fraction) {
		v->i = round_to_int(v->d);
	} else {
		mantissa = scale(mantissa, exponent - fraction);
		v->i = (int64_t)(minus ? -mantissa : mantissa);
	}
	return true;
}

static bool parse_word(struct parser *ps, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(ps->end - ps->p) < len || memcmp(ps->p, word, len) != 0)
		return false;
	ps->p += len;
	return true;
}

static bool parse_bool(struct parser *ps, struct jval *v)
{
	v->kind = JT_BOOL;
	v->flag = *ps->p == 't';
	return parse_word(ps, v->flag ? "true" : "false") ||
	       fail_at(ps, "Unable to parse JSON Bool", ps->p);
}

/* A member: "key" : value. */
static bool parse_member(struct parser *ps, struct jval *v)
{
	char *behind;

	if (!parse_string(ps, &v->key))
		return false;
	behind = ps->p;
	skip_space(ps);
	if (ps->p >= ps->end || *ps->p != ':')
		return fail_at(ps, "Malformed JSON labelled field", behind);
	ps->p++;
	skip_space(ps);
	return parse_value(ps, v);
}

/* The rest of an array or object whose bracket is at ps->p. */
static bool parse_container(struct parser *ps, struct jval *v, char close)
{
	bool object = close == '}';
	struct jval **tail = &v->first;

	v->kind = object ? JT_OBJECT : JT_ARRAY;
	ps->p++;
	skip_space(ps);
	if (ps->p < ps->end && *ps->p == close) {
		ps->p++;
		skip_space(ps);
		return true;
	}
	for (;;) {
		struct jval *member = arena_alloc(ps->arena, sizeof(*member));
		char *before;

		if (!(object ? parse_member(ps, member)
			     : parse_value(ps, member)))
			return false;
		*tail = member;
		tail = &member->next;
		v->n++;
		before = ps->p;
		skip_space(ps);
		if (ps->p < ps->end && (*ps->p == ',' || *ps->p == close)) {
			bool last = *ps->p == close;

			ps->p++;
			skip_space(ps);
			if (last)
				return true;
			continue;
		}
		return fail_at(ps,
			       object ? "Unable to parse JSON object: "
					"unterminated sequence"
				      : "Unable to parse JSON array: "
					"unterminated array",
			       before);
	}
}

static bool parse_nested(struct parser *ps, struct jval *v, char close)
{
	bool ok;

	if (ps->depth == DEPTH_MAX)
		return fail_at(ps, "Malformed JSON: nested too deeply", ps->p);
	ps->depth++;
	ok = parse_container(ps, v, close);
	ps->depth--;
	return ok;
}

static bool parse_value(struct parser *ps, struct jval *v)
{
	char c = ps->p < ps->end ? *ps->p : '\0';

	switch (c) {
	case '"':
		v->kind = JT_STRING;
		return parse_string(ps, &v->str);
	case '[':
		return parse_nested(ps, v, ']');
	case '{':
		return parse_nested(ps, v, '}');
	case 't':
	case 'f':
		return parse_bool(ps, v);
	default:
		if (is_digit(c) || c == '-')
			return parse_number(ps, v);
		v->kind = JT_NULL;
		return parse_word(ps, "null") || fail_token(ps);
	}
}

#define TRAILING_CHARS 10

const struct jval *jtext_parse(struct arena *a, char *text, size_t len,
			       struct error *err)
{
	struct parser ps = {
		.arena = a, .p = text, .end = text + len, .err = err};
	struct jval *v = arena_alloc(a, sizeof(*v));

	if (!str_valid_utf8(text, len)) {
		error_set(err, ERR_REQUEST, NULL, "it is not valid UTF-8");
		return NULL;
	}
	if (len == 0 || (*text != '{' && *text != '[')) {
		error_set(err, ERR_REQUEST, NULL,
			  "Invalid JSON: a JSON text a serialized object or "
			  "array at the top level.");
		return NULL;
	}
	if (!parse_value(&ps, v))
		return NULL;
	if (ps.p < ps.end) {
		auto_buf struct buf rest = {0};

		hf_show_string(&rest, ps.p,
			       chars_len(&ps, ps.p, TRAILING_CHARS));
		error_set(err, ERR_REQUEST, NULL,
			  "Invalid tokens at end of JSON string: %s",
			  rest.data);
		return NULL;
	}
	return v;
}

const struct jval *jtext_get(const struct jval *object, const char *key)
{
	const struct jval *member;

	if (object == NULL || object->kind != JT_OBJECT)
		return NULL;
	jtext_each(member,
		   object) if (strcmp(member->key, key) == 0) return member;
	return NULL;
}

static void show_members(struct buf *b, const struct jval *value)
{
	const struct jval *member;

	jtext_each(member, value)
	{
		if (member->key != NULL) {
			hf_json_string(b, member->key);
			buf_adds(b, ": ");
		}
		jtext_show(b, member);
		if (member->next != NULL)
			buf_adds(b, ", ");
	}
}

void jtext_show(struct buf *b, const struct jval *value)
{
	switch (value->kind) {
	case JT_NULL:
		buf_adds(b, "null");
		break;
	case JT_BOOL:
		buf_adds(b, value->flag ? "true" : "false");
		break;
	case JT_NUMBER:
		if (value->d == rint(value->d) && fabs(value->d) < 0x1p63)
			buf_addf(b, "%jd", (intmax_t)value->i);
		else if (value->d == rint(value->d))
			buf_addf(b, "%.0f", value->d);
		else
			hf_double(b, value->d);
		break;
	case JT_STRING:
		hf_json_string(b, value->str);
		break;
	case JT_ARRAY:
		buf_addc(b, '[');
		show_members(b, value);
		buf_addc(b, ']');
		break;
	case JT_OBJECT:
		buf_addc(b, '{');
		show_members(b, value);
		buf_addc(b, '}');
		break;
	}
}
