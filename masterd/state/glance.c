/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings end at a quote without a backslash before it; everything else of JSON
 * is found by counting brackets. */
#include "masterd/state/glance.h"

#include <ctype.h>
#include <string.h>

#include "lib/json/json.h"

static bool fail(struct glance *g)
{
	g->bad = true;
	g->at = g->end;
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next character that is no blank; '\0': the text has ended. */
static char peek(struct glance *g)
{
	while (g->at < g->end && is_blank(*g->at))
		g->at++;
	return g->at < g->end ? *g->at : '\0';
}

bool glance_enter(struct glance *g, char kind)
{
	if (peek(g) != kind)
		return false;
	g->at++;
	return true;
}

/* From behind a quote to behind the next one. */
static bool skip_string(struct glance *g)
{
	while (g->at < g->end) {
		const char *quote =
			memchr(g->at, '"', (size_t)(g->end - g->at));
		const char *back = quote;

		if (quote == NULL)
			break;
		while (back > g->at && back[-1] == '\\')
			back--;
		g->at = quote + 1;
		if ((quote - back) % 2 == 0)
			return true;
	}
	return fail(g);
}

static bool skip_nested(struct glance *g)
{
	unsigned depth = 0;

	while (g->at < g->end) {
		char c = *g->at++;

		if (c == '"' && !skip_string(g))
			return false;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return fail(g);
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '+' || c == '.';
}

void glance_skip(struct glance *g, struct glance_piece *ret)
{
	char c = peek(g);
	const char *begin = g->at;

	if (c == '"') {
		g->at++;
		skip_string(g);
	} else if (c == '{' || c == '[') {
		skip_nested(g);
	} else if (in_word(c)) {
		while (g->at < g->end && in_word(*g->at))
			g->at++;
	} else {
		fail(g);
	}
	if (ret != NULL)
		*ret = g->bad ? (struct glance_piece){0}
			      : (struct glance_piece){begin,
						      (size_t)(g->at - begin)};
}

/* The separator before the next member or item; false: the end. */
static bool go_on(struct glance *g, char end)
{
	char c = peek(g);

	if (c == end) {
		g->at++;
		return false;
	}
	if (c == '\0')
		return fail(g);
	if (c == ',')
		g->at++;
	return true;
}

bool glance_key(struct glance *g, struct glance_piece *ret)
{
	struct glance_piece key;

	if (!go_on(g, '}'))
		return false;
	if (peek(g) != '"')
		return fail(g);
	glance_skip(g, &key);
	if (key.len < 2 || peek(g) != ':')
		return fail(g);
	g->at++;
	*ret = (struct glance_piece){key.at + 1, key.len - 2};
	return true;
}

bool glance_item(struct glance *g)
{
	return go_on(g, ']');
}

bool glance_is(const struct glance_piece *p, const char *text)
{
	return p->len == strlen(text) && memcmp(p->at, text, p->len) == 0;
}

char *glance_string(const struct glance_piece *p)
{
	struct error ignored;
	auto_json json_t *value = NULL;

	if (p->len < 2 || p->at[0] != '"')
		return NULL;
	if (memchr(p->at, '\\', p->len) == NULL)
		return xstrndup(p->at + 1, p->len - 2);
	value = json_parse(p->at, p->len, &ignored);
	return json_is_string(value) ? xstrdup(json_string_value(value)) : NULL;
}

int64_t glance_number(const struct glance_piece *p)
{
	int64_t number = 0;

	for (size_t i = 0; i < p->len && isdigit((unsigned char)p->at[i]); i++)
		if (number < INT64_MAX / 10 - 1)
			number = number * 10 + (p->at[i] - '0');
	return number;
}
