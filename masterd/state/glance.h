/* SPDX-License-Identifier: BSD-2-Clause */
/* A quick look into JSON text of ours, one value after the other, for who needs
 * a few members of something long: nothing is allocated, and what is not asked
 * for is only stepped over.
 *
 *	if (glance_enter(&g, '{'))
 *		while (glance_key(&g, &key))
 *			glance_skip(&g, NULL);
 *
 * Each value has to be entered or skipped.  Text that is no JSON ends it early,
 * with g.bad set. */
#ifndef MASTERD_STATE_GLANCE_H
#define MASTERD_STATE_GLANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct glance {
	const char *at, *end;
	bool bad;
};

/* A piece of the text. */
struct glance_piece {
	const char *at;
	size_t len;
};

/* Step into the object ('{') or list ('[') that comes next; false: something
 * else comes, nothing has moved. */
bool glance_enter(struct glance *g, char kind);
/* The next key of an object, without its quotes; false: it has ended. */
bool glance_key(struct glance *g, struct glance_piece *ret);
/* Whether the list has another item, which comes next; false: it has ended. */
bool glance_item(struct glance *g);
/* Step over a value; *ret (NULL: nobody wants it) is its text. */
void glance_skip(struct glance *g, struct glance_piece *ret);

/* Whether the piece is this text. */
bool glance_is(const struct glance_piece *p, const char *text);
/* The string that the JSON text p stands for, to be freed; NULL: it is none. */
char *glance_string(const struct glance_piece *p);
/* The whole number at its beginning; 0: there is none. */
int64_t glance_number(const struct glance_piece *p);

#endif
