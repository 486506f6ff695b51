/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to a call and back (doc/protocol/noderpc.md): POST or PUT
 * /<procedure>, the body is the JSON list of arguments, the answer [true,
 * payload] or [false, text]. */
#ifndef NODED_ANSWER_H
#define NODED_ANSWER_H

#include <stddef.h>

#include "lib/event/task.h"

struct noded;

/* The answer to a request, to be freed, and its HTTP status. */
WAITS char *answer_request(struct noded *n, const char *method,
			   const char *path, const char *body, size_t len,
			   int *ret_status);

#endif
