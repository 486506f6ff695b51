/* SPDX-License-Identifier: BSD-2-Clause */
/* Websockets (RFC 6455), the server's side: the handshake's answer, frames of
 * the client read and checked, frames to the client written.  Only binary data
 * is spoken (the subprotocol "binary").  No I/O. */
#ifndef RAPI_CONSOLE_WEBSOCKET_H
#define RAPI_CONSOLE_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* A frame of a client; browsers send what is typed or moved. */
#define WEBSOCKET_FRAME_MAX 65536
/* A frame's head and mask. */
#define WEBSOCKET_HEAD_MAX 14

enum websocket_op {
	WEBSOCKET_MORE = 0,
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

/* Why a connection ends, as a close frame says it. */
enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_GOING = 1001,
	WEBSOCKET_PROTOCOL = 1002,
	WEBSOCKET_NO_TEXT = 1003,
	WEBSOCKET_TOO_BIG = 1009,
	WEBSOCKET_FAILED = 1011,
};

/* What the client asks with; NULL: the header is missing. */
struct websocket_hello {
	const char *upgrade, *connection, *version, *key, *protocol;
};

/* The header lines of the answer 101, to be freed; NULL with ECODE_INVAL. */
char *websocket_accept(const struct websocket_hello *hello, struct error *err);

/* The client's side of a connection; zeroed at the beginning. */
struct websocket {
	bool in_message; /* a message goes on in the next frame */
};

struct websocket_frame {
	enum websocket_op op; /* never MORE: data is BINARY */
	const char *data;     /* unmasked, inside the buffer */
	size_t len;
	size_t size; /* of the whole frame, to be consumed */
};

/* The frame at the beginning of in, which is changed (unmasked).  1: there is
 * one; 0: not all of it is there yet; -1: it is wrong, and *ret_code says how.
 */
int websocket_next(struct websocket *w, struct buf *in,
		   struct websocket_frame *ret, enum websocket_code *ret_code);

/* Append a frame to the client. */
void websocket_write(struct buf *out, enum websocket_op op, const void *data,
		     size_t len);
void websocket_write_close(struct buf *out, enum websocket_code code);

#endif
