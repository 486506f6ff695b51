/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks in a list, the newest first; an object bigger than a chunk gets one
 * of its own. */
#include "iallocators/model/arena.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/mem.h"

#define CHUNK_SIZE (256 * 1024)
#define ALIGNMENT 16

struct arena_chunk {
	struct arena_chunk *before;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->last;
	size_t need = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *p;

	if (c == NULL || c->size - c->used < need) {
		size_t capacity = need > CHUNK_SIZE ? need : CHUNK_SIZE;

		c = xalloc(sizeof(*c) + capacity);
		c->size = capacity;
		c->before = a->last;
		a->last = c;
	}
	p = c->data + c->used;
	c->used += need;
	return p;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
	assert(size == 0 || n <= SIZE_MAX / 2 / size);
	return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, s, len);
	return copy;
}

void arena_done(struct arena *a)
{
	while (a->last != NULL) {
		struct arena_chunk *c = a->last;

		a->last = c->before;
		free(c);
	}
}
