/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 as text. */
#ifndef RAPI_HASH_H
#define RAPI_HASH_H

#include <stddef.h>

#define HASH_HEX 65 /* with its NUL */

/* The hash of these bytes. */
void hash_hex(const void *data, size_t len, char ret[HASH_HEX]);

#endif
