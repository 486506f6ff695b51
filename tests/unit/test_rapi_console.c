/* SPDX-License-Identifier: BSD-2-Clause */
/* Websockets and their tickets. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "rapi/console/ticket.h"
#include "rapi/console/websocket.h"

TestSuite(rapi_console, .init = mem_init);

/* --- the handshake --- */

static char *answer(const struct websocket_hello *hello)
{
	struct error err = {0};
	char *lines = websocket_accept(hello, &err);

	cr_assert_eq(lines == NULL, err.text[0] != '\0');
	return lines;
}

/* The example of RFC 6455, 1.3. */
#define HELLO                                                                  \
	{                                                                      \
		.upgrade = "websocket", .connection = "Upgrade",               \
		.version = "13", .key = "dGhlIHNhbXBsZSBub25jZQ=="             \
	}

Test(rapi_console, the_key_is_answered)
{
	const struct websocket_hello hello = HELLO;
	auto_free char *lines = answer(&hello);

	cr_assert_str_eq(lines, "Upgrade: websocket\n"
				"Sec-WebSocket-Accept: "
				"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n");
}

Test(rapi_console, of_protocols_the_one_that_is_spoken_is_taken)
{
	struct websocket_hello hello = HELLO;
	auto_free char *lines = NULL;

	hello.protocol = "base64, binary";
	lines = answer(&hello);
	cr_assert_not_null(strstr(lines, "Sec-WebSocket-Protocol: binary\n"));
	hello.protocol = "base64";
	cr_assert_null(answer(&hello));
}

Test(rapi_console, other_requests_are_refused)
{
	struct websocket_hello no_upgrade = HELLO, keep = HELLO, old = HELLO;
	struct websocket_hello no_key = HELLO, short_key = HELLO;
	struct websocket_hello nothing = {0};

	no_upgrade.upgrade = "h2c";
	keep.connection = "keep-alive";
	old.version = "8";
	no_key.key = NULL;
	short_key.key = "YQ==";
	cr_assert_null(answer(&no_upgrade));
	cr_assert_null(answer(&keep));
	cr_assert_null(answer(&old));
	cr_assert_null(answer(&no_key));
	cr_assert_null(answer(&short_key));
	cr_assert_null(answer(&nothing));
}

/* --- frames --- */

/* A frame of a client; size: as the head says, of so many bytes. */
static void add(struct buf *b, unsigned first, const char *data, size_t len)
{
	static const char mask[] = "\x01\x02\x03\x04";

	buf_addc(b, (char)first);
	if (len < 126) {
		buf_addc(b, (char)(0x80 | len));
	} else {
		buf_addc(b, (char)(0x80 | 126));
		buf_addc(b, (char)(len >> 8));
		buf_addc(b, (char)len);
	}
	buf_add(b, mask, 4);
	for (size_t i = 0; i < len; i++)
		buf_addc(b, (char)(data[i] ^ mask[i % 4]));
}

Test(rapi_console, frames_come_out_as_they_went_in)
{
	auto_buf struct buf in = {0};
	struct websocket ws = {0};
	struct websocket_frame f;
	enum websocket_code code;
	char data[300];

	memset(data, 'x', sizeof(data));
	add(&in, 0x82, "hello", 5);
	add(&in, 0x89, "", 0);
	add(&in, 0x82, data, sizeof(data));
	cr_assert_eq(websocket_next(&ws, &in, &f, &code), 1);
	cr_assert_eq(f.op, WEBSOCKET_BINARY);
	cr_assert_eq(f.len, 5);
	cr_assert_arr_eq(f.data, "hello", 5);
	buf_consume(&in, f.size);
	cr_assert_eq(websocket_next(&ws, &in, &f, &code), 1);
	cr_assert_eq(f.op, WEBSOCKET_PING);
	buf_consume(&in, f.size);
	cr_assert_eq(websocket_next(&ws, &in, &f, &code), 1);
	cr_assert_eq(f.len, sizeof(data));
	cr_assert_arr_eq(f.data, data, sizeof(data));
	buf_consume(&in, f.size);
	cr_assert_eq(websocket_next(&ws, &in, &f, &code), 0);
}

Test(rapi_console, half_a_frame_is_none)
{
	auto_buf struct buf whole = {0};
	struct websocket_frame f;
	enum websocket_code code;

	add(&whole, 0x82, "hello", 5);
	for (size_t n = 0; n < whole.len; n++) {
		auto_buf struct buf part = {0};
		struct websocket ws = {0};

		buf_add(&part, whole.data, n);
		cr_assert_eq(websocket_next(&ws, &part, &f, &code), 0);
		buf_add(&part, whole.data + n, whole.len - n);
		cr_assert_eq(websocket_next(&ws, &part, &f, &code), 1);
		cr_assert_arr_eq(f.data, "hello", 5);
	}
}

#define WRONG(bytes, code)                                                     \
	{                                                                      \
		bytes, sizeof(bytes) - 1, code                                 \
	}

Test(rapi_console, what_no_client_may_send_is_told_apart)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum websocket_code code;
	} cases[] = {
		WRONG("\x82\x01x", WEBSOCKET_PROTOCOL),
		WRONG("\xc2\x80", WEBSOCKET_PROTOCOL),
		WRONG("\x83\x80", WEBSOCKET_PROTOCOL),
		WRONG("\x8b\x80", WEBSOCKET_PROTOCOL),
		WRONG("\x09\x80", WEBSOCKET_PROTOCOL),
		WRONG("\x89\xfe", WEBSOCKET_PROTOCOL),
		WRONG("\x80\x80mask", WEBSOCKET_PROTOCOL),
		WRONG("\x81\x80mask", WEBSOCKET_NO_TEXT),
		WRONG("\x88\x81maskx", WEBSOCKET_PROTOCOL),
		WRONG("\x82\xfe\0\x7dmask", WEBSOCKET_PROTOCOL),
		WRONG("\x82\xff\0\0\0\0\0\0\xff\xffmask", WEBSOCKET_PROTOCOL),
		WRONG("\x82\xff\0\0\0\0\0\1\0\1mask", WEBSOCKET_TOO_BIG),
		WRONG("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xffmask",
		      WEBSOCKET_TOO_BIG),
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf struct buf in = {0};
		struct websocket ws = {0};
		struct websocket_frame f;
		enum websocket_code code = WEBSOCKET_NORMAL;

		buf_add(&in, cases[i].bytes, cases[i].len);
		cr_assert_eq(websocket_next(&ws, &in, &f, &code), -1, "%zu", i);
		cr_assert_eq(code, cases[i].code, "%zu: %d", i, code);
	}
}

Test(rapi_console, lengths_are_written_as_short_as_can_be)
{
	static const struct {
		size_t len, head;
	} cases[] = {{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}};
	auto_free char *data = xcalloc(70000, 1);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf struct buf out = {0};

		websocket_write(&out, WEBSOCKET_BINARY, data, cases[i].len);
		cr_assert_eq(out.len, cases[i].head + cases[i].len, "%zu", i);
		cr_assert_eq((unsigned char)out.data[0], 0x82);
	}
}

/* --- tickets --- */

#define S INT64_C(1000000)

static bool takes(struct tickets *t, const char *secret, const char *instance,
		  int64_t now)
{
	auto_free char *owner = NULL;
	auto_free char *kind = tickets_take(t, secret, instance, now, &owner);

	cr_assert(kind == NULL || str_eq(owner, "me"));
	return kind != NULL;
}

Test(rapi_console, a_ticket_is_good_once_and_for_a_while)
{
	struct tickets *t = xalloc(sizeof(*t));
	char a[TICKET_HEX], b[TICKET_HEX], c[TICKET_HEX];

	tickets_init(t);
	tickets_give(t, "web1", "vnc", "me", 10 * S, a);
	tickets_give(t, "web1", "vnc", "me", 10 * S, b);
	tickets_give(t, "web1", "vnc", "me", 10 * S, c);
	cr_assert_str_neq(a, b);
	cr_assert(takes(t, a, "web1", 11 * S));
	cr_assert_not(takes(t, a, "web1", 11 * S), "once");
	cr_assert_not(takes(t, b, "web2", 11 * S), "for its instance");
	cr_assert_not(takes(t, b, "web1", 11 * S), "and one try");
	cr_assert_not(takes(t, c, "web1", (10 + TICKET_S) * S + 1), "in time");
	cr_assert_not(takes(t, "", "web1", 11 * S));
	tickets_done(t);
	free(t);
}

Test(rapi_console, the_oldest_ticket_makes_room)
{
	struct tickets *t = xalloc(sizeof(*t));
	char first[TICKET_HEX], last[TICKET_HEX];

	tickets_init(t);
	tickets_give(t, "web1", "vnc", "me", S, first);
	for (int i = 0; i < TICKETS_MAX; i++)
		tickets_give(t, "web1", "vnc", "me", 2 * S + i, last);
	cr_assert_not(takes(t, first, "web1", 3 * S));
	cr_assert(takes(t, last, "web1", 3 * S));
	tickets_done(t);
	free(t);
}
