/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as Python writes them: what Ganeti's commands print, and what its
 * opcodes report. */
#ifndef JSON_REPR_H
#define JSON_REPR_H

#include <jansson.h>

#include "lib/base/mem.h"

/* Python's repr(): 'text', True, None, [1, 2], {'a': 1.5}; to be freed. */
char *json_repr(const json_t *value);

#endif
