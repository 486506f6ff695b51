/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to a call and back (doc/protocol/noderpc.md): POST or PUT
 * /<procedure>, the body is the JSON list of arguments, the answer [true,
 * payload] or [false, text]. */
#ifndef NODED_ACCESS_ANSWER_H
#define NODED_ACCESS_ANSWER_H

#include <stddef.h>

#include "lib/event/task.h"

struct noded;

struct answer_request {
	const char *method, *path;
	const char *term; /* the header X-Gantry-Term: "term" or "term
			   * number-of-the-call"; NULL without */
	const char *body;
	size_t len;
};

#define ANSWER_TERM_HEADER "X-Gantry-Term"

/* The answer to a request, to be freed, and its HTTP status: 412 when its term
 * is over. */
WAITS char *answer_http(struct noded *n, const struct answer_request *r,
			int *ret_status);

#endif
