/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections to the master that are kept between requests.  Each serves one
 * request at a time; how many there are is limited by how many requests run. */
#ifndef RAPI_POOL_H
#define RAPI_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct luxi;

#define POOL_KEPT 32

/* Zeroed is empty. */
struct pool {
	struct luxi *idle[POOL_KEPT];
	size_t n;
};

/* One that was kept, which is the caller's until he gives it back; NULL: there
 * is none, connect. */
struct luxi *pool_take(struct pool *p);

/* Keep it (NULL: nothing), or close it if there are enough. */
void pool_give(struct pool *p, struct luxi *l);

/* Whether the master is at the other end of one that is kept, and on this node:
 * at this socket. */
bool pool_alive(const struct pool *p, const char *socket);

/* Close all. */
void pool_done(struct pool *p);

#endif
