/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of all objects with all their fields: text is made of the master's
 * text, as parsing and writing it takes ten times as long.  For 10,000
 * instances it has 10 MB. */
#ifndef RAPI_RESOURCES_BULK_H
#define RAPI_RESOURCES_BULK_H

#include <stddef.h>

#include "lib/base/str.h"

struct resource_kind;

/* Append the objects of these rows, "[[value, ...], ...]" without blanks; -1:
 * they are no rows with a value for each field of the kind.  The memory of the
 * rows goes back to the system as they are read, so that there is one copy of
 * the list and not two: afterwards their text is void, and only to be freed. */
int bulk_write(struct buf *out, const struct resource_kind *kind,
	       struct buf *rows);

#endif
