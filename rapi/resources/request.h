/* SPDX-License-Identifier: BSD-2-Clause */
/* A request while it is answered, beside the loop: what the client sent, and a
 * connection to the master.  A resource's function gets it and returns the
 * answer's JSON, to be freed, or NULL with err, of which reply_status() makes
 * the status. */
#ifndef RAPI_REQUEST_H
#define RAPI_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "rapi/resources/args.h"

struct luxi;
struct route;

struct request {
	const struct route *route;
	struct strv items; /* what the path has in place of {names} */
	struct args args;
	json_t *body;		 /* NULL: none, or null */
	const char *luxi_socket; /* where the master listens */
	struct luxi *luxi;	 /* NULL: not connected yet */

	/* Whether nobody waits for the answer any more; may be NULL. */
	bool (*gone)(void *arg);
	void *gone_arg;
};

/* Frees what it points to; the connection is left to the caller. */
void request_done(struct request *q);

/* Read the body: text of this Content-Type (NULL: there was none). */
int request_read_body(struct request *q, const char *type, const char *text,
		      size_t len, struct error *err);

/* A LUXI call.  Connects first where that is needed. */
json_t *request_call(struct request *q, const char *method, json_t *args STEALS,
		     struct error *err);

/* Submit a job with these opcodes; its id as the answer. */
json_t *request_submit(struct request *q, json_t *ops STEALS,
		       struct error *err);

/* 0 if value is a dictionary; what: "Body contents", for the error. */
int request_check_dict(const json_t *value, const char *what,
		       struct error *err);

/* "list", "str", "NoneType": what Python, and so Ganeti's errors, call the type
 * of the value (NULL: none). */
const char *request_type_name(const json_t *value);

#endif
