/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of an HTTPS server: whether a body is read at all, the task that
 * handles the request, the answer.
 *
 * A request is read into a call; then its connection is suspended while a task
 * runs the handler.  MHD is only called from the loop, never from a task. */
#include <assert.h>
#include <gnutls/gnutls.h>
#include <poll.h>
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

enum stage { READING, SUSPENDED, HANDLED, ANSWERED };

struct https_call {
	struct https_request request;
	struct list link; /* in lane->waiting or instance.handled */
	struct https_lane *lane;
	struct https_instance *instance;
	struct MHD_Connection *connection;
	enum stage stage;
	struct buf body;
	size_t reserved;	    /* the body's share of server.bodies */
	struct https_unread unread; /* the answer */
	size_t dropped;		    /* the body went on after the limit */
	char *method, *path, *target, *version;
	int socket;
	int file; /* of the reply, with has_file */
	bool has_file;
	uint64_t file_size;
	struct https_stream *stream; /* the reply; NULL: it is none */
	struct https_raw raw;
};

/* Replies. */

static void add_headers(struct MHD_Response *response, const char *lines)
{
	auto_strv struct strv all = {0};

	str_split(&all, lines, '\n');
	for (size_t i = 0; i < all.n; i++) {
		char *colon = strstr(all.items[i], ": ");

		if (colon == NULL)
			continue;
		*colon = '\0';
		MHD_add_response_header(response, all.items[i], colon + 2);
	}
}

static enum MHD_Result send_response(struct MHD_Connection *connection,
				     int status, const char *type,
				     const char *allow, const char *headers,
				     struct MHD_Response *response)
{
	enum MHD_Result rc;

	if (response == NULL)
		abort(); /* out of memory */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (headers != NULL)
		add_headers(response, headers);
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
		connection, status, TEXT_PLAIN, allow, NULL,
		MHD_create_response_from_buffer(strlen(body), body,
						MHD_RESPMEM_MUST_FREE));
}

/* Answer a request that does not get to the handler. */
static enum MHD_Result refuse(struct https_server *s,
			      struct MHD_Connection *connection,
			      const char *allow,
			      const struct https_refusal *refusal)
{
	const char *type = TEXT_PLAIN;
	char *body;

	https_peer_of(connection)->refused = true;
	body = s->config.refuse == NULL
		       ? NULL
		       : s->config.refuse(s->config.arg, refusal, &type);

	if (body == NULL)
		return answer_text(connection, refusal->status, allow,
				   refusal->why);
	return send_response(
		connection, refusal->status, type, allow,
		s->config.refuse_headers,
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

	if (call->raw.taken)
		return MHD_NO; /* nothing is left to say */
	if (call->instance->server->config.answer_ms > 0)
		https_peer_limit(https_peer_of(call->connection),
				 call->instance->server->config.answer_ms);
	if (r->status == 0)
		return answer_text(call->connection,
				   MHD_HTTP_INTERNAL_SERVER_ERROR, allow,
				   "No answer");
	if (call->stream != NULL) {
		https_stream_attach(call->stream, call->connection);
		return send_response(call->connection, r->status, r->reply_type,
				     allow, r->headers,
				     https_stream_response(call->stream));
	}
	if (call->has_file) {
		call->has_file = false;
		return send_response(call->connection, r->status, r->reply_type,
				     allow, r->headers,
				     MHD_create_response_from_fd64(
					     call->file_size, call->file));
	}
	https_unread_begin(call->instance->server, &call->unread,
			   https_peer_of(call->connection), r->reply_len);
	return send_response(
		call->connection, r->status, r->reply_type, allow, r->headers,
		MHD_create_response_from_buffer(r->reply_len, steal(&r->reply),
						MHD_RESPMEM_MUST_FREE));
}

/* Reading a request. */

static bool takes(const struct https_server *s, const char *method)
{
	return s->config.all_methods || strcmp(method, "POST") == 0 ||
	       strcmp(method, "PUT") == 0 ||
	       (s->config.reads && strcmp(method, "GET") == 0);
}

/* Change the call's share; 0 gives it back.  Memory for bodies is reserved as
 * long as they come, so one address does not get all of it. */
static void reserve(struct https_call *call, size_t len)
{
	struct https_server *s = call->instance->server;
	struct table *all = &s->bodies_by_ip;
	char source[HTTPS_SOURCE_MAX];

	https_source(call->request.peer_ip, source);
	s->bodies += len - call->reserved;
	if (s->config.bodies_per_ip_max != 0 && len != call->reserved)
		https_set_amount(all, source,
				 https_amount(all, source) - call->reserved +
					 len);
	call->reserved = len;
}

#define REFUSE(status, why)                                                    \
	do {                                                                   \
		*ret_why = why;                                                \
		return status;                                                 \
	} while (0)

static int head_refusal(const struct https_server *s,
			const struct https_peer *peer,
			const struct https_head *head, const char **ret_why)
{
	const struct https_server_config *c = &s->config;

	if (head->fault != NULL)
		REFUSE(MHD_HTTP_BAD_REQUEST, head->fault);
	if (c->target_max != 0 && strlen(peer->target) > c->target_max)
		REFUSE(MHD_HTTP_URI_TOO_LONG, "The address is too long");
	if (c->header_max != 0 && head->size > c->header_max)
		REFUSE(MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
		       "The headers are too long");
	if (head->chunked)
		REFUSE(MHD_HTTP_LENGTH_REQUIRED,
		       "Say how long the body is (Content-Length)");
	if (head->length > c->body_max)
		REFUSE(MHD_HTTP_CONTENT_TOO_LARGE, "The body is too long");
	if (c->bodies_max != 0 && head->length > c->bodies_max - s->bodies)
		REFUSE(MHD_HTTP_SERVICE_UNAVAILABLE,
		       "Too many other requests have long bodies");
	if (c->bodies_per_ip_max != 0 &&
	    head->length > c->bodies_per_ip_max -
				   https_amount(&s->bodies_by_ip, peer->source))
		REFUSE(MHD_HTTP_SERVICE_UNAVAILABLE,
		       "Too many other requests of this address have long "
		       "bodies");
	return 0;
}

/* Why the body of this request is not read: an HTTP status; 0: it is read. */
static int refusal(struct https_server *s, const struct https_peer *peer,
		   const char *method, const struct https_head *head,
		   const char **ret_why)
{
	if (s->config.ca_file != NULL && !peer->verified)
		REFUSE(MHD_HTTP_FORBIDDEN,
		       "A certificate of this cluster is needed");
	if (s->config.allowed != NULL &&
	    !s->config.allowed(s->config.arg,
			       peer->verified ? peer->digest : NULL))
		REFUSE(MHD_HTTP_FORBIDDEN, HTTPS_NOT_LET_IN);
	if (s->closing)
		REFUSE(MHD_HTTP_SERVICE_UNAVAILABLE, "The daemon is ending");
	if (!takes(s, method))
		REFUSE(MHD_HTTP_METHOD_NOT_ALLOWED,
		       s->config.reads ? "Use GET, POST or PUT"
				       : "Use POST or PUT");
	return head_refusal(s, peer, head, ret_why);
}
#undef REFUSE

static struct https_call *call_create(struct https_instance *i,
				      const struct https_peer *peer,
				      const char *path, const char *method,
				      const char *version)
{
	struct https_call *call = xalloc(sizeof(*call));
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		peer->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	call->instance = i;
	call->connection = peer->connection;
	call->method = xstrdup(method);
	call->path = xstrdup(path);
	call->target = xstrdup(peer->target);
	call->version = xstrdup(version);
	call->socket = info == NULL ? -1 : info->connect_fd;
	https_raw_init(&call->raw, peer->connection);
	call->request = (struct https_request){
		.call = call,
		.method = call->method,
		.path = call->path,
		.target = call->target,
		.version = call->version,
		.peer_ip = peer->ip,
		.peer_digest = peer->verified ? peer->digest : NULL,
	};
	list_init(&call->link);
	list_init(&call->unread.link);
	return call;
}

static enum MHD_Result begin_call(struct https_instance *i,
				  struct MHD_Connection *connection,
				  const char *path, const char *method,
				  const char *version, void **ret_call)
{
	struct https_peer *peer = https_peer_of(connection);
	struct https_head head = https_head_read(peer, method, version);
	struct https_refusal no = {.method = method,
				   .target = peer->target,
				   .version = version,
				   .peer_ip = peer->ip};
	struct https_call *call;

	https_peer_look(peer);
	no.status = refusal(i->server, peer, method, &head, &no.why);
	if (no.status != 0)
		return refuse(i->server, connection, let_in(i->server), &no);
	call = call_create(i, peer, path, method, version);
	reserve(call, head.length);
	https_peer_limit(peer, i->server->config.body_ms);
	*ret_call = call;
	return MHD_YES;
}

/* While a body of unknown length is being sent MHD takes no reply.  So read and
 * drop as much again, in case the body ends; then hang up. */
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

/* --- running the handler --- */

static void handled(struct https_call *call)
{
	call->stage = HANDLED;
	list_append(&call->instance->handled, &call->link);
	https_instance_wake(call->instance);
}

static void start_waiting(const struct https_server *s,
			  struct https_lane *lane);

static WAITS void run_call(void *arg)
{
	struct https_call *call = arg;
	const struct https_server *s = call->instance->server;
	struct https_lane *lane = call->lane;

	s->config.handle(s->config.arg, &call->request);
	lane->running--;
	handled(call);
	start_waiting(s, lane);
}

/* The task is named after the path, unless the path holds characters that must
 * not get into a log. */
static const char *name_of(const struct https_call *call)
{
	const char *name = call->path + (call->path[0] == '/');

	return str_valid_filename(name) ? name : "request";
}

static void start_waiting(const struct https_server *s, struct https_lane *lane)
{
	while (!list_empty(&lane->waiting) &&
	       lane->running < s->config.requests_max) {
		struct https_call *call =
			list_first(&lane->waiting, struct https_call, link);

		list_remove(&call->link);
		lane->running++;
		task_spawn(name_of(call), run_call, call);
	}
}

static struct https_lane *lane_of(struct https_server *s,
				  const struct https_request *r)
{
	bool urgent =
		s->config.urgent != NULL && s->config.urgent(s->config.arg, r);

	return &s->lanes[urgent ? HTTPS_LANE_URGENT : HTTPS_LANE_MAIN];
}

static enum MHD_Result submit(struct https_call *call)
{
	struct https_server *s = call->instance->server;

	if (call->dropped > 0)
		return refuse(s, call->connection, NULL,
			      &(struct https_refusal){
				      .method = call->method,
				      .target = call->target,
				      .version = call->version,
				      .peer_ip = call->request.peer_ip,
				      .status = MHD_HTTP_CONTENT_TOO_LARGE,
				      .why = "The body is too long"});
	call->request.body = call->body.data == NULL ? "" : call->body.data;
	call->request.body_len = call->body.len;
	timer_stop(&https_peer_of(call->connection)->limit);
	if (s->config.quick != NULL &&
	    s->config.quick(s->config.arg, &call->request)) {
		call->stage = ANSWERED;
		return answer_call(call);
	}
	call->stage = SUSPENDED;
	s->busy++;
	MHD_suspend_connection(call->connection);
	call->lane = lane_of(s, &call->request);
	list_append(&call->lane->waiting, &call->link);
	start_waiting(s, call->lane);
	return MHD_YES;
}

enum MHD_Result https_on_access(void *arg, struct MHD_Connection *connection,
				const char *path, const char *method,
				const char *version, const char *data,
				size_t *len, void **call_)
{
	struct https_call *call = *call_;

	if (call == NULL)
		return begin_call(arg, connection, path, method, version,
				  call_);
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

/* A peer that sends a byte of its next request now and then does not keep the
 * connection for ever. */
static void limit_next(const struct https_server_config *c,
		       struct https_peer *peer)
{
	if (peer != NULL)
		https_peer_limit(peer, c->idle_s * 1000 + c->first_ms);
}

static void end_request(struct https_peer *peer, const struct https_call *call,
			enum MHD_RequestTerminationCode code)
{
	if (peer == NULL)
		return;
	if (call == NULL)
		https_told_request(peer, NULL, NULL, code);
	else if (call->stage == READING)
		https_told_request(peer, call->method, call->version, code);
	peer->asks = peer->refused = false;
	peer->served = true;
}

void https_on_completed(void *arg, struct MHD_Connection *connection,
			void **call_, enum MHD_RequestTerminationCode code)
{
	struct https_call *call = *call_;
	struct https_instance *i = arg;

	end_request(https_peer_of(connection), call, code);
	if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		limit_next(&i->server->config, https_peer_of(connection));
	if (call == NULL)
		return;
	assert(call->stage != SUSPENDED && list_empty(&call->link));
	if (call->stage == HANDLED)
		i->server->busy--;
	*call_ = NULL;
	reserve(call, 0);
	https_unread_end(i->server, &call->unread);
	https_stream_free(call->stream);
	drop_file(call);
	https_raw_done(&call->raw);
	buf_done(&call->body);
	free(call->request.reply);
	free(call->request.headers);
	free(call->method);
	free(call->path);
	free(call->target);
	free(call->version);
	free(call);
}

const char *https_header(const struct https_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->call->connection,
					   MHD_HEADER_KIND, name);
}

struct values {
	const char *name;
	struct buf text;
	bool any;
};

static enum MHD_Result add_value(void *arg, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	struct values *v = arg;

	(void)kind;
	if (strcasecmp(name, v->name) != 0)
		return MHD_YES;
	if (v->any)
		buf_adds(&v->text, ", ");
	v->any = true;
	buf_adds(&v->text, value == NULL ? "" : value);
	return MHD_YES;
}

char *https_header_all(const struct https_request *request, const char *name)
{
	struct values v = {.name = name};

	MHD_get_connection_values(request->call->connection, MHD_HEADER_KIND,
				  add_value, &v);
	return v.any ? buf_steal(&v.text) : NULL;
}

bool https_gone(const struct https_request *request)
{
	struct pollfd p = {.fd = request->call->socket, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
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

struct https_stream *https_reply_stream(struct https_request *request,
					const char *type,
					const struct https_source *source)
{
	struct https_call *call = request->call;
	struct https_server *s = call->instance->server;

	if (s->closing || s->streams >= s->config.streams_max)
		return NULL;
	https_reply(request, MHD_HTTP_OK, type, NULL, 0);
	call->stream = https_stream_create(call->instance, source);
	/* What a request needs is not needed for as long as the stream lasts.
	 */
	buf_done(&call->body);
	return call->stream;
}

struct https_raw *https_raw_of(const struct https_request *request)
{
	return &request->call->raw;
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

static void refuse_lane(struct https_lane *lane)
{
	while (!list_empty(&lane->waiting)) {
		struct https_call *call =
			list_first(&lane->waiting, struct https_call, link);

		list_remove(&call->link);
		https_reply(&call->request, MHD_HTTP_SERVICE_UNAVAILABLE,
			    TEXT_PLAIN, NULL, 0);
		handled(call);
	}
}

void https_refuse_waiting(struct https_server *s)
{
	for (size_t i = 0; i < HTTPS_LANES; i++)
		refuse_lane(&s->lanes[i]);
}
