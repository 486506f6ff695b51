/* SPDX-License-Identifier: BSD-2-Clause */
/* Short texts are sent plain; all others are compressed with zlib and encoded
 * in base64.  Unpacking goes chunk by chunk, so that a small content that
 * expands beyond CONTENT_MAX is refused before it fills the memory. */
#include "lib/model/files/content.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define ENCODING_PLAIN 0
#define ENCODING_ZLIB_BASE64 1
#define CHUNK (64 * 1024)
/* Texts that are shorter stay plain. */
#define PACKED_MIN 512

/* --- packing --- */

/* The fastest level: it makes configurations ten times smaller already. */
static unsigned char *deflate_all(const char *text, size_t len, uLongf *ret_len)
{
	unsigned char *packed;
	int rc;

	*ret_len = compressBound(len);
	packed = xalloc(*ret_len);
	rc = compress2(packed, ret_len, (const Bytef *)text, len, Z_BEST_SPEED);
	if (rc != Z_OK)
		abort(); /* out of memory */
	return packed;
}

json_t *content_pack(const char *text, size_t len)
{
	auto_free unsigned char *packed = NULL;
	gnutls_datum_t base64;
	uLongf packed_len;
	json_t *content;

	if (len < PACKED_MIN)
		return json_make("[i, s%]", ENCODING_PLAIN, text, len);
	packed = deflate_all(text, len, &packed_len);
	if (gnutls_base64_encode2(
		    &(gnutls_datum_t){packed, (unsigned)packed_len}, &base64) <
	    0)
		abort(); /* out of memory */
	content = json_make("[i, s%]", ENCODING_ZLIB_BASE64, base64.data,
			    (size_t)base64.size);
	gnutls_free(base64.data);
	return content;
}

/* --- unpacking --- */

static int bad(struct error *err, const char *why)
{
	return error_set(err, ERR_REQUEST, NULL, "Invalid file content: %s",
			 why);
}

static int inflate_all(z_stream *z, struct buf *ret, struct error *err)
{
	auto_free Bytef *chunk = xalloc(CHUNK);
	int rc;

	do {
		z->next_out = chunk;
		z->avail_out = CHUNK;
		rc = inflate(z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return bad(err, z->msg != NULL ? z->msg
						       : "it ends too early");
		if (ret->len + (CHUNK - z->avail_out) > CONTENT_MAX)
			return bad(err, "it is too large");
		buf_add(ret, chunk, CHUNK - z->avail_out);
	} while (rc != Z_STREAM_END);
	return 0;
}

static char *unpack(const char *text, size_t *ret_len, struct error *err)
{
	gnutls_datum_t in = {mem_unconst(text), (unsigned)strlen(text)};
	gnutls_datum_t packed;
	auto_buf struct buf out = {0};
	z_stream z = {0};
	int rc;

	if (gnutls_base64_decode2(&in, &packed) < 0) {
		bad(err, "it is not base64");
		return NULL;
	}
	z.next_in = packed.data;
	z.avail_in = packed.size;
	rc = inflateInit(&z) == Z_OK ? inflate_all(&z, &out, err)
				     : bad(err, "no memory to unpack it");
	inflateEnd(&z);
	gnutls_free(packed.data);
	if (rc < 0)
		return NULL;
	*ret_len = out.len;
	return buf_steal(&out);
}

char *content_read(const json_t *content, size_t *ret_len, struct error *err)
{
	const json_t *encoding = json_array_get(content, 0);
	const json_t *text = json_array_get(content, 1);

	if (json_array_size(content) != 2 || !json_is_integer(encoding) ||
	    !json_is_string(text)) {
		bad(err, "it must be a list of encoding and text");
		return NULL;
	}
	switch (json_integer_value(encoding)) {
	case ENCODING_PLAIN:
		*ret_len = json_string_length(text);
		return xmemdup(json_string_value(text), *ret_len + 1);
	case ENCODING_ZLIB_BASE64:
		return unpack(json_string_value(text), ret_len, err);
	default:
		bad(err, "unknown encoding");
		return NULL;
	}
}
