/* SPDX-License-Identifier: BSD-2-Clause */
/* A double first becomes its shortest decimal digits and an exponent: the least
 * precision of %e that strtod() reads back as the same number.  Both forms of
 * numbers are made of these digits. */
#include "iallocators/model/hformat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0.d1d2d3... * 10^exponent */
struct digits {
	char d[32];
	int n;
	int exponent;
};

/* The shortest digits that read back as d > 0. */
static void shortest(struct digits *ret, double d)
{
	char text[40];
	int n = 0;

	for (int precision = 0; precision <= 16; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, d);
		if (strtod(text, NULL) == d)
			break;
	}
	for (const char *p = text; *p != 'e'; p++)
		if (*p != '.')
			ret->d[n++] = *p;
	while (n > 1 && ret->d[n - 1] == '0')
		n--;
	ret->n = n;
	ret->exponent = atoi(strchr(text, 'e') + 1) + 1;
}

/* Cut x after the given number of decimals, half to even. */
static void round_digits(struct digits *x, int decimals)
{
	int keep = x->exponent + decimals;
	bool up;

	if (keep >= x->n)
		return;
	if (keep < 0) {
		x->n = 0;
		return;
	}
	up = x->d[keep] > '5' || (x->d[keep] == '5' && keep + 1 < x->n) ||
	     (x->d[keep] == '5' && keep > 0 && (x->d[keep - 1] - '0') % 2 == 1);
	x->n = keep;
	while (up && keep > 0 && x->d[keep - 1] == '9')
		x->d[--keep] = '0';
	if (up && keep > 0) {
		x->d[keep - 1]++;
	} else if (up) {
		memmove(x->d + 1, x->d, (size_t)x->n);
		x->d[0] = '1';
		x->n++;
		x->exponent++;
	}
}

static char digit_at(const struct digits *x, int i)
{
	return i >= 0 && i < x->n ? x->d[i] : '0';
}

/* NaN and the infinities; true when it was one. */
static bool special(struct buf *b, double d)
{
	if (isnan(d))
		buf_adds(b, "NaN");
	else if (isinf(d))
		buf_adds(b, d < 0 ? "-Infinity" : "Infinity");
	return !isfinite(d);
}

static void plain(struct buf *b, const struct digits *x, int decimals)
{
	if (x->exponent <= 0 || x->n == 0)
		buf_addc(b, '0');
	else
		for (int i = 0; i < x->exponent; i++)
			buf_addc(b, digit_at(x, i));
	if (decimals > 0)
		buf_addc(b, '.');
	for (int i = 0; i < decimals; i++)
		buf_addc(b, digit_at(x, x->exponent + i));
}

void hf_fixed(struct buf *b, double d, int decimals)
{
	struct digits x = {.n = 0};

	if (special(b, d))
		return;
	if (signbit(d))
		buf_addc(b, '-');
	if (d != 0) {
		shortest(&x, fabs(d));
		round_digits(&x, decimals);
	}
	plain(b, &x, decimals);
}

void hf_double(struct buf *b, double d)
{
	struct digits x = {.n = 0};

	if (special(b, d))
		return;
	if (signbit(d))
		buf_addc(b, '-');
	if (d != 0)
		shortest(&x, fabs(d));
	if (d == 0 || (fabs(d) >= 0.1 && fabs(d) < 1e7)) {
		int decimals = x.n - x.exponent;

		plain(b, &x, decimals > 0 ? decimals : 1);
		return;
	}
	buf_addc(b, x.d[0]);
	buf_addc(b, '.');
	buf_add(b, x.n > 1 ? x.d + 1 : "0", x.n > 1 ? (size_t)x.n - 1 : 1);
	buf_addf(b, "e%d", x.exponent - 1);
}

/* The code point at s and the number of its bytes. */
static unsigned decode(const char *s, size_t len, size_t *ret_bytes)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	unsigned code = n == 1 ? u[0] : u[0] & (0xffu >> (n + 1));

	if (n > len)
		n = len;
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (u[i] & 0x3f);
	*ret_bytes = n;
	return code;
}

static const char *const control_names[] = {
	"NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a",
	"b",   "t",   "n",   "v",   "f",   "r",	  "SO",	 "SI",
	"DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB",
	"CAN", "EM",  "SUB", "ESC", "FS",  "GS",  "RS",	 "US"};

/* One character of a show; next is the byte that follows it. */
static void show_code(struct buf *b, unsigned code, char quote, char next)
{
	if (code == (unsigned char)quote || code == '\\') {
		buf_addf(b, "\\%c", (char)code);
	} else if (code < 0x20) {
		buf_addf(b, "\\%s", control_names[code]);
		if (code == 14 && next == 'H')
			buf_adds(b, "\\&"); /* \SO and H is not \SOH */
	} else if (code == 0x7f) {
		buf_adds(b, "\\DEL");
	} else if (code < 0x7f) {
		buf_addc(b, (char)code);
	} else {
		buf_addf(b, "\\%u", code);
		if (next >= '0' && next <= '9')
			buf_adds(b, "\\&");
	}
}

void hf_show_string(struct buf *b, const char *s, size_t len)
{
	buf_addc(b, '"');
	for (size_t i = 0, n; i < len; i += n) {
		unsigned code = decode(s + i, len - i, &n);

		show_code(b, code, '"', i + n < len ? s[i + n] : '\0');
	}
	buf_addc(b, '"');
}

void hf_show_char(struct buf *b, const char *s, size_t len)
{
	size_t n;

	buf_addc(b, '\'');
	if (len > 0)
		show_code(b, decode(s, len, &n), '\'', '\0');
	buf_addc(b, '\'');
}

void hf_json_string(struct buf *b, const char *s)
{
	static const char special_chars[] = "\"\\\n\r\t\f\b";
	static const char names[] = "\"\\nrtfb";

	buf_addc(b, '"');
	for (; *s != '\0'; s++) {
		const char *found = strchr(special_chars, *s);

		if (found != NULL)
			buf_addf(b, "\\%c", names[found - special_chars]);
		else if ((unsigned char)*s < 0x20)
			buf_addf(b, "\\u%04x", *s);
		else
			buf_addc(b, *s);
	}
	buf_addc(b, '"');
}
