/* SPDX-License-Identifier: BSD-2-Clause */
/* GnuTLS computes it. */
#include "lib/event/hmac.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"

#define SHA1_BYTES 20

void hmac_sha1(const char *secret, const char *salt, const char *text,
	       char ret[HMAC_HEX])
{
	auto_free char *whole = xprintf("%s%s", salt, text);
	unsigned char digest[SHA1_BYTES];

	if (gnutls_hmac_fast(GNUTLS_MAC_SHA1, secret, strlen(secret), whole,
			     strlen(whole), digest) < 0)
		abort(); /* out of memory */
	str_hex(ret, digest, sizeof(digest));
}

bool hmac_sha1_is(const char *secret, const char *salt, const char *text,
		  const char *found)
{
	char right[HMAC_HEX];

	hmac_sha1(secret, salt, text, right);
	return strlen(found) == strlen(right) &&
	       gnutls_memcmp(right, found, strlen(right)) == 0;
}
