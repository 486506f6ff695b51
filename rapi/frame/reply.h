/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request gets back: a status, and JSON with a line end behind it.  An
 * error is {code, message, explain}; the message has HTML's special characters
 * escaped, as in Ganeti. */
#ifndef RAPI_REPLY_H
#define RAPI_REPLY_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/error.h"

#define REPLY_TYPE "application/json"

/* Codes of errors that are made in rapi/ alone; the kind is ERR_PREREQ. */
#define REPLY_FORBIDDEN "forbidden"	   /* 403 */
#define REPLY_MEDIA "unsupported_media"	   /* 415 */
#define REPLY_METHOD "unsupported_method"  /* 501 */
#define REPLY_UNAVAILABLE "not_available"  /* 503 */
#define REPLY_UNAUTHORIZED "unauthorized"  /* 401 */
#define REPLY_TOO_MANY "too_many_attempts" /* 429 */
#define REPLY_CHANGED "changed"		   /* 412 */

/* An error of which the status says all that there is to say; returns -1. */
int reply_bare(struct error *err, const char *ecode);

/* The status that tells of this error. */
int reply_status(const struct error *err);

/* The body of a successful answer, to be freed. */
char *reply_text(const json_t *value);

/* The body of an error, to be freed.  An empty message is replaced by the
 * name of the status. */
char *reply_error_text(int status, const char *message);

/* The name of a status, "Not Found"; a literal. */
const char *reply_phrase(int status);

#endif
