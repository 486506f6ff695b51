/* SPDX-License-Identifier: BSD-2-Clause */
/* A JSON reader for big requests.
 *
 * Unlike lib/json it reads what the reference's allocator reads and says what
 * that says about the rest: of equal keys the first counts, numbers are exact
 * (integers of any size wrap to 64 bits, fractions round half to even where an
 * integer is asked), and errors quote the text at fault.  Values live in an
 * arena and strings in the text itself, which makes it several times faster.
 */
#ifndef IALLOCATORS_INPUT_JTEXT_H
#define IALLOCATORS_INPUT_JTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iallocators/model/arena.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

enum jkind { JT_NULL, JT_BOOL, JT_NUMBER, JT_STRING, JT_ARRAY, JT_OBJECT };

struct jval {
	struct jval *next; /* the next of the same array or object */
	const char *key;   /* in an object */
	enum jkind kind;
	bool flag; /* of a boolean */
	union {
		struct {
			int64_t i;
			double d;
		};
		const char *str;
		struct {
			struct jval *first;
			size_t n;
		};
	};
};

/* Parse the len bytes at text, which is changed and must end with a NUL that
 * len does not count; the values point into it and live in the arena.  NULL on
 * error. */
const struct jval *jtext_parse(struct arena *a, char *text, size_t len,
			       struct error *err);

/* The first member with that key, or NULL (also when object is no object). */
const struct jval *jtext_get(const struct jval *object, const char *key);

/* Add the value as a text for people. */
void jtext_show(struct buf *b, const struct jval *value);

#define jtext_each(pos, container)                                             \
	for (pos = (container)->first; pos != NULL; pos = pos->next)

#endif
