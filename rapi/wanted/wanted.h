/* SPDX-License-Identifier: BSD-2-Clause */
/* An instance as it shall be, beside the one that there is: what differs, and
 * the opcodes that make it so.  What the wanted state does not mention may be
 * as it likes.  Where nothing differs there are no opcodes, so asking again
 * changes nothing.
 *
 * This asks nobody; resource_wanted.c does. */
#ifndef RAPI_WANTED_WANTED_H
#define RAPI_WANTED_WANTED_H

#include <jansson.h>

#include "lib/base/error.h"

/* What comes out; both lists are the caller's, empty at first. */
struct wanted {
	json_t *changes; /* [{"what", "from", "to"}, ...] */
	json_t *ops;	 /* of one job, in order */
};

/* name: of the instance; now: as wanted_now() makes it, NULL: there is none;
 * body: what the client wants, doc/rapi.md.  ECODE_INVAL when that is nothing
 * that can be, or cannot be reached from here. */
int wanted_compare(const char *name, const json_t *now, const json_t *body,
		   struct wanted *ret, struct error *err);

/* The fields that wanted_now() needs, a list that NULL ends; and what it makes
 * of a row with them, to be freed. */
extern const char *const wanted_fields[];
json_t *wanted_now(const json_t *row);

#endif
