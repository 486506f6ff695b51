/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about the machine's network.  Nodes of a virtual cluster share the
 * machine: what would need it for themselves is answered as if they had it. */
#ifndef NODED_CORE_HOST_H
#define NODED_CORE_HOST_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/str.h"
#include "lib/event/task.h"

struct noded;

/* Add those of the list of bridges that are not here. */
void host_missing_bridges(const struct noded *n, const json_t *bridges,
			  struct strv *ret_missing);

/* Is it one of our addresses? A virtual node has those that ssconf says, and
 * the one it listens at. */
bool host_has_address(const struct noded *n, const char *address);

/* Does something accept connections there?  Waits at most timeout_ms; not on
 * the loop. */
bool host_accepts(const char *address, int port, unsigned timeout_ms);

#endif
