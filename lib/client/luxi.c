/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocking LUXI client: one JSON text each way, ended by one ETX byte.
 *
 * When a call fails because of the connection, the connection is closed, so
 * that a late answer is never taken for the answer to the next request; the
 * next call connects anew.  It is also closed after a refusal in plain text:
 * the master hangs up after one, and a request on this connection could get
 * lost.  A request of which a byte has left is never repeated: the master may
 * have carried it out. */
#include "lib/client/luxi.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"

#define LUXI_END '\3'
#define REPLY_MAX (128 * 1024 * 1024) /* what the master has for all */
#define CHUNK 65536

/* The master may wait 89 s for a job's change; Ganeti's clients wait 180 s. */
#define SILENCE_MAX_S 180
/* How often it is looked whether somebody waits. */
#define LOOK_MS 2000
#define CALL_MAX_US (2 * SILENCE_MAX_S * 1000000LL)

struct luxi {
	char *path;
	int fd;			 /* the socket; -1: closed after an error */
	bool (*gone)(void *arg); /* whether nobody waits; NULL: unknown */
	void *gone_arg;
};

static void disconnect(struct luxi *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static int connect_socket(struct luxi *l, struct error *err)
{
	const struct timeval limit = {.tv_sec = SILENCE_MAX_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = -1;

	if (strlen(l->path) >= sizeof(address.sun_path))
		return error_set(err, ERR_LUXI, NULL,
				 "The socket's path %s is longer than the "
				 "%zu bytes that the system allows",
				 l->path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, l->path, strlen(l->path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, ERR_LUXI, NULL,
				 "Cannot make a socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, ERR_LUXI, LUXI_CUT,
				 "Cannot connect to the master daemon at %s: "
				 "%s; is this the master node, and does "
				 "gantry-masterd run?",
				 l->path, strerror(errno));
	l->fd = fd;
	fd = -1;
	return 0;
}

struct luxi *luxi_connect(const char *socket_path, struct error *err)
{
	struct luxi *l = xalloc(sizeof(*l));

	l->path = xstrdup(socket_path);
	l->fd = -1;
	if (connect_socket(l, err) == 0)
		return l;
	luxi_close(l);
	return NULL;
}

void luxi_close(struct luxi *l)
{
	if (l == NULL)
		return;
	disconnect(l);
	free(l->path);
	free(l);
}

/* Between two calls the master sends nothing; what can be read is the end of
 * the connection. */
static bool is_usable(const struct luxi *l)
{
	char byte;

	return l->fd >= 0 &&
	       recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool luxi_is_at(const struct luxi *l, const char *socket_path)
{
	return strcmp(l->path, socket_path) == 0;
}

bool luxi_alive(const struct luxi *l)
{
	return is_usable(l);
}

void luxi_watch(struct luxi *l, bool (*gone)(void *arg), void *arg)
{
	l->gone = gone;
	l->gone_arg = arg;
}

static bool timed_out(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* What went wrong, by errno. */
static int io_failed(const char *what, struct error *err)
{
	return error_set(err, ERR_LUXI, timed_out() ? LUXI_TIMED_OUT : LUXI_CUT,
			 "%s: %s", what,
			 timed_out() ? "time limit exceeded" : strerror(errno));
}

/* *ret_sent says whether any byte has left. */
static int send_all(struct luxi *l, const char *data, size_t len,
		    bool *ret_sent, struct error *err)
{
	*ret_sent = false;
	while (len > 0) {
		ssize_t n = send(l->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return io_failed("Cannot send to the master daemon",
					 err);
		*ret_sent = true;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_request(struct luxi *l, const struct buf *request,
			struct error *err)
{
	bool sent;

	if (!is_usable(l)) {
		disconnect(l);
		if (connect_socket(l, err) < 0)
			return -1;
	}
	if (send_all(l, request->data, request->len, &sent, err) == 0)
		return 0;
	if (sent)
		return -1;
	disconnect(l); /* idle for too long, nothing has left: once more */
	if (connect_socket(l, err) < 0)
		return -1;
	return send_all(l, request->data, request->len, &sent, err);
}

/* Wait until there is something to read, as long as somebody wants it. */
static int await_reply(const struct luxi *l, struct error *err)
{
	const int64_t end = clock_mono_us() + SILENCE_MAX_S * 1000000LL;
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	while (l->gone != NULL && poll(&p, 1, LOOK_MS) == 0) {
		if (l->gone(l->gone_arg))
			return error_set(err, ERR_LUXI, NULL,
					 "Nobody waits for the answer of the "
					 "master daemon any more");
		if (clock_mono_us() > end) {
			errno = EAGAIN;
			return io_failed("No answer from the master daemon",
					 err);
		}
	}
	return 0;
}

/* Read an answer up to its end mark, which is dropped. */
static int receive_reply(struct luxi *l, struct buf *reply, struct error *err)
{
	const int64_t end = clock_mono_us() + CALL_MAX_US;
	auto_free char *chunk = xalloc(CHUNK);

	while (clock_mono_us() < end) {
		const char *mark;
		ssize_t n;

		if (await_reply(l, err) < 0)
			return -1;
		n = recv(l->fd, chunk, CHUNK, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return io_failed("No answer from the master daemon",
					 err);
		if (n == 0)
			return error_set(err, ERR_LUXI, LUXI_CUT,
					 "The master daemon closed the "
					 "connection without an answer");
		mark = memchr(chunk, LUXI_END, (size_t)n);
		if (mark != NULL && mark != chunk + n - 1)
			return error_set(err, ERR_LUXI, NULL,
					 "The master daemon sent more than one "
					 "answer");
		buf_add(reply, chunk, (size_t)n - (mark != NULL));
		if (mark != NULL)
			return 0;
		if (reply->len > REPLY_MAX)
			return error_set(err, ERR_LUXI, NULL,
					 "The master daemon's answer has more "
					 "than %d MiB",
					 REPLY_MAX / 1024 / 1024);
	}
	return error_set(err, ERR_LUXI, LUXI_TIMED_OUT,
			 "The master daemon's answer took too long");
}

static json_t *read_reply(const struct buf *reply, struct error *err)
{
	auto_json json_t *message = json_parse(reply->data, reply->len, err);
	json_t *result = json_object_get(message, "result");
	const json_t *success = json_object_get(message, "success");

	if (message == NULL) {
		error_wrap_as(err, ERR_LUXI,
			      "Cannot read the master daemon's answer");
		return NULL;
	}
	if (!json_is_boolean(success) || result == NULL) {
		error_set(err, ERR_LUXI, NULL,
			  "The master daemon's answer has no 'success' or no "
			  "'result'");
		return NULL;
	}
	if (json_is_true(success))
		return json_incref(result);
	luxi_error_unpack(result, err);
	return NULL;
}

/* Send the request and read the answer's text. */
static int exchange(struct luxi *l, const char *method, json_t *args STEALS,
		    struct buf *reply, struct error *err)
{
	auto_json json_t *request =
		json_make("{s:s, s:o, s:i}", "method", method, "args", args,
			  "version", PROTOCOL_VERSION);
	auto_free char *text = json_text(request);
	auto_buf struct buf out = {0};

	/* JSON escapes control characters, so the text cannot contain an end
	 * mark. */
	buf_adds(&out, text);
	buf_addc(&out, LUXI_END);
	if (send_request(l, &out, err) < 0)
		return -1;
	return receive_reply(l, reply, err);
}

json_t *luxi_call(struct luxi *l, const char *method, json_t *args STEALS,
		  struct error *err)
{
	auto_buf struct buf reply = {0};
	json_t *result = NULL;

	if (exchange(l, method, args, &reply, err) == 0)
		result = read_reply(&reply, err);
	if (result == NULL && err->kind == ERR_LUXI)
		disconnect(l);
	return result;
}

/* What our master writes around a result. */
#define TEXT_BEFORE "{\"success\":true,\"result\":"
#define TEXT_BEHIND "}"

int luxi_call_text(struct luxi *l, const char *method, json_t *args STEALS,
		   struct buf *ret, struct error *err)
{
	const size_t before = strlen(TEXT_BEFORE), behind = strlen(TEXT_BEHIND);
	auto_json json_t *result = NULL;
	auto_buf struct buf reply = {0};

	if (exchange(l, method, args, &reply, err) < 0) {
		disconnect(l);
		return -1;
	}
	if (reply.len > before + behind &&
	    memcmp(reply.data, TEXT_BEFORE, before) == 0) {
		/* It may be long: there is one copy of it. */
		reply.len -= behind;
		reply.data[reply.len] = '\0';
		buf_consume(&reply, before);
		*ret = reply;
		reply = (struct buf){0};
		return 0;
	}
	result = read_reply(&reply, err);
	if (result == NULL)
		return -1;
	json_write(ret, result);
	return 0;
}
