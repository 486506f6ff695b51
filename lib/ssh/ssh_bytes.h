/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads SSH's binary form: numbers of four bytes, big-endian, and texts with
 * their length in front.  What is read is removed from the beginning; false:
 * there is not enough. */
#ifndef SSH_SSH_BYTES_H
#define SSH_SSH_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of somebody else. */
struct ssh_bytes {
	const unsigned char *data;
	size_t len;
};

/* Drop n bytes, at most as many as there are. */
static inline bool ssh_bytes_skip(struct ssh_bytes *b, size_t n)
{
	bool enough = n <= b->len;

	n = enough ? n : b->len;
	b->data += n;
	b->len -= n;
	return enough;
}

/* Take a number. */
static inline bool ssh_bytes_number(struct ssh_bytes *b, uint32_t *ret)
{
	const unsigned char *d = b->data;

	if (b->len < 4)
		return false;
	*ret = (uint32_t)d[0] << 24 | (uint32_t)d[1] << 16 |
	       (uint32_t)d[2] << 8 | (uint32_t)d[3];
	return ssh_bytes_skip(b, 4);
}

/* Take a text; *ret points into b. */
static inline bool ssh_bytes_text(struct ssh_bytes *b, struct ssh_bytes *ret)
{
	uint32_t n;

	if (!ssh_bytes_number(b, &n) || n > b->len)
		return false;
	*ret = (struct ssh_bytes){b->data, n};
	return ssh_bytes_skip(b, n);
}

/* Whether they are this text. */
static inline bool ssh_bytes_are(const struct ssh_bytes *b, const char *text)
{
	return b->len == strlen(text) && memcmp(b->data, text, b->len) == 0;
}

#endif
