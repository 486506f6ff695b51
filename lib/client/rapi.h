/* SPDX-License-Identifier: BSD-2-Clause */
/* A client of RAPI servers, for programs without a loop: a request at a time,
 * or several side by side.
 *
 * As long as nothing else is said it accepts any certificate, as Ganeti's own
 * planners do: no authority signs a cluster's certificate, and the program may
 * run outside of the cluster.  So somebody between the two can lie about the
 * cluster and read the password of a URL that has one.  Who changes something
 * calls rapi_verify(). */
#ifndef CLIENT_RAPI_H
#define CLIENT_RAPI_H

#include <jansson.h>
#include <stdint.h>

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

/* Take the server for the right one only if its certificate is that of the file
 * (PEM), or signed by one of the file.  What it says of the host's name does
 * not count then, as that of a cluster is made for no host.  NULL: it has to be
 * signed for this host by an authority that the system trusts. */
void rapi_verify(struct rapi *r, const char *ca_file);

/* Log in with each request; not for addresses that name a user. */
void rapi_login(struct rapi *r, const char *user, const char *password);

/* GET one resource ("/2/info"): its JSON, to be freed; NULL with ERR_EXEC when
 * the server cannot be reached or does not answer with success, ERR_REQUEST for
 * an answer that is no JSON.  Where another try may help, as no answer came or
 * the server has no master at the moment, the code is RAPI_NO_ANSWER; it is
 * ECODE_NOENT for what is not there. */
json_t *rapi_get(struct rapi *r, const char *resource, struct error *err);
#define RAPI_NO_ANSWER "no_answer"

/* Any request, with a body or NULL.  One that changes something and whose
 * answer was lost is not sent again, and the error says that it may have been
 * done. */
json_t *rapi_request(struct rapi *r, const char *method, const char *resource,
		     const json_t *body, struct error *err);

/* --- several at the same time (rapi_set.c) --- */

struct rapi_set;

struct rapi_set *rapi_set_new(void);
/* After rapi_drop() of all that have no answer. */
void rapi_set_free(struct rapi_set *s);

/* Begin a request; the clients of a set have one at a time each. */
void rapi_begin(struct rapi_set *s, struct rapi *r, const char *method,
		const char *resource, const json_t *body);
/* Somebody whose request has ended, waited for so long; NULL: nobody. */
struct rapi *rapi_next(struct rapi_set *s, int64_t limit_ms);
/* What rapi_request() would have given, of who came from rapi_next(). */
json_t *rapi_answer(struct rapi *r, struct error *err);
/* Wait no more for the answer of a request that has begun. */
void rapi_drop(struct rapi_set *s, struct rapi *r);

#endif
