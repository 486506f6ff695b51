/* SPDX-License-Identifier: BSD-2-Clause */
/* GnuTLS has it. */
#include "rapi/frame/hash.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <stdio.h>

void hash_hex(const void *data, size_t len, char ret[HASH_HEX])
{
	unsigned char digest[HASH_HEX / 2];
	int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, digest);

	assert(rc == 0);
	(void)rc;
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}
