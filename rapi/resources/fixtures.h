/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of every GET as a file, for tests of programs that shall do
 * without a cluster: DIR/2/nodes.json is what GET /2/nodes sends,
 * DIR/2/nodes.bulk.json what GET /2/nodes?bulk=1, and DIR/index.json lists all
 * of them:
 *   [{"path", "file", "status", "type"}, ...]
 * Paths with names in them are there once for each object of the cluster. */
#ifndef RAPI_RESOURCES_FIXTURES_H
#define RAPI_RESOURCES_FIXTURES_H

#include <stddef.h>

#include "lib/base/error.h"

struct paths;

/* Ask the master of this node, and write the files below the folder, which is
 * made; *ret_n is how many there are. */
int fixtures_write(const struct paths *p, const char *folder, size_t *ret_n,
		   struct error *err);

#endif
