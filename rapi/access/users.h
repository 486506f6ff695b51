/* SPDX-License-Identifier: BSD-2-Clause */
/* The users file, in Ganeti's form: a user a line, "NAME PASSWORD RIGHTS", with
 * "#" before comments.  The rights are "read" and "write", with a comma
 * between.  A password is
 *   {HA1}HEX         MD5 of "NAME:Ganeti Remote API:PASSWORD"
 *   {CRYPT}HASH      as in /etc/shadow, of mkpasswd; not Ganeti's
 *   {CLEARTEXT}TEXT  or the password as it is
 * Lines that are none of this are skipped, with a warning. */
#ifndef RAPI_USERS_H
#define RAPI_USERS_H

#include <stdbool.h>

#include "lib/base/table.h"
#include "rapi/access/seen.h"

#define USERS_REALM "Ganeti Remote API"
/* So many passwords are compared with {CRYPT} hashes at the same time. */
#define USERS_HASHES_MAX 4

struct user {
	char *password; /* as it stands in the file */
	unsigned rights;
};

struct users {
	const char *file;
	struct table by_name;
	struct seen seen; /* of the file when it was read */
};

/* Nothing is read yet; file has to outlive it. */
void users_init(struct users *u, const char *file);
void users_done(struct users *u);

/* Read the file again if it has changed since, or always.  Without a file there
 * are no users. */
void users_load(struct users *u, bool always);

/* NULL if there is none of this name.  Valid until the file is read again. */
const struct user *users_find(const struct users *u, const char *name);

/* The same from the text of a file; what was there is replaced. */
void users_parse(struct users *u, const char *text);

/* Whether this is the password, which stands in the file as stored.  A {CRYPT}
 * takes its time: not on the loop. */
bool users_verify(const char *name, const char *password, const char *stored);

#endif
