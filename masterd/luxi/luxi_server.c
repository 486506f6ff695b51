/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets and framing of LUXI.  A connection is in one of three states: it
 * reads a message; its call runs (it still reads, to notice when the client
 * goes, but begins no further call); or an answer is being sent.
 *
 * container_of() on a uv_stream_t works because a uv_pipe_t begins with the
 * members of the stream. */
#include "masterd/luxi/luxi_server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/files/owners.h"
#include "masterd/luxi/luxi_conn.h"

#define BACKLOG 512

/* While a call runs, at most so much of the next ones is read. */
#define READ_AHEAD_MAX (1024u * 1024)

/* A buffer that grew beyond this is freed after its message. */
#define KEEP_BUFFER_MAX 65536

static void conn_read(struct luxi_conn *conn);

void luxi_conn_log(struct luxi_conn *conn, const char *what)
{
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof(peer);
	auto_free char *client = NULL;
	unsigned left_out;
	uv_os_fd_t fd;

	if (uv_fileno((uv_handle_t *)&conn->pipe, &fd) == 0)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	client = xprintf("process %d of user %u", (int)peer.pid,
			 (unsigned)peer.uid);
	if (log_rate_due(&conn->server->rate, client, &left_out))
		log_info("a client (%s) %s, closed (and %u times before that)",
			 client, what, left_out);
}

/* --- closing --- */

void luxi_user_gone(struct luxi_server *s)
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
	luxi_user_gone(s);
}

void luxi_conn_close(struct luxi_conn *conn)
{
	struct luxi_server *s = conn->server;
	struct luxi_request *r = conn->request;

	if (conn->closing)
		return;
	conn->closing = true;
	conn->request = NULL;
	luxi_output_drop(conn);
	timer_stop(&conn->read_limit);
	s->input -= conn->in.len;
	buf_done(&conn->in);
	list_remove(&conn->link);
	s->n_conns--;
	if (r != NULL) {
		r->conn = NULL;
		cond_signal(&r->written);
		if (r->hurry != NULL)
			r->hurry(r);
	}
	uv_close((uv_handle_t *)&conn->pipe, on_conn_closed);
}

/* --- messages --- */

static void parse(struct luxi_request *r, struct error *err)
{
	r->message = json_parse_within(r->text, r->len, LUXI_PARSED_MAX, err);
	free(steal(&r->text));
}

static void handle_parsed(struct luxi_request *r, const struct error *err)
{
	if (r->message == NULL)
		luxi_reject(r, err->text);
	else
		r->server->handle(r->server->arg, r);
}

static WAITS void parse_task(void *arg)
{
	struct luxi_request *r = arg;
	struct error err;

	task_leave(); /* only this task uses the text */
	parse(r, &err);
	task_enter();
	handle_parsed(r, &err);
}

/* Take the first len bytes of what was read, and drop the ETX behind them; they
 * may contain NULs.  A long message is not copied. */
static char *take_message(struct luxi_conn *conn, size_t len)
{
	struct buf rest = {0};
	char *text;

	conn->server->input--; /* the ETX */
	if (len <= KEEP_BUFFER_MAX) {
		text = xmemdup(conn->in.data, len + 1);
		buf_consume(&conn->in, len + 1);
		return text;
	}
	if (conn->in.len > len + 1)
		buf_add(&rest, conn->in.data + len + 1, conn->in.len - len - 1);
	text = conn->in.data;
	conn->in = rest;
	return text;
}

static void begin_request(struct luxi_conn *conn, size_t len)
{
	struct luxi_server *s = conn->server;
	struct luxi_request *r = xalloc(sizeof(*r));
	struct error err;

	timer_stop(&conn->read_limit);
	s->users++;
	r->server = s;
	r->conn = conn;
	cond_init(&r->written);
	r->text = take_message(conn, len);
	r->len = len;
	conn->request = r;
	conn->scanned = 0;
	if (conn->in.len == 0 && conn->in.cap > KEEP_BUFFER_MAX)
		buf_done(&conn->in);
	if (len > JSON_INLINE_MAX) {
		task_spawn("luxi-parse", parse_task, r);
		return;
	}
	parse(r, &err);
	handle_parsed(r, &err);
}

static void on_read_limit(struct timer *t)
{
	struct luxi_conn *conn = container_of(t, struct luxi_conn, read_limit);

	luxi_conn_log(conn, "did not end its message");
	luxi_conn_close(conn);
}

/* No complete message is there: limit the time until there is. */
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

/* Begin the next call if none is running and its message is complete. */
void luxi_conn_next(struct luxi_conn *conn)
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
		luxi_conn_close(conn);
	else if (etx != NULL)
		begin_request(conn, (size_t)(etx - conn->in.data));
	else if (conn->eof)
		luxi_conn_close(conn);
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
	luxi_conn_reject(conn, reason);
}

/* Read on in a message that was refused, up to its end. */
static void discard(struct luxi_conn *conn, const char *data, size_t len)
{
	if (memchr(data, LUXI_ETX, len) == NULL)
		return;
	conn->discards = false;
	uv_read_stop((uv_stream_t *)&conn->pipe);
	if (conn->out == NULL)
		luxi_conn_close(conn);
}

/* After reading into conn->in: decide whether to read more. */
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
		luxi_conn_next(conn);
}

/* While an answer is due, reading goes on within limits: it is the only way to
 * notice that the client has gone. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *data)
{
	struct luxi_conn *conn =
		container_of((uv_pipe_t *)stream, struct luxi_conn, pipe);

	if (n == UV_EOF) {
		on_eof(conn);
	} else if (n < 0) {
		luxi_conn_close(conn);
	} else if (conn->discards) {
		discard(conn, data->base, (size_t)n);
	} else if (n > 0) {
		buf_add(&conn->in, data->base, (size_t)n);
		conn->server->input += (size_t)n;
		luxi_conn_next(conn);
		if (!conn->closing)
			limit_input(conn);
	}
}

/* All connections share one buffer, as on_read() copies its content before
 * anything else is read. */
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
		luxi_conn_close(conn);
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
	list_init(&conn->writing);
	uv_pipe_init(tasks_loop(), &conn->pipe, 0);
	list_append(&s->conns, &conn->link);
	s->n_conns++;
	s->users++;
	if (uv_accept(stream, (uv_stream_t *)&conn->pipe) < 0 ||
	    s->n_conns > LUXI_CONNECTIONS_MAX)
		luxi_conn_close(conn);
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
		owners_share(path);
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
	list_init(&s->writers);
	s->output_max =
		config->output_max == 0 ? LUXI_OUTPUT_MAX : config->output_max;
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

	luxi_user_gone(l->server);
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
			luxi_conn_close(conn);
		else if (conn->request != NULL && conn->request->hurry != NULL)
			conn->request->hurry(conn->request);
		else if (conn->out != NULL)
			luxi_output_hurry(conn);
	}
	luxi_user_gone(s);
}

size_t luxi_server_connections(const struct luxi_server *s)
{
	return s->n_conns;
}
