/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is given back all at once: what a request or a cluster is made
 * of lives as long as the whole. */
#ifndef IALLOCATORS_MODEL_ARENA_H
#define IALLOCATORS_MODEL_ARENA_H

#include <stddef.h>

struct arena_chunk; /* private */

/* Zeroed is empty. */
struct arena {
	struct arena_chunk *last;
};

/* Zeroed memory, aligned for any object; never NULL. */
void *arena_alloc(struct arena *a, size_t size);

/* Zeroed memory for n objects. */
void *arena_calloc(struct arena *a, size_t n, size_t size);

/* A copy of the first len bytes of s and a NUL. */
char *arena_strndup(struct arena *a, const char *s, size_t len);

/* Free all objects at once. */
void arena_done(struct arena *a);

#endif
