/* SPDX-License-Identifier: BSD-2-Clause */
/* Values are copied as they are, with a blank behind each comma and colon. */
#include "rapi/resources/bulk.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rapi/frame/resource.h"

/* So much is given back at once. */
#define GIVE_BACK ((size_t)1024 * 1024)

/* The text that is left. */
struct rest {
	const char *at, *end;
	char *kept; /* the first whole page of it that was not given back */
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void give_back(struct rest *r)
{
	size_t read = r->at > r->kept ? (size_t)(r->at - r->kept) : 0;

	if (read < GIVE_BACK)
		return;
	read -= read % page_size();
	madvise(r->kept, read, MADV_DONTNEED);
	r->kept += read;
}

static struct rest begin(struct buf *rows)
{
	size_t page = page_size();
	size_t odd = (uintptr_t)rows->data % page;

	return (struct rest){.at = rows->data,
			     .end = rows->data + rows->len,
			     .kept = rows->data + (odd == 0 ? 0 : page - odd)};
}

static bool take(struct rest *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Behind the string that begins here; NULL: it does not end. */
static const char *string_end(const char *s, const char *end)
{
	for (s++; s < end; s++)
		if (*s == '\\')
			s++;
		else if (*s == '"')
			return s + 1;
	return NULL;
}

/* Behind the value that begins here; NULL: it does not end. */
static const char *value_end(const char *s, const char *end)
{
	unsigned depth = 0;

	while (s < end) {
		switch (*s) {
		case '"':
			s = string_end(s, end);
			if (s == NULL)
				return NULL;
			continue;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			if (depth == 0)
				return s;
			depth--;
			break;
		case ',':
			if (depth == 0)
				return s;
			break;
		default:
			break;
		}
		s++;
	}
	return NULL;
}

/* Append the text with its blanks. */
static void add_spaced(struct buf *out, const char *s, const char *end)
{
	const char *begin = s;

	while (s < end) {
		if (*s == '"') {
			s = string_end(s, end) ?: end;
			continue;
		}
		if (*s++ != ',' && s[-1] != ':')
			continue;
		buf_add(out, begin, (size_t)(s - begin));
		buf_addc(out, ' ');
		begin = s;
	}
	buf_add(out, begin, (size_t)(end - begin));
}

static void add_named(struct buf *out, const char *name, const char *value,
		      const char *end)
{
	if (out->data[out->len - 1] != '{')
		buf_add(out, ", ", 2);
	buf_addc(out, '"');
	buf_adds(out, name);
	buf_add(out, "\": ", 3);
	add_spaced(out, value, end);
}

/* An object of parameters; "memory" is another name of "maxmem". */
static void add_memory(struct buf *out, const char *params, const char *end)
{
	static const char key[] = "\"maxmem\":";
	const char *value =
		memmem(params, (size_t)(end - params), key, sizeof(key) - 1);

	if (value == NULL || *params != '{')
		return;
	value += sizeof(key) - 1;
	out->len--; /* the brace */
	add_named(out, "memory", value, value_end(value, end) ?: end);
	buf_addc(out, '}');
}

static int add_row(struct buf *out, const struct resource_kind *kind,
		   struct rest *r)
{
	if (!take(r, '['))
		return -1;
	buf_addc(out, '{');
	for (size_t i = 0; kind->fields[i] != NULL; i++) {
		const char *name = kind->fields[i], *value = r->at;
		const char *end = value_end(value, r->end);

		if (end == NULL || end == value)
			return -1;
		add_named(out, name, value, end);
		if (kind->has_memory && strcmp(name, "beparams") == 0)
			add_memory(out, value, end);
		r->at = end;
		if (!take(r, kind->fields[i + 1] == NULL ? ']' : ','))
			return -1;
	}
	buf_addc(out, '}');
	return 0;
}

int bulk_write(struct buf *out, const struct resource_kind *kind,
	       struct buf *rows)
{
	struct rest r = begin(rows);

	if (!take(&r, '['))
		return -1;
	buf_addc(out, '[');
	if (take(&r, ']')) {
		buf_addc(out, ']');
		return r.at == r.end ? 0 : -1;
	}
	for (;;) {
		if (add_row(out, kind, &r) < 0)
			return -1;
		give_back(&r);
		if (!take(&r, ','))
			break;
		buf_add(out, ", ", 2);
	}
	if (!take(&r, ']') || r.at != r.end)
		return -1;
	buf_addc(out, ']');
	return 0;
}
