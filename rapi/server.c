/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to its answer.  Three steps: on the loop, what it is and who
 * sends it; beside the loop, the password and the resource; on the loop again,
 * the answer and the log. */
#include <malloc.h>
#include <string.h>
#include <strings.h>

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
#include "rapi/console/carrier.h"
#include "rapi/login.h"
#include "rapi/rapi.h"
#include "rapi/refusals.h"
#include "rapi/resources/reply.h"
#include "rapi/resources/request.h"
#include "rapi/resources/route.h"
#include "rapi/resources/tag.h"
#include "rapi/resources/token.h"
#include "rapi/sampler.h"

#define SERVER_LINE "Server: Ganeti " GANETI_RELEASE "\n"
/* "Prefer: wait=SECONDS": at most so many. */
#define PREFER_WAIT_MAX_S 120
/* "?index=N&wait=SECONDS": so long, and at most. */
#define INDEX_WAIT_S 30
#define INDEX_WAIT_MAX_S 120
#define KEY_MAX 255

/* A request on its way. */
struct exchange {
	struct request q;
	struct auth auth;
	char *address;	   /* of the client */
	const char *type;  /* of the body */
	const char *known; /* If-None-Match: what the client has */
	uint64_t pulse;	   /* of the master then; 0: it is not known */
	int64_t index;	   /* wait for something newer; -1: do not */
	int64_t index_wait_s;
	bool follow;	    /* a stream */
	bool checked;	    /* the password was right */
	uint64_t newest;    /* event before the answer was made */
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

/* A read that waits until there is something newer than an index. */
static int read_index(const struct https_request *http, struct exchange *x,
		      struct error *err)
{
	x->follow = x->q.route->stream == STREAM_ALWAYS;
	if (x->q.route->stream == STREAM_ASKED &&
	    args_flag(&x->q.args, "follow", &x->follow, err) < 0)
		return -1;
	if (strcmp(http->method, "GET") != 0 || x->follow)
		return 0;
	if (args_int(&x->q.args, "index", -1, &x->index, err) < 0)
		return -1;
	args_remove(&x->q.args, "index");
	if (x->index < 0)
		return 0;
	if (args_int(&x->q.args, "wait", INDEX_WAIT_S, &x->index_wait_s, err) <
	    0)
		return -1;
	args_remove(&x->q.args, "wait");
	if (x->index_wait_s > INDEX_WAIT_MAX_S)
		x->index_wait_s = INDEX_WAIT_MAX_S;
	return 0;
}

/* Who submits under a key: the same key of another user is another one. */
static int read_key(const struct https_request *http, struct exchange *x,
		    struct error *err)
{
	const char *key = https_header(http, "Idempotency-Key");
	struct buf text = {0};

	if (key == NULL)
		return 0;
	if (!x->q.route->jobs || strlen(key) == 0 || strlen(key) > KEY_MAX ||
	    !str_valid_line(key))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Idempotency-Key is for what submits a job, "
				 "and has 1 to %d characters",
				 KEY_MAX);
	buf_addf(&text, "%s\n%s", x->auth.user == NULL ? "" : x->auth.user,
		 key);
	hash_hex(text.data, text.len, x->q.key);
	buf_done(&text);
	buf_addf(&text, "%s %s\n", http->method, http->target);
	buf_add(&text, http->body, http->body_len);
	hash_hex(text.data, text.len, x->q.digest);
	buf_done(&text);
	return 0;
}

/* What is ours is taken out of the arguments: to some resources any that they
 * do not know means something. */
static int read_wishes(const struct https_request *http, struct exchange *x,
		       struct error *err)
{
	x->q.wait_s = wait_of(https_header(http, "Prefer"));
	x->known = https_header(http, "If-None-Match");
	x->q.wanted_plan = https_header(http, "Gantry-Plan");
	x->q.if_match = https_header(http, "If-Match");
	if (args_flag(&x->q.args, "plan", &x->q.plan, err) < 0)
		return -1;
	args_remove(&x->q.args, "plan");
	if (read_index(http, x, err) < 0)
		return -1;
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
	    https_header(http, "Cookie") == NULL &&
	    (x->q.route == NULL || !x->q.route->ticket))
		return reply_bare(err, REPLY_UNAUTHORIZED);
	if (x->q.route == NULL)
		return -1;
	if (read_wishes(http, x, err) < 0)
		return -1;
	users_load(&r->users, false);
	return login_read(r, http, x->q.route, &x->auth, err);
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
	login_failed(r, x->address, x->auth.user);
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

static int check(struct exchange *x, struct error *err)
{
	if (x->checked)
		return 0;
	if (auth_check(&x->auth, x->q.route->rights, err) < 0) {
		x->wrong = error_is(err, REPLY_UNAUTHORIZED);
		return -1;
	}
	x->checked = true;
	return 0;
}

static json_t *answer(struct exchange *x, const struct https_request *http,
		      struct error *err)
{
	if (check(x, err) < 0)
		return NULL;
	if (request_read_body(&x->q, x->type, http->body, http->body_len, err) <
	    0)
		return NULL;
	if (x->auth.token != NULL && token_check(&x->q, x->auth.token, err) < 0)
		return NULL;
	if (read_key(http, x, err) < 0 ||
	    tag_check(&x->q, http->method, err) < 0)
		return NULL;
	return x->q.route->run(&x->q, err);
}

/* The client need not get again what it has. */
static void tag_answer(struct exchange *x, const json_t *result)
{
	auto_free char *tag = tag_of(result, x->text);

	buf_addf(&x->q.headers, "ETag: %s\n", tag);
	if (x->known == NULL || !tag_is_among(tag, x->known))
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
		tag_answer(x, result);
}

static void take_error(struct exchange *x, const struct error *err)
{
	x->status = reply_status(err);
	x->text = reply_error_text(x->status, err->text);
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
	if (result != NULL)
		take_result(x, http, result);
	else
		take_error(x, &err);
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

static void send_answer(struct rapi *r, struct https_request *http,
			struct exchange *x, char *headers STEALS)
{
	auto_free char *target = shown_target(http, x);
	bool stream = x->text == NULL; /* it answers by itself */
	size_t len = stream ? 0 : strlen(x->text);

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
	record_write(&r->record, &(struct record_entry){.address = x->address,
							.user = x->auth.user,
							.method = http->method,
							.target = target,
							.http = http,
							.begin_us = x->begin_us,
							.status = x->status,
							.headers = headers,
							.answer = x->text});
	if (!stream)
		https_reply(http, x->status, x->text_type, steal(&x->text),
			    len);
	http->headers = headers;
}

/* Whether the answer is the same for all who may have it: those who show no
 * token, which may be for some objects alone. */
static bool is_by_name(const struct https_request *http)
{
	const char *header = https_header(http, "Authorization");

	return https_header(http, "Cookie") == NULL &&
	       (header == NULL || strncasecmp(header, "Basic ", 6) == 0);
}

static void finish(struct rapi *r, struct https_request *http,
		   struct exchange *x)
{
	bool stream = x->text == NULL;

	buf_adds(&x->q.headers, SERVER_LINE);
	if (x->status == 401)
		buf_adds(&x->q.headers, AUTH_ASKS);
	if (x->newest != 0)
		buf_addf(&x->q.headers, "X-Gantry-Index: %ju\n",
			 (uintmax_t)x->newest);
	if (stream)
		buf_adds(&x->q.headers, "Cache-Control: no-store\n");
	send_answer(r, http, x, buf_steal(&x->q.headers));
	if (x->status == 200 && x->pulse != 0 && !stream && x->index < 0 &&
	    x->q.route != NULL && is_by_name(http))
		answers_keep(&r->answers, http->target,
			     &(struct answer){.route = x->q.route,
					      .text = http->reply,
					      .len = http->reply_len,
					      .type = x->text_type,
					      .headers = http->headers},
			     x->pulse, clock_mono_us());
}

/* --- answers that still hold --- */

/* Whether who sends it may have the answer, as far as that is known at once:
 * no other scheme than a password's, and none that takes long to check. */
static bool may_have(struct rapi *r, const struct https_request *http,
		     struct exchange *x, const struct answer *one)
{
	const char *header = https_header(http, "Authorization");
	struct error err;

	if (!is_by_name(http))
		return false;
	if (header == NULL)
		return !r->require_auth && one->route->rights == 0;
	users_load(&r->users, false);
	return guard_trusts(&r->guard, x->address) &&
	       auth_read(&x->auth, &r->users, header, true, &err) == 0 &&
	       auth_is_quick(&x->auth) &&
	       auth_check(&x->auth, one->route->rights, &err) == 0;
}

/* The answer to somebody who has this one already. */
static bool is_known(const char *known, const char *headers)
{
	const char *tag = strstr(headers, "ETag: ");
	auto_free char *text = NULL;

	if (known == NULL || tag == NULL)
		return false;
	tag += strlen("ETag: ");
	text = xstrndup(tag, strcspn(tag, "\n"));
	return strstr(known, text) != NULL || strcmp(known, "*") == 0;
}

static bool quick(void *arg, struct https_request *http)
{
	struct rapi *r = arg;
	int64_t now_us = clock_mono_us();
	struct exchange x = {.begin_us = now_us, .status = 200};
	const struct answer *one;

	if (strcmp(http->method, "GET") != 0 || r->record.latency_ms > 0 ||
	    http->body_len > 0)
		return false;
	one = answers_find(&r->answers, http->target, now_us);
	x.address = client_address(r, http);
	if (one == NULL || !pool_alive(&r->pool) ||
	    !may_have(r, http, &x, one)) {
		exchange_done(&x);
		return false;
	}
	x.text_type = one->type;
	if (is_known(https_header(http, "If-None-Match"), one->headers)) {
		x.status = 304;
		x.text = xstrdup("");
	} else {
		x.text = xmemdup(one->text, one->len + 1);
	}
	send_answer(r, http, &x, xstrdup(one->headers));
	exchange_done(&x);
	return true;
}

/* Who may wait, or follow, is found out before. */
static WAITS int check_first(struct rapi *r, struct exchange *x,
			     struct error *err)
{
	int rc;

	if (login_token(r, &x->q, &x->auth, err) < 0)
		return -1;
	x->q.user = x->auth.user;
	x->q.token = x->auth.token;
	if (!x->follow && x->index < 0)
		return 0;
	task_leave();
	rc = check(x, err);
	if (rc == 0 && x->auth.token != NULL)
		rc = token_check(&x->q, x->auth.token, err);
	task_enter();
	if (rc < 0)
		note_attempt(r, x);
	return rc;
}

static WAITS void run(struct rapi *r, struct exchange *x,
		      struct https_request *http)
{
	if (x->q.luxi == NULL)
		x->q.luxi = pool_take(&r->pool);
	task_leave();
	work(x, http);
	task_enter();
	note_attempt(r, x);
}

static WAITS int begin_events(struct rapi *r, struct exchange *x,
			      struct https_request *http, struct error *err)
{
	char *user = x->auth.user == NULL ? NULL : xstrdup(x->auth.user);
	int rc = streams_begin(r->streams, http, &x->q.args, &x->auth, err);

	if (rc == 0)
		x->auth.user = steal(&user); /* for the log */
	free(user);
	return rc;
}

static WAITS int begin_stream(struct rapi *r, struct exchange *x,
			      struct https_request *http, struct error *err)
{
	x->status = 200;
	if (x->q.route->stream == STREAM_ALWAYS)
		return begin_events(r, x, http, err);
	return job_log_begin(&r->logs, http, &x->q, err);
}

/* What runs beside the loop; or a wait; or a stream. */
static WAITS int serve(struct rapi *r, struct exchange *x,
		       struct https_request *http, struct error *err)
{
	if (x->auth.hash != NULL)
		x->q.luxi = pool_take(&r->pool);
	if (check_first(r, x, err) < 0)
		return -1;
	if (x->follow)
		return begin_stream(r, x, http, err);
	if (x->index >= 0)
		feed_wait(r->feed, (uint64_t)x->index,
			  clock_mono_us() + x->index_wait_s * INT64_C(1000000),
			  is_gone, http);
	if (strcmp(http->method, "GET") == 0)
		x->newest = feed_index(r->feed);
	run(r, x, http);
	return 0;
}

/* Too many take too many threads. */
static void limit_consoles(const struct rapi *r, struct exchange *x)
{
	if (r->consoles < (unsigned)r->limits.consoles)
		return;
	x->status = 503;
	free(x->text);
	x->text = reply_error_text(x->status, "Too many consoles are open");
	carrier_free(steal(&x->q.console));
	buf_done(&x->q.headers);
}

/* The connection is a console from now on, and this its task. */
static WAITS void run_console(struct rapi *r, struct https_request *http,
			      struct exchange *x)
{
	auto_free char *lines = xstrdup(http->headers);

	r->consoles++;
	task_leave();
	carrier_run(x->q.console, http, lines);
	task_enter();
	r->consoles--;
}

static WAITS void handle(void *arg, struct https_request *http)
{
	struct rapi *r = arg;
	struct exchange x = {.address = client_address(r, http),
			     .type = https_header(http, "Content-Type"),
			     .begin_us = clock_mono_us(),
			     .index = -1,
			     .text_type = REPLY_TYPE};
	struct error err;

	r->stats.running++;
	if (r->record.latency_ms > 0)
		task_sleep(r->record.latency_ms);
	x.stats = r->stats;
	x.q.stats = &x.stats;
	x.pulse = pulse_now(&r->answers.pulse);
	x.q.way = &r->way;
	x.q.tickets = &r->tickets;
	x.q.samples = &r->samples;
	if (admit(r, http, &x, &err) < 0 || take_turn(r, &x, &err) < 0 ||
	    serve(r, &x, http, &err) < 0)
		take_error(&x, &err);
	pool_give(&r->pool, x.q.luxi);
	if (x.q.console != NULL)
		limit_consoles(r, &x);
	r->stats.running--;
	finish(r, http, &x);
	if (x.q.console != NULL)
		run_console(r, http, &x);
	exchange_done(&x);
}

static void read_certificate(struct rapi *r)
{
	struct error err;

	if (https_server_reload(r->server, NULL, &err) < 0)
		log_error("keeping the old certificate: %s", err.text);
	else
		log_info("read the certificate");
}

static void on_told(void *arg)
{
	struct rapi *r = arg;

	streams_told(r->streams);
	login_look(r, false);
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

	answers_look(&r->answers, path(r->paths, PATH_PULSE));
	if (!r->no_ssl && certificate_changed(r))
		read_certificate(r);
	/* What a crowd of connections took goes back when they have gone. */
	if (r->stats.running == 0)
		malloc_trim(0);
	if (https_server_streams(r->server) > 0)
		login_look(r, true);
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
		.streams_max = (unsigned)l->streams,
		.refuse = refusals_word,
		.tell = refusals_tell,
		.quick = quick,
		.handle = handle,
		.arg = r,
	};

	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    err) < 0 ||
	    record_open(&r->record, r->paths, err) < 0)
		return -1;
	certificate_changed(r);
	r->server = https_server_create(&config, err);
	if (r->server == NULL)
		return -1;
	r->way.luxi_socket = path(r->paths, PATH_QUERY_SOCKET);
	r->way.relay_socket = path(r->paths, PATH_RELAY_SOCKET);
	r->feed = feed_create(&r->way, (size_t)l->events, on_told, r);
	r->streams = streams_create(r->feed, login_holds, r);
	feed_start(r->feed);
	look_later(r);
	answers_look(&r->answers, path(r->paths, PATH_PULSE));
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
	r->logs.stopping = true;
	if (r->feed != NULL)
		feed_stop(r->feed);
}

void rapi_end(struct rapi *r)
{
	streams_free(steal(&r->streams));
	feed_free(steal(&r->feed));
	json_decref(steal(&r->tokens));
}

void rapi_reload(struct rapi *r)
{
	struct error err;

	users_load(&r->users, true);
	streams_check(r->streams);
	if (access_log_open(&r->log, path(r->paths, PATH_RAPI_ACCESS_LOG),
			    &err) < 0)
		log_error("keeping the old access log: %s", err.text);
	if (!r->no_ssl)
		read_certificate(r);
}
