/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sends a request, and may he?  HTTP Basic, as Ganeti's clients send it. */
#ifndef RAPI_AUTH_H
#define RAPI_AUTH_H

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
};

/* Frees it, and wipes the passwords. */
void auth_done(struct auth *a);

/* Read the header (NULL: there is none), and look the user up.
 * REPLY_UNAUTHORIZED when it is needed and missing, or malformed. */
int auth_read(struct auth *ret, const struct users *users, const char *header,
	      bool needed, struct error *err);

/* Whether what was checked once still holds: the user is still there, with the
 * same password and no right less.  nobody: who gave no name may. */
bool auth_holds(const struct auth *a, const struct users *users, bool nobody);

/* Check the password, if there was one, and whether the user has one of the
 * rights (0: everybody may).  REPLY_UNAUTHORIZED or REPLY_FORBIDDEN.  Not on
 * the loop: it may take long. */
int auth_check(const struct auth *a, unsigned rights, struct error *err);

#endif
