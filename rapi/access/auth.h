/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sends a request, and may he?  HTTP Basic, as Ganeti's clients send it. */
#ifndef RAPI_AUTH_H
#define RAPI_AUTH_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

struct users;

/* The line that asks a client for a password. */
#define AUTH_ASKS "WWW-Authenticate: Basic realm=\"Ganeti Remote API\"\n"

/* What a request's header says, and what the users file says about that.
 * Zeroed: nobody. */
struct auth {
	char *user, *password; /* NULL: none given */
	char *stored;	       /* the user's password; NULL: no such user */
	unsigned rights;
	char *hash;    /* of a token's secret; NULL: it is no token */
	json_t *token; /* NULL: not known, or none */
};

/* Frees it, and wipes the passwords. */
void auth_done(struct auth *a);

/* Read the header (NULL: there is none), and look the user up.
 * REPLY_UNAUTHORIZED when it is needed and missing, or malformed. */
int auth_read(struct auth *ret, const struct users *users, const char *header,
	      bool needed, struct error *err);

/* Whether the password can be checked on the loop: it is no hash that takes
 * long. */
bool auth_is_quick(const struct auth *a);

/* The same of a user and his password. */
void auth_read_pair(struct auth *ret, const struct users *users,
		    const char *user, const char *password);
/* The same of a token. */
void auth_read_secret(struct auth *ret, const char *secret);
/* It is this token (null: there is none); from now on the user is its user.
 * REPLY_UNAUTHORIZED if there is no such user any more. */
int auth_take_token(struct auth *a, const struct users *users,
		    const json_t *token, struct error *err);

/* Whether what was checked once still holds: the user is still there, with the
 * same password and no right less.  nobody: who gave no name may. */
bool auth_holds(const struct auth *a, const struct users *users, bool nobody);

/* Whether he may know where consoles are, as far as he is who he says. */
bool auth_may_console(const struct auth *a);

/* Check the password, if there was one, and whether the user has one of the
 * rights (0: everybody may).  REPLY_UNAUTHORIZED or REPLY_FORBIDDEN.  Not on
 * the loop: it may take long. */
int auth_check(const struct auth *a, unsigned rights, struct error *err);

#endif
