/* SPDX-License-Identifier: BSD-2-Clause */
/* Certificates whose time is over. */
#ifndef TESTS_LIB_EXPIRE_H
#define TESTS_LIB_EXPIRE_H

#include <criterion/criterion.h>
#include <gnutls/x509.h>
#include <time.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static inline void expire_read(const char *path, gnutls_x509_crt_t *ret_crt,
			       gnutls_x509_privkey_t *ret_key)
{
	struct error err;
	size_t len;
	auto_free char *text = fs_read(path, 100000, &len, &err);
	gnutls_datum_t data = {(unsigned char *)text, (unsigned)len};

	cr_assert_not_null(text);
	gnutls_x509_crt_init(ret_crt);
	gnutls_x509_privkey_init(ret_key);
	cr_assert_eq(
		gnutls_x509_crt_import(*ret_crt, &data, GNUTLS_X509_FMT_PEM),
		0);
	cr_assert_eq(gnutls_x509_privkey_import(*ret_key, &data,
						GNUTLS_X509_FMT_PEM),
		     0);
}

/* The certificate in path, signed anew by the one in ca_path (which may be the
 * same), was good from two hours ago to one hour ago; or it will be good in an
 * hour. */
static inline void expire_set(const char *path, const char *ca_path, bool ended)
{
	gnutls_x509_crt_t crt, ca;
	gnutls_x509_privkey_t key, ca_key;
	gnutls_datum_t texts[2];
	auto_free char *text = NULL;
	time_t now = time(NULL), hour = 3600;
	struct error err;

	expire_read(path, &crt, &key);
	expire_read(ca_path, &ca, &ca_key);
	gnutls_x509_crt_set_activation_time(crt, now + (ended ? -2 : 1) * hour);
	gnutls_x509_crt_set_expiration_time(crt, now + (ended ? -1 : 2) * hour);
	cr_assert_eq(
		gnutls_x509_crt_sign2(crt, ca, ca_key, GNUTLS_DIG_SHA256, 0),
		0);
	gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &texts[0]);
	gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &texts[1]);
	text = xprintf("%s%s", (char *)texts[0].data, (char *)texts[1].data);
	cr_assert_eq(fs_write_atomic(path, text, strlen(text), 0400, &err), 0);
	for (size_t i = 0; i < 2; i++)
		gnutls_free(texts[i].data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_crt_deinit(ca);
	gnutls_x509_privkey_deinit(key);
	gnutls_x509_privkey_deinit(ca_key);
}

#endif
