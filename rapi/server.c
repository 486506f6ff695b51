/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to its answer.  Three steps: on the loop, what it is and who
 * sends it; beside the loop, the password and the resource; on the loop again,
 * the answer and the log. */
#include <malloc.h>
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
#include "rapi/access/forwarded.h"
#include "rapi/console/relay.h"
#include "rapi/rapi.h"
#include "rapi/resources/reply.h"
#include "rapi/resources/request.h"
#include "rapi/resources/route.h"
#include "rapi/sampler.h"

#define SERVER_LINE "Server: Ganeti " GANETI_RELEASE "\n"
/* "Prefer: wait=SECONDS": at most so many. */
#define PREFER_WAIT_MAX_S 120

/* A request on its way. */
struct exchange {
	struct request q;
	struct auth auth;
	char *address;	    /* of the client */
	const char *type;   /* of the body */
	const char *known;  /* If-None-Match: what the client has */
	struct stats stats; /* as they were at its beginning */
	int64_t begin_us;
	int status;
	char *text; /* the answer */
	const char *text_type;
	bool wrong; /* the password was */
};

static void exchange_done(struct exchange *x)
{
	request_done(&x->q);
	auth_done(&x->auth);
	free(x->address);
}

/* --- on the loop: what it is, and who sends it --- */

/* To be freed. */
static char *client_address(const struct rapi *r,
			    const struct https_request *http)
{
	auto_free char *list = NULL;

	if (r->proxies.n == 0)
		return xstrdup(http->peer_ip);
	list = https_header_all(http, "X-Forwarded-For");
	return forwarded_address(&r->proxies, http->peer_ip, list);
}

/* "Prefer: wait=60", with other preferences around it. */
static unsigned wait_of(const char *prefer)
{
	const char *s = prefer == NULL ? NULL : strstr(prefer, "wait=");
	uint64_t seconds = 0;
	const char *rest;

	if (s == NULL ||
	    !str_to_number(s + strlen("wait="), UINT32_MAX, &seconds, &rest))
		return 0;
	return seconds < PREFER_WAIT_MAX_S ? (unsigned)seconds
					   : PREFER_WAIT_MAX_S;
}

/* What is ours is taken out of the arguments: to some resources any that they
 * do not know means something. */
static int read_wishes(const struct https_request *http, struct exchange *x,
		       struct error *err)
{
	x->q.wait_s = wait_of(https_header(http, "Prefer"));
	x->known = https_header(http, "If-None-Match");
	if (args_flag(&x->q.args, "plan", &x->q.plan, err) < 0)
		return -1;
	args_remove(&x->q.args, "plan");
	if (x->q.plan && !x->q.route->jobs)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only what submits a job can be planned");
	return 0;
}

/* Ganeti asks who somebody is before it says what there is, where everybody
 * has to be known; else the other way round. */
static int admit(struct rapi *r, const struct https_request *http,
		 struct exchange *x, struct error *err)
{
	const char *header = https_header(http, "Authorization");
	auto_free char *path = NULL;

	x->q.target = http->target;
	args_read(&x->q.args, http->target, &path);
	x->q.route = route_find(http->method, path, &x->q.items, err);
	if (r->require_auth && header == NULL &&
	    (x->q.route == NULL || !x->q.route->ticket))
		return reply_bare(err, REPLY_UNAUTHORIZED);
	if (x->q.route == NULL)
		return -1;
	if (read_wishes(http, x, err) < 0)
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

static const char *header_of(void *arg, const char *name)
{
	return https_header(arg, name);
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

/* The tag of an answer is a hash of it, so it changes exactly when the answer
 * does, also by what nodes report. */
static void tag_answer(struct exchange *x)
{
	auto_free char *tag = xprintf(
		"\"%016jx\"", (uintmax_t)bytes_hash(x->text, strlen(x->text)));

	buf_addf(&x->q.headers, "ETag: %s\n", tag);
	if (x->known == NULL ||
	    (strstr(x->known, tag) == NULL && strcmp(x->known, "*") != 0))
		return;
	x->status = 304;
	x->text[0] = '\0'; /* it has the answer already */
}

/* The answer of a resource. */
static void take_result(struct exchange *x, const struct https_request *http,
			const json_t *result)
{
	x->status = x->q.status == 0 ? 200 : x->q.status;
	x->text = x->q.text != NULL ? steal(&x->q.text) : reply_text(result);
	if (x->q.type != NULL)
		x->text_type = x->q.type;
	if (strcmp(http->method, "GET") == 0 && x->status == 200)
		tag_answer(x);
}

static void work(struct exchange *x, struct https_request *http)
{
	auto_json json_t *result = NULL;
	struct error err;

	x->q.gone = is_gone;
	x->q.gone_arg = http;
	x->q.header = header_of;
	x->q.header_arg = http;
	result = answer(x, http, &err);
	if (result != NULL) {
		take_result(x, http, result);
	} else {
		x->status = reply_status(&err);
		x->text = reply_error_text(x->status, err.text);
	}
	/* Large values are freed here, not on the loop. */
	json_decref(x->q.body);
	x->q.body = NULL;
}

/* --- on the loop: the answer --- */

/* As it is logged: a ticket is a secret. */
static char *shown_target(const struct https_request *http,
			  const struct exchange *x)
{
	bool secret = x->q.route != NULL && x->q.route->ticket;

	return xstrndup(http->target, secret ? strcspn(http->target, "?")
					     : strlen(http->target));
}

static void finish(struct rapi *r, struct https_request *http,
		   struct exchange *x)
{
	auto_free char *target = shown_target(http, x);
	size_t len = strlen(x->text);

	stats_add(&r->stats, x->status,
		  (double)(clock_mono_us() - x->begin_us) / 1e6);
	access_log_write(&r->log,
			 &(struct access_line){.address = x->address,
					       .user = x->auth.user,
					       .method = http->method,
					       .target = target,
					       .version = http->version,
					       .status = x->status,
					       .bytes = len});
	buf_adds(&x->q.headers, SERVER_LINE);
	if (x->status == 401)
		buf_adds(&x->q.headers, AUTH_ASKS);
	https_reply(http, x->status, x->text_type, steal(&x->text), len);
	http->headers = buf_steal(&x->q.headers);
}

/* Too many take too many threads. */
static void limit_consoles(const struct rapi *r, struct exchange *x)
{
	if (r->consoles < (unsigned)r->limits.consoles)
		return;
	x->status = 503;
	free(x->text);
	x->text = reply_error_text(x->status, "Too many consoles are open");
	relay_free(steal(&x->q.console));
	buf_done(&x->q.headers);
}

/* The connection is a console from now on, and this its task. */
static WAITS void run_console(struct rapi *r, struct https_request *http,
			      struct exchange *x)
{
	auto_free char *lines = xstrdup(http->headers);

	r->consoles++;
	task_leave();
	relay_run(x->q.console, http, lines);
	task_enter();
	r->consoles--;
}

static WAITS void handle(void *arg, struct https_request *http)
{
	struct rapi *r = arg;
	struct exchange x = {.address = client_address(r, http),
			     .type = https_header(http, "Content-Type"),
			     .begin_us = clock_mono_us(),
			     .text_type = REPLY_TYPE};
	struct error err;

	r->stats.running++;
	x.stats = r->stats;
	x.q.stats = &x.stats;
	x.q.tickets = &r->tickets;
	x.q.samples = &r->samples;
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
	if (x.q.console != NULL)
		limit_consoles(r, &x);
	r->stats.running--;
	finish(r, http, &x);
	if (x.q.console != NULL)
		run_console(r, http, &x);
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

const char *rapi_certificate(const struct rapi *r)
{
	return r->cert_file != NULL ? r->cert_file
				    : path(r->paths, PATH_RAPI_PEM);
}

static bool certificate_changed(struct rapi *r)
{
	bool cert = seen_changed(&r->certificate, rapi_certificate(r));
	bool key = r->key_file != NULL && seen_changed(&r->key, r->key_file);

	return cert || key;
}

static void look_later(struct rapi *r);

static void on_look(struct timer *t)
{
	struct rapi *r = container_of(t, struct rapi, look);

	if (!r->no_ssl && certificate_changed(r))
		read_certificate(r);
	/* What a crowd of connections took goes back when they have gone. */
	if (r->stats.running == 0)
		malloc_trim(0);
	look_later(r);
}

static void look_later(struct rapi *r)
{
	r->look.fired = on_look;
	timer_start(&r->look, clock_mono_us() + RAPI_LOOK_S * INT64_C(1000000));
}

int rapi_start(struct rapi *r, struct error *err)
{
	const struct limits *l = &r->limits;
	struct https_server_config config = {
		.address = r->address,
		.port = r->port,
		.early = true,
		.cert_file = r->no_ssl ? NULL : rapi_certificate(r),
		.key_file = r->no_ssl ? NULL : r->key_file,
		.all_methods = true,
		.body_max = (size_t)l->body,
		.bodies_max = (size_t)l->bodies,
		.header_max = (size_t)l->header,
		.target_max = (size_t)l->target,
		.idle_s = (unsigned)l->idle,
		.first_ms = (unsigned)l->handshake * 1000,
		.body_ms = (unsigned)l->idle * 1000,
		.answer_ms = (unsigned)l->answer * 1000,
		.connections_max = (unsigned)l->clients,
		/* All clients of a proxy have its address. */
		.connections_per_ip_max =
			(unsigned)(r->proxies.n > 0 ? l->clients
						    : l->clients_per_address),
		.requests_max = (unsigned)l->requests,
		.refuse = refuse,
		.handle = handle,
		.arg = r,
	};

	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    err) < 0)
		return -1;
	certificate_changed(r);
	r->server = https_server_create(&config, err);
	if (r->server == NULL)
		return -1;
	look_later(r);
	sampler_start(r);
	users_load(&r->users, true);
	return 0;
}

void rapi_stop(struct rapi *r)
{
	timer_stop(&r->look);
	sampler_stop(r);
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
