/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading from a RAPI server, blocking: for programs without a loop.
 *
 * As Ganeti's own planners do, it believes any certificate: a cluster's is
 * signed by nobody, and the one who asks is elsewhere.  So whoever sits between
 * can lie about the cluster and read the password of a URL that has one.
 */
#ifndef CLIENT_RAPI_H
#define CLIENT_RAPI_H

#include <jansson.h>

#include "lib/base/error.h"

#define RAPI_PORT 5080

struct rapi;

/* A host stands for https://HOST:5080; what has a colon is a URL already
 * (http or https, may hold USER:PASSWORD@).  Nothing is asked yet. */
struct rapi *rapi_new(const char *address);
void rapi_free(struct rapi *r);

/* From now on a request takes at most so long. */
void rapi_limit(struct rapi *r, long seconds);

/* GET one resource ("/2/info"): its JSON, to be freed; NULL with ERR_EXEC when
 * the server cannot be reached or does not answer with success, ERR_REQUEST for
 * an answer that is no JSON. */
json_t *rapi_get(struct rapi *r, const char *resource, struct error *err);

#endif
