/* SPDX-License-Identifier: BSD-2-Clause */
/* All allocations go through checked(), which aborts the process when memory
 * has run out; mem_init() makes jansson use the same functions.  Each thread
 * counts its JSON values for itself, to know when to pause. */
#include "lib/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The cost of the pauses: a million values take a quarter of a second
 * longer. */
#define PAUSE_VALUES 1000
#define PAUSE_NS 100000

static void *checked(void *p)
{
	if (p == NULL) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Of this thread: whether it pauses, and how many values it has made or freed
 * since its last pause. */
static _Thread_local bool pauses;
static _Thread_local unsigned n_values;

static void maybe_pause(void)
{
	if (pauses && ++n_values % PAUSE_VALUES == 0)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void *json_alloc(size_t size)
{
	maybe_pause();
	return checked(malloc(size));
}

static void json_free(void *p)
{
	maybe_pause();
	free(p);
}

void mem_json_pauses(bool on)
{
	pauses = on;
}

void mem_init(void)
{
	json_set_alloc_funcs(json_alloc, json_free);
}

void *xalloc(size_t size)
{
	return checked(calloc(1, size == 0 ? 1 : size));
}

void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n == 0 ? 1 : n, size == 0 ? 1 : size));
}

void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size == 0 ? 1 : size));
}

void *xmemdup(const void *data, size_t size)
{
	void *copy = checked(malloc(size == 0 ? 1 : size));

	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *xvprintf(const char *fmt, va_list ap)
{
	char *text;
	int n = vasprintf(&text, fmt, ap);

	return checked(n < 0 ? NULL : text);
}

char *xprintf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	return text;
}
