/* SPDX-License-Identifier: BSD-2-Clause */
/* Certificates: ECDSA P-256, PEM files with key and certificate together, as
 * Ganeti keeps server.pem and client.pem (a cluster certificate on every node
 * that is also the CA, and one client certificate a node signed by it). */
#ifndef EVENT_TLS_H
#define EVENT_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* "AA:BB:...": SHA-1 of the certificate in DER form, as ssconf's
 * master_candidates_certs has it. */
#define TLS_DIGEST_MAX 64

/* Write a new self-signed CA certificate and key to path (mode 0400), valid
 * five years, common name cn. */
int tls_make_ca(const char *path, const char *cn, struct error *err);

/* The same, valid for so many seconds from now on; the text of the certificate,
 * without the key, to be freed. */
int tls_make_for(const char *path, const char *cn, int64_t valid_s,
		 char **ret_certificate, struct error *err);

/* The text of such a file; to be wiped and freed.  NULL with err. */
char *tls_ca_text(const char *cn, struct error *err);

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

/* 0 if the file has a certificate and, if asked for, its private key. */
int tls_check(const char *path, bool with_key, struct error *err);

/* The same where the key is in a file of its own; NULL: it is not asked for. */
int tls_check_pair(const char *cert_path, const char *key_path,
		   struct error *err);

/* The validity of the file's first certificate, in seconds since 1970. */
int tls_validity(const char *path, int64_t *ret_from, int64_t *ret_to,
		 struct error *err);

/* 0 if the file's first certificate is valid by this machine's clock, or if
 * there is no such file.  Otherwise the error says whether to check the clock
 * or the certificate. */
int tls_check_clock(const char *path, struct error *err);

/* Write the first certificate of each of these files to path, without the
 * keys. */
int tls_write_certs(const char *path, const char *const *from, size_t n,
		    mode_t mode, struct error *err);

/* "sha256//<base64>" of the public key of each certificate in the file (at most
 * TLS_PINS_MAX), with semicolons between, as curl pins keys; to be freed. */
#define TLS_PINS_MAX 8
char *tls_pins(const char *path, struct error *err);

/* What we offer and accept, as GnuTLS's priority string: TLS 1.2 and 1.3. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#endif
