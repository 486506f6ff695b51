/* SPDX-License-Identifier: BSD-2-Clause */
/* Certificates: ECDSA P-256, PEM files with key and certificate together, as
 * Ganeti keeps server.pem and client.pem (a cluster certificate on every node
 * that is also the CA, and one client certificate a node signed by it). */
#ifndef EVENT_TLS_H
#define EVENT_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

/* "AA:BB:...": SHA-1 of the certificate in DER form, as ssconf's
 * master_candidates_certs has it. */
#define TLS_DIGEST_MAX 64

/* Write a new self-signed CA certificate and key to path (mode 0400), valid
 * five years, common name cn. */
int tls_make_ca(const char *path, const char *cn, struct error *err);

/* Write a new certificate and key to path (0400), signed by the one in
 * ca_path, common name cn. */
int tls_make_signed(const char *path, const char *ca_path, const char *cn,
		    struct error *err);

/* The digest of the first certificate in the file. */
int tls_digest(const char *path, char ret_digest[TLS_DIGEST_MAX],
	       struct error *err);

#endif
