/* SPDX-License-Identifier: BSD-2-Clause */
/* Ownership: who frees what, readable at the declaration.
 *
 *   const json_t *x    borrowed: somebody else keeps it alive
 *   json_t *x          ours: as a result of a function, the caller frees it
 *   json_t *x STEALS   as a parameter: the callee frees it, also on failure
 *   auto_json json_t *x = NULL;    freed when the scope ends, unless we
 *   return steal(&x);              give it away
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define STEALS
#define auto_free __attribute__((cleanup(mem_free_p), unused))
#define auto_json __attribute__((cleanup(mem_json_p), unused))
#define auto_close __attribute__((cleanup(mem_close_p), unused))

/* Take the value out of *ptr and leave NULL behind. */
#define steal(ptr)                                                             \
	({                                                                     \
		typeof(*(ptr)) stolen_ = *(ptr);                               \
		*(ptr) = NULL;                                                 \
		stolen_;                                                       \
	})

/* Call this first in main(): from then on jansson uses the functions below, and
 * so never returns NULL for want of memory. */
void mem_init(void);

/* These end the process when memory runs out, and so never return NULL.
 * xalloc gives zeroed memory. */
void *xalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
void *xmemdup(const void *data, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0)));

/* The same pointer without const, for functions that ask for a pointer to what
 * may change and do not change it: argv of exec, iovec, the arg of a callback.
 * Also for free(), where the only pointer to a value of ours is const.  Never
 * to change what somebody else has given as const. */
static inline void *mem_unconst(const void *p)
{
	return (void *)(uintptr_t)p;
}

/* Whether this thread pauses after each thousand JSON values that it makes or
 * frees.  All threads share one heap, and a thread that works beside the loop
 * without pauses would keep the loop from that heap.  task_leave() turns the
 * pauses on. */
void mem_json_pauses(bool on);

static inline void mem_free_p(void *p)
{
	free(*(void **)p);
}

static inline void mem_json_p(json_t **p)
{
	json_decref(*p);
}

static inline void mem_close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
