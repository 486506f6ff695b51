/* SPDX-License-Identifier: BSD-2-Clause */
/* Proofs that somebody knows a secret: HMAC with SHA-1, which is what Ganeti's
 * clusters show each other. */
#ifndef EVENT_HMAC_H
#define EVENT_HMAC_H

#include <stdbool.h>

/* 40 lower case hexadecimal digits and NUL. */
#define HMAC_HEX 41

/* Of salt and text, one behind the other. */
void hmac_sha1(const char *secret, const char *salt, const char *text,
	       char ret[HMAC_HEX]);

/* Whether this is it, in a time that does not depend on where they differ. */
bool hmac_sha1_is(const char *secret, const char *salt, const char *text,
		  const char *found);

#endif
