/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading from a RAPI server, blocking: for programs without a loop.
 *
 * It accepts any certificate, as Ganeti's own planners do: no authority signs a
 * cluster's certificate, and the program may run outside of the cluster.  So
 * somebody between the two can lie about the cluster and read the password of a
 * URL that has one. */
#ifndef CLIENT_RAPI_H
#define CLIENT_RAPI_H

#include <jansson.h>

#include "lib/base/error.h"

#define RAPI_PORT 5080

struct rapi;

/* address: HOST, which means https://HOST:5080, or a whole URL (http or https,
 * it may contain USER:PASSWORD@); whatever contains a colon is taken for a URL.
 * Does not connect yet. */
struct rapi *rapi_new(const char *address);
void rapi_free(struct rapi *r);

/* The time limit of each request from now on, in seconds. */
void rapi_limit(struct rapi *r, long seconds);

/* GET one resource ("/2/info"): its JSON, to be freed; NULL with ERR_EXEC when
 * the server cannot be reached or does not answer with success, ERR_REQUEST for
 * an answer that is no JSON. */
json_t *rapi_get(struct rapi *r, const char *resource, struct error *err);

#endif
