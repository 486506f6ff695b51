/* SPDX-License-Identifier: BSD-2-Clause */
/* The last one that came back goes out first, so that few are in use when there
 * is little to do.  One that the master has closed meanwhile connects anew by
 * itself. */
#include "rapi/pool.h"

#include "lib/client/luxi.h"

struct luxi *pool_take(struct pool *p)
{
	return p->n == 0 ? NULL : p->idle[--p->n];
}

void pool_give(struct pool *p, struct luxi *l)
{
	if (l == NULL)
		return;
	if (p->n < POOL_KEPT)
		p->idle[p->n++] = l;
	else
		luxi_close(l);
}

bool pool_alive(const struct pool *p, const char *socket)
{
	const struct luxi *last = p->n == 0 ? NULL : p->idle[p->n - 1];

	return last != NULL && luxi_is_at(last, socket) && luxi_alive(last);
}

void pool_done(struct pool *p)
{
	while (p->n > 0)
		luxi_close(p->idle[--p->n]);
}
