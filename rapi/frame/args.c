/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits and decodes.  What is no valid %XX stays as it is, and bytes that are
 * no UTF-8 become "?", so that every value may go into JSON. */
#include "rapi/frame/args.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/mem.h"

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
					 : tolower((unsigned char)c) - 'a' + 10;
}

static bool is_escape(const char *s)
{
	return s[0] == '%' && isxdigit((unsigned char)s[1]) &&
	       isxdigit((unsigned char)s[2]);
}

/* In place, as the result is never longer. */
static void decode(char *s)
{
	char *out = s;

	while (*s != '\0')
		if (is_escape(s)) {
			*out++ = (char)(digit(s[1]) << 4 | digit(s[2]));
			s += 3;
		} else {
			*out++ = *s == '+' ? ' ' : *s;
			s++;
		}
	*out = '\0';
}

static void add(struct args *a, char *part)
{
	char *value = strchr(part, '=');

	if (value == NULL || value[1] == '\0')
		return;
	*value++ = '\0';
	decode(part);
	decode(value);
	str_repair_utf8(part);
	str_repair_utf8(value);
	strv_add(&a->names, part);
	strv_add(&a->values, value);
}

void args_read(struct args *ret, const char *target, char **ret_path)
{
	const char *query = strchr(target, '?');
	auto_strv struct strv parts = {0};

	*ret = (struct args){0};
	if (query == NULL) {
		*ret_path = xstrdup(target);
		return;
	}
	*ret_path = xstrndup(target, (size_t)(query - target));
	str_split(&parts, query + 1, '&');
	for (size_t i = 0; i < parts.n; i++)
		add(ret, parts.items[i]);
}

void args_done(struct args *a)
{
	strv_done(&a->names);
	strv_done(&a->values);
}

const char *args_get(const struct args *a, const char *name)
{
	for (size_t i = 0; i < a->names.n; i++)
		if (strcmp(a->names.items[i], name) == 0)
			return a->values.items[i];
	return NULL;
}

void args_remove(struct args *a, const char *name)
{
	struct args rest = {0};

	for (size_t i = 0; i < a->names.n; i++)
		if (strcmp(a->names.items[i], name) != 0) {
			strv_add(&rest.names, a->names.items[i]);
			strv_add(&rest.values, a->values.items[i]);
		}
	args_done(a);
	*a = rest;
}

void args_all(const struct args *a, const char *name, struct strv *ret)
{
	*ret = (struct strv){0};
	for (size_t i = 0; i < a->names.n; i++)
		if (strcmp(a->names.items[i], name) == 0)
			strv_add(ret, a->values.items[i]);
}

int args_int(const struct args *a, const char *name, int64_t fallback,
	     int64_t *ret, struct error *err)
{
	const char *text = args_get(a, name);

	if (text == NULL)
		*ret = fallback;
	else if (!str_to_int64(text, ret))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid value for the '%s' parameter", name);
	return 0;
}

int args_flag(const struct args *a, const char *name, bool *ret,
	      struct error *err)
{
	int64_t number;

	if (args_int(a, name, 0, &number, err) < 0)
		return -1;
	*ret = number != 0;
	return 0;
}
