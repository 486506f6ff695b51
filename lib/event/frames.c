/* SPDX-License-Identifier: BSD-2-Clause */
/* The client waits on the loop, and the server reads there and answers in
 * tasks, as another thread beside the loop would have to be woken and to wake:
 * this is the way of all that the log sends.  container_of() on a uv_stream_t
 * works because a uv_pipe_t begins with the members of the stream. */
#include "lib/event/frames.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define BACKLOG 128
#define HEAD_BYTES sizeof(uint64_t)
#define READ_BYTES 65536
#define SOCKET_MODE 0600
#define RETRY_MS 2

static uint64_t frame_length(const void *head)
{
	uint64_t len;

	memcpy(&len, head, sizeof(len));
	return le64toh(len);
}

static void add_head(struct buf *b, size_t len)
{
	uint64_t head = htole64(len);

	buf_add(b, &head, sizeof(head));
}

/* --- the client --- */

/* A socket that is waited for on the loop. */
struct watched {
	uv_poll_t poll;
	struct cond ready;
	bool is_ready;
};

static void on_watched(uv_poll_t *poll, int status, int events)
{
	struct watched *w = container_of(poll, struct watched, poll);

	(void)status; /* the next call on the socket has it, too */
	(void)events;
	w->is_ready = true;
	uv_poll_stop(poll);
	cond_signal(&w->ready);
}

static void on_watched_closed(uv_handle_t *handle)
{
	free(container_of((uv_poll_t *)handle, struct watched, poll));
}

static WAITS bool wait_on_loop(int fd, int events, int64_t deadline_us)
{
	struct watched *w = xalloc(sizeof(*w));
	bool is_ready;

	cond_init(&w->ready);
	if (uv_poll_init(tasks_loop(), &w->poll, fd) < 0) {
		free(w);
		return false;
	}
	uv_poll_start(&w->poll, events, on_watched);
	while (!w->is_ready && cond_wait_until(&w->ready, deadline_us))
		;
	is_ready = w->is_ready;
	uv_close((uv_handle_t *)&w->poll, on_watched_closed);
	return is_ready;
}

/* Until the socket can be read (UV_READABLE) or written; -1 with errno.  A
 * program without tasks has nothing else to do meanwhile. */
static WAITS int wait_for(int fd, int events, unsigned timeout_ms)
{
	struct pollfd one = {
		.fd = fd,
		.events = events == UV_READABLE ? POLLIN : POLLOUT,
	};
	bool is_ready =
		task_name() != NULL
			? wait_on_loop(fd, events,
				       clock_mono_us() +
					       (int64_t)timeout_ms * 1000)
			: poll(&one, 1, (int)timeout_ms) > 0;

	errno = ETIMEDOUT;
	return is_ready ? 0 : -1;
}

static WAITS int send_all(int fd, const struct buf *b, unsigned timeout_ms)
{
	size_t at = 0;

	while (at < b->len) {
		ssize_t n = send(fd, b->data + at, b->len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN &&
		    wait_for(fd, UV_WRITABLE, timeout_ms) == 0)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static WAITS int receive_all(int fd, char *data, size_t len,
			     unsigned timeout_ms)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = recv(fd, data + at, len - at, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN &&
		    wait_for(fd, UV_READABLE, timeout_ms) == 0)
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static WAITS char *receive(int fd, unsigned timeout_ms)
{
	char head[HEAD_BYTES];
	uint64_t len;
	auto_free char *text = NULL;

	if (receive_all(fd, head, sizeof(head), timeout_ms) < 0)
		return NULL;
	len = frame_length(head);
	if (len > FRAMES_MAX) {
		errno = EMSGSIZE;
		return NULL;
	}
	text = xalloc(len + 1);
	return receive_all(fd, text, len, timeout_ms) < 0 ? NULL : steal(&text);
}

/* A task that has been interrupted pauses as well: task_sleep() would not, and
 * hold up the loop. */
static WAITS void pause_a_little(void)
{
	int64_t until_us = clock_mono_us() + RETRY_MS * 1000;
	struct cond never;

	if (task_name() == NULL) {
		poll(NULL, 0, RETRY_MS);
		return;
	}
	cond_init(&never);
	while (cond_wait_until(&never, until_us))
		;
}

/* While too many wait at the socket already it says EAGAIN, and nothing tells
 * when they have been let in. */
static WAITS int connect_to(int fd, const char *socket, unsigned timeout_ms)
{
	int64_t deadline = clock_mono_us() + (int64_t)timeout_ms * 1000;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct sockaddr *at = (const struct sockaddr *)&address;

	if (strlen(socket) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, socket, strlen(socket));
	while (connect(fd, at, sizeof(address)) < 0) {
		if (errno != EAGAIN || clock_mono_us() > deadline)
			return -1;
		pause_a_little();
	}
	return 0;
}

/* NULL with errno; *ret_heard: somebody listens. */
static WAITS char *ask(const char *socket_path, const struct buf *request,
		       unsigned timeout_ms, bool *ret_heard)
{
	auto_close int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret_heard = true;
	if (fd < 0)
		return NULL;
	if (connect_to(fd, socket_path, timeout_ms) < 0) {
		*ret_heard = errno != ENOENT && errno != ECONNREFUSED;
		return NULL;
	}
	return send_all(fd, request, timeout_ms) < 0 ? NULL
						     : receive(fd, timeout_ms);
}

WAITS char *frames_ask(const char *socket, char kind, const void *data,
		       size_t len, unsigned timeout_ms, struct error *err)
{
	auto_buf struct buf request = {0};
	char *answer;
	bool heard;

	add_head(&request, len + 1);
	buf_addc(&request, kind);
	if (len > 0)
		buf_add(&request, data, len);
	answer = ask(socket, &request, timeout_ms, &heard);
	if (answer == NULL)
		error_set(err, ERR_SYSTEM, heard ? NULL : ECODE_REFUSED,
			  "No answer from %s: %s", socket, strerror(errno));
	return answer;
}

/* --- the server --- */

struct frames_server {
	uv_pipe_t pipe;
	frames_fn *fn;
	void *arg;
	unsigned users; /* connections, and the listening one */
	bool stopping;
};

struct conn {
	uv_pipe_t pipe;
	struct frames_server *server;
	struct buf in, out;
	uv_write_t write;
	bool answering, closed;
};

static void user_gone(struct frames_server *s)
{
	if (--s->users == 0)
		free(s);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct conn *c = container_of((uv_pipe_t *)handle, struct conn, pipe);

	c->closed = true;
	if (c->answering)
		return; /* its task frees it */
	buf_done(&c->in);
	buf_done(&c->out);
	user_gone(c->server);
	free(c);
}

static void conn_close(struct conn *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->pipe))
		uv_close((uv_handle_t *)&c->pipe, on_conn_closed);
}

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	conn_close(container_of(write, struct conn, write));
}

static void reply(struct conn *c, const char *answer)
{
	uv_buf_t bytes;

	add_head(&c->out, strlen(answer));
	buf_adds(&c->out, answer);
	bytes = uv_buf_init(c->out.data, (unsigned)c->out.len);
	if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &bytes, 1,
		     on_written) < 0)
		conn_close(c);
}

static WAITS void answer_task(void *arg)
{
	struct conn *c = arg;
	const char *data = c->in.data + HEAD_BYTES;
	auto_free char *answer = c->server->fn(
		c->server->arg, data[0], data + 1, c->in.len - HEAD_BYTES - 1);

	c->answering = false;
	if (c->closed) {
		on_conn_closed((uv_handle_t *)&c->pipe);
		return;
	}
	if (answer != NULL && !uv_is_closing((uv_handle_t *)&c->pipe))
		reply(c, answer);
	else
		conn_close(c);
}

/* Whether the request is there as a whole; -1: it never will be. */
static int is_complete(const struct conn *c)
{
	uint64_t len;

	if (c->in.len < HEAD_BYTES)
		return 0;
	len = frame_length(c->in.data);
	if (len == 0 || len > FRAMES_MAX || c->in.len - HEAD_BYTES > len)
		return -1;
	return c->in.len - HEAD_BYTES == len;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *data)
{
	struct conn *c = container_of((uv_pipe_t *)stream, struct conn, pipe);
	auto_free char *base = data->base;
	int complete;

	if (n == 0)
		return;
	if (n < 0) {
		conn_close(c);
		return;
	}
	buf_add(&c->in, base, (size_t)n);
	complete = c->answering ? -1 : is_complete(c);
	if (complete < 0)
		conn_close(c);
	if (complete <= 0)
		return;
	uv_read_stop(stream);
	c->answering = true;
	task_spawn("request", answer_task, c);
}

static void on_space(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	(void)handle;
	(void)suggested;
	*ret = uv_buf_init(xalloc(READ_BYTES), READ_BYTES);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct frames_server *s =
		container_of((uv_pipe_t *)listener, struct frames_server, pipe);
	struct conn *c;

	if (status < 0 || s->stopping)
		return;
	c = xalloc(sizeof(*c));
	c->server = s;
	s->users++;
	uv_pipe_init(tasks_loop(), &c->pipe, 0);
	if (uv_accept(listener, (uv_stream_t *)&c->pipe) < 0 ||
	    uv_read_start((uv_stream_t *)&c->pipe, on_space, on_read) < 0)
		conn_close(c);
}

static void on_listener_closed(uv_handle_t *handle)
{
	user_gone(
		container_of((uv_pipe_t *)handle, struct frames_server, pipe));
}

struct frames_server *frames_listen(const char *socket, frames_fn *fn,
				    void *arg, struct error *err)
{
	struct frames_server *s = xalloc(sizeof(*s));
	int rc;

	*s = (struct frames_server){.fn = fn, .arg = arg, .users = 1};
	uv_pipe_init(tasks_loop(), &s->pipe, 0);
	unlink(socket);
	rc = uv_pipe_bind(&s->pipe, socket);
	if (rc == 0 && chmod(socket, SOCKET_MODE) < 0)
		rc = uv_translate_sys_error(errno);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&s->pipe, BACKLOG, on_connection);
	if (rc == 0)
		return s;
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot listen at %s: %s",
		  socket, uv_strerror(rc));
	frames_stop(s);
	return NULL;
}

void frames_stop(struct frames_server *s)
{
	s->stopping = true;
	uv_close((uv_handle_t *)&s->pipe, on_listener_closed);
}
