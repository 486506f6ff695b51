/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of an HTTPS server: who sends one, whether its body is read,
 * the task that handles it, the answer.
 *
 * A request is read into a call, then its connection is suspended while a task
 * runs the handler.  MHD is only called from the loop, never from a task. */
#include <assert.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/event/https_internal.h"
#include "lib/event/tls.h"

#define TEXT_PLAIN "text/plain"

/* Who is on the other end of a connection; found out at its first request. */
struct peer {
	struct MHD_Connection *connection;
	struct https_instance *instance;
	struct timer limit; /* for what it has to send next */
	bool checked, verified;
	char ip[64];
	char digest[TLS_DIGEST_MAX];
};

enum stage { READING, SUSPENDED, HANDLED };

struct https_call {
	struct https_request request;
	struct list link; /* in server.waiting or instance.handled */
	struct https_instance *instance;
	struct MHD_Connection *connection;
	enum stage stage;
	struct buf body;
	size_t dropped; /* bytes over the limit */
	char *method, *path;
	int file; /* of the reply, with has_file */
	bool has_file;
	uint64_t file_size;
};

/* Replies. */

static enum MHD_Result send_response(struct MHD_Connection *connection,
				     int status, const char *type,
				     const char *allow,
				     struct MHD_Response *response)
{
	enum MHD_Result rc;

	if (response == NULL)
		abort(); /* out of memory */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	rc = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection,
				   int status, const char *allow,
				   const char *text)
{
	char *body = xprintf("%s\n", text);

	return send_response(
		connection, status, TEXT_PLAIN, allow,
		MHD_create_response_from_buffer(strlen(body), body,
						MHD_RESPMEM_MUST_FREE));
}

static const char *let_in(const struct https_server *s)
{
	return s->config.reads ? "GET, POST, PUT" : "POST, PUT";
}

static enum MHD_Result answer_call(struct https_call *call)
{
	struct https_request *r = &call->request;
	const char *allow =
		r->allow != NULL ? r->allow : let_in(call->instance->server);

	if (r->status == 0)
		return answer_text(call->connection,
				   MHD_HTTP_INTERNAL_SERVER_ERROR, allow,
				   "No answer");
	if (call->has_file) {
		call->has_file = false;
		return send_response(call->connection, r->status, r->reply_type,
				     allow,
				     MHD_create_response_from_fd64(
					     call->file_size, call->file));
	}
	return send_response(
		call->connection, r->status, r->reply_type, allow,
		MHD_create_response_from_buffer(r->reply_len, steal(&r->reply),
						MHD_RESPMEM_MUST_FREE));
}

/* The peer. */

static bool verify(gnutls_session_t session, char digest[TLS_DIGEST_MAX])
{
	const gnutls_datum_t *chain;
	unsigned status = 0, n = 0;

	/* Without a certificate this fails, too. */
	if (gnutls_certificate_verify_peers2(session, &status) < 0 ||
	    status != 0)
		return false;
	chain = gnutls_certificate_get_peers(session, &n);
	if (chain == NULL || n == 0)
		return false;
	tls_digest_der(chain[0].data, chain[0].size, digest);
	return true;
}

static void look_at_peer(struct https_server *s, struct peer *peer,
			 struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;

	if (peer->checked)
		return;
	peer->checked = true;
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (info != NULL)
		uv_ip_name(info->client_addr, peer->ip, sizeof(peer->ip));
	if (s->config.ca_file == NULL)
		return;
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_GNUTLS_SESSION);
	peer->verified =
		info != NULL && verify(info->tls_session, peer->digest);
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

/* MHD sees the end of the connection and closes it. */
static void on_limit(struct timer *t)
{
	struct peer *peer = container_of(t, struct peer, limit);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		peer->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info != NULL)
		shutdown(info->connect_fd, SHUT_RDWR);
	https_instance_wake(peer->instance);
}

static void limit(struct peer *peer, unsigned ms)
{
	peer->limit.fired = on_limit;
	timer_start(&peer->limit, clock_mono_us() + ms * INT64_C(1000));
}

static struct peer *peer_create(struct https_instance *i,
				struct MHD_Connection *connection)
{
	struct peer *peer = xalloc(sizeof(*peer));

	peer->connection = connection;
	peer->instance = i;
	limit(peer, i->server->config.first_ms);
	return peer;
}

static void peer_free(struct peer *peer)
{
	if (peer != NULL)
		timer_stop(&peer->limit);
	free(peer);
}

void https_on_connection(void *arg, struct MHD_Connection *connection,
			 void **context,
			 enum MHD_ConnectionNotificationCode code)
{
	struct https_instance *i = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		i->server->accepted++;
		*context = peer_create(i, connection);
	} else {
		peer_free(*context);
		*context = NULL;
	}
}

/* Reading a request. */

/* The headers that say how long the body is. */
struct framing {
	unsigned lengths, encodings;
	bool unclear;
	uint64_t length;
};

/* "Content-Length : 3" means no length to us and 3 to somebody else. */
static bool is_name(const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || *p == ':')
			return false;
	return *s != '\0';
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	struct framing *f = arg;
	int64_t length;

	(void)kind;
	if (!is_name(name))
		f->unclear = true;
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		f->lengths++;
		f->length = value != NULL && str_to_int64(value, &length) &&
					    length >= 0
				    ? (uint64_t)length
				    : UINT64_MAX;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		f->encodings++;
		if (value == NULL || strcasecmp(value, "chunked") != 0)
			f->unclear = true;
	}
	return MHD_YES;
}

static bool takes(const struct https_server *s, const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
	       (s->config.reads && strcmp(method, "GET") == 0);
}

/* Why not to read this request's body: a status, or 0. */
static int refusal(struct https_server *s, struct MHD_Connection *connection,
		   const struct peer *peer, const char *method,
		   const char **ret_why)
{
	struct framing f = {0};

#define REFUSE(status, why)                                                    \
	do {                                                                   \
		*ret_why = why;                                                \
		return status;                                                 \
	} while (0)
	if (s->config.ca_file != NULL && !peer->verified)
		REFUSE(MHD_HTTP_FORBIDDEN,
		       "A certificate of this cluster is needed");
	if (s->config.allowed != NULL &&
	    !s->config.allowed(s->config.arg,
			       peer->verified ? peer->digest : NULL))
		REFUSE(MHD_HTTP_FORBIDDEN, "This certificate is not let in");
	if (s->closing)
		REFUSE(MHD_HTTP_SERVICE_UNAVAILABLE, "The daemon is ending");
	if (!takes(s, method))
		REFUSE(MHD_HTTP_METHOD_NOT_ALLOWED,
		       s->config.reads ? "Use GET, POST or PUT"
				       : "Use POST or PUT");
	MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &f);
	if (f.lengths + f.encodings > 1 || f.unclear)
		REFUSE(MHD_HTTP_BAD_REQUEST,
		       "The length of the body is not clear");
	if (f.lengths > 0 && f.length > s->config.body_max)
		REFUSE(MHD_HTTP_CONTENT_TOO_LARGE, "The body is too long");
#undef REFUSE
	return 0;
}

static enum MHD_Result begin_call(struct https_instance *i,
				  struct MHD_Connection *connection,
				  const char *path, const char *method,
				  void **ret_call)
{
	struct peer *peer = peer_of(connection);
	struct https_call *call;
	const char *why;
	int status;

	look_at_peer(i->server, peer, connection);
	status = refusal(i->server, connection, peer, method, &why);
	if (status != 0)
		return answer_text(connection, status, let_in(i->server), why);
	call = xalloc(sizeof(*call));
	call->instance = i;
	call->connection = connection;
	call->method = xstrdup(method);
	call->path = xstrdup(path);
	call->request.call = call;
	call->request.method = call->method;
	call->request.path = call->path;
	call->request.peer_ip = peer->ip;
	if (peer->verified)
		call->request.peer_digest = peer->digest;
	list_init(&call->link);
	limit(peer, i->server->config.body_ms);
	*ret_call = call;
	return MHD_YES;
}

/* MHD takes no reply before the end of a body whose length it was not told, so
 * read on for as much again; then hang up. */
static enum MHD_Result take_body(struct https_call *call, const char *data,
				 size_t len)
{
	size_t max = call->instance->server->config.body_max;

	if (call->dropped == 0 && call->body.len + len <= max) {
		buf_add(&call->body, data, len);
		return MHD_YES;
	}
	call->dropped += len;
	return call->dropped <= max ? MHD_YES : MHD_NO;
}

/* Running it. */

static void handled(struct https_call *call)
{
	call->stage = HANDLED;
	list_append(&call->instance->handled, &call->link);
	https_instance_wake(call->instance);
}

static void start_waiting(struct https_server *s);

static void run_call(void *arg)
{
	struct https_call *call = arg;
	struct https_server *s = call->instance->server;

	s->config.handle(s->config.arg, &call->request);
	s->running--;
	handled(call);
	start_waiting(s);
}

/* The task is named after the path, if that may stand in a log. */
static const char *name_of(const struct https_call *call)
{
	const char *name = call->path + (call->path[0] == '/');

	return str_valid_filename(name) ? name : "request";
}

static void start_waiting(struct https_server *s)
{
	while (!list_empty(&s->waiting) &&
	       s->running < s->config.requests_max) {
		struct https_call *call =
			list_first(&s->waiting, struct https_call, link);

		list_remove(&call->link);
		s->running++;
		task_spawn(name_of(call), run_call, call);
	}
}

static enum MHD_Result submit(struct https_call *call)
{
	struct https_server *s = call->instance->server;

	if (call->dropped > 0)
		return answer_text(call->connection, MHD_HTTP_CONTENT_TOO_LARGE,
				   NULL, "The body is too long");
	call->request.body = call->body.data == NULL ? "" : call->body.data;
	call->request.body_len = call->body.len;
	call->stage = SUSPENDED;
	timer_stop(&peer_of(call->connection)->limit);
	s->busy++;
	MHD_suspend_connection(call->connection);
	list_append(&s->waiting, &call->link);
	start_waiting(s);
	return MHD_YES;
}

enum MHD_Result https_on_access(void *arg, struct MHD_Connection *connection,
				const char *path, const char *method,
				const char *version, const char *data,
				size_t *len, void **call_)
{
	struct https_call *call = *call_;

	(void)version;
	if (call == NULL)
		return begin_call(arg, connection, path, method, call_);
	if (*len > 0) {
		size_t n = *len;

		*len = 0;
		return take_body(call, data, n);
	}
	if (call->stage == READING)
		return submit(call);
	assert(call->stage == HANDLED);
	return answer_call(call);
}

static void drop_file(struct https_call *call)
{
	if (call->has_file)
		close(call->file);
	call->has_file = false;
}

void https_on_completed(void *arg, struct MHD_Connection *connection,
			void **call_, enum MHD_RequestTerminationCode code)
{
	struct https_call *call = *call_;
	struct https_instance *i = arg;

	(void)connection;
	(void)code;
	if (call == NULL)
		return;
	assert(call->stage != SUSPENDED && list_empty(&call->link));
	if (call->stage == HANDLED)
		i->server->busy--;
	*call_ = NULL;
	drop_file(call);
	buf_done(&call->body);
	free(call->request.reply);
	free(call->method);
	free(call->path);
	free(call);
}

const char *https_header(const struct https_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->call->connection,
					   MHD_HEADER_KIND, name);
}

void https_reply(struct https_request *request, int status, const char *type,
		 char *body STEALS, size_t len)
{
	drop_file(request->call);
	free(request->reply);
	request->status = status;
	request->reply = body;
	request->reply_len = len;
	request->reply_type = type;
}

void https_reply_file(struct https_request *request, int fd, uint64_t size)
{
	struct https_call *call = request->call;

	https_reply(request, MHD_HTTP_OK, "application/octet-stream", NULL, 0);
	call->file = fd;
	call->file_size = size;
	call->has_file = true;
}

void https_resume_handled(struct https_instance *i)
{
	while (!list_empty(&i->handled)) {
		struct https_call *call =
			list_first(&i->handled, struct https_call, link);

		list_remove(&call->link);
		MHD_resume_connection(call->connection);
	}
}

void https_refuse_waiting(struct https_server *s)
{
	while (!list_empty(&s->waiting)) {
		struct https_call *call =
			list_first(&s->waiting, struct https_call, link);

		list_remove(&call->link);
		https_reply(&call->request, MHD_HTTP_SERVICE_UNAVAILABLE,
			    TEXT_PLAIN, NULL, 0);
		handled(call);
	}
}
