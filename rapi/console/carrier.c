/* SPDX-License-Identifier: BSD-2-Clause */
/* Two threads, each with a connection of its own to the master: the caller's
 * reads the client's frames, the other one waits for the instance's output.
 * Both write to the client, one frame at a time.  Whoever ends hangs up, which
 * wakes up the other. */
#include "rapi/console/carrier.h"

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/client/luxi.h"
#include "lib/event/https_server.h"
#include "lib/json/json.h"
#include "rapi/console/websocket.h"

#define READ_SIZE 16384
#define STACK ((size_t)256 * 1024)

struct carrier {
	struct console *console;
	struct https_request *http;
	pthread_mutex_t sending;
	atomic_bool over;
	struct luxi *in, *out; /* for input, for output */
	struct buf received;
	struct websocket ws;
	int64_t heard_us;
};

static bool goes_on(const struct carrier *r)
{
	return !atomic_load(&r->over) && !atomic_load(&r->console->revoked);
}

/* --- the console at the master --- */

struct console *carrier_new(const json_t *answer, const char *luxi_socket,
			    struct error *err)
{
	const char *node = json_string_value(json_array_get(answer, 0));
	const char *id = json_string_value(json_array_get(answer, 1));
	struct console *c;

	if (node == NULL || id == NULL) {
		error_set(err, ERR_LUXI, NULL, "The master opens no console");
		return NULL;
	}
	c = xalloc(sizeof(*c));
	c->node = xstrdup(node);
	c->id = xstrdup(id);
	c->luxi_socket = luxi_socket;
	list_init(&c->link);
	return c;
}

void carrier_free(struct console *c)
{
	if (c == NULL)
		return;
	list_remove(&c->link);
	free(c->owner);
	free(c->node);
	free(c->id);
	free(c);
}

static json_t *encoded(const char *data, size_t len)
{
	const gnutls_datum_t plain = {.data = mem_unconst(data),
				      .size = (unsigned)len};
	gnutls_datum_t text = {0};
	json_t *value;

	if (gnutls_base64_encode2(&plain, &text) < 0)
		abort(); /* out of memory */
	value = json_stringn((const char *)text.data, text.size);
	gnutls_free(text.data);
	return value;
}

/* --- to the client --- */

static int send_frame(struct carrier *r, enum websocket_op op, const void *data,
		      size_t len)
{
	auto_buf struct buf frame = {0};
	int rc;

	websocket_write(&frame, op, data, len);
	pthread_mutex_lock(&r->sending);
	rc = atomic_load(&r->over) ? -1
				   : https_write(r->http, frame.data, frame.len,
						 CARRIER_SEND_MS);
	pthread_mutex_unlock(&r->sending);
	return rc;
}

/* The first one who ends says why. */
static void finish(struct carrier *r, enum websocket_code code)
{
	auto_buf struct buf frame = {0};

	websocket_write_close(&frame, code);
	pthread_mutex_lock(&r->sending);
	if (!atomic_exchange(&r->over, true)) {
		https_write(r->http, frame.data, frame.len, CARRIER_SEND_MS);
		https_hang_up(r->http);
	}
	pthread_mutex_unlock(&r->sending);
}

/* --- from the instance --- */

static int pass_output(struct carrier *r, const json_t *answer)
{
	const char *text = json_string_value(json_array_get(answer, 0));
	gnutls_datum_t encoded_ = {.data = mem_unconst(text)};
	gnutls_datum_t data = {0};
	int rc;

	if (text == NULL)
		return -1;
	encoded_.size = (unsigned)strlen(text);
	if (encoded_.size == 0)
		return 0;
	if (gnutls_base64_decode2(&encoded_, &data) < 0)
		return -1;
	rc = send_frame(r, WEBSOCKET_BINARY, data.data, data.size);
	gnutls_free(data.data);
	return rc;
}

static void *output_thread(void *arg)
{
	struct carrier *r = arg;
	enum websocket_code code = WEBSOCKET_FAILED;

	while (goes_on(r)) {
		struct error err;
		auto_json json_t *answer =
			luxi_call(r->out, "ConsoleRead",
				  json_make("[s, s, i]", r->console->node,
					    r->console->id, RELAY_WAIT_MS),
				  &err);

		if (answer == NULL || pass_output(r, answer) < 0)
			break;
		if (json_is_true(json_array_get(answer, 1))) {
			code = WEBSOCKET_NORMAL;
			break;
		}
	}
	finish(r, code);
	return NULL;
}

/* --- from the client --- */

static int pass_input(struct carrier *r, const struct websocket_frame *f)
{
	struct error err;
	auto_json json_t *answer = NULL;

	if (f->len == 0)
		return 0;
	if (!goes_on(r))
		return -1;
	answer = luxi_call(r->in, "ConsoleWrite",
			   json_make("[s, s, o]", r->console->node,
				     r->console->id, encoded(f->data, f->len)),
			   &err);
	return answer == NULL ? -1 : 0;
}

/* -1: it is over. */
static int take_frame(struct carrier *r, const struct websocket_frame *f)
{
	switch (f->op) {
	case WEBSOCKET_BINARY:
		if (pass_input(r, f) == 0)
			return 0;
		finish(r, WEBSOCKET_FAILED);
		return -1;
	case WEBSOCKET_PING:
		return send_frame(r, WEBSOCKET_PONG, f->data, f->len);
	case WEBSOCKET_CLOSE:
		finish(r, WEBSOCKET_NORMAL);
		return -1;
	default:
		return 0;
	}
}

static int take_frames(struct carrier *r)
{
	enum websocket_code code = WEBSOCKET_PROTOCOL;
	struct websocket_frame f;
	int rc;

	while ((rc = websocket_next(&r->ws, &r->received, &f, &code)) > 0) {
		if (take_frame(r, &f) < 0)
			return -1;
		buf_consume(&r->received, f.size);
	}
	if (rc < 0)
		finish(r, code);
	return rc;
}

/* Wait for bytes; -1: the client has gone. */
static int receive(struct carrier *r)
{
	char data[READ_SIZE];
	ssize_t n =
		https_read(r->http, data, sizeof(data), RELAY_PING_S * 1000);

	if (n < 0)
		return -1;
	if (n == 0) {
		if (clock_mono_us() - r->heard_us >
		    CARRIER_SILENT_S * INT64_C(1000000))
			return -1;
		return send_frame(r, WEBSOCKET_PING, "", 0);
	}
	r->heard_us = clock_mono_us();
	buf_add(&r->received, data, (size_t)n);
	return 0;
}

static void input_loop(struct carrier *r)
{
	while (goes_on(r) && take_frames(r) == 0)
		if (receive(r) < 0)
			break;
	finish(r, WEBSOCKET_GOING);
}

/* --- both --- */

static int start_output(struct carrier *r, pthread_t *ret)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(ret, &attr, output_thread, r);
	pthread_attr_destroy(&attr);
	return rc == 0 ? 0 : -1;
}

static void close_console(struct carrier *r)
{
	struct error err;

	json_decref(luxi_call(
		r->in, "ConsoleClose",
		json_make("[s, s]", r->console->node, r->console->id), &err));
}

static void run(struct carrier *r)
{
	pthread_t output;

	if (start_output(r, &output) < 0) {
		finish(r, WEBSOCKET_FAILED);
		return;
	}
	input_loop(r);
	/* So that the other one need not wait for the instance to speak. */
	close_console(r);
	pthread_join(output, NULL);
}

static int send_head(struct carrier *r, const char *lines)
{
	auto_strv struct strv all = {0};
	auto_buf struct buf head = {0};

	buf_adds(&head, "HTTP/1.1 101 Switching Protocols\r\n"
			"Connection: Upgrade\r\n");
	str_split(&all, lines, '\n');
	for (size_t i = 0; i < all.n; i++)
		if (*all.items[i] != '\0')
			buf_addf(&head, "%s\r\n", all.items[i]);
	buf_adds(&head, "\r\n");
	return https_write(r->http, head.data, head.len, CARRIER_SEND_MS);
}

void carrier_run(struct console *c, struct https_request *http,
		 const char *lines)
{
	struct carrier r = {
		.console = c, .http = http, .heard_us = clock_mono_us()};
	struct error err;

	https_take_over(http);
	pthread_mutex_init(&r.sending, NULL);
	r.in = luxi_connect(c->luxi_socket, &err);
	r.out = luxi_connect(c->luxi_socket, &err);
	if (send_head(&r, lines) == 0 && r.in != NULL && r.out != NULL)
		run(&r);
	else
		finish(&r, WEBSOCKET_FAILED);
	luxi_close(r.in);
	luxi_close(r.out);
	buf_done(&r.received);
	pthread_mutex_destroy(&r.sending);
}
