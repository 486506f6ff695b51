/* SPDX-License-Identifier: BSD-2-Clause */
/* What known_hosts files say about a host, by libssh2_knownhost.  Each line is
 * given to libssh2 by itself, so that an error can name the line and a line
 * that cannot be read spoils no other one.  Patterns (*.example.com, !name),
 * which libssh2 does not know, are matched here.  Lines of certificate
 * authorities are passed over. */
#ifndef SSH_KNOWN_HOSTS_H
#define SSH_KNOWN_HOSTS_H

#include <libssh2.h>
#include <stddef.h>

#include "lib/base/error.h"

#define KNOWN_HOSTS_MAX (16 * 1024 * 1024) /* bytes of a file */

/* Where lines differ, the last of these counts. */
enum known {
	KNOWN_NOTHING, /* no line says anything about the host */
	KNOWN_OTHER,   /* it has keys, none of them of this type */
	KNOWN_WRONG,   /* it has another key of this type */
	KNOWN_TRUSTED,
	KNOWN_REVOKED, /* a line marked @revoked has this key */
};

/* The key that a host has shown. */
struct known_key {
	const char *blob; /* as on the wire */
	size_t len;
	int type; /* LIBSSH2_HOSTKEY_TYPE_* */
};

/* The line that an answer comes from. */
struct known_place {
	const char *file;
	size_t line; /* from 1; 0: there is none */
	int type;    /* of the key there, LIBSSH2_HOSTKEY_TYPE_* */
};

/* Look up the host, by its name in the files: "name", or "[name]:port".  -1
 * with err when a file cannot be read; one that does not exist is empty. */
int known_hosts_check(LIBSSH2_SESSION *session, const char *const *files,
		      const char *host, const struct known_key *key,
		      enum known *ret, struct known_place *ret_place,
		      struct error *err);

/* The methods of host keys that libssh2 can, those of the types that the files
 * have for the host first, in SSH's form with commas; to be freed.  NULL with
 * err. */
char *known_hosts_methods(LIBSSH2_SESSION *session, const char *const *files,
			  const char *host, struct error *err);

/* Add a line for the host's key to the file, which is made if need be, with its
 * folder (0700). */
int known_hosts_add(const char *file, const char *host,
		    const struct known_key *key, struct error *err);

/* "ED25519", or "?" for types that are not known. */
const char *known_hosts_type(int type);

#endif
