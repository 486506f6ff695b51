/* SPDX-License-Identifier: BSD-2-Clause */
/* libmicrohttpd without threads: its epoll descriptor is watched by the loop.
 * Reading the certificates again starts a second MHD daemon on the same
 * listening socket; the first one lives until its connections have ended.
 *
 * A request is read into a call, then its connection is suspended while a task
 * runs the handler.  MHD is only called from the loop, never from a task.
 *
 * Two traps: MHD_resume_connection() does not wake the epoll descriptor, so
 * that MHD_run() has to be called then; and a timeout of 0 from MHD means an
 * idle handle, as a uv timer of 0 ms would be armed again for ever. */
#include "lib/event/https_server.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"
#include "lib/event/tls.h"

/* How long the last replies may take when the server ends. */
#define LINGER_MS 2000
#define PEM_MAX (1024 * 1024)
#define TEXT_PLAIN "text/plain"

struct https_server {
	struct https_server_config config;
	int listen_fd, port;
	struct instance *current;
	struct list instances;
	struct list waiting; /* calls whose turn has not come */
	unsigned running;    /* calls in their handler */
	unsigned busy;	     /* read, and not yet answered to the end */
	uint64_t accepted;
	bool closing;
	struct timer linger;
	void (*done)(void *arg);
	void *done_arg;
};

/* One MHD daemon. */
struct instance {
	struct list link;
	struct https_server *server;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
	uv_timer_t timer;
	uv_idle_t idle;
	struct list handled; /* calls to be resumed */
	bool retired;
	int to_close;
};

/* Who is on the other end of a connection; found out at its first request. */
struct peer {
	bool checked, verified;
	char ip[64];
	char digest[TLS_DIGEST_MAX];
};

enum stage { READING, SUSPENDED, HANDLED };

struct https_call {
	struct https_request request;
	struct list link; /* in server.waiting or instance.handled */
	struct instance *instance;
	struct MHD_Connection *connection;
	enum stage stage;
	struct buf body;
	size_t dropped; /* bytes over the limit */
	char *method, *path;
};

static void on_idle(uv_idle_t *idle);
static void end_if_done(struct https_server *s);

static void wake(struct instance *i)
{
	uv_idle_start(&i->idle, on_idle);
}

/* Replies. */

static enum MHD_Result answer(struct MHD_Connection *connection, int status,
			      const char *type, char *body STEALS, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		len, body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result rc;

	if (response == NULL)
		abort(); /* out of memory */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
					"POST, PUT");
	rc = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection,
				   int status, const char *text)
{
	return answer(connection, status, TEXT_PLAIN, xprintf("%s\n", text),
		      strlen(text) + 1);
}

static enum MHD_Result answer_call(struct https_call *call)
{
	struct https_request *r = &call->request;

	if (r->reply == NULL)
		return answer_text(call->connection,
				   r->status != 0
					   ? r->status
					   : MHD_HTTP_INTERNAL_SERVER_ERROR,
				   "No answer");
	return answer(call->connection, r->status, r->reply_type,
		      steal(&r->reply), r->reply_len);
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

static void on_connection(void *arg, struct MHD_Connection *connection,
			  void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct instance *i = arg;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		i->server->accepted++;
		*context = xalloc(sizeof(struct peer));
	} else {
		free(*context);
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
	if (strcmp(method, "POST") != 0 && strcmp(method, "PUT") != 0)
		REFUSE(MHD_HTTP_METHOD_NOT_ALLOWED, "Use POST or PUT");
	MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &f);
	if (f.lengths + f.encodings > 1 || f.unclear)
		REFUSE(MHD_HTTP_BAD_REQUEST,
		       "The length of the body is not clear");
	if (f.lengths > 0 && f.length > s->config.body_max)
		REFUSE(MHD_HTTP_CONTENT_TOO_LARGE, "The body is too long");
#undef REFUSE
	return 0;
}

static enum MHD_Result begin_call(struct instance *i,
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
		return answer_text(connection, status, why);
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
	wake(call->instance);
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
				   "The body is too long");
	call->request.body = call->body.data == NULL ? "" : call->body.data;
	call->request.body_len = call->body.len;
	call->stage = SUSPENDED;
	s->busy++;
	MHD_suspend_connection(call->connection);
	list_append(&s->waiting, &call->link);
	start_waiting(s);
	return MHD_YES;
}

/* MHD calls this with the headers, with each piece of the body, at its end, and
 * after the connection was resumed. */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *connection,
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

static void on_completed(void *arg, struct MHD_Connection *connection,
			 void **call_, enum MHD_RequestTerminationCode code)
{
	struct https_call *call = *call_;
	struct instance *i = arg;

	(void)connection;
	(void)code;
	if (call == NULL)
		return;
	assert(call->stage != SUSPENDED && list_empty(&call->link));
	if (call->stage == HANDLED)
		i->server->busy--;
	*call_ = NULL;
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
	free(request->reply);
	request->status = status;
	request->reply = body;
	request->reply_len = len;
	request->reply_type = type;
}

/* MHD on the loop. */

static void on_timer(uv_timer_t *timer);

static void instance_close(struct instance *i);

/* Let MHD work, then ask when it wants to be called next. */
static void drive(struct instance *i)
{
	struct https_server *s = i->server;
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(i->mhd);
	uv_timer_stop(&i->timer);
	if (MHD_get_timeout(i->mhd, &ms) == MHD_YES) {
		if (ms == 0)
			wake(i);
		else
			uv_timer_start(&i->timer, on_timer, ms, 0);
	}
	if (s->closing)
		end_if_done(s);
	else if (i->retired &&
		 MHD_get_daemon_info(i->mhd,
				     MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
				 ->num_connections == 0)
		instance_close(i);
}

static void on_timer(uv_timer_t *timer)
{
	drive(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	drive(poll->data);
}

static void on_idle(uv_idle_t *idle)
{
	struct instance *i = idle->data;

	uv_idle_stop(idle);
	while (!list_empty(&i->handled)) {
		struct https_call *call =
			list_first(&i->handled, struct https_call, link);

		list_remove(&call->link);
		MHD_resume_connection(call->connection);
	}
	drive(i);
}

static void on_mhd_log(void *arg, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *arg, const char *fmt, va_list ap)
{
	char text[512];

	(void)arg;
	vsnprintf(text, sizeof(text), fmt, ap);
	log_debug("HTTPS: %s", text);
}

static struct MHD_Daemon *start_mhd(struct instance *i, const char *cert,
				    const char *ca)
{
	const struct https_server_config *c = &i->server->config;
	struct MHD_OptionItem trust[] = {
		{MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)ca},
		{MHD_OPTION_END, 0, NULL},
	};

	if (ca == NULL)
		trust[0] = trust[1];
	/* clang-format off */
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_access, i,
		MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, i->server->listen_fd,
		MHD_OPTION_HTTPS_MEM_KEY, cert,
		MHD_OPTION_HTTPS_MEM_CERT, cert,
		MHD_OPTION_HTTPS_PRIORITIES, TLS_PRIORITIES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTPS_HEADER_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTPS_IDLE_S,
		MHD_OPTION_CONNECTION_LIMIT, c->connections_max,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, c->connections_per_ip_max,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, i,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, i,
		MHD_OPTION_ARRAY, trust,
		MHD_OPTION_END);
	/* clang-format on */
}

static char *read_pem(const char *path, struct error *err)
{
	char digest[TLS_DIGEST_MAX];

	if (tls_digest(path, digest, err) < 0)
		return NULL;
	return fs_read(path, PEM_MAX, NULL, err);
}

static void wipe_p(char **text)
{
	if (*text != NULL)
		gnutls_memset(*text, 0, strlen(*text));
	free(*text);
}

static struct instance *instance_create(struct https_server *s,
					struct error *err)
{
	__attribute__((cleanup(wipe_p))) char *cert = NULL, *ca = NULL;
	struct instance *i;

	cert = read_pem(s->config.cert_file, err);
	if (cert == NULL)
		return NULL;
	if (s->config.ca_file != NULL &&
	    (ca = read_pem(s->config.ca_file, err)) == NULL)
		return NULL;
	i = xalloc(sizeof(*i));
	i->server = s;
	list_init(&i->handled);
	i->mhd = start_mhd(i, cert, ca);
	if (i->mhd == NULL) {
		free(i);
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			  "Cannot start the HTTPS server on %s:%d with %s",
			  s->config.address, s->port, s->config.cert_file);
		return NULL;
	}
	i->poll.data = i->timer.data = i->idle.data = i;
	uv_poll_init(tasks_loop(), &i->poll,
		     MHD_get_daemon_info(i->mhd, MHD_DAEMON_INFO_EPOLL_FD)
			     ->epoll_fd);
	uv_timer_init(tasks_loop(), &i->timer);
	uv_idle_init(tasks_loop(), &i->idle);
	uv_poll_start(&i->poll, UV_READABLE, on_poll);
	list_append(&s->instances, &i->link);
	wake(i);
	return i;
}

static void server_free(struct https_server *s)
{
	struct https_server_config *c = &s->config;

	if (s->listen_fd >= 0)
		close(s->listen_fd);
	free((char *)c->address);
	free((char *)c->cert_file);
	free((char *)c->ca_file);
	free(s);
}

static void on_closed(uv_handle_t *handle)
{
	struct instance *i = handle->data;
	struct https_server *s = i->server;

	if (--i->to_close > 0)
		return;
	list_remove(&i->link);
	free(i);
	if (!s->closing || !list_empty(&s->instances))
		return;
	if (s->done != NULL)
		s->done(s->done_arg);
	server_free(s);
}

/* No call of it is suspended any more. */
static void instance_close(struct instance *i)
{
	if (i->to_close > 0)
		return;
	i->to_close = 3;
	uv_close((uv_handle_t *)&i->poll, on_closed);
	uv_close((uv_handle_t *)&i->timer, on_closed);
	uv_close((uv_handle_t *)&i->idle, on_closed);
	MHD_stop_daemon(i->mhd);
}

/* It accepts no connection from now on. */
static void instance_retire(struct instance *i)
{
	i->retired = true;
	MHD_quiesce_daemon(i->mhd);
	wake(i);
}

/* The server. */

static int open_socket(struct https_server *s, struct error *err)
{
	const struct https_server_config *c = &s->config;
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	const int on = 1;

	if (uv_ip4_addr(c->address, c->port, (void *)&address) < 0 &&
	    uv_ip6_addr(c->address, c->port, (void *)&address) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_INVAL,
				 "'%s' is no IP address to listen on",
				 c->address);
	s->listen_fd = socket(address.ss_family,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0 ||
	    setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on,
		       sizeof(on)) < 0 ||
	    bind(s->listen_fd, (void *)&address,
		 address.ss_family == AF_INET6
			 ? sizeof(struct sockaddr_in6)
			 : sizeof(struct sockaddr_in)) < 0 ||
	    listen(s->listen_fd, SOMAXCONN) < 0 ||
	    getsockname(s->listen_fd, (void *)&address, &len) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot listen on %s port %d: %s", c->address,
				 c->port, strerror(errno));
	s->port = ntohs(address.ss_family == AF_INET6
				? ((struct sockaddr_in6 *)&address)->sin6_port
				: ((struct sockaddr_in *)&address)->sin_port);
	return 0;
}

struct https_server *
https_server_create(const struct https_server_config *config, struct error *err)
{
	struct https_server *s = xalloc(sizeof(*s));
	struct https_server_config *c = &s->config;

	assert(config->body_max > 0 && config->requests_max > 0);
	s->listen_fd = -1;
	list_init(&s->instances);
	list_init(&s->waiting);
	*c = *config;
	c->address = xstrdup(config->address);
	c->cert_file = xstrdup(config->cert_file);
	if (config->ca_file != NULL)
		c->ca_file = xstrdup(config->ca_file);
	if (open_socket(s, err) < 0 ||
	    (s->current = instance_create(s, err)) == NULL) {
		server_free(s);
		return NULL;
	}
	return s;
}

int https_server_port(const struct https_server *s)
{
	return s->port;
}

uint64_t https_server_accepted(const struct https_server *s)
{
	return s->accepted;
}

int https_server_reload(struct https_server *s, struct error *err)
{
	struct instance *fresh = instance_create(s, err);

	if (fresh == NULL)
		return -1;
	instance_retire(s->current);
	s->current = fresh;
	return 0;
}

static void close_all(struct https_server *s)
{
	struct instance *i, *tmp;

	timer_stop(&s->linger);
	list_each_safe (i, tmp, &s->instances, link)
		instance_close(i);
}

static void on_linger(struct timer *t)
{
	close_all(container_of(t, struct https_server, linger));
}

static void end_if_done(struct https_server *s)
{
	if (s->busy == 0)
		close_all(s);
	else if (s->running == 0 && !timer_running(&s->linger))
		timer_start(&s->linger, clock_mono_us() + LINGER_MS * 1000);
}

void https_server_destroy(struct https_server *s, void (*done)(void *arg),
			  void *arg)
{
	if (s == NULL)
		return;
	s->closing = true;
	s->done = done;
	s->done_arg = arg;
	s->linger.fired = on_linger;
	instance_retire(s->current);
	close(s->listen_fd);
	s->listen_fd = -1;
	while (!list_empty(&s->waiting)) {
		struct https_call *call =
			list_first(&s->waiting, struct https_call, link);

		list_remove(&call->link);
		call->request.status = MHD_HTTP_SERVICE_UNAVAILABLE;
		handled(call);
	}
}
