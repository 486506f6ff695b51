/* SPDX-License-Identifier: BSD-2-Clause */
/* The certificates of which a peer has to show one: those in a file. */
#ifndef NODED_IMPEXP_EXPECTED_H
#define NODED_IMPEXP_EXPECTED_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "lib/base/error.h"

/* Whether a certificate (DER) is one of them; err is filled where the file
 * cannot be read. */
bool impexp_expected_has(const char *ca_file, const gnutls_datum_t *peer,
			 struct error *err);

#endif
