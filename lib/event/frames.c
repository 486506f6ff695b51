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
/* Most answers have come whole with the first of them. */
#define FIRST_BYTES 4096
#define RETRY_MS 2
#define UNUSED_MAX 4

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

/* --- a connection of the client --- */

/* In a task the loop watches it, all the time: to begin and to end that costs
 * three calls of the kernel. */
struct link {
	uv_poll_t poll;
	struct list in_line; /* while it is kept and unused */
	struct frames_line *line;
	struct cond ready;
	int fd;
	bool is_ready, watched;
};

static void on_link_closed(uv_handle_t *handle)
{
	struct link *l = container_of((uv_poll_t *)handle, struct link, poll);

	close(l->fd);
	free(l);
}

static void link_close(struct link *l)
{
	list_remove(&l->in_line);
	if (l->watched) {
		uv_close((uv_handle_t *)&l->poll, on_link_closed);
		return;
	}
	close(l->fd);
	free(l);
}

static void line_forgets(struct link *l);

static void on_watched(uv_poll_t *poll, int status, int events)
{
	struct link *l = container_of(poll, struct link, poll);

	(void)status; /* the next call on the socket has it, too */
	(void)events;
	if (!list_empty(&l->in_line)) {
		line_forgets(l); /* nobody has asked: the daemon hangs up */
		return;
	}
	l->is_ready = true;
	cond_signal(&l->ready);
}

/* Until what is watched for, which may have been for a while. */
static WAITS bool wait_on_loop(struct link *l, int64_t deadline_us)
{
	l->is_ready = false;
	while (!l->is_ready && cond_wait_until(&l->ready, deadline_us))
		;
	return l->is_ready;
}

static WAITS bool wait_to_write(struct link *l, int64_t deadline_us)
{
	bool ok;

	uv_poll_start(&l->poll, UV_WRITABLE, on_watched);
	ok = wait_on_loop(l, deadline_us);
	uv_poll_start(&l->poll, UV_READABLE, on_watched);
	return ok;
}

/* Until the socket can be read (POLLIN) or written; -1 with errno.  A program
 * without tasks has nothing else to do meanwhile. */
static WAITS int wait_for(struct link *l, short events, unsigned timeout_ms)
{
	int64_t deadline_us = clock_mono_us() + (int64_t)timeout_ms * 1000;
	struct pollfd one = {.fd = l->fd, .events = events};
	bool is_ready;

	if (!l->watched)
		is_ready = poll(&one, 1, (int)timeout_ms) > 0;
	else if (events == POLLIN)
		is_ready = wait_on_loop(l, deadline_us);
	else
		is_ready = wait_to_write(l, deadline_us);
	errno = ETIMEDOUT;
	return is_ready ? 0 : -1;
}

static WAITS int send_all(struct link *l, const struct buf *b,
			  unsigned timeout_ms)
{
	size_t at = 0;

	while (at < b->len) {
		ssize_t n =
			send(l->fd, b->data + at, b->len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN &&
		    wait_for(l, POLLOUT, timeout_ms) == 0)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

/* What there is, at most so much; it is waited for first, as no answer is there
 * at once. */
static WAITS ssize_t receive_some(struct link *l, char *data, size_t len,
				  unsigned timeout_ms)
{
	ssize_t n;

	do {
		if (wait_for(l, POLLIN, timeout_ms) < 0)
			return -1;
		n = recv(l->fd, data, len, 0);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n == 0)
		errno = ECONNRESET;
	return n <= 0 ? -1 : n;
}

/* The rest of a frame of which there is a part. */
static WAITS int receive_rest(struct link *l, struct buf *b, size_t whole,
			      unsigned timeout_ms)
{
	auto_free char *part = xalloc(READ_BYTES);

	while (b->len < whole) {
		size_t left = whole - b->len;
		ssize_t n = receive_some(l, part,
					 left < READ_BYTES ? left : READ_BYTES,
					 timeout_ms);

		if (n < 0)
			return -1;
		buf_add(b, part, (size_t)n);
	}
	return 0;
}

static WAITS char *receive(struct link *l, unsigned timeout_ms)
{
	auto_buf struct buf b = {0};
	char first[FIRST_BYTES];
	ssize_t n = receive_some(l, first, sizeof(first), timeout_ms);
	uint64_t len;

	if (n < 0)
		return NULL;
	buf_add(&b, first, (size_t)n);
	if (receive_rest(l, &b, HEAD_BYTES, timeout_ms) < 0)
		return NULL;
	len = frame_length(b.data);
	if (len > FRAMES_MAX || b.len - HEAD_BYTES > len) {
		errno = EMSGSIZE;
		return NULL;
	}
	return receive_rest(l, &b, HEAD_BYTES + len, timeout_ms) < 0
		       ? NULL
		       : xstrndup(b.data + HEAD_BYTES, len);
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

static struct link *link_of(int fd)
{
	struct link *l = xalloc(sizeof(*l));

	*l = (struct link){.fd = fd};
	list_init(&l->in_line);
	cond_init(&l->ready);
	if (task_name() == NULL)
		return l;
	if (uv_poll_init(tasks_loop(), &l->poll, fd) < 0) {
		link_close(l);
		return NULL;
	}
	l->watched = true;
	uv_poll_start(&l->poll, UV_READABLE, on_watched);
	return l;
}

/* NULL with errno; *ret_heard: somebody listens. */
static WAITS struct link *link_open(const char *path, unsigned timeout_ms,
				    bool *ret_heard)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	*ret_heard = true;
	if (fd < 0)
		return NULL;
	if (connect_to(fd, path, timeout_ms) == 0)
		return link_of(fd);
	error = errno;
	*ret_heard = error != ENOENT && error != ECONNREFUSED;
	close(fd);
	errno = error;
	return NULL;
}

static WAITS char *link_ask(struct link *l, const struct buf *request,
			    unsigned timeout_ms)
{
	return send_all(l, request, timeout_ms) < 0 ? NULL
						    : receive(l, timeout_ms);
}

/* --- the client --- */

static void make_request(struct buf *ret, char kind, const void *data,
			 size_t len)
{
	add_head(ret, len + 1);
	buf_addc(ret, kind);
	if (len > 0)
		buf_add(ret, data, len);
}

static char *no_answer(const char *socket, bool heard, struct error *err)
{
	error_set(err, ERR_SYSTEM, heard ? NULL : ECODE_REFUSED,
		  "No answer from %s: %s", socket, strerror(errno));
	return NULL;
}

WAITS char *frames_ask(const char *socket, char kind, const void *data,
		       size_t len, unsigned timeout_ms, struct error *err)
{
	auto_buf struct buf request = {0};
	char *answer = NULL;
	struct link *l;
	bool heard;

	make_request(&request, kind, data, len);
	l = link_open(socket, timeout_ms, &heard);
	if (l != NULL)
		answer = link_ask(l, &request, timeout_ms);
	if (answer == NULL)
		no_answer(socket, heard, err);
	if (l != NULL)
		link_close(l);
	return answer;
}

/* --- connections that are kept --- */

struct frames_line {
	char *socket;
	struct list unused;
	size_t n_unused;
	unsigned n_used;
	bool freed; /* by its owner, while some are used */
};

struct frames_line *frames_line_create(const char *socket)
{
	struct frames_line *line = xalloc(sizeof(*line));

	*line = (struct frames_line){.socket = xstrdup(socket)};
	list_init(&line->unused);
	return line;
}

static void line_forgets(struct link *l)
{
	l->line->n_unused--;
	link_close(l);
}

static void line_end(struct frames_line *line)
{
	free(line->socket);
	free(line);
}

void frames_line_free(struct frames_line *line)
{
	while (!list_empty(&line->unused))
		line_forgets(list_first(&line->unused, struct link, in_line));
	line->freed = true;
	if (line->n_used == 0)
		line_end(line);
}

/* The one that was used last: others are closed when the daemon ends. */
static struct link *line_take(struct frames_line *line)
{
	struct link *l;

	if (list_empty(&line->unused))
		return NULL;
	l = list_first(&line->unused, struct link, in_line);
	list_remove(&l->in_line);
	line->n_unused--;
	return l;
}

static void line_keep(struct frames_line *line, struct link *l)
{
	if (line->freed || line->n_unused >= UNUSED_MAX) {
		link_close(l);
		return;
	}
	l->line = line;
	list_insert_before(line->unused.next, &l->in_line);
	line->n_unused++;
}

/* Over this connection, which is kept if the answer came; NULL with errno. */
static WAITS char *line_ask(struct frames_line *line, struct link *l,
			    const struct buf *request, unsigned timeout_ms)
{
	char *answer = link_ask(l, request, timeout_ms);
	int error = errno;

	if (answer != NULL)
		line_keep(line, l);
	else
		link_close(l);
	errno = error;
	return answer;
}

static WAITS char *ask_old_or_new(struct frames_line *line,
				  const struct buf *request,
				  unsigned timeout_ms, bool *ret_heard)
{
	struct link *l = line_take(line);

	*ret_heard = true;
	if (l != NULL) {
		char *answer = line_ask(line, l, request, timeout_ms);

		if (answer != NULL || errno == ETIMEDOUT)
			return answer;
	}
	l = link_open(line->socket, timeout_ms, ret_heard);
	return l == NULL ? NULL : line_ask(line, l, request, timeout_ms);
}

WAITS char *frames_line_ask(struct frames_line *line, char kind,
			    const void *data, size_t len, unsigned timeout_ms,
			    struct error *err)
{
	auto_buf struct buf request = {0};
	char *answer;
	bool heard;

	make_request(&request, kind, data, len);
	line->n_used++;
	answer = ask_old_or_new(line, &request, timeout_ms, &heard);
	line->n_used--;
	if (answer == NULL)
		no_answer(line->socket, heard, err);
	if (line->freed && line->n_used == 0)
		line_end(line);
	return answer;
}

/* --- the server --- */

struct frames_server {
	uv_pipe_t pipe;
	struct frames_functions fns;
	struct list conns;
	char *space;	/* for what is read, of all of them in turn */
	unsigned users; /* connections, and the listening one */
	bool stopping;
};

struct frames_request {
	uv_pipe_t pipe;
	struct list link;
	struct frames_server *server;
	struct buf in, out;
	uv_write_t write;
	bool answering; /* a task does, or whoever has taken it */
	bool busy;	/* with a request, until its answer is out */
	bool closed;
};

static void user_gone(struct frames_server *s)
{
	if (--s->users > 0)
		return;
	free(s->space);
	free(s);
}

static void on_conn_closed(uv_handle_t *handle)
{
	struct frames_request *c =
		container_of((uv_pipe_t *)handle, struct frames_request, pipe);

	c->closed = true;
	if (c->answering)
		return; /* it is freed with the answer */
	list_remove(&c->link);
	buf_done(&c->in);
	buf_done(&c->out);
	user_gone(c->server);
	free(c);
}

static void conn_close(struct frames_request *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->pipe))
		uv_close((uv_handle_t *)&c->pipe, on_conn_closed);
}

/* The answer is out: the client may have another request. */
static void be_ready(struct frames_request *c)
{
	buf_done(&c->in);
	buf_done(&c->out);
	c->busy = false;
	if (c->server->stopping)
		conn_close(c);
}

static void on_written(uv_write_t *write, int status)
{
	struct frames_request *c =
		container_of(write, struct frames_request, write);

	if (status < 0)
		conn_close(c);
	else
		be_ready(c);
}

/* Mostly at once, so that the client's next request finds the connection
 * ready. */
static void write_answer(struct frames_request *c, const char *answer)
{
	uv_stream_t *stream = (uv_stream_t *)&c->pipe;
	uv_buf_t bytes;
	int n;

	add_head(&c->out, strlen(answer));
	buf_adds(&c->out, answer);
	bytes = uv_buf_init(c->out.data, (unsigned)c->out.len);
	n = uv_try_write(stream, &bytes, 1);
	if (n == (int)c->out.len) {
		be_ready(c);
		return;
	}
	if (n > 0)
		bytes = uv_buf_init(c->out.data + n,
				    (unsigned)(c->out.len - (size_t)n));
	if ((n < 0 && n != UV_EAGAIN) ||
	    uv_write(&c->write, stream, &bytes, 1, on_written) < 0)
		conn_close(c);
}

void frames_reply(struct frames_request *c, const char *answer)
{
	c->answering = false;
	if (c->closed)
		on_conn_closed((uv_handle_t *)&c->pipe);
	else if (answer != NULL && !uv_is_closing((uv_handle_t *)&c->pipe))
		write_answer(c, answer);
	else
		conn_close(c);
}

static WAITS void answer_task(void *arg)
{
	struct frames_request *c = arg;
	const struct frames_functions *fns = &c->server->fns;
	const char *data = c->in.data + HEAD_BYTES;
	auto_free char *answer = fns->answer(fns->arg, data[0], data + 1,
					     c->in.len - HEAD_BYTES - 1);

	frames_reply(c, answer);
}

static void begin_to_answer(struct frames_request *c)
{
	const struct frames_functions *fns = &c->server->fns;
	const char *data = c->in.data + HEAD_BYTES;

	c->answering = c->busy = true;
	if (fns->take == NULL || !fns->take(fns->arg, c, data[0], data + 1,
					    c->in.len - HEAD_BYTES - 1))
		task_spawn("request", answer_task, c);
}

/* Whether the request is there as a whole; -1: it never will be. */
static int is_complete(const struct frames_request *c)
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
	struct frames_request *c =
		container_of((uv_pipe_t *)stream, struct frames_request, pipe);
	int complete;

	if (n == 0)
		return;
	if (n < 0 || c->busy) { /* the request is being read */
		conn_close(c);
		return;
	}
	buf_add(&c->in, data->base, (size_t)n);
	complete = is_complete(c);
	if (complete < 0)
		conn_close(c);
	if (complete <= 0)
		return;
	begin_to_answer(c);
}

static void on_space(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct frames_request *c =
		container_of((uv_pipe_t *)handle, struct frames_request, pipe);

	(void)suggested;
	*ret = uv_buf_init(c->server->space, READ_BYTES);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct frames_server *s =
		container_of((uv_pipe_t *)listener, struct frames_server, pipe);
	struct frames_request *c;

	if (status < 0 || s->stopping)
		return;
	c = xalloc(sizeof(*c));
	c->server = s;
	list_append(&s->conns, &c->link);
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

struct frames_server *frames_listen(const char *socket,
				    const struct frames_functions *fns,
				    struct error *err)
{
	struct frames_server *s = xalloc(sizeof(*s));
	int rc;

	*s = (struct frames_server){
		.fns = *fns,
		.space = xalloc(READ_BYTES),
		.users = 1,
	};
	list_init(&s->conns);
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
	struct frames_request *c;

	s->stopping = true;
	list_each (c, &s->conns, link)
		if (!c->busy)
			conn_close(c);
	uv_close((uv_handle_t *)&s->pipe, on_listener_closed);
}
