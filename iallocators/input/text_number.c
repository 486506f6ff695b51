/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as Haskell's "reads" takes them, which the reference uses for files
 * and options: spaces and parentheses may stand before, a minus apart from its
 * digits, fractions have digits on both sides of the point. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "lib/base/str.h"

struct number {
	uint64_t whole; /* wraps */
	double d;
	bool is_whole;
};

static const char *skip(const char *p, int (*belongs)(int))
{
	while (belongs((unsigned char)*p))
		p++;
	return p;
}

static int digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isalpha((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					 : 99;
}

/* Digits of a base from p on; returns what follows. */
static const char *read_digits(const char *p, unsigned base, struct number *ret)
{
	ret->is_whole = true;
	for (; digit_value(*p) < (int)base; p++) {
		ret->whole = ret->whole * base + (unsigned)digit_value(*p);
		ret->d = ret->d * base + digit_value(*p);
	}
	return p;
}

/* "0x1f", "0o17"; NULL if it is none. */
static const char *read_based(const char *p, struct number *ret)
{
	int letter = p[0] == '0' ? tolower((unsigned char)p[1]) : '\0';
	unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : 0;

	if (base == 0 || digit_value(p[2]) >= (int)base)
		return NULL;
	return read_digits(p + 2, base, ret);
}

/* Behind digits: a fraction and an exponent, as far as they are whole. */
static const char *skip_rest(const char *p, bool *ret_whole)
{
	const char *more;

	if (*p == '.' && isdigit((unsigned char)p[1])) {
		*ret_whole = false;
		p = skip(p + 1, isdigit);
	}
	if (tolower((unsigned char)*p) != 'e')
		return p;
	more = p + 1 + (p[1] == '-' || p[1] == '+');
	if (!isdigit((unsigned char)*more))
		return p;
	*ret_whole = false;
	return skip(more, isdigit);
}

static const char *read_word(const char *p, struct number *ret)
{
	const char *end = skip(p, isalnum);
	size_t len = (size_t)(end - p);

	if (*end == '_' || *end == '\'')
		return NULL;
	if (len == 3 && strncmp(p, "NaN", len) == 0)
		ret->d = NAN;
	else if (len == 8 && strncmp(p, "Infinity", len) == 0)
		ret->d = INFINITY;
	else
		return NULL;
	return end;
}

/* The number at p without its sign; what follows, or NULL. */
static const char *read_unsigned(const char *p, struct number *ret)
{
	const char *end = read_based(p, ret);

	if (end != NULL)
		return end;
	if (!isdigit((unsigned char)*p))
		return read_word(p, ret);
	end = skip_rest(read_digits(p, 10, ret), &ret->is_whole);
	ret->d = strtod(p, NULL);
	return end;
}

/* The same with a sign, in any number of parentheses. */
static const char *read_number(const char *p, struct number *ret)
{
	size_t parentheses = 0;
	bool minus;

	for (p = skip(p, isspace); *p == '('; p = skip(p + 1, isspace))
		parentheses++;
	minus = *p == '-';
	if (minus)
		p = skip(p + 1, isspace);
	p = read_unsigned(p, ret);
	for (; p != NULL && parentheses > 0; parentheses--) {
		p = skip(p, isspace);
		p = *p == ')' ? p + 1 : NULL;
	}
	if (minus) {
		ret->whole = -ret->whole;
		ret->d = -ret->d;
	}
	return p;
}

static int check(const char *what, const char *text, const char *end,
		 struct error *err)
{
	if (end == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "%s: cannot parse string '%s'", what, text);
	if (*end != '\0')
		return error_set(err, ERR_REQUEST, NULL,
				 "%s: leftover characters when parsing '%s': "
				 "'%s'",
				 what, text, end);
	return 0;
}

int text_double(const char *what, const char *text, double *ret,
		struct error *err)
{
	struct number n = {0};

	if (check(what, text, read_number(text, &n), err) < 0)
		return -1;
	*ret = n.d;
	return 0;
}

int text_int(const char *what, const char *text, int64_t *ret,
	     struct error *err)
{
	struct number n = {0};
	const char *end = read_number(text, &n);

	if (check(what, text, n.is_whole ? end : NULL, err) < 0)
		return -1;
	*ret = (int64_t)n.whole;
	return 0;
}
