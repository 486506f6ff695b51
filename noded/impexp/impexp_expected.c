/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer is known by its certificate itself, which no authority has to vouch
 * for. */
#include "noded/impexp/impexp_expected.h"

#include <gnutls/x509.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"

#define PEM_MAX ((size_t)64 * 1024)
#define PEERS_MAX 4 /* certificates in the file of expected ones */

bool impexp_expected_has(const char *ca_file, const gnutls_datum_t *peer,
			 struct error *err)
{
	size_t len;
	auto_free char *text = fs_read(ca_file, PEM_MAX, &len, err);
	gnutls_datum_t pem = {(unsigned char *)text, (unsigned)len};
	gnutls_x509_crt_t crts[PEERS_MAX];
	unsigned n = PEERS_MAX;
	bool found = false;

	if (text == NULL ||
	    gnutls_x509_crt_list_import(
		    crts, &n, &pem, GNUTLS_X509_FMT_PEM,
		    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED) < 0)
		return false;
	for (unsigned i = 0; i < n; i++) {
		gnutls_x509_crt_t crt = crts[i];
		gnutls_datum_t der;

		if (gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_DER, &der) ==
		    0) {
			found = found ||
				(der.size == peer->size &&
				 memcmp(der.data, peer->data, der.size) == 0);
			gnutls_free(der.data);
		}
		gnutls_x509_crt_deinit(crt);
	}
	return found;
}
