/* SPDX-License-Identifier: BSD-2-Clause */
/* File contents as the master sends them: [0, text] or, for larger ones,
 * [1, base64 of zlib data]. */
#ifndef NODED_CONTENT_H
#define NODED_CONTENT_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/error.h"

/* Unpacked; larger than any configuration that there is. */
#define CONTENT_MAX (256u * 1024 * 1024)

/* The bytes (NUL behind them, not counted), to be freed; NULL and err. */
char *content_read(const json_t *content, size_t *ret_len, struct error *err);

#endif
