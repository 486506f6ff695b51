/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets and framing of LUXI.  A connection is in one of three states: it
 * reads, a call of it runs (still reading, to learn of the client's end, but
 * no further call is begun), or an answer goes out.
 *
 * container_of() on a uv_stream_t works because a uv_pipe_t begins with the
 * stream's members. */
#include "masterd/luxi_server.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/event/task.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"

#define BACKLOG 512
#define READ_SIZE 65536

/* Longer messages are parsed beside the loop. */
#define PARSE_INLINE_MAX (256u * 1024)

/* While a call runs, this much of the next ones is taken in. */
#define READ_AHEAD_MAX (1024u * 1024)

/* A client that has been told that its message is too long may send the rest
 * of it for so long: closed earlier, it might never see the answer. */
#define DISCARD_S 10

#define SECOND_US INT64_C(1000000)

/* A reading buffer that grew beyond this is given back after its message. */
#define KEEP_BUFFER_MAX 65536

struct listener {
	uv_pipe_t pipe;
	struct luxi_server *server;
};

struct luxi_server {
	void (*handle)(void *arg, struct luxi_request *r);
	void *arg;
	struct listener *listeners;
	size_t n_listeners;
	/* Listeners and connections not yet closed, calls not yet answered:
	 * one whose client is gone still has us. */
	size_t users;
	struct list conns;
	size_t n_conns;
	size_t input; /* bytes of messages that are not yet answered */
	int64_t message_us;
	bool stopping;
	void (*done)(void *arg);
	void *done_arg;
	char read_buffer[READ_SIZE];
};

struct luxi_conn {
	uv_pipe_t pipe;
	struct luxi_server *server;
	struct list link;
	struct buf in;
	size_t scanned; /* bytes of in that are known to hold no ETX */
	struct luxi_request *request;
	uv_write_t write;
	char *out; /* being written; NULL: nothing */
	struct timer write_limit;
	struct timer read_limit; /* for the rest of a message */
	bool paused;		 /* does not read: enough is there for later */
	bool discards; /* reads on for the end of a message that is too long */
	bool eof, close_after_write, closing;
};

static void try_next(struct luxi_conn *conn);
static void conn_read(struct luxi_conn *conn);

/* --- closing --- */

static void user_gone(struct luxi_server *s)
{
	if (--s->users > 0 || !s->stopping)
		return;
	if (s->done != NULL)
		s->done(s->done_arg);
	free(s->listeners);
	free(s);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct luxi_conn *conn =
		container_of((uv_pipe_t *)handle, struct luxi_conn, pipe);
	struct luxi_server *s = conn->server;

	free(conn->out);
	free(conn);
	user_gone(s);
}

static void conn_close(struct luxi_conn *conn)
{
	struct luxi_server *s = conn->server;
	struct luxi_request *r = conn->request;

	if (conn->closing)
		return;
	conn->closing = true;
	conn->request = NULL;
	timer_stop(&conn->write_limit);
	timer_stop(&conn->read_limit);
	s->input -= conn->in.len;
	buf_done(&conn->in);
	list_remove(&conn->link);
	s->n_conns--;
	if (r != NULL) {
		r->conn = NULL;
		if (r->hurry != NULL)
			r->hurry(r);
	}
	uv_close((uv_handle_t *)&conn->pipe, on_conn_closed);
}

/* --- answers --- */

static void on_written(uv_write_t *write, int status)
{
	struct luxi_conn *conn = container_of(write, struct luxi_conn, write);

	timer_stop(&conn->write_limit);
	free(steal(&conn->out));
	if (conn->closing)
		return;
	if (status < 0 || (conn->close_after_write && !conn->discards))
		conn_close(conn);
	else if (conn->discards)
		timer_start(&conn->write_limit,
			    clock_mono_us() + DISCARD_S * SECOND_US);
	else
		try_next(conn);
}

static void on_write_limit(struct timer *t)
{
	struct luxi_conn *conn = container_of(t, struct luxi_conn, write_limit);

	if (conn->out != NULL)
		log_info("a client did not read its answer for %d s, closed",
			 LUXI_WRITE_S);
	conn_close(conn);
}

static void conn_send(struct luxi_conn *conn, struct buf *text)
{
	uv_buf_t piece;
	int rc;

	buf_addc(text, LUXI_ETX);
	piece = uv_buf_init(text->data, (unsigned)text->len);
	conn->out = buf_steal(text);
	rc = uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &piece, 1,
		      on_written);
	if (rc < 0) {
		conn_close(conn);
		return;
	}
	conn->write_limit.fired = on_write_limit;
	timer_start(&conn->write_limit,
		    clock_mono_us() + LUXI_WRITE_S * SECOND_US);
}

static void send_result(struct luxi_conn *conn, bool success,
			const json_t *result)
{
	auto_free char *value = json_text(result);
	auto_buf struct buf text = {0};

	buf_adds(&text, success ? "{\"success\":true,\"result\":"
				: "{\"success\":false,\"result\":");
	buf_adds(&text, value);
	buf_addc(&text, '}');
	conn_send(conn, &text);
}

static void send_reject(struct luxi_conn *conn, const char *reason)
{
	auto_free char *text =
		xprintf("Failed to parse request: %.2000s", reason);
	auto_json json_t *value = json_string(text);

	if (value == NULL) /* the reason was cut inside of a character */
		value = json_string("Failed to parse request");
	conn->close_after_write = true;
	send_result(conn, false, value);
}

/* The request is over: its connection, if it is still there. */
static struct luxi_conn *request_end(struct luxi_request *r)
{
	struct luxi_server *s = r->server;
	struct luxi_conn *conn = r->conn;

	if (conn != NULL)
		conn->request = NULL;
	s->input -= r->len;
	json_decref(r->message);
	free(r->text);
	free(r);
	user_gone(s); /* a connection is a user of its own */
	return conn;
}

void luxi_answer(struct luxi_request *r, json_t *result STEALS,
		 const struct error *err)
{
	auto_json json_t *value =
		result != NULL ? result : luxi_error_pack(err);
	struct luxi_conn *conn = request_end(r);

	if (conn != NULL)
		send_result(conn, result != NULL, value);
}

void luxi_reject(struct luxi_request *r, const char *reason)
{
	struct luxi_conn *conn = request_end(r);

	if (conn != NULL)
		send_reject(conn, reason);
}

/* --- messages --- */

static void parse_and_handle(struct luxi_request *r, bool beside)
{
	struct error err;

	if (beside)
		task_leave(); /* the text is ours alone */
	r->message = json_parse_within(r->text, r->len, LUXI_PARSED_MAX, &err);
	if (beside)
		task_enter();
	free(steal(&r->text));
	if (r->message == NULL)
		luxi_reject(r, err.text);
	else
		r->server->handle(r->server->arg, r);
}

static void parse_task(void *arg)
{
	parse_and_handle(arg, true);
}

static void begin_request(struct luxi_conn *conn, size_t len)
{
	struct luxi_server *s = conn->server;
	struct luxi_request *r = xalloc(sizeof(*r));

	timer_stop(&conn->read_limit);
	s->users++;
	r->server = s;
	r->conn = conn;
	r->text = xalloc(len + 1);
	memcpy(r->text, conn->in.data, len); /* may have NULs inside */
	r->len = len;
	conn->request = r;
	conn->scanned = 0;
	s->input--; /* the ETX; the message counts until it is answered */
	buf_consume(&conn->in, len + 1);
	if (conn->in.len == 0 && conn->in.cap > KEEP_BUFFER_MAX)
		buf_done(&conn->in);
	if (len > PARSE_INLINE_MAX)
		task_spawn("luxi-parse", parse_task, r);
	else
		parse_and_handle(r, false);
}

static void on_read_limit(struct timer *t)
{
	log_info("a client did not end its message, closed");
	conn_close(container_of(t, struct luxi_conn, read_limit));
}

/* Nothing or a part of a message is there. */
static void await_rest(struct luxi_conn *conn)
{
	if (conn->paused)
		conn_read(conn);
	if (conn->closing || conn->in.len == 0 ||
	    timer_running(&conn->read_limit))
		return;
	conn->read_limit.fired = on_read_limit;
	timer_start(&conn->read_limit,
		    clock_mono_us() + conn->server->message_us);
}

/* Begin the next call if none runs and its message is complete. */
static void try_next(struct luxi_conn *conn)
{
	const char *etx;

	if (conn->request != NULL || conn->out != NULL || conn->closing)
		return;
	etx = conn->in.len == conn->scanned
		      ? NULL
		      : memchr(conn->in.data + conn->scanned, LUXI_ETX,
			       conn->in.len - conn->scanned);
	conn->scanned = conn->in.len;
	if (conn->server->stopping)
		conn_close(conn);
	else if (etx != NULL)
		begin_request(conn, (size_t)(etx - conn->in.data));
	else if (conn->eof)
		conn_close(conn);
	else
		await_rest(conn);
}

static void refuse_long(struct luxi_conn *conn, const char *reason)
{
	conn->server->input -= conn->in.len;
	buf_done(&conn->in);
	conn->scanned = 0;
	conn->discards = true;
	timer_stop(&conn->read_limit);
	send_reject(conn, reason);
}

/* More of a message that has been refused. */
static void discard(struct luxi_conn *conn, const char *data, size_t len)
{
	if (memchr(data, LUXI_ETX, len) == NULL)
		return;
	conn->discards = false;
	uv_read_stop((uv_stream_t *)&conn->pipe);
	if (conn->out == NULL)
		conn_close(conn);
}

/* What came is in conn->in: may there be more? */
static void limit_input(struct luxi_conn *conn)
{
	if (conn->request != NULL || conn->out != NULL) {
		conn->paused = conn->in.len > READ_AHEAD_MAX;
		if (conn->paused)
			uv_read_stop((uv_stream_t *)&conn->pipe);
	} else if (conn->in.len > LUXI_MESSAGE_MAX) {
		refuse_long(conn, "the message is longer than 64 MiB");
	} else if (conn->server->input > LUXI_INPUT_MAX) {
		refuse_long(conn, "too many long messages at once, try again "
				  "later");
	}
}

static void on_eof(struct luxi_conn *conn)
{
	uv_read_stop((uv_stream_t *)&conn->pipe);
	conn->eof = true;
	conn->discards = false;
	if (conn->request != NULL && conn->request->hurry != NULL)
		conn->request->hurry(conn->request);
	else
		try_next(conn);
}

/* What comes while an answer is due is taken in as well, within the limits:
 * only so the client's end is seen. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *data)
{
	struct luxi_conn *conn =
		container_of((uv_pipe_t *)stream, struct luxi_conn, pipe);

	if (n == UV_EOF) {
		on_eof(conn);
	} else if (n < 0) {
		conn_close(conn);
	} else if (conn->discards) {
		discard(conn, data->base, (size_t)n);
	} else if (n > 0) {
		buf_add(&conn->in, data->base, (size_t)n);
		conn->server->input += (size_t)n;
		try_next(conn);
		if (!conn->closing)
			limit_input(conn);
	}
}

/* One buffer for all: on_read() copies before anybody else reads. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct luxi_conn *conn =
		container_of((uv_pipe_t *)handle, struct luxi_conn, pipe);

	(void)suggested;
	*ret = uv_buf_init(conn->server->read_buffer, READ_SIZE);
}

static void conn_read(struct luxi_conn *conn)
{
	conn->paused = false;
	if (uv_read_start((uv_stream_t *)&conn->pipe, on_alloc, on_read) < 0)
		conn_close(conn);
}

/* --- connections --- */

static void on_connection(uv_stream_t *stream, int status)
{
	struct listener *l =
		container_of((uv_pipe_t *)stream, struct listener, pipe);
	struct luxi_server *s = l->server;
	struct luxi_conn *conn;

	if (status < 0 || s->stopping)
		return;
	conn = xalloc(sizeof(*conn));
	conn->server = s;
	uv_pipe_init(tasks_loop(), &conn->pipe, 0);
	list_append(&s->conns, &conn->link);
	s->n_conns++;
	s->users++;
	if (uv_accept(stream, (uv_stream_t *)&conn->pipe) < 0 ||
	    s->n_conns > LUXI_CONNECTIONS_MAX)
		conn_close(conn);
	else
		conn_read(conn);
}

static int listen_on(struct luxi_server *s, struct listener *l,
		     const char *path, struct error *err)
{
	mode_t mask;
	int rc;

	l->server = s;
	uv_pipe_init(tasks_loop(), &l->pipe, 0);
	s->users++;
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "The socket path %s is longer than 107 bytes; "
				 "use a shorter root folder",
				 path);
	if (fs_remove(path, err) < 0)
		return -1;
	mask = umask(0777 & ~LUXI_SOCKET_MODE);
	rc = uv_pipe_bind(&l->pipe, path);
	umask(mask);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&l->pipe, BACKLOG, on_connection);
	return rc == 0 ? 0
		       : error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				   "Cannot listen on %s: %s", path,
				   uv_strerror(rc));
}

struct luxi_server *luxi_server_create(const struct luxi_server_config *config,
				       struct error *err)
{
	struct luxi_server *s = xalloc(sizeof(*s));
	size_t n = 0;

	while (config->sockets[n] != NULL)
		n++;
	s->handle = config->handle;
	s->arg = config->arg;
	s->message_us = config->message_ms == 0
				? LUXI_READ_S * SECOND_US
				: config->message_ms * INT64_C(1000);
	list_init(&s->conns);
	s->listeners = xcalloc(n, sizeof(*s->listeners));
	for (; s->n_listeners < n; s->n_listeners++) {
		struct listener *l = &s->listeners[s->n_listeners];
		const char *path = config->sockets[s->n_listeners];

		if (listen_on(s, l, path, err) < 0) {
			s->n_listeners++;
			luxi_server_stop(s, NULL, NULL);
			return NULL;
		}
	}
	return s;
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *l =
		container_of((uv_pipe_t *)handle, struct listener, pipe);

	user_gone(l->server);
}

void luxi_server_stop(struct luxi_server *s, void (*done)(void *arg), void *arg)
{
	struct luxi_conn *conn, *next;

	s->stopping = true;
	s->done = done;
	s->done_arg = arg;
	s->users++; /* not before the end of this function */
	for (size_t i = 0; i < s->n_listeners; i++)
		uv_close((uv_handle_t *)&s->listeners[i].pipe,
			 on_listener_closed);
	list_each_safe (conn, next, &s->conns, link) {
		if (conn->request == NULL && conn->out == NULL)
			conn_close(conn);
		else if (conn->request != NULL && conn->request->hurry != NULL)
			conn->request->hurry(conn->request);
	}
	user_gone(s);
}

size_t luxi_server_connections(const struct luxi_server *s)
{
	return s->n_conns;
}
