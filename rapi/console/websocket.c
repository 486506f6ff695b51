/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame: a byte with the end of a message and the kind, a byte with the mask
 * bit and the length, 0, 2 or 8 bytes of a longer length, 4 of the mask, the
 * data.  A client must mask, and write lengths as short as can be. */
#include "rapi/console/websocket.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define KEY_BYTES 16
#define SHA1_BYTES 20
#define CONTROL_MAX 125
#define SUBPROTOCOL "binary"

#define FIN 0x80
#define RESERVED 0x70
#define OP 0x0f
#define MASKED 0x80
#define LENGTH 0x7f

/* --- the handshake --- */

/* Whether one of the words between commas is this. */
static bool has_word(const char *list, const char *word)
{
	auto_strv struct strv parts = {0};

	if (list == NULL)
		return false;
	str_split(&parts, list, ',');
	for (size_t i = 0; i < parts.n; i++) {
		const char *s = parts.items[i] + strspn(parts.items[i], " \t");
		size_t n = strcspn(s, " \t");

		if (n == strlen(word) && strncasecmp(s, word, n) == 0)
			return true;
	}
	return false;
}

static bool is_key(const char *key)
{
	const gnutls_datum_t text = {.data = mem_unconst(key),
				     .size = (unsigned)strlen(key)};
	gnutls_datum_t bytes = {0};
	bool good = gnutls_base64_decode2(&text, &bytes) == 0 &&
		    bytes.size == KEY_BYTES;

	gnutls_free(bytes.data);
	return good;
}

/* To be freed. */
static char *answer_to(const char *key)
{
	auto_free char *both = xprintf("%s%s", key, GUID);
	unsigned char digest[SHA1_BYTES];
	const gnutls_datum_t plain = {.data = digest, .size = sizeof(digest)};
	gnutls_datum_t text = {0};
	char *answer;

	if (gnutls_hash_fast(GNUTLS_DIG_SHA1, both, strlen(both), digest) < 0 ||
	    gnutls_base64_encode2(&plain, &text) < 0)
		return NULL;
	answer = xstrndup((const char *)text.data, text.size);
	gnutls_free(text.data);
	return answer;
}

char *websocket_accept(const struct websocket_hello *h, struct error *err)
{
	auto_free char *answer = NULL;
	const char *why = NULL;

	if (!has_word(h->upgrade, "websocket") ||
	    !has_word(h->connection, "upgrade"))
		why = "This is a websocket: ask for the upgrade to one";
	else if (h->version == NULL || strcmp(h->version, "13") != 0)
		why = "The version of a websocket is 13";
	else if (h->key == NULL || !is_key(h->key))
		why = "Sec-WebSocket-Key is no key";
	else if (h->protocol != NULL && !has_word(h->protocol, SUBPROTOCOL))
		why = "The subprotocol is " SUBPROTOCOL;
	else if ((answer = answer_to(h->key)) == NULL)
		why = "There is no SHA-1 on this host";
	if (why != NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", why);
		return NULL;
	}
	return xprintf("Upgrade: websocket\nSec-WebSocket-Accept: %s\n%s",
		       answer,
		       h->protocol == NULL
			       ? ""
			       : "Sec-WebSocket-Protocol: " SUBPROTOCOL "\n");
}

/* --- frames of the client --- */

/* What the first bytes say. */
struct head {
	enum websocket_op op;
	bool fin;
	size_t size; /* with the mask */
	uint64_t len;
};

static int wrong(enum websocket_code *ret, enum websocket_code code)
{
	*ret = code;
	return -1;
}

static uint64_t read_be(const unsigned char *p, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | p[i];
	return value;
}

static bool is_known(unsigned op)
{
	return op <= WEBSOCKET_BINARY ||
	       (op >= WEBSOCKET_CLOSE && op <= WEBSOCKET_PONG);
}

static bool is_control(enum websocket_op op)
{
	return op >= WEBSOCKET_CLOSE;
}

/* 1: read; 0: there is not enough. */
static int read_head(const unsigned char *p, size_t n, struct head *ret,
		     enum websocket_code *ret_code)
{
	size_t more;

	if (n < 2)
		return 0;
	if ((p[0] & RESERVED) != 0 || !is_known(p[0] & OP) ||
	    (p[1] & MASKED) == 0)
		return wrong(ret_code, WEBSOCKET_PROTOCOL);
	ret->op = (enum websocket_op)(p[0] & OP);
	ret->fin = (p[0] & FIN) != 0;
	ret->len = p[1] & LENGTH;
	if (is_control(ret->op) && (!ret->fin || ret->len > CONTROL_MAX))
		return wrong(ret_code, WEBSOCKET_PROTOCOL);
	more = ret->len == 126 ? 2 : ret->len == 127 ? 8 : 0;
	ret->size = 2 + more + 4;
	if (n < ret->size)
		return 0;
	if (more > 0)
		ret->len = read_be(p + 2, more);
	if ((more == 2 && ret->len < 126) ||
	    (more == 8 && ret->len <= UINT16_MAX))
		return wrong(ret_code, WEBSOCKET_PROTOCOL);
	return 1;
}

/* A message is a first frame and any number that go on. */
static int check_order(struct websocket *w, const struct head *h,
		       enum websocket_code *ret_code)
{
	if (is_control(h->op))
		return 0;
	if ((h->op == WEBSOCKET_MORE) != w->in_message)
		return wrong(ret_code, WEBSOCKET_PROTOCOL);
	if (h->op == WEBSOCKET_TEXT)
		return wrong(ret_code, WEBSOCKET_NO_TEXT);
	return 0;
}

int websocket_next(struct websocket *w, struct buf *in,
		   struct websocket_frame *ret, enum websocket_code *ret_code)
{
	unsigned char *p = (unsigned char *)in->data;
	struct head h;
	int rc = read_head(p, in->len, &h, ret_code);

	if (rc <= 0)
		return rc;
	if (h.len > WEBSOCKET_FRAME_MAX)
		return wrong(ret_code, WEBSOCKET_TOO_BIG);
	if (check_order(w, &h, ret_code) < 0)
		return -1;
	if (in->len < h.size + h.len)
		return 0;
	for (size_t i = 0; i < h.len; i++)
		p[h.size + i] ^= p[h.size - 4 + i % 4];
	if (!is_control(h.op))
		w->in_message = !h.fin;
	*ret = (struct websocket_frame){
		.op = is_control(h.op) ? h.op : WEBSOCKET_BINARY,
		.data = in->data + h.size,
		.len = (size_t)h.len,
		.size = h.size + (size_t)h.len};
	/* One byte is no code. */
	if (h.op == WEBSOCKET_CLOSE && h.len == 1)
		return wrong(ret_code, WEBSOCKET_PROTOCOL);
	return 1;
}

/* --- frames to the client --- */

void websocket_write(struct buf *out, enum websocket_op op, const void *data,
		     size_t len)
{
	size_t more = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;

	buf_addc(out, (char)(FIN | op));
	buf_addc(out, (char)(more == 0 ? len : more == 2 ? 126 : 127));
	for (size_t i = more; i > 0; i--)
		buf_addc(out, (char)((uint64_t)len >> (8 * (i - 1))));
	buf_add(out, data, len);
}

void websocket_write_close(struct buf *out, enum websocket_code code)
{
	const char bytes[2] = {(char)(code >> 8), (char)code};

	websocket_write(out, WEBSOCKET_CLOSE, bytes, sizeof(bytes));
}
