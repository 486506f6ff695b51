/* SPDX-License-Identifier: BSD-2-Clause */
/* Text as Haskell writes it: the reference's messages are made with show and
 * printf of that language, and ours have to be equal. */
#ifndef IALLOCATORS_MODEL_HFORMAT_H
#define IALLOCATORS_MODEL_HFORMAT_H

#include <stddef.h>

#include "lib/base/str.h"

/* "%.<decimals>f": the shortest decimal form that reads back as d, rounded
 * half to even.  decimals <= 20. */
void hf_fixed(struct buf *b, double d, int decimals);

/* show of a Double: shortest digits, "12.5", "10.0"; below 0.1 and from 10^7
 * on with an exponent: "1.0e-2". */
void hf_double(struct buf *b, double d);

/* show of a String: in double quotes, control and non-ASCII characters as
 * decimal escapes.  len bytes of UTF-8. */
void hf_show_string(struct buf *b, const char *s, size_t len);

/* show of the Char in the first len bytes: in single quotes. */
void hf_show_char(struct buf *b, const char *s, size_t len);

/* A JSON string; non-ASCII characters stay as they are. */
void hf_json_string(struct buf *b, const char *s);

#endif
