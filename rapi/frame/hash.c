/* SPDX-License-Identifier: BSD-2-Clause */
/* GnuTLS has it. */
#include "rapi/frame/hash.h"

#include <assert.h>
#include <gnutls/crypto.h>

#include "lib/base/str.h"

void hash_hex(const void *data, size_t len, char ret[HASH_HEX])
{
	unsigned char digest[HASH_HEX / 2];
	int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, digest);

	assert(rc == 0);
	(void)rc;
	str_hex(ret, digest, sizeof(digest));
}
