/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to its answer.  Three steps: on the loop, what it is and who
 * sends it; beside the loop, the password and the resource; on the loop again,
 * the answer and the log. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/client/luxi.h"
#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "lib/model/constants.h"
#include "lib/model/files/paths.h"
#include "rapi/access/auth.h"
#include "rapi/rapi.h"
#include "rapi/resources/reply.h"
#include "rapi/resources/request.h"
#include "rapi/resources/route.h"

#define SERVER_LINE "Server: Ganeti " GANETI_RELEASE "\n"

/* A request on its way. */
struct exchange {
	struct request q;
	struct auth auth;
	const char *address; /* of the client */
	const char *type;    /* of the body */
	int status;
	char *text; /* the answer */
	bool wrong; /* the password was */
};

static void exchange_done(struct exchange *x)
{
	request_done(&x->q);
	auth_done(&x->auth);
}

/* --- on the loop: what it is, and who sends it --- */

static bool is_proxy(const struct rapi *r, const char *address)
{
	return strv_has(&r->proxies, address);
}

/* A trusted proxy says in a header for whom it asks: the last address in it is
 * the one that it has seen itself. */
static const char *client_address(const struct rapi *r,
				  const struct https_request *http)
{
	const char *list, *last;

	if (!is_proxy(r, http->peer_ip))
		return http->peer_ip;
	list = https_header(http, "X-Forwarded-For");
	if (list == NULL)
		return http->peer_ip;
	last = strrchr(list, ',');
	last = last == NULL ? list : last + 1;
	last += strspn(last, " \t");
	return str_valid_line(last) && *last != '\0' ? last : http->peer_ip;
}

/* Ganeti asks who somebody is before it says what there is, where everybody
 * has to be known; else the other way round. */
static int admit(struct rapi *r, const struct https_request *http,
		 struct exchange *x, struct error *err)
{
	const char *header = https_header(http, "Authorization");
	auto_free char *path = NULL;

	args_read(&x->q.args, http->target, &path);
	if (r->require_auth && header == NULL)
		return reply_bare(err, REPLY_UNAUTHORIZED);
	x->q.route = route_find(http->method, path, &x->q.items, err);
	if (x->q.route == NULL)
		return -1;
	users_load(&r->users, false);
	return auth_read(&x->auth, &r->users, header, x->q.route->rights != 0,
			 err);
}

/* Whoever guesses passwords waits here. */
static WAITS int take_turn(struct rapi *r, const struct exchange *x,
			   struct error *err)
{
	int ms = x->auth.user == NULL
			 ? 0
			 : guard_turn(&r->guard, x->address, clock_mono_us());

	if (ms < 0)
		return reply_bare(err, REPLY_TOO_MANY);
	if (ms > 0)
		task_sleep((unsigned)ms);
	return 0;
}

static void note_attempt(struct rapi *r, const struct exchange *x)
{
	if (x->auth.user == NULL)
		return;
	if (!x->wrong) {
		guard_right(&r->guard, x->address, x->auth.user);
		return;
	}
	guard_wrong(&r->guard, x->address, x->auth.user, clock_mono_us());
}

/* --- beside the loop --- */

static bool is_gone(void *arg)
{
	return https_gone(arg);
}

static json_t *answer(struct exchange *x, const struct https_request *http,
		      struct error *err)
{
	if (auth_check(&x->auth, x->q.route->rights, err) < 0) {
		x->wrong = error_is(err, REPLY_UNAUTHORIZED);
		return NULL;
	}
	if (request_read_body(&x->q, x->type, http->body, http->body_len, err) <
	    0)
		return NULL;
	return x->q.route->run(&x->q, err);
}

static void work(struct exchange *x, struct https_request *http)
{
	auto_json json_t *result = NULL;
	struct error err;

	x->q.gone = is_gone;
	x->q.gone_arg = http;
	result = answer(x, http, &err);
	x->status = result != NULL ? 200 : reply_status(&err);
	x->text = result != NULL ? reply_text(result)
				 : reply_error_text(x->status, err.text);
	/* Large values are freed here, not on the loop. */
	json_decref(x->q.body);
	x->q.body = NULL;
}

/* --- on the loop: the answer --- */

static void finish(const struct rapi *r, struct https_request *http,
		   struct exchange *x)
{
	size_t len = strlen(x->text);

	access_log_write(&r->log,
			 &(struct access_line){.address = x->address,
					       .user = x->auth.user,
					       .method = http->method,
					       .target = http->target,
					       .version = http->version,
					       .status = x->status,
					       .bytes = len});
	https_reply(http, x->status, REPLY_TYPE, steal(&x->text), len);
	http->headers = x->status == 401 ? SERVER_LINE AUTH_ASKS : SERVER_LINE;
}

static WAITS void handle(void *arg, struct https_request *http)
{
	struct rapi *r = arg;
	struct exchange x = {.address = client_address(r, http),
			     .type = https_header(http, "Content-Type")};
	struct error err;

	x.q.luxi_socket = path(r->paths, PATH_QUERY_SOCKET);
	if (admit(r, http, &x, &err) < 0 || take_turn(r, &x, &err) < 0) {
		x.status = reply_status(&err);
		x.text = reply_error_text(x.status, err.text);
	} else {
		x.q.luxi = pool_take(&r->pool);
		task_leave();
		work(&x, http);
		task_enter();
		pool_give(&r->pool, x.q.luxi);
		note_attempt(r, &x);
	}
	finish(r, http, &x);
	exchange_done(&x);
}

/* Requests that are no proper HTTP, or too much. */
static char *refuse(void *arg, const struct https_refusal *refusal,
		    const char **ret_type)
{
	const struct rapi *r = arg;
	char *text = reply_error_text(refusal->status, refusal->why);

	access_log_write(&r->log,
			 &(struct access_line){.address = refusal->peer_ip,
					       .method = refusal->method,
					       .target = refusal->target,
					       .version = refusal->version,
					       .status = refusal->status,
					       .bytes = strlen(text)});
	*ret_type = REPLY_TYPE;
	return text;
}

static void read_certificate(struct rapi *r)
{
	struct error err;

	if (https_server_reload(r->server, NULL, &err) < 0)
		log_error("keeping the old certificate: %s", err.text);
	else
		log_info("read the certificate");
}

static void look_later(struct rapi *r);

static void on_look(struct timer *t)
{
	struct rapi *r = container_of(t, struct rapi, look);

	if (seen_changed(&r->certificate, path(r->paths, PATH_RAPI_PEM)))
		read_certificate(r);
	look_later(r);
}

static void look_later(struct rapi *r)
{
	r->look.fired = on_look;
	timer_start(&r->look, clock_mono_us() + RAPI_LOOK_S * INT64_C(1000000));
}

int rapi_start(struct rapi *r, struct error *err)
{
	struct https_server_config config = {
		.address = r->address,
		.port = r->port,
		.early = true,
		.cert_file = r->no_ssl ? NULL : path(r->paths, PATH_RAPI_PEM),
		.all_methods = true,
		.body_max = RAPI_BODY_MAX,
		.bodies_max = RAPI_BODIES_MAX,
		.header_max = RAPI_HEADER_MAX,
		.target_max = RAPI_TARGET_MAX,
		.idle_s = RAPI_IDLE_S,
		.first_ms = RAPI_FIRST_MS,
		.body_ms = RAPI_IDLE_S * 1000,
		.connections_max = r->connections_max,
		.connections_per_ip_max = RAPI_CONNECTIONS_PER_IP_MAX,
		.requests_max = RAPI_REQUESTS_MAX,
		.refuse = refuse,
		.handle = handle,
		.arg = r,
	};

	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    err) < 0)
		return -1;
	seen_changed(&r->certificate, path(r->paths, PATH_RAPI_PEM));
	r->server = https_server_create(&config, err);
	if (r->server == NULL)
		return -1;
	if (!r->no_ssl)
		look_later(r);
	users_load(&r->users, true);
	return 0;
}

void rapi_stop(struct rapi *r)
{
	timer_stop(&r->look);
	if (r->server != NULL)
		https_server_destroy(steal(&r->server), NULL, NULL);
}

void rapi_reload(struct rapi *r)
{
	struct error err;

	users_load(&r->users, true);
	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    &err) < 0)
		log_error("keeping the old access log: %s", err.text);
	if (!r->no_ssl)
		read_certificate(r);
}
