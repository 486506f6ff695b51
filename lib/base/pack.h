/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and bytes in files and messages: numbers are 64 bits, little-endian.
 * A reader that meets the end is bad from then on, and gives zeros. */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/str.h"

struct pack_reader {
	const char *at, *end;
	bool bad;
};

static inline void pack_number(struct buf *b, uint64_t number)
{
	uint64_t bytes = htole64(number);

	buf_add(b, &bytes, sizeof(bytes));
}

/* A length, and as many bytes. */
static inline void pack_bytes(struct buf *b, const void *data, size_t len)
{
	pack_number(b, len);
	if (len > 0)
		buf_add(b, data, len);
}

static inline uint64_t unpack_number(struct pack_reader *r)
{
	uint64_t bytes;

	if (r->bad || (size_t)(r->end - r->at) < sizeof(bytes)) {
		r->bad = true;
		return 0;
	}
	memcpy(&bytes, r->at, sizeof(bytes));
	r->at += sizeof(bytes);
	return le64toh(bytes);
}

/* The bytes, borrowed; NULL when there are none, or not as many as it says. */
static inline const char *unpack_bytes(struct pack_reader *r, size_t *ret_len)
{
	uint64_t len = unpack_number(r);
	const char *data = r->at;

	*ret_len = 0;
	if (r->bad || len > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		return NULL;
	}
	r->at += len;
	*ret_len = len;
	return len == 0 ? NULL : data;
}

#endif
