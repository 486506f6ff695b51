/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sends a request: a user with his password, a token (Authorization:
 * Bearer), or a session of the page (a token in a cookie); and whether that is
 * still so while a stream goes on. */
#ifndef RAPI_LOGIN_H
#define RAPI_LOGIN_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "rapi/access/auth.h"

struct rapi;
struct request;
struct route;

/* Whether it says who sends it: a password, a token, or a session's cookie. */
bool login_is_tried(const struct https_request *http);

/* What the request says of that.  A write by cookie needs the word that was
 * given at login. */
int login_read(struct rapi *r, const struct https_request *http,
	       const struct route *route, struct auth *ret, struct error *err);

/* Find out whose token it is, if it is one. */
WAITS int login_token(struct rapi *r, struct request *q, struct auth *a,
		      struct error *err);

/* Somebody from this address did not know the password: that is an event, and a
 * line in the log, at most one a minute for each address and user. */
void login_failed(struct rapi *r, const char *address, const char *user);

/* Whether who has begun a stream may go on; for streams_create(). */
bool login_holds(void *rapi, const struct auth *auth);

/* Who this is and by what right, to be freed: text that is asked for again, when
 * consoles that were given to him are open. */
char *login_owner(const struct auth *a);

/* End streams and consoles of those who may not have them any more. */
void login_check(struct rapi *r);

/* Events have come, or some seconds are over: find out which tokens are left,
 * if that may have changed or `anyway`, and end streams of others. */
void login_look(struct rapi *r, bool anyway);

#endif
