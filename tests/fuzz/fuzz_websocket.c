/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes from a client of a console: whatever comes out lies within what
 * went in, and what is written can be read.  The same bytes in two parts mean
 * the same. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "rapi/access/forwarded.h"
#include "rapi/console/websocket.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(bool good)
{
	if (!good)
		abort();
}

/* What a stream of frames amounts to. */
struct outcome {
	size_t frames, bytes;
	int end;
	enum websocket_code code;
};

static void take_all(struct websocket *ws, struct buf *in, struct outcome *o)
{
	struct websocket_frame f;

	while ((o->end = websocket_next(ws, in, &f, &o->code)) > 0) {
		need(f.data >= in->data && f.len <= WEBSOCKET_FRAME_MAX &&
		     f.data + f.len == in->data + f.size && f.size <= in->len);
		o->frames++;
		o->bytes += f.len;
		buf_consume(in, f.size);
	}
	need(o->end < 0 || in->len < WEBSOCKET_FRAME_MAX + WEBSOCKET_HEAD_MAX);
}

static struct outcome feed(const unsigned char *data, size_t size, size_t cut)
{
	struct websocket ws = {0};
	auto_buf struct buf in = {0};
	struct outcome o = {.code = WEBSOCKET_NORMAL};

	buf_add(&in, data, cut);
	take_all(&ws, &in, &o);
	if (o.end < 0)
		return o;
	buf_add(&in, data + cut, size - cut);
	take_all(&ws, &in, &o);
	return o;
}

static void say_hello(const char *text)
{
	const struct websocket_hello hello = {.upgrade = "websocket",
					      .connection = text,
					      .version = "13",
					      .key = text,
					      .protocol = text};
	struct error err = {0};
	auto_free char *lines = websocket_accept(&hello, &err);

	need((lines == NULL) == (err.text[0] != '\0'));
}

static void forward(const char *text)
{
	struct strv proxies = {0};
	auto_free char *address = NULL;

	strv_add(&proxies, "10.0.0.0/8");
	strv_add(&proxies, "::/1");
	if (forwarded_valid_proxy(text))
		strv_add(&proxies, text);
	address = forwarded_address(&proxies, "10.1.1.1", text);
	need(str_valid_line(address) && strlen(address) < 64);
	strv_done(&proxies);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_free char *text = xalloc(size + 1);
	struct outcome whole = feed(data, size, size);
	struct outcome parts = feed(data, size, size / 2);

	need(whole.frames == parts.frames && whole.bytes == parts.bytes &&
	     whole.end == parts.end && whole.code == parts.code);
	memcpy(text, data, size);
	say_hello(text);
	forward(text);
	return 0;
}
