/* SPDX-License-Identifier: BSD-2-Clause */
/* File contents in node calls: [0, text] or, for larger ones, [1, base64 of
 * zlib data]. */
#ifndef MODEL_FILES_CONTENT_H
#define MODEL_FILES_CONTENT_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/error.h"

/* The largest unpacked content, in bytes; no configuration is larger. */
#define CONTENT_MAX (256u * 1024 * 1024)

/* As it travels, to be freed: packed where that is worth it, which also saves
 * the receiver from reading a text full of quotes.  Blocks for a while when it
 * is long. */
json_t *content_pack(const char *text, size_t len);

/* The bytes (NUL behind them, not counted), to be freed; NULL and err. */
char *content_read(const json_t *content, size_t *ret_len, struct error *err);

#endif
