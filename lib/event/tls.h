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
 * ca_path, common name cn; it can sign no others. */
int tls_make_signed(const char *path, const char *ca_path, const char *cn,
		    struct error *err);

/* The digest of the first certificate in the file. */
int tls_digest(const char *path, char ret_digest[TLS_DIGEST_MAX],
	       struct error *err);

/* The same of a certificate in DER form. */
void tls_digest_der(const void *der, size_t len,
		    char ret_digest[TLS_DIGEST_MAX]);

/* "sha256//<base64>" of the public key of the first certificate in the file,
 * as curl pins keys. */
#define TLS_PIN_MAX 64
int tls_pin(const char *path, char ret_pin[TLS_PIN_MAX], struct error *err);

/* What we offer and accept: TLS 1.2 and 1.3. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#endif
